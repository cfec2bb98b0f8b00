"""What is computed, not simulated: gaps, values, bounds."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import nan

import numpy as np

from ... import theory
from ...chain import total
from ...problem import Problem
from ...settings import SETTINGS
from ...stats.intervals import Interval
from ...users import TwoState
from ..results import Results
from ..verdicts import Measure, Measured

POINTS = 1001
"""States looked at where there are infinitely many."""


class Computed(Measure[Results]):
    """A measure that needs no trial."""

    kind = "values, gaps and bounds, computed exactly"


def _states(problem: Problem) -> list[float]:
    finite = problem.user.space.states
    return [float(s) for s in (np.linspace(0.0, 1.0, POINTS) if finite is None else range(finite))]


@dataclass(frozen=True)
class MistakesCost(Computed):
    """In every state a pull of another arm than the best costs something."""

    problem: str

    def measure(self, results: Results) -> list[Measured]:
        problem = SETTINGS[self.problem]
        least = min(problem.mistake_cost(s) for s in _states(problem))
        what, so = f"{self.problem}: smallest D(s)", f"{self.problem}: a mistake costs {least:.4g}"
        return [Measured(what, Interval.exact(least), 0.0, above=True, contrary=so)]


@dataclass(frozen=True)
class ValuesRise(Computed):
    """V* does not fall with the state."""

    problem: str

    def measure(self, results: Results) -> list[Measured]:
        problem = SETTINGS[self.problem]
        least = float(np.diff([problem.value(s) for s in _states(problem)]).min())
        what = f"{self.problem}: smallest step of V*(s)"
        so = f"{self.problem}: V* falls with the state, by {-least:.4g}"
        return [Measured(what, Interval.exact(least), 0.0, above=True, contrary=so)]


@dataclass(frozen=True)
class GapOrder(Computed):
    """Exact gaps of the two states: state 0 costlier (or cheaper, `opposite`) than state 1."""

    problem: str
    opposite: bool = False

    def measure(self, results: Results) -> list[Measured]:
        costs = theory.mistake_costs(SETTINGS[self.problem])
        ratio = costs[0] / costs[1]
        what = f"{self.problem}: gap in state 0 over gap in state 1"
        so = f"{self.problem}: a mistake in state 0 costs {ratio:.4g} times one in state 1"
        return [Measured(what, Interval.exact(ratio), 1.0, not self.opposite, so)]


@dataclass(frozen=True)
class ExampleGaps(Computed):
    """With q00 = 1 alone the gaps are (μ1 - μa) / (1 - μ1) in state 1, over (1 - μ1)² in 0."""

    problem: str
    rounding: float

    def measure(self, results: Results) -> list[Measured]:
        problem = SETTINGS[self.problem]
        best = max(problem.means)
        worst = max(
            abs(problem.gap(s, a) * (1.0 - best) ** (2 - s) / (best - mean) - 1.0)
            for s in (0, 1)
            for a, mean in enumerate(problem.means)
            if mean < best
        )
        what = f"{self.problem}: largest relative deviation of a gap from its formula"
        so = f"{self.problem}: a gap is {worst:.3g} times its formula away from it"
        return [Measured(what, Interval.exact(worst), self.rounding, above=False, contrary=so)]


@dataclass(frozen=True)
class Lemma2(Computed):
    """Wherever the condition of Lemma 2 holds, a mistake costs at least as much in state 0.

    Looks at all problems of Assumption 1 with leave probabilities in `qs` and best mean in `means`.
    """

    qs: tuple[float, ...]
    means: tuple[float, ...]

    def measure(self, results: Results) -> list[Measured]:
        met = [p for p in self._problems() if theory.sufficient_condition(p).holds]
        failures = sum(not theory.gap_condition(p).holds for p in met)
        what = f"counterexamples among {len(met)} problems that meet the condition"
        so = f"{failures} of {len(met)} problems that meet the condition are counterexamples"
        return [Measured(what, Interval.exact(float(failures)), 0.0, above=False, contrary=so)]

    def _problems(self) -> Iterator[Problem]:
        for q00, q01, q10, q11 in product(self.qs, repeat=4):
            falls = q00 >= max(q01, q10) and min(q01, q10) >= q11
            if falls and q00 > 0.0 and q11 < 1.0 and q00 != q10:
                user = TwoState(q00=q00, q01=q01, q10=q10, q11=q11)
                yield from (Problem([mean, mean / 2.0], user) for mean in self.means)


@dataclass(frozen=True)
class BoundRatio(Computed):
    """The slope of one of the paper's bounds is at most `at_most` times that of another.

    `one` and `other` are names of `theory.bounds`; `n` is the number of bins.

    >>> print(*BoundRatio("A", "ULCB", "UCB").measure({}))
    A: slope of the bound, ULCB over UCB: 0.1 (exact) (claimed: ≤ 1)
    """

    problem: str
    one: str
    other: str
    at_most: float = 1.0
    n: int = 4

    def measure(self, results: Results) -> list[Measured]:
        slopes = {b.name: b.slope or nan for b in theory.bounds(SETTINGS[self.problem], n=self.n)}
        what = f"{self.problem}: slope of the bound, {self.one} over {self.other}"
        found = Interval.exact(slopes[self.one] / slopes[self.other])
        so = f"{self.problem}: the bound of {self.one} is {found.value:.4g} times {self.other}'s"
        return [Measured(what, found, self.at_most, above=False, contrary=so)]


@dataclass(frozen=True)
class LongestVisits(Computed):
    """No rule that chooses by the state keeps users longer than the best arm does."""

    problem: str

    def measure(self, results: Results) -> list[Measured]:
        problem = SETTINGS[self.problem]
        best = (problem.best_arm,) * 2
        rules = set(product(range(problem.arms), repeat=2)) - {best}
        longest = max(_length(problem, rule) for rule in rules) / _length(problem, best)
        what = f"{self.problem}: longest visit with another rule over that with the best arm"
        so = f"{self.problem}: another rule keeps users {longest:.4g} times as long"
        return [Measured(what, Interval.exact(longest), 1.0, above=False, contrary=so)]


def _length(problem: Problem, rule: tuple[int, ...]) -> float:
    """Expected steps of a visit from state 1 when state s gets the arm rule[s]."""
    stay = np.array([problem.transition_matrix(a)[s, :-1] for s, a in enumerate(rule)])
    return float(total(stay, np.ones(len(rule)))[1])


@dataclass(frozen=True)
class GapFalls(Computed):
    """For the paper's leave curve, the gap never grows with the state."""

    c6s: tuple[float, ...]
    mean: float
    theta: float

    def measure(self, results: Results) -> list[Measured]:
        """The largest rise of the mistake cost D; what rounding explains counts as none."""
        found = []
        for row in _scan(self.c6s, self.mean, self.theta):
            rise = 0.0 if row.holds else row.rise
            where = f"c6 = {row.c6:g}, θ = {self.theta:g}"
            what, so = f"{where}: largest rise of D(s)", f"{where}: D(s) rises by {rise:.3g}"
            found.append(Measured(what, Interval.exact(rise), 0.0, above=False, contrary=so))
        return found


_scan = cache(theory.conjecture)  # the only slow one
