"""What every policy offers: a memory, a choice, an update."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..jit import Compiled
from ..problem import Problem
from ..rng import Stream

Array = NDArray[np.float64]


class Counts(NamedTuple):
    """What index policies remember: pulls and successes of every arm, and all pulls so far."""

    pulls: Array
    successes: Array
    clock: Array


@dataclass(frozen=True)
class Policy(Compiled):
    """Base of the policies: frozen values; what they learn is in a memory passed to each call.

    A policy has ``choose(memory, state, rng)``, which returns an arm, and
    ``update(memory, state, arm, reward, left, next_state)``. States are what the policy sees of
    the user: a number in [0, 1]. `Policy` itself keeps `Counts`.
    """

    if TYPE_CHECKING:

        def choose(self, memory: Any, state: float, rng: Stream) -> int: ...

    def memory(self, arms: int) -> Any:
        """A fresh memory for this many arms."""
        return Counts(np.zeros(arms), np.zeros(arms), np.zeros(1))

    def update(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        """Learn from one step."""
        memory.pulls[arm] += 1.0
        memory.successes[arm] += reward
        memory.clock[0] += 1.0

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
    def parameters(self) -> dict[str, Any]:
        """All parameters by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}
