"""What every policy offers: a memory, a choice, an update."""

from dataclasses import dataclass, fields
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..engine.jit import Compiled, jitable
from ..engine.streams import Stream
from ..problem import Problem

Array = NDArray[np.float64]


class Counts(NamedTuple):
    """What index policies remember: pulls and successes of every arm, and all pulls so far."""

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

    A policy has ``choose(memory, state, rng)``, which returns an arm, and
    ``update(memory, state, arm, reward, left, next_state)``. States are what the policy sees of
    the user: a number in [0, 1]. `Policy` itself keeps `Counts`.

    The other methods are there for speed: the simulator asks for a `lease`, and otherwise calls
    `decide` and `learn` in place of `choose` and `update`. A policy need not know of them.
    """

    title: ClassVar[str] = ""
    """What the literature calls it: the name of the class, but for hyphens, spaces and case."""

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

    def probabilities(self, memory: Any, state: float) -> Array:
        """The chance of every arm to be what `choose` chooses now; empty: this one cannot say."""
        return np.zeros(0)

    def board(self, arms: int) -> Any:
        """Scratch space for `lease` and `decide`; what it holds never changes a decision."""
        return np.zeros(1)

    def lease(self, memory: Any, board: Any) -> tuple[int, int, float]:
        """An arm that is sure to be chosen in every state for a while, how many steps, and a mean.

        The promise holds for that many steps, as long as the arm's empirical mean before each of
        them is at least the one given. No steps: no promise.
        """
        return 0, 0, 0.0

    def absorb(self, memory: Any, board: Any, arm: int, pulls: int, successes: int) -> None:
        """Learn from the steps of a lease."""

    def watches(self) -> bool:
        """Whether it is to be told of every step of a lease (`watch`), which takes longer."""
        return False

    def patience(self, memory: Any) -> float:
        """How many steps a lease may have at most."""
        return inf

    def watch(
        self, memory: Any, state: float, reward: float, left: bool, next_state: float
    ) -> None:
        """Take note of one step of a lease; what it adds up to is told to `absorb`."""

    def decide(self, memory: Any, board: Any, state: float, rng: Stream) -> int:
        """What `choose` would choose, perhaps sooner."""
        return self.choose(memory, state, rng)

    def learn(
        self,
        memory: Any,
        board: Any,
        state: float,
        arm: int,
        reward: float,
        left: bool,
        next_state: float,
    ) -> None:
        """`update`, and keep the board up to date."""
        self.update(memory, state, arm, reward, left, next_state)

    @classmethod
    def for_problem(cls, problem: Problem, **parameters: Any) -> Self:
        """This policy as the paper would set it for `problem`; few policies need to know it."""
        return cls(**parameters)

    def check_arms(self, arms: int) -> None:
        """Raise ValueError if this policy cannot play this many arms."""

    @property
    def name(self) -> str:
        """The public name."""
        return type(self).__name__

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
        if usual is not None:
            if hasattr(usual, "opposite") and self == usual.opposite():
                return f"{self.title or self.name}, opposite"
            known = usual.parameters
        else:
            known = {}
        changed = [f"{k}={_short(v)}" for k, v in self.parameters.items() if v != known.get(k)]
        return ", ".join([self.title or self.name, *changed])

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


def _usual(cls: type[Policy]) -> Policy | None:
    """The policy with its defaults, if it has one for every parameter."""
    try:
        return cls()
    except TypeError:
        return None


def _short(value: Any) -> str:
    if isinstance(value, Policy):
        return value.label
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def plain_name(name: str) -> str:
    """A name without what people spell differently.

    >>> plain_name("KL-ULCB"), plain_name("Learned IMED")
    ('klulcb', 'learnedimed')
    """
    return "".join(letter for letter in name.lower() if letter.isalnum())
