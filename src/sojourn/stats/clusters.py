"""Ratios of totals, with intervals for steps that come in clusters: those of one user.

A ratio q = K / N of sums over users has the linearised error (k_u - q n_u) / N of each user u, so
that its variance, and the covariance of any two ratios, follows from the sums over users of the
products of k_u and n_u. Nothing is assumed about the steps of one user.
"""

from math import inf

import numpy as np

from .intervals import t, z
from .moments import Array


def ratio_covariance(
    products: Array, over: list[int], under: list[int], users: int
) -> tuple[Array, Array]:
    """Ratios of sums over users, and their covariance.

    `products` are the sums over users of all products of two quantities, of which the last is 1
    for every user (so that its row holds the plain sums); ratio i is that of quantity `over[i]`
    to `under[i]`.
    """
    sums = products[-1]
    q = np.divide(sums[over], sums[under], out=np.zeros(len(over)), where=sums[under] > 0)
    weights = np.zeros((len(over), len(products)))
    for i, (above, below) in enumerate(zip(over, under, strict=True)):
        if sums[below] > 0:
            weights[i, above] += 1.0 / sums[below]
            weights[i, below] -= q[i] / sums[below]
    spread = weights @ products @ weights.T
    correction = users / (users - 1.0) if users > 1 else inf
    return q, spread * correction


def clustered(moves: Array) -> Array:
    """The covariance of estimates, from how each user moved them: [user, estimate]."""
    users = len(moves)
    return np.asarray(moves.T @ moves * (users / max(users - 1.0, 1.0)))


def one_ratio_variance(over: Array, under: Array, squares: Array, users: int) -> Array:
    """Variances of over / under, one by one, from sums of under^2, under x over and over^2."""
    q = over / under
    spread = squares[:, 2] - 2.0 * q * squares[:, 1] + q**2 * squares[:, 0]
    correction = users / (users - 1.0) if users > 1 else inf
    return np.maximum(spread, 0.0) / under**2 * correction


def widening(sums: Array, squares: Array) -> Array:
    """The factor by which errors of ratios are too small where few users make most of the steps.

    From sums over users of steps and of their squares, as (sum of n)^2 / (sum of n^2): as many
    users with equally many steps are worth as much (Kish). With K of them, each pulls the ratio
    towards its own, by which residuals are too small by K / (K - 1), and quantiles are those of
    Student with K - 1 degrees of freedom. 1 in large logs.
    """
    users = np.maximum(
        np.divide(sums**2, squares, out=np.full_like(sums, inf), where=squares > 0), 2
    )
    tails = np.array([t(k - 1.0) for k in np.minimum(users, 1e9)])
    return np.asarray(tails / z() / (1.0 - 1.0 / users))


def share_interval(
    count: float, total: float, variance: float, level: float = 0.95
) -> tuple[float, float]:
    """An interval for a probability, from its estimate count / total and its variance.

    Symmetric on the scale of log odds, which keeps it inside (0, 1). Where all or none of the
    steps count, the exact bound for independent steps.

    >>> [round(x, 4) for x in share_interval(20, 100, 0.0016)]
    [0.1328, 0.2898]
    >>> [round(x, 4) for x in share_interval(0, 100, 0.0)]
    [0.0, 0.0362]
    """
    if total <= 0:
        return 0.0, 1.0
    if count <= 0 or count >= total:
        tail = float(((1.0 - level) / 2.0) ** (1.0 / total))
        return (0.0, 1.0 - tail) if count <= 0 else (tail, 1.0)
    q = count / total
    spread = np.sqrt(max(variance, 0.0))  # which rounding takes below 0
    center, half = np.log(q / (1.0 - q)), z(level) * spread / (q * (1.0 - q))
    low, high = (1.0 / (1.0 + np.exp(-np.clip(center + s * half, -700, 700))) for s in (-1, 1))
    return float(low), float(high)
