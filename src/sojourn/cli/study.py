"""The command `sojourn study beyond`."""

from pathlib import Path
from typing import Annotated

import typer

from .arguments import AsJson, Seed, Workers, option
from .studies import Out, Page, Redraw, conduct

EPILOG = "Example: sojourn study beyond --quick --out study"

app = typer.Typer(epilog=EPILOG)


@app.callback()
def _root() -> None:
    """Studies: many policies on many problems, with a report."""


@app.command("beyond", epilog=EPILOG)
def beyond_command(
    quick: Annotated[bool, option("Few runs: about a minute (default).", "--quick")] = False,
    precision: Annotated[
        str | None, option("full: a quarter of an hour or so.", metavar="quick|full")
    ] = None,
    out: Out = Path("study"),
    redraw: Redraw = False,
    page: Page = None,
    seed: Seed = 0,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Engagement-aware, learned and plain policies on the paper's problems and many others.

    Finished work is kept in the folder: after Ctrl-C the same command goes on from there. The
    first run on a machine also compiles, which takes some minutes once.
    """
    from ..lab.beyond.study import REPORT, study
    from ..lab.trials import QUICK

    if quick and precision not in (None, QUICK):
        raise ValueError("give either --quick or --precision full, not both")
    conduct(
        study,
        out / REPORT,
        as_json,
        precision=precision or QUICK,
        seed=seed,
        out=out,
        redraw=redraw,
        page=page,
        workers=workers,
    )
