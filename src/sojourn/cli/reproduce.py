"""The command `sojourn reproduce`."""

from pathlib import Path
from typing import Annotated

import typer

from ..show.tables import Table
from .arguments import option, with_options
from .output import note, print_json, print_table
from .studies import Out, StudyOptions, conduct, every_verdict, precision_of

EXAMPLE = "sojourn reproduce a b --quick --out reproduction"


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
        bool, option("Print the names of the figures and end.", "--list")
    ] = False,
    verdicts: Annotated[
        bool, option("Print every claim with its verdict, not a digest.", "--verdicts")
    ] = False,
    *,
    options: StudyOptions,
) -> None:
    """Every figure and claim of the paper, as a report with verdicts.

    Finished work is kept in the folder: after Ctrl-C the same command goes on from there. The
    first run on a machine also compiles, which takes some minutes once.
    """
    from ..lab.paper.digest import digest
    from ..lab.paper.reproduce import reproduce

    if list_names:
        _print_figures(options.as_json)
        return
    wanted = precision_of(quick, precision, "paper")
    if not options.redraw:
        note("the first run on a machine also compiles, which takes some minutes once")
    say = every_verdict if verdicts else digest
    conduct(reproduce, out / "report.html", options, say, names=names or (), precision=wanted)


def _print_figures(as_json: bool) -> None:
    from ..lab.paper.figures import FIGURES

    heads = ("name", "title", "section")
    rows = [[name, figure.title, figure.section] for name, figure in FIGURES.items()]
    if as_json:
        print_json([dict(zip(heads, row, strict=True)) for row in rows])
    else:
        print_table(Table(heads, rows))
