"""Numbers with 95 % intervals, and what an interval says about a claim.

A claim says on which side of a threshold a number is. It is confirmed if the whole interval is
there, not confirmed if the whole interval is on the other side, and otherwise not decidable at the
precision of the results.
"""

from collections.abc import Sequence
from enum import StrEnum
from math import inf, isfinite, isnan, nan
from typing import NamedTuple

import numpy as np

Pair = tuple[float, float]
"""A number and the half-width of its 95 % interval."""


class Verdict(StrEnum):
    """What the measurements say about a claim."""

    CONFIRMED = "confirmed"
    NOT_CONFIRMED = "not confirmed"
    UNDECIDED = "not decidable at this precision"


class Interval(NamedTuple):
    """A number, and the ends of its 95 % interval; all alike if it is exact."""

    value: float
    low: float
    high: float

    @staticmethod
    def around(value: float, half_width: float) -> "Interval":
        """value ± half_width; unbounded if the half-width is not a number."""
        width = inf if isnan(half_width) else float(half_width)
        return Interval(float(value), float(value) - width, float(value) + width)

    @staticmethod
    def exact(value: float) -> "Interval":
        """A number that was computed, not estimated."""
        return Interval(value, value, value)

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.value:,.6g} (exact)"
        if not isfinite(self.low) or not isfinite(self.high):
            return f"{self.value:,.4g} [{self.low:,.4g}, {self.high:,.4g}]"
        half = (self.high - self.low) / 2
        digits = _digits(half)
        if abs(self.value - (self.low + self.high) / 2) <= half / 50:
            return f"{self.value:,.{digits}f} ± {half:,.{digits}f}"
        return f"{self.value:,.{digits}f} [{self.low:,.{digits}f}, {self.high:,.{digits}f}]"


def _digits(half_width: float) -> int:
    """Decimals that show two digits of a half-width."""
    return int(max(0, min(8, 1 - np.floor(np.log10(half_width)))))


class Measured(NamedTuple):
    """One measurement: what it is, the number, and the side of the threshold that was claimed."""

    what: str
    interval: Interval
    threshold: float
    above: bool

    @property
    def verdict(self) -> Verdict:
        """Which side of the threshold the interval is on.

        >>> Measured("x", Interval(2.0, 1.0, 3.0), 0.0, above=True).verdict.value
        'confirmed'
        """
        low, high = self.interval.low, self.interval.high
        if np.isnan([*self.interval, self.threshold]).any():
            return Verdict.UNDECIDED
        if low == high == self.threshold:  # exact and equal: "at least" and "at most" both hold
            return Verdict.CONFIRMED
        if low > self.threshold:
            return Verdict.CONFIRMED if self.above else Verdict.NOT_CONFIRMED
        if high < self.threshold:
            return Verdict.NOT_CONFIRMED if self.above else Verdict.CONFIRMED
        return Verdict.UNDECIDED

    def __str__(self) -> str:
        sign = "≥" if self.above else "≤"
        return f"{self.what}: {self.interval} (claimed: {sign} {self.threshold:,.6g})"


def overall(measured: Sequence[Measured]) -> Verdict:
    """Of a claim with several measurements: confirmed if all are, not if any is not."""
    verdicts = {m.verdict for m in measured}
    if Verdict.NOT_CONFIRMED in verdicts:
        return Verdict.NOT_CONFIRMED
    return Verdict.CONFIRMED if verdicts == {Verdict.CONFIRMED} else Verdict.UNDECIDED


def ratio(top: Pair, bottom: Pair) -> Interval:
    """The ratio of two positive numbers given with half-widths, at its widest.

    >>> ratio((10.0, 2.0), (4.0, 1.0))
    Interval(value=2.5, low=1.6, high=4.0)
    """
    low = (top[0] - top[1]) / (bottom[0] + bottom[1]) if bottom[0] > 0.0 else 0.0
    high = (top[0] + top[1]) / (bottom[0] - bottom[1]) if bottom[0] > bottom[1] else inf
    value = top[0] / bottom[0] if bottom[0] else nan
    return Interval(value, max(low, 0.0), high)
