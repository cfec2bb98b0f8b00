"""The command `sojourn reproduce`."""

from pathlib import Path
from typing import Annotated

import typer

from ..show.tables import Table
from .arguments import AsJson, Seed, Workers
from .output import STOPPED, note, print_json, print_table
from .progress import by_work, progress

EXAMPLE = "sojourn reproduce a b --quick --out reproduction"


def reproduce_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAMES]...", help="Figures; all unless named. See --list."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few runs: about a minute for everything (default).")
    ] = False,
    precision: Annotated[
        str | None,
        typer.Option(metavar="quick|paper", help="paper: the paper's half-widths everywhere."),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where results, figures and report go.")
    ] = Path("reproduction"),
    list_names: Annotated[
        bool, typer.Option("--list", help="Print the names of the figures and end.")
    ] = False,
    redraw: Annotated[
        bool, typer.Option("--redraw", help="Draw and check saved results; run nothing.")
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the documentation's page too, its figures beside it.",
            show_default=False,
        ),
    ] = None,
    seed: Seed = 0,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Every figure and claim of the paper, as a report with verdicts.

    Finished work is kept in the folder: after Ctrl-C the same command goes on from there. The
    first run on a machine also compiles, which takes some minutes once.
    """
    from ..lab.paper.figures import FIGURES
    from ..lab.paper.reproduce import reproduce
    from ..lab.trials import QUICK
    from ..simulation import Interrupted

    if list_names:
        figures = [
            {"name": name, "title": figure.title, "section": figure.section}
            for name, figure in FIGURES.items()
        ]
        _print_figures(figures, as_json)
        return
    if quick and precision not in (None, QUICK):
        raise ValueError("give either --quick or --precision paper, not both")
    if not redraw:
        note("the first run on a machine also compiles, which takes some minutes once")
    try:
        with progress(lines=True) as show:
            report = reproduce(
                names or (),
                precision=precision or QUICK,
                seed=seed,
                out=out,
                redraw=redraw,
                page=page,
                workers=workers,
                progress=by_work(show),
            )
    except Interrupted:
        note("stopped; the same command goes on from here")
        raise typer.Exit(STOPPED) from None
    if as_json:
        print_json([found.to_dict() for found in report.checked])
        return
    for found in report.checked:
        print(f"{found.verdict.value:<32}{found.claim.section}: {found.claim.text}")
    print(f"\n{report.summary}\nReport: {out / 'report.html'}")


def _print_figures(figures: list[dict[str, str]], as_json: bool) -> None:
    if as_json:
        print_json(figures)
    else:
        print_table(Table(["name", "title", "section"], [list(row.values()) for row in figures]))
