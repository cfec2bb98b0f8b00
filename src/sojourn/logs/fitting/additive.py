"""Chances to leave by state and by class of the step number: log odds that add up.

logit q[c, s] = a[c] + b[s], where b falls from state to state. Maximum likelihood by Newton steps
in turns, for many tables at once; the fall is kept by pooling neighbours.
"""

from typing import NamedTuple

import numpy as np

from ...engine.loops import jitable, loop
from ...stats.departures import probability
from ...stats.moments import Array

TURNS = 12
"""Enough for the likelihood of a table to be known to a few hundredths."""

LONGEST_STRIDE = 1.5
"""Log odds move at most so far in a turn: a Newton step from near 0 would overshoot."""


class Additive(NamedTuple):
    """Log odds of leaving: `by_class` [..., class] + `by_state` [..., state]."""

    by_class: Array
    by_state: Array

    @property
    def chances(self) -> Array:
        """[..., class, state]."""
        return probability(self.by_class[..., :, None] + self.by_state[..., None, :])

    def curve(self, weight: Array) -> Array:
        """The chance to leave in each state, over classes that have these weights [..., class]."""
        share = weight / weight.sum(axis=-1, keepdims=True)
        return np.asarray((share[..., :, None] * self.chances).sum(axis=-2))


@jitable
def make_fall(value: Array, weight: Array) -> None:
    """Turn a sequence into the nonincreasing one nearest in weighted squares: pool what rises.

    >>> q = np.array([0.5, 0.25, 0.75, 0.125])
    >>> make_fall(q, np.array([2.0, 1.0, 1.0, 1.0])); q.tolist()
    [0.5, 0.5, 0.5, 0.125]
    """
    size = value.size
    mean, mass, last = np.empty(size), np.empty(size), np.empty(size, np.int64)
    blocks = 0
    for i in range(size):
        mean[blocks], mass[blocks], last[blocks] = value[i], weight[i], i
        while blocks > 0 and mean[blocks - 1] <= mean[blocks]:
            total = mass[blocks - 1] + mass[blocks]
            moment = mean[blocks - 1] * mass[blocks - 1] + mean[blocks] * mass[blocks]
            mean[blocks - 1], mass[blocks - 1], last[blocks - 1] = moment / total, total, i
            blocks -= 1
        blocks += 1
    begin = 0
    for block in range(blocks):
        value[begin : last[block] + 1] = mean[block]
        begin = last[block] + 1


def fitted(n: Array, left: Array, turns: int = TURNS) -> Additive:
    """The falling additive model of tables [..., class, state] of steps and departures.

    One more step in each class and each state, which ends a visit as often as all of them do,
    keeps a state that saw no departure from ruling one out.
    """
    *many, classes, states = n.shape
    a, b = np.zeros((*many, classes)), np.zeros((*many, states))
    steps, gone = (np.ascontiguousarray(x.reshape(-1, classes, states)) for x in (n, left))
    take_turns(steps, gone, turns, a.reshape(-1, classes), b.reshape(-1, states))
    return Additive(a, b)


@loop
def take_turns(n: Array, left: Array, turns: int, a: Array, b: Array) -> None:
    """Newton steps in turns for every table, by state and by class, from the level of all."""
    tables, classes, states = n.shape
    slope, weight = np.empty(max(classes, states)), np.empty(max(classes, states))
    for t in range(tables):
        usual = (left[t].sum() + 0.5) / (n[t].sum() + 1.0)
        level = np.log(usual / (1.0 - usual))
        a[t] = level
        b[t] = 0.0
        for number in range(2 * turns):
            by_state = number % 2 == 0
            at, base = (b[t], level) if by_state else (a[t], 0.0)
            for i in range(at.size):
                own = 1.0 / (1.0 + np.exp(-base - at[i]))
                slope[i], weight[i] = usual - own, own * (1.0 - own)
            for c in range(classes):
                for s in range(states):
                    if n[t, c, s] > 0.0:
                        q = 1.0 / (1.0 + np.exp(-a[t, c] - b[t, s]))
                        i = s if by_state else c
                        slope[i] += left[t, c, s] - n[t, c, s] * q
                        weight[i] += n[t, c, s] * q * (1.0 - q)
            for i in range(at.size):
                at[i] += min(max(slope[i] / weight[i], -LONGEST_STRIDE), LONGEST_STRIDE)
            if by_state:
                make_fall(at, weight[:states])


def log_likelihood(q: Array, n: Array, left: Array) -> Array:
    """Of `left` departures in `n` steps with chance q, summed over the last two axes."""
    return np.asarray((left * np.log(q) + (n - left) * np.log1p(-q)).sum(axis=(-2, -1)))


def by_class_alone(n: Array, left: Array) -> Array:
    """The chances to leave by class alone, [..., class, 1], with the same one step more."""
    total, gone = (x.sum(axis=-1, keepdims=True) for x in (n, left))
    usual = (gone.sum(axis=-2, keepdims=True) + 0.5) / (total.sum(axis=-2, keepdims=True) + 1.0)
    return np.asarray((gone + usual) / (total + 1.0))
