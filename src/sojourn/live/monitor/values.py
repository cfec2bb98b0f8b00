"""What a visit is worth if one arm is always shown, by what was seen of its rewards and departures.

Arms share strength by how much they differ: with tau^2 the variance between arms of how often
people leave (DerSimonian and Laird), an arm's own departures are weighed against 1 / tau^2
departures of an average arm. In each state and after each level of the reward, what was seen of the
arm itself counts beside ten steps of that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...chain import total
from ...policies.base import Array
from ...stats.intervals import Interval
from .arms import ArmSums
from .leaving import Leaving

WEIGHT = 10.0  # steps
AT_ONCE = 1_000_000
"""Numbers in the matrices that are solved together."""


@dataclass(frozen=True, eq=False)
class VisitValues:
    """`moves` are steps by [bin, level, bin after], `start` the chances of the first bin."""

    arms: ArmSums
    leaving: Leaving
    moves: Array
    gone: Array
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
        ratio, spread = (each[arms] for each in self._ratio)
        seen, left = self.leaving.seen[arms], self.leaving.left[arms]
        usual = np.minimum(self._usual * ratio[:, None, None], 1.0)
        leave = (left + WEIGHT * usual) / (seen + WEIGHT)
        noise, wide = np.sqrt(self.arms.noise[arms]), (spread / ratio)[:, None, None]
        by_mean = [self._solved(mean + s * noise, good + s * noise, leave) for s in (-1.0, 1.0)]
        by_leave = [self._solved(mean, good, leave * (1.0 + s * wide)) for s in (-1.0, 1.0)]
        error = np.hypot(*(0.5 * (high - low) for low, high in (by_mean, by_leave)))
        return self._solved(mean, good, leave), error

    def _solved(self, mean: Array, good: Array, leave: Array) -> Array:
        """V(b) = mean + sum over levels of P(level) (1 - leave(b, level)) E V(next bin)."""
        good, leave = np.clip(good, 0.0, 1.0), np.clip(leave, 1e-9, 1.0)
        shares = np.stack([1.0 - good, good], axis=1)[:, None, :] * (1.0 - leave)
        onward = np.einsum("abr,brc->abc", shares, self._follow)
        gain = np.broadcast_to(mean[:, None], (len(mean), self.start.size))
        value: Array = total(onward, gain, None) @ self.start
        return value

    @cached_property
    def _good(self) -> Array:
        """Pulls with a good reward; where the level is not known, a share of the mean."""
        known = self.leaving.seen.sum(axis=(1, 2))
        more = np.maximum(self.arms.all_pulls - known, 0.0) * self.arms.means
        good: Array = self.leaving.seen[..., 1].sum(axis=1) + more
        return good

    @cached_property
    def _usual(self) -> Array:
        """How often people leave by [bin, level], whatever the arm; as in `mistake_costs`."""
        steps = self.moves.sum(axis=2)
        share = (self.gone.sum(axis=0) + 0.5) / (steps.sum(axis=0) + 1.0)
        usual: Array = (self.gone + share) / (steps + 1.0)
        return usual

    @cached_property
    def _follow(self) -> Array:
        """The chances of the next bin by [bin, level]."""
        steps = self.moves.sum(axis=2)
        anywhere = self.moves.sum(axis=0) / np.maximum(steps.sum(axis=0), 1.0)[:, None]
        follow: Array = (self.moves + anywhere) / (steps + 1.0)[..., None]
        return follow

    @cached_property
    def _ratio(self) -> tuple[Array, Array]:
        """How many times as often people leave after an arm as after all, and its error."""
        excess, variance = self.leaving.excess
        gone = self.leaving.left.sum(axis=(1, 2))
        expected = gone - excess
        prior = 1.0 / max(_between(excess, variance, expected), 1e-9)
        weight = expected + prior
        return (gone + prior) / weight, np.sqrt(gone + prior) / weight


def _between(excess: Array, variance: Array, expected: Array) -> float:
    """The variance between arms of the ratio of departures to those expected."""
    known = (expected > 0.0) & (variance > 0.0)
    if known.sum() < 2:
        return 0.0
    ratio, weight = excess[known] / expected[known], expected[known] ** 2 / variance[known]
    middle = (weight * ratio).sum() / weight.sum()
    beyond = (weight * (ratio - middle) ** 2).sum() - (known.sum() - 1)
    return max(float(beyond / (weight.sum() - (weight**2).sum() / weight.sum())), 0.0)
