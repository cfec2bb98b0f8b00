"""Rows as they come become events: typed, their outcomes 0, 1 or unknown, bad rows counted.

Graded rewards, from 0 to 1 with a threshold, stay beside their outcome, in a column `value`.

A bad row that still has a place in its visit keeps it, with its outcome unknown: to drop it would
make the row before it look like a departure. A row without a place is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ibis
import pyarrow as pa

from ...validation import InputError
from .options import NEVER, LogOptions, moment
from .order import check_order, order_notes
from .source import ROW, Opened, scalar, try_cast
from .times import end_of, finite, in_seconds, unit as unit_of

ONE, ZERO = ibis.literal(1, "int8"), ibis.literal(0, "int8")
"""Of one byte: in tables of millions of steps that is felt."""

YES = ("1", "1.0", "true", "t", "yes", "y")
NO = ("0", "0.0", "false", "f", "no", "n")

KINDS = {
    "no reward": "with no reward",
    "unknown outcome": "with an outcome that is neither 0 nor 1",
    "no arm": "with no arm",
    "no place": "with no user, visit or time",
    "negative time": "with a negative time",
}


@dataclass(frozen=True)
class Events:
    """A clean table of events, and what was found on the way to it."""

    table: Any
    rows: int
    bad: dict[str, int]
    unit: float
    notes: tuple[str, ...]
    graded: bool = False


def clean(source: Opened, options: LogOptions) -> Events:
    """The events of a log; InputError if there are bad rows and they are not to be skipped."""
    raw = source.table
    check_order(source, options)
    unit, notes = unit_of(raw, options)
    typed = raw.select(**_typed(raw, source.embedded, options, unit))
    if options.arms is not None:
        typed = _mapped(typed, options.arms)
    negative = typed.time < 0.0 if options.time is not None else ibis.literal(False)
    marked = typed.mutate(
        no_place=_any_null(typed, options), negative=ibis.coalesce(negative, ibis.literal(False))
    )
    counts = _count(marked)
    if counts["rows"] == 0:
        raise InputError(f"{source.name} has no rows")
    bad = {kind: counts[kind] for kind in KINDS if counts[kind]}
    if counts["rows"] == counts["no reward"] + counts["unknown outcome"]:
        raise InputError(_no_outcome(source.name, options, counts))
    blank = _blank_visits(marked) if bad else ""
    if bad and options.bad == "refuse":
        raise InputError(_refusal(source.name, options, counts, bad, blank))
    kept = marked.filter(~marked.no_place & ~marked.negative)
    outcome = ibis.ifelse(kept.arm.isnull(), ibis.null("int8"), kept.outcome)
    table = kept.mutate(reward=outcome).drop("no_place", "negative", "outcome", "missing")
    graded = options.threshold is not None and _is_graded(marked)
    if graded:
        notes.append(
            "rewards are graded: means are those of the rewards themselves; from "
            f"{options.threshold:g} on a reward counts as 1 and below as 0 in states and departures"
        )
    elif "value" in table.columns:
        table = table.drop("value")
    found = tuple(n for n in (*notes, blank, *order_notes(table, options)) if n)
    return Events(table, counts["rows"], bad, unit, found, graded)


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


def _is_graded(marked: Any) -> bool:
    """Whether there are rewards between 0 and 1, and none beyond."""
    known = marked.filter(marked.outcome.notnull())
    between = ((known.value > 0.0) & (known.value < 1.0)).sum()
    ends = known.aggregate(low=known.value.min(), high=known.value.max(), between=between)
    (row,) = ends.to_pyarrow().to_pylist()
    return bool(row["between"]) and row["low"] >= 0.0 and row["high"] <= 1.0


def horizon(events: Events, options: LogOptions) -> float | None:
    """Until when the log was kept, in seconds; None if nobody knows.

    That is as given or, where visits are cut by a gap, the last moment of the log.
    """
    if options.horizon == NEVER or (options.horizon is None and options.gap is None):
        return None
    if options.horizon is not None:
        return moment("horizon", options.horizon, events.unit)
    return float(scalar(events.table.end.max()))


def _typed(raw: Any, ordered: bool, options: LogOptions, unit: float) -> dict[str, Any]:
    """The columns of the clean table, as expressions over the raw one."""
    roles = options.roles
    outcome, missing = _outcome(raw[roles["reward"]], options)
    made = {"arm": raw[roles["arm"]].cast("string"), "outcome": outcome, "missing": missing}
    if options.threshold is not None:
        made["value"] = try_cast(raw[roles["reward"]], "float64")
    made |= {role: raw[roles[role]] for role in ("visit", "user", "step") if role in roles}
    made |= {role: _truth(raw[roles[role]]) for role in ("left", "censored") if role in roles}
    if options.propensity is not None:
        made["propensity"] = try_cast(raw[options.propensity], "float64")
    if options.time is not None:
        made["time"] = in_seconds(raw[options.time], unit)
        made["end"] = end_of(raw, options, made["time"], unit)
    if ordered:
        made["row"] = raw[ROW]
    return made


def _mapped(typed: Any, arms: Mapping[Any, str]) -> Any:
    """Items replaced by their arms; an item that is not in the map has none."""
    pairs = pa.table({"item": [str(i) for i in arms], "mapped": [str(a) for a in arms.values()]})
    names = ibis.memtable(pairs)
    joined = typed.left_join(names, typed.arm == names.item)
    return joined.drop("item", "arm").rename(arm="mapped")


def _outcome(column: Any, options: LogOptions) -> tuple[Any, Any]:
    """0, 1 or null for each row, and whether there was nothing to read."""
    missing = column.isnull()
    if column.type().is_floating():
        missing = missing | column.isnan()
    if options.threshold is None and not options.unknown:
        return _truth(column), missing
    value = finite(try_cast(_truth(column) if column.type().is_boolean() else column, "float64"))
    known = ~missing & value.notnull()
    if options.unknown:
        known = known & ~value.isin(list(options.unknown))
    if options.threshold is None:
        read = ibis.cases((value == 1.0, ONE), (value == 0.0, ZERO))
    else:
        read = ibis.ifelse(value >= options.threshold, ONE, ZERO)
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


def _any_null(typed: Any, options: LogOptions) -> Any:
    """Whether a row cannot be placed: something that orders or groups it is missing."""
    needed = [c for c in ("visit", "user") if c in typed.columns]
    if options.by_step:
        needed.append("step")
    elif options.time is not None:
        needed.append("time")
    found = ibis.literal(False)
    for name in needed:
        found = found | typed[name].isnull()
    return found


def _count(marked: Any) -> dict[str, int]:
    placed = ~marked.no_place & ~marked.negative
    unread = marked.outcome.isnull() & placed
    found = marked.aggregate(
        rows=marked.count(),
        no_reward=(unread & marked.missing).sum(),
        unknown_outcome=(unread & ~marked.missing).sum(),
        no_arm=(marked.arm.isnull() & marked.outcome.notnull() & placed).sum(),
        no_place=marked.no_place.sum(),
        negative_time=(marked.negative & ~marked.no_place).sum(),
    ).to_pyarrow()
    (row,) = found.to_pylist()
    return {name.replace("_", " "): int(value or 0) for name, value in row.items()}


def _no_outcome(name: str, options: LogOptions, counts: dict[str, int]) -> str:
    column = options.reward
    if counts["unknown outcome"] == 0:
        return f"{name} has no known reward: all {counts['rows']:,} rows of {column!r} are empty"
    return (
        f"{name} has no known reward: no row of {column!r} is 0 or 1; "
        "if it is graded, give threshold"
    )


def _blank_visits(marked: Any) -> str:
    """How many visits have no known reward at all, in words, or nothing."""
    if "visit" not in marked.columns:
        return ""
    keys = [c for c in ("user", "visit") if c in marked.columns]
    known = marked.group_by(keys).aggregate(known=marked.outcome.count())
    blank = int(scalar(known.filter(known.known == 0).count()))
    return f"{_plural(blank, 'visit has', 'visits have')} no known reward at all" if blank else ""


def _plural(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"


def _refusal(
    name: str, options: LogOptions, counts: dict[str, int], bad: dict[str, int], blank: str
) -> str:
    listed = ", ".join(f"{count:,} {KINDS[kind]}" for kind, count in bad.items())
    graded = bad.get("unknown outcome", 0) > 0.2 * counts["rows"]
    hint = (
        "; if the reward is graded, give threshold" if graded and options.threshold is None else ""
    )
    return (
        f"{name} has {_plural(sum(bad.values()), 'bad row', 'bad rows')} of {counts['rows']:,} "
        f"({listed}){f', and {blank}' if blank else ''}: "
        f"fix them, or give bad='skip' to leave them out of the counts{hint}"
    )
