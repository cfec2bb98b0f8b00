"""The command `sojourn reproduce`: a thin layer over `reproduce`."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

from ..lab.paper.figures import FIGURES
from ..lab.paper.reproduce import QUICK, reproduce
from ..lab.progress import Overall
from ..simulation import Interrupted

EPILOG = "Example: sojourn reproduce a b --quick --out reproduction"
FIRST_TIME = "note: the first run on a machine also compiles, which takes some minutes once"
PAUSE = 10.0
"""Seconds between lines of progress where there is no terminal, unless something new begins."""


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
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    workers: Annotated[
        int | None, typer.Option(help="Threads; default: one a processor.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Every figure and claim of the paper, as a report with verdicts.

    Finished work is kept in the folder: after Ctrl-C the same command goes on from there. The
    first run on a machine also compiles, which takes some minutes once.
    """
    if list_names:
        _print_names(as_json)
        return
    if quick and precision not in (None, QUICK):
        raise ValueError("give either --quick or --precision paper, not both")
    if not redraw:
        print(FIRST_TIME, file=sys.stderr)
    try:
        with _progress() as progress:
            report = reproduce(
                names or (),
                precision=precision or QUICK,
                seed=seed,
                out=out,
                redraw=redraw,
                page=page,
                workers=workers,
                progress=progress,
            )
    except Interrupted:
        print("note: stopped; the same command goes on from here", file=sys.stderr)
        raise typer.Exit(130) from None
    if as_json:
        claims = [found.to_dict() for found in report.checked]
        print(json.dumps(claims, indent=2, ensure_ascii=False))
        return
    for found in report.checked:
        print(f"{found.verdict.value:<32}{found.claim.section}: {found.claim.text}")
    print(f"\n{report.summary}\nReport: {out / 'report.html'}")


def _print_names(as_json: bool) -> None:
    if as_json:
        rows = [
            {"name": name, "title": figure.title, "section": figure.section}
            for name, figure in FIGURES.items()
        ]
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    for name, figure in FIGURES.items():
        print(f"{name:<18}{figure.title}  [{figure.section}]")


@contextmanager
def _progress() -> Iterator[Callable[[Overall], None]]:
    """Share done and time left of everything, on standard error: a bar, or lines if in a file."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[left]}"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0, left="")

        def show(now: Overall) -> None:
            bar.update(task, completed=now.share, description=now.work, left=_left(now))

        yield show


def _lines() -> Callable[[Overall], None]:
    """Print a line for each new piece of work, and for a long one now and then."""
    work, printed = "", 0.0

    def show(now: Overall) -> None:
        nonlocal work, printed
        if now.work != work or time.monotonic() - printed > PAUSE:
            work, printed = now.work, time.monotonic()
            print(f"{now.share:4.0%}  {work:<12}{_left(now)}", file=sys.stderr, flush=True)

    return show


def _left(now: Overall) -> str:
    return f"{now.left // 60:.0f}:{now.left % 60:02.0f} left"
