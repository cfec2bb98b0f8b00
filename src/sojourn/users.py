"""Who may leave: how a visit's state follows from its rewards, and when the user goes.

A user model is a frozen dataclass with plain methods, run alike by Python, by the solver and by
the compiled simulator:

* ``next_state(state, reward)``: how the experience moves;
* ``leave_probability(state, reward)``: the chance that this step was the last one;
* ``begin(u)``: the state in which a visit starts, from a uniform draw (`User` has it);
* ``experience(state)``: what a policy gets to see, a number in [0, 1] (`User`: the state).

States are floats. A model with finitely many numbers them 0, 1, ..., and says how many in
`states`; otherwise `states` is None and the state is a point of [0, 1].
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields
from math import log1p
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numba import njit
from numba.core.dispatcher import Dispatcher
from numpy.typing import NDArray

from . import checks
from .engine.bits import coast_words
from .engine.jit import Compiled
from .engine.steps import Tally, World, coast_average, coast_steps, settle_counts


def _hashable(start: Any) -> Any:
    """Lists and the like are no start state; as text they reach the check that says so."""
    return start if isinstance(start, Hashable) else repr(start)


@dataclass(frozen=True, repr=False)
class Start(Compiled):
    """The state in which visits begin: `states[i]` with chance `chances[i]`.

    >>> Start.of(1), Start.of({0: 0.25, 1: 0.75}).begin(0.3)
    (1, 1.0)
    """

    states: tuple[float, ...]
    chances: tuple[float, ...]

    def __repr__(self) -> str:
        pairs = [f"{s:g}: {p!r}" for s, p in zip(self.states, self.chances, strict=True)]
        return f"{self.states[0]:g}" if len(pairs) == 1 else f"{{{', '.join(pairs)}}}"

    @staticmethod
    def of(value: "Start | float | Mapping[float, float]", last: float = 1) -> "Start":
        """A fixed state, or a table of states and their probabilities; states are 0 to `last`."""
        if isinstance(value, Start):
            return value
        table = dict(value) if isinstance(value, Mapping) else {_hashable(value): 1.0}
        states = tuple(checks.number("start", s, 0, last) for s in table)
        chances = tuple(checks.number(f"start[{s}]", p, 0, 1) for s, p in table.items())
        if not table or abs(sum(chances) - 1.0) > 1e-9:
            raise ValueError(
                f"start = {value!r} is not allowed: its probabilities must add up to 1"
            )
        return Start(states, chances)

    def begin(self, u: float) -> float:
        """The start state that a uniform draw u in [0, 1) picks."""
        below = 0.0
        for i in range(len(self.states) - 1):
            below += self.chances[i]
            if u < below:
                return self.states[i]
        return self.states[-1]


@dataclass(frozen=True, kw_only=True, repr=False)
class User(Compiled):
    """Base of the user models: where visits start, and what a policy sees of the state."""

    start: Any = 1.0
    """A state, or a table of states and their probabilities; kept as a `Start`."""

    states: ClassVar[int | None] = None
    levels: ClassVar[int] = 4
    """Into how many equal bins of experience results are split."""

    if TYPE_CHECKING:

        def next_state(self, state: float, reward: float) -> float: ...
        def leave_probability(self, state: float, reward: float) -> float: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", Start.of(self.start, max(1, (self.states or 2) - 1)))
        if self.states is not None:
            for s in self.start.states:
                checks.whole("start", s, 0, self.states - 1)

    def __repr__(self) -> str:
        own = [f for f in fields(self) if f.repr and f.name != "start"]
        parts = [f"{f.name}={getattr(self, f.name)!r}" for f in own]
        if self.start != Start.of(1.0) and not isinstance(self, StaysFirst):
            parts.append(f"start={self.start!r}")
        return f"{type(self).__name__}({', '.join(parts)})"

    def begin(self, u: float) -> float:
        """The state in which a visit starts, from a uniform draw u."""
        return self.start.begin(u)  # type: ignore[no-any-return]

    def experience(self, state: float) -> float:
        """What a policy gets to see of the state: a number in [0, 1]."""
        return state

    def coast(
        self,
        world: World,
        tally: Tally,
        arm: int,
        least: float,
        state: float,
        visit: int,
        steps: int,
        visits: int,
    ) -> tuple[float, int, int]:
        """Play one arm for many steps (see `coast_steps`); a model may know a faster way."""
        return coast_steps(self, world, tally, arm, least, state, visit, steps, visits)

    def leave_table(self) -> NDArray[np.float64]:
        """The leave curve at evenly spaced states from 0 to 1, if it falls all the way, or none."""
        return np.zeros(0)

    def settle(self, world: World, tally: Tally) -> None:
        """Bring the tally up to date before it is read; a model may leave work for this moment."""


@dataclass(frozen=True, repr=False)
class TwoState(User):
    """The paper's basic user: the state is the last reward, 0 or 1.

    After reward r in state s the user leaves with probability q(s, r), given as `q00`, `q01`,
    `q10`, `q11` (state first). The first state is `start`: 1, 0, or a table such as
    ``{0: 0.5, 1: 0.5}``.

    >>> user = TwoState(q00=1, q01=0, q10=0, q11=0)
    >>> user.leave_probability(0.0, 0.0), user.next_state(0.0, 1.0)
    (1.0, 1.0)
    """

    q00: float
    q01: float
    q10: float
    q11: float

    states: ClassVar[int | None] = 2
    levels: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("q00", "q01", "q10", "q11"):
            object.__setattr__(self, name, checks.number(name, getattr(self, name), 0, 1))

    def next_state(self, state: float, reward: float) -> float:
        """S' = R."""
        return reward

    def leave_probability(self, state: float, reward: float) -> float:
        """q(state, reward)."""
        if state == 0.0:
            return self.q01 if reward > 0.0 else self.q00
        return self.q11 if reward > 0.0 else self.q10

    def coast(
        self,
        world: World,
        tally: Tally,
        arm: int,
        least: float,
        state: float,
        visit: int,
        steps: int,
        visits: int,
    ) -> tuple[float, int, int]:
        """Many steps at a time, unless visits start at random."""
        if len(self.start.states) > 1:
            return coast_steps(self, world, tally, arm, least, state, visit, steps, visits)
        return coast_words(self, world, tally, arm, least, state, visit, steps, visits)

    def settle(self, world: World, tally: Tally) -> None:
        """Regret from counts: the gaps of two states and few arms, whatever the number of steps."""
        settle_counts(self, world, tally)


CELLS = 256


class LeaveCurve(Protocol):
    """The chance to leave as a function of the state reached."""

    def probability(self, state: float) -> float:
        """q(state)."""

    def table(self) -> NDArray[np.float64]:
        """The curve at evenly spaced states from 0 to 1 if it falls all the way, else empty."""


@dataclass(frozen=True)
class LogLeave(Compiled):
    """The paper's leave curve q(s) = 1 - log(c6 s + 1) / log(c6 + 1).

    >>> LogLeave(c6=1000).probability(1.0), LogLeave(c6=1000).probability(0.0)
    (0.0, 1.0)
    """

    c6: float
    log_span: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        c6 = checks.number("c6", self.c6, 0, float("inf"), open_ends=True)
        object.__setattr__(self, "c6", c6)
        object.__setattr__(self, "log_span", log1p(c6))

    def probability(self, state: float) -> float:
        """q(state)."""
        return 1.0 - log1p(self.c6 * state) / self.log_span

    def table(self) -> NDArray[np.float64]:
        """The curve, which falls, at states from 0 to 1."""
        entries = np.empty(CELLS + 1)
        for i in range(CELLS + 1):
            entries[i] = self.probability(i / CELLS)
        return entries


@dataclass(frozen=True, repr=False)
class FunctionLeave(Compiled):
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
            checks.number(f"leave({s:g})", float(self.function(s)), 0, 1)

    def __repr__(self) -> str:
        return f"FunctionLeave({self.function.__name__})"

    def probability(self, state: float) -> float:
        """The function at `state`."""
        return self.function(state)

    def table(self) -> NDArray[np.float64]:
        """None: nobody said that the function falls."""
        return np.zeros(0)


@dataclass(frozen=True, repr=False)
class Ema(User):
    """The paper's general user: the state is a moving average of the visit's rewards.

    S' = (1 - theta) S + theta R, and the user leaves with probability q(S'), the leave curve at
    the *next* state. `leave` is a `LogLeave` or any function of the state.

    >>> user = Ema(theta=0.5, leave=LogLeave(c6=1000))
    >>> user.next_state(1.0, 0.0), round(user.leave_probability(1.0, 0.0), 6)
    (0.5, 0.100184)
    """

    theta: float
    leave: Any
    """A `LeaveCurve`; a plain function is wrapped in `FunctionLeave`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        theta = checks.number("theta", self.theta, 0, 1, open_ends=True)
        object.__setattr__(self, "theta", theta)
        if not (isinstance(self.leave, Compiled) and hasattr(self.leave, "probability")):
            if isinstance(self.leave, Compiled) or not callable(self.leave):
                raise ValueError(
                    f"leave = {self.leave!r} is not allowed: "
                    "it must be a LogLeave or a function of the state"
                )
            object.__setattr__(self, "leave", FunctionLeave(self.leave))

    def next_state(self, state: float, reward: float) -> float:
        """S' = (1 - theta) S + theta R."""
        return (1.0 - self.theta) * state + self.theta * reward

    def leave_probability(self, state: float, reward: float) -> float:
        """q(S')."""
        return self.leave.probability((1.0 - self.theta) * state + self.theta * reward)  # type: ignore[no-any-return]

    def leave_table(self) -> NDArray[np.float64]:
        """As the curve's."""
        return self.leave.table()  # type: ignore[no-any-return]

    def coast(
        self,
        world: World,
        tally: Tally,
        arm: int,
        least: float,
        state: float,
        visit: int,
        steps: int,
        visits: int,
    ) -> tuple[float, int, int]:
        """With the help of the leave table, if there is one and pulls cost nothing."""
        free = world.best_is_optimal and world.means[arm] == world.high
        if free and world.leave_table.size > 0:
            return coast_average(self, world, tally, arm, least, state, visit, steps, visits)
        return coast_steps(self, world, tally, arm, least, state, visit, steps, visits)


@dataclass(frozen=True, repr=False)
class StaysFirst(User):
    """The same user, who never leaves at the first step (the paper's remark on state transitions).

    The first step has states of its own, -1 - s for a start state s of `user`, in which the
    chance to leave is 0. A policy sees the same experience as without the wrapper.

    >>> shy = StaysFirst(TwoState(q00=1, q01=0, q10=0, q11=0, start=0))
    >>> s = shy.begin(0.5); s, shy.leave_probability(s, 0.0), shy.experience(s)
    (-1.0, 0.0, 0.0)
    """

    user: User
    start: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.user, User) or isinstance(self.user, StaysFirst):
            raise ValueError(f"user = {self.user!r} is not allowed: it must be another user model")
        object.__setattr__(self, "start", self.user.start)

    @property
    def states(self) -> int | None:  # type: ignore[override]
        """The states that steps lead to: those of the user (the first step's are never entered)."""
        return self.user.states

    @property
    def levels(self) -> int:  # type: ignore[override]
        """As the user's."""
        return self.user.levels

    def begin(self, u: float) -> float:
        """The user's start state, marked as a first step."""
        return -1.0 - self.user.begin(u)

    def experience(self, state: float) -> float:
        """What a policy would see of the user without the wrapper."""
        return self.user.experience(-1.0 - state if state < 0.0 else state)

    def next_state(self, state: float, reward: float) -> float:
        """The user's next state."""
        return self.user.next_state(-1.0 - state if state < 0.0 else state, reward)

    def leave_probability(self, state: float, reward: float) -> float:
        """0 at the first step, later the user's."""
        return 0.0 if state < 0.0 else self.user.leave_probability(state, reward)
