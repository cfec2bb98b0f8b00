"""The command `sojourn`: a thin layer over `files`, `theory` and `simulate`.

Bad input ends with exit code 2 and one sentence on standard error. Results go to standard output,
as tables or, with --json, as JSON and nothing else; notes and progress go to standard error.
"""

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from .. import theory
from ..recommendation import recommend
from ..simulation import Interrupted, Result, simulate
from ..simulation.saved import check_path
from ..version import __version__
from . import drive, keys, serve, store
from . import fit as logs_command
from . import study as study
from .arguments import (
    C6,
    Means,
    ProblemName,
    Q,
    Start,
    Theta,
    find_checkpoints,
    find_policy,
    find_precision,
    find_problem,
)
from .console import (
    complain,
    friendly_warnings,
    note,
    print_json,
    print_result,
    progress_bar,
    result_dict,
)
from .reproduce import EPILOG, reproduce_command

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
app.command("reproduce", epilog=EPILOG)(reproduce_command)
app.add_typer(study.app, name="study")
app.command("serve", epilog=serve.EPILOG)(serve.serve_command)
app.command("drive", epilog=drive.EPILOG)(drive.drive_command)
app.add_typer(keys.app, name="keys")
app.command("verify", epilog=store.VERIFY_EPILOG)(store.verify_command)
app.command("export", epilog=store.EXPORT_EPILOG)(store.export_command)
app.command("backup", epilog=store.BACKUP_EPILOG)(store.backup_command)
app.command("warm-start", epilog=store.WARM_EPILOG)(store.warm_start_command)
app.command("fit", epilog=logs_command.EPILOG)(logs_command.fit_command)

TWO_STATE = ("UCB", "ULCB", "KLUCB", "KLULCB", "QLearning", "UCBQLearning")
GENERAL = ("UCB", "KLUCB", "DiscULCB", "DiscKLULCB", "ContULCB", "ContKLULCB")
"""The policies that the paper compares, for users with two states and with a whole interval."""

PICTURES = (".png", ".pdf", ".svg")

UsageError: type[Exception] = typer.BadParameter.__bases__[0]
"""Any mistake in the arguments; where Typer keeps this class depends on its version."""

StaysFirst = Annotated[bool, typer.Option("--stays-first", help="Nobody leaves at the first step.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (those of the process if None); the exit code."""
    try:
        with friendly_warnings():
            code = app(args=arguments, prog_name="sojourn", standalone_mode=False)
    except UsageError as error:
        return complain(error.format_message())  # type: ignore[attr-defined]
    except ValueError as error:
        return complain(str(error))
    except (KeyboardInterrupt, typer.Abort):
        print("stopped", file=sys.stderr)
        return 130
    return code if isinstance(code, int) else 0


@app.callback(invoke_without_command=True, epilog="Example: sojourn simulate A --runs 200")
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    """Bandits whose users may leave: exact theory and simulation."""
    if version:
        print(f"sojourn {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


@app.command("theory", epilog="Example: sojourn theory --means 0.9,0.8 --q 0.8,0.2,0.2,0.1")
def theory_command(
    problem: ProblemName = None,
    means: Means = None,
    q: Q = None,
    theta: Theta = None,
    c6: C6 = None,
    start: Start = None,
    stays_first: StaysFirst = False,
    as_json: AsJson = False,
) -> None:
    """Exact values, gaps, assumptions and regret bounds of a problem."""
    summary = theory.summary(find_problem(problem, means, q, theta, c6, start, stays_first))
    print_json(summary.to_dict()) if as_json else print(summary)


@app.command(
    "simulate", epilog="Example: sojourn simulate B -p UCB -p ULCB:c0=-0.5,c=4 --runs 200 --seed 1"
)
def simulate_command(
    problem: ProblemName = None,
    means: Means = None,
    q: Q = None,
    theta: Theta = None,
    c6: C6 = None,
    start: Start = None,
    stays_first: StaysFirst = False,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="NAME",
            help="A policy, with parameters if you like: ULCB, ULCB:c0=-0.5,c=4, ULCB:opposite. "
            "Repeat for more. Default: the six that the paper compares.",
            show_default=False,
        ),
    ] = None,
    visits: Annotated[int, typer.Option(help="Visits in a run.")] = 20_000,
    runs: Annotated[
        int | None,
        typer.Option(help="Independent runs of each policy; default: 1000.", show_default=False),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(
            metavar="8.73|5%|'8.73 else 5%'",
            help="Instead of --runs: as many as it takes for the 95 % half-width of the regret to "
            "be this small: a number, a share of the regret, or a share where the number is "
            "out of reach.",
            show_default=False,
        ),
    ] = None,
    max_runs: Annotated[
        int | None,
        typer.Option(help="With --precision: no more; default: 100000.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    workers: Annotated[
        int | None, typer.Option(help="Threads; default: one a processor.", show_default=False)
    ] = None,
    checkpoints: Annotated[
        str | None,
        typer.Option(
            metavar="log:24|linear:50|1,10,100",
            help="Numbers of visits to report on in the JSON, in files and in pictures.",
            show_default=False,
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep finished work in this file (SQLite), and take from it what is there.",
            show_default=False,
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the result as .csv or .csv.gz.", show_default=False
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the regret: .png, .pdf, .svg.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Regret of policies on a problem, with 95 % intervals and the theory beside it.

    Ctrl-C prints what is done so far; with --store the same command goes on from there.
    """
    chosen = find_problem(problem, means, q, theta, c6, start, stays_first)
    names = policy or (GENERAL if chosen.user.states is None else TWO_STATE)
    policies = [find_policy(name, chosen) for name in names]
    _check_outputs(save, plot)
    try:
        with progress_bar() as progress:
            result = simulate(
                chosen,
                policies,
                visits=visits,
                runs=runs,
                precision=find_precision(precision),
                max_runs=max_runs,
                seed=seed,
                workers=workers,
                checkpoints=find_checkpoints(checkpoints),
                store=store,
                progress=progress,
            )
    except Interrupted as stopped:
        if any(stopped.result.runs):
            _show(stopped.result, as_json)
        note(str(stopped))
        raise typer.Exit(130) from None
    if save is not None:
        result.save(save)
    if plot is not None:
        result.plot(plot)
    _show(result, as_json)


@app.command("recommend", epilog="Example: sojourn recommend --means 0.9,0.8 --q 0.8,0.2,0.2,0.1")
def recommend_command(
    problem: ProblemName = None,
    means: Means = None,
    q: Q = None,
    theta: Theta = None,
    c6: C6 = None,
    start: Start = None,
    stays_first: StaysFirst = False,
    visits: Annotated[int, typer.Option(help="Visits that the policy will serve.")] = 20_000,
    certain: Annotated[
        bool, typer.Option("--certain", help="The problem is known exactly: take its best policy.")
    ] = False,
    precision: Annotated[
        str, typer.Option(metavar="5%", help="The 95 % half-width of regrets to simulate to.")
    ] = "5%",
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    as_json: AsJson = False,
) -> None:
    """The policy to run on a problem, why, and its expected gain over KL-UCB."""
    chosen = find_problem(problem, means, q, theta, c6, start, stays_first)
    with progress_bar() as progress:
        advice = recommend(
            chosen,
            visits=visits,
            certain=certain,
            precision=find_precision(precision) or "5%",
            seed=seed,
            progress=progress,
        )
    print_json(advice.to_dict()) if as_json else print(advice)


def _show(result: Result, as_json: bool) -> None:
    print_json(result_dict(result)) if as_json else print_result(result)


def _check_outputs(save: Path | None, plot: Path | None) -> None:
    """Refuse, before any work, what could not be written after it."""
    if save is not None:
        check_path(save)
    if plot is None:
        return
    if find_spec("matplotlib") is None:
        raise ValueError("--plot needs matplotlib: pip install 'sojourn[plot]'")
    if plot.suffix not in PICTURES or not plot.parent.is_dir():
        raise ValueError(
            f"--plot {plot} is not allowed: it must be a file in a folder that exists, "
            f"ending in {', '.join(PICTURES)}"
        )
