"""Rows as they come become events: typed, their outcomes 0, 1 or unknown, bad rows counted.

Graded rewards, from 0 to 1 with a threshold, stay beside their outcome, in a column `value`.

A bad row that still has a place in its visit keeps it, with its outcome unknown: to drop it would
make the row before it look like a departure. A row without a place is left out.
"""

from dataclasses import dataclass, replace
from typing import Any

import ibis

from ...validation import InputError
from .columns import mapped, typed, unit_of
from .source import Opened, fetched, scalar
from .spec import NEVER, LogSpec, Reading, moment

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


def clean(source: Opened, reading: Reading, states: bool = False) -> Events:
    """The events of a log; InputError if there are bad rows and they are not to be skipped."""
    raw, spec, name = source.table, reading.spec, source.name
    if not source.embedded and spec.step is None and spec.time is None:
        raise InputError(
            f"{name} has rows in no order: give step or time (a column that orders them)"
        )
    unit, notes = unit_of(raw, spec)
    columns = typed(raw, source.embedded, spec, unit)
    stated = states and spec.threshold is None and "state" in raw.columns
    if stated and raw["state"].type().is_numeric():
        columns["state"] = raw["state"].cast("float64")
    table = raw.select(**columns)
    if spec.arms is not None:
        table = mapped(table, spec.arms)
    places = [c for c in ("visit", "user", "step" if reading.by_step else "time") if c in columns]
    negative = table.time < 0.0 if spec.time is not None else ibis.literal(False)
    marked = table.mutate(
        no_place=ibis.or_(*(table[c].isnull() for c in places)),
        negative=ibis.coalesce(negative, ibis.literal(False)),
    )
    counts = _count(marked)
    rows = counts["rows"]
    if rows == 0:
        raise InputError(f"{name} has no rows")
    if rows == counts["no reward"] + counts["unknown outcome"]:
        empty = f"all {rows:,} rows of {spec.reward!r} are empty"
        neither = f"no row of {spec.reward!r} is 0 or 1; if it is graded, give threshold"
        raise InputError(
            f"{name} has no known reward: {neither if counts['unknown outcome'] else empty}"
        )
    bad = {kind: counts[kind] for kind in KINDS if counts[kind]}
    blank = _blank_visits(marked) if bad else ""
    if bad and spec.bad == "refuse":
        raise InputError(_refusal(name, spec, rows, bad, blank))
    kept = marked.filter(~marked.no_place & ~marked.negative)
    outcome = ibis.ifelse(kept.arm.isnull(), ibis.null("int8"), kept.outcome)
    table = kept.mutate(reward=outcome).drop("no_place", "negative", "outcome", "missing")
    graded = spec.threshold is not None and _is_graded(marked)
    if graded:
        notes.append(
            "rewards are graded: means are those of the rewards themselves; from "
            f"{spec.threshold:g} on a reward counts as 1 and below as 0 in states and departures"
        )
    elif "value" in table.columns:
        table = table.drop("value")
    found = tuple(n for n in (*notes, blank, *_order_notes(table, reading)) if n)
    return Events(table, rows, bad, unit, found, graded)


def _is_graded(marked: Any) -> bool:
    """Whether there are rewards between 0 and 1, and none beyond."""
    known = marked.filter(marked.outcome.notnull())
    between = ((known.value > 0.0) & (known.value < 1.0)).sum()
    ends = known.aggregate(low=known.value.min(), high=known.value.max(), between=between)
    (row,) = ends.to_pyarrow().to_pylist()
    return bool(row["between"]) and row["low"] >= 0.0 and row["high"] <= 1.0


def log_end(events: Events, spec: LogSpec) -> float | None:
    """The end of the log in seconds: as given or, where a gap ends visits, its last moment.

    None if neither is known.
    """
    if spec.log_end == NEVER or (spec.log_end is None and spec.gap is None):
        return None
    if spec.log_end is not None:
        return moment("log_end", spec.log_end, events.unit)
    return float(scalar(events.table.end.max()))


def _order_notes(table: Any, reading: Reading) -> list[str]:
    """What the order of clean events rests on, where that was not said."""
    spec = reading.spec
    if reading.time_first and spec.gap is None:
        return [f"steps are in the order of {spec.time}, then of {spec.step}"]
    if spec.step is not None or spec.time is not None:
        return []
    return [f"no step or time column: steps are in the order of the rows{_scattered(table)}"]


def _scattered(table: Any) -> str:
    """How many visits have rows of others between their own, in words, or nothing."""
    keys = [c for c in ("user", "visit") if c in table.columns]
    if "visit" not in keys:
        return ""
    rows = ibis.window(order_by="row")
    changes = (table[key] != table[key].lag().over(rows) for key in keys)
    begins = ibis.or_(*(ibis.coalesce(change, ibis.literal(True)) for change in changes))
    marked = table.select(*keys, begins=begins)
    runs = marked.group_by(keys).aggregate(runs=marked.begins.sum())
    found = fetched(runs.aggregate(all=runs.count(), torn=(runs.runs > 1).sum()))
    torn = int(found["torn"][0] or 0)
    if torn == 0:
        return ""
    return (
        f", but {torn:,} of {int(found['all'][0]):,} visits have rows of others between their own: "
        "if rows were shuffled or sorted, this fit is wrong; give step or time"
    )


def once(events: Events, spec: LogSpec, name: str) -> Events:
    """The events without rows that are the same as another in all columns that are read.

    With a column of steps such copies are bad rows. Without one, rows of one moment may be items of
    one screen: they are bad only if half of the log are copies, and else there is a note.
    """
    table = events.table
    keys = [c for c in table.columns if c != "row"]
    ordered = "row" in table.columns
    different = table.group_by(keys).aggregate(row=table.row.min()) if ordered else table.distinct()
    copies = int(scalar(table.count())) - int(scalar(different.count()))
    if copies == 0:
        return events
    same = "same " + ", ".join(c for c in ("user", "visit", "step", "time") if c in keys)
    what = f"{copies:,} of {events.rows:,} rows are copies of another ({same}, arm and reward)"
    if "step" not in keys and 2 * copies < events.rows:
        note = f"{what}: items of one screen, or rows that were written twice"
        return replace(events, notes=(*events.notes, note))
    if spec.bad == "refuse":
        raise InputError(
            f"{name} looks like a log written twice: {what}: "
            "remove them, or give bad='skip' to count such rows once"
        )
    return replace(events, table=different, bad={**events.bad, "copies": copies})


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


def _blank_visits(marked: Any) -> str:
    """How many visits have no known reward at all, in words, or nothing."""
    if "visit" not in marked.columns:
        return ""
    keys = [c for c in ("user", "visit") if c in marked.columns]
    known = marked.group_by(keys).aggregate(known=marked.outcome.count())
    blank = int(scalar(known.filter(known.known == 0).count()))
    have = "visit has" if blank == 1 else "visits have"
    return f"{blank:,} {have} no known reward at all" if blank else ""


def _refusal(name: str, spec: LogSpec, rows: int, bad: dict[str, int], blank: str) -> str:
    listed = ", ".join(f"{count:,} {KINDS[kind]}" for kind, count in bad.items())
    graded = bad.get("unknown outcome", 0) > 0.2 * rows and spec.threshold is None
    count = sum(bad.values())
    return (
        f"{name} has {count:,} bad row{'' if count == 1 else 's'} of {rows:,} ({listed})"
        f"{f', and {blank}' if blank else ''}: fix them, or give bad='skip' to leave them out of "
        f"the counts{'; if the reward is graded, give threshold' if graded else ''}"
    )
