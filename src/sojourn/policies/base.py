"""What a policy is: a memory, a choice, an update; and what it says of itself."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..engine.loops import jitable
from ..engine.streams import Stream
from ..engine.structs import Compiled
from ..problem import Problem
from ..registry import plain_name as plain_name
from .reasons import Reason, Seen, mean_of_pulls

Array = NDArray[np.float64]

MOST_BINS = 1000
"""Bins of the state: learned policies keep a table of bins x bins, and think in their cube."""


class BoundName(NamedTuple):
    """The name of a bound in `sojourn.theory.bounds`, and the bins of the state it is for."""

    name: str
    n: int = 4


class Counts(NamedTuple):
    """What index policies remember: pulls and successes of every arm, and all pulls so far.

    >>> from sojourn import UCB
    >>> UCB().memory(2)
    Counts(pulls=array([0., 0.]), successes=array([0., 0.]), clock=array([0.]))
    """

    pulls: Array
    successes: Array
    clock: Array


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
    """Take back one pull; sums of graded rewards are kept from rounding to below 0."""
    memory.pulls[arm] -= 1.0
    memory.successes[arm] = min(max(memory.successes[arm] - reward, 0.0), memory.pulls[arm])
    memory.clock[0] -= 1.0


@jitable
def forget_counts(memory: Any, arm: int) -> None:
    """As if an arm had not been pulled."""
    memory.clock[0] -= memory.pulls[arm]
    memory.pulls[arm] = memory.successes[arm] = 0.0


@jitable
def greatest_mean(memory: Any) -> float:
    """The greatest empirical mean of an arm."""
    top = -inf
    for arm in range(memory.pulls.size):
        if memory.pulls[arm] > 0.0:
            top = max(top, memory.successes[arm] / memory.pulls[arm])
    return top


@jitable
def least_mean(memory: Any) -> float:
    """The least empirical mean of an arm."""
    bottom = inf
    for arm in range(memory.pulls.size):
        if memory.pulls[arm] > 0.0:
            bottom = min(bottom, memory.successes[arm] / memory.pulls[arm])
    return bottom


def by_means(memory: Any, worth: Callable[[Array], Array] = lambda mean: mean) -> Array:
    """What arms are worth by their empirical means; -inf for those never shown."""
    shown = memory.pulls > 0.0
    mean: Array = memory.successes / np.where(shown, memory.pulls, 1.0)
    return np.where(shown, worth(mean), -inf)


@jitable
def certain(arms: int, arm: int) -> Array:
    """The probabilities of a choice that is sure."""
    chances = np.zeros(arms)
    chances[arm] = 1.0
    return chances


@jitable
def equally(scores: Array) -> Array:
    """The probabilities of a choice among the arms of greatest score, ties broken at random."""
    tied = scores == scores.max()
    return tied / tied.sum()  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Policy(Compiled):
    """Base of the policies: frozen values; what they learn is in a memory passed to each call.

    A policy has ``choose(memory, state, rng)``, which returns an arm. States are what a policy sees
    of the user: a number in [0, 1]. `Policy` itself keeps `Counts`; override `memory` and `update`
    to keep something else. Methods are compiled from their Python text; those whose names begin
    with an underscore, properties and class methods are not.

    `sojourn.check_policy` tells whether a class keeps the contract.

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
    """What the literature calls it: the name of the class, but for hyphens, spaces and case."""

    learns: ClassVar[bool] = True
    """Whether what it sees can change what it does."""

    learns_from_departures: ClassVar[bool] = False
    """Whether it looks at who leaves when, and so has to know what happened after every step."""

    python_only: ClassVar[frozenset[str]] = frozenset(
        {
            "check_arms", "known_worth", "label_beside", "opposite",
            "optimism_in_view", "reason",
        }
    )  # fmt: skip

    if TYPE_CHECKING:

        def choose(self, memory: Any, state: float, rng: Stream) -> int: ...

    def memory(self, arms: int) -> Any:
        """A fresh memory for this many arms."""
        return Counts(np.zeros(arms), np.zeros(arms), np.zeros(1))

    def update(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        """Learn from one step."""
        count(memory, arm, 1, reward)

    def fade(self, memory: Any, factor: float) -> None:
        """Let all that was counted weigh less, by a factor.

        Who keeps another memory, or updates it in another way, and can forget, overrides this,
        `take_back` and `forget_arm` (else wrappers that forget refuse the policy).
        """
        fade_counts(memory, factor)

    def take_back(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        """Forget one step that `update` was told of."""
        uncount(memory, arm, reward)

    def forget_arm(self, memory: Any, arm: int) -> None:
        """Forget what was learned of an arm."""
        forget_counts(memory, arm)

    def departure_cells(self) -> int:
        """How many cells departures are counted in: by bin of the state and level of the reward."""
        return 0

    def departure_cell(self, state: float, reward: float) -> int:
        """The cell of a step."""
        return 0

    def forget_departures(self, memory: Any) -> None:
        """Forget who left when."""

    def hurry(self, memory: Any, since: float) -> None:
        """Draw the next conclusion as soon as if it had begun `since` steps ago."""

    def tries(self, memory: Any, state: float) -> bool:
        """Whether this is a state to try arms in."""
        return True

    def probabilities(self, memory: Any, state: float) -> Array:
        """The chance of every arm to be what `choose` chooses now; empty: this one cannot say."""
        return np.zeros(0)

    def known_worth(self, memory: Any, state: float) -> Array:
        """What every arm is worth in a state by what was seen: without bonus, draw or chance.

        It is -inf for an arm never shown. Where exploring is stopped (`sojourn.live.Split`), the
        arm that is worth most is played. Here worth is the empirical mean.

        >>> from sojourn import KLUCB
        >>> policy, memory = KLUCB(), KLUCB().memory(3)
        >>> for arm, reward in ((0, 1.0), (1, 0.0), (0, 0.0)):
        ...     policy.update(memory, 1.0, arm, reward, False, reward)
        >>> policy.known_worth(memory, 1.0).tolist()
        [0.5, 0.0, -inf]
        """
        return by_means(memory)

    def arms_of(self, memory: Any) -> int:
        """How many arms a memory is for."""
        return memory.pulls.size  # type: ignore[no-any-return]

    @classmethod
    def for_problem(cls, problem: Problem, **parameters: Any) -> Self:
        """This policy as the paper would set it for `problem`; few policies need to know it.

        Those that learn from departures after good and bad rewards are told which are good.
        """
        cuts = problem.user.cuts if problem.graded and cls.learns_from_departures else ()
        if len(cuts) == 1 and "threshold" in {field.name for field in fields(cls)}:
            parameters = {"threshold": cuts[0], **parameters}
        return cls(**parameters)

    @property
    def pupil(self) -> "Policy":
        """The policy that learns: this one, unless it wraps another."""
        return self

    @property
    def bound(self) -> "BoundName | None":
        """Which of the bounds of `sojourn.theory.bounds` is on its regret, if any is."""
        return None

    @property
    def name(self) -> str:
        """The public name: that of the class."""
        return type(self).__name__

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    def label(self) -> str:
        """What tables, pictures and the API call it; the command line takes it as it is printed.

        >>> from sojourn import KLULCB, LearnedIMED
        >>> KLULCB().label, KLULCB().opposite().label, LearnedIMED(floor=-1).label
        ('KL-ULCB', 'KL-ULCB, opposite', 'Learned IMED, floor=-1')
        """
        return self.label_beside(_usual(type(self)))

    def label_beside(self, usual: "Policy | None") -> str:
        """The title, and the parameters in which this policy differs from the `usual` one."""
        title = self.title or self.name
        if usual is not None and hasattr(usual, "opposite") and self == usual.opposite():
            return f"{title}, opposite"
        known = {} if usual is None else usual.parameters
        changed = [f"{k}={_short(v)}" for k, v in self.parameters.items() if v != known.get(k)]
        return ", ".join([title, *changed])

    @property
    def plays_each_once(self) -> bool:
        """Whether it begins with every arm once, so that an arm with no result yet has to wait."""
        return False

    def reason(self, choice: Seen) -> Reason:
        """Why it chose as it did, in words.

        >>> from sojourn import KLULCB
        >>> from sojourn.live import Choice
        >>> choice = Choice(0.0, "v1", 1, "cooking", 1.0, 1.0, 9.0, 5.0, 20.0, False, "dance")
        >>> str(KLULCB().reason(choice))
        'user is engaged: trying *cooking*, upper bound .88'
        """
        mood = self._mood(choice)
        if not choice.exploring:
            known = f", {mean_of_pulls(choice)}" if choice.pulls > 0.0 else ""
            return Reason("exploring is stopped", "best known:", choice.arm, known)
        if choice.new:
            return Reason(mood, "first time", choice.arm, " is shown")
        act, figure = self._words(choice)
        return Reason(mood, act, choice.arm, f", {figure}" if figure else "")

    def _mood(self, choice: Seen) -> str:
        """How the user is, if the policy cares."""
        return ""

    def _words(self, choice: Seen) -> tuple[str, str]:
        """What is done, and by what figure."""
        return "chosen:", f"by {self.label}"

    def optimism_in_view(self, memory: Any, state: float) -> float | None:
        """Its optimism in a state, if it has any."""
        return None

    def check_arms(self, arms: int) -> None:
        """Raise InputError if this policy cannot play this many arms."""


def _usual(cls: type[Policy]) -> Policy | None:
    """The policy with its defaults, if it has one for every parameter."""
    try:
        return cls()
    except TypeError:
        return None


def _short(value: Any) -> str:
    """As the command line takes it."""
    if isinstance(value, Policy):
        return value.label
    if isinstance(value, bool):
        return str(value).lower()
    brief = f"{value:g}" if isinstance(value, int | float) else str(value)
    return brief if not isinstance(value, float) or float(brief) == value else repr(value)
