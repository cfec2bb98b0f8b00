"""What is computed, not simulated: gaps, values, bounds."""

from collections.abc import Iterator
from functools import cache
from itertools import product
from math import nan

import numpy as np

from ... import theory
from ...chain import total
from ...problem import Problem
from ...stats.intervals import Interval
from ...users import TwoState
from ..results import Found, of_problem, of_trials
from ..verdicts import Measured

EXACT = "values, gaps and bounds, computed exactly"
POINTS = 1001
"""States looked at where there are infinitely many."""


def _states(problem: Problem) -> list[float]:
    finite = problem.user.space.states
    return [float(s) for s in (np.linspace(0.0, 1.0, POINTS) if finite is None else range(finite))]


@of_problem(EXACT)
def mistakes_cost(problem: Problem) -> Found:
    """In every state a pull of another arm than the best costs something."""
    least = min(problem.mistake_cost(s) for s in _states(problem))
    so = f"a mistake costs {least:.4g}"
    yield Measured("smallest D(s)", Interval.exact(least), 0.0, above=True, contrary=so)


@of_problem(EXACT)
def values_rise(problem: Problem) -> Found:
    """V* does not fall with the state."""
    least = float(np.diff([problem.value(s) for s in _states(problem)]).min())
    so = f"V* falls with the state, by {-least:.4g}"
    yield Measured("smallest step of V*(s)", Interval.exact(least), 0.0, above=True, contrary=so)


@of_problem(EXACT)
def gap_order(problem: Problem, opposite: bool = False) -> Found:
    """Exact gaps of the two states: state 0 costlier (or cheaper, `opposite`) than state 1."""
    costs = theory.mistake_costs(problem)
    ratio = costs[0] / costs[1]
    what = "gap in state 0 over gap in state 1"
    so = f"a mistake in state 0 costs {ratio:.4g} times one in state 1"
    yield Measured(what, Interval.exact(ratio), 1.0, not opposite, so)


@of_problem(EXACT)
def example_gaps(problem: Problem, rounding: float) -> Found:
    """With q00 = 1 alone the gaps are (μ1 - μa) / (1 - μ1) in state 1, over (1 - μ1)² in 0."""
    best = max(problem.means)
    worst = max(
        abs(problem.gap(s, a) * (1.0 - best) ** (2 - s) / (best - mean) - 1.0)
        for s in (0, 1)
        for a, mean in enumerate(problem.means)
        if mean < best
    )
    what = "largest relative deviation of a gap from its formula"
    so = f"a gap is {worst:.3g} times its formula away from it"
    yield Measured(what, Interval.exact(worst), rounding, above=False, contrary=so)


@of_problem(EXACT)
def bound_ratio(problem: Problem, one: str, other: str, at_most: float = 1.0, n: int = 4) -> Found:
    """The slope of one of the paper's bounds is at most `at_most` times that of another.

    `one` and `other` are names of `theory.bounds`; `n` is the number of bins.
    """
    slopes = {b.name: b.slope or nan for b in theory.bounds(problem, n=n)}
    ratio = slopes[one] / slopes[other]
    what = f"slope of the bound, {one} over {other}"
    so = f"the bound of {one} is {ratio:.4g} times {other}'s"
    yield Measured(what, Interval.exact(ratio), at_most, above=False, contrary=so)


@of_problem(EXACT)
def longest_visits(problem: Problem) -> Found:
    """No rule that chooses by the state keeps users longer than the best arm does."""
    best = (problem.best_arm,) * 2
    rules = set(product(range(problem.arms), repeat=2)) - {best}
    longest = max(_length(problem, rule) for rule in rules) / _length(problem, best)
    what = "longest visit with another rule over that with the best arm"
    so = f"another rule keeps users {longest:.4g} times as long"
    yield Measured(what, Interval.exact(longest), 1.0, above=False, contrary=so)


def _length(problem: Problem, rule: tuple[int, ...]) -> float:
    """Expected steps of a visit from state 1 when state s gets the arm rule[s]."""
    stay = np.array([problem.transition_matrix(a)[s, :-1] for s, a in enumerate(rule)])
    return float(total(stay, np.ones(len(rule)))[1])


@of_trials(EXACT, 0)
def lemma_2(qs: tuple[float, ...], means: tuple[float, ...]) -> Found:
    """Wherever the condition of Lemma 2 holds, a mistake costs at least as much in state 0.

    Looks at all problems of Assumption 1 with leave probabilities in `qs` and best mean in `means`.
    """
    met = [p for p in _problems(qs, means) if theory.sufficient_condition(p).holds]
    failures = sum(not theory.gap_condition(p).holds for p in met)
    what = f"counterexamples among {len(met)} problems that meet the condition"
    so = f"{failures} of {len(met)} problems that meet the condition are counterexamples"
    yield Measured(what, Interval.exact(float(failures)), 0.0, above=False, contrary=so)


def _problems(qs: tuple[float, ...], means: tuple[float, ...]) -> Iterator[Problem]:
    for q00, q01, q10, q11 in product(qs, repeat=4):
        falls = q00 >= max(q01, q10) and min(q01, q10) >= q11
        if falls and q00 > 0.0 and q11 < 1.0 and q00 != q10:
            user = TwoState(q00=q00, q01=q01, q10=q10, q11=q11)
            yield from (Problem([mean, mean / 2.0], user) for mean in means)


@of_trials(EXACT, 0)
def gap_falls(c6s: tuple[float, ...], mean: float, theta: float) -> Found:
    """For the paper's leave curve, the gap never grows with the state.

    What rounding explains counts as no rise of the mistake cost D.
    """
    for row in _scan(c6s, mean, theta):
        rise = 0.0 if row.holds else row.rise
        where = f"c6 = {row.c6:g}, θ = {theta:g}"
        what, so = f"{where}: largest rise of D(s)", f"{where}: D(s) rises by {rise:.3g}"
        yield Measured(what, Interval.exact(rise), 0.0, above=False, contrary=so)


_scan = cache(theory.conjecture)  # the only slow one
