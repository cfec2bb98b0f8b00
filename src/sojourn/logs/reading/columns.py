"""The columns of a log, typed: times in seconds, outcomes 0, 1 or unknown, arms as text."""

from collections.abc import Mapping
from sys import float_info
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import pyarrow as pa

from ...validation import InputError
from .source import ROW, Opened, fetched, try_cast
from .spec import UNITS, LogSpec

ONE, ZERO = ibis.literal(1, "int8"), ibis.literal(0, "int8")
"""Numbers of one byte, which matters in tables of millions of steps."""

YES = ("1", "1.0", "true", "t", "yes", "y")
NO = ("0", "0.0", "false", "f", "no", "n")

SIZES = {
    "ns": (1e17, "nanoseconds"),
    "us": (1e14, "microseconds"),
    "ms": (1e11, "milliseconds"),
    "s": (0.0, "seconds"),
}
"""Numbers from here on are in this unit: in the next larger one they would be dates after 5000."""


def typed(raw: Any, ordered: bool, spec: LogSpec, unit: float) -> dict[str, Any]:
    """The columns of the clean table, as expressions over the raw one."""
    roles = spec.roles
    outcome, missing = _outcome(raw[roles["reward"]], spec)
    made = {"arm": raw[roles["arm"]].cast("string"), "outcome": outcome, "missing": missing}
    if spec.threshold is not None:
        made["value"] = try_cast(raw[roles["reward"]], "float64")
    made |= {role: raw[roles[role]] for role in ("visit", "user", "step") if role in roles}
    made |= {role: _truth(raw[roles[role]]) for role in ("left", "censored") if role in roles}
    if spec.propensity is not None:
        made["propensity"] = try_cast(raw[spec.propensity], "float64")
    if spec.time is not None:
        made["time"] = _in_seconds(raw[spec.time], unit)
        made["end"] = _end_of(raw, spec, made["time"], unit)
    if ordered:
        made["row"] = raw[ROW]
    return made


def mapped(typed: Any, arms: Mapping[Any, str]) -> Any:
    """Items replaced by their arms; an item that is not in the map has none."""
    pairs = pa.table({"item": [str(i) for i in arms], "mapped": [str(a) for a in arms.values()]})
    names = ibis.memtable(pairs)
    joined = typed.left_join(names, typed.arm == names.item)
    return joined.drop("item", "arm").rename(arm="mapped")


def _outcome(column: Any, spec: LogSpec) -> tuple[Any, Any]:
    """0, 1 or null for each row, and whether there was nothing to read."""
    missing = column.isnull()
    if column.type().is_floating():
        missing = missing | column.isnan()
    if spec.threshold is None and not spec.unknown:
        return _truth(column), missing
    value = _finite(try_cast(_truth(column) if column.type().is_boolean() else column, "float64"))
    known = ~missing & value.notnull()
    if spec.unknown:
        known = known & ~value.isin(list(spec.unknown))
    if spec.threshold is None:
        read = ibis.cases((value == 1.0, ONE), (value == 0.0, ZERO))
    else:
        read = ibis.ifelse(value >= spec.threshold, ONE, ZERO)
    return ibis.ifelse(known, read, ibis.null("int8")), missing


def _truth(column: Any) -> Any:
    """1 or 0 as an integer, null for anything else."""
    kind = column.type()
    if kind.is_boolean():
        return column.ifelse(ONE, ZERO)
    if kind.is_numeric():
        return ibis.cases((column == 1, ONE), (column == 0, ZERO))
    word = column.cast("string").strip().lower()
    return ibis.cases((word.isin(YES), ONE), (word.isin(NO), ZERO))


def stated_threshold(source: Opened) -> float | None:
    """The threshold that a log states in a column of this name, as exports of experiments do."""
    column = try_cast(source.table["threshold"], "float64")
    found = source.table.aggregate(low=column.min(), high=column.max()).to_pyarrow().to_pylist()[0]
    if found["low"] != found["high"]:
        raise InputError(
            f"{source.name} has thresholds from {found['low']:g} to {found['high']:g}: give the "
            "threshold that is meant"
        )
    return None if found["low"] is None else float(found["low"])


def unit_of(raw: Any, spec: LogSpec) -> tuple[float, list[str]]:
    """Seconds in one unit of a numeric time column, and a note if that was guessed."""
    if spec.time_unit is not None:
        return UNITS[spec.time_unit], []
    if spec.time is None or not raw[spec.time].type().is_numeric():
        return 1.0, []
    values = _finite(raw[spec.time])
    positive = ibis.ifelse(values > 0, values, ibis.null("float64"))
    ends = fetched(raw.aggregate(low=positive.min(), high=positive.max()))
    low, high = float(ends["low"][0]), float(ends["high"][0])
    smallest, largest = (next((u for u in SIZES if x >= SIZES[u][0]), "s") for x in (low, high))
    if smallest != largest:
        raise InputError(
            f"{spec.time} has times from {low:g} to {high:g}, as if in different units: "
            "fix them, or give time_unit"
        )
    if largest == "s":
        return 1.0, []
    unit = SIZES[largest][1]
    return UNITS[largest], [f"{spec.time} taken for {unit} (its largest value is {high:g})"]


def _in_seconds(column: Any, unit: float) -> Any:
    """A column of times as seconds; null where it cannot be read.

    Texts without an offset from UTC are in UTC, and so are timestamps without a zone.
    """
    kind = column.type()
    if kind.is_string():
        return _in_seconds(try_cast(column, "timestamp('UTC')"), unit)
    if kind.is_timestamp() or kind.is_date():
        if column._find_backend(use_default=True).name == "pyspark":  # since 1970, not the second

            def unix_micros(stamp: dt.timestamp) -> int:  # type: ignore[empty-body]
                ...

            micros = ibis.udf.scalar.builtin(unix_micros)(column.cast("timestamp('UTC')"))
            whole, below = (micros / 1_000_000).floor(), micros % 1_000_000
        else:
            stamp = column.cast("timestamp")  # its `epoch_seconds` have nothing below a second
            whole, below = stamp.epoch_seconds(), stamp.microsecond()
        return whole.cast("float64") + below.cast("float64") * 1e-6
    return _finite(column) * unit


def _finite(column: Any) -> Any:
    """A column of numbers as floats, null where it is infinite or not a number."""
    value = column.cast("float64")
    if not column.type().is_floating():
        return value
    beyond = value.isnan() | (value.abs() > float_info.max)  # not every engine knows `isinf`
    return ibis.ifelse(beyond, ibis.null("float64"), value)


def _end_of(raw: Any, spec: LogSpec, start: Any, unit: float) -> Any:
    """When an event was over: idle time counts from here."""
    if spec.duration is not None:
        lasted = ibis.coalesce(_finite(raw[spec.duration].cast("float64")), 0.0)
        return start + ibis.greatest(lasted, 0.0)
    if spec.end is not None:
        return ibis.coalesce(ibis.greatest(_in_seconds(raw[spec.end], unit), start), start)
    return start
