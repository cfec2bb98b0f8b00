"""The part of `sojourn fit` that decides: checks before, progress during, the page after."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from .. import checks
from ..logs.deciding.decision import Decision, decide
from ..logs.fitting.model import Fit
from ..logs.reporting.page import check_report, write_report


def check_outputs(visits: int | None, report: Path | None) -> None:
    """Refuse, before any work, what could not be done after it."""
    if visits is not None:
        checks.whole("--visits", visits, 1)
    if report is not None:
        check_report(report)


def decide_and_report(fit: Fit, visits: int | None, report: Path | None) -> Decision:
    """The decision; with `report` also as a page."""
    with progress_bar() as progress:
        decision = decide(fit, visits, progress=progress)
    if report is not None:
        write_report(fit, decision, report)
    return decision


@contextmanager
def progress_bar() -> Iterator[Callable[[float], None] | None]:
    """A function that shows the share done on standard error, or None if that is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("simulating"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda share: bar.update(task, completed=share)
