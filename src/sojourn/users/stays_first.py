"""Users whose first step is different."""

from dataclasses import dataclass, fields
from typing import Any

from ..validation import InputError
from .base import User
from .wrapper import Wrapper


@dataclass(frozen=True, repr=False)
class StaysFirst(Wrapper):
    """The same user, who never leaves at the first step (the paper's remark on state transitions).

    The first step has states of its own, -1 - s for a start state s of `user`, in which the
    chance to leave is 0; no step leads to them. A policy sees the same experience as without the
    wrapper.

    >>> from sojourn import TwoState
    >>> shy = StaysFirst(TwoState(q00=1, q01=0, q10=0, q11=0, start=0))
    >>> s = shy.begin(0.5); s, shy.leave_probability(s, 0.0), shy.experience(s)
    (-1.0, 0.0, 0.0)
    """

    def __post_init__(self) -> None:
        if not isinstance(self.user, User) or self.user.unwrapped is not self.user:
            raise InputError(f"user = {self.user!r} is not allowed: it must be another user model")
        object.__setattr__(self, "start", self.user.start)

    def __repr__(self) -> str:
        own = [f.name for f in fields(self) if f.repr and f.name != "start"]
        given = ", ".join(f"{name}={getattr(self, name)!r}" for name in own)
        return f"{type(self).__name__}({given})"

    @property
    def unwrapped(self) -> User:
        return self.user

    def begin(self, u: float) -> float:
        """The user's start state, marked as a first step."""
        return -1.0 - self.user.begin(u)

    def experience(self, state: float) -> float:
        return self.user.experience(-1.0 - state if state < 0.0 else state)

    def next_state(self, state: float, reward: float) -> float:
        return self.user.next_state(-1.0 - state if state < 0.0 else state, reward)

    def draw_next(self, state: float, reward: float, u: float) -> float:
        return self.user.draw_next(-1.0 - state if state < 0.0 else state, reward, u)

    def expected(self, function: Any, state: float, reward: float) -> float:
        return self.user.expected(function, -1.0 - state if state < 0.0 else state, reward)

    def _next_states(self, state: float, reward: float) -> list[tuple[float, float]]:
        return self.user._next_states(-1.0 - state if state < 0.0 else state, reward)

    def leave_probability(self, state: float, reward: float) -> float:
        """0 at the first step, later the user's."""
        return 0.0 if state < 0.0 else self.user.leave_probability(state, reward)

    def leave_after(self, arm: int, state: float, reward: float) -> float:
        if state < 0.0:
            return self.leave_probability(state, reward)
        return self.user.leave_after(arm, state, reward)
