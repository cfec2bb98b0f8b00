"""User models: how the state of a visit follows from its rewards, and when the user leaves.

A user model is a frozen dataclass with plain methods. Python, the solver and the compiled simulator
run the same text. States are floats: a model with finitely many numbers them 0, 1, ..., and gives
their number in `space.states`; otherwise that is None and the state is a point of [0, 1].

A model with a name, `model`, can be used in problem files, in stores and over HTTP: `settings`
gives what `from_settings` makes it from. `sojourn.check` tells whether a class keeps the contract.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from .. import validation
from ..engine.structs import Compiled, interpreted
from ..validation import InputError

MOST_STARTS = 1000
"""States in which visits may begin: they are gone through at the start of every visit."""


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
        # Lists and the like are no start state; as text they reach the check that says so.
        state = value if isinstance(value, Hashable) else repr(value)
        table = dict(value) if isinstance(value, Mapping) else {state: 1.0}
        if len(table) > MOST_STARTS:
            raise InputError(
                f"start is not allowed: it has {len(table)} states, and may have {MOST_STARTS}"
            )
        states = tuple(validation.number("start", s, 0, last) for s in table)
        chances = tuple(validation.number(f"start[{s}]", p, 0, 1) for s, p in table.items())
        if not table or abs(sum(chances) - 1.0) > 1e-9:
            raise InputError(
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


class Space(NamedTuple):
    """The states, rewards and arms that a user model tells apart.

    >>> from sojourn import TwoState
    >>> TwoState.space.states, TwoState.space.bins
    (2, 2)
    """

    states: int | None = None
    """Number of states, counted from 0; None: the state is a point of [0, 1]."""
    bins: int = 4
    """Number of equal bins of experience by which results are split."""
    outcomes: int = 2
    """Number of levels of a reward that the model tells apart, unless it is `graded`."""
    cuts: tuple[float, ...] = ()
    """Rewards in (0, 1) at which the next state or the leave probability may jump."""
    graded: bool = False
    """Whether the model takes any reward in [0, 1], not only levels."""
    arms: int | None = None
    """Number of arms with leave probabilities of their own; None: the arm does not matter."""


@dataclass(frozen=True, kw_only=True, repr=False)
class User(Compiled):
    """Base of the user models: where visits start, and what a policy sees of the state.

    A subclass adds `next_state` and `leave_probability`.

    >>> @dataclass(frozen=True, kw_only=True, repr=False)
    ... class Moody(User):
    ...     space = Space(states=2)
    ...
    ...     def next_state(self, state, reward):
    ...         return reward
    ...
    ...     def leave_probability(self, state, reward, arm):
    ...         return 0.5 * (1.0 - reward)
    >>> from sojourn import Problem
    >>> round(Problem([0.5, 0.25], Moody()).value(1), 9)
    2.0
    """

    start: Any = 1.0
    """A state, or a table of states and their probabilities; kept as a `Start`."""

    space: ClassVar[Space] = Space()
    """States, rewards and arms that it tells apart: a class attribute or a property."""

    model: ClassVar[str] = ""
    """Its name in problem files, in stores and over HTTP; it is then in the registry `USERS`."""

    if TYPE_CHECKING:

        def next_state(self, state: float, reward: float) -> float:
            """The next state; -n if it is random, one of 0, ..., n - 1 by `next_chance`."""

        def next_chance(self, state: float, reward: float, after: float) -> float:
            """The probability of a next state; only of models whose next state is random."""

        def leave_probability(self, state: float, reward: float, arm: int) -> float:
            """The probability that the user leaves after this step."""

    def __post_init__(self) -> None:
        states = self.space.states
        object.__setattr__(self, "start", Start.of(self.start, max(1, (states or 2) - 1)))
        if states is not None:
            for s in self.start.states:
                validation.whole("start", s, 0, states - 1)

    def __repr__(self) -> str:
        shown = {f.name: getattr(self, f.name) for f in fields(self) if f.repr}
        start = shown.pop("start", None)
        if start not in (None, Start.of(1.0)):
            shown["start"] = start
        given = ", ".join(f"{name}={value!r}" for name, value in shown.items())
        return f"{type(self).__name__}({given})"

    def begin(self, u: float) -> float:
        """The state in which a visit starts, from a uniform draw u."""
        return self.start.begin(u)  # type: ignore[no-any-return]

    def experience(self, state: float) -> float:
        """What a policy sees of the state: a number in [0, 1]."""
        return state

    @interpreted
    def settings(self) -> dict[str, Any]:
        """The arguments of `from_settings` that make this user, apart from its start."""
        own = [f.name for f in fields(self) if f.init and f.name != "start"]
        return {name: getattr(self, name) for name in own}

    @classmethod
    def from_settings(cls, *, start: Any = None, **settings: Any) -> Self:
        """The user that a problem file, a store or a call describes."""
        return cls(**settings) if start is None else cls(**settings, start=start)
