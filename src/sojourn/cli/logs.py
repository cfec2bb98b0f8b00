"""Options of the commands that read a log: the same words mean the same for all of them."""

import csv
from pathlib import Path
from typing import Annotated, Any

import typer

from ..validation import InputError
from .arguments import option

LogSource = Annotated[
    str,
    typer.Argument(
        metavar="LOG", help="A .csv, .jsonl or .parquet file, a folder, 'a/*/pattern', an address."
    ),
]


def _column(help_: str) -> Any:
    return option(help_, metavar="COLUMN")


def log_options(
    visit: Annotated[str | None, _column("Which visit; or give --user, --time and --gap.")] = None,
    user: Annotated[str | None, _column("Whose visit; intervals are clustered by it.")] = None,
    time: Annotated[str | None, _column("ISO dates, seconds or milliseconds.")] = None,
    step: Annotated[str | None, _column("The order of steps within a visit.")] = None,
    arm: Annotated[str | None, _column("What was shown.")] = None,
    reward: Annotated[str | None, _column("The reward: 0 or 1, or graded.")] = None,
    left: Annotated[str | None, _column("1 on the step after which the user left.")] = None,
    censored: Annotated[str | None, _column("1 where the visit ended without a departure.")] = None,
    end: Annotated[str | None, _column("When the event ended.")] = None,
    duration: Annotated[str | None, _column("How long it took, in seconds.")] = None,
    propensity: Annotated[
        str | None, _column("With what chance the arm was shown, if known.")
    ] = None,
    gap: Annotated[str | None, option("Idle time that ends a visit.", metavar="30min")] = None,
    time_unit: Annotated[
        str | None, option("Unit of times that are numbers.", metavar="s|ms|us|ns")
    ] = None,
    ties: Annotated[
        str, option("Rows with the same time: steps, or one step.", metavar="keep|any|all|half")
    ] = "keep",
    threshold: Annotated[
        float | None,
        option(
            "A graded reward counts as 1 from here on; if all are from 0 to 1, means are their own."
        ),
    ] = None,
    unknown: Annotated[
        list[float] | None, option("A number that means: not known. Repeat for more.")
    ] = None,
    arms: Annotated[
        Path | None, option("A .csv with columns item and arm.", metavar="FILE")
    ] = None,
    bad: Annotated[
        str, option("Bad rows: refuse the log, or skip them.", metavar="refuse|skip")
    ] = "refuse",
    guess: Annotated[bool, option("Guess columns from their names.")] = True,
    table: Annotated[str | None, option("With an address: the table.")] = None,
    sql: Annotated[str | None, option("With an address: a query.")] = None,
) -> dict[str, Any]:
    """How to read a log, as `fit` and `replay` take it."""
    return {
        "visit": visit, "user": user, "time": time, "step": step, "arm": arm, "reward": reward,
        "left": left, "censored": censored, "end": end, "duration": duration,
        "propensity": propensity, "gap": gap, "time_unit": time_unit, "ties": ties,
        "threshold": threshold, "unknown": tuple(unknown or ()), "arms": _arm_map(arms),
        "bad": bad, "guess": guess, "table": table, "sql": sql,
    }  # fmt: skip


def _arm_map(path: Path | None) -> dict[str, str] | None:
    if path is None:
        return None
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return {row["item"]: row["arm"] for row in csv.DictReader(file)}
    except (OSError, UnicodeDecodeError, KeyError):
        raise InputError(
            f"--arms {path} is not allowed: it must be a .csv file with columns item and arm"
        ) from None
