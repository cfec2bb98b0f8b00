"""The command `sojourn study beyond`."""

from pathlib import Path
from typing import Annotated

import typer

from .arguments import AsJson, Seed, Workers
from .output import STOPPED, note, print_json
from .progress import by_work, progress

EPILOG = "Example: sojourn study beyond --quick --out study"

app = typer.Typer(epilog=EPILOG)


@app.callback()
def _root() -> None:
    """Studies: many policies on many problems, with a report."""


@app.command("beyond", epilog=EPILOG)
def beyond_command(
    quick: Annotated[
        bool, typer.Option("--quick", help="Few runs: about a minute (default).")
    ] = False,
    precision: Annotated[
        str | None, typer.Option(metavar="quick|full", help="full: a quarter of an hour or so.")
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where results, pictures and report go.")
    ] = Path("study"),
    redraw: Annotated[
        bool, typer.Option("--redraw", help="Draw and check saved results; run nothing.")
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the report here too.", show_default=False),
    ] = None,
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
    from ..simulation import Interrupted

    if quick and precision not in (None, QUICK):
        raise ValueError("give either --quick or --precision full, not both")
    try:
        with progress(lines=True) as show:
            report = study(
                precision=precision or QUICK,
                seed=seed,
                out=out,
                redraw=redraw,
                page=page,
                workers=workers,
                progress=by_work(show),
            )
    except (Interrupted, KeyboardInterrupt):
        note("stopped; the same command goes on from here")
        raise typer.Exit(STOPPED) from None
    if as_json:
        print_json([found.to_dict() for found in report.checked])
        return
    for found in report.checked:
        print(f"{found.verdict.value:<32}{found.claim.text}")
    print(f"\n{report.summary}\nReport: {out / REPORT}")
