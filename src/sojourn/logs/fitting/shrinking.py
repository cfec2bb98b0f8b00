"""Effects of arms drawn together, as far as they differ by more than their errors do."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...stats.departures import Spread, contrasts
from ...stats.moments import Array
from .design import Layout
from .joint import JointFit


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
