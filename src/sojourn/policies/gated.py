"""IMED and Thompson sampling: explorers that the paper does not have, gated by optimism.

Where optimism is positive they explore by their own rule. Elsewhere they play the arm of greatest
KL index, which at optimism -1 is the lower confidence bound and at 0 the empirical mean.
"""

from dataclasses import dataclass
from math import exp, inf, log
from typing import Any, ClassVar

import numpy as np

from ..engine.beta import beta
from ..engine.board import SAFE, extra_of
from ..engine.divergence import bernoulli_kl
from ..engine.jit import jitable
from ..engine.lease import SHORT, fall
from ..engine.streams import Stream
from .base import Array, Counts
from .index import KL, greatest_score
from .optimism import Always, TwoLevel


@dataclass(frozen=True)
class Gated(KL):
    """What the two have in common: no board of bounds, every arm is looked at."""

    def board(self, arms: int) -> Array:
        """For how many steps not to ask for a lease."""
        return np.zeros(1)

    def decide(self, memory: Counts, board: Array, state: float, rng: Stream) -> int:
        """`choose`."""
        return self.choose(memory, state, rng)

    def learn(
        self,
        memory: Counts,
        board: Array,
        state: float,
        arm: int,
        reward: float,
        left: bool,
        next_state: float,
    ) -> None:
        """`update`."""
        self.update(memory, state, arm, reward, left, next_state)


@dataclass(frozen=True)
class ImedExplorer(Gated):
    """Plays the arm of least N kl(m, m*) + log N, where m* is the greatest empirical mean."""

    def target(self, memory: Counts, optimism: float) -> float:
        """m*."""
        top = -inf
        for arm in range(memory.pulls.size):
            if memory.pulls[arm] > 0.0:
                top = max(top, memory.successes[arm] / memory.pulls[arm])
        return top

    def score(
        self,
        memory: Counts,
        arm: int,
        log_t: float,
        extra: float,
        optimism: float,
        target: float,
    ) -> float:
        """-(N kl(m, m*) + log N) where optimism is positive, else the KL index."""
        pulls = float(memory.pulls[arm])
        mean = memory.successes[arm] / pulls
        if optimism > 0.0:
            return -(pulls * bernoulli_kl(mean, target) + log(pulls))
        return self.index(mean, pulls, log_t, extra, optimism)

    def lease(self, memory: Counts, board: Array) -> tuple[int, int, float]:
        """The leader, until its log N may exceed what the others have."""
        return imed_lease(self, memory, board)


@jitable
def imed_lease(policy: Any, memory: Any, board: Array) -> tuple[int, int, float]:
    """The lease of IMED: see `Policy.lease`.

    While the leader's mean is at least m, so is m*, and an arm of lower mean has at least
    N kl(its mean, m) + log N: it is not played before the leader's pulls exceed the exponential.
    """
    if board[0] > 0.0:
        board[0] -= 1.0
        return 0, 0, 0.0
    leader, t = int(np.argmax(memory.pulls)), memory.clock[0] + 1.0
    pulls = memory.pulls[leader]
    if 2.0 * pulls >= t:
        mean = memory.successes[leader] / pulls
        steps = 0.7 * min(room(policy, memory, leader, mean, log(t)), t)
        while steps >= SHORT:
            least = mean - fall(mean, pulls, steps)
            if room(policy, memory, leader, least, log(t + steps)) >= steps:
                return leader, int(steps), least + SAFE
            steps *= 0.5
    board[0] = 3.0
    return 0, 0, 0.0


@jitable
def room(policy: Any, memory: Any, leader: int, least: float, log_end: float) -> float:
    """Steps for which the leader wins while its mean is at `least`, if they end before `log_end`.

    In states of low optimism its lower bound must be above the others' means, which are above
    their lower bounds.
    """
    pulls, reach, rival = memory.pulls[leader], inf, 0.0
    for arm in range(memory.pulls.size):
        n = memory.pulls[arm]
        if arm != leader:
            if n == 0.0:
                return 0.0
            mean = memory.successes[arm] / n
            if mean >= least - SAFE:
                return 0.0
            rival = max(rival, mean)
            reach = min(reach, n * bernoulli_kl(mean, least) + log(n))
    low, extra = min(policy.lowest(), 0.0), extra_of(policy.c, log_end)
    if policy.lowest() < policy.highest() and not policy.exceeds(
        least, pulls, log_end, extra, low, rival
    ):
        return 0.0
    return exp(min(reach - SAFE, 60.0)) - pulls  # type: ignore[no-any-return]


@dataclass(frozen=True)
class ThompsonExplorer(Gated):
    """Plays the arm of greatest draw from Beta(1 + successes, 1 + failures)."""

    def select(self, memory: Counts, optimism: float, rng: Stream) -> int:
        """The arm of greatest draw, or of greatest KL index where optimism is not positive."""
        if optimism <= 0.0:
            return greatest_score(self, memory, optimism, rng)
        best, top = 0, -1.0
        for arm in range(memory.pulls.size):
            successes = memory.successes[arm]
            value = beta(1.0 + successes, 1.0 + memory.pulls[arm] - successes, rng)
            if value > top:
                best, top = arm, value
        return best

    def probabilities(self, memory: Any, state: float) -> Array:
        """Not known in closed form."""
        return np.zeros(0)

    def lease(self, memory: Counts, board: Array) -> tuple[int, int, float]:
        """None: every choice is random."""
        return 0, 0, 0.0


@dataclass(frozen=True)
class IMED(ImedExplorer, Always):
    """Indexed minimum empirical divergence (Honda and Takemura, JMLR 16, 2015).

    With N pulls of an arm at mean m and the greatest mean m*, plays the least
    N kl(m, m*) + log N, whatever the state.

    >>> IMED().optimism(0.0)
    1.0
    """


@dataclass(frozen=True)
class SafeIMED(ImedExplorer, TwoLevel):
    """IMED in state 1, the KL lower confidence bound in state 0.

    With ``c0=0`` the empirical mean in state 0; ``SafeIMED().opposite()`` explores in state 0.

    >>> SafeIMED().opposite().optimism(0.0)
    1.0
    """

    title: ClassVar[str] = "Safe IMED"


@dataclass(frozen=True)
class Thompson(ThompsonExplorer, Always):
    """Thompson sampling (Biometrika 25, 1933) with a uniform prior, whatever the state.

    Plays the greatest of one draw per arm from Beta(1 + successes, 1 + failures).

    >>> Thompson().optimism(0.0)
    1.0
    """


@dataclass(frozen=True)
class SafeThompson(ThompsonExplorer, TwoLevel):
    """Thompson sampling in state 1, the KL lower confidence bound in state 0.

    With ``c0=0`` the empirical mean in state 0; ``opposite()`` explores in state 0.

    >>> SafeThompson().optimism(0.0)
    -1.0
    """

    title: ClassVar[str] = "Safe Thompson"
