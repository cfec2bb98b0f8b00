"""Which came first, a reward of 0 or the departure: two stories, told apart by arms that differ.

If a 0 drives people away, it adds the same to the log odds of leaving whatever the arm is. If they
are written down as a 0 because they leave (an item left unfinished), it adds most where other zeros
are rare: with arms that are liked. In both stories every arm has a mean and a chance to leave of
its own.
"""

from typing import NamedTuple

import numpy as np

from ...stats.moments import Array
from .sample import Sample
from .totals import FIRST

GRID = 1.0 - np.linspace(0.0, 1.0, 401)[:-1]
"""Chances that the reward of a last step is written down as it is."""

TURNS = 40
"""Newton steps, by arm and by reward in turns."""


class Stories(NamedTuple):
    """How much better the second story tells the log, in nats, and its standard error by user.

    `share` is that of the departures which would have been written down as a 0.
    """

    better: float
    error: float
    share: float


def stories(sample: Sample) -> Stories:
    """Both stories, fitted to steps after a 0, after a 1, and to first ones, each by itself."""
    rows = np.flatnonzero(sample.telling)
    before = np.where(sample.previous[rows] == FIRST, 2, sample.previous[rows])
    arm, reward, left = sample.arm[rows], sample.reward[rows], sample.left[rows].astype(int)
    shape = (3, sample.arms + 1, 2, 2)
    place = np.ravel_multi_index((before, arm, reward, left), shape)
    counts = np.bincount(place, minlength=int(np.prod(shape))).reshape(shape).astype(float)
    gained = np.zeros(shape)
    written = 0.0
    for previous, table in enumerate(counts):
        if table.sum() > 0:
            second, share = _written_at_departure(table)
            gained[previous] = second - _driven_away(table)
            written += share * table[..., 1].sum()
    each = np.bincount(sample.user[rows], gained.ravel()[place])
    return Stories(
        better=float(each.sum()),
        error=float(np.sqrt(each @ each)),
        share=float(written / max(counts[..., 1].sum(), 1.0)),
    )


def _log(p: Array) -> Array:
    return np.asarray(np.log(np.clip(p, 1e-12, 1.0)))


def _driven_away(table: Array) -> Array:
    """Log-likelihood of a step by [arm, reward, left]: a 0 adds to the log odds of leaving."""
    pulls = np.maximum(table.sum(axis=(1, 2)), 1e-9)
    mean = table[:, 1].sum(axis=1) / pulls
    n, left = table.sum(axis=2), table[..., 1]
    level = (left.sum() + 0.5) / (n.sum() + 1.0)
    at = np.full((len(table), 1), np.log(level / (1.0 - level)))
    more = np.zeros(2)
    for _ in range(TURNS):
        for axis in (1, 0):
            q = 1.0 / (1.0 + np.exp(-(at + more)))
            slope, weight = (x.sum(axis=axis) for x in (left - n * q, n * q * (1.0 - q)))
            stride = np.clip(slope / (weight + 1e-3), -1.0, 1.0)
            if axis == 1:
                at = at + stride[:, None]
            else:
                more = more + stride
    q = 1.0 / (1.0 + np.exp(-(at + more)))
    leave = np.stack([1.0 - q, q], axis=2)
    return _log(np.stack([1.0 - mean, mean], axis=1))[:, :, None] + _log(leave)


def _written_at_departure(table: Array) -> tuple[Array, float]:
    """The same if rewards do not matter, and some of those who leave are written down as a 0."""
    stay, left = table[..., 0], table[..., 1]
    good = stay[:, 1] + left[:, 1]

    def means(c: Array) -> Array:
        # (good / m) - (stay 0 / (1 - m)) - (c left 0 / (1 - c m)) = 0, for each arm.
        two = c * (good + stay[:, 0] + left[:, 0])
        one = good * (1.0 + c) + stay[:, 0] + c * left[:, 0]
        root = np.sqrt(np.maximum(one**2 - 4.0 * two * good, 0.0))
        return np.divide(2.0 * good, one + root, out=np.full_like(one, 0.5), where=one + root > 0)

    c = GRID[:, None]
    m = means(c)
    likelihood = stay[:, 1] * _log(m) + stay[:, 0] * _log(1.0 - m)
    likelihood += left[:, 1] * _log(c * m) + left[:, 0] * _log(1.0 - c * m)
    best = GRID[int(np.argmax(likelihood.sum(axis=1)))]
    m = means(np.array([best]))
    gone = (left.sum(axis=1) / np.maximum(table.sum(axis=(1, 2)), 1e-9))[:, None]
    stays = _log(np.stack([1.0 - m, m], axis=1)) + _log(1.0 - gone)
    leaves = _log(np.stack([1.0 - best * m, best * m], axis=1)) + _log(gone)
    return np.stack([stays, leaves], axis=2), float(1.0 - best)
