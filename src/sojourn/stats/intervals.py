"""Numbers with their 95 % intervals, and intervals that hold at all times.

A 95 % interval holds for one look. Anyone who looks after every visit and stops at the first
significant difference finds one sooner or later, even if there is none. A confidence sequence
allows for that: with probability 95 %, the truth is in all of its intervals at once. One may look
at any time, stop, or continue.

`sequence` is asymptotic (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform central
limit theory and asymptotic confidence sequences", Annals of Statistics 52, 2024): as an interval by
the central limit theorem, it needs only a variance, and enough units to begin with.
`ratio_evidence` is exact (Lindon and Malek, "Anytime-valid inference for multinomial count data",
NeurIPS 2022).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf, isfinite, isnan, log, log1p, nan, sqrt
from statistics import NormalDist
from typing import Self

Z95 = 1.959963984540054
"""The half-width of a 95 % interval, in standard errors."""

Pair = tuple[float, float]
"""A number and the half-width of its 95 % interval."""


def z(level: float = 0.95) -> float:
    """The half-width of a normal interval of this level, in standard errors."""
    return NormalDist().inv_cdf(0.5 + level / 2.0)


def t(free: float, level: float = 0.95) -> float:
    """The half-width of Student's interval with `free` degrees of freedom, in standard errors.

    By Hill (1970, algorithm 396), to five digits or more from 2 degrees on; at least 1 counts.

    >>> round(t(10), 4), round(t(1e9), 4)
    (2.2281, 1.96)
    """
    tails, n = 1.0 - level, max(free, 1.0)
    if n == 1.0:
        return 1.0 / math.tan(tails * math.pi / 2.0)
    if n == 2.0:
        return sqrt(2.0 / (tails * (2.0 - tails)) - 2.0)
    a = 1.0 / (n - 0.5)
    b = 48.0 / a**2
    c = ((20700.0 * a / b - 98.0) * a - 16.0) * a + 96.36
    d = ((94.5 / (b + c) - 3.0) / b + 1.0) * sqrt(a * math.pi / 2.0) * n
    y = (d * tails) ** (2.0 / n)
    if y > 0.05 + a:
        x = -z(level)
        y = x * x
        if n < 5.0:
            c += 0.3 * (n - 4.5) * (x + 0.6)
        c = (((0.05 * d * x - 5.0) * x - 7.0) * x - 2.0) * x + b + c
        y = (((((0.4 * y + 6.3) * y + 36.0) * y + 94.5) / c - y - 3.0) / b + 1.0) * x
        y = math.expm1(a * y * y)
    else:
        near = (n + 6.0) / (n * y) - 0.089 * d - 0.822
        y = ((1.0 / (near * (n + 2.0) * 3.0) + 0.5 / (n + 4.0)) * y - 1.0) * (n + 1.0) / (n + 2.0)
        y += 1.0 / ((d * tails) ** (2.0 / n))
    return sqrt(n * y)


@dataclass(frozen=True, slots=True)
class Interval:
    """A number, and the ends of its 95 % interval; all three alike if it is exact."""

    value: float
    low: float
    high: float

    @classmethod
    def around(cls, value: float, half_width: float) -> Self:
        """value ± half_width; unbounded if the half-width is not a number."""
        width = inf if isnan(half_width) else float(half_width)
        return cls(float(value), float(value) - width, float(value) + width)

    @classmethod
    def exact(cls, value: float) -> Self:
        """A number that was computed, not estimated."""
        return cls(value, value, value)

    @classmethod
    def from_error(cls, value: float, error: float, least: float = -inf) -> Self:
        """The normal interval of an estimate with this standard error, cut off at `least`."""
        return cls(value, max(value - Z95 * error, least), value + Z95 * error)

    def __iter__(self) -> Iterator[float]:
        return iter((self.value, self.low, self.high))

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.value:,.6g} (exact)"
        if not isfinite(self.low) or not isfinite(self.high):
            return f"{self.value:,.4g} [{self.low:,.4g}, {self.high:,.4g}]"
        half = (self.high - self.low) / 2
        # Two significant ones of the half-width.
        digits = max(0, min(8, 1 - math.floor(math.log10(half))))
        if abs(self.value - (self.low + self.high) / 2) <= half / 50:
            return f"{self.value:,.{digits}f} ± {half:,.{digits}f}"
        return f"{self.value:,.{digits}f} [{self.low:,.{digits}f}, {self.high:,.{digits}f}]"


def share(count: float, of: float) -> Interval | None:
    """A probability from counts, with Wilson's interval; None if nothing was counted.

    Of the simple intervals it keeps its 95 % best near 0 and 1. For rewards between 0 and 1 it is
    conservative: none vary more than those that are 0 or 1.
    """
    if of <= 0.0:
        return None
    p, z2 = count / of, Z95 * Z95 / of
    middle = (p + z2 / 2.0) / (1.0 + z2)
    half = Z95 * sqrt(p * (1.0 - p) / of + z2 / (4.0 * of)) / (1.0 + z2)
    return Interval(p, max(middle - half, 0.0), min(middle + half, 1.0))


def average(n: float, total: float, squares: float) -> Interval | None:
    """The mean of n non-negative numbers, from their sum and their sum of squares.

    None without numbers; with a single one nothing is known of its error.
    """
    if n <= 0.0:
        return None
    mean = total / n
    if n < 2.0:
        return Interval(mean, 0.0, inf)
    variance = max(squares - n * mean * mean, 0.0) / (n - 1.0)
    return Interval.from_error(mean, sqrt(variance / n), least=0.0)


def ratio(top: Pair, bottom: Pair) -> Interval:
    """The ratio of two positive numbers given with half-widths, at its widest."""
    low = (top[0] - top[1]) / (bottom[0] + bottom[1]) if bottom[0] > 0.0 else 0.0
    high = (top[0] + top[1]) / (bottom[0] - bottom[1]) if bottom[0] > bottom[1] else inf
    value = top[0] / bottom[0] if bottom[0] else nan
    return Interval(value, max(low, 0.0), high)


PLANNED = 10_000.0
"""Units at which a sequence is narrowest, by default."""

FIRST = 50.0
"""Units of each side that an interval needs."""


@cache
def _tightest(alpha: float) -> float:
    """The u = rho^2 t at which a sequence is narrowest: u = log(1 + u) - 2 log(alpha)."""
    u = -2.0 * log(alpha)
    for _ in range(100):
        u = log1p(u) - 2.0 * log(alpha)
    return u


def radius(units: float, alpha: float = 0.05, planned: float = PLANNED) -> float:
    """The half-width of a sequence at its `units`-th unit, in standard errors.

    With t units and rho = rho(planned, alpha),

        sqrt(2 (t rho^2 + 1) / (t rho^2) log(sqrt(t rho^2 + 1) / alpha)).

    An interval for one look has 1.96:

    >>> [round(radius(t), 2) for t in (100, 1_000, 10_000, 100_000, 1_000_000)]
    [8.94, 3.82, 3.04, 3.25, 3.57]
    """
    u = _tightest(alpha) * units / planned
    return sqrt((1.0 + 1.0 / u) * (log1p(u) - 2.0 * log(alpha))) if u > 0.0 else inf


def sequence(
    estimate: float, error: float, units: float, alpha: float = 0.05, planned: float = PLANNED
) -> Interval:
    """An estimate with its interval in a sequence of level 1 - alpha.

    `error` is the standard error of the estimate now, from `units` units that came one after the
    other: visits, or users if theirs are not independent. The sequence is narrowest at `planned`.
    """
    return Interval.around(estimate, error * radius(units, alpha, planned))


def ratio_evidence(epochs: Iterable[tuple[Sequence[float], Sequence[float]]]) -> float:
    """A p-value, valid at all times, of counts that deviate from the shares they should have.

    An epoch is a time of constant shares: how many units went to each variant, and the shares,
    which sum to 1. The evidence of an epoch is the Bayes factor of a uniform prior of the shares
    against those stated,

        (d - 1)! x_1! ... x_d! / (n + d - 1)!  /  (s_1^x_1 ... s_d^x_d),

    a martingale with mean 1 while the shares are true. That of all epochs is the product, and the
    p-value its inverse, or 1.
    """
    evidence = 0.0
    for counts, shares in epochs:
        used = [(n, share) for n, share in zip(counts, shares, strict=True) if share > 0.0]
        if any(n > 0.0 for n, share in zip(counts, shares, strict=True) if share <= 0.0):
            return 0.0
        total = sum(n for n, _ in used)
        evidence += math.lgamma(len(used)) - math.lgamma(total + len(used))
        evidence += sum(math.lgamma(n + 1.0) - n * log(share) for n, share in used)
    return math.exp(min(-evidence, 0.0))
