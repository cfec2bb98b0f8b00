"""What all measures have in common."""

from abc import ABC, abstractmethod
from typing import ClassVar

from ...claims import Measured
from ..tables import Tables


class Measure(ABC):
    """Something to measure on results, or to compute; the fields of a subclass say what."""

    needs: ClassVar[tuple[str, ...]] = ("experiment",)
    """The fields that name experiments."""

    @property
    def experiments(self) -> tuple[str, ...]:
        """The experiments whose results it takes."""
        return tuple(getattr(self, field) for field in self.needs)

    @abstractmethod
    def measure(self, tables: Tables) -> list[Measured]:
        """The measurements."""
