"""Means of functions under Beta distributions, and of the greatest of several such means.

Integrals over (0, 1) are sums over the nodes of the double exponential rule (Takahasi and Mori,
1974), x = 1 / (1 + exp(-pi sinh t)) at even t: it converges exponentially for functions that are
analytic inside, whatever they do at the ends, and 1 - x is known to full precision.
"""

from collections.abc import Sequence
from math import asinh, ceil, lgamma, pi, sqrt
from typing import NamedTuple

import numpy as np

from ..values.finite import Array

DIGITS = 38.0
"""Natural logarithm of what is left out beyond the last nodes: about 1e-16."""


class Nodes(NamedTuple):
    """Points of (0, 1), their distances to 1, and weights."""

    x: Array
    y: Array
    weight: Array

    @classmethod
    def fine_enough(cls, known: float, least: float) -> "Nodes":
        """For Beta(a, b) with a + b up to `known`, and what grows like x^(least - 1) at 0.

        Likewise at 1. The spacing is three quarters of the standard deviation of the narrowest
        posterior, which leaves an error of exp(-2 (pi / 0.75)^2), or less: about 1e-15.
        """
        return cls.spaced(min(0.48 / sqrt(known), 1.0 / 32.0), least)

    @classmethod
    def spaced(cls, spacing: float, least: float) -> "Nodes":
        """With this spacing of t; an odd number of them."""
        end = asinh(DIGITS / max(least, 0.1) / pi) + spacing
        t = spacing * np.arange(-ceil(end / spacing), ceil(end / spacing) + 1)
        odds = pi * np.sinh(t)
        x, y = 1.0 / (1.0 + np.exp(-odds)), 1.0 / (1.0 + np.exp(odds))
        return cls(x, y, spacing * pi * np.cosh(t) * x * y)


class Posteriors(NamedTuple):
    """Of one arm after n pulls, for 0, 1, ..., n successes: a row each, a column per node."""

    chance: Array
    """The chance of each node; rows add up to 1."""
    below: Array
    """The chance that the mean is at most the node."""


def posteriors(nodes: Nodes, a: float, b: float, n: int) -> Posteriors:
    """Beta(a + k, b + n - k) for k = 0, ..., n.

    >>> nodes = Nodes.fine_enough(10, 1.0)
    >>> rows = posteriors(nodes, 1.0, 1.0, 2)
    >>> (rows.chance @ nodes.x).round(12).tolist()
    [0.25, 0.5, 0.75]
    """
    k = np.arange(n + 1.0)[:, None]
    log_x, log_y = np.log(nodes.x), np.log(nodes.y)
    density = (a + k - 1.0) * log_x + (b + n - k - 1.0) * log_y
    chance = _exp(density - density.max(axis=1, keepdims=True)) * nodes.weight
    chance /= chance.sum(axis=1, keepdims=True)
    # I(A + 1, B - 1) = I(A, B) - x^A y^(B - 1) Gamma(A + B) / (Gamma(A + 1) Gamma(B))
    below = np.empty_like(chance)
    below[0] = incomplete_beta(a, b + n, nodes.x, nodes.y)
    if n:
        scale = [lgamma(a + b + n) - lgamma(a + j + 1.0) - lgamma(b + n - j) for j in range(n)]
        gone = _exp((a + k[:-1]) * log_x + (b + n - k[:-1] - 1.0) * log_y + np.c_[scale])
        below[1:] = below[0] - np.cumsum(gone, axis=0)
    return Posteriors(chance, np.clip(below, 0.0, 1.0))


def _exp(x: Array) -> Array:
    """0 below exp(-300): numbers so small that they have fewer digits slow everything down."""
    return np.where(x > -300.0, np.exp(np.maximum(x, -300.0)), 0.0)


def incomplete_beta(a: float, b: float, x: Array, y: Array) -> Array:
    """I_x(a, b), the chance that a Beta(a, b) variate is at most x; y = 1 - x.

    The continued fraction DLMF 8.17.22, on the side of the mean where it converges fast.

    >>> incomplete_beta(2.0, 3.0, np.array([0.4]), np.array([0.6])).round(6).tolist()
    [0.5248]
    """
    if a == 1.0:
        return -np.expm1(b * np.log(y))
    low = x < (a + 1.0) / (a + b + 2.0)
    result = np.empty_like(x)
    result[low] = _fraction(a, b, x[low], y[low])
    result[~low] = 1.0 - _fraction(b, a, y[~low], x[~low])
    return result


def _fraction(a: float, b: float, x: Array, y: Array) -> Array:
    """I_x(a, b) by Lentz's method."""
    scale = lgamma(a + b) - lgamma(a + 1.0) - lgamma(b)
    front = np.exp(scale + a * np.log(x) + b * np.log(y))
    c, d = np.ones_like(x), 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    total = d.copy()
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        change = np.ones_like(x)
        for part in (even, odd):
            d, c = 1.0 / (1.0 + part * d), 1.0 + part / c
            change = c * d
            total = total * change
        if x.size == 0 or np.abs(change - 1.0).max() < 1e-15:
            break
    return front * total


def of_greatest(arms: Sequence[Posteriors], functions: Array) -> Array:
    """The mean of functions of the greatest of several means, by [function, k of each arm ...].

    `functions` are given at the nodes. The greatest mean has the distribution function of all
    means multiplied.

    >>> nodes = Nodes.fine_enough(1, 1.0)
    >>> flat = posteriors(nodes, 1.0, 1.0, 0)
    >>> of_greatest([flat, flat, flat], np.array([nodes.x])).round(12).tolist()
    [[[[0.75]]]]
    """
    *others, last = arms
    chance, below = others[0]
    for arm in others[1:]:
        one, each = (..., None, slice(None)), (None, slice(None), slice(None))
        chance = chance[one] * arm.below[each] + below[one] * arm.chance[each]
        below = below[one] * arm.below[each]
    return np.array([(chance * f) @ last.below.T + below @ (last.chance * f).T for f in functions])
