"""All that a fit needs of a log: totals whose size does not depend on that of the log."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...stats.moments import Array
from ..reading import CENSORED, LEFT

Whole = NDArray[np.int64]

LONGEST = 200
"""Steps are told apart up to this number; later ones are counted with it."""

FIRST, UNKNOWN = 2, 3
"""Values of `previous` besides 0 and 1: the first step, and a step after an unknown reward."""

CELLS = ("first 0", "first 1", "00", "01", "10", "11")
"""The six leave probabilities: by reward at the first step, then by (previous reward, reward)."""

USER_SUMS = (
    *(f"{count} {cell}" for count in "nk" for cell in CELLS),
    *("best pulls", "best successes", "pulls", "successes", "expected", "spread", "one"),
)
"""What is added up for each user; `one` is 1. `expected` and `spread` are the mean and the variance
that the user's successes would have if every pull of an arm were the same coin. Successes are sums
of rewards; those of the best arm are good rewards, which matter for states."""


@dataclass(frozen=True)
class Arms:
    """The arms with enough pulls, and what is known of the others together.

    `squares` has, for each arm, the sums over users of pulls^2, pulls x successes and successes^2;
    `pairs` how often reward r followed reward s with the same arm, at 2 s + r. `good` are pulls
    with a good reward and `good_rewards` the sums of these; both are the successes unless rewards
    are graded.
    """

    names: tuple[str, ...]
    pulls: Array
    successes: Array
    squares: Array
    pairs: Array
    others: int = 0
    other_pulls: int = 0
    other_successes: float = 0
    min_pulls: int = 1
    good: Array | None = None
    good_rewards: Array | None = None

    @property
    def means(self) -> Array:
        return self.successes / self.pulls

    @property
    def best(self) -> int:
        return int(np.argmax(self.means))

    @property
    def shares(self) -> Array:
        """Of good rewards."""
        return self.means if self.good is None else self.good / self.pulls

    @property
    def levels(self) -> list[tuple[float, float]]:
        """By arm, the mean of rewards that are not good, and of those that are."""
        if self.good is None or self.good_rewards is None:
            return [(0.0, 1.0)] * len(self.names)
        bad = self.pulls - self.good
        low = (self.successes - self.good_rewards) / np.maximum(bad, 1.0)
        high = np.where(self.good > 0.0, self.good_rewards / np.maximum(self.good, 1.0), 1.0)
        return list(zip(low.tolist(), high.tolist(), strict=True))


@dataclass(frozen=True)
class Totals:
    """The totals that leave the engine.

    * `steps[held, step - 1, previous, reward, end]`: how many, with step capped at `LONGEST`,
      previous 0, 1, `FIRST` or `UNKNOWN`, reward 0, 1 or 2 (not known), end on, left, censored;
    * `products`: sums over users of the products of any two of `USER_SUMS`.
    """

    steps: Whole
    users: int
    arms: Arms
    products: Array

    @property
    def n(self) -> Array:
        """Steps not censored, by `CELLS`."""
        return np.asarray(self._by_cell[..., :CENSORED].sum(axis=-1)).ravel()

    @property
    def k(self) -> Array:
        """Departures, by `CELLS`."""
        return self._by_cell[..., LEFT].ravel()

    @property
    def _by_cell(self) -> Array:
        """[previous, reward, end], the first step first."""
        return np.asarray(self.steps[:, :, [FIRST, 0, 1], :2].sum(axis=(0, 1)), float)

    @property
    def hazard(self) -> tuple[Array, Array]:
        """Steps not censored and departures, by step number."""
        seen = self.steps[..., :2].sum(axis=(0, 2, 3))
        return seen.sum(axis=1).astype(float), seen[:, 1].astype(float)

    @property
    def lengths(self) -> Whole:
        """Visits by their length (capped) and their end: left, censored."""
        return np.asarray(self.steps[..., 1:].sum(axis=(0, 2, 3)))

    @property
    def visits(self) -> int:
        return int(self.lengths.sum())

    @property
    def censored(self) -> int:
        return int(self.lengths[:, 1].sum())
