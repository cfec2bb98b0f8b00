"""Allowed names of experiments and arms, and ids of visits, users and requests."""

from collections import Counter
from collections.abc import Sequence
from numbers import Integral
from typing import Any

from .. import validation
from ..validation import InputError

Id = str | int

LONGEST_NAME = 200
LONGEST_SHOWN = 60
LARGEST = 10**LONGEST_NAME
DOTS = frozenset((".", ".."))
"""Not allowed: browsers and proxies remove them from a path."""


def printable(text: str) -> str:
    """The text, if every store, page and path can hold it."""
    if text.isprintable() and text not in DOTS:
        return text
    raise InputError("it must be printable characters, and not . or ..")


def check_name(what: str, value: Any) -> str:
    """A name or an id: printable text of limited length.

    >>> check_name("id", "")
    Traceback (most recent call last):
    sojourn.InputError: id = '' is not allowed: it must be 1 to 200 printable characters, and not \
. or ..
    """
    if isinstance(value, str):
        if 1 <= len(value) <= LONGEST_NAME and value.isprintable() and value not in DOTS:
            return value
        value = value[:LONGEST_SHOWN]
    raise InputError(
        f"{what} = {validation.shown(value)} is not allowed: "
        f"it must be 1 to {LONGEST_NAME} printable characters, and not . or .."
    )


def as_text(value: Any) -> Any:
    """Ids of users and arms may be integers, which are stored as text; other values as they are."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    return str(value) if whole and abs(value) < LARGEST else value


def one_or_many(what: str, names: Any) -> list[str]:
    """`check_names` of a list, or of one name.

    >>> one_or_many("arms", 7), one_or_many("arms", ["news", 7])
    (['7'], ['news', '7'])
    """
    names = as_text(names)
    return check_names(what, [names] if isinstance(names, str) else names)


def check_names(what: str, names: Any) -> list[str]:
    """Names of arms: a list without duplicates."""
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise InputError(f"{what} = {validation.shown(names)} is not allowed: give a list of names")
    found = [check_name(what, as_text(name)) for name in names]
    twice = [name for name, times in Counter(found).items() if times > 1]
    if twice:
        raise InputError(f"{what} has the name {min(twice)!r} twice")
    return found
