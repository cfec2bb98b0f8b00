"""Bounds from the whole empirical distribution, for rewards anywhere in [0, 1].

The other policies know an arm by its mean, and so have to expect the widest distribution with that
mean: rewards of 0 and 1. These keep the rewards themselves, on a grid of `cells` + 1 points. A
reward between two points counts in part for each, so that the mean stays what it is. Spread out
like that, rewards have a divergence (`engine.divergence`) no greater than their own, for the
logarithm in it is concave: bounds stay valid, and are the wider the fewer cells there are. With one
cell, and on rewards of 0 and 1 with any number, they are those of Bernoulli's divergence.
"""

from dataclasses import dataclass
from math import log
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import validation
from ..engine.divergence import kinf, kinf_lower, kinf_upper
from ..engine.loops import jitable
from ..engine.unmanaged import merged
from .base import Array, no_counts
from .departures import unseen
from .explorer import extreme_estimate
from .index import Index
from .learned import Learned
from .optimism import LEAST, Always
from .reasons import Explains, Seen

__all__ = ["EmpiricalKLUCB", "EmpiricalIMED", "LearnedEmpiricalIMED"]

MOST_CELLS = 1000
"""Time and memory grow with the cells, and beyond fifty hardly anything is gained."""


class Rewards(NamedTuple):
    """The memory of these policies beside that of others: the rewards of every arm."""

    grid: Array  # weights by [arm, point]


@jitable
def spread(weights: Array, reward: float, times: float) -> None:
    """Count a reward for the two points of the grid that it is between, the nearer one more.

    Once, or -1 times to take it back; rounding does not lead below 0.
    """
    last = weights.size - 1
    place = reward * last
    k = min(int(place), last - 1)
    weights[k] = max(weights[k] + times * (1.0 - (place - k)), 0.0)
    weights[k + 1] = max(weights[k + 1] + times * (place - k), 0.0)


@dataclass(frozen=True)
class Empirical(Index):
    """Keeps rewards on a grid of `cells` equal cells, from 1 to 1000."""

    cells: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "cells", validation.whole("cells", self.cells, 1, MOST_CELLS))

    def rewards(self, arms: int) -> Rewards:
        return Rewards(np.zeros((arms, int(self.cells) + 1)))

    def memory(self, arms: int) -> Any:
        return merged(no_counts(arms), self.rewards(arms))

    def keep(self, memory: Any, state: float, arm: int, reward: float, times: float) -> None:
        spread(memory.grid[arm], reward, times)

    def fade_kept(self, memory: Any, factor: float) -> None:
        memory.grid[:] *= factor

    def forget_kept(self, memory: Any, arm: int) -> None:
        memory.grid[arm] = 0.0

    def _words(self, choice: Seen) -> tuple[str, str]:
        return Explains._words(self, choice)  # a bound cannot be told from counts alone


@dataclass(frozen=True)
class EmpiricalKLUCB(Empirical, Always):
    """Empirical KL-UCB (Cappé, Garivier, Maillard, Munos, Stoltz, Annals of Statistics 41, 2013).

    The index is the greatest mean of a distribution on [0, 1] whose divergence from what was seen
    of the arm is at most (log t + c log log t) / N. On rewards of 0 and 1 it is KL-UCB.

    >>> policy = EmpiricalKLUCB()
    >>> memory = policy.memory(arms=1)
    >>> for reward in (0.4, 0.5, 0.6):
    ...     policy.update(memory, 1.0, 0, reward, False, 1.0)
    >>> index = policy.score(memory, 0, 1.0, 1.0, policy.moment(memory, 1.0, 1.0))
    >>> print(f"{index:.3f}")  # for KL-UCB, which knows but 1.5 of 3, it is 0.888
    0.689
    """

    title: ClassVar[str] = "Empirical KL-UCB"

    def score(self, memory: Any, arm: int, state: float, optimism: float, moment: Any) -> float:
        budget = (optimism * moment.log_t + moment.extra) / memory.pulls[arm]
        return kinf_upper(memory.grid[arm], budget)


@dataclass(frozen=True)
class EmpiricalImedExplorer(Empirical):
    """IMED where optimism is positive, elsewhere the lower bound or, at 0, the mean."""

    def target(self, memory: Any, state: float, optimism: float) -> float:
        """m*."""
        return extreme_estimate(self, memory, state, 1.0)

    def score(self, memory: Any, arm: int, state: float, optimism: float, moment: Any) -> float:
        """-(N Kinf(F, m*) + log N) where optimism is positive, else the lower bound."""
        mean, pulls = self.estimate(memory, arm, state)
        if optimism == LEAST:
            return -kinf_lower(memory.grid[arm], (moment.log_t + moment.extra) / pulls)
        if optimism > 0.0:
            return -(pulls * kinf(memory.grid[arm], moment.target) + log(pulls))
        budget = (abs(optimism) * moment.log_t + moment.extra) / pulls
        return kinf_lower(memory.grid[arm], budget) if budget > 0.0 else mean


@dataclass(frozen=True)
class EmpiricalIMED(EmpiricalImedExplorer, Always):
    """IMED with the divergence for bounded rewards (Honda and Takemura, JMLR 16, 2015).

    With N pulls of an arm, F the rewards seen and m* the greatest mean, plays the least N Kinf(F,
    m*) + log N. On rewards of 0 and 1 it is IMED. Take it for graded rewards that vary little: it
    needs far fewer pulls to tell arms apart (docs/graded.md).

    >>> EmpiricalIMED(cells=50).label
    'Empirical IMED, cells=50'
    """

    title: ClassVar[str] = "Empirical IMED"


@dataclass(frozen=True)
class LearnedEmpiricalIMED(Learned, EmpiricalImedExplorer):
    """Empirical IMED where learned optimism is positive, the greatest mean elsewhere.

    `LearnedIMED` for graded rewards: on rewards of 0 and 1 the two are the same.

    >>> LearnedEmpiricalIMED(threshold=0.7).label
    'Learned Empirical IMED, threshold=0.7'
    """

    title: ClassVar[str] = "Learned Empirical IMED"

    floor: float = 0.0

    def memory(self, arms: int) -> Any:
        return merged(unseen(arms, int(self.bins)), self.rewards(arms))
