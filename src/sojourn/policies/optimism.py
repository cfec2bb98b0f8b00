"""Optimism by state: the point between the lower and the upper confidence bound.

+1 is the upper bound (explore), -1 the lower bound (play safe), 0 the empirical mean.
"""

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Self

from .. import validation
from ..engine.structs import Compiled, interpreted
from .reasons import ENGAGED

LEAST = -inf
"""The optimism where the arm of least mean is the one to play."""


@dataclass(frozen=True)
class Optimism(Compiled):
    """Base of the optimisms: ``optimism(state)``, and the range it is in.

    `highest` and `lowest` bound it over all states (by default it is constant); `is_graded` says
    whether values between the two occur. `_case` ends the name of the paper's bound for it (None:
    there is no bound), and a visit goes well from state `_engaged_from` on.
    """

    if TYPE_CHECKING:

        def optimism(self, state: float) -> float: ...

    def highest(self) -> float:
        return self.optimism(1.0)

    def lowest(self) -> float:
        return self.optimism(0.0)

    def is_graded(self) -> bool:
        return False

    @property
    def _case(self) -> str | None:
        return ""

    @property
    def _engaged_from(self) -> float:
        return ENGAGED


@dataclass(frozen=True)
class Always(Optimism):
    """The upper bound in every state: optimism 1."""

    def optimism(self, state: float) -> float:
        return 1.0


@dataclass(frozen=True)
class Never(Optimism):
    """The empirical mean in every state: optimism 0."""

    def optimism(self, state: float) -> float:
        return 0.0


@dataclass(frozen=True)
class Graded(Optimism):
    """Optimism `c0` in the worst state and `c1` in the best one."""

    c0: float = -1.0
    c1: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("c0", "c1"):
            number = validation.number(
                name, getattr(self, name), -validation.LARGE, validation.LARGE
            )
            object.__setattr__(self, name, number)

    def highest(self) -> float:
        return max(self.c0, self.c1)

    def lowest(self) -> float:
        return min(self.c0, self.c1)

    @interpreted
    def opposite(self) -> Self:
        """The same policy for the opposite case, c0 and c1 exchanged (Theorems 5 to 7)."""
        return replace(self, c0=self.c1, c1=self.c0)

    @property
    def _case(self) -> str | None:
        return {(-1.0, 1.0): "", (1.0, -1.0): ", opposite"}.get((self.c0, self.c1))


@dataclass(frozen=True)
class TwoLevel(Graded):
    """`c1` from a state of 1/2 on and `c0` below; the paper's two states are 0 and 1."""

    def optimism(self, state: float) -> float:
        return self.c1 if state >= 0.5 else self.c0


@dataclass(frozen=True)
class TopBin(Graded):
    """`c1` in the top one of `n` equal bins of [0, 1], that is from (n - 1) / n on; `c0` below."""

    n: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n", validation.whole("n", self.n, 2, validation.LARGE))

    def optimism(self, state: float) -> float:
        return self.c1 if state >= (self.n - 1) / self.n else self.c0

    @property
    def _engaged_from(self) -> float:
        return 1.0 - 1.0 / self.n


@dataclass(frozen=True)
class Linear(Graded):
    """From `c0` in state 0 to `c1` in state 1 along a line: 2 s - 1 in the paper."""

    def optimism(self, state: float) -> float:
        return self.c0 + (self.c1 - self.c0) * state

    def is_graded(self) -> bool:
        return True
