"""Claims, and what measurements say about them.

A measurement says on which side of a threshold a number was claimed to be. It confirms the claim
if the whole 95 % interval is there, contradicts it if the whole interval is on the other side, and
otherwise leaves it open at the precision of the results.
"""

from collections.abc import Sequence
from enum import StrEnum
from math import isnan
from typing import NamedTuple

from ..stats.intervals import Interval


class Verdict(StrEnum):
    """What the measurements say about a claim."""

    CONFIRMED = "confirmed"
    NOT_CONFIRMED = "not confirmed"
    UNDECIDED = "not decidable at this precision"


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
        _, low, high = self.interval
        if any(isnan(x) for x in (*self.interval, self.threshold)):
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
