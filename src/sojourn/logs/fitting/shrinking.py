"""Effects of arms drawn together, as far as they differ by more than their errors do."""

from dataclasses import dataclass

import numpy as np

from ...stats.moments import Array
from .design import Layout
from .joint import Codes, JointFit


@dataclass(frozen=True, eq=False)
class Shrunk:
    """Estimates after shrinkage, and how they vary.

    `moves` is how each user moved them, and `prior` what is left of the uncertainty of the arms'
    effects beyond that: the covariance is the sum of both.
    """

    estimate: Array
    moves: Array
    prior: Array

    @property
    def covariance(self) -> Array:
        users = len(self.moves)
        return np.asarray(self.moves.T @ self.moves * (users / max(users - 1.0, 1.0)) + self.prior)

    @classmethod
    def not_at_all(cls, joint: JointFit) -> "Shrunk":
        return cls(joint.estimate, joint.moves, np.zeros_like(joint.covariance))


def contrasts(parameters: Codes, pulls: Array, size: int) -> Array:
    """Rows that take effects of arms from their average over the pulls; -1 is an effect of 0.

    >>> contrasts(np.array([0, -1]), np.array([1.0, 3.0]), 2).tolist()
    [[0.75, 0.0], [-0.25, 0.0]]
    """
    rows = np.zeros((parameters.size, size))
    own = np.flatnonzero(parameters >= 0)
    rows[own, parameters[own]] = 1.0
    return np.asarray(rows - (pulls / pulls.sum()) @ rows)


def spread_between(effects: Array, variances: Array) -> float:
    """The variance between effects beyond that of their errors (DerSimonian and Laird 1986).

    One standard error more than estimated: with few arms it is hardly known, and to shrink what
    differs is worse than to leave apart what does not.
    """
    weights = 1.0 / np.maximum(variances, 1e-12)
    middle = weights @ effects / weights.sum()
    q = weights @ (effects - middle) ** 2
    free = effects.size - 1.0
    scale = weights.sum() - weights @ weights / weights.sum()
    return float((max(q - free, 0.0) + np.sqrt(2.0 * free)) / scale)


def shrink(joint: JointFit, layout: Layout, pulls: Array) -> Shrunk:
    """Likes and leaving by arm, each as draws from a normal distribution around their average."""
    rows, between = [], []
    for parameters in (layout.likes, layout.leaving):
        found = contrasts(parameters, pulls, layout.size)
        variances = np.einsum("ap,pq,aq->a", found, joint.covariance, found)
        rows.append(found)
        between.append(np.full(len(found), spread_between(found @ joint.estimate, variances)))
    taken, prior = np.concatenate(rows), np.diag(np.concatenate(between))
    inner = taken @ joint.covariance @ taken.T + prior
    gain = np.linalg.solve(inner, taken @ joint.covariance).T
    keep = np.eye(layout.size) - gain @ taken
    return Shrunk(keep @ joint.estimate, joint.moves @ keep.T, gain @ prior @ gain.T)


def centred(chances: Array, odds: Array, weights: Array) -> Array:
    """Chances that, with `odds` added by arm, are those given on average over the arms.

    `weights` are the steps by [chance, arm].

    >>> base = centred(np.array([0.3]), np.array([1.0, -1.0]), np.array([[1.0, 1.0]]))
    >>> shifted = 1 / (1 + (1 / base - 1) * np.exp(-np.array([1.0, -1.0])))
    >>> round(float(shifted.mean()), 12)
    0.3
    """
    inside = (chances > 0.0) & (chances < 1.0) & (weights.sum(axis=1) > 0.0)
    wanted = np.where(inside, chances, 0.5)
    shares = np.where(inside[:, None], weights, 1.0)
    shares = shares / shares.sum(axis=1, keepdims=True)
    level = np.log(wanted / (1.0 - wanted))
    for _ in range(50):  # Newton, in a function that rises and is smooth
        each = 1.0 / (1.0 + np.exp(-(level[:, None] + odds)))
        slope = (shares * each * (1.0 - each)).sum(axis=1)
        level = level - ((shares * each).sum(axis=1) - wanted) / slope
    return np.where(inside, 1.0 / (1.0 + np.exp(-level)), chances)
