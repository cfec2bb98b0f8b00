"""Exit rates along a moving average: where steps are on it, and the curve that fits them.

`Lens` says which bin of a moving average each step is in, for any theta and any first state.
For class c of the step number and bin s, log odds of leaving add up: logit q[c, s] = a[c] + b[s],
where b falls from bin to bin. `fit_tables` fits many tables at once: maximum likelihood by Newton
steps in turns; the fall is kept by pooling neighbours.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...engine.loops import jitable, loop
from ...stats.departures import probability
from ...stats.moments import Array
from ..reading import CENSORED
from .design import LAYER_ENDS, layers
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
"""Classes of step numbers; the first step is left out."""

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
        order = np.lexsort((visit, -np.bincount(visit)[visit], step))
        return cls(sample, near[order], np.cumsum(np.bincount(step)))

    @cached_property
    def value(self) -> Array:
        return self.sample.value[self.rows]

    @cached_property
    def usable(self) -> Flags:
        unknown = self.averages(np.isnan(self.value).astype(float), 0.5) > 0.0
        late = self.sample.step[self.rows] > 1
        return np.asarray(late & ~unknown & (self.sample.end[self.rows] != CENSORED))

    @cached_property
    def telling(self) -> Codes:
        """The usable steps, as rows of the sample."""
        return self.rows[self.usable]

    def averages(self, value: Array, theta: float) -> Array:
        """A' = (1 - theta) A + theta R from 0, for every step, with these rewards."""
        found = theta * value
        for a, b, c in zip(self.begins, self.begins[1:], self.begins[2:], strict=False):
            found[b:c] += (1.0 - theta) * found[a : a + c - b]
        return found


class Lens:
    """The usable steps by all that matters for one theta: held out, step number, average."""

    def __init__(self, paths: Paths, theta: float) -> None:
        self.paths, self.theta = paths, theta
        sample, rows = paths.sample, paths.telling
        steps = np.arange(2, REACH + 1)
        # Where the first state has faded the class is all that matters.
        faded = int(np.ceil(np.log(FADED) / np.log1p(-theta)))
        kind = np.stack([layers(steps) - 1, np.minimum(steps, faded)], axis=1)
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
        cell, size, counts = self._cells(value), self.targets.shape[1], []
        for w in [None] if weights is None else weights:
            for rows in (slice(None), self.left):
                own = None if w is None else w[self.user[rows]]
                counts.append(np.bincount(cell[rows], own, size))
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
        average = self.paths.averages(value, self.theta)[self.paths.usable]
        fresh = (1.0 - self.theta) ** self.paths.sample.step[self.paths.telling]
        found = np.tile((np.arange(BINS) + 0.5) / BINS, (len(STARTS), 1))
        for i, (row, start) in enumerate(zip(found, STARTS, strict=True)):
            where = self.bins(value, i)
            n, mass = (np.bincount(where, w, BINS) for w in (None, average + fresh * start))
            row[n > 0] = mass[n > 0] / n[n > 0]
        # Bins go by the codes of the averages, which are a little off.
        edges = np.arange(BINS) / BINS
        return np.clip(found, edges + ROUNDED, edges + 1.0 / BINS - ROUNDED)

    def _cells(self, value: Array) -> Codes:
        average = self.paths.averages(value, self.theta)[self.paths.usable]
        return np.asarray(self.place + (average * CODES).astype(np.int64))

    def _targets(self, kinds: Codes) -> Codes:
        """[start, cell]: where a cell is in (held, class, bin)."""
        place, code = np.divmod(np.arange(2 * len(kinds) * (CODES + 1)), CODES + 1)
        held, kind = np.divmod(place, len(kinds))
        number, step = kinds[kind].T
        start = np.array(STARTS)[:, None]
        state = (code + 0.5) / CODES + (1.0 - self.theta) ** step * start
        where = np.minimum((state * BINS).astype(np.int64), BINS - 1)
        return np.asarray((held * CLASSES + number) * BINS + where)


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
    """Turn a sequence into the nonincreasing one nearest in weighted squares: pool what rises."""
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


def fit_tables(n: Array, left: Array, turns: int = TURNS) -> Additive:
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
    """Log likelihood of `left` departures in `n` steps with chance q, over the last two axes."""
    return np.asarray((left * np.log(q) + (n - left) * np.log1p(-q)).sum(axis=(-2, -1)))


def by_class_alone(n: Array, left: Array) -> Array:
    """The chances to leave by class alone, [..., class, 1], with the same one step more."""
    total, gone = (x.sum(axis=-1, keepdims=True) for x in (n, left))
    usual = (gone.sum(axis=-2, keepdims=True) + 0.5) / (total.sum(axis=-2, keepdims=True) + 1.0)
    return np.asarray((gone + usual) / (total + 1.0))
