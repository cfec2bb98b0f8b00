"""The command `sojourn`: a thin layer over `files`, `theory` and `simulate`.

Bad input ends with exit code 2 and one sentence on standard error. Results go to standard output,
as tables or, with --json, as JSON and nothing else; notes and progress go to standard error.
"""

import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from . import files, theory
from .paper import SETTINGS
from .policies import ALL, Policy
from .problem import Problem
from .simulation import Result, simulate
from .version import __version__

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

TWO_STATE = ("UCB", "ULCB", "KLUCB", "KLULCB", "QLearning", "UCBQLearning")
GENERAL = ("UCB", "KLUCB", "DiscULCB", "DiscKLULCB", "ContULCB", "ContKLULCB")
"""The policies that the paper compares, for users with two states and with a whole interval."""

WIDTH = 110
"""Columns that a table needs; it is not cut to narrower terminals."""

FLAGS = {"true": True, "false": False}

UsageError: type[Exception] = typer.BadParameter.__bases__[0]
"""Any mistake in the arguments; where Typer keeps this class depends on its version."""

ProblemName = Annotated[
    str | None,
    typer.Argument(
        metavar="PROBLEM",
        help=f"A setting of the paper ({', '.join(SETTINGS)}) or a .toml or .json problem file.",
        show_default=False,
    ),
]
Means = Annotated[
    str | None,
    typer.Option(help="Mean reward of every arm.", metavar="0.9,0.8", show_default=False),
]
Q = Annotated[
    str | None,
    typer.Option(
        "--q", help="Two-state user: q00,q01,q10,q11.", metavar="1,0,0,0", show_default=False
    ),
]
Theta = Annotated[
    float | None, typer.Option(help="Moving-average user: weight of a new reward.", metavar="0.5")
]
C6 = Annotated[float | None, typer.Option(help="Moving-average user: leave curve.", metavar="1000")]
Start = Annotated[
    str | None,
    typer.Option(help="First state, or states with their chances.", metavar="1|0:0.5,1:0.5"),
]
StaysFirst = Annotated[bool, typer.Option("--stays-first", help="Nobody leaves at the first step.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (those of the process if None); the exit code."""
    try:
        with _friendly_warnings():
            app(args=arguments, prog_name="sojourn", standalone_mode=False)
    except UsageError as error:
        return _complain(error.format_message())  # type: ignore[attr-defined]
    except ValueError as error:
        return _complain(str(error))
    except (KeyboardInterrupt, typer.Abort):
        print("stopped", file=sys.stderr)
        return 130
    except typer.Exit as end:
        return end.exit_code
    return 0


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
    print(_json(summary.to_dict()) if as_json else summary)


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
    runs: Annotated[int, typer.Option(help="Independent runs of each policy.")] = 1_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    workers: Annotated[
        int | None, typer.Option(help="Threads; default: one a processor.", show_default=False)
    ] = None,
    checkpoints: Annotated[
        str | None,
        typer.Option(
            metavar="24|100,1000",
            help="How many numbers of visits to report on in the JSON, or which.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Regret of policies on a problem, with 95 % intervals and the theory beside it."""
    chosen = find_problem(problem, means, q, theta, c6, start, stays_first)
    names = policy or (GENERAL if chosen.user.states is None else TWO_STATE)
    policies = [find_policy(name, chosen) for name in names]
    with _progress() as progress:
        result = simulate(
            chosen,
            policies,
            visits=visits,
            runs=runs,
            seed=seed,
            workers=workers,
            checkpoints=_checkpoints(checkpoints),
            progress=progress,
        )
    if as_json:
        print(_json(result_dict(result)))
    else:
        _print_result(result)


def find_problem(
    name: str | None,
    means: str | None = None,
    q: str | None = None,
    theta: float | None = None,
    c6: float | None = None,
    start: str | None = None,
    stays_first: bool = False,
) -> Problem:
    """The problem that the arguments of a command name, or describe by options.

    >>> find_problem("B") == find_problem(None, means="0.9,0.8", q=".8,.2,.2,.1")
    True
    """
    described = stays_first or any(x is not None for x in (means, q, theta, c6, start))
    if name is not None and described:
        raise ValueError(f"give either the problem {name!r} or options that describe one, not both")
    if name is not None:
        return _named_problem(name)
    if means is None:
        raise ValueError(
            f"give a problem: a setting of the paper ({', '.join(SETTINGS)}), "
            "a .toml or .json file, or --means with --q, or --means with --theta and --c6"
        )
    user = {**_user_options(q, theta, c6), "stays_first": stays_first}
    if start is not None:
        user["start"] = _start_option(start)
    return files.from_dict({"means": _numbers("--means", means), "user": user})


def find_policy(text: str, problem: Problem) -> Policy:
    """The policy that `NAME`, `NAME:parameter=value,...` or `NAME:opposite` stands for.

    >>> find_policy("KL-ULCB:c=4,opposite", SETTINGS["A"]).parameters["c0"]
    1.0
    """
    name, _, options = text.partition(":")
    by_name = {_plain(cls.__name__): cls for cls in ALL}
    if _plain(name) not in by_name:
        known = ", ".join(cls.__name__ for cls in ALL)
        raise ValueError(f"policy {name!r} is not known: it must be one of {known}")
    cls = by_name[_plain(name)]
    words = [w.strip() for w in options.split(",") if w.strip()]
    parameters = dict(_parameter(cls, w) for w in words if w != "opposite")
    policy = cls.for_problem(problem, **parameters)
    if "opposite" not in words:
        return policy
    if not hasattr(policy, "opposite"):
        raise ValueError(f"{cls.__name__} has no opposite: it does not look at the state")
    flipped: Policy = policy.opposite()
    return flipped


def result_dict(result: Result) -> dict[str, Any]:
    """What `simulate --json` prints: the result, its problem as a file has it, and the bounds."""
    return {
        **result.to_dict(),
        "problem": files.to_dict(result.problem),
        "bounds": [asdict(bound) for bound in theory.bounds(result.problem)],
    }


def _named_problem(name: str) -> Problem:
    by_name = {key.lower(): problem for key, problem in SETTINGS.items()}
    if name.lower() in by_name:
        return by_name[name.lower()]
    if name.endswith(files.SUFFIXES):
        return files.load(name)
    raise ValueError(
        f"problem {name!r} is not known: it must be one of {', '.join(SETTINGS)}, "
        "or a .toml or .json file"
    )


def _user_options(q: str | None, theta: float | None, c6: float | None) -> dict[str, Any]:
    if q is not None and theta is None and c6 is None:
        numbers = _numbers("--q", q)
        if len(numbers) != 4:
            raise ValueError(f"--q {q} is not allowed: it must be four numbers, q00,q01,q10,q11")
        names = ("q00", "q01", "q10", "q11")
        return {"model": "two-state", **dict(zip(names, numbers, strict=True))}
    if q is None and theta is not None and c6 is not None:
        return {"model": "ema", "theta": theta, "c6": c6}
    raise ValueError("describe the user with --q, or with both --theta and --c6")


def _start_option(text: str) -> float | list[list[float]]:
    if ":" not in text:
        return _numbers("--start", text)[0]
    return [_numbers("--start", pair.replace(":", ",")) for pair in text.split(",")]


def _checkpoints(text: str | None) -> int | list[int] | None:
    if text is None:
        return None
    try:
        numbers = [int(word) for word in text.split(",")]
    except ValueError:
        raise ValueError(
            f"--checkpoints {text} is not allowed: it must be a whole number, or several 1,10,100"
        ) from None
    return numbers if "," in text else numbers[0]


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise ValueError(
            f"{option} {text} is not allowed: it must be numbers with commas between"
        ) from None


def _plain(name: str) -> str:
    return name.replace("-", "").lower()


def _parameter(cls: type[Policy], text: str) -> tuple[str, Any]:
    name, _, value = (part.strip() for part in text.partition("="))
    kinds = {f.name: f.type for f in fields(cls) if f.init}
    if name not in kinds:
        known = ", ".join(kinds) or "none"
        raise ValueError(f"{cls.__name__} has no parameter {name!r}: its parameters are {known}")
    try:
        return name, FLAGS[value.lower()] if kinds[name] is bool else _number(value)
    except (KeyError, ValueError):
        allowed = "true or false" if kinds[name] is bool else "a number"
        raise ValueError(
            f"{cls.__name__}:{text} is not allowed: {name} must be {allowed}"
        ) from None


def _number(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def bound_for(policy: Policy, problem: Problem) -> theory.Bound | None:
    """The paper's bound on the regret of this policy, if it has one for these coefficients.

    >>> bound_for(find_policy("ULCB", SETTINGS["A"]), SETTINGS["A"]).theorem
    'Theorem 1'
    """
    parameters = policy.parameters
    signs = (parameters.get("c0", -1.0), parameters.get("c1", 1.0))
    suffix = {(-1.0, 1.0): "", (1.0, -1.0): ", opposite"}.get(signs, ", other")
    for bound in theory.bounds(problem, n=int(parameters.get("n", 4))):
        if _plain(bound.name) == _plain(policy.name) + suffix and bound.slope is not None:
            return bound
    return None


def _print_result(result: Result) -> None:
    problem, visits = result.problem, int(result.checkpoints[-1])
    regret, raw, steps = result.regret, result.raw_regret, result.steps
    table = _table("regret", "±", "from rewards", "±", "steps a visit", "slope", "x log K")
    for p, policy in enumerate(result.policies):
        table.add_row(
            _label(policy, problem),
            *(f"{x[p, -1]:,.1f}" for x in (regret.mean, regret.half_width)),
            *(f"{x[p, -1]:,.0f}" for x in (raw.mean, raw.half_width)),
            f"{steps.mean[p, -1] / visits:,.2f}",
            *_theory_cells(bound_for(policy, problem), visits),
        )
    for bound in theory.bounds(problem):
        if bound.name.startswith("lower bound") and bound.slope is not None:
            table.add_row(bound.name, *[""] * 5, *_theory_cells(bound, visits))

    console = Console(highlight=False, markup=False)
    console.width = max(console.width, WIDTH)
    console.print(problem, soft_wrap=True)
    console.print(
        f"Regret after {visits:,} visits, mean and 95 % interval over {result.runs[0]:,} runs, "
        f"seed {result.seed}; beside it the\npaper's bounds, a slope times log K for K visits, "
        "up to terms of lower order: compare slopes, not values.\n",
        soft_wrap=True,
    )
    console.print(table)


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


def _label(policy: Policy, problem: Problem) -> str:
    usual = type(policy).for_problem(problem).parameters
    changed = [f"{k}={v:g}" for k, v in policy.parameters.items() if v != usual[k]]
    return f"{policy.name}:{','.join(changed)}" if changed else policy.name


def _json(value: Any) -> str:
    return json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    """The same with null for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("simulating"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def _friendly_warnings() -> Iterator[None]:
    """Show the library's warnings about assumptions as one line each."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if issubclass(category, theory.AssumptionWarning):
            print(f"note: {_one_line(str(message))}", file=sys.stderr)
        else:
            usual(message, category, *rest, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("always", theory.AssumptionWarning)
        warnings.showwarning = show
        yield


def _complain(sentence: str) -> int:
    print(f"error: {_one_line(sentence)}", file=sys.stderr)
    return 2


def _one_line(text: str) -> str:
    return " ".join(text.split())
