"""The commands `sojourn simulate` and `sojourn recommend`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..extras import require
from ..validation import InputError
from .arguments import (
    MODEL,
    AsJson,
    Seed,
    Workers,
    command,
    find_checkpoints,
    number_or_text,
    option,
    with_options,
)
from .output import STOPPED, note, print_json, print_table
from .problems import find_problem

if TYPE_CHECKING:
    from ..problem import Problem
    from ..simulation import Result

TWO_STATE = ("UCB", "ULCB", "KLUCB", "KLULCB", "QLearning", "UCBQLearning")
GENERAL = ("UCB", "KLUCB", "DiscULCB", "DiscKLULCB", "ContULCB", "ContKLULCB")
"""The policies that the paper compares, for users with two states and with an interval of them."""

BESIDE = (
    "beside it the\npaper's bounds, a slope times log K for K visits, up to terms of lower order: "
    "compare slopes, not values."
)
WITHOUT = "the\npaper has no bound for this problem."

PICTURES = (".png", ".pdf", ".svg")


@command(MODEL, "simulate", "sojourn simulate B -p UCB -p ULCB:c0=-0.5,c=4 --runs 200 --seed 1")
@with_options("problem", find_problem)
def simulate_command(
    problem: "Problem",
    policy: Annotated[
        list[str] | None,
        option(
            "A policy, with parameters if you like: ULCB, ULCB:c0=-0.5,c=4, "
            "'KL-ULCB, opposite'. Repeat for more. Default: the six that the paper compares.",
            "--policy",
            "-p",
            metavar="NAME",
        ),
    ] = None,
    visits: Annotated[int, option("Visits in a run.")] = 20_000,
    runs: Annotated[int | None, option("Independent runs of each policy; default: 1000.")] = None,
    precision: Annotated[
        str | None,
        option(
            "Instead of --runs: run until the 95 % half-width of the regret is this small: a "
            "number, a share of the regret, or a share where the number is out of reach.",
            metavar="8.73|5%|'8.73 else 5%'",
        ),
    ] = None,
    max_runs: Annotated[int | None, option("With --precision: most runs; default: 100000.")] = None,
    seed: Seed = 0,
    workers: Workers = None,
    checkpoints: Annotated[
        str | None,
        option(
            "Numbers of visits to report on in the JSON, in files and in pictures.",
            metavar="log:24|linear:50|1,10,100",
        ),
    ] = None,
    store: Annotated[
        Path | None,
        option("Keep finished work in this SQLite file, and reuse what it has.", metavar="FILE"),
    ] = None,
    save: Annotated[
        Path | None, option("Write the result as .csv or .csv.gz.", metavar="FILE")
    ] = None,
    plot: Annotated[
        Path | None, option("Draw the regret: .png, .pdf, .svg.", metavar="FILE")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Simulate policies on a problem: regret with 95 % intervals, beside the theory.

    Ctrl-C prints what is done so far; with --store the same command continues from there.
    """
    from ..simulation import Interrupted, simulate

    policies = policy or (GENERAL if problem.user.space.states is None else TWO_STATE)
    _check_outputs(save, plot)
    try:
        result = simulate(
            problem, policies, visits=visits, runs=runs, precision=number_or_text(precision),
            max_runs=max_runs, seed=seed, workers=workers, store=store,
            checkpoints=find_checkpoints(checkpoints), progress=True,
        )  # fmt: skip
    except Interrupted as stopped:
        if any(stopped.result.runs):
            _print(stopped.result, as_json)
        note(str(stopped))
        raise typer.Exit(STOPPED) from None
    if save is not None:
        result.save(save)
    if plot is not None:
        result.plot(plot)
    _print(result, as_json)


@command(MODEL, "recommend", "sojourn recommend --means 0.9,0.8 --q 0.8,0.2,0.2,0.1")
@with_options("problem", find_problem)
def recommend_command(
    problem: "Problem",
    visits: Annotated[int, option("Visits that the policy will serve.")] = 20_000,
    incumbent: Annotated[
        str | None,
        option(
            "The current recommender: gains are over it first, and it is kept unless they are "
            "significant. "
            "Uniform, FixedArm:arm=2, KLUCB.",
            metavar="POLICY",
        ),
    ] = None,
    known_problem: Annotated[
        bool, option("The problem is known exactly: take its best policy.", "--known-problem")
    ] = False,
    precision: Annotated[
        str, option("Simulate until the 95 % half-width of regrets is this small.", metavar="5%")
    ] = "5%",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Recommend a policy for a problem: why, and its gain over the current one and KL-UCB."""
    from ..recommendation import recommend

    advice = recommend(
        problem, visits=visits, certain=known_problem, precision=number_or_text(precision) or "5%",
        incumbent=incumbent, seed=seed, progress=True,
    )  # fmt: skip
    print_json(advice.to_dict()) if as_json else print(advice)


def _print(result: "Result", as_json: bool) -> None:
    """The table with the paper's bounds beside it; as JSON, with the problem as a file has it."""
    from .. import problem_files, theory
    from ..simulation import tables

    problem = result.problem
    bounds = theory.bounds(problem)
    if as_json:
        described = problem_files.to_dict(problem)
        print_json({**result.to_dict(), "problem": described, "bounds": bounds})
        return
    applies = any(bound.slope is not None for bound in bounds)
    print(problem)
    print(
        f"Regret after {int(result.checkpoints[-1]):,} visits, mean and 95 % interval over runs, "
        f"seed {result.seed}; {BESIDE if applies else WITHOUT}\n"
    )
    print_table(tables.table(result, bounds=applies))


def _check_outputs(save: Path | None, plot: Path | None) -> None:
    """Refuse output files that could not be written, before any work."""
    from ..simulation.saved import check_path

    if save is not None:
        check_path(save)
    if plot is None:
        return
    require("--plot", "plot", "matplotlib")
    if plot.suffix not in PICTURES or not plot.parent.is_dir():
        raise InputError(
            f"--plot {plot} is not allowed: it must be a file in a folder that exists, "
            f"ending in {', '.join(PICTURES)}"
        )
