"""Policies around another policy, and the mixture whose choices have known probabilities.

An index policy is deterministic, so that its log says nothing about other policies. Mixed with a
little of any arm, it does: a log with the chance of each choice (its *propensity*) says what
another policy would achieve, see `sojourn.logs.evaluate`.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from .. import validation
from ..engine.streams import Stream, draw_uniform
from ..validation import InputError
from .base import Array, Forgetting, PlaysEachOnce, Policy, arms_in
from .index import KLULCB
from .reasons import Explains, Seen, explainer

__all__ = ["EpsilonMixture"]
"""The policies of this module, in the order in which they are listed."""


@dataclass(frozen=True)
class Wrapper(Explains, Policy):
    """Chooses and learns as `policy` does, with its memory; subclasses change a part of that."""

    policy: Policy = field(default_factory=KLULCB)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.policy, Policy):
            raise InputError(f"policy = {self.policy!r} is not allowed: it must be a policy")

    def memory(self, arms: int) -> Any:
        """The memory of `policy`."""
        return self.policy.memory(arms)

    def choose(self, memory: Any, state: float, rng: Stream) -> int:
        """The choice of `policy`."""
        return self.policy.choose(memory, state, rng)

    def probabilities(self, memory: Any, state: float) -> Array:
        """The selection probabilities of `policy`."""
        return self.policy.probabilities(memory, state)

    def greedy_values(self, memory: Any, state: float) -> Array:
        """The estimates of `policy`."""
        return self.policy.greedy_values(memory, state)

    def update(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        """`policy` learns from every step."""
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
    """Whether a policy, or the one it wraps, plays each arm once first."""
    if isinstance(policy, Wrapper):
        return plays_each_once(policy.policy)
    return isinstance(policy, PlaysEachOnce)


@dataclass(frozen=True)
class EpsilonMixture(Forgetting, Wrapper):
    """The choice of `policy` with chance 1 - `epsilon`, otherwise any arm.

    Its `probabilities` are exact: epsilon / arms, and 1 - epsilon times those of `policy`.

    >>> mixed = EpsilonMixture(KLULCB(), epsilon=0.2)
    >>> memory = mixed.memory(2)  # nothing known yet: KL-ULCB begins with arm 0
    >>> mixed.probabilities(memory, 1.0).tolist()
    [0.9, 0.1]
    """

    title: ClassVar[str] = "Epsilon mixture"

    policy: Any = field(default_factory=KLULCB)
    epsilon: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "epsilon", validation.number("epsilon", self.epsilon, 0, 1))

    def anything(self, memory: Any, rng: Stream) -> int:
        """A uniformly random arm with probability epsilon, otherwise -1."""
        if draw_uniform(rng) < self.epsilon:
            return int(draw_uniform(rng) * arms_in(memory))
        return -1

    def choose(self, memory: Any, state: float, rng: Stream) -> int:
        """A uniformly random arm with probability epsilon, otherwise the choice of `policy`."""
        arm = self.anything(memory, rng)
        return arm if arm >= 0 else self.policy.choose(memory, state, rng)

    def probabilities(self, memory: Any, state: float) -> Array:
        """epsilon / arms, plus 1 - epsilon times those of `policy`; empty if these are unknown."""
        inner = self.policy.probabilities(memory, state)
        return self.epsilon / max(inner.size, 1) + (1.0 - self.epsilon) * inner  # type: ignore[no-any-return]

    def fade(self, memory: Any, factor: float) -> None:
        self.policy.fade(memory, factor)

    def take_back(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        self.policy.take_back(memory, state, arm, reward, left, next_state)

    def forget_arm(self, memory: Any, arm: int) -> None:
        self.policy.forget_arm(memory, arm)

    def departure_cells(self) -> int:
        return self.policy.departure_cells()  # type: ignore[no-any-return]

    def departure_cell(self, state: float, reward: float) -> int:
        return self.policy.departure_cell(state, reward)  # type: ignore[no-any-return]

    def forget_departures(self, memory: Any) -> None:
        self.policy.forget_departures(memory)

    def refit_soon(self, memory: Any, since: float) -> None:
        self.policy.refit_soon(memory, since)

    def explores_in(self, memory: Any, state: float) -> bool:
        return self.policy.explores_in(memory, state)  # type: ignore[no-any-return]

    def _words(self, choice: Seen) -> tuple[str, str]:
        act, figure = explainer(self.policy)._words(choice)
        return act, f"{figure}; or by chance, {self.epsilon:.0%} of the time"


def base_policy(policy: Policy) -> Any:
    """The policy that learns: the inner one of an `EpsilonMixture`, otherwise itself."""
    return base_policy(policy.policy) if isinstance(policy, EpsilonMixture) else policy


def check_forgets(policy: Policy) -> None:
    """InputError if observations cannot be removed from what a policy remembers."""
    if not isinstance(base_policy(policy), Forgetting):
        raise InputError(
            f"policy = {policy.label!r} is not allowed: what it remembers is no sum of what it "
            "saw, so that it cannot forget a part of that (one that keeps `Counts` inherits "
            "`Counting`)"
        )
