"""What the command line shows: tables and JSON on standard output, the rest on standard error."""

import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table

from .. import problem_files as files
from .. import theory
from ..simulation import PrecisionWarning, Progress, Result, StoreWarning
from ..simulation.bounds import bound_for, lower_bounds

WIDTH = 140
"""Columns that a table needs; it is not cut to narrower terminals."""

NOTES = (theory.AssumptionWarning, PrecisionWarning, StoreWarning)
"""The library's warnings to people who simulate."""


def result_dict(result: Result) -> dict[str, Any]:
    """What `simulate --json` prints: the result, its problem as a file has it, and the bounds."""
    return {
        **result.to_dict(),
        "problem": files.to_dict(result.problem),
        "bounds": [asdict(bound) for bound in theory.bounds(result.problem)],
    }


def print_json(value: Any) -> None:
    """Print JSON, with null for numbers that it does not have."""
    print(json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False))


def print_result(result: Result) -> None:
    """Print the table of a result with the theory beside it."""
    problem, visits = result.problem, int(result.checkpoints[-1])
    regret, raw, length = result.regret, result.raw_regret, result.visit_length
    table = _table("runs", "regret", "±", "from rewards", "±", "steps a visit", "slope", "x log K")
    for p, policy in enumerate(result.policies):
        table.add_row(
            result.labels[p],
            f"{result.runs[p]:,}",
            *(f"{x[p, -1]:,.1f}" for x in (regret.mean, regret.half_width)),
            *(f"{x[p, -1]:,.0f}" for x in (raw.mean, raw.half_width)),
            f"{length.mean[p, -1]:,.2f}",
            *_theory_cells(bound_for(policy, problem), visits),
        )
    for bound in lower_bounds(problem):
        table.add_row(bound.name, *[""] * 6, *_theory_cells(bound, visits))

    console = Console(highlight=False, markup=False)
    console.width = max(console.width, WIDTH)
    console.print(problem, soft_wrap=True)
    console.print(
        f"Regret after {visits:,} visits, mean and 95 % interval over runs, "
        f"seed {result.seed}; beside it the\npaper's bounds, a slope times log K for K visits, "
        "up to terms of lower order: compare slopes, not values.\n",
        soft_wrap=True,
    )
    console.print(table)


def note(text: str) -> None:
    """One line on standard error."""
    print(f"note: {one_line(text)}", file=sys.stderr)


def complain(sentence: str) -> int:
    """One line on standard error, and the exit code for bad input."""
    print(f"error: {one_line(sentence)}", file=sys.stderr)
    return 2


def one_line(text: str) -> str:
    """The text without line breaks."""
    return " ".join(text.split())


@contextmanager
def progress_bar() -> Iterator[Callable[[Progress], None] | None]:
    """Work done, runs a second and time left, on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("simulating"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[runs]:,} runs, {task.fields[rate]:,.0f} a second"),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("left"),
    )
    start = time.monotonic()
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, runs=0, rate=0.0)

        def show(progress: Progress) -> None:
            runs = sum(progress.runs)
            rate = runs / max(time.monotonic() - start, 1e-9)
            bar.update(
                task, completed=progress.done, total=progress.total or None, runs=runs, rate=rate
            )

        yield show


@contextmanager
def friendly_warnings() -> Iterator[None]:
    """Show the library's own warnings as one line each."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if issubclass(category, NOTES):
            note(str(message))
        else:
            usual(message, category, *rest, **more)

    with warnings.catch_warnings():
        for category in NOTES:
            warnings.simplefilter("always", category)
        warnings.showwarning = show
        yield


def _table(*numbers: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("policy", no_wrap=True)
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("source", no_wrap=True)
    return table


def _theory_cells(bound: theory.Bound | None, visits: int) -> tuple[str, str, str]:
    if bound is None or bound.slope is None:
        return "", "", ""
    return f"{bound.slope:,.2f}", f"{bound.slope * math.log(visits):,.1f}", bound.theorem


def _finite(value: Any) -> Any:
    """The same with None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
