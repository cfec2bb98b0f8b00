"""What a pull costs, for compiled code: V*(s) - Q*(s, a).

Where leaving does not depend on the arm and rewards are 0 or 1 it is D(s) times what the arm's
mean lacks (`CommonPrices`). Else the gaps of finitely many states are a table, and on [0, 1] the
action values are Chebyshev series.
"""

from dataclasses import dataclass
from typing import Any

from ..engine.steps import onward
from ..engine.structs import Compiled
from .functions import Array, clenshaw


@dataclass(frozen=True, eq=False)
class CommonPrices(Compiled):
    """The paper's gaps, from the value function and the greatest and least mean."""

    value: Any
    means: Array
    high: float
    low: float
    best_is_optimal: bool

    def is_free(self, arm: int) -> bool:
        """Whether the arm is sure to cost nothing, in any state."""
        return self.means[arm] == self.high and self.best_is_optimal

    def gap(self, user: Any, state: float, arm: int) -> float:
        """V*(s) - Q*(s, a): D(s) times what the arm's mean lacks to the best one."""
        v0, v1 = onward(user, self.value, state)
        cost = 1.0 + v1 - v0
        return ((self.high if cost >= 0.0 else self.low) - self.means[arm]) * cost  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class PriceTable(Compiled):
    """By [state, arm]; below the states there are, those of a first step of its own (-1 - s)."""

    gaps: Array
    states: float

    def is_free(self, arm: int) -> bool:
        return False

    def gap(self, user: Any, state: float, arm: int) -> float:
        row = int(state) if state >= 0.0 else int(self.states - 1.0 - state)
        return self.gaps[row, arm]  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class PriceSeries(Compiled):
    """Q* of every arm as a `Piecewise`: series by [arm, panel, degree]."""

    edges: Array
    series: Array
    first: Array
    """The same for the first step (states -1 - s); empty if it is like the others."""

    def is_free(self, arm: int) -> bool:
        return False

    def gap(self, user: Any, state: float, arm: int) -> float:
        series, at = (self.series, state) if state >= 0.0 else (self.first, -1.0 - state)
        own = best = clenshaw(self.edges, series[arm], at)
        for other in range(series.shape[0]):
            best = max(best, clenshaw(self.edges, series[other], at))
        return best - own
