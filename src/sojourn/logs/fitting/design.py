"""Which parameters a step has: the rows of the joint model, from a sample of steps."""

from dataclasses import dataclass

import numpy as np

from ...stats.moments import Array
from .crowd import LAYER_ENDS, layers
from .joint import NONE, Codes, Groups
from .sample import NO_REWARD, Sample
from .totals import CELLS, FIRST, UNKNOWN

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
    def mood(self) -> Codes:
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
    mood = np.append(layout.mood, [NONE, NONE])  # FIRST and UNKNOWN have none
    known = (sample.reward < NO_REWARD) & (sample.previous != UNKNOWN)
    liked = [layout.likes[sample.arm], mood[sample.previous], np.full(known.size, NONE)]
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
