"""The command `sojourn study beyond`: a thin layer over `study`."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from ..lab.beyond.beyond import QUICK, REPORT, study
from ..lab.progress import Overall
from ..simulation import Interrupted

EPILOG = "Example: sojourn study beyond --quick --out study"
PAUSE = 10.0
"""Seconds between two lines of progress."""

app = typer.Typer(epilog=EPILOG, add_completion=False)


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
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    workers: Annotated[
        int | None, typer.Option(help="Threads; default: one a processor.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Engagement-aware, learned and plain policies on the paper's problems and many others.

    Finished work is kept in the folder: after Ctrl-C the same command goes on from there. The
    first run on a machine also compiles, which takes some minutes once.
    """
    if quick and precision not in (None, QUICK):
        raise ValueError("give either --quick or --precision full, not both")
    try:
        report = study(
            precision=precision or QUICK,
            seed=seed,
            out=out,
            redraw=redraw,
            page=page,
            workers=workers,
            progress=_line_by_line(),
        )
    except (Interrupted, KeyboardInterrupt):
        print("note: stopped; the same command goes on from here", file=sys.stderr)
        raise typer.Exit(130) from None
    if as_json:
        print(json.dumps([found.to_dict() for found in report.checked], indent=2))
        return
    for found in report.checked:
        print(f"{found.verdict.value:<32}{found.claim.text}")
    print(f"\n{report.summary}\nReport: {out / REPORT}")


def _line_by_line() -> Callable[[Overall], None]:
    """A line on standard error now and then: share done, what is at work, time left."""
    shown = -PAUSE

    def show(now: Overall) -> None:
        nonlocal shown
        if time.monotonic() - shown >= PAUSE:
            shown = time.monotonic()
            left = f"{now.left // 60:.0f}:{now.left % 60:02.0f}"
            print(f"{now.share:4.0%}  {now.work}, about {left} left", file=sys.stderr)

    return show
