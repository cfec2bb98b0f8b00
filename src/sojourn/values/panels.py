"""Interpolation on [0, 1]: a Chebyshev series on each panel between two edges."""

import numpy as np

from .functions import Array, Piecewise

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
        """Barycentric interpolation rows."""
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
