"""The command `sojourn reproduce`."""

from pathlib import Path
from typing import Annotated

import typer

from ..show.tables import Table
from .arguments import AsJson, Seed, Workers, option
from .output import note, print_json, print_table
from .studies import Out, Page, Redraw, conduct

EXAMPLE = "sojourn reproduce a b --quick --out reproduction"


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
    redraw: Redraw = False,
    page: Page = None,
    seed: Seed = 0,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Every figure and claim of the paper, as a report with verdicts.

    Finished work is kept in the folder: after Ctrl-C the same command goes on from there. The
    first run on a machine also compiles, which takes some minutes once.
    """
    from ..lab.paper.reproduce import reproduce
    from ..lab.trials import QUICK

    if list_names:
        _print_figures(as_json)
        return
    if quick and precision not in (None, QUICK):
        raise ValueError("give either --quick or --precision paper, not both")
    if not redraw:
        note("the first run on a machine also compiles, which takes some minutes once")
    conduct(
        reproduce,
        out / "report.html",
        as_json,
        names=names or (),
        precision=precision or QUICK,
        seed=seed,
        out=out,
        redraw=redraw,
        page=page,
        workers=workers,
    )


def _print_figures(as_json: bool) -> None:
    from ..lab.paper.figures import FIGURES

    heads = ("name", "title", "section")
    rows = [[name, figure.title, figure.section] for name, figure in FIGURES.items()]
    if as_json:
        print_json([dict(zip(heads, row, strict=True)) for row in rows])
    else:
        print_table(Table(heads, rows))
