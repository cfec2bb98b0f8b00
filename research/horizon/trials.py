"""Who plays on what for how long: regret to a million visits, ten thousand runs, and told horizons.

Policies that need no horizon play long trials once and are looked at on the way. Those that are
told one play a trial of their own for every horizon.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sojourn import theory
from sojourn.paper import SETTINGS
from sojourn.paper.trials import Environment, Maker, Roster, Trial
from sojourn.policies import IMED, KLULCB, ExactIndex, LearnedIMED, Policy, PricedIndex
from sojourn.problem import Problem
from sojourn.simulation import Result
from sojourn.simulation.runs import run_regrets
from sojourn.users import TwoState

PAPER, PLAIN, LEARNED, PRICED = (
    policy.label for policy in (KLULCB(), IMED(), LearnedIMED(), PricedIndex())
)
KNOWING = f"{PRICED}, told the visits"
EXACT = "Exact index, told the visits"
TENTH, TENFOLD = "Exact index, told a tenth", "Exact index, told ten times as many"

GROWTH, TAILS, TOLD = "growth", "tails", "told"
"""The groups."""

CLOSE = ((0.7, 0.65, 0.6, 0.4, 0.3), (0.6, 0.3, 0.25, 0.05))

PROBLEMS: Mapping[str, Callable[[], Problem]] = {
    **{name: partial(SETTINGS.__getitem__, name) for name in ("A", "B", "C", "opposite")},
    "five arms": lambda: Problem(CLOSE[0], TwoState(*CLOSE[1])),
}
"""The paper's settings and the opposite case; five arms, three of which are close."""


def for_the_case(problem: Problem) -> Policy:
    """The paper's policy for the case of the problem, normal or opposite, which it is told."""
    return KLULCB().opposite() if theory.case(problem) == "opposite" else KLULCB()


ANYTIME: Roster = {
    PAPER: for_the_case, PLAIN: IMED(), LEARNED: LearnedIMED(), PRICED: PricedIndex(),
}  # fmt: skip
"""Policies that need not know how many visits there will be."""


def told(visits: int) -> Roster:
    """Policies that are told a number of visits, if that is the right one."""

    def exact(factor: float) -> Maker:
        return partial(_exact, visits=factor * visits)

    return {
        KNOWING: PricedIndex(visits=visits), EXACT: exact(1.0), TENTH: exact(0.1),
        TENFOLD: exact(10.0),
    }  # fmt: skip


def _exact(problem: Problem, visits: float) -> Policy:
    return ExactIndex.for_problem(problem, visits=visits)


class Ends(NamedTuple):
    """A result, and the regret of every run: by policy, [run, checkpoint]."""

    result: Result
    regrets: list[NDArray[np.float64]]


@dataclass(frozen=True)
class RunsTrial(Trial):
    """A trial that looks at single runs."""

    def run(self, *, quick: bool, **how: Any) -> Any:
        result = super().run(quick=quick, **how)
        return Ends(result, run_regrets(result, how["store"]))


TO = (1_000, 10_000, 100_000, 1_000_000)
"""Checkpoints: the factor between two is always ten."""

TAIL_RUNS = (10_000, 200)

TAIL_VISITS: Mapping[str, int] = {"A": 1_000}
"""Of the tails, where it is not 10,000: visits of A last 110 steps."""


LONG: Mapping[str, tuple[int, int]] = {
    "A": (64, 2), "B": (512, 8), "C": (1_024, 16), "opposite": (1_024, 16), "five arms": (128, 4),
}  # fmt: skip
"""Runs, full and quick, to the last checkpoint."""

TOLD_RUNS: Mapping[int, int] = {1_000: 512, 10_000: 32, 100_000: 8}
FEW_TOLD: Mapping[str, Mapping[int, int]] = {"A": {1_000: 64, 10_000: 8}}
"""Runs of those who are told the horizon, by that, and where there are fewer. They have no leases,
or shorter ones, and take from 45 to 300 ns a step."""

QUICK_SHARE = 16
"""A quick look at them has fewer runs by this factor."""


def _trial(problem: str, group: str, roster: Roster, visits: int, runs: int, quick: int) -> Trial:
    return RunsTrial(
        f"{problem}, {group}, {visits:,} visits", problem, partial(_environment, problem), roster,
        quick, runs, visits=visits, checkpoints=tuple(k for k in TO if k <= visits), group=group,
        roster=group, nanoseconds=20.0,
    )  # fmt: skip


def _environment(problem: str) -> Environment:
    return Environment.of(PROBLEMS[problem]())


def _trials() -> list[Trial]:
    found = []
    for name in PROBLEMS:
        found += [
            _trial(name, GROWTH, ANYTIME, TO[-1], *LONG[name]),
            _trial(name, TAILS, ANYTIME, TAIL_VISITS.get(name, 10_000), *TAIL_RUNS),
        ]
        for visits, runs in FEW_TOLD.get(name, TOLD_RUNS).items():
            roster = {PRICED: PricedIndex(), **told(visits)}
            found.append(_trial(name, TOLD, roster, visits, runs, max(2, runs // QUICK_SHARE)))
    return found


TRIALS: tuple[Trial, ...] = tuple(_trials())
