"""Effects of many arms at once: contrasts, multiple tests, and how much effects differ."""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .departures import FALSE_ALARMS
from .moments import Array

NEARLY_EQUAL = 1e-4
"""The least variance between effects, as a share of that of their errors."""


def contrasts(parameters: NDArray[np.int64], pulls: Array, size: int) -> Array:
    """Rows that take effects of arms from their average over the pulls; -1 is an effect of 0."""
    rows = np.zeros((parameters.size, size))
    own = np.flatnonzero(parameters >= 0)
    rows[own, parameters[own]] = 1.0
    return np.asarray(rows - (pulls / pulls.sum()) @ rows)


def holm(scores: Array, level: float = FALSE_ALARMS) -> NDArray[np.bool_]:
    """Which of these normal scores are not 0, with all of them tested at once (Holm 1979)."""
    found = np.zeros(scores.size, bool)
    for rank, i in enumerate(np.argsort(-np.abs(scores))):
        needed = NormalDist().inv_cdf(1.0 - level / (2.0 * (scores.size - rank)))
        if not abs(scores[i]) > needed:
            break
        found[i] = True
    return found


class Spread(NamedTuple):
    """The variance between effects, from E q = free + scale variance.

    q is Cochran's sum of squares, weighted by the errors (DerSimonian and Laird 1986).
    """

    q: float
    free: float
    scale: float

    @classmethod
    def of(cls, effects: Array, variances: Array) -> "Spread":
        weights = 1.0 / np.maximum(variances, 1e-12)
        middle = weights @ effects / weights.sum()
        q = float(weights @ (effects - middle) ** 2)
        scale = weights.sum() - weights @ weights / weights.sum()
        return cls(q, effects.size - 1.0, float(scale))

    @property
    def estimate(self) -> float:
        """One standard error more than estimated.

        With few arms it is hardly known. To shrink arms that differ is worse than not to shrink
        arms that do not.
        """
        return (max(self.q - self.free, 0.0) + float(np.sqrt(2.0 * self.free))) / self.scale

    def draws(self, rng: np.random.Generator, number: int) -> Array:
        """Variances that are not ruled out: q over a draw of chi-square is free + scale variance.

        That is 0 as often as a test of equal effects would not see them differ, but for
        `NEARLY_EQUAL`, with which matrices stay regular.

        >>> Spread(q=1.0, free=2.0, scale=10.0).draws(np.random.default_rng(1), 3).round(4).tolist()
        [0.0, 0.1242, 0.0]
        """
        found = self.free * (self.q / rng.chisquare(self.free, number) - 1.0)
        return np.asarray(np.maximum(found, NEARLY_EQUAL * self.free) / self.scale)
