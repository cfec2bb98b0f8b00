"""The paper's users: the state is the last reward, or a moving average of rewards."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import log1p
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numba import njit
from numba.core.dispatcher import Dispatcher

from .. import validation
from ..engine.structs import Compiled
from ..validation import InputError
from .base import Space, User


@dataclass(frozen=True, repr=False)
class LastReward(User):
    """The state is the last reward, 0 or 1: `TwoState` without leave probabilities, for live use.

    >>> LastReward(start=0).next_state(0.0, 1.0)
    1.0
    """

    space: ClassVar[Space] = Space(bins=2)
    model: ClassVar[str] = "last-reward"

    def next_state(self, state: float, reward: float) -> float:
        """S' = R."""
        return reward


@dataclass(frozen=True, repr=False)
class TwoState(LastReward):
    """The paper's basic user: the state is the last reward, 0 or 1.

    After reward r in state s the user leaves with probability q(s, r), given as `q00`, `q01`,
    `q10`, `q11` (state first). The first state is `start`: 1, 0, or a table such as
    ``{0: 0.5, 1: 0.5}``.

    >>> user = TwoState(q00=1, q01=0, q10=0, q11=0)
    >>> user.leave_probability(0.0, 0.0, 0), user.next_state(0.0, 1.0)
    (1.0, 1.0)
    """

    q00: float
    q01: float
    q10: float
    q11: float

    space: ClassVar[Space] = Space(states=2, bins=2)
    model: ClassVar[str] = "two-state"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("q00", "q01", "q10", "q11"):
            object.__setattr__(self, name, validation.number(name, getattr(self, name), 0, 1))

    def leave_probability(self, state: float, reward: float, arm: int) -> float:
        if state == 0.0:
            return self.q01 if reward > 0.0 else self.q00
        return self.q11 if reward > 0.0 else self.q10


@dataclass(frozen=True)
class LeaveCurve(Compiled):
    """The chance to leave as a function of the state reached: a base for curves.

    >>> @dataclass(frozen=True)
    ... class Straight(LeaveCurve):
    ...     def probability(self, state):
    ...         return 1.0 - state
    >>> Ema(theta=0.5, leave=Straight(), start=1).leave_probability(1.0, 0.0, 0)
    0.5
    """

    if TYPE_CHECKING:

        def probability(self, state: float) -> float: ...

    @property
    def falls(self) -> bool:
        """Whether it never rises from 0 to 1, which makes the simulator faster."""
        return False


@dataclass(frozen=True)
class LogLeave(LeaveCurve):
    """The paper's leave curve q(s) = 1 - log(c6 s + 1) / log(c6 + 1).

    >>> LogLeave(c6=1000).probability(1.0), LogLeave(c6=1000).probability(0.0)
    (0.0, 1.0)
    """

    c6: float
    log_span: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        c6 = validation.number("c6", self.c6, 0, float("inf"), open_ends=True)
        vars(self).update(c6=c6, log_span=log1p(c6))

    @property
    def falls(self) -> bool:
        return True

    def probability(self, state: float) -> float:
        return 1.0 - log1p(self.c6 * state) / self.log_span


@dataclass(frozen=True, repr=False)
class FunctionLeave(LeaveCurve):
    """A leave curve given as a function of the state, e.g. ``lambda s: 0.3 - 0.2 * s``.

    The function is compiled, so it may use what Numba knows: arithmetic, `math`, NumPy.

    >>> FunctionLeave(lambda s: 0.5 - 0.5 * s).probability(0.5)
    0.25
    """

    function: Callable[[float], float]

    def __post_init__(self) -> None:
        if not isinstance(self.function, Dispatcher):
            object.__setattr__(self, "function", njit(self.function))
        for s in np.linspace(0.0, 1.0, 101):
            validation.number(f"leave({s:g})", float(self.function(s)), 0, 1)

    def __repr__(self) -> str:
        return f"FunctionLeave({self.function.__name__})"

    def probability(self, state: float) -> float:
        return self.function(state)


@dataclass(frozen=True, repr=False)
class MovingAverage(User):
    """The state is a moving average of the visit's rewards: `Ema` without leave probabilities.

    >>> MovingAverage(theta=0.5).next_state(1.0, 0.0)
    0.5
    """

    theta: float

    space: ClassVar[Space] = Space(graded=True)
    model: ClassVar[str] = "moving-average"

    def __post_init__(self) -> None:
        super().__post_init__()
        theta = validation.number("theta", self.theta, 0, 1, open_ends=True)
        object.__setattr__(self, "theta", theta)

    def next_state(self, state: float, reward: float) -> float:
        """S' = (1 - theta) S + theta R."""
        return (1.0 - self.theta) * state + self.theta * reward


@dataclass(frozen=True, repr=False)
class Ema(MovingAverage):
    """The paper's general user: the state is a moving average of the visit's rewards.

    S' = (1 - theta) S + theta R, and the user leaves with probability q(S'), the leave curve at
    the *next* state. `leave` is a `LogLeave` or any function of the state.

    >>> user = Ema(theta=0.5, leave=LogLeave(c6=1000))
    >>> user.next_state(1.0, 0.0), round(user.leave_probability(1.0, 0.0, 0), 6)
    (0.5, 0.100184)
    """

    leave: Any
    """A `LeaveCurve`; a plain function is wrapped in `FunctionLeave`."""

    model: ClassVar[str] = "ema"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.leave, LeaveCurve):
            if isinstance(self.leave, Compiled) or not callable(self.leave):
                raise InputError(
                    f"leave = {self.leave!r} is not allowed: "
                    "it must be a LogLeave or a function of the state"
                )
            object.__setattr__(self, "leave", FunctionLeave(self.leave))

    def leave_probability(self, state: float, reward: float, arm: int) -> float:
        """q(S')."""
        return self.leave.probability((1.0 - self.theta) * state + self.theta * reward)  # type: ignore[no-any-return]

    def settings(self) -> dict[str, Any]:
        if not isinstance(self.leave, LogLeave):
            raise InputError(
                f"user = {self!r} cannot be described: of moving averages only those with LogLeave"
            )
        return {"theta": self.theta, "c6": self.leave.c6}

    @classmethod
    def from_settings(cls, *, theta: Any, c6: Any, start: Any = None) -> Self:  # type: ignore[override]
        return super().from_settings(theta=theta, leave=LogLeave(c6), start=start)
