"""The paper's bounds on the regret: slopes, and the constants of Lemmas 3 and 4.

A slope is what multiplies log K as the visits K grow: a sum over the arms that are not best of
gap(s, a) times the pulls that telling a apart takes, which are log K / (2 delta^2) with Hoeffding's
inequality and log K / kl with KL, where delta and kl compare the arm's mean with the best one.
Slopes differ only in the state s.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, e, exp, log
from pathlib import Path

from .. import validation
from ..engine.divergence import bernoulli_kl
from ..problem import Problem
from ..problem_files import problem_of
from ..validation import InputError
from ..values.prior import DoesNotApply
from . import gaps
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
    if why := gaps.outside(problem):
        of_user = MOVING_AVERAGE if problem.user.space.states is None else TWO_STATE
        reason = f"does not apply, because {why}"
        every = (*of_user, *COMPARISONS)
        return tuple(Bound(name, theorem, None, reason) for name, theorem, *_ in every)
    known = assumptions(problem, n)
    own: Iterable[Bound] = ()
    if gaps.two_state(problem):
        own = _two_state(problem, known)
    elif gaps.moving_average(problem):
        own = _moving_average(problem, known, n)
    needed = [c for c in known if c.name in ("one best arm", "best arm optimal in every state")]
    largest = max(gaps.all_costs(problem))
    more = [_bound(*row, problem, largest, needed) for row in COMPARISONS]
    return (*own, *more)


def _two_state(problem: Problem, known: Sequence[Check]) -> Iterator[Bound]:
    at_0, at_1 = gaps.mistake_costs(problem).values()
    small = gaps.tolerance(problem, [at_0, at_1])
    numbers = f"D(0) = {at_0:.6g}, D(1) = {at_1:.6g}"
    normal = Check("D(0) >= D(1)", gaps.gap_condition(problem).holds, numbers)
    opposite = Check("D(0) <= D(1)", at_0 <= at_1 + small, numbers)
    first = gaps.first_step_costs(problem)
    costs = [(0.0, at_0), (1.0, at_1), *first]
    for name, theorem, slope, explored in TWO_STATE:
        condition = opposite if name.endswith("opposite") else normal
        own = [d for s, d in costs if s == explored]
        cost = max(own) if own else min(d for _, d in costs)
        whole = f"{theorem}, carried over" if first else theorem
        yield _bound(name, whole, slope, problem, cost, [*known, condition])


def _moving_average(problem: Problem, known: Sequence[Check], n: int) -> Iterator[Bound]:
    bottom = (n - 1) / n
    first = gaps.first_step_costs(problem)
    exploring = max([problem.mistake_cost(bottom), *(d for s, d in first if s >= bottom)])
    least = min([problem.mistake_cost(1.0), *(d for _, d in first)])
    needed = [c for c in known if c.name != POSITIVE]
    any_bins = [c for c in needed if not c.name.startswith("q < 1")]
    for name, theorem, slope in MOVING_AVERAGE:
        lower = name == "lower bound"
        whole = f"{theorem}, carried over" if first and not lower else theorem
        cost, checks = (least, any_bins) if lower else (exploring, needed)
        yield _bound(name, whole, slope, problem, cost, checks)


def _bound(
    name: str, theorem: str, slope: Slope, problem: Problem, cost: float, needed: Sequence[Check]
) -> Bound:
    if failing := failures(needed):
        return Bound(name, theorem, None, f"does not apply, because {failing}")
    return Bound(name, theorem, slope(problem, cost))


@dataclass(frozen=True)
class Lemma3:
    """Constants of Lemma 3; see `lemma3`.

    >>> lemma3("A").T1
    19010
    """

    p_min: float
    eta: float
    gamma: float
    c2: float
    c3: float
    T1: int
    arms: int

    def bound(self, t: int) -> float:
        """Upper bound on P(N_t(best arm) <= (p_min - eta)(t - 1) / 2); may exceed 1 early on."""
        if t < self.T1:
            raise InputError(
                f"t = {t!r} is not allowed: with these constants it must be at least {self.T1}"
            )
        x, g = self.c2 * (t - 1), 2.0 * self.gamma**2
        few_pulls_mislead = (self.arms - 1) / g * exp(2.0 * g - g * x)
        best_arm_underrated = self.c3 / (x * log(x) ** 2)
        state_1_rare = exp(-(self.eta**2) * (t - 1) / 2.0)
        return few_pulls_mislead + best_arm_underrated + state_1_rare


@dataclass(frozen=True)
class Lemma4:
    """Constants of Lemma 4; see `lemma4`.

    >>> lemma4("A").T2
    19010
    """

    T2: int
    c4: float
    regret: float  # c4 times the gaps of state 0, the bound on all regret from pulls in that state


def lemma3(
    problem: Problem | str | Path, eta: float | None = None, gamma: float | None = None
) -> Lemma3:
    """Lemma 3: under ULCB (c0 = -1, c1 = 1, c = 4) the best arm's pulls grow linearly.

    With p_min = (smallest mean) min(1 - q01, 1 - q11), any eta in (0, p_min) and any gamma in
    (0, best mean - second best) there are constants c2, c3 and a time T1 such that for t >= T1
    the best arm has been pulled at most (p_min - eta)(t - 1) / 2 times with probability at most
    `bound(t)`. T1 is the smallest that the proof allows. By default eta and gamma are the middles
    of their intervals.

    >>> found = lemma3("A")
    >>> found.p_min, found.c2, found.T1, round(found.bound(10**6), 6)
    (0.8, 0.2, 19010, 1e-06)
    """
    problem = problem_of(problem)
    p_min, delta = _ranges(problem)
    eta = validation.number("eta", p_min / 2 if eta is None else eta, 0, p_min, open_ends=True)
    gamma = validation.number(
        "gamma", delta / 2 if gamma is None else gamma, 0, delta, open_ends=True
    )
    c2 = (p_min - eta) / (2.0 * (problem.arms - 1))
    c3 = (4.0 + e) / log(2.0) * log(2.0 / c2) + e / log(2.0)
    enough = _first(1 + ceil(1.0 / c2), lambda t: c2 * (t - 1) >= 2.0)
    T1 = _first(enough, lambda t: _budget(t) <= (delta - gamma) ** 2 * (2.0 * c2 * (t - 1) - 2.0))
    return Lemma3(p_min, eta, gamma, c2, c3, T1, problem.arms)


def lemma4(
    problem: Problem | str | Path, eta: float | None = None, gamma: float | None = None
) -> Lemma4:
    """Lemma 4: under ULCB the regret from pulls in state 0 is at most c4 times its gaps.

    T2 is the smallest time that the proof allows, c4 the constant at its end; `regret` is the
    bound itself, the same for any number of visits.

    >>> found = lemma4("A")
    >>> found.T2, round(found.c4, 1)
    (19010, 19029.2)
    """
    problem = problem_of(problem)
    _, delta = _ranges(problem)
    three = lemma3(problem, eta, gamma)
    p, eta, gamma, c2, c3 = three.p_min, three.eta, three.gamma, three.c2, three.c3
    T2 = _first(three.T1, lambda t: 4.0 * _budget(t) <= delta**2 * (p - eta) * (t - 1))
    g = 2.0 * gamma**2
    c4 = (
        T2
        + (problem.arms - 1) * exp(2.0 * g - g * c2 * (T2 - 2)) / (g**2 * c2)
        + c3 / (c2 * log(c2 * (T2 - 2)))
        + 2.0 / eta**2 * exp(-(eta**2) * (T2 - 2) / 2.0)
        + 12.0 * e / log(T2 - 1)
    )
    cost = max(
        [problem.mistake_cost(0), *(d for s, d in gaps.first_step_costs(problem) if s == 0.0)]
    )
    lost = sum(max(problem.means) - mean for mean in problem.means) * cost
    return Lemma4(T2, c4, c4 * lost)


def _ranges(problem: Problem) -> tuple[float, float]:
    """p_min and the distance of the two best means, if the assumptions of Theorem 1 hold."""
    user = gaps.two_state(problem)
    if user is None:
        why = gaps.outside(problem) or "it is about users with two states"
        raise DoesNotApply(f"the lemma does not apply, because {why}")
    if reason := bounds(problem)[0].reason:
        raise DoesNotApply(f"the lemma {reason}")
    best, second, *_ = sorted(problem.means, reverse=True)
    return min(problem.means) * min(1.0 - user.q01, 1.0 - user.q11), best - second


def _budget(t: int) -> float:
    """log t + 4 log log t, which grows more slowly than t - 1 from t = 5 on."""
    return log(t) + 4.0 * log(log(t))


def _first(low: int, good: Callable[[int], bool]) -> int:
    """The smallest t >= low that is good, given that every later one is good too."""
    return low + bisect_left(range(low, 2**62), True, key=good)
