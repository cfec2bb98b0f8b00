"""Functions of the state that compiled code can evaluate."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.loops import jitable
from ..engine.structs import Compiled

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class ByState(Compiled):
    """A function on the states 0, 1, ..., n - 1.

    >>> float(ByState(np.array([2.0, 3.5])).at(1.0))
    3.5
    """

    at_state: Array

    def at(self, state: float) -> float:
        """The value at one state."""
        return self.at_state[int(state)]  # type: ignore[no-any-return]


@jitable
def clenshaw(edges: Array, series: Array, state: float) -> float:
    """A Chebyshev series on each panel between two edges, at one point."""
    low, high = 0, edges.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        if state < edges[middle]:
            high = middle
        else:
            low = middle
    left, right = edges[low], edges[low + 1]
    x = (2.0 * state - left - right) / (right - left)
    b1, b2 = 0.0, 0.0
    for k in range(series.shape[1] - 1, 0, -1):
        b1, b2 = series[low, k] + 2.0 * x * b1 - b2, b1
    return series[low, 0] + x * b1 - b2  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Piecewise(Compiled):
    """A function on [0, 1]: a Chebyshev series on each panel between two edges."""

    edges: Array
    series: Array

    def at(self, state: float) -> float:
        """The value at one point, by Clenshaw's recurrence."""
        return clenshaw(self.edges, self.series, state)
