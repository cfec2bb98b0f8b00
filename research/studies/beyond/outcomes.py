"""What the study keeps of a trial, and in short: the worst case of each policy."""

from typing import NamedTuple

from sojourn.problem import Problem
from sojourn.stats.intervals import Interval

from ...outcomes import BASELINE, Outcome, Outcomes
from ...problems import cost_ratio
from .trials import OURS, PAPER, PAPERS

POLICIES = (*PAPER, *OURS)
"""Those that played every two-state problem."""


class BeyondOutcome(Outcome):
    """An outcome beside the paper's best policy."""

    @staticmethod
    def facts_of(problem: Problem) -> dict[str, float]:
        """With `cost_ratio`, which tells the cases apart where rewards do not."""
        facts = {"arms": float(problem.arms), "length": problem.length.mean}
        return facts if problem.by_state else {"cost_ratio": cost_ratio(problem), **facts}

    @property
    def is_proper(self) -> bool:
        """Whether a mistake costs something in every state (D > 0)."""
        return self.facts.get("cost_ratio", 1.0) > 0.0

    @property
    def best_of_paper(self) -> str:
        return self.best(PAPERS)


class Worst(NamedTuple):
    """Where a policy does worst."""

    problem: str
    ratio: Interval
    versus: str


def worst(outcomes: list[BeyondOutcome], label: str, in_hindsight: bool) -> Worst:
    """The problem with the worst ratio to the baseline or to the paper's best policy.

    Among hundreds of noisy ratios the greatest is mostly noise: this is the problem whose interval
    begins highest.
    """
    found = [
        Worst(o.trial.problem, o.ratio(label, versus), versus)
        for o in outcomes
        if label in o
        for versus in [o.best_of_paper if in_hindsight else BASELINE]
    ]
    return max(found, key=lambda w: w.ratio.low)


def comparable(findings: Outcomes[BeyondOutcome]) -> list[BeyondOutcome]:
    """All problems that all policies played, except those where the best arm is not optimal.

    There regret grows with every visit under any policy, so that ratios say little.
    """
    played = [o for o in findings.with_roster("main") if o.is_proper]
    return played + findings.with_roster("ema")
