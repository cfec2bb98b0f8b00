"""What commands print: tables and JSON on standard output, notes and errors on standard error."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from ..show.plain import to_json
from ..show.tables import Table

FAILED, BAD_INPUT, OUR_BUG, STOPPED = 1, 2, 70, 130
"""Exit codes: a store or service failed; bad input; a bug of this package; Ctrl-C."""


def print_json(value: Any) -> None:
    """Print the value as JSON, with null for numbers that JSON does not have."""
    print(to_json(value))


def print_table(table: Table) -> None:
    """Print a table, its headings bold on a terminal."""
    headings, *rows = table.text().split("\n")
    typer.secho(headings, bold=True)
    for row in rows:
        print(row)


def note(text: str) -> None:
    """One line on standard error."""
    print(f"note: {_one_line(text)}", file=sys.stderr)


def complain(sentence: str, code: int = BAD_INPUT) -> int:
    """One line on standard error; the exit code."""
    print(f"error: {_one_line(sentence)}", file=sys.stderr)
    return code


@contextmanager
def stoppable(said: str) -> Iterator[None]:
    """Ctrl-C ends the command with this note."""
    try:
        yield
    except KeyboardInterrupt:
        note(said)
        raise typer.Exit(STOPPED) from None


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Show the package's own warnings as one line each, every time."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if category.__module__.startswith("sojourn."):
            note(str(message))
        else:
            usual(message, category, *rest, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def _one_line(text: str) -> str:
    return " ".join(text.split())
