"""Users made of another one: with a first step of its own, or with graded rewards by level."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from .. import validation
from ..engine.steps import unmarked
from ..validation import InputError
from .base import Space, User


@dataclass(frozen=True, repr=False)
class Wrapper(User):
    """A base for users that differ from `user` in something, and are like it in the rest."""

    user: User
    start: Any = field(init=False, repr=False, compare=False)

    @property
    def space(self) -> Space:  # type: ignore[override]
        return self.user.space

    def begin(self, u: float) -> float:
        return self.user.begin(u)

    def experience(self, state: float) -> float:
        return self.user.experience(state)

    def next_state(self, state: float, reward: float) -> float:
        return self.user.next_state(state, reward)

    def next_chance(self, state: float, reward: float, after: float) -> float:
        return self.user.next_chance(state, reward, after)

    def leave_probability(self, state: float, reward: float, arm: int) -> float:
        return self.user.leave_probability(state, reward, arm)


def can_leave(user: User) -> bool:
    """Whether a model has leave probabilities; live models do without.

    >>> from sojourn.users import LastReward, TwoState
    >>> can_leave(TwoState(q00=1, q01=0, q10=0, q11=0)), can_leave(LastReward())
    (True, False)
    """
    return can_leave(user.user) if isinstance(user, Wrapper) else hasattr(user, "leave_probability")


def unwrapped(user: User) -> User:
    """The model itself, without a wrapper for the first step.

    >>> from sojourn import TwoState
    >>> unwrapped(StaysFirst(TwoState(q00=1, q01=0, q10=0, q11=0)))
    TwoState(q00=1.0, q01=0.0, q10=0.0, q11=0.0)
    """
    return user.user if isinstance(user, StaysFirst) else user


@dataclass(frozen=True, repr=False)
class StaysFirst(Wrapper):
    """The same user, who never leaves at the first step (the paper's remark on state transitions).

    The first step has states of its own, -1 - s for a start state s of `user`, in which the
    chance to leave is 0; no step leads to them. A policy sees the same experience as without the
    wrapper.

    >>> from sojourn import TwoState
    >>> shy = StaysFirst(TwoState(q00=1, q01=0, q10=0, q11=0, start=0))
    >>> s = shy.begin(0.5); s, shy.leave_probability(s, 0.0, 0), shy.experience(s)
    (-1.0, 0.0, 0.0)
    """

    def __post_init__(self) -> None:
        if not isinstance(self.user, User) or isinstance(self.user, StaysFirst):
            raise InputError(f"user = {self.user!r} is not allowed: it must be another user model")
        object.__setattr__(self, "start", self.user.start)

    def __repr__(self) -> str:
        own = [f.name for f in fields(self) if f.repr and f.name != "start"]
        given = ", ".join(f"{name}={getattr(self, name)!r}" for name in own)
        return f"{type(self).__name__}({given})"

    def begin(self, u: float) -> float:
        """The user's start state, marked as a first step."""
        return -1.0 - self.user.begin(u)

    def experience(self, state: float) -> float:
        return self.user.experience(unmarked(state))

    def next_state(self, state: float, reward: float) -> float:
        return self.user.next_state(unmarked(state), reward)

    def next_chance(self, state: float, reward: float, after: float) -> float:
        return self.user.next_chance(unmarked(state), reward, after)

    def leave_probability(self, state: float, reward: float, arm: int) -> float:
        """0 at the first step, later the user's."""
        return 0.0 if state < 0.0 else self.user.leave_probability(state, reward, arm)


@dataclass(frozen=True, repr=False)
class Levels(Wrapper):
    """A user whose state and leaving follow the *level* of a reward in [0, 1].

    The level is the number of `thresholds` that the reward reaches: with one, at 0.5, it is 0 for
    what is liked less than half and 1 for the rest, which is what a two-state user needs. A chain
    may have more columns, one for each level.

    >>> from sojourn import TwoState
    >>> user = Levels(TwoState(0.5, 0.1, 0.3, 0.05), thresholds=[0.5])
    >>> user.next_state(1.0, 0.4), user.leave_probability(1.0, 0.4, 0), user.level(0.5)
    (0.0, 0.3, 1.0)
    """

    thresholds: tuple[float, ...]

    def __post_init__(self) -> None:
        user, given = self.user, self.thresholds
        if not isinstance(user, User) or isinstance(user, StaysFirst) or user.space.graded:
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

    @property
    def space(self) -> Space:  # type: ignore[override]
        return self.user.space._replace(cuts=self.thresholds, graded=True)

    def level(self, reward: float) -> float:
        """The number of thresholds that a reward reaches."""
        reached = 0.0
        for threshold in self.thresholds:
            if reward >= threshold:
                reached += 1.0
        return reached

    def next_state(self, state: float, reward: float) -> float:
        return self.user.next_state(state, self.level(reward))

    def next_chance(self, state: float, reward: float, after: float) -> float:
        return self.user.next_chance(state, self.level(reward), after)

    def leave_probability(self, state: float, reward: float, arm: int) -> float:
        return self.user.leave_probability(state, self.level(reward), arm)
