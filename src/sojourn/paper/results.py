"""Results by the labels of their policies, with the paper's bounds, and measures that read them.

A measure in `measures` is a function of results, or of one of the paper's problems, that yields
measurements. `of_trials` and `of_problem` turn it into one that takes the names of trials or of the
problem in their place and gives the `Measure` of a claim.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import hypot, log, nan
from typing import Any

import numpy as np

from ..policies import Policy
from ..problem import Problem
from ..problem_files import SETTINGS
from ..simulation import Estimate, Result
from ..simulation.tables import bound_for, lower_bounds
from ..stats.intervals import Interval, Pair
from .verdicts import Measure, Measured

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

    def per_log(self, label: str, visits: int | None = None) -> Pair:
        """Regret / log K and its half-width."""
        scale = log(self.visits(visits))
        regret, width = self.regret(label, visits)
        return regret / scale, width / scale

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
        policy = None if label == LOWER else self.result.policies[self[label]]
        return _bound(policy, self.problem)


@cache
def _bound(policy: Policy | None, problem: Problem) -> float:
    """What multiplies log K in the paper's bound for the policy; in the lower bound without one."""
    bounds = lower_bounds(problem) if policy is None else [bound_for(policy, problem)]
    slope = bounds[0].slope if bounds and bounds[0] is not None else None
    return nan if slope is None else slope


def at(estimate: Estimate, *place: int) -> Pair:
    """Mean and half-width at one place of an estimate."""
    return float(estimate.mean[place]), float(estimate.half_width[place])


Results = Mapping[str, LabelledResult]
"""Results by the names of trials."""

Found = Iterator[Measured]
Take = Callable[..., Found]


@dataclass(frozen=True, eq=False)
class Taken(Measure[Results]):
    """Measurements of a function of findings."""

    take: Callable[[Results], Found]
    kind: str = ""
    trials: tuple[str, ...] = ()

    def measure(self, findings: Results) -> list[Measured]:
        return list(self.take(findings))


def of_trials(kind: str, number: int = 1) -> Callable[[Take], Callable[..., Taken]]:
    """Make a measure of a function of the results of this many trials, which come first.

    Without any the function takes its other arguments alone.
    """

    def decorate(function: Take) -> Callable[..., Taken]:
        def named(*given: Any, **more: Any) -> Taken:
            trials, rest = given[:number], given[number:]

            def take(results: Results) -> Found:
                found = function(*(results[trial] for trial in trials), *rest, **more)
                return _named(trials[0], found) if trials else found

            return Taken(take, kind, trials)

        return named

    return decorate


def of_problem(kind: str) -> Callable[[Take], Callable[..., Taken]]:
    """Make a measure of a function of one of the paper's problems: it needs no trial."""

    def decorate(function: Take) -> Callable[..., Taken]:
        def named(name: str, *given: Any, **more: Any) -> Taken:
            return Taken(lambda _: _named(name, function(SETTINGS[name], *given, **more)), kind)

        return named

    return decorate


def _named(name: str, found: Found) -> Found:
    """Measurements that say of what trial or problem they are."""
    for one in found:
        yield one._replace(what=f"{name}: {one.what}", contrary=f"{name}: {one.contrary}")
