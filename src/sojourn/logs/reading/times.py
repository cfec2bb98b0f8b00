"""Times of a log in seconds, whatever they are written as."""

from sys import float_info
from typing import Any

import ibis
import ibis.expr.datatypes as dt

from ...validation import InputError
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
        raise InputError(
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
        if column._find_backend(use_default=True).name == "pyspark":
            micros = _micros(column.cast("timestamp('UTC')"))
            whole, below = (micros / 1_000_000).floor(), micros % 1_000_000
        else:
            stamp = column.cast("timestamp")  # its `epoch_seconds` have nothing below a second
            whole, below = stamp.epoch_seconds(), stamp.microsecond()
        return whole.cast("float64") + below.cast("float64") * 1e-6
    return finite(column) * unit


def _micros(stamp: Any) -> Any:
    """Microseconds since 1970: what Spark has instead of those since the last second."""

    def unix_micros(stamp: dt.timestamp) -> int:  # type: ignore[empty-body]
        ...

    return ibis.udf.scalar.builtin(unix_micros)(stamp)


def finite(column: Any) -> Any:
    """A column of numbers as floats, null where it is infinite or not a number."""
    value = column.cast("float64")
    if not column.type().is_floating():
        return value
    beyond = value.isnan() | (value.abs() > float_info.max)  # not every engine knows `isinf`
    return ibis.ifelse(beyond, ibis.null("float64"), value)


def end_of(raw: Any, options: LogOptions, start: Any, unit: float) -> Any:
    """When an event was over: idle time counts from here."""
    if options.duration is not None:
        lasted = ibis.coalesce(finite(raw[options.duration].cast("float64")), 0.0)
        return start + ibis.greatest(lasted, 0.0)
    if options.end is not None:
        return ibis.coalesce(ibis.greatest(in_seconds(raw[options.end], unit), start), start)
    return start
