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
from .base import Array, count, fade_counts, forget_counts, greatest_mean, uncount
from .departures import count_steps, fade_watched, forget_watched, unseen
from .index import Index
from .learned import Learned
from .optimism import LEAST, Always
from .reasons import Explains, Seen

__all__ = ["EmpiricalKLUCB", "EmpiricalIMED", "LearnedEmpiricalIMED"]
"""The policies of this module, in the order in which they are listed."""

MOST_CELLS = 1000
"""Time and memory grow with the cells, and beyond fifty hardly anything is gained."""


class Rewards(NamedTuple):
    """What these policies remember: `Counts`, and the rewards of every arm."""

    pulls: Array
    successes: Array
    clock: Array
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

    def memory(self, arms: int) -> Rewards:
        """Nothing seen."""
        grid = np.zeros((arms, int(self.cells) + 1))
        return Rewards(np.zeros(arms), np.zeros(arms), np.zeros(1), grid)

    def update(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        """Learn from one step."""
        count(memory, arm, 1, reward)
        spread(memory.grid[arm], reward, 1.0)

    def fade(self, memory: Any, factor: float) -> None:
        """Let all that was counted weigh less."""
        fade_counts(memory, factor)
        memory.grid[:] *= factor

    def take_back(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        """Forget one step."""
        uncount(memory, arm, reward)
        spread(memory.grid[arm], reward, -1.0)

    def forget_arm(self, memory: Any, arm: int) -> None:
        """Forget what was learned of an arm."""
        forget_counts(memory, arm)
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
    >>> index = policy.score(memory, 0, log(4), 0.0, 1.0, 0.0)
    >>> print(f"{index:.3f}")  # for KL-UCB, which knows but 1.5 of 3, it is 0.888
    0.689
    """

    title: ClassVar[str] = "Empirical KL-UCB"

    def score(
        self, memory: Any, arm: int, log_t: float, extra: float, optimism: float, target: float
    ) -> float:
        """The upper bound."""
        budget = (optimism * log_t + extra) / memory.pulls[arm]
        return kinf_upper(memory.grid[arm], budget)


@dataclass(frozen=True)
class EmpiricalImedExplorer(Empirical):
    """IMED where optimism is positive, elsewhere the lower bound or, at 0, the mean."""

    def target(self, memory: Any, optimism: float) -> float:
        """m*."""
        return greatest_mean(memory)

    def score(
        self, memory: Any, arm: int, log_t: float, extra: float, optimism: float, target: float
    ) -> float:
        """-(N Kinf(F, m*) + log N) where optimism is positive, else the lower bound."""
        pulls = float(memory.pulls[arm])
        if optimism == LEAST:
            return -kinf_lower(memory.grid[arm], (log_t + extra) / pulls)
        if optimism > 0.0:
            return -(pulls * kinf(memory.grid[arm], target) + log(pulls))
        budget = (abs(optimism) * log_t + extra) / pulls
        if budget > 0.0:
            return kinf_lower(memory.grid[arm], budget)
        return memory.successes[arm] / pulls  # type: ignore[no-any-return]


@dataclass(frozen=True)
class EmpiricalIMED(EmpiricalImedExplorer, Always):
    """IMED with the divergence for bounded rewards (Honda and Takemura, JMLR 16, 2015).

    With N pulls of an arm, F the rewards seen and m* the greatest mean, plays the least
    N Kinf(F, m*) + log N. On rewards of 0 and 1 it is IMED. The one to take for graded rewards that
    vary little: it needs far fewer pulls to tell them apart (docs/graded.md).

    >>> EmpiricalIMED(cells=50).label
    'Empirical IMED, cells=50'
    """

    title: ClassVar[str] = "Empirical IMED"


class WatchedRewards(NamedTuple):
    """What `LearnedEmpiricalIMED` remembers: `Watched`, and the rewards of every arm."""

    pulls: Array
    successes: Array
    clock: Array
    moves: Array
    seen: Array
    left: Array
    optimism: Array
    next_refit: Array
    grid: Array


@dataclass(frozen=True)
class LearnedEmpiricalIMED(Learned, EmpiricalImedExplorer):
    """Empirical IMED where learned optimism is positive, the greatest mean elsewhere.

    `LearnedIMED` for graded rewards: on rewards of 0 and 1 the two are the same.

    >>> LearnedEmpiricalIMED(threshold=0.7).label
    'Learned Empirical IMED, threshold=0.7'
    """

    title: ClassVar[str] = "Learned Empirical IMED"

    floor: float = 0.0

    def memory(self, arms: int) -> WatchedRewards:  # type: ignore[override]
        """Nothing seen, optimistic everywhere."""
        m, grid = unseen(arms, int(self.bins)), np.zeros((arms, int(self.cells) + 1))
        return WatchedRewards(
            m.pulls, m.successes, m.clock, m.moves, m.seen, m.left, m.optimism, m.next_refit, grid
        )

    def watch_many(
        self, memory: Any, state: float, arm: int, reward: float,
        steps: float, departures: float, next_state: float,
    ) -> None:  # fmt: skip
        """Count the steps and their rewards."""
        level = 1 if reward >= self.threshold else 0
        count_steps(memory, state, arm, level, steps, departures, next_state)
        spread(memory.grid[arm], reward, steps)

    def fade(self, memory: Any, factor: float) -> None:
        """Let all that was counted weigh less."""
        fade_watched(memory, factor)
        memory.grid[:] *= factor

    def forget_arm(self, memory: Any, arm: int) -> None:
        """Forget what was learned of an arm."""
        forget_watched(memory, arm)
        memory.grid[arm] = 0.0
