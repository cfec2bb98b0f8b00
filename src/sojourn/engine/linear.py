"""Small linear equations, where compiled code needs no library for them."""

import numpy as np
from numpy.typing import NDArray

from .loops import jitable

Array = NDArray[np.float64]


@jitable
def solve(matrix: Array, right: Array) -> None:
    """Solve matrix x = right in place, for a matrix whose diagonal dominates its rows."""
    n = right.size
    for i in range(n):
        for j in range(i + 1, n):
            factor = matrix[j, i] / matrix[i, i]
            for k in range(i + 1, n):
                matrix[j, k] -= factor * matrix[i, k]
            right[j] -= factor * right[i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            right[i] -= matrix[i, k] * right[k]
        right[i] /= matrix[i, i]
