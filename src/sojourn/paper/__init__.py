"""The paper, as data."""

from .settings import SETTINGS

__all__ = ["SETTINGS"]
