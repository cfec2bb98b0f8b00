"""The command `sojourn`: one module per command, each a thin layer over the library."""

from .main import main

__all__ = ["main"]
