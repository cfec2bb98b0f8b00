"""What may be the name of an experiment or an arm, or the id of a visit, a user or a request."""

from typing import Any

LONGEST_NAME = 200
LONGEST_SHOWN = 60


def printable(text: str) -> str:
    """The text, if every store and every page can show it."""
    if text.isprintable():
        return text
    raise ValueError("it must be printable characters")


def check_name(what: str, value: Any) -> str:
    """A name or an id: printable text of limited length.

    >>> check_name("id", "")
    Traceback (most recent call last):
    ValueError: id = '' is not allowed: it must be 1 to 200 printable characters
    """
    if isinstance(value, str):
        if 1 <= len(value) <= LONGEST_NAME and value.isprintable():
            return value
        value = value[:LONGEST_SHOWN]
    raise ValueError(
        f"{what} = {value!r} is not allowed: it must be 1 to {LONGEST_NAME} printable characters"
    )
