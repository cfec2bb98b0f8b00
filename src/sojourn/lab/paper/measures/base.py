"""What measures on simulated results have in common."""

from typing import ClassVar

from ...claims import Measure
from ..results import Results


class Simulated(Measure[Results]):
    """A measure of the results of one or more trials."""

    needs: ClassVar[tuple[str, ...]] = ("trial",)
    """The fields that name trials."""

    @property
    def trials(self) -> tuple[str, ...]:
        """The values of those fields."""
        return tuple(getattr(self, field) for field in self.needs)
