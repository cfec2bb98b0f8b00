"""What a draw decides: the reward of an arm, whether the user leaves, and the next state.

`Coins` are arms with rewards of 0 and 1, as the paper has them; `CoinsByState` have means that
depend on the state, and `Grades` rewards in [0, 1]. Each of them makes a whole step of one uniform
draw u, so that the n-th draw of an arm's stream decides its n-th pull, whichever policy plays it,
and at any time.
"""

from dataclasses import dataclass
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .loops import jitable
from .steps import draw_next, unmarked
from .streams import Stream, begun_at, beta, draw_uniform, inner_uniform
from .structs import Compiled

Array = NDArray[np.float64]


@jitable
def coin(user: Any, mean: float, arm: int, state: float, u: float) -> tuple[float, bool, float]:
    """What u decides for an arm of rewards 0 and 1: reward, whether the user leaves, next state.

    u < mean is a reward, and the lowest share q of either part of [0, 1), rewarded or not, is a
    departure. Where u falls within the rest of its part is a fresh uniform draw, which decides the
    next state if that is random. The next state of a user who leaves is the one they would have
    gone on in.
    """
    reward = 1.0 if u < mean else 0.0
    leave = user.leave_probability(state, reward, arm)
    if reward > 0.0:
        end, top = mean * leave, mean
    else:
        end, top = mean + (1.0 - mean) * leave, 1.0
    left = u < end
    rest = 0.0 if left else (u - end) / (top - end)
    return reward, left, draw_next(user, state, reward, rest)


@jitable
def any_beta(a: float, b: float, rng: Stream) -> float:
    """A draw from Beta(a, b), for any a and b above 0.

    A gamma variate of shape a is one of shape a + 1 times U^(1/a), so that the odds of Beta(a, b)
    are those of Beta(a + 1, b + 1) times U^(1/a) / V^(1/b).
    """
    x = beta(a + 1.0, b + 1.0, rng)
    odds = log(x / (1.0 - x)) + log(inner_uniform(rng)) / a - log(inner_uniform(rng)) / b
    return 1.0 / (1.0 + exp(-odds)) if odds > 0.0 else exp(odds) / (1.0 + exp(odds))


@dataclass(frozen=True, eq=False)
class Coins(Compiled):
    """Arms with rewards of 0 and 1."""

    means: Array

    def nothing(self) -> NDArray[np.int64]:
        """No rewards yet, by arm; they are counted in whole numbers."""
        return np.zeros(self.means.size, np.int64)

    def counted(self, reward: float) -> int:
        """A reward as it is summed."""
        return int(reward)

    def outcome(self, user: Any, arm: int, state: float, u: float) -> tuple[float, bool, float]:
        """What u decides: reward, whether the user leaves, next state."""
        return coin(user, self.means[arm], arm, state, u)


@dataclass(frozen=True, eq=False)
class CoinsByState(Coins):
    """Arms with rewards of 0 and 1 whose means depend on the state: [arm, state]."""

    at_state: Array

    def outcome(self, user: Any, arm: int, state: float, u: float) -> tuple[float, bool, float]:
        return coin(user, self.at_state[arm, int(unmarked(state))], arm, state, u)


@dataclass(frozen=True, eq=False)
class Grades(Compiled):
    """Arms with rewards in [0, 1]: `values` with chances, or draws from Beta(a, b) if a > 0.

    The values of an arm are those from `first[arm]` to before `first[arm + 1]`, and `below` has
    the chance of each to be exceeded by none before it: the sum of chances up to and including it.
    """

    means: Array
    a: Array
    b: Array
    first: NDArray[np.int64]
    values: Array
    below: Array

    def nothing(self) -> Array:
        return np.zeros(self.means.size)

    def counted(self, reward: float) -> float:
        return reward

    def outcome(self, user: Any, arm: int, state: float, u: float) -> tuple[float, bool, float]:
        """The same of a stream of draws that begins where u says."""
        rng = begun_at(u)
        reward = self.reward_of(arm, rng)
        left = draw_uniform(rng) < user.leave_probability(state, reward, arm)
        return reward, left, draw_next(user, state, reward, draw_uniform(rng))

    def reward_of(self, arm: int, rng: Stream) -> float:
        """A reward of this arm."""
        if self.a[arm] > 0.0:
            return any_beta(self.a[arm], self.b[arm], rng)
        u, low, high = draw_uniform(rng), self.first[arm], self.first[arm + 1] - 1
        while low < high:
            middle = (low + high) // 2
            if u < self.below[middle]:
                high = middle
            else:
                low = middle + 1
        return float(self.values[low])
