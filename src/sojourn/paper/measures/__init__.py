"""Measurements behind claims, as data: each says what it needs and gives numbers with intervals.

Policies are compared run by run where they met the same users; where a measurement combines
estimates whose covariance is not kept, its interval is the widest they allow.
"""

from typing import ClassVar

from ..results import Results
from ..verdicts import Measure


class Simulated(Measure[Results]):
    """A measure of the results of one or more trials."""

    needs: ClassVar[tuple[str, ...]] = ("trial",)
    """The fields that name trials."""

    @property
    def trials(self) -> tuple[str, ...]:
        return tuple(getattr(self, field) for field in self.needs)
