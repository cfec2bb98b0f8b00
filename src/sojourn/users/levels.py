"""Users who take a graded reward by its level."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import validation
from ..validation import InputError
from .base import Space, User
from .wrapper import Wrapper


@dataclass(frozen=True, repr=False)
class Levels(Wrapper):
    """A user whose state and leaving follow the *level* of a reward in [0, 1].

    The level is the number of `thresholds` that the reward reaches: with one, at 0.5, it is 0 for
    what is liked less than half and 1 for the rest, which is what a two-state user needs. A chain
    may have more columns, one for each level.

    >>> from sojourn import TwoState
    >>> user = Levels(TwoState(0.5, 0.1, 0.3, 0.05), thresholds=[0.5])
    >>> user.next_state(1.0, 0.4), user.leave_probability(1.0, 0.4), user.level(0.5)
    (0.0, 0.3, 1.0)
    """

    thresholds: tuple[float, ...]

    def __post_init__(self) -> None:
        user, given = self.user, self.thresholds
        if not isinstance(user, User) or user.unwrapped is not user or user.space.graded:
            raise InputError(
                f"user = {validation.shown(user)} is not allowed: it must be a user model, without "
                "a wrapper, whose state does not follow graded rewards already"
            )
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise InputError(f"thresholds = {validation.shown(given)} is not allowed: give a list")
        found = tuple(validation.number(f"thresholds[{i}]", x, 0, 1) for i, x in enumerate(given))
        ascending = all(a < b for a, b in zip((0.0, *found), found, strict=False))
        levels = user.space.outcomes
        if not ascending or len(found) != levels - 1:
            raise InputError(
                f"thresholds = {validation.shown(list(given))} is not allowed: this user has "
                f"{levels} levels, so give {levels - 1} above 0, in ascending order"
            )
        object.__setattr__(self, "thresholds", found)
        object.__setattr__(self, "start", user.start)

    def __repr__(self) -> str:
        return f"Levels({self.user!r}, thresholds={list(self.thresholds)})"

    def level(self, reward: float) -> float:
        """The number of thresholds that a reward reaches."""
        reached = 0.0
        for threshold in self.thresholds:
            if reward >= threshold:
                reached += 1.0
        return reached

    @property
    def space(self) -> Space:  # type: ignore[override]
        return self.user.space._replace(cuts=self.thresholds, graded=True)

    def next_state(self, state: float, reward: float) -> float:
        return self.user.next_state(state, self.level(reward))

    def draw_next(self, state: float, reward: float, u: float) -> float:
        return self.user.draw_next(state, self.level(reward), u)

    def expected(self, function: Any, state: float, reward: float) -> float:
        return self.user.expected(function, state, self.level(reward))

    def _next_states(self, state: float, reward: float) -> list[tuple[float, float]]:
        return self.user._next_states(state, self.level(reward))

    def leave_probability(self, state: float, reward: float) -> float:
        return self.user.leave_probability(state, self.level(reward))

    def leave_after(self, arm: int, state: float, reward: float) -> float:
        return self.user.leave_after(arm, state, self.level(reward))

    def as_two_state(self) -> Any:
        """With rewards of 0 and 1 levels change nothing."""
        return self.user.as_two_state()

    def moves(self) -> Any:
        return self.thresholds, self.user.moves()

    def live(self) -> User:
        return Levels(self.user.live(), self.thresholds)

    def in_words(self) -> str:
        at = ", ".join(f"{x:g}".removeprefix("0") for x in self.thresholds)
        return f"{self.user.in_words()}, which is good from {at} on"
