"""What `reproduce` and `study beyond` share: options, progress, and how a report is printed."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .arguments import option
from .output import STOPPED, note, print_json
from .progress import by_work, progress

if TYPE_CHECKING:
    from ..lab.report import Report

Out = Annotated[Path, option("Where results, pictures and report go.", metavar="DIR")]
Redraw = Annotated[bool, option("Draw and check saved results; run nothing.", "--redraw")]
Page = Annotated[
    Path | None, option("Write the documentation's page too, pictures beside it.", metavar="FILE")
]


def conduct(
    study: Callable[..., "Report[Any]"], report_file: Path, as_json: bool, **options: Any
) -> None:
    """Run a study with these options and print its verdicts."""
    try:
        with progress(lines=True) as show:
            report = study(**options, progress=by_work(show))
    except KeyboardInterrupt:
        note("stopped; the same command goes on from here")
        raise typer.Exit(STOPPED) from None
    if as_json:
        print_json([found.to_dict() for found in report.checked])
        return
    for found in report.checked:
        section = f"{found.claim.section}: " if found.claim.section else ""
        print(f"{found.verdict.value:<32}{section}{found.claim.text}")
    print(f"\n{report.summary}\nReport: {report_file}")
