"""A policy around a policy: it passes on all that it does not change."""

from dataclasses import dataclass, field
from typing import Any

from ..engine.streams import Stream
from ..validation import InputError
from .base import Array, PlaysEachOnce, Policy
from .index import KLULCB
from .reasons import Explains, Seen, explainer


@dataclass(frozen=True)
class Wrapper(Explains, Policy):
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

    def greedy_values(self, memory: Any, state: float) -> Array:
        """As `policy` knows it."""
        return self.policy.greedy_values(memory, state)

    def update(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        """`policy` learns from all steps, whoever chose."""
        self.policy.update(memory, state, arm, reward, left, next_state)

    @property
    def learns_from(self) -> str:  # type: ignore[override]
        return self.policy.learns_from

    def optimism_in(self, memory: Any, state: float) -> float | None:
        return explainer(self.policy).optimism_in(memory, state)

    def _mood(self, choice: Seen) -> str:
        return explainer(self.policy)._mood(choice)

    def _words(self, choice: Seen) -> tuple[str, str]:
        return explainer(self.policy)._words(choice)

    def check_arms(self, arms: int) -> None:
        self.policy.check_arms(arms)


def plays_each_once(policy: Policy) -> bool:
    """Whether a policy, or the one it wraps, begins with every arm once."""
    if isinstance(policy, Wrapper):
        return plays_each_once(policy.policy)
    return isinstance(policy, PlaysEachOnce)
