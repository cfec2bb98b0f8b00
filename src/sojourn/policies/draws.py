"""The chance of each of several beta draws to be the greatest, for Thompson sampling to tell.

With f and F the density and the distribution function of each draw, it is

    P(a) = integral of f_a(x) product over b != a of F_b(x) dx.

In t = log(x / (1 - x)) every density is analytic and has one peak, log(a / b), of width
sqrt(1 / a + 1 / b). The integral goes from the top down in panels, each with the Gauss-Legendre
rule; integrals of the polynomial through its nodes give F at the nodes too. By Chernoff's bound a
draw from Beta(a, b) with mean m is beyond x with a chance of at most exp(-(a + b) kl(m, x)), which
says where to begin and to end, and which arms cannot win: after some time all but a few.
"""

from math import exp, lgamma, log, log1p, sqrt

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from ..engine.divergence import kl_lower
from ..engine.loops import jitable
from .base import Array

NATS = 25.0
"""What is left out has a chance of exp(-25), or 1e-11."""

WIDTH, GROWTH = 1.5, 0.5
"""Greatest width of a panel: so many widths of the nearest peak, and so much of the way to it."""


def _rule(nodes: int) -> tuple[Array, Array, Array]:
    """Nodes in (0, 1), their weights, and what weighs the values to integrate from a node to 1."""
    x, weight = legendre.leggauss(nodes)
    values = legendre.legvander(x, nodes - 1)
    above = [
        legendre.legval(1.0, ones) - legendre.legval(x, ones)
        for ones in (legendre.legint(row) for row in np.eye(nodes))
    ]
    rest = np.stack(above, axis=1) @ np.linalg.inv(values)
    return 0.5 * (x + 1.0), 0.5 * weight, 0.5 * rest


NODES, WEIGHTS, ABOVE = _rule(8)


@jitable
def lowest_logit(a: float, b: float) -> float:
    """A logit below which a draw from Beta(a, b) is with a chance of at most exp(-`NATS`)."""
    x = kl_lower(a / (a + b), NATS / (a + b))
    return log(x) - log1p(-x)


@jitable
def greatest_draw(a: Array, b: Array) -> Array:
    """The chance of each draw, from Beta(a, b) with a and b of at least 1, to be the greatest.

    >>> greatest_draw(np.array([2.0, 1.0]), np.array([1.0, 1.0])).round(8).tolist()
    [0.66666667, 0.33333333]
    """
    chances, bottom, top = np.zeros(a.size), -np.inf, -np.inf
    highest = np.empty(a.size)
    for i in range(a.size):
        bottom = max(bottom, lowest_logit(a[i], b[i]))
        highest[i] = -lowest_logit(b[i], a[i])
        top = max(top, highest[i])
    able: NDArray[np.intp] = np.flatnonzero(highest >= bottom)
    if able.size == 1:
        chances[able[0]] = 1.0
        return chances
    peak, wide, scale = np.empty(able.size), np.empty(able.size), np.empty(able.size)
    for i in range(able.size):
        arm = able[i]
        peak[i] = log(a[arm] / b[arm])
        wide[i] = sqrt(1.0 / a[arm] + 1.0 / b[arm])
        scale[i] = lgamma(a[arm] + b[arm]) - lgamma(a[arm]) - lgamma(b[arm])
    density, below = np.empty((able.size, NODES.size)), np.empty((able.size, NODES.size))
    beyond, logs = np.zeros(able.size), np.empty((2, NODES.size))
    while top > bottom:
        step = top - bottom
        for i in range(able.size):
            step = min(step, WIDTH * wide[i] + GROWTH * abs(top - peak[i]))
        top -= step
        for j in range(NODES.size):
            t = top + step * NODES[j]
            logs[1, j] = -log1p(exp(t)) if t < 0.0 else -t - log1p(exp(-t))
            logs[0, j] = logs[1, j] + t
        every = np.ones(NODES.size)
        for i in range(able.size):
            arm = able[i]
            for j in range(NODES.size):
                height = scale[i] + a[arm] * logs[0, j] + b[arm] * logs[1, j]
                density[i, j] = step * exp(height)
            for j in range(NODES.size):
                above = beyond[i]
                for k in range(NODES.size):
                    above += ABOVE[j, k] * density[i, k]
                below[i, j] = max(1.0 - above, 0.0)
                every[j] *= below[i, j]
            for k in range(NODES.size):
                beyond[i] += WEIGHTS[k] * density[i, k]
        for i in range(able.size):
            for j in range(NODES.size):
                if below[i, j] > 0.0:
                    chances[able[i]] += WEIGHTS[j] * density[i, j] * every[j] / below[i, j]
    return chances / chances.sum()  # type: ignore[no-any-return]
