"""The slopes of the paper's regret bounds: what multiplies log K as the visits K grow.

Every one of them is a sum over the arms that are not best of gap(s, a) times the pulls that
telling a apart takes: log K / (2 delta^2) with Hoeffding's inequality, log K / kl with KL, where
delta and kl compare the arm's mean with the best one. They differ only in the state s.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from .. import validation
from ..engine.divergence import bernoulli_kl
from ..problem import Problem
from ..problem_files import problem_of
from .gaps import (
    all_costs,
    first_step_costs,
    gap_condition,
    mistake_costs,
    moving_average,
    outside,
    tolerance,
    two_state,
)
from .premises import POSITIVE, Check, assumptions, failures


@dataclass(frozen=True)
class Bound:
    """The regret is at most (or, for a lower bound, at least) `slope` log K for many visits K.

    >>> first, *_ = bounds("A")
    >>> first.name, first.theorem, round(first.slope, 6)
    ('ULCB', 'Theorem 1', 50.0)
    """

    name: str
    theorem: str
    slope: float | None  # None where the theorem's assumptions fail
    reason: str | None = None  # which of them fail


def bounds(problem: Problem | str | Path, n: int = 4) -> tuple[Bound, ...]:
    """Every slope the paper gives for this problem; `n` bins for the DISC policies.

    Two states: Theorems 1, 2 and 3, their opposites 5, 6 and 7. Moving averages: Theorem 4 and
    Theorem 3 carried over. For comparison "UCB" and "KL-UCB", which explore in every state alike
    and therefore pay the largest gap; these need only one best arm that is optimal everywhere.

    A user who never leaves at the first step (`StaysFirst`) has gaps of its own there. The proofs
    carry over with the largest gap among the states in which a policy explores and, in the lower
    bound, the smallest of all. A nonstationary problem has no bounds.

    >>> for b in bounds("A")[:3]:
    ...     print(b.theorem, b.name, round(b.slope, 6))
    Theorem 1 ULCB 50.0
    Theorem 2 KL-ULCB 22.520997
    Theorem 3 lower bound 22.520997
    """
    problem, n = problem_of(problem), validation.whole("n", n, 2)
    return _bounds(problem, n) if len(problem.phases) == 1 else ()


def hoeffding_slope(problem: Problem, cost: float) -> float:
    """The sum of gap / (2 (mu_1 - mu_a)^2) over the other arms, where a wrong pull costs `cost`."""
    deltas = [delta for _, delta in _others(problem)]
    return sum(delta * cost / (2.0 * delta**2) for delta in deltas)


def kl_slope(problem: Problem, cost: float) -> float:
    """The sum of gap / kl(mu_a, mu_1) over the other arms, where a wrong pull costs `cost`.

    With `cost` 1 this is the constant of Lai and Robbins.
    """
    best = max(problem.means)
    return sum(delta * cost / bernoulli_kl(mean, best) for mean, delta in _others(problem))


def _others(problem: Problem) -> list[tuple[float, float]]:
    """Mean and distance from the best mean, for every arm but the best."""
    best = problem.best_arm
    return [(m, problem.means[best] - m) for a, m in enumerate(problem.means) if a != best]


Slope = Callable[[Problem, float], float]

TWO_STATE: Sequence[tuple[str, str, Slope, float | None]] = (
    ("ULCB", "Theorem 1", hoeffding_slope, 1.0),
    ("KL-ULCB", "Theorem 2", kl_slope, 1.0),
    ("lower bound", "Theorem 3", kl_slope, None),
    ("ULCB, opposite", "Theorem 5", hoeffding_slope, 0.0),
    ("KL-ULCB, opposite", "Theorem 6", kl_slope, 0.0),
    ("lower bound, opposite", "Theorem 7", kl_slope, None),
)
"""Name, theorem, slope, and the state whose mistake cost it is of: None for the least of all."""

MOVING_AVERAGE: Sequence[tuple[str, str, Slope]] = (
    ("DISC-ULCB", "Theorem 4", hoeffding_slope),
    ("DISC-KL-ULCB", "Theorem 4", kl_slope),
    ("lower bound", "Theorem 3, carried over", kl_slope),
)
COMPARISONS: Sequence[tuple[str, str, Slope]] = (
    ("UCB", "regret decomposition", hoeffding_slope),
    ("KL-UCB", "regret decomposition", kl_slope),
)


@lru_cache(maxsize=256)
def _bounds(problem: Problem, n: int) -> tuple[Bound, ...]:
    if why := outside(problem):
        of_user = MOVING_AVERAGE if problem.user.space.states is None else TWO_STATE
        reason = f"does not apply, because {why}"
        every = (*of_user, *COMPARISONS)
        return tuple(Bound(name, theorem, None, reason) for name, theorem, *_ in every)
    known, own = assumptions(problem, n), list[Bound]()
    if two_state(problem):
        own = _two_state(problem, known)
    elif moving_average(problem):
        own = _moving_average(problem, known, n)
    needed = [c for c in known if c.name in ("one best arm", "best arm optimal in every state")]
    largest = max(all_costs(problem))
    more = [_bound(*row, problem, largest, needed) for row in COMPARISONS]
    return (*own, *more)


def _two_state(problem: Problem, known: Sequence[Check]) -> list[Bound]:
    at_0, at_1 = mistake_costs(problem).values()
    small = tolerance(problem, [at_0, at_1])
    numbers = f"D(0) = {at_0:.6g}, D(1) = {at_1:.6g}"
    normal = Check("D(0) >= D(1)", gap_condition(problem).holds, numbers)
    opposite = Check("D(0) <= D(1)", at_0 <= at_1 + small, numbers)
    first = first_step_costs(problem)
    costs = [(0.0, at_0), (1.0, at_1), *first]
    found = []
    for name, theorem, slope, explored in TWO_STATE:
        condition = opposite if name.endswith("opposite") else normal
        own = [d for s, d in costs if s == explored]
        cost = max(own) if own else min(d for _, d in costs)
        whole = f"{theorem}, carried over" if first else theorem
        found.append(_bound(name, whole, slope, problem, cost, [*known, condition]))
    return found


def _moving_average(problem: Problem, known: Sequence[Check], n: int) -> list[Bound]:
    bottom = (n - 1) / n
    first = first_step_costs(problem)
    exploring = max([problem.mistake_cost(bottom), *(d for s, d in first if s >= bottom)])
    least = min([problem.mistake_cost(1.0), *(d for _, d in first)])
    needed = [c for c in known if c.name != POSITIVE]
    any_bins = [c for c in needed if not c.name.startswith("q < 1")]
    found = []
    for name, theorem, slope in MOVING_AVERAGE:
        lower = name == "lower bound"
        whole = f"{theorem}, carried over" if first and not lower else theorem
        cost, checks = (least, any_bins) if lower else (exploring, needed)
        found.append(_bound(name, whole, slope, problem, cost, checks))
    return found


def _bound(
    name: str, theorem: str, slope: Slope, problem: Problem, cost: float, needed: Sequence[Check]
) -> Bound:
    if failing := failures(needed):
        return Bound(name, theorem, None, f"does not apply, because {failing}")
    return Bound(name, theorem, slope(problem, cost))
