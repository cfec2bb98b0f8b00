"""Moving averages of the rewards of visits, a step at a time over all visits at once."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...stats.moments import Array
from ..reading import CENSORED
from .crowd import LAYER_ENDS, layers
from .sample import Codes, Flags, Sample

THETAS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
"""The weights of a new reward that are tried."""

STARTS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The first states that are tried."""

REACH = 256
"""Averages are followed for this many steps of a visit."""

BINS = 20
"""The leave curve has this many bins of equal width."""

CLASSES = len(LAYER_ENDS)
"""Of step numbers; the first step is left out."""

CODES = 200
"""An average A is known as the whole part of 200 A."""

ROUNDED = 1e-6

FADED = 0.005
"""Below this weight the first state is forgotten, and steps are no longer told apart."""


@dataclass(frozen=True, eq=False)
class Paths:
    """Steps up to `REACH` by their number, and within one number visits by falling length.

    `rows` are the steps in the sample, `begins[h]` is where those of number h + 1 begin.
    `usable` are those that tell about the leave curve: not the first, not censored, and without an
    unknown reward up to there.
    """

    sample: Sample
    rows: Codes
    begins: Codes

    @classmethod
    def of(cls, sample: Sample) -> "Paths":
        near = np.flatnonzero(sample.step <= REACH)
        visit, step = sample.visit[near], sample.step[near]
        length = np.bincount(visit, minlength=sample.visits)
        rank = np.empty(sample.visits, np.int64)
        rank[np.argsort(-length, kind="stable")] = np.arange(sample.visits)
        reach = int(length.max())
        active = sample.visits - np.cumsum(np.bincount(length, minlength=reach + 1))[:-1]
        begins = np.concatenate([[0], np.cumsum(active)])
        rows = np.empty(near.size, np.int64)
        rows[begins[step - 1] + rank[visit]] = near
        return cls(sample, rows, begins)

    @cached_property
    def value(self) -> Array:
        return self.sample.value[self.rows]

    @cached_property
    def usable(self) -> Flags:
        unknown = self._averages(np.isnan(self.value).astype(float), 0.5) > 0.0
        late = self.sample.step[self.rows] > 1
        return np.asarray(late & ~unknown & (self.sample.end[self.rows] != CENSORED))

    @cached_property
    def telling(self) -> Codes:
        """The usable steps, as rows of the sample."""
        return self.rows[self.usable]

    def _averages(self, value: Array, theta: float) -> Array:
        """A' = (1 - theta) A + theta R from 0, for every step."""
        found = theta * value
        for a, b, c in zip(self.begins, self.begins[1:], self.begins[2:], strict=False):
            found[b:c] += (1.0 - theta) * found[a : a + c - b]
        return found

    def averages(self, value: Array, theta: float) -> Array:
        """Of the usable steps, with other rewards in the place of `value`."""
        return self._averages(value, theta)[self.usable]


def cap(theta: float) -> int:
    """The number of steps after which the first state has faded."""
    return int(np.ceil(np.log(FADED) / np.log1p(-theta)))


class Lens:
    """The usable steps by all that matters for one theta: held out, step number, average."""

    def __init__(self, paths: Paths, theta: float) -> None:
        self.paths, self.theta = paths, theta
        sample, rows = paths.sample, paths.telling
        steps = np.arange(2, REACH + 1)
        # Of late steps the class is all that matters.
        kind = np.stack([layers(steps) - 1, np.minimum(steps, cap(theta))], axis=1)
        kinds, of_step = np.unique(kind, axis=0, return_inverse=True)
        held = sample.held[rows] * len(kinds)
        self.place = (of_step.ravel()[sample.step[rows] - 2] + held) * (CODES + 1)
        self.left = np.flatnonzero(sample.left[rows])
        self.user = sample.user[rows]
        self.targets = self._targets(kinds)

    def tables(self, value: Array, weights: Array | None = None) -> Array:
        """[weights, start, steps or departures, held, class, bin].

        `weights` [weights, user] say how often each user counts, once unless they are given.
        """
        cell, size = self._cells(value), self.targets.shape[1]
        last = cell[self.left]
        if weights is None:
            counts = [np.bincount(cell, None, size), np.bincount(last, None, size)]
        else:
            who, counts = self.user[self.left], []
            for w in weights:
                counts += [np.bincount(cell, w[self.user], size), np.bincount(last, w[who], size)]
        used = np.flatnonzero(np.bincount(cell, None, size))
        found = np.empty((len(counts), len(STARTS), 2 * CLASSES * BINS))
        for i, target in enumerate(self.targets[:, used]):
            for j, row in enumerate(counts):
                found[j, i] = np.bincount(target, row[used], found.shape[-1])
        shape = (-1, 2, len(STARTS), 2, CLASSES, BINS)
        return found.reshape(shape).swapaxes(1, 2)

    def bins(self, value: Array, start: int) -> Codes:
        """The bins of the usable steps, by the index of the start."""
        return np.asarray(self.targets[start, self._cells(value)] % BINS)

    def middles(self, value: Array) -> Array:
        """[start, bin]: the mean state of the steps in a bin; its middle where there is none."""
        average, step = self.paths.averages(value, self.theta), self.paths.sample.step
        fresh = (1.0 - self.theta) ** step[self.paths.telling]
        cell, found = self._cells(value), np.tile((np.arange(BINS) + 0.5) / BINS, (len(STARTS), 1))
        for row, start, target in zip(found, STARTS, self.targets, strict=True):
            where = target[cell] % BINS
            n, mass = (np.bincount(where, w, BINS) for w in (None, average + fresh * start))
            row[n > 0] = mass[n > 0] / n[n > 0]
        # Bins go by the codes of the averages, which are a little off.
        edges = np.arange(BINS) / BINS
        return np.clip(found, edges + ROUNDED, edges + 1.0 / BINS - ROUNDED)

    def _cells(self, value: Array) -> Codes:
        code = self.paths.averages(value, self.theta) * CODES
        return np.asarray(self.place + code.astype(np.int64))

    def _targets(self, kinds: Codes) -> Codes:
        """[start, cell]: where a cell is in (held, class, bin)."""
        place, code = np.divmod(np.arange(2 * len(kinds) * (CODES + 1)), CODES + 1)
        held, kind = np.divmod(place, len(kinds))
        number, step = kinds[kind].T
        start = np.array(STARTS)[:, None]
        state = (code + 0.5) / CODES + (1.0 - self.theta) ** step * start
        where = np.minimum((state * BINS).astype(np.int64), BINS - 1)
        return np.asarray((held * CLASSES + number) * BINS + where)
