"""The constants of Lemmas 3 and 4: from when on ULCB has mostly pulled the best arm."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, e, exp, log
from pathlib import Path

from .. import validation
from ..problem import Problem
from ..problem_files import problem_of
from ..validation import InputError
from ..values.prior import DoesNotApply
from .gaps import first_step_costs, outside, two_state
from .slopes import bounds


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
        """At most this is P(N_t(best arm) <= (p_min - eta)(t - 1) / 2); may exceed 1 early on."""
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
    cost = max([problem.mistake_cost(0), *(d for s, d in first_step_costs(problem) if s == 0.0)])
    gaps = sum(max(problem.means) - mean for mean in problem.means) * cost
    return Lemma4(T2, c4, c4 * gaps)


def _ranges(problem: Problem) -> tuple[float, float]:
    """p_min and the distance of the two best means, if the assumptions of Theorem 1 hold."""
    user = two_state(problem)
    if user is None:
        why = outside(problem) or "it is about users with two states"
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
    if good(low):
        return low
    step = 1
    while not good(low + step):
        step *= 2
    bad, fine = low + step // 2, low + step
    while fine - bad > 1:
        middle = (bad + fine) // 2
        bad, fine = (bad, middle) if good(middle) else (middle, fine)
    return fine
