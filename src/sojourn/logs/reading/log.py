"""A log as a table of steps, in the engine where the log is."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import ceil
from typing import Any

from .copies import once
from .events import Events, clean, stated_threshold
from .options import LogOptions, resolve
from .source import ROW, Opened, coded, kept, scalar
from .steps import steps

AT_ONCE = 10_000_000
"""Rows that are sorted at a time in the embedded engine, about: those of whole users."""


def settled(source: Opened, options: LogOptions) -> tuple[LogOptions, dict[str, str]]:
    """The options with what could be guessed or is stated by the log itself, and the guesses."""
    columns = [c for c in source.table.columns if c != ROW]
    chosen, guessed = resolve(options, columns)
    if chosen.threshold is None and chosen.guess and "threshold" in columns:
        stated = stated_threshold(source)
        if stated is not None:
            chosen, guessed["threshold"] = replace(chosen, threshold=stated), "threshold"
    return chosen, guessed


@contextmanager
def steps_of(source: Opened, options: LogOptions) -> Iterator[tuple[Events, Any]]:
    """The events of a log, and its steps (see `steps`) as a table that is kept while they are used.

    InputError if there are bad rows, or rows that were written twice, and they are not to be
    skipped.
    """
    events = clean(source, options)
    if source.embedded:
        events = replace(events, table=coded(events.table, "arm"))
    with _kept(source, events, options) as table:
        # Copies have the same place, so there are none unless some steps are tied.
        tied = options.ties == "keep" and bool(scalar(table.tied.any()))
        single = once(events, options, source.name) if tied else events
        if single.table is events.table:
            yield single, table
            return
    with _kept(source, single, options) as table:
        yield single, table


@contextmanager
def _kept(source: Opened, events: Events, options: LogOptions) -> Iterator[Any]:
    # Sorting is what takes memory; an engine of one's own does it for some users at a time.
    parts = ceil(events.rows / AT_ONCE) if source.embedded else 1
    with kept(*steps(events, options, parts)) as table:
        yield table
