"""A policy around a policy: it passes on all that it does not change."""

from dataclasses import dataclass, field
from typing import Any

from ..engine.streams import Stream
from ..validation import InputError
from .base import Array, Policy
from .index import KLULCB
from .reasons import Seen


@dataclass(frozen=True)
class Wrapper(Policy):
    """Chooses and learns as `policy`, whose memory it uses; subclasses change a part of that."""

    policy: Policy = field(default_factory=KLULCB)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.policy, Policy):
            raise InputError(f"policy = {self.policy!r} is not allowed: it must be a policy")

    def memory(self, arms: int) -> Any:
        """What `policy` remembers."""
        return self.policy.memory(arms)

    def choose(self, memory: Any, state: float, rng: Stream) -> int:
        """What `policy` chooses."""
        return self.policy.choose(memory, state, rng)

    def probabilities(self, memory: Any, state: float) -> Array:
        """Those of `policy`."""
        return self.policy.probabilities(memory, state)

    def known_worth(self, memory: Any, state: float) -> Array:
        """As `policy` knows it."""
        return self.policy.known_worth(memory, state)

    def update(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        """`policy` learns from all steps, whoever chose."""
        self.policy.update(memory, state, arm, reward, left, next_state)

    def fade(self, memory: Any, factor: float) -> None:
        self.policy.fade(memory, factor)

    def take_back(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        self.policy.take_back(memory, state, arm, reward, left, next_state)

    def forget_arm(self, memory: Any, arm: int) -> None:
        self.policy.forget_arm(memory, arm)

    def departure_cells(self) -> int:
        return self.policy.departure_cells()

    def departure_cell(self, state: float, reward: float) -> int:
        return self.policy.departure_cell(state, reward)

    def forget_departures(self, memory: Any) -> None:
        self.policy.forget_departures(memory)

    def hurry(self, memory: Any, since: float) -> None:
        self.policy.hurry(memory, since)

    def tries(self, memory: Any, state: float) -> bool:
        return self.policy.tries(memory, state)

    def arms_of(self, memory: Any) -> int:
        return self.policy.arms_of(memory)

    @property
    def learns(self) -> bool:  # type: ignore[override]
        return self.policy.learns

    @property
    def learns_from_departures(self) -> bool:  # type: ignore[override]
        return self.policy.learns_from_departures

    @property
    def plays_each_once(self) -> bool:
        return self.policy.plays_each_once

    def optimism_in_view(self, memory: Any, state: float) -> float | None:
        return self.policy.optimism_in_view(memory, state)

    def _mood(self, choice: Seen) -> str:
        return self.policy._mood(choice)

    def _words(self, choice: Seen) -> tuple[str, str]:
        return self.policy._words(choice)

    def check_arms(self, arms: int) -> None:
        self.policy.check_arms(arms)


def check_forgets(policy: Policy) -> None:
    """InputError if a policy cannot forget: who learns in another way has to say how."""
    for method in type(policy).__mro__:
        if "take_back" in vars(method):
            break
        if "update" in vars(method):
            raise InputError(
                f"policy = {policy.label!r} is not allowed: what it remembers is no sum of what it "
                "saw, so that it cannot forget a part of that"
            )
    if isinstance(policy, Wrapper):
        check_forgets(policy.policy)
