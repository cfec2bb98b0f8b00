"""95 % intervals for what the dashboard shows."""

from dataclasses import dataclass
from math import inf, sqrt
from statistics import NormalDist

Z = NormalDist().inv_cdf(0.975)
"""The half-width of a 95 % interval in standard errors."""


@dataclass(frozen=True)
class Interval:
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def around(cls, value: float, error: float, least: float = -inf) -> "Interval":
        """Normal, from a standard error; not below `least`."""
        return cls(value, max(value - Z * error, least), value + Z * error)


def share(count: float, of: float) -> Interval | None:
    """A probability from counts, with Wilson's interval; None if nothing was counted.

    Of all simple intervals it keeps its 95 % best at the ends. For rewards between 0 and 1 it is
    on the safe side: none vary more than those that are 0 or 1.

    >>> interval = share(9, 10)
    >>> round(interval.low, 4), interval.value, round(interval.high, 4)
    (0.5958, 0.9, 0.9821)
    """
    if of <= 0.0:
        return None
    p, z2 = count / of, Z * Z / of
    middle = (p + z2 / 2.0) / (1.0 + z2)
    half = Z * sqrt(p * (1.0 - p) / of + z2 / (4.0 * of)) / (1.0 + z2)
    return Interval(p, max(middle - half, 0.0), min(middle + half, 1.0))


def average(n: float, total: float, squares: float) -> Interval | None:
    """The mean of n numbers not below 0, from their sum and the sum of their squares.

    None without numbers; with a single one nothing is known of its error.

    >>> interval = average(4, 8.0, 24.0)
    >>> round(interval.low, 4), interval.value, round(interval.high, 4)
    (0.3997, 2.0, 3.6003)
    """
    if n <= 0.0:
        return None
    mean = total / n
    if n < 2.0:
        return Interval(mean, 0.0, inf)
    variance = max(squares - n * mean * mean, 0.0) / (n - 1.0)
    return Interval.around(mean, sqrt(variance / n), least=0.0)
