"""Effects of arms drawn together, as far as they differ by more than their errors do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...stats.moments import Array
from .design import Layout
from .joint import Codes, JointFit

NEARLY_EQUAL = 1e-4
"""The least variance between effects, as a share of that of their errors."""


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


def contrasts(parameters: Codes, pulls: Array, size: int) -> Array:
    """Rows that take effects of arms from their average over the pulls; -1 is an effect of 0.

    >>> contrasts(np.array([0, -1]), np.array([1.0, 3.0]), 2).tolist()
    [[0.75, 0.0], [-0.25, 0.0]]
    """
    rows = np.zeros((parameters.size, size))
    own = np.flatnonzero(parameters >= 0)
    rows[own, parameters[own]] = 1.0
    return np.asarray(rows - (pulls / pulls.sum()) @ rows)


class Spread(NamedTuple):
    """What is known of the variance between effects: E q = free + scale variance.

    q is Cochran's sum of squares, weighted by the errors (DerSimonian and Laird 1986).
    """

    q: float
    free: float
    scale: float

    @classmethod
    def of(cls, effects: Array, variances: Array) -> "Spread":
        weights = 1.0 / np.maximum(variances, 1e-12)
        middle = weights @ effects / weights.sum()
        q = float(weights @ (effects - middle) ** 2)
        scale = weights.sum() - weights @ weights / weights.sum()
        return cls(q, effects.size - 1.0, float(scale))

    @property
    def estimate(self) -> float:
        """One standard error more than estimated.

        With few arms it is hardly known, and to shrink what differs is worse than to leave apart
        what does not.
        """
        return (max(self.q - self.free, 0.0) + float(np.sqrt(2.0 * self.free))) / self.scale

    def draws(self, rng: np.random.Generator, number: int) -> Array:
        """Variances that are not ruled out: q over a draw of chi-square is free + scale variance.

        That is 0 as often as a test of equal effects would not see them differ, but for
        `NEARLY_EQUAL`, with which matrices stay regular.

        >>> Spread(q=1.0, free=2.0, scale=10.0).draws(np.random.default_rng(1), 3).round(4).tolist()
        [0.0, 0.1242, 0.0]
        """
        found = self.free * (self.q / rng.chisquare(self.free, number) - 1.0)
        return np.asarray(np.maximum(found, NEARLY_EQUAL * self.free) / self.scale)


def spread_between(effects: Array, variances: Array) -> float:
    """The variance between effects beyond that of their errors; see `Spread.estimate`."""
    return Spread.of(effects, variances).estimate


def shrink(joint: JointFit, layout: Layout, pulls: Array) -> Shrunk:
    """Likes and leaving by arm, each as draws from a normal distribution around their average."""
    rows, spreads = _by_arm(joint, layout, pulls)
    keep, gain, prior = _shrinkage(joint, rows, [spread.estimate for spread in spreads])
    return Shrunk(keep @ joint.estimate, joint.moves @ keep.T, gain @ prior @ gain.T)


def draw_shrunk(
    joint: JointFit, layout: Layout, pulls: Array, counts: Array, rng: np.random.Generator
) -> Array:
    """Parameters that the log does not rule out, a row for each row of `counts`.

    `counts[draw, user]` say how often each user counts, once on average: users drawn anew
    (a bootstrap, to first order). How much arms differ is drawn too, and given that their effects.
    """
    rows, spreads = _by_arm(joint, layout, pulls)
    between = np.stack([spread.draws(rng, len(counts)) for spread in spreads], axis=1)
    found = joint.estimate + (counts - 1.0) @ joint.moves
    for theta, variances in zip(found, between, strict=True):
        keep, gain, prior = _shrinkage(joint, rows, variances)
        effects = np.sqrt(prior.diagonal()) * rng.standard_normal(len(prior))
        theta[:] = keep @ theta + gain @ effects
    return np.asarray(found)


def _by_arm(joint: JointFit, layout: Layout, pulls: Array) -> tuple[list[Array], list[Spread]]:
    """Contrasts of likes and of leaving, and what is known of their spreads."""
    rows = [contrasts(which, pulls, layout.size) for which in (layout.likes, layout.leaving)]
    errors = [np.einsum("ap,pq,aq->a", found, joint.covariance, found) for found in rows]
    spreads = [Spread.of(r @ joint.estimate, e) for r, e in zip(rows, errors, strict=True)]
    return rows, spreads


def _shrinkage(
    joint: JointFit, rows: Sequence[Array], between: Sequence[float] | Array
) -> tuple[Array, Array, Array]:
    """What is kept of estimates, what is taken of effects with the `prior`, and that."""
    taken = np.concatenate(rows)
    prior: Array = np.diag(np.repeat(between, [len(found) for found in rows]))
    inner = taken @ joint.covariance @ taken.T + prior
    gain = np.asarray(np.linalg.solve(inner, taken @ joint.covariance).T, np.float64)
    return np.eye(taken.shape[1]) - gain @ taken, gain, prior


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
