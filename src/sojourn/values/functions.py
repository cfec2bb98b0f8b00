"""Functions of the state that compiled code can evaluate, and the costs of mistakes made of them.

The cost of a pull is V*(s) - Q*(s, a). Where leaving does not depend on the arm and rewards are 0
or 1 it is D(s) times what the arm's mean lacks (`CommonPrices`). Else the gaps of finitely many
states are a table, and on [0, 1] the action values are Chebyshev series.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.loops import jitable
from ..engine.steps import onward
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


class States:
    """The states 0, 1, ..., n - 1, each with a value of its own."""

    def __init__(self, count: int) -> None:
        self.nodes: Array = np.arange(count, dtype=float)
        self.rows = np.eye(count)

    def basis(self, points: Array) -> Array:
        """Rows of weights: with the values at the nodes they give those at the points."""
        return self.rows[points.astype(int)]  # type: ignore[no-any-return]

    def function(self, at_nodes: Array) -> ByState:
        """The function with these values at the nodes."""
        return ByState(at_nodes)


DEGREE = 15


class Panels:
    """Chebyshev nodes on each panel, and interpolation from the values there."""

    def __init__(self, edges: Array) -> None:
        self.edges = edges
        self.unit = np.cos(np.pi * np.arange(DEGREE, -1, -1) / DEGREE)
        self.weights = np.where(np.arange(DEGREE + 1) % 2, -1.0, 1.0)
        self.weights[[0, -1]] /= 2.0
        self.nodes = self._spread(self.unit)
        self.between = self._spread(np.cos(np.pi * (np.arange(DEGREE, 0, -1) - 0.5) / DEGREE))

    def _spread(self, unit: Array) -> Array:
        left, right = self.edges[:-1, None], self.edges[1:, None]
        points: Array = left + (right - left) * (unit + 1.0) / 2.0
        return points.ravel()

    def basis(self, points: Array) -> Array:
        """The same, by barycentric interpolation."""
        panel = np.clip(np.searchsorted(self.edges, points, "right") - 1, 0, self.edges.size - 2)
        left, right = self.edges[panel], self.edges[panel + 1]
        x = (2.0 * points - left - right) / (right - left)
        distance = x[:, None] - self.unit
        hit = distance == 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            rows = self.weights / distance
            rows /= rows.sum(axis=1, keepdims=True)
        rows = np.where(hit.any(axis=1, keepdims=True), hit, rows)
        full = np.zeros((points.size, self.nodes.size))
        columns = panel[:, None] * self.unit.size + np.arange(self.unit.size)
        np.put_along_axis(full, columns, rows, axis=1)
        return full

    def worst(self, at_points: Array) -> Array:
        """The largest of the values at `between`, panel by panel."""
        return at_points.reshape(self.edges.size - 1, -1).max(axis=1)  # type: ignore[no-any-return]

    def function(self, at_nodes: Array) -> Piecewise:
        """The function with these values at the nodes."""
        fit = np.polynomial.chebyshev.chebvander(self.unit, DEGREE)
        series = np.linalg.solve(fit, at_nodes.reshape(-1, self.unit.size).T).T
        return Piecewise(self.edges, np.ascontiguousarray(series))


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
    """Prices by [state, arm]; states of a first step of its own are below 0 (-1 - s)."""

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
