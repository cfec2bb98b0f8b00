"""The command `sojourn reproduce`: a thin layer over `reproduce`."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

from ..simulation import Interrupted
from .figures import FIGURES
from .reproduce import QUICK, Overall, reproduce

EPILOG = "Example: sojourn reproduce a b --quick --out reproduction"


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
    try:
        with _progress_bar() as progress:
            report = reproduce(
                names or (),
                precision=precision or QUICK,
                seed=seed,
                out=out,
                redraw=redraw,
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
def _progress_bar() -> Iterator[Callable[[Overall], None] | None]:
    """Share done and time left of everything, on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
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
            left = "" if now.left is None else f"{now.left // 60:.0f}:{now.left % 60:02.0f} left"
            bar.update(task, completed=now.share, description=now.experiment, left=left)

        yield show
