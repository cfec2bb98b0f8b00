"""What `reproduce` and `study beyond` share: options, progress, and how a report is printed."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ..validation import InputError
from .arguments import AsJson, Seed, Workers, option
from .output import STOPPED, note, print_json
from .progress import by_work, progress

if TYPE_CHECKING:
    from ..lab.report import Report

Out = Annotated[Path, option("Where results, pictures and report go.", metavar="DIR")]


class StudyOptions(NamedTuple):
    """What may be asked of every study."""

    redraw: Annotated[bool, option("Draw and check saved results; run nothing.", "--redraw")] = (
        False
    )
    page: Annotated[
        Path | None,
        option("Write the documentation's page too, pictures beside it.", metavar="FILE"),
    ] = None
    seed: Seed = 0
    workers: Workers = None
    as_json: AsJson = False


def precision_of(quick: bool, precision: str | None, best: str) -> str:
    """What --quick and --precision ask for; `best` is what is not quick."""
    from ..lab.trials import QUICK

    if quick and precision not in (None, QUICK):
        raise InputError(f"give either --quick or --precision {best}, not both")
    return precision or QUICK


def every_verdict(report: "Report[Any]", report_file: Path) -> str:
    """A line for each claim, the counts, and where the report is."""
    lines = []
    for found in report.checked:
        section = f"{found.claim.section}: " if found.claim.section else ""
        lines.append(f"{found.verdict.value:<32}{section}{found.claim.text}")
    return "\n".join([*lines, f"\n{report.summary}\nReport: {report_file}"])


def conduct(
    study: Callable[..., "Report[Any]"],
    report_file: Path,
    options: StudyOptions,
    say: Callable[["Report[Any]", Path], str] = every_verdict,
    **more: Any,
) -> None:
    """Run a study with these options and print what `say` says of its report."""
    asked = options._asdict()
    as_json = asked.pop("as_json")
    try:
        with progress(lines=True) as show:
            report = study(**asked, **more, out=report_file.parent, progress=by_work(show))
    except KeyboardInterrupt:
        note("stopped; the same command goes on from here")
        raise typer.Exit(STOPPED) from None
    if as_json:
        print_json([found.to_dict() for found in report.checked])
    else:
        print(say(report, report_file))
