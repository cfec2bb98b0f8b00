"""Rows that were written twice."""

from dataclasses import replace

from ...validation import InputError
from .events import Events
from .options import LogOptions
from .source import scalar


def once(events: Events, options: LogOptions, name: str) -> Events:
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
    if options.bad == "refuse":
        raise InputError(
            f"{name} looks like a log written twice: {what}: "
            "remove them, or give bad='skip' to count such rows once"
        )
    return replace(events, table=different, bad={**events.bad, "copies": copies})
