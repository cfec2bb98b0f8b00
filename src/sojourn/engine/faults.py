"""What cannot be compiled, in one sentence that names the line at fault."""

import linecache
import re
from pathlib import Path
from typing import Any

from numba.core.errors import NumbaError

from ..validation import PolicyError

PLACE = re.compile(r'File "([^"]+)", line (\d+)')
STRUCT = re.compile(r"[\w.]*\b(\w+)\[[0-9a-f]{16}\]\([^()]*\)")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class CannotCompile(PolicyError):
    """A method of a policy or of a user model is not within what Numba compiles."""


def no_such_arm(policy: Any, arm: int, arms: int) -> PolicyError:
    """What is raised when `choose` returned an arm that does not exist."""
    return PolicyError(
        f"{type(policy).__name__}.choose returned arm {arm}, and there are {arms}: it must be a "
        f"whole number from 0 to {arms - 1}"
    )


def sentence(error: NumbaError, types: tuple[Any, ...]) -> str:
    """What is wrong, and the line as it is written, of the class that is to blame."""
    text = COLOUR.sub("", str(error))
    while STRUCT.search(text):  # from the inside out
        text = STRUCT.sub(r"\1", text)
    place = PLACE.search(text)  # the first is the innermost
    who = " with ".join(dict.fromkeys(struct.cls.__name__ for struct in types[:2]))
    if place is None:
        return f"{who} cannot be compiled: {_last_line(text)}"
    file, line = place.group(1), int(place.group(2))
    written = linecache.getline(_found(file), line).strip()
    return (
        f"{who} cannot be compiled: {_last_line(text[: place.start()])} "
        f"({Path(file).name}, line {line}: {written})"
    )


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].rstrip(".:") if lines else "no reason is given"


def _found(file: str) -> str:
    """Numba shortens paths to those below the working directory."""
    return file if Path(file).is_absolute() else str(Path.cwd() / file)
