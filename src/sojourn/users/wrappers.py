"""Users made from others: a first step of its own, graded rewards by level, or one per arm."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import exp, log
from typing import Any, Self

import numpy as np

from .. import validation
from ..chain import Array
from ..engine.loops import jitable
from ..engine.steps import next_states
from ..engine.structs import PYTHON_ONLY, Compiled
from ..validation import InputError
from .base import Space, User
from .chain import Chain
from .published import Ema, LeaveCurve, TwoState

MOST_ODDS = 50.0
"""Log odds that an arm may add: e^50 is more than a visit can tell from never or always."""


@dataclass(frozen=True, repr=False)
class Wrapper(User):
    """A base for users that change one thing of `user`."""

    user: User
    start: Any = field(init=False, repr=False, compare=False)

    @property
    def space(self) -> Space:  # type: ignore[override]
        return self.user.space

    def begin(self, u: float) -> float:
        return self.user.begin(u)

    def inner_state(self, state: float) -> float:
        """The state of `user` in this state."""
        return state

    def level(self, reward: float) -> float:
        """The reward as `user` takes it."""
        return reward

    def experience(self, state: float) -> float:
        return self.user.experience(self.inner_state(state))

    def next_state(self, state: float, reward: float) -> float:
        return self.user.next_state(self.inner_state(state), self.level(reward))

    def next_chance(self, state: float, reward: float, after: float) -> float:
        return self.user.next_chance(self.inner_state(state), self.level(reward), after)

    def leave_probability(self, state: float, reward: float, arm: int) -> float:
        return self.user.leave_probability(self.inner_state(state), self.level(reward), arm)


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

    def begin(self, u: float) -> float:
        """The user's start state, marked as a first step."""
        return -1.0 - self.user.begin(u)

    def inner_state(self, state: float) -> float:
        return -1.0 - state if state < 0.0 else state

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
        found = validation.numbers("thresholds", given, 0, 1)
        ascending = all(a < b for a, b in zip((0.0, *found), found, strict=False))
        levels = user.space.outcomes
        if not ascending or len(found) != levels - 1:
            raise InputError(
                f"thresholds = {validation.shown(list(given))} is not allowed: this user has "
                f"{levels} levels, so give {levels - 1} above 0, in ascending order"
            )
        vars(self).update(thresholds=found, start=user.start)

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


@jitable
def shifted(chance: float, odds: float) -> float:
    """A chance with `odds` added to its log odds; 0 and 1 stay what they are."""
    if chance <= 0.0 or chance >= 1.0 or odds == 0.0:
        return chance
    return 1.0 / (1.0 + exp(log((1.0 - chance) / chance) - odds))


@dataclass(frozen=True)
class ShiftedLeave(LeaveCurve):
    """A leave curve with log odds added to it.

    >>> from sojourn.users import LogLeave
    >>> curve = ShiftedLeave(LogLeave(c6=1000), odds=1.0)
    >>> round(curve.curve.probability(0.5), 4), round(curve.probability(0.5), 4)
    (0.1002, 0.2323)
    """

    curve: LeaveCurve
    odds: float

    @property
    def falls(self) -> bool:
        return self.curve.falls

    def probability(self, state: float) -> float:
        return shifted(self.curve.probability(state), self.odds)


@dataclass(frozen=True, eq=False)
class LeaveTables(Compiled):
    """Leave probabilities by [arm, state, reward]."""

    q: Array

    def chance(self, arm: int, state: float, reward: float) -> float:
        return float(self.q[arm, int(state), int(reward)])


@dataclass(frozen=True)
class LeaveModels(Compiled):
    """A user model for each arm."""

    users: tuple[User, ...]

    def chance(self, arm: int, state: float, reward: float) -> float:
        return self.users[arm].leave_probability(state, reward, arm)


@dataclass(frozen=True, repr=False)
class ByArm(Wrapper):
    """A user model for each arm: the same states, and leave probabilities of its own.

    After arm a in state s with reward r the user leaves with probability q_a(s, r), that of
    `users[a]`. The models are of one class and agree in where visits start and how states move.
    The paper excludes this. An example is clickbait: people like it, and then leave.

    >>> users = [TwoState(0.5, 0.4, 0.5, 0.3), TwoState(0.15, 0.08, 0.12, 0.06)]
    >>> user = ByArm(users)
    >>> user.leave_probability(1.0, 1.0, 0), user.leave_probability(1.0, 1.0, 1)
    (0.3, 0.06)
    """

    user: User = field(init=False, repr=False, compare=False)
    users: Sequence[User] = field(metadata=PYTHON_ONLY)
    leaving: Any = field(init=False, repr=False, compare=False)
    base: User | None = field(default=None, init=False, repr=False, metadata=PYTHON_ONLY)
    added: tuple[float, ...] = field(default=(), init=False, repr=False, metadata=PYTHON_ONLY)
    """The arguments of `odds`, if that made it."""

    def __post_init__(self) -> None:
        users = self.users
        if isinstance(users, str) or not isinstance(users, Sequence) or not users:
            raise InputError(f"users = {validation.shown(users)} is not allowed: give one per arm")
        first = users[0]
        for arm, user in enumerate(users):
            if fault := _fault(user, first):
                raise InputError(f"users[{arm}] = {validation.shown(user)} is not allowed: {fault}")
        vars(self).update(users=tuple(users), user=first, start=first.start)
        vars(self).update(leaving=self._leaving())

    def _leaving(self) -> LeaveTables | LeaveModels:
        space = self.user.space
        if space.states is None or space.graded:
            return LeaveModels(tuple(self.users))
        cells = product(range(len(self.users)), range(space.states), range(space.outcomes))
        q = [self.users[a].leave_probability(float(s), float(r), a) for a, s, r in cells]
        return LeaveTables(np.reshape(q, (len(self.users), space.states, space.outcomes)))

    @classmethod
    def odds(cls, user: User, added: Sequence[float]) -> Self:
        """One user, with log odds of leaving added by arm.

        >>> user = ByArm.odds(TwoState(0.15, 0.08, 0.12, 0.06), [2, 0])
        >>> round(user.leave_probability(0.0, 0.0, 0), 4), user.leave_probability(0.0, 0.0, 1)
        (0.566, 0.15)
        """
        numbers = validation.numbers("odds", added, -MOST_ODDS, MOST_ODDS)
        made = cls([_with_odds(user, x) for x in numbers])
        vars(made).update(base=user, added=numbers)
        return made

    def __repr__(self) -> str:
        if self.base is not None:
            return f"ByArm.odds({self.base!r}, {list(self.added)})"
        return f"ByArm({list(self.users)!r})"

    @property
    def space(self) -> Space:  # type: ignore[override]
        return self.user.space._replace(arms=len(self.users))

    def leave_probability(self, state: float, reward: float, arm: int) -> float:
        return self.leaving.chance(arm, state, reward)  # type: ignore[no-any-return]


def _fault(user: Any, first: Any) -> str | None:
    """Why a model cannot be that of an arm beside the first arm's model; None if it can."""
    if isinstance(user, Levels):
        return "put Levels around ByArm"
    plain = isinstance(user, User) and not isinstance(user, StaysFirst) and not user.space.arms
    if not plain or not can_leave(user) or type(user) is not type(first):
        return "the users of all arms must be of one class, with leave probabilities and no wrapper"
    if _moves(user) != _moves(first) or user.start != first.start:
        return (
            f"it must start and move as users[0] = {validation.shown(first)} does, and differ in "
            "leaving only"
        )
    return None


def _moves(user: User) -> Any:
    """What says how the state moves and what is seen of it: tables, or both on a grid."""
    if isinstance(user, Chain):
        return user.next, user.seen
    space = user.space
    states = [i / 20 for i in range(21)] if space.states is None else range(space.states)
    rewards = [i / 4 for i in range(5)] if space.graded else range(space.outcomes)
    return [
        (user.experience(s), [next_states(user, s, float(r)) for r in rewards])
        for s in map(float, states)
    ]


def _with_odds(user: User, odds: float) -> User:
    if isinstance(user, TwoState):
        return replace(user, **{name: shifted(q, odds) for name, q in user.settings().items()})
    if isinstance(user, Chain):
        leave = [[shifted(q, odds) for q in row] for row in user.leave]
        return replace(user, leave=leave)
    if isinstance(user, Ema):
        return replace(user, leave=ShiftedLeave(user.leave, odds))
    raise InputError(
        f"user = {validation.shown(user)} is not allowed: odds are added to a two-state, chain or "
        "moving-average user; give ByArm a user for each arm"
    )
