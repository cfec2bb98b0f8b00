"""The trials of the study of the horizon, and what is kept of single runs.

Policies that need no horizon play long trials once and are looked at on the way. Those that are
told one play a trial of their own for every horizon.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sojourn import theory
from sojourn.paper import SETTINGS
from sojourn.paper.trials import Maker, Roster, Trial
from sojourn.policies import (
    IMED,
    KLULCB,
    EngagementIndex,
    ExactIndex,
    LearnedIMED,
    Policy,
    PricedIndex,
)
from sojourn.problem import Problem
from sojourn.stats.intervals import Interval
from sojourn.stats.moments import Array, Moments
from sojourn.users import TwoState

from ...outcomes import Outcome
from ...runs import Ends, RunsTrial

PAPER, PLAIN, LEARNED, PRICED = (
    policy.label for policy in (KLULCB(), IMED(), LearnedIMED(), PricedIndex())
)
ENGAGEMENT = EngagementIndex.title
KNOWING = f"{PRICED}, told the visits"
EXACT = "Exact index, told the visits"
TENTH, TENFOLD = "Exact index, told a tenth", "Exact index, told ten times as many"

GROWTH, TAILS, INFORMED = "growth", "tails", "told"
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
    ENGAGEMENT: EngagementIndex.for_problem,
}  # fmt: skip
"""Policies that need not know how many visits there will be."""


def informed(visits: int) -> Roster:
    """Policies that are told a number of visits, if that is the right one."""

    def exact(factor: float) -> Maker:
        return partial(_exact, visits=factor * visits)

    return {
        KNOWING: PricedIndex(visits=visits), EXACT: exact(1.0), TENTH: exact(0.1),
        TENFOLD: exact(10.0),
    }  # fmt: skip


def _exact(problem: Problem, visits: float) -> Policy:
    return ExactIndex.for_problem(problem, visits=visits)


TO = (1_000, 10_000, 100_000, 1_000_000)
"""Checkpoints: the factor between two is always ten."""

TAIL_RUNS = (10_000, 200)

TAIL_VISITS: Mapping[str, int] = {"A": 1_000}
"""Of the tails, where it is not 10,000: visits of A last 110 steps."""


LONG: Mapping[str, tuple[int, int]] = {
    "A": (64, 2), "B": (512, 8), "C": (1_024, 16), "opposite": (1_024, 16), "five arms": (128, 4),
}  # fmt: skip
"""Runs, full and quick, to the last checkpoint."""

INFORMED_RUNS: Mapping[int, int] = {1_000: 512, 10_000: 32, 100_000: 8}
FEW_INFORMED: Mapping[str, Mapping[int, int]] = {"A": {1_000: 64, 10_000: 8}}
"""Runs of those who are told the horizon, by that, and where there are fewer. They have no leases,
or shorter ones, and take from 45 to 300 ns per step."""

QUICK_SHARE = 16
"""A quick look at them has fewer runs by this factor."""


def _trial(problem: str, group: str, roster: Roster, visits: int, runs: int, quick: int) -> Trial:
    return RunsTrial(
        f"{problem}, {group}, {visits:,} visits", problem, PROBLEMS[problem], roster,
        quick, runs, visits=visits, checkpoints=tuple(k for k in TO if k <= visits), group=group,
        roster=group, nanoseconds=20.0,
    )  # fmt: skip


def _trials() -> list[Trial]:
    found = []
    for name in PROBLEMS:
        found += [
            _trial(name, GROWTH, ANYTIME, TO[-1], *LONG[name]),
            _trial(name, TAILS, ANYTIME, TAIL_VISITS.get(name, 10_000), *TAIL_RUNS),
        ]
        for visits, runs in FEW_INFORMED.get(name, INFORMED_RUNS).items():
            roster = {PRICED: PricedIndex(), **informed(visits)}
            found.append(_trial(name, INFORMED, roster, visits, runs, max(2, runs // QUICK_SHARE)))
    return found


TRIALS: tuple[Trial, ...] = tuple(_trials())

RARE = 0.001
"""The share of runs of which the tail of a regret consists here."""


class Path(NamedTuple):
    """Of one policy, at every checkpoint; slopes are between two of them."""

    mean: Array
    error: Array
    slope: Array
    slope_error: Array
    median: Array
    rare: Array
    """What a share `RARE` of all runs is above."""
    worst: Array

    @classmethod
    def of(cls, regret: Array, visits: NDArray[np.int64]) -> "Path":
        """From the regret of every run, [run, checkpoint]."""
        steps = np.diff(regret, axis=1) / np.diff(np.log(visits))
        return cls(
            *Moments.of(regret).estimate,
            *Moments.of(steps).estimate,
            np.quantile(regret, 0.5, axis=0),
            np.quantile(regret, 1.0 - RARE, axis=0),
            regret.max(axis=0),
        )

    def to_dict(self) -> dict[str, list[float]]:
        return {name: array.tolist() for name, array in self._asdict().items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, list[float]]) -> "Path":
        return cls(**{name: np.array(array) for name, array in data.items()})


@dataclass(frozen=True, eq=False)
class HorizonOutcome(Outcome):
    """Regret of every policy at the end, and on the way there."""

    visits: tuple[int, ...]
    paths: Mapping[str, Path]

    @classmethod
    def of(cls, trial: Trial, result: Ends) -> Self:
        grid = result.result.checkpoints
        last = np.array([regret[:, -1] for regret in result.regrets])
        covariance = np.atleast_2d(np.cov(last)) / last.shape[1]
        paths = {x: Path.of(r, grid) for x, r in zip(trial.labels, result.regrets, strict=True)}
        facts = cls.facts_of(result.result.problem.at(1))
        own = (trial, trial.labels, last.shape[1], last.mean(axis=1), covariance, facts)
        return cls(*own, tuple(int(k) for k in grid), paths)

    @staticmethod
    def facts_of(problem: Problem) -> dict[str, float]:
        """With the `least` slope that regret can have in the end."""
        slopes = [b.slope for b in theory.bounds(problem) if b.name.startswith("lower bound")]
        least = max(slope for slope in slopes if slope is not None)
        return {"arms": float(problem.arms), "length": problem.length.mean, "least": least}

    @classmethod
    def more_from(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        paths = {label: Path.from_dict(path) for label, path in data["paths"].items()}
        return {"visits": tuple(data["at"]), "paths": paths}

    def to_dict(self) -> dict[str, Any]:
        paths = {label: path.to_dict() for label, path in self.paths.items()}
        return {**super().to_dict(), "at": list(self.visits), "paths": paths}

    def at(self, label: str, visits: int) -> Interval:
        """Regret after so many visits, one of the checkpoints."""
        c, path = self.visits.index(visits), self.paths[label]
        return Interval.from_error(float(path.mean[c]), float(path.error[c]))

    def slope(self, label: str, visits: int) -> Interval:
        """Regret from a checkpoint to the next, over the logarithm of their ratio."""
        c, path = self.visits.index(visits), self.paths[label]
        return Interval.from_error(float(path.slope[c]), float(path.slope_error[c]))
