"""Yardsticks that learn nothing."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from .. import validation
from ..engine.streams import Stream, draw_uniform
from ..problem import Problem
from .base import Array, Counting, Counts, Policy, certain
from .reasons import Explains, Seen

__all__ = ["Uniform", "FixedArm"]
"""The policies of this module, in the order in which they are listed."""


@dataclass(frozen=True)
class Uniform(Counting, Explains, Policy):
    """Any arm, with equal chance.

    >>> Uniform()
    Uniform()
    """

    learns_from: ClassVar[str] = "nothing"

    def choose(self, memory: Counts, state: float, rng: Stream) -> int:
        return int(draw_uniform(rng) * memory.pulls.size)

    def probabilities(self, memory: Counts, state: float) -> Array:
        """The same for all."""
        return np.full(memory.pulls.size, 1.0 / memory.pulls.size)

    def _words(self, choice: Seen) -> tuple[str, str]:
        return "any arm:", "by chance"


@dataclass(frozen=True)
class FixedArm(Counting, Explains, Policy):
    """Always the same arm; `for_problem` takes the best one (the paper's genie).

    >>> from sojourn import Problem, TwoState
    >>> FixedArm.for_problem(Problem([0.1, 0.3], TwoState(0.5, 0.2, 0.2, 0.1)))
    FixedArm(arm=1)
    """

    title: ClassVar[str] = "Fixed arm"

    learns_from: ClassVar[str] = "nothing"

    arm: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "arm", validation.whole("arm", self.arm, 0))

    def choose(self, memory: Counts, state: float, rng: Stream) -> int:
        """The one arm."""
        return int(self.arm)

    def probabilities(self, memory: Counts, state: float) -> Array:
        """All on the one arm."""
        return certain(memory.pulls.size, int(self.arm))

    def greedy_values(self, memory: Counts, state: float) -> Array:
        """Nothing but the one arm, shown or not."""
        return np.where(self.probabilities(memory, state) > 0.0, 1.0, -np.inf)

    def _words(self, choice: Seen) -> tuple[str, str]:
        return "always", ""

    def check_arms(self, arms: int) -> None:
        validation.whole("arm", self.arm, 0, arms - 1)

    @classmethod
    def for_problem(cls, problem: Problem, **parameters: Any) -> Self:
        """The genie: the arm of highest mean."""
        return cls(**{"arm": problem.best_arm, **parameters})
