"""What explorers have in common: an estimate and an optimism give a score, the greatest is played.

A policy is a product of three parts, each of which may be replaced alone:

    estimate   a mean of every arm in this step, and the number of pulls that it is worth
    optimism   how far up or down to look in this state, known or learned
    explorer   a score of (mean, pulls, optimism), or a draw
"""

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..engine.loops import jitable
from ..engine.streams import Stream, draw_uniform
from .base import Array, Policy, certain, equally
from .reasons import Explains


class Moment(NamedTuple):
    """The values that all scores of one decision share."""

    log_t: float
    extra: float  # what the budget of every arm has beside log t
    target: float  # a mean to compare with, if the explorer has one


@jitable
def greatest_score(policy: Any, memory: Any, state: float, optimism: float, rng: Stream) -> int:
    """The arm of greatest score among those played before."""
    moment = policy.moment(memory, state, optimism)
    best, top, ties = 0, -inf, 0
    for arm in range(memory.pulls.size):
        if policy.knows(memory, arm):
            value = policy.score(memory, arm, state, optimism, moment)
            if value > top:
                best, top, ties = arm, value, 1
            elif value == top:
                ties += 1
    if ties == 1 or not policy.draws_ties():
        return best
    # Draw one of the tied arms only when the tie is for the lead: a sure choice draws nothing.
    skip = int(draw_uniform(rng) * ties)
    for arm in range(best, memory.pulls.size):
        if policy.knows(memory, arm):
            value = policy.score(memory, arm, state, optimism, moment)
            if value == top:
                if skip == 0:
                    return arm
                skip -= 1
    return best


@jitable
def sure_or_tied(policy: Any, memory: Any, state: float, optimism: float) -> Array:
    """The chances of `greatest_score`: the score of an arm never played is less than any."""
    moment = policy.moment(memory, state, optimism)
    scores = np.full(memory.pulls.size, -inf)
    for arm in range(scores.size):
        if policy.knows(memory, arm):
            scores[arm] = policy.score(memory, arm, state, optimism, moment)
    return equally(scores) if policy.draws_ties() else certain(scores.size, int(scores.argmax()))


@jitable
def extreme_estimate(policy: Any, memory: Any, state: float, side: float) -> float:
    """The greatest estimated mean of an arm (`side` 1), or the least (-1)."""
    top = -inf
    for arm in range(memory.pulls.size):
        if memory.pulls[arm] > 0.0:
            mean, _ = policy.estimate(memory, arm, state)
            top = max(top, side * mean)
    return side * top


@dataclass(frozen=True)
class Explorer(Explains, Policy):
    """Plays the arm of greatest score; arms never played come first, in their order.

    The score is a function of the estimate of an arm, the optimism of the state, and the moment.
    """

    if TYPE_CHECKING:

        def optimism_now(self, memory: Any, state: float) -> float: ...
        def score(
            self, memory: Any, arm: int, state: float, optimism: float, moment: Any
        ) -> float: ...

    def record(self, memory: Any, arm: int) -> tuple[float, float]:
        """The mean and the pulls of an arm, whatever the state: leases go by them."""
        pulls = float(memory.pulls[arm])
        return memory.successes[arm] / pulls, pulls

    def estimate(self, memory: Any, arm: int, state: float) -> tuple[float, float]:
        """The mean of an arm in this step, and the number of pulls that it is worth."""
        return self.record(memory, arm)

    def posterior(self, memory: Any, arm: int, state: float) -> tuple[float, float]:
        """The parameters of the Beta distribution of an arm's mean in this step."""
        pulls, successes = memory.pulls[arm], memory.successes[arm]
        return 1.0 + successes, 1.0 + pulls - successes

    def moment(self, memory: Any, state: float, optimism: float) -> Any:
        """The values that all scores of one decision share, computed once."""
        return 0.0

    def draws_ties(self) -> bool:
        """Whether ties are broken at random; else the first arm wins."""
        return True

    def knows(self, memory: Any, arm: int) -> bool:
        """Whether an arm can be compared with others: one never played cannot."""
        return memory.pulls[arm] > 0.0  # type: ignore[no-any-return]

    def introduces(self, memory: Any, optimism: float) -> bool:
        """Whether an arm never played is to be played now."""
        return True

    def newcomer(self, memory: Any, optimism: float) -> int:
        """The first arm never played, if it is to be introduced now, else -1."""
        if self.introduces(memory, optimism):
            for arm in range(memory.pulls.size):
                if not self.knows(memory, arm):
                    return arm
        return -1

    def choose(self, memory: Any, state: float, rng: Stream) -> int:
        optimism = self.optimism_now(memory, state)
        arm = self.newcomer(memory, optimism)
        return arm if arm >= 0 else self.select(memory, state, optimism, rng)

    def select(self, memory: Any, state: float, optimism: float, rng: Stream) -> int:
        """The arm to play when there is no newcomer."""
        return greatest_score(self, memory, state, optimism, rng)

    def probabilities(self, memory: Any, state: float) -> Array:
        """1 for the arm of greatest score, or an equal share for each of several."""
        optimism = self.optimism_now(memory, state)
        arm = self.newcomer(memory, optimism)
        if arm >= 0:
            return certain(memory.pulls.size, arm)
        return sure_or_tied(self, memory, state, optimism)

    def optimism_in(self, memory: Any, state: float) -> float | None:
        return float(self.optimism_now(memory, state))
