"""The command `sojourn`: one module a command, thin layers over functions that know no terminal."""

from .main import main

__all__ = ["main"]
