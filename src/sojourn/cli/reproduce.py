"""The command `sojourn reproduce`, and the options of every study."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ..show.progress import progress
from ..show.tables import Table
from ..validation import InputError
from .arguments import MODEL, AsJson, Seed, Workers, command, option, with_options
from .output import note, print_json, print_table, stoppable

if TYPE_CHECKING:
    from ..paper.study import Study
    from ..paper.verdicts import Report

Out = Annotated[Path, option("The folder for results, pictures and report.", metavar="DIR")]


class StudyOptions(NamedTuple):
    """The options of every study."""

    redraw: Annotated[bool, option("Draw and check saved results; run nothing.", "--redraw")] = (
        False
    )
    page: Annotated[
        Path | None,
        option("Also write the page of the documentation, with its pictures.", metavar="FILE"),
    ] = None
    seed: Seed = 0
    workers: Workers = None
    as_json: AsJson = False


def precision_of(quick: bool, precision: str | None, best: str) -> str:
    """The precision that --quick and --precision ask for; `best` is the one that is not quick."""
    from ..paper.trials import QUICK

    if quick and precision not in (None, QUICK):
        raise InputError(f"give either --quick or --precision {best}, not both")
    return precision or QUICK


def every_verdict(report: "Report[Any]", report_file: Path) -> str:
    """A line for each claim, the counts, and the path of the report."""
    lines = []
    for found in report.checked:
        section = f"{found.claim.section}: " if found.claim.section else ""
        lines.append(f"{found.verdict.value:<32}{section}{found.claim.text}")
    return "\n".join([*lines, f"\n{report.summary}\nReport: {report_file}"])


def conduct(
    study: "Study[Any]",
    report_file: Path,
    options: StudyOptions,
    say: Callable[["Report[Any]", Path], str] = every_verdict,
    **more: Any,
) -> None:
    """Run a study with these options and print what `say` says of its report."""
    asked = options._asdict()
    as_json = asked.pop("as_json")
    stopped = "stopped; the same command continues from here"
    with stoppable(stopped), progress(lines=True) as show:
        report = study.conduct(**asked, **more, out=report_file.parent, progress=show)
    if as_json:
        print_json([found.to_dict() for found in report.checked])
    else:
        print(say(report, report_file))


@command(MODEL, "reproduce", "sojourn reproduce a b --quick --out reproduction")
@with_options("options", StudyOptions)
def reproduce_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAMES]...", help="Figures; all unless named. See --list."),
    ] = None,
    quick: Annotated[
        bool, option("Few runs: about a minute for everything (default).", "--quick")
    ] = False,
    precision: Annotated[
        str | None, option("paper: the paper's half-widths everywhere.", metavar="quick|paper")
    ] = None,
    out: Out = Path("reproduction"),
    list_names: Annotated[
        bool, option("Print the names of the figures and exit.", "--list")
    ] = False,
    verdicts: Annotated[
        bool, option("Print every claim with its verdict, not a summary.", "--verdicts")
    ] = False,
    *,
    options: StudyOptions,
) -> None:
    """Reproduce every figure and claim of the paper, as a report with verdicts.

    Finished work is kept in the folder: after Ctrl-C the same command continues from there. The
    first run on a machine also compiles, which takes a few minutes once.
    """
    from ..paper.report import digest
    from ..paper.reproduce import reproduction

    if list_names:
        _print_figures(options.as_json)
        return
    wanted = precision_of(quick, precision, "paper")
    if not options.redraw:
        note("the first run on a machine also compiles, which takes a few minutes once")
    say = every_verdict if verdicts else digest
    study = reproduction(names or ())
    conduct(study, out / "report.html", options, say, precision=wanted)


def _print_figures(as_json: bool) -> None:
    from ..paper.figures import FIGURES

    heads = ("name", "title", "section")
    rows = [[name, figure.title, figure.section] for name, figure in FIGURES.items()]
    if as_json:
        print_json([dict(zip(heads, row, strict=True)) for row in rows])
    else:
        print_table(Table(heads, rows))
