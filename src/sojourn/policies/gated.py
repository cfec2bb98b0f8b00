"""IMED and Thompson sampling, explorers beyond the paper, gated by optimism.

Where optimism is positive they explore by their own rule. Elsewhere they play the arm of greatest
KL index, which at optimism -1 is the lower confidence bound and at 0 the empirical mean.
"""

from dataclasses import dataclass
from math import log
from typing import Any, ClassVar

import numpy as np

from ..engine.divergence import bernoulli_kl
from ..engine.loops import jitable
from ..engine.streams import Stream, beta
from .base import Array, certain
from .draws import greatest_draw
from .explorer import extreme_estimate, greatest_score, sure_or_tied
from .index import KL
from .optimism import LEAST, Always, TwoLevel
from .reasons import Seen, mean_of_pulls

__all__ = ["IMED", "GatedIMED", "Thompson", "GatedThompson"]


@dataclass(frozen=True)
class Gated(KL):
    """Base of explorers that do not go by a bound where they explore."""

    _why: ClassVar[str] = "its own rule"
    """In words, where it explores by something else than a bound."""

    def _figure(self, choice: Seen, mean: float, optimism: float) -> str:
        if optimism <= 0.0:
            return super()._figure(choice, mean, optimism)
        why = "" if choice.arm == choice.best else f"{self._why}, "
        return f"{why}{mean_of_pulls(choice)}"


@jitable
def evidence(mean: float, pulls: float, target: float) -> float:
    """N kl(m, target) + log N, the IMED index for m* = target."""
    return pulls * bernoulli_kl(mean, target) + log(pulls)


@dataclass(frozen=True)
class ImedExplorer(Gated):
    """Plays the arm of least N kl(m, m*) + log N, where m* is the greatest empirical mean.

    Where the least mean is wanted (optimism `LEAST`), m* is the least one.
    """

    _why: ClassVar[str] = "little evidence against it"

    def target(self, memory: Any, state: float, optimism: float) -> float:
        """m*."""
        return extreme_estimate(self, memory, state, -1.0 if optimism == LEAST else 1.0)

    def score(self, memory: Any, arm: int, state: float, optimism: float, moment: Any) -> float:
        mean, pulls = self.estimate(memory, arm, state)
        return self.worth(mean, pulls, moment.log_t, moment.extra, optimism, moment.target)

    def worth(
        self, mean: float, pulls: float, log_t: float, extra: float, optimism: float, target: float
    ) -> float:
        """-(N kl(m, m*) + log N) where optimism is positive or `LEAST`, else the KL index."""
        if optimism > 0.0 or optimism == LEAST:
            return -evidence(mean, pulls, target)
        return self.index(mean, pulls, log_t, extra, optimism)


@dataclass(frozen=True)
class ThompsonExplorer(Gated):
    """Plays the arm of greatest draw from Beta(1 + successes, 1 + failures)."""

    _why: ClassVar[str] = "greatest draw"

    def select(self, memory: Any, state: float, optimism: float, rng: Stream) -> int:
        """The arm of greatest draw, or of greatest KL index where optimism is not positive."""
        if optimism <= 0.0:
            return greatest_score(self, memory, state, optimism, rng)
        best, top = 0, -1.0
        for arm in range(memory.pulls.size):
            a, b = self.posterior(memory, arm, state)
            value = beta(a, b, rng)
            if value > top:
                best, top = arm, value
        return best

    def probabilities(self, memory: Any, state: float) -> Array:
        """The chance of every arm's draw to be the greatest; elsewhere as for any index."""
        optimism = self.optimism_now(memory, state)
        arm = self.newcomer(memory, optimism)
        if arm >= 0:
            return certain(memory.pulls.size, arm)
        if optimism <= 0.0:
            return sure_or_tied(self, memory, state, optimism)
        a, b = np.empty(memory.pulls.size), np.empty(memory.pulls.size)
        for arm in range(a.size):
            a[arm], b[arm] = self.posterior(memory, arm, state)
        return greatest_draw(a, b)


@dataclass(frozen=True)
class IMED(ImedExplorer, Always):
    """Indexed minimum empirical divergence (Honda and Takemura, JMLR 16, 2015).

    With N pulls of an arm at mean m and the greatest mean m*, plays the least
    N kl(m, m*) + log N, whatever the state.

    >>> IMED().optimism(0.0)
    1.0
    """


@dataclass(frozen=True)
class GatedIMED(ImedExplorer, TwoLevel):
    """IMED in state 1, the KL lower confidence bound in state 0.

    With ``c0=0`` the empirical mean in state 0; ``GatedIMED().opposite()`` explores in state 0.

    >>> GatedIMED().opposite().optimism(0.0)
    1.0
    """

    title: ClassVar[str] = "Gated IMED"


@dataclass(frozen=True)
class Thompson(ThompsonExplorer, Always):
    """Thompson sampling (Biometrika 25, 1933) with a uniform prior, whatever the state.

    Plays the greatest of one draw per arm from Beta(1 + successes, 1 + failures). A reward between
    0 and 1 is that much of a success, where Agrawal and Goyal (COLT 2012) toss a coin of that
    chance: the same mean of the posterior without the noise of coins, and less regret
    (docs/graded.md).

    >>> Thompson().optimism(0.0)
    1.0
    """


@dataclass(frozen=True)
class GatedThompson(ThompsonExplorer, TwoLevel):
    """Thompson sampling in state 1, the KL lower confidence bound in state 0.

    With ``c0=0`` the empirical mean in state 0; ``opposite()`` explores in state 0.

    >>> GatedThompson().optimism(0.0)
    -1.0
    """

    title: ClassVar[str] = "Gated Thompson"
