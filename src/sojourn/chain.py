"""Absorbing Markov chains: totals until absorption, occupancies, and the best rule.

`onward[..., s, t]` is the probability to go from state s to state t; what is missing from a row
that adds up to 1 is the probability that the visit ends. Leading axes are batches.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .engine.loops import jitable
from .validation import InputError

Array = NDArray[Any]

LONGEST = 1e12
"""Visits expected to last longer than this many steps count as never ending."""

ROUNDING = 1e-12
"""An arm is better than another if it is by this share of the greatest value."""


class NeverEnds(InputError):
    """Someone can stay for ever."""


def total(onward: Array, gain: Array, longest: float | None = LONGEST) -> Array:
    """Expected sum of the gains until the end, by state: x = gain + onward x.

    `gain` has a number for each state, or a row of numbers if it has as many axes as `onward`.
    `NeverEnds` if there is no solution, or one that is negative or beyond `longest` (None: any).
    """
    single = gain.ndim < onward.ndim
    right = gain[..., None] if single else gain
    try:
        found: Array = np.linalg.solve(np.eye(onward.shape[-1]) - onward, right)
    except np.linalg.LinAlgError:
        raise NeverEnds from None
    if longest is not None and (not (np.abs(found) <= longest).all() or found.min() < -1e-9):
        raise NeverEnds
    return found[..., 0] if single else found


def occupancy(onward: Array, start: Array) -> Array:
    """Expected steps in each state, from the probabilities of the first one."""
    return total(onward.swapaxes(-1, -2), start)


def second_moment(onward: Array, square: Array, cross: Array, mean: Array) -> Array:
    """Expected square of the sum of the gains, by state.

    `square` is the expected square of one gain, `cross[s, t]` the probability to go from s to t
    times the gain, `mean` the `total`. Not checked: `mean` is.
    """
    return total(onward, square + 2.0 * cross @ mean, None)


def best_rule(onward: Array, gain: Array) -> tuple[Array, Array]:
    """Policy iteration: the arm of each state whose total is greatest, and that total.

    By [arm, state, next state] and [arm, state]. An arm that is not better does not replace
    another. `NeverEnds` if the total grows without end.
    """
    states = np.arange(onward.shape[1])
    rule = gain.argmax(axis=0)
    while True:
        found = total(onward[rule, states], gain[rule, states])
        worth = gain + onward @ found
        better = worth > worth[rule, states] + ROUNDING * np.abs(found).max()
        if not better.any():
            return rule, found
        rule = np.where(better.any(axis=0), worth.argmax(axis=0), rule)


@jitable
def mistake_cost(after_0: Any, after_1: Any) -> Any:
    """D = 1 + after_1 - after_0, from what is to come after reward 0 and after reward 1.

    What a pull loses per unit of mean; numbers or arrays.
    """
    return 1.0 + after_1 - after_0


@jitable
def solve_in_place(matrix: Array, right: Array) -> None:
    """Solve matrix x = right in place, for a matrix whose diagonal dominates its rows.

    For compiled code: the solver that Numba offers needs SciPy.
    """
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
