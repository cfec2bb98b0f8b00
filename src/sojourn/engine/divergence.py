"""Bernoulli Kullback-Leibler divergence and its inverses, without cancellation.

With x = p - q the linear terms of the two logarithms cancel exactly, which leaves a sum of two
non-negative terms, accurate however close p and q are (counts of 1e12 make them very close):

    kl(p, q) = p h(-x / p) + (1 - p) h(x / (1 - p)),    h(y) = y - log(1 + y) >= 0.

The bounds solve kl(p, q) = budget by Halley's method in log q. In that variable the divergence
is convex, and nearly linear for small q, so that few steps suffice and q comes out with full
*relative* precision; the upper bound is its mirror image.

For rewards anywhere in [0, 1] there is the empirical divergence. For a distribution F on [0, 1] and
a mean mu above its own,

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

from math import exp, expm1, log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from .loops import jitable


@jitable
def excess(y: float) -> float:
    """y - log(1 + y), also where the two nearly cancel."""
    if abs(y) > 0.05:
        return y - log1p(y)
    # log(1 + y) = 2 atanh(z) with z = y / (2 + y); the first two terms meet y in closed form.
    z = y / (2.0 + y)
    z2 = z * z
    tail = z2 * (1 / 3 + z2 * (1 / 5 + z2 * (1 / 7 + z2 * (1 / 9))))
    return y * z - 2.0 * z * tail


@jitable
def _kl(p: float, p_not: float, q: float) -> float:
    """kl(p, q) for 0 < q <= p and p + p_not = 1."""
    x = p - q
    below = x if p_not < 1e-300 else p_not * excess(x / p_not)
    return p * (excess(-x / p) if q > 0.5 * p else log(p) - log(q) - x / p) + below


@jitable
def bernoulli_kl(p: float, q: float) -> float:
    """kl(p, q) = p log(p / q) + (1 - p) log((1 - p) / (1 - q)).

    >>> round(bernoulli_kl(0.8, 0.9), 7)
    0.044403
    """
    if q <= p:
        if q <= 0.0:
            return 0.0 if p <= 0.0 else float("inf")
        return _kl(p, 1.0 - p, q)
    if q >= 1.0:
        return float("inf")
    return _kl(1.0 - p, p, 1.0 - q)


@jitable
def _lower(p: float, p_not: float, budget: float) -> float:
    """min{q : kl(p, q) <= budget}."""
    if p <= 0.0:
        return 0.0
    if p_not < 1e-18:  # p is 1 to a double's precision
        return exp(-budget)
    if budget <= 0.0:
        return p
    # Start from the second-order fit near p, or from what is left of kl for small q.
    v = p * p_not
    x = sqrt(2.0 * budget * v)
    fit = x - x * x * (p_not - p) / (3.0 * v)
    if x < 0.5 * p and 0.0 < fit < 0.7 * p:
        q = p - fit
    else:
        q = exp((p * log(p) + p_not * log(p_not) - budget) / p)
        if q < 1e-300:
            return q  # the asymptote is exact here, and doubles end
    for _ in range(50):
        above = _kl(p, p_not, q) - budget
        slope = (q - p) / (1.0 - q)
        if slope == 0.0:
            break
        curve = q * p_not / ((1.0 - q) * (1.0 - q))
        step = -2.0 * above * slope / (2.0 * slope * slope - above * curve)
        q = min(q * exp(step), p)
        if abs(step) * max(q, p - q) < 3e-6 * (p - q):  # the next one is of the order of its cube
            break
    return q


@jitable
def kl_lower(mean: float, budget: float) -> float:
    """min{q : kl(mean, q) <= budget}, the KL lower confidence bound.

    >>> round(kl_lower(0.1, 0.9) * 1e6, 8)
    4.78135441
    """
    return _lower(mean, 1.0 - mean, budget)


@jitable
def kl_upper(mean: float, budget: float) -> float:
    """max{q : kl(mean, q) <= budget}, the KL upper confidence bound.

    >>> round(kl_upper(0.1, 0.2), 12)
    0.378391548848
    """
    return 1.0 - _lower(1.0 - mean, mean, budget)


@jitable
def kl_upper_at_least(mean: float, budget: float) -> float:
    """A q not above `kl_upper`, and close to it for a small budget, without solving for it.

    kl(m, q) is the integral of (x - m) / (x (1 - x)) from m to q, hence at most (q - m)^2 / (2 v),
    where v is the lesser of m (1 - m) and q (1 - q). Both v = m (1 - m) and v = q (1 - q) have a
    q with (q - m)^2 = 2 v budget; the lesser of the two is where that v is the lesser one.

    >>> round(kl_upper_at_least(0.8, 0.01), 4), round(kl_upper(0.8, 0.01), 4)
    (0.8504, 0.8524)
    """
    spread = 2.0 * budget * mean * (1.0 - mean)
    q = (mean + budget + sqrt(budget * budget + spread)) / (1.0 + 2.0 * budget)
    return min(q, mean + sqrt(spread))


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
