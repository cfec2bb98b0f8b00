"""Divergence and upper bound for rewards anywhere in [0, 1], from all that was seen of them.

For a distribution F on [0, 1] and a mean mu above its own,

    Kinf(F, mu) = min{KL(F, G) : G on [0, 1], mean of G >= mu}
                = max{E log(1 - l (X - mu)) : 0 <= l <= 1 / (1 - mu)},    X from F

(Honda and Takemura, COLT 2010). F is given by weights of the points 0, 1/n, ..., 1. With m the mean
of F, a = X - m, d = mu - m and s = l / (1 + l d), which goes from 0 to 1 / (1 - m),

    E log(1 - l (X - mu)) = -log(1 - s d) - H(s),    H(s) = E[-s a - log(1 - s a)],

two terms that do not cancel however small they are, because E a = 0. With B(s) = E[a^2 / (1 - s a)]
the maximum is where d = s B / (1 + s^2 B), which grows with s, or else at the end. At such s the
divergence is log(1 + s^2 B) - H(s): so the upper bound is the root of that, in the same variable.
The solvers work with r = 1 - s (1 - m), for 1 - s a = r + s (1 - X) is a sum of positive terms.
"""

from math import expm1, log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from .divergence import bernoulli_kl, excess, kl_lower, kl_upper
from .loops import jitable

TINY = 1e-18
NONE = 1e-12  # a share of the weight on 1 that makes no difference, left by rounding
CLOSE = 1e-7  # steps of Newton's method this small, relative, are the last: the next is its square


@jitable
def _mean(weights: NDArray[np.float64]) -> tuple[float, float, bool]:
    """The sum of the weights, the mean, and whether all weight is on 0 and 1."""
    last = weights.size - 1
    total = above = inner = 0.0
    for k in range(weights.size):
        w = max(weights[k], 0.0)
        total += w
        above += w * k
        if 0 < k < last:
            inner += w
    return total, above / last / total, inner == 0.0


@jitable
def _look(
    weights: NDArray[np.float64], total: float, mean: float, r: float
) -> tuple[float, float, float, float]:
    """s, s B(s), the derivative of d = s B / (1 + s^2 B), and H(s)."""
    last = weights.size - 1
    s = (1.0 - r) / (1.0 - mean)
    first = second = h = 0.0
    for k in range(weights.size):
        w, x = weights[k], k / last
        rest = r + s * (1.0 - x)  # 0 only at the end, for a weight that makes no difference
        if w > 0.0 and rest > 0.0:
            a = x - mean
            ratio = a / rest
            first += w * a * ratio
            second += w * ratio * ratio
            y = s * a
            h += w * (excess(-y) if abs(y) < 0.5 else -y - log(rest))
    slope = s * first / total
    spread = second / total - slope * slope
    return s, slope, spread / (1.0 + s * slope) ** 2, h / total


@jitable
def _inside(low: float, high: float, r: float) -> float:
    """r, or a point that halves the interval (low, high) if r is not inside it."""
    if low < r < high:
        return r
    if low < 0.1 * high:
        return sqrt(max(low, TINY) * high)
    return 0.5 * (low + high)


@jitable
def kinf(weights: NDArray[np.float64], mu: float) -> float:
    """Kinf(F, mu) for F with these weights on the points 0, 1/n, ..., 1.

    >>> print(f"{kinf(np.array([0.5, 0.0, 0.5]), 0.75):.9f}")  # on 0 and 1: Bernoulli's
    0.143841036
    >>> print(f"{kinf(np.array([0.25, 0.5, 0.25]), 0.75):.9f}")
    0.263833456
    """
    total, mean, binary = _mean(weights)
    if binary:
        return bernoulli_kl(mean, mu) if mean < mu else 0.0
    if mean >= mu:
        return 0.0
    if mu >= 1.0:
        return float("inf")
    d = mu - mean
    if weights[-1] <= NONE * total:
        s, slope, _, h = _look(weights, total, mean, 0.0)
        if slope <= d * (1.0 + s * slope):
            return max(-log1p(-s * d) - h, 0.0)
    low, high = 0.0, 1.0
    r = _inside(low, high, 1.0 - d / max(mean * (1.0 - mean), d))
    for _ in range(200):
        s, slope, derivative, _h = _look(weights, total, mean, r)
        above = slope / (1.0 + s * slope) - d
        if above > 0.0:
            low = r
        else:
            high = r
        new = _inside(low, high, r + (1.0 - mean) * above / derivative)
        step = abs(new - r)
        r = new
        if step <= CLOSE * min(r, 1.0 - r) or step < TINY:
            break
    s, _, _, h = _look(weights, total, mean, r)
    return max(-log1p(-s * d) - h, 0.0)


@jitable
def kinf_upper(weights: NDArray[np.float64], budget: float) -> float:
    """max{mu : Kinf(F, mu) <= budget}, the empirical KL upper confidence bound.

    >>> print(f"{kinf_upper(np.array([0.25, 0.5, 0.25]), 0.263833456):.6f}")
    0.750000
    """
    total, mean, binary = _mean(weights)
    if binary:
        return kl_upper(mean, budget)
    if budget <= 0.0:
        return mean
    if weights[-1] <= NONE * total:
        s, slope, _, h = _look(weights, total, mean, 0.0)
        if log1p(s * slope) - h <= budget:
            return mean - (1.0 - mean) * expm1(-budget - h)
    low, high = 0.0, 1.0
    r = _inside(low, high, 1.0 - sqrt(2.0 * budget / (mean * (1.0 - mean))) * (1.0 - mean))
    for _ in range(200):
        s, slope, derivative, h = _look(weights, total, mean, r)
        reached = log1p(s * slope) - h
        if reached > budget:
            low = r
        else:
            high = r
        # Newton's method for the root of the divergence, which is nearly linear in s.
        growth = s * (1.0 + s * slope) * derivative / (2.0 * sqrt(max(reached, TINY)))
        if growth <= 0.0:
            break  # a budget below a double's precision
        step = (1.0 - mean) * (sqrt(max(reached, 0.0)) - sqrt(budget)) / growth
        new = _inside(low, high, r + step)
        moved = abs(new - r)
        r = new
        if moved <= CLOSE * min(r, 1.0 - r) or moved < TINY:
            break
    s, slope, _, _h = _look(weights, total, mean, r)
    return min(mean + slope / (1.0 + s * slope), 1.0)


@jitable
def kinf_lower(weights: NDArray[np.float64], budget: float) -> float:
    """The lower confidence bound: what the upper one is for 1 - X, seen from the other end.

    >>> print(f"{kinf_lower(np.array([0.25, 0.5, 0.25]), 0.263833456):.6f}")
    0.250000
    """
    _, mean, binary = _mean(weights)
    return kl_lower(mean, budget) if binary else 1.0 - kinf_upper(weights[::-1], budget)
