"""How far a command is, on standard error: a bar on a terminal, which goes away in the end.

Where there is no terminal, commands that take long print a line now and then.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..lab.progress import Overall
    from ..simulation import Progress as Runs

PAUSE = 10.0
"""Seconds between lines where there is no terminal, unless something new begins."""


class Now(NamedTuple):
    """What is at work, the share done (None if nobody knows), what to add, and seconds left."""

    work: str
    share: float | None
    detail: str = ""
    left: float | None = None

    @property
    def time_left(self) -> str:
        """As minutes and seconds."""
        return "" if self.left is None else f"{self.left // 60:.0f}:{self.left % 60:02.0f} left"


Show = Callable[[Now], None]


@contextmanager
def progress(*, lines: bool = False) -> Iterator[Show]:
    """A function that shows how far a command is."""
    if sys.stderr.isatty():
        with _bar() as show:
            yield show
    else:
        yield _lines() if lines else lambda now: None


def by_runs(show: Show) -> Callable[["Runs"], None]:
    """Takes the progress of a simulation: runs, runs a second, and the time left at this pace."""
    start = time.monotonic()

    def take(now: "Runs") -> None:
        elapsed, runs = max(time.monotonic() - start, 1e-9), sum(now.runs)
        share = now.done / now.total if now.total else None
        left = elapsed / share - elapsed if share else None
        show(Now("simulating", share, f"{runs:,} runs, {runs / elapsed:,.0f} a second", left))

    return take


def by_work(show: Show) -> Callable[["Overall"], None]:
    """Takes the progress of many pieces of work, with the time left that it has."""
    return lambda now: show(Now(now.work, now.share, left=now.left))


@contextmanager
def _bar() -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[percent]}"),
        TextColumn("{task.fields[detail]}"),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, percent="", detail="", left="")

        def show(now: Now) -> None:
            bar.update(
                task,
                description=now.work,
                completed=now.share or 0.0,
                total=None if now.share is None else 1.0,
                percent="" if now.share is None else f"{now.share:4.0%}",
                detail=now.detail,
                left=now.time_left,
            )

        yield show


def _lines() -> Show:
    """Print a line for each new piece of work, and for a long one now and then."""
    work, printed = "", 0.0

    def show(now: Now) -> None:
        nonlocal work, printed
        if now.work != work or time.monotonic() - printed > PAUSE:
            work, printed = now.work, time.monotonic()
            line = f"{now.share or 0.0:4.0%}  {work:<12}{now.detail}{now.time_left}"
            print(line, file=sys.stderr, flush=True)

    return show
