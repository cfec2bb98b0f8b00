"""Who may leave: how a visit's state follows from its rewards, and when the user goes.

A user model is a frozen dataclass with plain methods, run alike by Python, by the solver and by
the compiled simulator:

* ``next_state(state, reward)``: how the experience moves;
* ``leave_probability(state, reward)``: the chance that this step was the last one;
* ``begin(u)``: the state in which a visit starts, from a uniform draw (`User` has it);
* ``experience(state)``: what a policy gets to see, a number in [0, 1] (`User`: the state).

States are floats. A model with finitely many numbers them 0, 1, ..., and says how many in
`space.states`; otherwise that is None and the state is a point of [0, 1].

What a model says of itself, as far as it wants to be named in files and served live: `model`,
`keys`, `optional`, `settings`, `from_settings`, `live`, `in_words`. `sojourn.check_user` tells
whether a class keeps the contract.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from .. import validation
from ..engine.structs import Compiled
from ..validation import InputError

if TYPE_CHECKING:
    from .ema import Ema
    from .two_state import TwoState


MOST_STARTS = 1000
"""States in which visits may begin: they are gone through at the start of every visit."""


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
    """What a user model tells apart: states, rewards and arms."""

    states: int | None = None
    """How many states there are, numbered from 0; None: the state is a point of [0, 1]."""
    bins: int = 4
    """Into how many equal bins of experience results are split."""
    outcomes: int = 2
    """How many levels of a reward the model tells apart, unless it is `graded`."""
    cuts: tuple[float, ...] = ()
    """Rewards in (0, 1) at which the next state or the leave probability may jump."""
    graded: bool = False
    """Whether the model takes any reward in [0, 1], not only levels."""
    arms: int | None = None
    """Number of arms with leave probabilities of their own; None: the arm does not matter."""


@dataclass(frozen=True, kw_only=True, repr=False)
class User(Compiled):
    """Base of the user models: where visits start, and what a policy sees of the state.

    >>> @dataclass(frozen=True, kw_only=True, repr=False)
    ... class Moody(User):
    ...     space = Space(states=2)
    ...
    ...     def next_state(self, state, reward):
    ...         return reward
    ...
    ...     def leave_probability(self, state, reward):
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
    keys: ClassVar[tuple[str, ...]] = ()
    """The settings it has there, apart from the start; `optional` ones may be missing."""
    optional: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[Mapping[str, Any]] = {}
    """Settings to try it with: those of the first problem of its kind in the paper."""

    _python_only: ClassVar[frozenset[str]] = frozenset(
        {"as_ema", "as_two_state", "in_words", "live", "moves", "settings", "states_in_words"}
    )

    if TYPE_CHECKING:

        def next_state(self, state: float, reward: float) -> float: ...
        def leave_probability(self, state: float, reward: float) -> float: ...

    def __post_init__(self) -> None:
        states = self.space.states
        object.__setattr__(self, "start", Start.of(self.start, max(1, (states or 2) - 1)))
        if states is not None:
            for s in self.start.states:
                validation.whole("start", s, 0, states - 1)

    def __repr__(self) -> str:
        own = [f for f in fields(self) if f.repr and f.name != "start"]
        parts = [f"{f.name}={getattr(self, f.name)!r}" for f in own]
        if self.start != Start.of(1.0):
            parts.append(f"start={self.start!r}")
        return f"{type(self).__name__}({', '.join(parts)})"

    def begin(self, u: float) -> float:
        """The state in which a visit starts, from a uniform draw u."""
        return self.start.begin(u)  # type: ignore[no-any-return]

    def experience(self, state: float) -> float:
        """What a policy gets to see of the state: a number in [0, 1]."""
        return state

    def leave_after(self, arm: int, state: float, reward: float) -> float:
        """The chance to leave after this arm; the same after all, but for `ByArm`."""
        return self.leave_probability(state, reward)

    # Three ways to ask for the next state. A model whose next state is random has all three.

    def draw_next(self, state: float, reward: float, u: float) -> float:
        """The next state, from a uniform draw u."""
        return self.next_state(state, reward)

    def expected(self, function: Any, state: float, reward: float) -> float:
        """The mean of a function of the next state."""
        return function.at(self.next_state(state, reward))  # type: ignore[no-any-return]

    def _next_states(self, state: float, reward: float) -> list[tuple[float, float]]:
        """All next states with their chances."""
        return [(float(self.next_state(state, reward)), 1.0)]

    @property
    def leaves(self) -> bool:
        """Whether it has leave probabilities; live models do without."""
        return hasattr(self, "leave_probability")

    def moves(self) -> Any:
        """What says how its state moves: users of one class that agree in it move alike."""
        return self.live()

    @property
    def unwrapped(self) -> "User":
        """The model itself, without a wrapper for the first step."""
        return self

    def as_two_state(self) -> "TwoState | None":
        """The paper's basic user that this one is, if it is one: the theorems are about that."""
        return None

    def as_ema(self) -> "Ema | None":
        """The paper's general user that this one is, if it is one."""
        return None

    def settings(self) -> dict[str, Any]:
        """What `from_settings` makes this user from, apart from its start."""
        return {key: getattr(self, key) for key in self.keys}

    @classmethod
    def check_keys(cls, prefix: str, given: Iterable[str], *more: str) -> None:
        """InputError if settings are missing or not known; `more` are other keys that may be."""
        known = ("model", *cls.keys, *cls.optional, *more)
        whose = f"{'an' if cls.model[:1] in tuple('aeiou') else 'a'} {cls.model} user"
        validation.keys(prefix, given, required=("model", *cls.keys), known=known, whose=whose)

    @classmethod
    def from_settings(cls, *, start: Any = None, **settings: Any) -> Self:
        """The user that a problem file, a store or a call describes."""
        return cls(**settings) if start is None else cls(**settings, start=start)

    def live(self) -> "User":
        """The model that gives live visits their state: nobody has to say how likely they leave."""
        return self

    def in_words(self) -> str:
        """How the state of a visit follows from its rewards."""
        return f"the state is that of {self}"

    def states_in_words(self, bins: int) -> tuple[str, ...]:
        """What to call each of `bins` equal parts of the experience."""
        return ranges_in_words("state", bins)


def ranges_in_words(what: str, bins: int) -> tuple[str, ...]:
    """Equal parts of [0, 1].

    >>> ranges_in_words("average", 4)[2]
    'average .5 to .75'
    """
    if bins == 1:
        return ("in any state",)
    ends = [f"{b / bins:.2g}".replace("0.", ".") for b in range(bins + 1)]
    return tuple(f"{what} {ends[b]} to {ends[b + 1]}" for b in range(bins))
