"""Progress: a bar on a terminal or in a notebook, removed at the end.

Elsewhere, long work may print a line now and then.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any, NamedTuple

PAUSE = 10.0  # seconds between lines where there is no terminal, unless something new begins
SOON = 0.5  # seconds before a notebook shows anything: most cells are quicker
OFTEN = 0.2  # seconds between messages to a notebook


class Now(NamedTuple):
    """The current work, the share done (None: unknown), what to add, and seconds left."""

    work: str
    share: float | None
    detail: str = ""
    left: float | None = None

    @property
    def percent(self) -> str:
        return "" if self.share is None else f"{self.share:4.0%}"

    @property
    def time_left(self) -> str:
        """Empty if unknown, and at the end."""
        if self.left is None or (self.share or 0.0) >= 1.0:
            return ""
        return f"{self.left // 60:.0f}:{self.left % 60:02.0f} left"


Show = Callable[[Now], None]


@contextmanager
def progress(*, lines: bool = False) -> Iterator[Show]:
    """A function that shows how far the work is."""
    if in_notebook():
        with _cell() as show:
            yield show
    elif sys.stderr.isatty():
        with _bar() as show:
            yield show
    else:
        yield _lines() if lines else lambda now: None


def by_share(show: Show, work: str) -> Callable[[float], None]:
    """Takes the share done of some work that begins now; the time left goes by its pace."""
    start = time.monotonic()

    def take(share: float) -> None:
        elapsed = time.monotonic() - start
        show(Now(work, share, left=elapsed / share - elapsed if share > 0.0 else None))

    return take


def in_notebook() -> bool:
    """Whether this runs in a kernel of Jupyter, so that cells can show what changes."""
    ipython: Any = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


@contextmanager
def _cell() -> Iterator[Show]:
    """A line of HTML below the cell, for which no widgets have to be installed."""
    from IPython.display import display

    start = shown = time.monotonic()
    handle: Any = None

    def show(now: Now) -> None:
        nonlocal handle, shown
        said = time.monotonic()
        if said - start < SOON or said - shown < OFTEN:
            return
        shown, seen = said, {"text/html": _html(now), "text/plain": now.work}
        if handle is None:
            handle = display(seen, raw=True, display_id=True)
        else:
            handle.update(seen, raw=True)

    try:
        yield show
    finally:
        if handle is not None:
            handle.update({"text/html": "", "text/plain": ""}, raw=True)


def _html(now: Now) -> str:
    share = "" if now.share is None else f' value="{now.share:.3f}"'
    words = " ".join(filter(None, (now.percent.strip(), now.work, now.detail, now.time_left)))
    return f"<progress{share}></progress> {escape(words)}"


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
                percent=now.percent,
                detail=now.detail,
                left=now.time_left,
            )

        yield show


def _lines() -> Show:
    """Print a line for each new piece of work, and for a long one now and then."""
    work, printed = "", time.monotonic()

    def show(now: Now) -> None:
        nonlocal work, printed
        if now.work != work or time.monotonic() - printed > PAUSE:
            work, printed = now.work, time.monotonic()
            words = "  ".join(filter(None, (now.detail, now.time_left)))
            print(f"{now.share or 0.0:4.0%}  {work:<12}{words}", file=sys.stderr, flush=True)

    return show
