"""Moments over runs: what a simulation keeps, and the estimates made of them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .intervals import Z95

Array = NDArray[np.float64]


class Moments(NamedTuple):
    """Number of runs, mean over runs, and sum of squared deviations from it.

    >>> first, second = Moments.of(np.array([1.0, 3.0])), Moments.of(np.array([5.0]))
    >>> both = first.join(second)
    >>> both.runs, float(both.mean), float(both.squares)
    (3, 3.0, 8.0)
    """

    runs: int
    mean: Array
    squares: Array

    @staticmethod
    def none(*shape: int) -> "Moments":
        """Moments of no runs; joined with any others they give exactly those."""
        return Moments(0, np.zeros(shape), np.zeros(shape))

    @staticmethod
    def of(rows: Array) -> "Moments":
        mean = rows.mean(axis=0)
        return Moments(len(rows), mean, ((rows - mean) ** 2).sum(axis=0))

    def join(self, other: "Moments") -> "Moments":
        """The moments of both sets of runs together (Chan, Golub and LeVeque's update)."""
        runs = self.runs + other.runs
        if runs == 0:
            return self
        delta = other.mean - self.mean
        return Moments(
            runs,
            self.mean + delta * (other.runs / runs),
            self.squares + other.squares + delta**2 * (self.runs * other.runs / runs),
        )

    @property
    def estimate(self) -> "Estimate":
        """The mean and its standard error; not a number where there are too few runs for it."""
        if self.runs < 2:
            unknown = np.full_like(self.mean, np.nan)
            return Estimate(self.mean if self.runs else unknown, unknown)
        return Estimate(self.mean, np.sqrt(self.squares / (self.runs - 1) / self.runs))


class Estimate(NamedTuple):
    """A mean over runs and its standard error.

    >>> found = Estimate(np.array([10.0]), np.array([1.0]))
    >>> found.low.round(2).tolist(), found.high.round(2).tolist()
    ([8.04], [11.96])
    """

    mean: Array
    std_error: Array

    @property
    def half_width(self) -> Array:
        """Half-width of the 95 % confidence interval."""
        return Z95 * self.std_error

    @property
    def low(self) -> Array:
        return self.mean - self.half_width

    @property
    def high(self) -> Array:
        return self.mean + self.half_width


class Part(NamedTuple):
    """The results of one chunk."""

    moments: Moments
    """Moments of all columns: [checkpoint, column]."""
    regret: Array
    """Regret of every run, [run, checkpoint], for differences between policies."""
    seconds: float = 0.0
    """The time that it took; no part of the result."""
