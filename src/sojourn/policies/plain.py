"""Policies that learn nothing: baselines, and rules with fixed probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from .. import validation
from ..engine.steps import level_of
from ..engine.streams import Stream, draw_uniform
from ..problem import Problem
from ..validation import InputError
from .base import Array, Counting, Counts, Policy, certain
from .reasons import Explains, Seen, engaged

__all__ = ["Uniform", "FixedArm"]


@dataclass(frozen=True)
class Uniform(Counting, Explains, Policy):
    """A uniformly random arm.

    >>> Uniform()
    Uniform()
    """

    learns_from: ClassVar[str] = "nothing"

    def choose(self, memory: Counts, state: float, rng: Stream) -> int:
        return int(draw_uniform(rng) * memory.pulls.size)

    def probabilities(self, memory: Counts, state: float) -> Array:
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
        return int(self.arm)

    def probabilities(self, memory: Counts, state: float) -> Array:
        return certain(memory.pulls.size, int(self.arm))

    def greedy_values(self, memory: Counts, state: float) -> Array:
        return np.where(self.probabilities(memory, state) > 0.0, 1.0, -np.inf)

    def _words(self, choice: Seen) -> tuple[str, str]:
        return "always", ""

    def check_arms(self, arms: int) -> None:
        validation.whole("arm", self.arm, 0, arms - 1)

    @classmethod
    def for_problem(cls, problem: Problem, **parameters: Any) -> Self:
        """The genie: the arm of highest mean."""
        return cls(**{"arm": problem.best_arm, **parameters})


@dataclass(frozen=True)
class Rule(Counting, Explains, Policy):
    """Fixed chances by state: one row per equal part of [0, 1], one column per arm.

    Two rows are for state 0 and state 1, one row for a rule that does not look at the state.

    >>> rule = Rule([[1, 0], [0.5, 0.5]])  # arm 0 in state 0, any arm in state 1
    >>> rule.probabilities(rule.memory(2), 1.0).tolist()
    [0.5, 0.5]
    """

    learns_from: ClassVar[str] = "nothing"

    chances: tuple[tuple[float, ...], ...]

    def __init__(self, chances: Sequence[Sequence[float]]) -> None:
        try:
            rows = tuple(tuple(float(p) for p in row) for row in chances)
            good = len({len(row) for row in rows}) == 1 and len(rows[0]) > 0
        except (TypeError, ValueError):
            good = False
        if not (good and all(min(row) >= 0.0 and abs(sum(row) - 1.0) <= 1e-9 for row in rows)):
            raise InputError(
                f"chances = {chances!r} is not allowed: it must be a table, a row per state and a "
                "column per arm, of probabilities that add up to 1 in each row"
            )
        object.__setattr__(self, "chances", rows)

    def choose(self, memory: Counts, state: float, rng: Stream) -> int:
        """A random arm by its probability; an arm of probability 1 needs no draw."""
        row = self.chances[level_of(state, len(self.chances))]
        last = 0
        for arm in range(len(row)):
            if row[arm] > 0.0:
                last = arm
        if row[last] == 1.0:
            return last
        u = draw_uniform(rng)
        for arm in range(last):
            u -= row[arm]
            if u < 0.0:
                return arm
        return last

    def probabilities(self, memory: Counts, state: float) -> Array:
        return np.array(self.chances[level_of(state, len(self.chances))])

    def greedy_values(self, memory: Counts, state: float) -> Array:
        """The probabilities themselves: while exploration is off the likeliest arm is played."""
        return self.probabilities(memory, state)

    def _mood(self, choice: Seen) -> str:
        return engaged(choice.state)

    def _words(self, choice: Seen) -> tuple[str, str]:
        return "by the rule:", ""

    def check_arms(self, arms: int) -> None:
        if len(self.chances[0]) != arms:
            raise InputError(
                f"chances is not allowed: it has {len(self.chances[0])} columns for {arms} arms"
            )
