"""One sentence for each kind of bad input: the argument, the value, what is allowed."""

from collections.abc import Iterable
from math import isfinite
from numbers import Real
from typing import Any, TypeGuard


class InputError(ValueError):
    """The caller is wrong: one sentence with the argument, the value and what is allowed.

    Any other error that reaches a caller, NumPy's `ValueError` included, is a bug of this package.
    """

    __module__ = "sojourn"  # where callers find it


class PolicyError(Exception):
    """A policy or user model is at fault: a sentence for its author, not for the caller."""


LARGE = 1e9
"""Limit of parameters that only have to be finite: beyond this, formulas overflow."""

LONGEST_SHOWN = 200


def number(name: str, value: Any, low: float, high: float, *, open_ends: bool = False) -> float:
    """The value as a float if it is a number in [low, high] (or inside it), else InputError.

    >>> number("q00", 0.5, 0, 1)
    0.5
    >>> number("theta", 1, 0, 1, open_ends=True)
    Traceback (most recent call last):
    sojourn.InputError: theta = 1 is not allowed: it must be a number strictly between 0 and 1
    """
    if _finite(value) and (low < value < high if open_ends else low <= value <= high):
        return float(value)
    if not isfinite(low):
        between = "that is finite"
    elif isfinite(high):
        between = f"strictly between {low:g} and" if open_ends else f"from {low:g} to"
        between += f" {high:g}"
    else:
        between = f"greater than {low:g}" if open_ends else f"of at least {low:g}"
    raise InputError(f"{name} = {shown(value)} is not allowed: it must be a number {between}")


def numbers(name: str, values: Any, low: float, high: float) -> tuple[float, ...]:
    """The values as floats if they are a list of numbers in [low, high], else InputError.

    >>> numbers("odds", [2, 0], -50, 50)
    (2.0, 0.0)
    """
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise InputError(f"{name} = {shown(values)} is not allowed: give a list of numbers")
    found = tuple(number(f"{name}[{i}]", x, low, high) for i, x in enumerate(values))
    if not found:
        raise InputError(f"{name} is not allowed: it is empty")
    return found


def share(name: str, value: Any) -> float:
    """The value as a float if it is a number above 0 and at most 1, else InputError.

    >>> share("threshold", 0)
    Traceback (most recent call last):
    sojourn.InputError: threshold = 0 is not allowed: it must be a number greater than 0, at most 1
    """
    if _finite(value) and 0.0 < value <= 1.0:
        return float(value)
    raise InputError(
        f"{name} = {shown(value)} is not allowed: it must be a number greater than 0, at most 1"
    )


def whole(name: str, value: Any, low: int, high: float = float("inf")) -> int:
    """The value as an int if it is a whole number in [low, high], else InputError.

    >>> whole("runs", 0, 1)
    Traceback (most recent call last):
    sojourn.InputError: runs = 0 is not allowed: it must be a whole number of at least 1
    """
    if _finite(value) and value == int(value) and low <= value <= high:
        return int(value)
    between = f"from {low} to {high:g}" if isfinite(high) else f"of at least {low}"
    raise InputError(f"{name} = {shown(value)} is not allowed: it must be a whole number {between}")


def _finite(value: Any) -> TypeGuard[float]:
    """Whether a value is a number that a float can hold."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
    except OverflowError:  # a whole number of more than 308 digits
        return False


def shown(value: Any) -> str:
    """A value for a sentence, cut where it becomes long.

    >>> shown("x" * 1000)[-8:]
    'xxxxx...'
    """
    try:
        text = repr(value)
    except ValueError:  # of so many digits that Python does not print it
        return "a number of thousands of digits"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def flag(name: str, value: Any) -> bool:
    """The value if it is True or False, else InputError.

    >>> flag("by_step", "no")
    Traceback (most recent call last):
    sojourn.InputError: by_step = 'no' is not allowed: it must be True or False
    """
    if isinstance(value, bool):
        return value
    raise InputError(f"{name} = {value!r} is not allowed: it must be True or False")


def one_of(name: str, value: Any, allowed: Iterable[str]) -> str:
    """The value if it is one of the allowed words, else InputError.

    >>> one_of("axis", "lin", ["linear", "log"])
    Traceback (most recent call last):
    sojourn.InputError: axis = 'lin' is not allowed: it must be one of linear, log
    """
    allowed = list(allowed)
    if value in allowed:
        return str(value)
    raise InputError(f"{name} = {value!r} is not allowed: it must be one of {', '.join(allowed)}")


def keys(
    prefix: str, given: Iterable[str], *, required: Iterable[str], known: Iterable[str], whose: str
) -> None:
    """InputError for the first key that is not known, or that is missing.

    >>> keys("user.", ["model"], required=["model", "theta"], known=["model", "theta"], whose="it")
    Traceback (most recent call last):
    sojourn.InputError: user.theta is missing: it has model, theta
    """
    given, known = list(given), list(known)
    for key in given:
        if key not in known:
            raise InputError(f"{prefix}{key} is not known: {whose} has {', '.join(known)}")
    for key in required:
        if key not in given:
            raise InputError(f"{prefix}{key} is missing: {whose} has {', '.join(known)}")
