"""What people see of a simulation under way."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..show.progress import Now, Show, in_notebook, progress
from ..validation import InputError
from .reduce import Progress

Watch = Callable[[Progress], None] | bool | None
"""A function that is told, or whether there is a bar; by default there is one in notebooks."""


@contextmanager
def watched(watch: Watch) -> Iterator[Callable[[Progress], None] | None]:
    """Whom to tell how far a simulation is, if anybody."""
    if callable(watch):
        yield watch
    elif in_notebook() if watch is None else watch:
        with progress() as show:
            yield by_runs(show)
    else:
        yield None


def check_watch(watch: Any) -> None:
    """InputError if nobody can be told."""
    if not (watch is None or isinstance(watch, bool) or callable(watch)):
        raise InputError(
            f"progress = {watch!r} is not allowed: it must be a function, True or False"
        )


def by_runs(show: Show) -> Callable[[Progress], None]:
    """Takes the progress of a simulation: runs, and runs a second, or what is being compiled."""
    start = time.monotonic()

    def take(now: Progress) -> None:
        if now.compiling is not None:
            which = f"{now.compiling} ({now.compiled + 1} of {len(now.runs)}), once per machine"
            show(Now("compiling", None, which))
            return
        runs = sum(now.runs)
        rate = runs / max(time.monotonic() - start, 1e-9)
        share = now.done / now.total if now.total else None
        show(Now("simulating", share, f"{runs:,} runs, {rate:,.0f} a second", now.left))

    return take
