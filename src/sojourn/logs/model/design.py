"""Which parameters a step has, and how far the effects of arms are drawn together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...stats.clusters import clustered
from ...stats.effects import Spread, contrasts
from ...stats.moments import Array
from .joint import NONE, Codes, Groups, JointFit
from .sample import NO_REWARD, Sample
from .totals import CELLS, FIRST, UNKNOWN

LAYER_ENDS = (1, 2, 3, 5, 10, 20, 50)
"""The last step of every layer but the last one: ranges of step numbers."""


def layers(steps: NDArray[Any]) -> NDArray[np.int64]:
    """The layer of each step number, from 0.

    >>> layers(np.array([1, 2, 4, 5, 6, 51])).tolist()
    [0, 1, 3, 3, 4, 7]
    """
    return np.searchsorted(LAYER_ENDS, steps).astype(np.int64)


HORIZON = LAYER_ENDS[-1] + 1
"""Steps from this one on are alike."""

LAYER_OF_STEP = layers(np.arange(1, HORIZON + 1))

LAYERS = len(LAYER_ENDS) + 1
OWN_LAYERS = range(2, LAYERS)
"""Layers with a parameter: that of the first step has cells of its own, and the second is where
the others are measured from."""

WEAK = 0.01
SMOOTH = 4.0
MODEST = 0.25
"""Precisions of the prior, in log odds: of any effect, of the difference between layers that are
neighbours (late ones have few steps, or none), and of how users differ."""


@dataclass(frozen=True)
class Layout:
    """Where the parameters are, for so many arms (rare ones together count as one more).

    Log odds of a reward: arm, and previous reward beside the first step. Log odds to leave: cell,
    layer, and arm beside that of the most pulls. Then sigma, lambda and tau.
    """

    arms: int
    usual: int
    """The arm of the most pulls."""

    @property
    def likes(self) -> Codes:
        """By arm, the parameter of its rewards."""
        return np.arange(self.arms)

    @property
    def after(self) -> Codes:
        """Of rewards after a 0 and after a 1."""
        return self.arms + np.arange(2)

    @property
    def cells(self) -> Codes:
        return self.arms + 2 + np.arange(len(CELLS))

    @property
    def layers(self) -> Codes:
        """By layer; none for the first two."""
        own = int(self.cells[-1]) + 1 + np.arange(len(OWN_LAYERS))
        return np.concatenate([[NONE, NONE], own])

    @property
    def leaving(self) -> Codes:
        """By arm; none for the usual one."""
        own = int(self.layers[-1]) + 1 + np.arange(self.arms)
        return np.where(
            np.arange(self.arms) == self.usual, NONE, own - (np.arange(self.arms) > self.usual)
        )

    @property
    def size(self) -> int:
        return int(self.layers[-1]) + self.arms + 3

    @property
    def prior(self) -> Array:
        """The precision matrix of the parameters before any data."""
        found = np.diag(np.full(self.size, WEAK))
        found[range(-3, 0), range(-3, 0)] = MODEST
        before = NONE
        for layer in self.layers[2:]:
            step = np.zeros(self.size)
            step[layer] = 1.0
            if before != NONE:
                step[before] = -1.0
            found += SMOOTH * np.outer(step, step)
            before = layer
        return found


def layout_of(sample: Sample) -> Layout:
    """For the arms of a sample, the rare ones among them if there are."""
    pulls = np.bincount(sample.arm, minlength=sample.arms)
    return Layout(pulls.size, int(np.argmax(pulls)))


def groups_of(sample: Sample, layout: Layout) -> Groups:
    """Steps with a known reward for what is liked, those that tell for who leaves."""
    after = np.append(layout.after, [NONE, NONE])  # FIRST and UNKNOWN have none
    known = (sample.reward < NO_REWARD) & (sample.previous != UNKNOWN)
    liked = [layout.likes[sample.arm], after[sample.previous], np.full(known.size, NONE)]
    telling = sample.telling
    cell = np.where(telling, sample.cell, 0)
    left = [
        layout.cells[cell],
        np.where(sample.previous == FIRST, NONE, layout.layers[layers(sample.step)]),
        layout.leaving[sample.arm],
    ]
    effects = np.concatenate([np.stack(liked, 1)[known], np.stack(left, 1)[telling]])
    user = np.concatenate([sample.user[known], sample.user[telling]])
    good = np.concatenate([sample.reward[known] == 1, sample.left[telling]])
    leaves = np.repeat([0, 1], [known.sum(), telling.sum()])
    rows, key = _distinct(np.column_stack([leaves, effects]), layout.size)
    group, found = np.unique(user * len(rows) + key, return_inverse=True)
    return Groups(
        starts=np.searchsorted(group, np.arange(sample.users + 1) * len(rows)).astype(np.int64),
        key=group % len(rows),
        n=np.bincount(found, minlength=group.size).astype(float),
        k=np.bincount(found, good, group.size).astype(float),
        effects=rows[:, 1:].copy(),
        leaves=rows[:, 0].copy(),
        prior=layout.prior,
    )


def _distinct(rows: Codes, base: int) -> tuple[Codes, Codes]:
    """The distinct rows, and for each row which of them it is; numbers are from -1 to base."""
    coded = np.zeros(len(rows), np.int64)
    for column in rows.T:
        coded = coded * (base + 2) + column + 1
    _, first, inverse = np.unique(coded, return_index=True, return_inverse=True)
    return rows[first], inverse


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
        return clustered(self.moves) + self.prior


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
