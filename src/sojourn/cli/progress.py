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

PAUSE = 10.0  # seconds between lines where there is no terminal, unless something new begins


class Now(NamedTuple):
    """What is at work, the share done (None if nobody knows), and what to add."""

    work: str
    share: float | None
    detail: str = ""
    left: float | None = None  # seconds; by default what it takes at the pace so far

    def time_left(self, elapsed: float) -> str:
        if self.left is None and not self.share:
            return ""
        left = elapsed / (self.share or 1.0) - elapsed if self.left is None else self.left
        return f"{left // 60:.0f}:{left % 60:02.0f} left"


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
    """Takes the progress of a simulation: runs, and runs a second."""
    start = time.monotonic()

    def take(now: "Runs") -> None:
        runs = sum(now.runs)
        rate = runs / max(time.monotonic() - start, 1e-9)
        share = now.done / now.total if now.total else None
        show(Now("simulating", share, f"{runs:,} runs, {rate:,.0f} a second"))

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
        start = time.monotonic()

        def show(now: Now) -> None:
            bar.update(
                task,
                description=now.work,
                completed=now.share or 0.0,
                total=None if now.share is None else 1.0,
                percent="" if now.share is None else f"{now.share:4.0%}",
                detail=now.detail,
                left=now.time_left(time.monotonic() - start),
            )

        yield show


def _lines() -> Show:
    """Print a line for each new piece of work, and for a long one now and then."""
    work, start = "", time.monotonic()
    printed = start

    def show(now: Now) -> None:
        nonlocal work, printed
        if now.work != work or time.monotonic() - printed > PAUSE:
            work, printed = now.work, time.monotonic()
            line = f"{now.share or 0.0:4.0%}  {work:<12}{now.detail}"
            print(line + now.time_left(printed - start), file=sys.stderr, flush=True)

    return show
