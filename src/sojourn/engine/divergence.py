"""Bernoulli Kullback-Leibler divergence and its inverses, without cancellation.

With x = p - q the linear terms of the two logarithms cancel exactly, which leaves a sum of two
non-negative terms, accurate however close p and q are (counts of 1e12 make them very close):

    kl(p, q) = p h(-x / p) + (1 - p) h(x / (1 - p)),    h(y) = y - log(1 + y) >= 0.

The bounds solve kl(p, q) = budget by Halley's method in log q. In that variable the divergence
is convex, and nearly linear for small q, so that few steps suffice and q comes out with full
*relative* precision; the upper bound is its mirror image.
"""

from math import exp, log, log1p, sqrt

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
