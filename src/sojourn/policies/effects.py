"""How arms differ in who leaves after them: log odds of leaving, shared as far as arms agree.

In bin b, after a reward of level r, the log odds of leaving after arm a are taken to be

    base(b, r) + effect(a) + quirk(a, b, r),    effect ~ N(0, s^2), quirk ~ N(0, (s / 3)^2).

The effect is what an arm does to everyone; quirks, which are small unless much speaks for them,
make it any table of chances in the end. The strength s is one of `STRENGTHS`, the one that makes
what was seen most likely; and how likely that is, compared with arms that do not differ at all
(s = 0), says whether to believe in differences. Likelihoods are Laplace's: a Gaussian at the mode,
base, effects and quirks integrated out. For arms that do not differ the expected ratio is 1, as it
has to be, also where departures are few.
"""

from math import exp, inf, log
from typing import Any

import numpy as np

from ..engine.loops import jitable
from .base import Array
from .watched import Pooled

STRENGTHS = (0.25, 0.5, 1.0, 2.0)
"""Standard deviations of effects, in log odds."""

QUIRKS = 1.0 / 3.0
"""The standard deviation of quirks, as a share of that of effects."""

ROUNDS = 4
"""Newton steps of a fit, from where the last one ended."""

STEP = 1.5
"""Log odds that a Newton step may change at most."""

EDGE = 30.0
"""Log odds beyond this are taken for it: one in ten million million."""


@jitable
def chance(odds: float) -> float:
    """The chance that has these log odds."""
    return 1.0 / (1.0 + exp(-min(max(odds, -EDGE), EDGE)))


@jitable
def log_odds(p: float) -> float:
    """log(p / (1 - p)), for p strictly between 0 and 1."""
    return log(p) - log(1.0 - p)


@jitable
def was_seen(seen: Array, row: int) -> bool:
    """Whether anything is known of departures after an arm."""
    steps = 0.0
    for b in range(seen.shape[1]):
        steps += seen[row, b, 0] + seen[row, b, 1]
    return steps > 0.0


@jitable
def limited(step: float) -> float:
    """A Newton step that does not leap."""
    return min(max(step, -STEP), STEP)


@jitable
def tune(
    seen: Array, left: Array, row: int, base: Array, effect: Array, quirk: Array, strength: float
) -> None:
    """One Newton step of an arm's effect and quirks, given the base.

    The quirks are eliminated first: the matrix of second derivatives is an arrow.
    """
    bins = base.shape[0]
    wide, narrow = strength**2, (QUIRKS * strength) ** 2
    pull, weight = np.zeros((bins, 2)), np.zeros((bins, 2))
    slope, curve = -effect[row] / wide, 1.0 / wide
    for b in range(bins):
        for r in range(2):
            n = seen[row, b, r]
            if n > 0.0:
                p = chance(base[b, r] + effect[row] + quirk[row, b, r])
                pull[b, r], weight[b, r] = left[row, b, r] - n * p, n * p * (1.0 - p)
                own = 1.0 + narrow * weight[b, r]
                slope += (pull[b, r] + weight[b, r] * quirk[row, b, r]) / own
                curve += weight[b, r] / own
    step = limited(slope / curve)
    effect[row] += step
    for b in range(bins):
        for r in range(2):
            if seen[row, b, r] > 0.0:
                rest = narrow * (pull[b, r] - weight[b, r] * step) - quirk[row, b, r]
                quirk[row, b, r] += limited(rest / (1.0 + narrow * weight[b, r]))


@jitable
def tune_base(
    seen: Array, left: Array, share: Array, base: Array, effect: Array, quirk: Array
) -> None:
    """Make the effects zero on average, and one Newton step of the base.

    As in `pooled`, one more step showed the average over all bins.
    """
    rows, bins = effect.size, base.shape[0]
    total = known = 0.0
    for row in range(rows):
        if was_seen(seen, row):
            total += effect[row]
            known += 1.0
    shift = total / max(known, 1.0)
    for row in range(rows):
        if was_seen(seen, row):
            effect[row] -= shift
    for b in range(bins):
        for r in range(2):
            base[b, r] += shift
            p = chance(base[b, r])
            slope, curve = share[r] - p, p * (1.0 - p)
            for row in range(rows):
                n = seen[row, b, r]
                if n > 0.0:
                    p = chance(base[b, r] + effect[row] + quirk[row, b, r])
                    slope += left[row, b, r] - n * p
                    curve += n * p * (1.0 - p)
            base[b, r] += limited(slope / curve)


@jitable
def evidence(
    seen: Array,
    left: Array,
    leave: Array,
    share: Array,
    base: Array,
    effect: Array,
    quirk: Array,
    strength: float,
) -> float:
    """The log of how much likelier what was seen is with effects of this strength than without."""
    rows, bins = effect.size, base.shape[0]
    wide, narrow, cells = strength**2, (QUIRKS * strength) ** 2, 2 * bins
    curve, alike, weight = np.zeros((cells, cells)), np.zeros(cells), np.zeros(cells)
    total = 0.0
    for c in range(cells):
        p, p0, typical = chance(base[c // 2, c % 2]), leave[c // 2, c % 2], share[c % 2]
        curve[c, c], alike[c] = p * (1.0 - p), p0 * (1.0 - p0)
        total += typical * log(p / p0) + (1.0 - typical) * log((1.0 - p) / (1.0 - p0))
    for row in range(rows):
        sum_of_weights = 0.0
        for c in range(cells):
            b, r = c // 2, c % 2
            n, gone = seen[row, b, r], left[row, b, r]
            weight[c] = 0.0
            if n > 0.0:
                p, p0 = chance(base[b, r] + effect[row] + quirk[row, b, r]), leave[b, r]
                own = 1.0 + narrow * n * p * (1.0 - p)
                weight[c] = n * p * (1.0 - p) / own
                alike[c] += n * p0 * (1.0 - p0)
                total += gone * log(p / p0) + (n - gone) * log((1.0 - p) / (1.0 - p0))
                total -= 0.5 * (log(own) + quirk[row, b, r] ** 2 / narrow)
                sum_of_weights += weight[c]
        total -= 0.5 * (log(1.0 + wide * sum_of_weights) + effect[row] ** 2 / wide)
        for c in range(cells):
            if weight[c] > 0.0:
                curve[c, c] += weight[c]
                for d in range(cells):
                    common = wide / (1.0 + wide * sum_of_weights)
                    curve[c, d] -= common * weight[c] * weight[d]
    for c in range(cells):  # the determinant, by elimination
        total += 0.5 * log(alike[c] / curve[c, c])
        for d in range(c + 1, cells):
            factor = curve[d, c] / curve[c, c]
            for e in range(c + 1, cells):
                curve[d, e] -= factor * curve[c, e]
    return total


@jitable
def put(base: Array, effect: Array, quirk: Array, b: Array, e: Array, k: Array) -> None:
    """Copy the first three to the last three (slices would take far longer to compile)."""
    for i in range(b.shape[0]):
        for r in range(2):
            b[i, r] = base[i, r]
    for row in range(e.size):
        e[row] = effect[row]
        for i in range(b.shape[0]):
            for r in range(2):
                k[row, i, r] = quirk[row, i, r]


@jitable
def fit_effects(memory: Any, known: Pooled) -> tuple[float, float]:
    """Fit base, effects and quirks of the strength that explains most, and leave them in `memory`.

    That strength, and the log of how much likelier what was seen is with effects than without: the
    average over all strengths.
    """
    bins, rows = memory.base.shape[0], memory.effect.size
    seen, left = memory.seen, memory.left
    if memory.strength[0] == 0.0:  # the first time
        for i in range(bins):
            for r in range(2):
                memory.base[i, r] = log_odds(known.leave[i, r])
    base, effect, quirk = np.empty((bins, 2)), np.empty(rows), np.empty((rows, bins, 2))
    b, e, k = np.empty((bins, 2)), np.empty(rows), np.empty((rows, bins, 2))
    put(memory.base, memory.effect, memory.quirk, base, effect, quirk)
    best, top, total = STRENGTHS[0], -inf, 0.0
    for strength in STRENGTHS:
        put(base, effect, quirk, b, e, k)
        for _ in range(ROUNDS):
            for row in range(rows):
                if was_seen(seen, row):
                    tune(seen, left, row, b, e, k, strength)
            tune_base(seen, left, known.share, b, e, k)
        likelier = evidence(seen, left, known.leave, known.share, b, e, k, strength)
        total = total * exp(min(top - likelier, 0.0)) + exp(min(likelier - top, 0.0))
        if likelier > top:
            best, top = strength, likelier
            put(b, e, k, memory.base, memory.effect, memory.quirk)
    return best, top + log(total / len(STRENGTHS))


@jitable
def spread(memory: Any, row: int, strength: float) -> float:
    """The variance of an arm's effect, after what was seen."""
    narrow, precision = (QUIRKS * strength) ** 2, 1.0 / strength**2
    for b in range(memory.base.shape[0]):
        for r in range(2):
            n = memory.seen[row, b, r]
            if n > 0.0:
                p = chance(memory.base[b, r] + memory.effect[row] + memory.quirk[row, b, r])
                precision += n * p * (1.0 - p) / (1.0 + narrow * n * p * (1.0 - p))
    return 1.0 / precision
