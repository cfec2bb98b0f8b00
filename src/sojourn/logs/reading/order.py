"""What the order of a log's rows rests on."""

from typing import Any

import ibis

from ...validation import InputError
from .options import LogOptions
from .source import Opened, fetched


def check_order(source: Opened, options: LogOptions) -> None:
    """InputError if nothing says in which order things happened."""
    if not source.embedded and options.step is None and options.time is None:
        raise InputError(
            f"{source.name} has rows in no order: give step or time (a column that orders them)"
        )


def order_notes(table: Any, options: LogOptions) -> list[str]:
    """What the order of clean events rests on, where that was not said."""
    if options.time_first and options.gap is None:
        return [f"steps are in the order of {options.time}, then of {options.step}"]
    if options.step is not None or options.time is not None:
        return []
    return [f"no step or time column: steps are in the order of the rows{_scattered(table)}"]


def _scattered(table: Any) -> str:
    """How many visits have rows of others between their own, in words, or nothing."""
    keys = [c for c in ("user", "visit") if c in table.columns]
    if "visit" not in keys:
        return ""
    rows = ibis.window(order_by="row")
    begins = ibis.literal(False)
    for key in keys:
        before = table[key].lag().over(rows)
        begins = begins | ibis.coalesce(table[key] != before, ibis.literal(True))
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
