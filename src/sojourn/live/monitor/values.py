"""What a visit is worth if one arm is always shown, by what was seen of its rewards and departures.

How often people leave after an arm is what `stats.departures` estimates.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...chain import total
from ...policies.base import Array
from ...stats.departures import ArmEffects, logit, probability
from ...stats.intervals import Interval
from .arms import ArmSums

AT_ONCE = 1_000_000
"""Numbers in the matrices that are solved together."""


@dataclass(frozen=True, eq=False)
class VisitValues:
    """`follow` has the chances of the next bin by [bin, level], `start` those of the first bin."""

    arms: ArmSums
    effects: ArmEffects
    follow: Array
    start: Array

    def of(self, arms: Sequence[int]) -> list[Interval | None]:
        """The value of a visit for some of the arms; None if an arm has no pulls."""
        if not len(arms):
            return []
        size = max(AT_ONCE // self.start.size**2, 1)
        parts = [self._part(np.array(arms[i : i + size])) for i in range(0, len(arms), size)]
        value, error = (np.concatenate(each) for each in zip(*parts, strict=True))
        known = self.arms.all_pulls[list(arms)] > 0.0
        return [
            Interval.from_error(float(v), float(e), least=0.0) if k else None
            for v, e, k in zip(value, error, known, strict=True)
        ]

    def _part(self, arms: Array) -> tuple[Array, Array]:
        """Values and their errors: those of the mean, and of how often people leave."""
        pulls = self.arms.all_pulls[arms]
        mean = (self.arms.all_rewards[arms] + 1.0) / (pulls + 2.0)
        good = (self._good[arms] + 1.0) / (pulls + 2.0)
        leave, noise = self.effects.leave[arms], np.sqrt(self.arms.noise[arms])
        odds, wide = logit(leave), self.effects.error[arms][:, None, None]
        by_mean = [self._solved(mean + s * noise, good + s * noise, leave) for s in (-1.0, 1.0)]
        by_leave = [self._solved(mean, good, probability(odds + s * wide)) for s in (-1.0, 1.0)]
        error = np.hypot(*(0.5 * (high - low) for low, high in (by_mean, by_leave)))
        return self._solved(mean, good, leave), error

    def _solved(self, mean: Array, good: Array, leave: Array) -> Array:
        """V(b) = mean + sum over levels of P(level) (1 - leave(b, level)) E V(next bin)."""
        good, leave = np.clip(good, 0.0, 1.0), np.clip(leave, 1e-9, 1.0)
        shares = np.stack([1.0 - good, good], axis=1)[:, None, :] * (1.0 - leave)
        onward = np.einsum("abr,brc->abc", shares, self.follow)
        gain = np.broadcast_to(mean[:, None], (len(mean), self.start.size))
        value: Array = total(onward, gain, None) @ self.start
        return value

    @cached_property
    def _good(self) -> Array:
        """Pulls with a good reward; where the level is not known, a share of the mean."""
        known = self.effects.table.seen.sum(axis=(1, 2))
        more = np.maximum(self.arms.all_pulls - known, 0.0) * self.arms.means
        good: Array = self.effects.table.seen[..., 1].sum(axis=1) + more
        return good
