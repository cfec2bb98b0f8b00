"""Users made of another one."""

from dataclasses import dataclass, field
from typing import Any

from .base import Space, User


@dataclass(frozen=True, repr=False)
class Wrapper(User):
    """A base for users that differ from `user` in something, and are like it in the rest."""

    user: User
    start: Any = field(init=False, repr=False, compare=False)

    @property
    def space(self) -> Space:  # type: ignore[override]
        return self.user.space

    @property
    def leaves(self) -> bool:
        return self.user.leaves

    def begin(self, u: float) -> float:
        return self.user.begin(u)

    def experience(self, state: float) -> float:
        return self.user.experience(state)

    def next_state(self, state: float, reward: float) -> float:
        return self.user.next_state(state, reward)

    def draw_next(self, state: float, reward: float, u: float) -> float:
        return self.user.draw_next(state, reward, u)

    def expected(self, function: Any, state: float, reward: float) -> float:
        return self.user.expected(function, state, reward)

    def _next_states(self, state: float, reward: float) -> list[tuple[float, float]]:
        return self.user._next_states(state, reward)

    def leave_probability(self, state: float, reward: float) -> float:
        return self.user.leave_probability(state, reward)

    def leave_after(self, arm: int, state: float, reward: float) -> float:
        return self.user.leave_after(arm, state, reward)

    def moves(self) -> Any:
        return self.user.moves()

    def live(self) -> User:
        return self.user.live()

    def in_words(self) -> str:
        return self.user.in_words()

    def states_in_words(self, bins: int) -> tuple[str, ...]:
        return self.user.states_in_words(bins)
