"""The case of a log: Assumption 1 pair by pair, mistake costs, and their confidence."""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, log, sqrt
from statistics import NormalDist
from sys import float_info

import numpy as np

from ...chain import NeverEnds
from ...rewards import Bernoulli
from ...stats.intervals import Interval, z
from ...stats.moments import Array
from ...users import TwoState
from ...validation import InputError
from ...values import solve

PAIRS = (("00", "01"), ("00", "10"), ("00", "11"), ("01", "11"), ("10", "11"))
"""Assumption 1: after a worse pair of rewards users leave at least as often as after a better."""

LARGEST = log(float_info.max)
"""Largest number whose exponential is finite."""

POWER = 0.8
"""The chance of a clear answer that `Costs.times_the_data` is computed for."""


@dataclass(frozen=True)
class Inequality:
    """One inequality of Assumption 1: q(worse) >= q(better).

    `confidence` is the chance, by the estimates' normal errors, that it is true.

    >>> Inequality("q00 >= q01", Interval(0.2, 0.1, 0.3), 0.99, "holds").in_words
    '0 0 against 0 1'
    """

    name: str
    difference: Interval
    confidence: float
    verdict: str

    @property
    def in_words(self) -> str:
        """The rewards that are compared, worse and better, oldest first."""
        worse, better = (part.strip("q") for part in self.name.split(" >= "))
        return f"{' '.join(worse)} against {' '.join(better)}"


@dataclass(frozen=True)
class Costs:
    """The mistake costs D(0) and D(1), the case they show, and how much data would show it.

    `ratio` is None where a cost is not positive. `times_the_data` is how many times the users of
    this log would show the case with 80 % chance, if the estimates are right.

    >>> from sojourn import Fit
    >>> steps, left = [[470, 355], [789, 3488]], [[163, 28], [425, 220]]
    >>> fit = Fit.from_counts(n=steps, k=left, means=[0.794, 0.178])
    >>> fit.costs.case, round(fit.costs.ratio.value, 2)  # a mistake after a 0, beside one after a 1
    ('opposite', 0.68)
    """

    d0: Interval
    d1: Interval
    ratio: Interval | None
    case: str
    confidence: float
    times_the_data: float


def assumption_1(q: Array, covariance: Array) -> tuple[Inequality, ...]:
    """The five inequalities, from the four leave probabilities q00, q01, q10, q11."""
    found = []
    for worse, better in PAIRS:
        i, j = int(worse, 2), int(better, 2)
        difference = float(q[i] - q[j])
        error = sqrt(max(covariance[i, i] + covariance[j, j] - 2.0 * covariance[i, j], 0.0))
        sure = NormalDist().cdf(difference / error) if error > 0.0 else float(difference >= 0.0)
        half = z() * error
        verdict = "holds" if difference > half else "fails" if difference < -half else "undecided"
        interval = Interval.around(difference, half)
        found.append(Inequality(f"q{worse} >= q{better}", interval, sure, verdict))
    return tuple(found)


def overall(pairs: tuple[Inequality, ...]) -> str:
    """Assumption 1 as a whole, in a few words."""
    if any(p.verdict == "fails" for p in pairs):
        return "rejected"
    if all(p.verdict == "holds" for p in pairs):
        return "holds"
    in_order = all(p.difference.value >= 0.0 for p in pairs)
    return "holds up to noise" if in_order else "undecided"


def mistake_costs(parameters: Array) -> Array:
    """D(0) and D(1) for q00, q01, q10, q11 and the mean of the best arm, if it is always shown.

    That is the optimum unless one of them is negative, and does not depend on other arms.

    >>> mistake_costs(np.array([1.0, 0.0, 0.0, 0.0, 0.9])).round(9).tolist()
    [100.0, 10.0]
    """
    q00, q01, q10, q11, best = np.clip(parameters, 0.0, 1.0).tolist()
    values = solve(TwoState(q00=q00, q01=q01, q10=q10, q11=q11), [Bernoulli(best)])
    return np.array([values.mistake_cost(0.0), values.mistake_cost(1.0)])


def costs(parameters: Array, covariance: Array) -> Costs:
    """Mistake costs with their errors, by linearising the solution of the decision problem.

    `parameters` as for `mistake_costs`, with their `covariance`. InputError if a visit might
    never end.
    """
    try:
        d = mistake_costs(parameters)
        slope = gradient(mistake_costs, parameters)
    except NeverEnds:
        raise InputError(
            "by these counts a visit might never end: there are too few departures"
        ) from None
    return costs_of(d, slope @ covariance @ slope.T)


def costs_of(d: Array, spread: Array) -> Costs:
    """The costs from D(0) and D(1) with this covariance."""
    errors = [sqrt(max(spread[s, s], 0.0)) for s in (0, 1)]
    d0, d1 = (Interval.around(d[s], z() * errors[s]) for s in (0, 1))
    if d.min() <= 0.0:
        worst = int(np.argmin(d))
        case = "improper" if (d0, d1)[worst].high < 0.0 else "undecided"
        ratio, effect, error = None, d[worst], errors[worst]
    else:
        weights = np.array([1.0 / d[0], -1.0 / d[1]])
        effect, error = log(d[0] / d[1]), sqrt(max(weights @ spread @ weights, 0.0))
        low, high = effect - z() * error, effect + z() * error
        case = "normal" if low > 0.0 else "opposite" if high < 0.0 else "undecided"
        # Two visits may say next to nothing: an end is then beyond all numbers.
        ends = (exp(x) if x < LARGEST else inf for x in (low, high))
        ratio = Interval(exp(effect), *ends)
    sure = NormalDist().cdf(abs(effect) / error) if error > 0.0 else 1.0
    # Errors fall with the root of the data.
    needed = z() + NormalDist().inv_cdf(POWER)
    times = (needed * error / effect) ** 2 if effect else inf
    return Costs(d0, d1, ratio, case, sure, times)


def bracketed(interval: Interval, digits: int = 4) -> str:
    """The value and, in brackets, the ends."""
    return f"{interval.value:.{digits}g} [{interval.low:.{digits}g}, {interval.high:.{digits}g}]"


def gradient(function: Callable[[Array], Array], at: Array) -> Array:
    """Central differences, one-sided where a parameter is at the edge of [0, 1]."""
    columns = []
    for own in np.eye(at.size):
        value = float(at @ own)
        step = 1e-6 * max(min(value, 1.0 - value), 1e-3)
        less, more = min(step, value), min(step, 1.0 - value)
        change = function(at + more * own) - function(at - less * own)
        columns.append(change / (more + less))
    return np.stack(columns, axis=1)
