"""Which arms drive people away, and what a visit is worth if an arm is always shown.

An arm is compared with all others where the state and the level of the reward are the same: these
are the strata. The ratio of leaving is that of Mantel and Haenszel, its interval that of Greenland
and Robins. An arm is warned of if its departures exceed what is expected of it by more than a
boundary that they would cross, in some arm at some time, in one experiment of twenty if all arms
were alike: a mixture of normal tests (Robbins), as wide as the number of arms demands.
"""

from dataclasses import dataclass
from functools import cached_property
from math import exp, isnan

import numpy as np
from numpy.typing import NDArray

from ...policies.base import Array
from ...stats.intervals import Z95, Interval

WRONGLY = 0.05
"""Experiments that are warned of an arm though all are alike, at most, however often one looks."""

PATIENCE = 3.0
"""The variance of departures at which the boundary is closest: so a dozen can be enough."""

MATERIAL = 1.1
"""People leave at least so many times as often after an arm that is warned of."""


@dataclass(frozen=True, eq=False)
class Leaving:
    """Steps and departures by [arm, bin, level of the reward].

    >>> leaving = Leaving(np.array([[[80.0]], [[400.0]]]), np.array([[[40.0]], [[50.0]]]))
    >>> leaving.ratio[0].tolist(), leaving.driving.tolist()
    ([4.0, 0.25], [True, False])
    """

    seen: Array
    left: Array

    @cached_property
    def _strata(self) -> tuple[Array, Array, Array, Array]:
        """Steps and departures of every arm, and of all, by [arm, stratum] and [stratum]."""
        arms = len(self.seen)
        steps, gone = self.seen.reshape(arms, -1), self.left.reshape(arms, -1)
        return steps, gone, steps.sum(axis=0), gone.sum(axis=0)

    @cached_property
    def ratio(self) -> tuple[Array, Array]:
        """How many times as often people leave after an arm as after others; its error as a log.

        The ratio is nan where nothing can be said: after it, or after the others, nobody has left.
        """
        n, k, every, gone = self._strata
        safe = np.maximum(every, 1.0)
        own, other = (k * (every - n) / safe).sum(axis=1), ((gone - k) * n / safe).sum(axis=1)
        spread = ((n * (every - n) * gone - k * (gone - k) * every) / safe**2).sum(axis=1)
        known = (own > 0.0) & (other > 0.0)
        product = np.where(known, own * other, 1.0)
        found = np.where(known, own / np.where(known, other, 1.0), np.nan)
        return found, np.sqrt(np.maximum(spread, 0.0) / product)

    @cached_property
    def excess(self) -> tuple[Array, Array]:
        """Departures after an arm beyond what all arms together let expect, and their variance."""
        n, k, every, gone = self._strata
        safe = np.maximum(every, 1.0)
        expected = n * gone / safe
        variance = expected * (every - n) * (every - gone) / (safe * np.maximum(every - 1.0, 1.0))
        return (k - expected).sum(axis=1), variance.sum(axis=1)

    @cached_property
    def driving(self) -> NDArray[np.bool_]:
        """Whether an arm drives people away."""
        tried = max(int((self._strata[0].sum(axis=1) > 0.0).sum()), 1)
        excess, variance = self.excess
        wide = variance + PATIENCE
        odds = np.sqrt(wide / PATIENCE) * tried / (2.0 * WRONGLY)
        material = np.nan_to_num(self.ratio[0]) >= MATERIAL
        found: NDArray[np.bool_] = (excess > np.sqrt(2.0 * wide * np.log(odds + 1.0))) & material
        return found

    def interval(self, arm: int) -> Interval | None:
        """The ratio of an arm with its 95 % interval; None if it is not known."""
        ratio, error = (float(each[arm]) for each in self.ratio)
        wide = exp(Z95 * error)
        return None if isnan(ratio) else Interval(ratio, ratio / wide, ratio * wide)
