"""Until the dashboard uses `catalog`."""

from .catalog import Catalog as Live

__all__ = ["Live"]
