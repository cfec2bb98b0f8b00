"""The command `sojourn drive`: simulated users against a running service."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from .. import checks
from ..live import LiveError
from ..problem import Problem
from ..service.drive import LoadReport, OnProgress, Traffic, drive_all
from .arguments import C6, Means, ProblemName, Q, Start, Theta, find_policy, find_problem
from .console import WIDTH, note, print_json

EPILOG = "Example: sojourn drive http://127.0.0.1:8000 B --policy LearnedIMED --visits 2000"

CUT = "not known: visits were cut short, and those that ended are the shorter ones"


def _option(help_: str, metavar: str | None = None) -> Any:
    return typer.Option(help=help_, metavar=metavar, show_default=False)


def drive_command(
    url: Annotated[str, typer.Argument(metavar="URL", help="The address of the service.")],
    problem: ProblemName = None,
    means: Means = None,
    q: Q = None,
    theta: Theta = None,
    c6: C6 = None,
    start: Start = None,
    experiment: Annotated[
        str, typer.Option(help="The experiment; made if it is missing.")
    ] = "drive",
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy", "-p", metavar="NAME", help="As for simulate; default: the service's."
        ),
    ] = None,
    visits: Annotated[
        int | None, _option("How many; default: 1000, or with --seconds no limit.")
    ] = None,
    seconds: Annotated[float | None, _option("How long visits may begin.")] = None,
    users: Annotated[int, typer.Option(help="Users at a time.")] = 16,
    processes: Annotated[int, typer.Option(help="Processes that share the users.")] = 1,
    key: Annotated[
        str | None,
        typer.Option(envvar="SOJOURN_KEY", help="An API key, if the service wants one."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the users' draws.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Simulated users of a problem, B by default, against a running service: regret, latency.

    Rewards and departures are drawn by the rules of the simulator. Ctrl-C prints what was measured
    so far.
    """
    described = any(x is not None for x in (means, q, theta, c6, start))
    chosen = find_problem(problem or (None if described else "B"), means, q, theta, c6, start)
    traffic = Traffic(
        url,
        chosen,
        experiment=experiment,
        policy=None if policy is None else find_policy(policy, chosen),
        key=key,
        users=checks.whole("--users", users, 1, 10_000),
        visits=_limit(visits, seconds),
        seconds=inf if seconds is None else checks.number("--seconds", seconds, 0, inf),
        seed=checks.whole("--seed", seed, 0, 2**63 - 1),
    )
    checks.whole("--processes", processes, 1, traffic.users)
    try:
        with _progress(traffic) as progress:
            report = drive_all(traffic, processes, progress)
    except LiveError as error:
        raise ValueError(str(error)) from None
    print_json(report.to_dict(chosen)) if as_json else _show(report, chosen)
    if report.interrupted:
        note("stopped by Ctrl-C: visits that were going on end by the service's idle timeout")
        raise typer.Exit(130)


def _limit(visits: int | None, seconds: float | None) -> float:
    if visits is None:
        return 1000 if seconds is None else inf
    return checks.whole("--visits", visits, 1)


@contextmanager
def _progress(traffic: Traffic) -> Iterator[OnProgress | None]:
    """Visits and steps so far on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    began = time.monotonic()
    with Console(stderr=True).status("driving") as status:

        def show(visits: int, steps: int) -> None:
            rate = steps / max(time.monotonic() - began, 1e-9)
            of = f" of {traffic.visits:,.0f}" if traffic.visits < inf else ""
            status.update(f"{visits:,}{of} visits, {steps:,} steps, {rate:,.0f} a second")

        yield show


def _show(report: LoadReport, problem: Problem) -> None:
    found = report.to_dict(problem)
    latency = found["latency_ms"].items()
    bad = {s: n for s, n in sorted(report.answers.items()) if s not in ("200", "201")}
    mean, optimum, rate = (
        found[key] for key in ("reward_per_visit", "optimum_per_visit", "steps_per_second")
    )
    raw, half = found["raw_regret"], found["raw_regret_half_width"]
    rows = {
        "visits": f"{report.visits:,}",
        "steps": f"{report.steps:,} in {report.seconds:,.1f} s, {rate:,.0f} a second",
        "latency": ", ".join(f"{name} {value:,.1f} ms" for name, value in latency),
        "calls tried again or failed": _counts(bad),
        "visits given up": _counts(report.failed),
        "reward a visit": f"{mean:,.3f}, optimum {optimum:,.3f}",
        "regret, by gaps": f"{report.regret:,.1f}",
        "regret, from rewards": f"{raw:,.0f} ± {half:,.0f}" if not report.cut else CUT,
    }
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in rows.items():
        table.add_row(name, value)
    console = Console(highlight=False, markup=False)
    console.width = max(console.width, WIDTH)
    console.print(problem, soft_wrap=True)
    console.print(table)


def _counts(counts: Any) -> str:
    return ", ".join(f"{name}: {n:,}" for name, n in counts.items()) or "none"
