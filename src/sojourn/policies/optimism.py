"""Optimism: where on the way from the lower to the upper confidence bound to look, by state.

+1 is the upper bound (explore), -1 the lower bound (play safe), 0 the empirical mean.
"""

from dataclasses import dataclass, replace
from typing import Self

from .. import checks
from ..engine.jit import Compiled


@dataclass(frozen=True)
class Always(Compiled):
    """The upper bound in every state: optimism 1."""

    def optimism(self, state: float) -> float:
        """1."""
        return 1.0

    def highest(self) -> float:
        """1."""
        return 1.0

    def lowest(self) -> float:
        """1."""
        return 1.0

    def is_graded(self) -> bool:
        """No: the only optimism is the highest one."""
        return False


@dataclass(frozen=True)
class Never(Compiled):
    """The empirical mean in every state: optimism 0."""

    def optimism(self, state: float) -> float:
        """0."""
        return 0.0

    def highest(self) -> float:
        """0."""
        return 0.0

    def lowest(self) -> float:
        """0."""
        return 0.0

    def is_graded(self) -> bool:
        """No: the only optimism is the highest one."""
        return False


@dataclass(frozen=True)
class Graded(Compiled):
    """Optimism `c0` in the worst state and `c1` in the best one."""

    c0: float = -1.0
    c1: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("c0", "c1"):
            number = checks.number(name, getattr(self, name), float("-inf"), float("inf"))
            object.__setattr__(self, name, number)

    def highest(self) -> float:
        """The greatest optimism of any state."""
        return max(self.c0, self.c1)

    def lowest(self) -> float:
        """The least optimism of any state."""
        return min(self.c0, self.c1)

    def is_graded(self) -> bool:
        """Whether optimisms between the lowest and the highest occur."""
        return False

    def opposite(self) -> Self:
        """The same policy for the opposite case, c0 and c1 exchanged (Theorems 5 to 7)."""
        return replace(self, c0=self.c1, c1=self.c0)


@dataclass(frozen=True)
class TwoLevel(Graded):
    """`c1` from a state of 1/2 on and `c0` below; the paper's two states are 0 and 1."""

    def optimism(self, state: float) -> float:
        """c1 in state 1, c0 in state 0."""
        return self.c1 if state >= 0.5 else self.c0


@dataclass(frozen=True)
class TopBin(Graded):
    """`c1` in the top one of `n` equal bins of [0, 1], that is from (n - 1) / n on; `c0` below."""

    n: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n", checks.whole("n", self.n, 2))

    def optimism(self, state: float) -> float:
        """c1 if the state is at least (n - 1) / n, else c0."""
        return self.c1 if state >= (self.n - 1) / self.n else self.c0


@dataclass(frozen=True)
class Linear(Graded):
    """From `c0` in state 0 to `c1` in state 1 along a line: 2 s - 1 in the paper."""

    def optimism(self, state: float) -> float:
        """c0 + (c1 - c0) s."""
        return self.c0 + (self.c1 - self.c0) * state

    def is_graded(self) -> bool:
        """Yes."""
        return True
