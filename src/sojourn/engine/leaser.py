"""What a lease is: a choice that is sure for a while."""

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from ..policies.base import count
from .streams import Stream
from .structs import Compiled

NO_LEASE = (0, 0, 0.0)


@dataclass(frozen=True)
class Leaser(Compiled):
    """No promise: every step is asked of the policy."""

    def board(self, policy: Any, arms: int) -> Any:
        """Scratch space; what it holds never changes a decision."""
        return np.zeros(1)

    def lease(self, policy: Any, memory: Any, board: Any) -> tuple[int, int, float]:
        """An arm that is sure to be chosen in every state for a while, how many steps, and a mean.

        The promise holds for that many steps, as long as the arm's empirical mean before each of
        them is at least the one given. No steps: no promise.
        """
        return NO_LEASE

    def absorb(
        self, policy: Any, memory: Any, board: Any, arm: int, pulls: int, successes: int
    ) -> None:
        """Learn from the steps of a lease."""

    def watches(self) -> bool:
        """Whether the steps of a lease are to be told to `note`."""
        return False

    def patience(self, policy: Any, memory: Any) -> float:
        """After how many steps of a lease `absorb` has to be told of them."""
        return inf

    def goes_on(self, policy: Any, memory: Any, board: Any) -> bool:
        """Whether a lease still holds after that."""
        return True

    def note(
        self, policy: Any, memory: Any,
        state: float, arm: int, reward: float, steps: float, departures: float, next_state: float,
    ) -> None:  # fmt: skip
        """Take note of steps of a lease that were alike, and how many ended with a departure.

        What steps add up to is told to `absorb`.
        """

    def note_many(
        self, policy: Any, memory: Any, arm: int,
        steps: int, high: int, good: int, both: int,
        left: int, left_high: int, left_good: int, left_both: int,
    ) -> None:  # fmt: skip
        """The same of all steps of a lease with a two-state user, from counts.

        Of so many `steps`, `high` began in state 1, `good` were rewarded, and `both` did both;
        then the same of those that ended with a departure.
        """

    def decide(self, policy: Any, memory: Any, board: Any, state: float, rng: Stream) -> int:
        """What `policy.choose` would choose, perhaps sooner."""
        return policy.choose(memory, state, rng)  # type: ignore[no-any-return]

    def learn(
        self, policy: Any, memory: Any, board: Any,
        state: float, arm: int, reward: float, left: bool, next_state: float,
    ) -> None:  # fmt: skip
        """`policy.update`, and keep the board up to date."""
        policy.update(memory, state, arm, reward, left, next_state)


@dataclass(frozen=True)
class CountingLeaser(Leaser):
    """Of policies that remember `Counts`."""

    def absorb(
        self, policy: Any, memory: Any, board: Any, arm: int, pulls: int, successes: int
    ) -> None:
        count(memory, arm, pulls, successes)
