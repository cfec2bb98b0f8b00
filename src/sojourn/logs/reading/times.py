"""Times of a log in seconds, whatever they are written as."""

from typing import Any

import ibis

from .options import UNITS, LogOptions
from .source import fetched, try_cast

SIZES = {"ms": 1e11, "us": 1e14, "ns": 1e17}
"""Numbers from here on are in this unit: in the next larger one they would be dates after 5000."""

WORDS = {"ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


def unit(raw: Any, options: LogOptions) -> tuple[float, list[str]]:
    """Seconds in one unit of a numeric time column, and a note if that was guessed."""
    if options.time_unit is not None:
        return UNITS[options.time_unit], []
    if options.time is None or not raw[options.time].type().is_numeric():
        return 1.0, []
    values = finite(raw[options.time])
    positive = ibis.ifelse(values > 0, values, ibis.null("float64"))
    ends = fetched(raw.aggregate(low=positive.min(), high=positive.max()))
    low, high = float(ends["low"][0]), float(ends["high"][0])
    small, large = _by_size(low), _by_size(high)
    if small != large:
        raise ValueError(
            f"{options.time} has times from {low:g} to {high:g}, as if in different units: "
            "mend them, or give time_unit"
        )
    if large == "s":
        return 1.0, []
    return UNITS[large], [
        f"{options.time} taken for {WORDS[large]} (its largest value is {high:g})"
    ]


def _by_size(value: float) -> str:
    return next((u for u in ("ns", "us", "ms") if value >= SIZES[u]), "s")


def in_seconds(column: Any, unit: float) -> Any:
    """A column of times as seconds; null where it cannot be read.

    Texts without an offset from UTC are in UTC, and so are timestamps without a zone.
    """
    kind = column.type()
    if kind.is_string():
        return in_seconds(try_cast(column, "timestamp('UTC')"), unit)
    if kind.is_timestamp() or kind.is_date():
        stamp = column.cast("timestamp")  # whose `epoch_seconds` leave out what is below a second
        below = stamp.microsecond().cast("float64") * 1e-6
        return stamp.epoch_seconds().cast("float64") + below
    return finite(column) * unit


def finite(column: Any) -> Any:
    """A column of numbers as floats, null where it is infinite or not a number."""
    value = column.cast("float64")
    if not column.type().is_floating():
        return value
    return ibis.ifelse(value.isnan() | value.isinf(), ibis.null("float64"), value)


def end_of(raw: Any, options: LogOptions, start: Any, unit: float) -> Any:
    """When an event was over: idle time counts from here."""
    if options.duration is not None:
        lasted = ibis.coalesce(finite(raw[options.duration].cast("float64")), 0.0)
        return start + ibis.greatest(lasted, 0.0)
    if options.end is not None:
        return ibis.coalesce(ibis.greatest(in_seconds(raw[options.end], unit), start), start)
    return start
