"""The model of departures: which arms raise the exit rate, beyond state and reward.

In bin b of the state, after a reward of level r, the log odds of leaving after arm a are

    base(b, r) + effect(a) + interaction(a, b, r),
    effect ~ N(0, s^2),  interaction ~ N(0, (s / 3)^2).

The effect is what an arm does everywhere. Interactions are small unless the data speak for them;
with enough data they make it any table of probabilities. The strength s is the one of `STRENGTHS`
that makes the data most likely. How likely they are, compared with arms that do not differ (s = 0),
says whether to believe that arms differ. Likelihoods are Laplace's: a Gaussian at the mode, with
base, effects and interactions integrated out. If arms do not differ, the expected likelihood ratio
is 1, also where departures are few.

Policies and the dashboard fit counts by [arm, bin, level] (`fit_effects`, `ArmEffects`). A policy
chooses by state and time alone, so for its own visits such a table is enough. In a log, what is
shown may depend on the step and on the user: `sojourn fit` adds both to the same log odds
(`logs.model.joint`). Both fits agree where users are alike and arms are shown at random.

The test of a warning is another one, `crossed`: a Laplace likelihood ratio is not always valid.
"""

from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..engine.loops import jitable, loop
from .intervals import Z95, Interval
from .moments import Array

STRENGTHS = (0.25, 0.5, 1.0, 2.0)
"""Standard deviations of effects, in log odds."""

INTERACTION = 1.0 / 3.0
"""The standard deviation of interactions, as a share of that of effects."""

ROUNDS = 4
"""Newton steps of a fit, from where the last one ended."""

STEP = 1.5
"""Log odds that a Newton step may change at most."""

EDGE = 30.0
"""Log odds beyond this are taken for it: one in ten million million."""

INTERPRETED = 500
"""Numbers in a table from which on a fit is compiled: for fewer, Python takes some 10 ms."""

FALSE_ALARMS = 0.05
"""The probability that any arm is found to differ if none does."""

PATIENCE = 3.0
"""The variance of departures at which the boundary of `crossed` is closest: a dozen can do."""

MATERIAL = 1.1
"""Users leave at least this many times as often after an arm that raises a warning."""


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


class Estimates(NamedTuple):
    """Log odds: the base by [bin, level], effects by [arm], interactions by [arm, bin, level]."""

    base: Array
    effect: Array
    interaction: Array


@jitable
def tune(seen: Array, left: Array, row: int, found: Any, strength: float) -> None:
    """One Newton step of an arm's effect and interactions, given the base.

    The interactions are eliminated first: the matrix of second derivatives is an arrow.
    """
    base, effect, interaction = found.base, found.effect, found.interaction
    bins = base.shape[0]
    wide, narrow = strength**2, (INTERACTION * strength) ** 2
    pull, weight = np.zeros((bins, 2)), np.zeros((bins, 2))
    slope, curve = -effect[row] / wide, 1.0 / wide
    for b in range(bins):
        for r in range(2):
            n = seen[row, b, r]
            if n > 0.0:
                p = chance(base[b, r] + effect[row] + interaction[row, b, r])
                pull[b, r], weight[b, r] = left[row, b, r] - n * p, n * p * (1.0 - p)
                own = 1.0 + narrow * weight[b, r]
                slope += (pull[b, r] + weight[b, r] * interaction[row, b, r]) / own
                curve += weight[b, r] / own
    step = limited(slope / curve)
    effect[row] += step
    for b in range(bins):
        for r in range(2):
            if seen[row, b, r] > 0.0:
                rest = narrow * (pull[b, r] - weight[b, r] * step) - interaction[row, b, r]
                interaction[row, b, r] += limited(rest / (1.0 + narrow * weight[b, r]))


@jitable
def tune_base(seen: Array, left: Array, share: Array, found: Any) -> None:
    """Make the effects zero on average, and one Newton step of the base.

    As in `common`, one more step showed the average over all bins.
    """
    base, effect, interaction = found.base, found.effect, found.interaction
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
                    p = chance(base[b, r] + effect[row] + interaction[row, b, r])
                    slope += left[row, b, r] - n * p
                    curve += n * p * (1.0 - p)
            base[b, r] += limited(slope / curve)


@jitable
def evidence(seen: Array, left: Array, known: Any, found: Any, strength: float) -> float:
    """The log of how much likelier what was seen is with effects of this strength than without."""
    leave, share = known.leave, known.share
    base, effect, interaction = found.base, found.effect, found.interaction
    rows, bins = effect.size, base.shape[0]
    wide, narrow, cells = strength**2, (INTERACTION * strength) ** 2, 2 * bins
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
                p, p0 = chance(base[b, r] + effect[row] + interaction[row, b, r]), leave[b, r]
                own = 1.0 + narrow * n * p * (1.0 - p)
                weight[c] = n * p * (1.0 - p) / own
                alike[c] += n * p0 * (1.0 - p0)
                total += gone * log(p / p0) + (n - gone) * log((1.0 - p) / (1.0 - p0))
                total -= 0.5 * (log(own) + interaction[row, b, r] ** 2 / narrow)
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
def put(found: Any, into: Any) -> None:
    """Copy estimates (slices would take far longer to compile)."""
    for b in range(found.base.shape[0]):
        for r in range(2):
            into.base[b, r] = found.base[b, r]
            for row in range(found.effect.size):
                into.interaction[row, b, r] = found.interaction[row, b, r]
    for row in range(found.effect.size):
        into.effect[row] = found.effect[row]


@jitable
def fit_effects(memory: Any, known: Any) -> tuple[float, float]:
    """Fit base, effects and interactions of the strength that explains most, into `memory`.

    That strength, and the log of how much likelier what was seen is with effects than without: the
    average over all strengths.
    """
    bins, rows = memory.base.shape[0], memory.effect.size
    seen, left = memory.seen, memory.left
    if memory.strength[0] == 0.0:  # the first time
        for i in range(bins):
            for r in range(2):
                memory.base[i, r] = log_odds(known.leave[i, r])
    start = Estimates(np.empty((bins, 2)), np.empty(rows), np.empty((rows, bins, 2)))
    found = Estimates(np.empty((bins, 2)), np.empty(rows), np.empty((rows, bins, 2)))
    put(memory, start)
    best, top, total = STRENGTHS[0], -inf, 0.0
    for strength in STRENGTHS:
        put(start, found)
        for _ in range(ROUNDS):
            for row in range(rows):
                if was_seen(seen, row):
                    tune(seen, left, row, found, strength)
            tune_base(seen, left, known.share, found)
        likelier = evidence(seen, left, known, found, strength)
        total = total * exp(min(top - likelier, 0.0)) + exp(min(likelier - top, 0.0))
        if likelier > top:
            best, top = strength, likelier
            put(found, memory)
    return best, top + log(total / len(STRENGTHS))


@jitable
def effect_variance(memory: Any, row: int, strength: float) -> float:
    """The posterior variance of an arm's effect."""
    narrow, precision = (INTERACTION * strength) ** 2, 1.0 / strength**2
    for b in range(memory.base.shape[0]):
        for r in range(2):
            n = memory.seen[row, b, r]
            if n > 0.0:
                p = chance(memory.base[b, r] + memory.effect[row] + memory.interaction[row, b, r])
                precision += n * p * (1.0 - p) / (1.0 + narrow * n * p * (1.0 - p))
    return 1.0 / precision


def probability(odds: Array) -> Array:
    """The array form of `chance`, for log odds that are not extreme."""
    return np.asarray(1.0 / (1.0 + np.exp(-odds)))


def logit(p: Array) -> Array:
    """Log odds; of probabilities of 0 and 1, those of numbers next to them."""
    p = np.clip(p, 1e-12, 1.0 - 1e-12)
    return np.asarray(np.log(p) - np.log1p(-p))


class Table(NamedTuple):
    """Steps and departures by [arm, bin of the state, level of the reward]."""

    seen: Array
    left: Array


class Common(NamedTuple):
    """Chances to leave over all arms: by [bin, level], and by [level] over all bins."""

    leave: Array
    share: Array


def common(table: Table) -> Common:
    """Chances of all arms together, as if one more step had shown the average over all bins."""
    seen, left = table.seen.sum(axis=0), table.left.sum(axis=0)
    share = (left.sum(axis=0) + 0.5) / (seen.sum(axis=0) + 1.0)
    return Common((left + share) / (seen + 1.0), share)


class FittedTable(NamedTuple):
    """A table with the estimates of `fit_effects`, which fills them in."""

    seen: Array
    left: Array
    base: Array  # log odds by [bin, level]
    effect: Array  # log odds by arm
    interaction: Array  # log odds by [arm, bin, level]
    strength: Array


@loop
def fit_compiled(table: Any, known: Any) -> tuple[float, float]:
    """`fit_effects`, compiled and without the GIL."""
    return fit_effects(table, known)


def fit_table(table: Table) -> FittedTable:
    """The estimates from a table.

    The log odds of arms that were never shown are those of the average arm.
    """
    arms, bins, _ = table.seen.shape
    rows = np.flatnonzero(table.seen.any(axis=(1, 2)))
    seen, left = table.seen[rows], np.minimum(table.left, table.seen)[rows]
    base, effect = np.zeros((bins, 2)), np.zeros(rows.size)
    own = FittedTable(seen, left, base, effect, np.zeros_like(seen), np.zeros(1))
    fit = fit_effects if seen.size < INTERPRETED else fit_compiled
    own.strength[0] = fit(own, common(Table(seen, left)))[0]
    found = own._replace(
        seen=table.seen,
        left=table.left,
        effect=np.zeros(arms),
        interaction=np.zeros((arms, bins, 2)),
    )
    found.effect[rows], found.interaction[rows] = own.effect, own.interaction
    return found


@dataclass(frozen=True, eq=False)
class ArmEffects:
    """The model's results for a table: exit rates by arm, and how they compare."""

    table: Table

    @cached_property
    def fitted(self) -> FittedTable:
        """The estimates; in two dimensions, [arm, cell], below."""
        return fit_table(self.table)

    @cached_property
    def leave(self) -> Array:
        """The exit rate by [arm, bin, level]."""
        found = self.fitted
        return probability(found.base + found.effect[:, None, None] + found.interaction)

    @cached_property
    def _precision(self) -> tuple[Array, Array, Array]:
        """The prior variance of interactions, by [arm, cell] what it adds, by arm the precision."""
        narrow = (INTERACTION * float(self.fitted.strength[0])) ** 2
        steps, p = _flat(self.table.seen), _flat(self.leave)
        own = 1.0 + narrow * steps * p * (1.0 - p)
        wide = 1.0 / float(self.fitted.strength[0]) ** 2 + ((own - 1.0) / own / narrow).sum(axis=1)
        return np.asarray(narrow), own, wide

    def variance(self, weights: Array) -> Array:
        """Variance by arm of the log odds of leaving, over cells with these weights [arm, cell].

        Given the base, of which differences between arms do not depend.
        """
        narrow, own, wide = self._precision
        together = (weights / own).sum(axis=1)
        return np.asarray((weights**2 * narrow / own).sum(axis=1) + together**2 / wide)

    @cached_property
    def error(self) -> Array:
        """Error by arm of the log odds of leaving, averaged over where users have left after it."""
        gone, every = _flat(self.table.seen * self.leave), _flat(self.table.left).sum(axis=0)
        usual = (every + 1e-9) / (every + 1e-9).sum()
        total = gone.sum(axis=1, keepdims=True)
        weights = np.where(total > 0.0, gone / np.where(total > 0.0, total, 1.0), usual)
        return np.sqrt(self.variance(weights))

    @cached_property
    def ratio(self) -> tuple[Array, Array]:
        """How many times as often users leave after an arm as after others, and its log's error.

        In the same bins and after the same levels: each cell counts as it does in the ratio of
        Mantel and Haenszel. The ratio is not a number where nothing can be said: cells have no
        steps of other arms, or nobody has left.
        """
        steps, p = _flat(self.table.seen), _flat(self.leave)
        every = steps.sum(axis=0)
        others = np.maximum(every - steps, 0.0)
        weights = steps * others / np.maximum(every, 1.0)
        rest = np.maximum((steps * p).sum(axis=0) - steps * p, 0.0) / np.maximum(others, 1.0)
        above, below = (weights * p).sum(axis=1), (weights * rest).sum(axis=1)
        gone = (weights > 0.0) @ _flat(self.table.left).sum(axis=0)
        known = (above > 0.0) & (below > 0.0) & (gone > 0.0)
        above, below = (np.where(known, each, 1.0) for each in (above, below))
        own = self.variance(weights * p * (1.0 - p) / above[:, None])
        shares = weights / np.maximum(others, 1.0) / below[:, None]
        error = np.sqrt(own + self._variance_of_others(shares))
        return np.where(known, above / below, np.nan), error

    def _variance_of_others(self, shares: Array) -> Array:
        """Of the departures after all other arms, which count with these shares by [arm, cell]."""
        narrow, own, wide = self._precision
        p = _flat(self.leave)
        slope = _flat(self.table.seen) * p * (1.0 - p)
        alone, together = slope**2 * narrow / own, slope / own / np.sqrt(wide)[:, None]
        matrix = together.T @ together
        every = np.einsum("ac,cd,ad->a", shares, matrix, shares) + shares**2 @ alone.sum(axis=0)
        less = (shares * together).sum(axis=1) ** 2 + (shares**2 * alone).sum(axis=1)
        return np.asarray(np.maximum(every - less, 0.0))

    def interval(self, arm: int) -> Interval | None:
        """The ratio of an arm with its 95 % interval; None if it is not known."""
        ratio, error = (float(each[arm]) for each in self.ratio)
        wide = exp(Z95 * error)
        return None if np.isnan(ratio) else Interval(ratio, ratio / wide, ratio * wide)

    @cached_property
    def raising(self) -> NDArray[np.bool_]:
        """Which arms raise the exit rate: `crossed`, and by enough to matter."""
        found = crossed(self.table)
        return found & (np.nan_to_num(self.ratio[0]) >= MATERIAL) if found.any() else found


def _flat(by_cell: Array) -> Array:
    """[arm, cell]."""
    return by_cell.reshape(len(by_cell), -1)


def excess(table: Table) -> tuple[Array, Array]:
    """Departures after each arm beyond those expected if arms were alike, and their variance.

    Expected within each bin and level: there the departures of all arms are drawn from all steps.
    """
    steps, gone = _flat(table.seen), _flat(table.left)
    every, total = steps.sum(axis=0), gone.sum(axis=0)
    safe = np.maximum(every, 1.0)
    expected = steps * total / safe
    variance = expected * (every - steps) * (every - total) / (safe * np.maximum(every - 1.0, 1.0))
    return (gone - expected).sum(axis=1), variance.sum(axis=1)


def crossed(table: Table, level: float = FALSE_ALARMS) -> NDArray[np.bool_]:
    """Which arms have more departures than an always-valid boundary allows.

    If arms are alike, any arm crosses it at any time with a probability of at most about `level`: a
    mixture of normal tests (Robbins), as wide as the number of arms demands.
    """
    tried = max(int(table.seen.any(axis=(1, 2)).sum()), 1)
    beyond, variance = excess(table)
    wide = variance + PATIENCE
    odds = np.sqrt(wide / PATIENCE) * tried / (2.0 * level)
    found: NDArray[np.bool_] = beyond > np.sqrt(2.0 * wide * np.log(odds + 1.0))
    return found
