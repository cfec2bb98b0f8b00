"""The findings in short: how each policy does over a group, and its worst case."""

from typing import NamedTuple

import numpy as np

from sojourn.stats.intervals import Z95, Interval

from .outcomes import Outcomes, TrialOutcome
from .rosters import BASELINE, OURS, PAPER

POLICIES = (*PAPER, *OURS)
"""Those that played every two-state problem."""


class Spread(NamedTuple):
    """Ratios of regret over a group of problems."""

    typical: Interval
    """The geometric mean, with an interval over problems."""
    better: int
    worse: int
    """On how many problems the ratio is below 1, or above 1, with its whole interval."""
    problems: int


class Worst(NamedTuple):
    """Where a policy does worst."""

    problem: str
    ratio: Interval
    versus: str


def spread(outcomes: list[TrialOutcome], one: str, other: str) -> Spread:
    """How one policy compares with another over these problems."""
    ratios = [o.ratio(one, other) for o in outcomes]
    logs = np.log([r.value for r in ratios])
    half = Z95 * logs.std(ddof=1) / np.sqrt(logs.size) if logs.size > 1 else np.nan
    low, mid, high = (float(np.exp(logs.mean() + d)) for d in (-half, 0.0, half))
    return Spread(
        Interval(mid, low, high),
        sum(r.high < 1.0 for r in ratios),
        sum(r.low > 1.0 for r in ratios),
        logs.size,
    )


def worst(outcomes: list[TrialOutcome], label: str, in_hindsight: bool) -> Worst:
    """The problem where the ratio to the baseline, or to the paper's best, is surely greatest.

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


def comparable(findings: Outcomes) -> list[TrialOutcome]:
    """All problems that were played by everybody, but those where the best arm is not optimal.

    There regret grows with every visit whoever plays, so that ratios say little.
    """
    played = [o for o in findings.with_roster("main") if o.facts["cost_ratio"] > 0.0]
    return played + findings.with_roster("ema")
