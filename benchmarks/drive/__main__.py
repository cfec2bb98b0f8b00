"""Simulated users of a problem against a running service: `python -m benchmarks.drive URL`."""

import sys
import time
from collections.abc import Sequence
from math import inf
from typing import Annotated, Any

import typer

from benchmarks.drive import LoadReport, OnProgress, Traffic, drive_all
from sojourn import validation
from sojourn.cli.arguments import AsJson, option, with_options
from sojourn.cli.output import FAILED, STOPPED, complain, note, print_json
from sojourn.cli.problems import find_problem
from sojourn.cli.stores import file_errors_as_input
from sojourn.live import LiveError
from sojourn.policy_names import find_policy
from sojourn.problem import Problem
from sojourn.show.progress import Now, Show, progress
from sojourn.show.tables import Table
from sojourn.validation import InputError

EXAMPLE = "python -m benchmarks.drive http://127.0.0.1:8000 B --policy LearnedIMED --visits 2000"

CUT = "not known: visits were cut short, and those that ended are the shorter ones"


@with_options("problem", find_problem, default="B")
def drive_command(
    url: Annotated[str, typer.Argument(metavar="URL", help="The address of the service.")],
    problem: Problem,
    experiment: Annotated[str, option("The experiment; made if it is missing.")] = "drive",
    policy: Annotated[
        str | None,
        option("As for simulate; default: the service's.", "--policy", "-p", metavar="NAME"),
    ] = None,
    own: Annotated[
        str | None,
        option(
            "A recommender of your own, which decides where the service leaves it to the "
            "caller; as for simulate.",
            metavar="NAME",
        ),
    ] = None,
    arms: Annotated[
        str | None, option("Names of the arms; default: their means.", metavar="a,b,c")
    ] = None,
    visits: Annotated[
        int | None, option("How many; default: 1000, or no limit with --seconds.")
    ] = None,
    seconds: Annotated[float | None, option("How long to start new visits.")] = None,
    users: Annotated[int, option("Concurrent users.")] = 16,
    processes: Annotated[int, option("Processes that share the users.")] = 1,
    key: Annotated[
        str | None, typer.Option(envvar="SOJOURN_KEY", help="An API key, if the service wants one.")
    ] = None,
    seed: Annotated[int, option("Seed of the users' draws.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Simulated users of a problem, B by default, against a running service: regret, latency.

    Rewards and departures are drawn by the rules of the simulator. Ctrl-C prints what was measured
    so far.
    """
    limit = 1000 if seconds is None else inf
    most = limit if visits is None else validation.whole("--visits", visits, 1)
    traffic = Traffic(
        url, problem, experiment=experiment, key=key, visits=most,
        policy=None if policy is None else find_policy(policy, problem),
        own=None if own is None else find_policy(own, problem),
        arms=() if arms is None else tuple(arms.split(",")),
        users=validation.whole("--users", users, 1, 10_000),
        seconds=inf if seconds is None else validation.number("--seconds", seconds, 0, inf),
        seed=validation.whole("--seed", seed, 0, 2**63 - 1),
    )  # fmt: skip
    validation.whole("--processes", processes, 1, traffic.users)
    with file_errors_as_input(), progress() as show:
        report = drive_all(traffic, processes, _by_steps(show, traffic))
    if as_json:
        print_json(report.to_dict(problem))
    else:
        print(f"{problem}\n{_table(report, problem).text()}")
    if report.interrupted:
        note("stopped by Ctrl-C: visits that were going on end by the service's idle timeout")
        raise typer.Exit(STOPPED)


def _by_steps(show: Show, traffic: Traffic) -> OnProgress:
    began = time.monotonic()

    def take(visits: int, steps: int) -> None:
        elapsed = max(time.monotonic() - began, 1e-9)
        share = max(visits / traffic.visits, elapsed / traffic.seconds if traffic.seconds else 1.0)
        detail = f"{visits:,} visits, {steps:,} steps, {steps / elapsed:,.0f} per second"
        left = elapsed / share - elapsed if share > 0.0 else None
        show(Now("driving", min(share, 1.0), detail, left))

    return take


def _table(report: LoadReport, problem: Problem) -> Table:
    found = report.to_dict(problem)
    latency = found["latency_ms"].items()
    bad = {s: n for s, n in sorted(report.answers.items()) if s not in ("200", "201")}
    mean, optimum, rate = (
        found[key] for key in ("reward_per_visit", "optimum_per_visit", "steps_per_second")
    )
    raw, half = found["raw_regret"], found["raw_regret_half_width"]
    rows = {
        "visits": f"{report.visits:,}",
        "steps": f"{report.steps:,} in {report.seconds:,.1f} s, {rate:,.0f} per second",
        "latency": ", ".join(f"{name} {value:,.1f} ms" for name, value in latency),
        "calls retried or failed": _counts(bad),
        "visits given up": _counts(report.failed),
        "reward per visit": f"{mean:,.3f}, optimum {optimum:,.3f}",
        "regret, by gaps": f"{report.regret:,.1f}",
        "regret, from rewards": f"{raw:,.0f} ± {half:,.0f}" if not report.cut else CUT,
    }
    return Table(["", ""], [list(row) for row in rows.items()], left=(0, 1))


def _counts(counts: Any) -> str:
    return ", ".join(f"{name}: {n:,}" for name, n in counts.items()) or "none"


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
app.command(epilog=f"Example: {EXAMPLE}")(drive_command)
UsageError: type[Exception] = typer.BadParameter.__bases__[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it with these arguments (those of the process if None); the exit code."""
    try:
        code = app(args=arguments, prog_name="python -m benchmarks.drive", standalone_mode=False)
    except UsageError as error:
        return complain(error.format_message())  # type: ignore[attr-defined]
    except InputError as error:
        return complain(str(error))
    except LiveError as error:
        return complain(str(error), FAILED)
    except (KeyboardInterrupt, typer.Abort):
        return STOPPED
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    sys.exit(main())
