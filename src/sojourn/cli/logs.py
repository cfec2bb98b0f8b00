"""The commands `sojourn fit` and `sojourn evaluate`: an option for each field of a `LogSpec`."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..logs.reading.spec import LogSpec
from ..show.progress import by_share, progress
from ..validation import InputError
from .arguments import LOG, AsJson, Typed, command, number_or_text, option, options_of, with_options
from .output import print_json

if TYPE_CHECKING:
    from ..logs import Advice, Alternative, Fit

LogSource = Annotated[
    str,
    typer.Argument(
        metavar="LOG", help="A .csv, .jsonl or .parquet file, a folder, 'a/*/pattern', an address."
    ),
]


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


TYPES: dict[Any, Typed] = {
    str | float | None: Typed(str | None, number_or_text),
    tuple[float, ...]: Typed(list[float] | None, lambda numbers: tuple(numbers or ())),
    Mapping[Any, str] | None: Typed(Path | None, _arm_map),
}


@command(LOG, "fit", "sojourn fit events.parquet --user uid --time ts --gap 30min --reward liked")
@with_options("spec", options_of(LogSpec, LogSpec, types=TYPES))
def fit_command(
    source: LogSource,
    spec: LogSpec,
    ema: Annotated[bool, option("Fit the moving-average user too.")] = True,
    try_threshold: Annotated[
        list[float] | None, option("The case at this threshold too. Repeat for more.")
    ] = None,
    try_gap: Annotated[
        list[str] | None, option("The case at this gap too. Repeat for more.", metavar="10min")
    ] = None,
    deciding: Annotated[
        bool,
        option(
            "Simulate candidate policies on the fitted model, and recommend one or keep the "
            "current one.",
            "--decide",
        ),
    ] = False,
    visits: Annotated[
        int | None, option("With --decide: visits to simulate; default: as in the log.")
    ] = None,
    report: Annotated[
        Path | None, option("Write an .html page; implies --decide.", metavar="FILE")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Do users leave when disappointed? What a log says, with intervals and warnings."""
    from .. import validation
    from ..logs import fit, sensitivity
    from ..logs.report.page import check_report
    from ..logs.report.text import alternatives_table

    if visits is not None:
        validation.whole("--visits", visits, 1)
    if report is not None:
        check_report(report)
    found = fit(source, spec, ema=ema)
    tried: dict[str, Any] = {"thresholds": try_threshold or (), "gaps": try_gap or ()}
    others = sensitivity(source, spec, **tried) if any(tried.values()) else ()
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
    from ..logs import decide, report as reports

    with progress() as show:
        advice = decide(fit, visits, progress=by_share(show, "simulating"))
    if report is not None:
        reports.page(fit, advice, report, others)
    return advice


@command(
    LOG,
    "evaluate",
    "sojourn evaluate events.parquet -p FixedArm:arm=1 --gap 30min --propensity p --max-steps 5",
)
@with_options("spec", options_of(LogSpec, LogSpec, "min_pulls", "rare", types=TYPES))
def evaluate_command(
    source: LogSource,
    policy: Annotated[
        list[str],
        option(
            "A policy, with parameters if you like: FixedArm:arm=1, EpsilonMixture:epsilon=0.1. "
            "Arms count from 0, in the order of their names or of --arms. Repeat for more.",
            "--policy",
            "-p",
            metavar="NAME",
        ),
    ],
    spec: LogSpec,
    max_steps: Annotated[
        int | None, option("Use only this many first steps of each visit.", metavar="STEPS")
    ] = None,
    theta: Annotated[
        float, option("How far a reward moves the state; 1: the state is the last reward.")
    ] = 1.0,
    start: Annotated[float, option("The state in which visits begin.")] = 1.0,
    method: Annotated[
        list[str] | None,
        option("Repeat for more; default: all that apply.", metavar="PDIS|SN-PDIS|DM|DR"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Off-policy evaluation: what a policy would have achieved on the log of another one.

    A policy that learns starts without data and learns from the log as it goes.
    """
    from ..logs import evaluate, trajectories
    from ..policy_names import find_policy

    policies = [find_policy(name) for name in policy]
    log = trajectories(source, spec)
    found = [
        evaluate(log, chosen, theta=theta, start=start, max_steps=max_steps, methods=method)
        for chosen in policies
    ]
    if as_json:
        print_json([each.to_dict() for each in found])
    else:
        print("\n\n".join(map(str, found)))
