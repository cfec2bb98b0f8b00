"""Which parameters a step has, and how far the effects of arms are drawn together."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...stats.departures import logit, probability
from ...stats.effects import Spread, contrasts
from ...stats.moments import Array
from .joint import LAMBDA, NONE, SIGMA, TAU, Codes, Groups, JointFit
from .sample import NO_REWARD, Sample
from .totals import CELLS, FIRST, UNKNOWN

LAYER_ENDS = (1, 2, 3, 5, 10, 20, 50)
"""The last step of every layer but the last one: ranges of step numbers."""


def layers(steps: NDArray[Any]) -> NDArray[np.int64]:
    """The layer of each step number, from 0."""
    return np.searchsorted(LAYER_ENDS, steps).astype(np.int64)


HORIZON = LAYER_ENDS[-1] + 1
"""Steps from this one on are alike."""

LAYER_OF_STEP = layers(np.arange(1, HORIZON + 1))

LAYERS = len(LAYER_ENDS) + 1
"""The layer of the first step has cells of its own, and the second is where the others are measured
from: these two have no parameter."""

WEAK = 0.01
SMOOTH = 4.0
MODEST = 0.25
"""Precisions of the prior, in log odds: of any effect, of the difference between layers that are
neighbours (late ones have few steps, or none), and of how users differ."""


class Layout(NamedTuple):
    """Where the parameters are: of each arm, cell or layer its index, or `NONE`.

    Log odds of a reward: arm, and previous reward beside the first step. Log odds to leave: cell,
    layer beside the first two, and arm beside the one of the most pulls. Rare arms together count
    as one more. Then sigma, lambda and tau.
    """

    likes: Codes
    after: Codes
    cells: Codes
    layers: Codes
    leaving: Codes
    size: int

    @property
    def prior(self) -> Array:
        """The precision matrix of the parameters before any data."""
        found = np.diag(np.full(self.size, WEAK))
        found[range(-3, 0), range(-3, 0)] = MODEST
        between = np.diff(np.eye(self.size)[self.layers[2:]], axis=0, prepend=0.0)
        return np.asarray(found + SMOOTH * between.T @ between)


def layout_of(sample: Sample) -> Layout:
    """The layout for the arms of a sample, rare ones included."""
    pulls = np.bincount(sample.arm, minlength=sample.arms)
    counts = (pulls.size, 2, len(CELLS), LAYERS - 2, pulls.size - 1)
    *ends, last = np.cumsum(counts).tolist()
    likes, after, cells, layers, leaving = np.split(np.arange(last), ends)
    layers = np.concatenate([[NONE, NONE], layers])
    return Layout(likes, after, cells, layers, np.insert(leaving, pulls.argmax(), NONE), last + 3)


def groups_of(sample: Sample, layout: Layout) -> Groups:
    """Steps with a known reward for what is liked, those that tell for who leaves."""
    after = np.append(layout.after, [NONE, NONE])  # FIRST and UNKNOWN have none
    sigma, slope, tau = layout.size + np.array([SIGMA, LAMBDA, TAU])
    known = (sample.reward < NO_REWARD) & (sample.previous != UNKNOWN)
    liked = layout.likes[sample.arm], after[sample.previous], NONE, sigma, NONE
    telling = sample.telling
    left = (
        layout.cells[np.where(telling, sample.cell, 0)],
        np.where(sample.previous == FIRST, NONE, layout.layers[layers(sample.step)]),
        layout.leaving[sample.arm],
        slope,
        tau,
    )
    each = [np.stack(np.broadcast_arrays(*columns), axis=1) for columns in (liked, left)]
    terms = np.concatenate([each[0][known], each[1][telling]])
    user = np.concatenate([sample.user[known], sample.user[telling]])
    good = np.concatenate([sample.reward[known] == 1, sample.left[telling]])
    code = np.zeros(len(terms), np.int64)
    for column in (3, 0, 1, 2):  # the last one follows from that before it
        code = code * (layout.size + 2) + terms[:, column] + 1
    _, rows, key = np.unique(code, return_index=True, return_inverse=True)
    group, found = np.unique(user * rows.size + key, return_inverse=True)
    return Groups(
        starts=np.searchsorted(group, np.arange(sample.users + 1) * rows.size).astype(np.int64),
        key=group % rows.size,
        n=np.bincount(found, minlength=group.size).astype(float),
        k=np.bincount(found, good, group.size).astype(float),
        terms=terms[rows],
        prior=layout.prior,
    )


class Shrunk(NamedTuple):
    """Estimates after shrinkage, and how they vary.

    `moves` is how each user moved them, and `prior` what is left of the uncertainty of the arms'
    effects beyond that: the covariance is the sum of both.
    """

    estimate: Array
    moves: Array
    prior: Array


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
    """
    inside = (chances > 0.0) & (chances < 1.0) & (weights.sum(axis=1) > 0.0)
    wanted = np.where(inside, chances, 0.5)
    shares = np.where(inside[:, None], weights, 1.0)
    shares = shares / shares.sum(axis=1, keepdims=True)
    level = logit(wanted)
    for _ in range(50):  # Newton, in a function that rises and is smooth
        each = probability(level[:, None] + odds)
        slope = (shares * each * (1.0 - each)).sum(axis=1)
        level = level - ((shares * each).sum(axis=1) - wanted) / slope
    return np.where(inside, probability(level), chances)
