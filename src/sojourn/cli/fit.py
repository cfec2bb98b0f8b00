"""The command `sojourn fit`."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .arguments import AsJson, number_or_text, option
from .output import print_json
from .progress import Now, progress

if TYPE_CHECKING:
    from ..logs import Advice, Alternative, Fit

EXAMPLE = "sojourn fit events.parquet --user uid --time ts --gap 30min --reward liked"


def _column(help_: str) -> Any:
    return option(help_, metavar="COLUMN")


def fit_command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="LOG", help="A .csv, .csv.gz or .parquet file, or a database's address."
        ),
    ],
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
    horizon: Annotated[
        str | None,
        option("When the log ends: visits still going on then are censored.", metavar="TIME|never"),
    ] = None,
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
    min_pulls: Annotated[int | None, option("Arms with fewer are rare; default: see docs.")] = None,
    rare: Annotated[
        str, option("Rare arms: count together, or refuse.", metavar="other|refuse")
    ] = "other",
    bad: Annotated[
        str, option("Bad rows: refuse the log, or skip them.", metavar="refuse|skip")
    ] = "refuse",
    guess: Annotated[bool, option("Guess columns from their names.")] = True,
    ema: Annotated[bool, option("Fit the moving-average user too.")] = True,
    try_threshold: Annotated[
        list[float] | None, option("Also the case with this threshold. Repeat for more.")
    ] = None,
    try_gap: Annotated[
        list[str] | None, option("Also the case with this gap. Repeat for more.", metavar="10min")
    ] = None,
    table: Annotated[str | None, option("With an address: the table.")] = None,
    sql: Annotated[str | None, option("With an address: a query.")] = None,
    deciding: Annotated[
        bool, option("Say what to run, or to keep what is there, by simulation.", "--decide")
    ] = False,
    visits: Annotated[
        int | None, option("With --decide: how many there will be; default: as in the log.")
    ] = None,
    report: Annotated[
        Path | None, option("Write an .html page; implies --decide.", metavar="FILE")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Do users leave when disappointed? What a log says, with intervals and warnings."""
    from .. import checks
    from ..logs import fit, sensitivity
    from ..logs.reporting.page import check_report
    from ..logs.reporting.screen import alternatives_table

    options: dict[str, Any] = {
        "visit": visit, "user": user, "time": time, "step": step, "arm": arm, "reward": reward,
        "left": left, "censored": censored, "end": end, "duration": duration,
        "propensity": propensity, "gap": gap, "horizon": number_or_text(horizon),
        "time_unit": time_unit, "ties": ties, "threshold": threshold,
        "unknown": tuple(unknown or ()), "arms": _arm_map(arms), "min_pulls": min_pulls,
        "rare": rare, "bad": bad, "guess": guess, "table": table, "sql": sql,
    }  # fmt: skip
    if visits is not None:
        checks.whole("--visits", visits, 1)
    if report is not None:
        check_report(report)
    found = fit(source, ema=ema, **options)
    tried: dict[str, Any] = {"thresholds": try_threshold or (), "gaps": try_gap or ()}
    others = sensitivity(source, **tried, **options) if any(tried.values()) else ()
    if not as_json:
        print(found)
        if others:
            print(f"\n{alternatives_table(others).text()}")
    advice = None
    if deciding or report is not None or visits is not None:
        advice = _decide(found, visits, report, others)
    if as_json:
        more = {} if advice is None else {"decision": advice.to_dict()}
        print_json({**found.to_dict(), "sensitivity": others, **more})
    elif advice is not None:
        print(f"\n{advice}")


def _decide(
    fit: "Fit", visits: int | None, report: Path | None, others: "tuple[Alternative, ...]"
) -> "Advice":
    from ..logs import decide, write_report

    with progress() as show:
        advice = decide(fit, visits, progress=lambda share: show(Now("simulating", share)))
    if report is not None:
        write_report(fit, advice, report, others)
    return advice


def _arm_map(path: Path | None) -> dict[str, str] | None:
    if path is None:
        return None
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return {row["item"]: row["arm"] for row in csv.DictReader(file)}
    except (OSError, UnicodeDecodeError, KeyError):
        raise ValueError(
            f"--arms {path} is not allowed: it must be a .csv file with columns item and arm"
        ) from None
