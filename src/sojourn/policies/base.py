"""The base of policies (a memory, a choice, an update), their mixins and their labels."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import singledispatch
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..engine.loops import jitable
from ..engine.streams import Stream, draw_uniform
from ..engine.structs import Compiled, interpreted
from ..problem import Problem
from ..registry import described, plain_name as plain_name

Array = NDArray[np.float64]

MOST_BINS = 1000
"""Bins of the state: learned policies keep a table of bins x bins and solve in their cube."""


class Counts(NamedTuple):
    """The memory of index policies: pulls and successes of each arm, and the number of all pulls.

    >>> from sojourn.policies import UCB
    >>> UCB().memory(2)
    Counts(pulls=array([0., 0.]), successes=array([0., 0.]), clock=array([0.]))
    """

    pulls: Array
    successes: Array
    clock: Array


@jitable
def no_counts(arms: int) -> Counts:
    """Counts of arms never played."""
    return Counts(np.zeros(arms), np.zeros(arms), np.zeros(1))


@jitable
def count(memory: Any, arm: int, pulls: int, successes: float) -> None:
    """Add pulls of one arm."""
    memory.pulls[arm] += pulls
    memory.successes[arm] += successes
    memory.clock[0] += pulls


@jitable
def fade_counts(memory: Any, factor: float) -> None:
    """All counts times a factor."""
    for arm in range(memory.pulls.size):
        memory.pulls[arm] *= factor
        memory.successes[arm] *= factor
    memory.clock[0] *= factor


@jitable
def uncount(memory: Any, arm: int, reward: float) -> None:
    """Remove one pull; sums of graded rewards must not round to below 0."""
    memory.pulls[arm] -= 1.0
    memory.successes[arm] = min(max(memory.successes[arm] - reward, 0.0), memory.pulls[arm])
    memory.clock[0] -= 1.0


@jitable
def forget_counts(memory: Any, arm: int) -> None:
    """Remove all pulls of an arm."""
    memory.clock[0] -= memory.pulls[arm]
    memory.pulls[arm] = memory.successes[arm] = 0.0


def by_means(memory: Any, worth: Callable[[Array], Array] = lambda mean: mean) -> Array:
    """A function of the empirical mean of each arm; -inf for arms never shown."""
    shown = memory.pulls > 0.0
    mean: Array = memory.successes / np.where(shown, memory.pulls, 1.0)
    return np.where(shown, worth(mean), -inf)


@jitable
def certain(arms: int, arm: int) -> Array:
    """The probabilities of a deterministic choice."""
    chances = np.zeros(arms)
    chances[arm] = 1.0
    return chances


@jitable
def equally(scores: Array) -> Array:
    """The probabilities of a choice among the arms of greatest score, ties broken at random."""
    tied = scores == scores.max()
    return tied / tied.sum()  # type: ignore[no-any-return]


@jitable
def greatest(row: Array, rng: Stream) -> int:
    """The place of the greatest entry, ties broken at random."""
    top = row.max()
    ties = 0
    for value in row:
        ties += value == top
    skip = int(draw_uniform(rng) * ties) if ties > 1 else 0
    for arm in range(row.size):
        if row[arm] == top:
            if skip == 0:
                return arm
            skip -= 1
    return 0


@jitable
def arms_in(memory: Any) -> int:
    """Number of arms in a memory: the last axis of its first array."""
    return memory[0].shape[-1]  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Policy(Compiled):
    """Base of the policies: frozen values; what they learn is in a memory passed to each call.

    A subclass defines ``choose(memory, state, rng)``, which returns an arm. The state is what a
    policy sees of the user, a number in [0, 1]. The memory is `Counts` unless `memory` and `update`
    are overridden. Methods are compiled from their Python text, except properties, class methods,
    methods marked as interpreted and methods whose names begin with an underscore.

    `sojourn.check` tells whether a class keeps the contract.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class LeastPlayed(Policy):
    ...     def choose(self, memory, state, rng):
    ...         return int(np.argmin(memory.pulls))
    >>> policy = LeastPlayed()
    >>> memory = policy.memory(2)
    >>> policy.update(memory, 1.0, 0, 1.0, False, 1.0)
    >>> policy.choose(memory, 1.0, rng=None)
    1
    """

    title: ClassVar[str] = ""
    """Its name in the literature: the name of the class with hyphens, spaces and case."""

    learns_from: ClassVar[str] = "rewards"
    """The data that change its choices: "nothing", "rewards", or "departures" as well."""

    if TYPE_CHECKING:

        def choose(self, memory: Any, state: float, rng: Stream) -> int: ...

    def memory(self, arms: int) -> Any:
        """A fresh memory for this many arms."""
        return no_counts(arms)

    def update(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        """Learn from one step."""
        count(memory, arm, 1, reward)

    def probabilities(self, memory: Any, state: float) -> Array:
        """Selection probability of each arm; an empty array if unknown."""
        return np.zeros(0)

    @interpreted
    def greedy_values(self, memory: Any, state: float) -> Array:
        """Estimated value of each arm in a state, without exploration; -inf if never shown.

        While exploration is off (`Experiment.explore`), the arm of greatest value is played. The
        default is the empirical mean.

        >>> from sojourn.policies import KLUCB
        >>> policy, memory = KLUCB(), KLUCB().memory(3)
        >>> for arm, reward in ((0, 1.0), (1, 0.0), (0, 0.0)):
        ...     policy.update(memory, 1.0, arm, reward, False, reward)
        >>> policy.greedy_values(memory, 1.0).tolist()
        [0.5, 0.0, -inf]
        """
        return by_means(memory)

    @classmethod
    def for_problem(cls, problem: Problem, **parameters: Any) -> Self:
        """This policy with the parameters that the paper would choose for `problem`.

        Policies that learn from departures get the threshold from which a reward is good.
        """
        cuts = problem.user.space.cuts if problem.graded and cls.learns_from == "departures" else ()
        if len(cuts) == 1 and "threshold" in {field.name for field in fields(cls)}:
            parameters = {"threshold": cuts[0], **parameters}
        return cls(**parameters)

    @property
    def label(self) -> str:
        """Its name in tables, figures and the API; the command line accepts it as printed.

        >>> from sojourn.policies import KLULCB, LearnedIMED
        >>> KLULCB().label, KLULCB().opposite().label, LearnedIMED(floor=-1).label
        ('KL-ULCB', 'KL-ULCB, opposite', 'Learned IMED, floor=-1')
        """
        return label_of(self, default_of(type(self)))

    @interpreted
    def check_arms(self, arms: int) -> None:
        """Raise InputError if the policy does not support this many arms."""


@dataclass(frozen=True)
class Forgetting(Compiled):
    """Mixin of policies whose statistics are sums, so that observations can be removed.

    `sojourn.policies.Windowed`, `Discounted` and `Restarting` wrap these. What an estimate sums up
    beside the counts of its policy is added, faded and forgotten by `keep`, `fade_kept` and
    `forget_kept`. Policies that count departures override the last five. The defaults do nothing.
    A class with an `update` of its own needs a `take_back` of its own. The arrays that `keep` adds
    to are the `counters`, if live experiments count the same (`live.records.tally`).
    """

    counters: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for base in cls.__mro__:
            if "take_back" in vars(base):
                break
            if "update" in vars(base):
                raise TypeError(
                    f"{cls.__name__} has an update of its own, so it needs a take_back of its own: "
                    "take_back(memory, state, arm, reward, left, next_state) removes what update "
                    "has added"
                )

    if TYPE_CHECKING:

        def fade(self, memory: Any, factor: float) -> None: ...
        def take_back(
            self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
        ) -> None: ...
        def forget_arm(self, memory: Any, arm: int) -> None: ...

    def keep(self, memory: Any, state: float, arm: int, reward: float, times: float) -> None:
        """Add a step this many `times`; -1 removes it."""

    def fade_kept(self, memory: Any, factor: float) -> None:
        """Multiply what `keep` has added by a factor."""

    def forget_kept(self, memory: Any, arm: int) -> None:
        """Remove what `keep` has added of an arm."""

    def departure_cells(self) -> int:
        """Number of cells in which departures are counted: bins times levels of the reward."""
        return 0

    def departure_cell(self, state: float, reward: float) -> int:
        """The cell of a step."""
        return 0

    def forget_departures(self, memory: Any) -> None:
        """Forget all departures."""

    def refit_soon(self, memory: Any, since: float) -> None:
        """Refit as early as if counting had begun `since` steps ago."""

    def explores_in(self, memory: Any, state: float) -> bool:
        """Whether the policy explores in this state."""
        return True


@dataclass(frozen=True)
class Counting(Forgetting):
    """`Forgetting` for policies whose memory begins with `Counts`; list it before `Policy`."""

    def update(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        count(memory, arm, 1, reward)
        self.keep(memory, state, arm, reward, 1.0)

    def take_back(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        uncount(memory, arm, reward)
        self.keep(memory, state, arm, reward, -1.0)

    def fade(self, memory: Any, factor: float) -> None:
        fade_counts(memory, factor)
        self.fade_kept(memory, factor)

    def forget_arm(self, memory: Any, arm: int) -> None:
        forget_counts(memory, arm)
        self.forget_kept(memory, arm)


@singledispatch
def label_of(policy: Any, usual: Any) -> str:
    """The title, and the parameters in which a policy differs from the `usual` one (or None)."""
    name, parameters = described(policy)
    title = policy.title or name
    if usual is not None and hasattr(usual, "opposite") and policy == usual.opposite():
        return f"{title}, opposite"
    known = {} if usual is None else described(usual)[1]
    changed = [f"{k}={_short(v)}" for k, v in parameters.items() if v != known.get(k)]
    return ", ".join([title, *changed])


def default_of(cls: type[Any]) -> Any:
    """The policy with its defaults; None if a parameter has none."""
    try:
        return cls()
    except TypeError:
        return None


def _short(value: Any) -> str:
    """As the command line takes it."""
    if hasattr(value, "label"):
        return str(value.label)
    if isinstance(value, bool):
        return str(value).lower()
    brief = f"{value:g}" if isinstance(value, int | float) else str(value)
    return brief if not isinstance(value, float) or float(brief) == value else repr(value)
