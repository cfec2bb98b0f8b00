"""Results by the labels of their policies, with the paper's bounds; measures read them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import hypot, log, nan
from typing import ClassVar

import numpy as np

from ..policies import Policy
from ..problem import Problem
from ..simulation import Estimate, Result
from ..simulation.tables import bound_for, lower_bounds
from ..stats.intervals import Interval, Pair
from .verdicts import Measure

LOWER = "lower bound"


@dataclass(frozen=True, eq=False)
class LabelledResult:
    """A result, with its policies by the labels of the trial.

    A number of visits means the checkpoint nearest to it; None means the last one.
    """

    result: Result
    labels: tuple[str, ...]

    def __getitem__(self, label: str) -> int:
        return self.labels.index(label)

    @property
    def problem(self) -> Problem:
        return self.result.problem.at(1)

    def point(self, visits: int | None = None) -> int:
        grid = self.result.checkpoints
        return len(grid) - 1 if visits is None else int(np.argmin(np.abs(np.log(grid / visits))))

    def visits(self, visits: int | None = None) -> int:
        return int(self.result.checkpoints[self.point(visits)])

    def regret(self, label: str, visits: int | None = None, level: int | None = None) -> Pair:
        """Mean and half-width; only what arose at that level of experience, if one is given."""
        place = (self[label], self.point(visits))
        if level is None:
            return at(self.result.regret, *place)
        return at(self.result.regret_by_level, *place, level)

    def difference(self, one: str, other: str, visits: int | None = None) -> Interval:
        """Regret of one policy less that of another, run by run."""
        estimate = self.result.difference(self[one], self[other])
        return Interval.around(*at(estimate, self.point(visits)))

    def growth(self, label: str, first: int, last: int | None, level: int | None = None) -> Pair:
        """Regret at `last` less that at `first`, and its half-width.

        The covariance of the two regrets is positive, one being part of the other, so that adding
        the variances makes the interval too wide rather than too narrow. Regret never falls in a
        run: if the means are equal, it did not grow in any, and there is no spread.
        """
        (r0, w0), (r, w) = self.regret(label, first, level), self.regret(label, last, level)
        return r - r0, hypot(w, w0) if r != r0 else 0.0

    def slope(self, label: str, first: int, last: int | None, level: int | None = None) -> Pair:
        """(R(last) - R(first)) / (log last - log first) and its half-width."""
        span = log(self.visits(last)) - log(self.visits(first))
        if span == 0.0:  # too few visits were simulated to have a slope there
            return nan, nan
        grown, width = self.growth(label, first, last, level)
        return grown / span, width / span

    def bound(self, label: str) -> float:
        """The slope of the policy's upper bound, or of the "lower bound"; nan if there is none."""
        if label == LOWER:
            found = lower_slope(self.problem)
        else:
            found = upper_slope(self.result.policies[self[label]], self.problem)
        return nan if found is None else found


Results = Mapping[str, LabelledResult]
"""By the names of trials."""


class Simulated(Measure[Results]):
    """A measure of the results of one or more trials."""

    needs: ClassVar[tuple[str, ...]] = ("trial",)
    """The fields that name trials."""

    @property
    def trials(self) -> tuple[str, ...]:
        return tuple(getattr(self, field) for field in self.needs)


def at(estimate: Estimate, *place: int) -> Pair:
    """Mean and half-width at one place of an estimate."""
    return float(estimate.mean[place]), float(estimate.half_width[place])


@cache
def upper_slope(policy: Policy, problem: Problem) -> float | None:
    """What multiplies log K in the paper's bound for this policy, if it has one."""
    bound = bound_for(policy, problem)
    return None if bound is None else bound.slope


@cache
def lower_slope(problem: Problem) -> float | None:
    """What multiplies log K in the lower bound, if there is one."""
    found = lower_bounds(problem)
    return found[0].slope if found else None
