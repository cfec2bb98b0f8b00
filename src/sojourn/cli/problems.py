"""The problem that a command's arguments name, or that its options describe.

Imports wait until an argument is parsed, so that help is quick.
"""

import json
import re
import tomllib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..validation import InputError
from .arguments import numbers, option, parsed

if TYPE_CHECKING:
    from ..problem import Problem
    from ..users import User

ARMS = {"means", "rewards"}
"""The options about rewards; the others are about the user."""

OPTIONS = {"odds": "--log-odds"}
"""Options whose name is not that of the key in a problem file."""

Named = Annotated[
    str | None,
    typer.Argument(
        metavar="PROBLEM",
        help="A setting of the paper, such as A or ema-100, or a .toml or .json problem file.",
    ),
]
TwoStateUsers = Annotated[
    list[str] | None,
    option(
        "Two-state user: q00,q01,q10,q11. Repeat for a user of each arm.", "--q", metavar="1,0,0,0"
    ),
]
AnyUsers = Annotated[
    list[str] | None,
    option(
        "Any user model, with its settings as in a problem file: 'chain: "
        "next=[[0,1],[0,2],[1,2]] leave=[[0.6,0.1],[0.3,0.05],[0.1,0.02]]'. Repeat for a user of "
        "each arm.",
        metavar="'MODEL: KEY=VALUE ...'",
    ),
]
Start = Annotated[
    str | None, option("First state, or states with their probabilities.", metavar="1|0:0.5,1:0.5")
]
StaysFirst = Annotated[bool, option("Nobody leaves at the first step.", "--stays-first")]


def find_problem(
    problem: Named = None,
    means: Annotated[str | None, option("Mean reward of every arm.", metavar="0.9,0.8")] = None,
    rewards: Annotated[
        str | None,
        option(
            "Instead of --means, if rewards are not only 0 and 1: for every arm a mean, beta:a,b, "
            "values with their chances (0:0.2,0.5:0.3,1:0.5) or sample:x,y,...",
            metavar="'beta:2,5 0.4'",
        ),
    ] = None,
    q: TwoStateUsers = None,
    theta: Annotated[
        float | None, option("Moving-average user: weight of a new reward.", metavar="0.5")
    ] = None,
    c6: Annotated[
        float | None, option("Moving-average user: c6 of the leave curve.", metavar="1000")
    ] = None,
    user: AnyUsers = None,
    start: Start = None,
    log_odds: Annotated[
        str | None, option("Log odds of leaving that each arm adds to the user's.", metavar="2,0")
    ] = None,
    thresholds: Annotated[
        str | None,
        option("Least reward that counts as good, or that of each level.", metavar="0.5"),
    ] = None,
    stays_first: StaysFirst = False,
    *,
    default: str | None = None,
) -> "Problem":
    """The problem that the arguments of a command name, or describe by options."""
    from .. import problem_files as files

    texts = {
        "means": means, "rewards": rewards, "start": start, "odds": log_odds,
        "thresholds": thresholds,
    }  # fmt: skip
    given = {name: text for name, text in texts.items() if text is not None}
    described = bool(given or q or user or stays_first) or (theta, c6) != (None, None)
    if problem is not None and described:
        raise InputError(
            f"give either the problem {problem!r} or options that describe one, not both"
        )
    name = default if problem is None and not described else problem
    if name is not None:
        return files.problem_of(name)
    if not given.keys() & ARMS:
        raise InputError(
            f"give a problem: a setting of the paper ({', '.join(files.SETTINGS)}), a .toml or "
            ".json file, or --means (or --rewards) with --q, with --theta and --c6, or with --user"
        )
    users = _users(q, theta, c6, user)
    if log_odds is not None and len(users) > 1:
        raise InputError("give either --log-odds or a user for each arm, not both")
    read = {
        key: READ.get(key, _numbers)(OPTIONS.get(key, f"--{key}"), text)
        for key, text in given.items()
    }
    around = {key: value for key, value in read.items() if key not in ARMS}
    if stays_first:
        around["stays_first"] = True
    if twice := sorted({key for table in users for key in around.keys() & table}):
        raise InputError(f"give {twice[0]} either in --user or as an option, not both")
    tables = [{**table, **around} for table in users]
    arms = {key: value for key, value in read.items() if key in ARMS}
    return files.from_dict({**arms, "user": tables if len(tables) > 1 else tables[0]})


def find_user(
    problem: Named = None,
    q: TwoStateUsers = None,
    user: AnyUsers = None,
    start: Start = None,
    stays_first: StaysFirst = False,
) -> "User":
    """The user of a problem, or the one that options describe."""
    if problem is not None and (q or user or start or stays_first):
        raise InputError(
            f"give either the problem {problem!r} or options that describe a user, not both"
        )
    if problem is not None:
        return find_problem(problem).user
    if not q and not user:
        raise InputError("give a user: --q or --user, or the problem whose user it is")
    some = "0.5,0.4"  # a problem needs means, and they do not matter here
    return find_problem(means=some, q=q, user=user, start=start, stays_first=stays_first).user


def _users(
    q: Sequence[str] | None, theta: float | None, c6: float | None, user: Sequence[str] | None
) -> list[dict[str, Any]]:
    """One table for all arms, or one for each arm."""
    options = {"q": q or None, "theta": theta, "c6": c6, "user": user or None}
    given = [name for name, value in options.items() if value is not None]
    if q and given == ["q"]:
        return [_two_state(text) for text in q]
    if given == ["theta", "c6"]:
        return [{"model": "ema", "theta": theta, "c6": c6}]
    if user and given == ["user"]:
        return [_model_and_settings(text) for text in user]
    raise InputError("describe the user with --q, or with both --theta and --c6, or with --user")


def _two_state(text: str) -> dict[str, Any]:
    found = _numbers("--q", text)
    if len(found) != 4:
        raise InputError(f"--q {text} is not allowed: it must be four numbers, q00,q01,q10,q11")
    return {"model": "two-state", **dict(zip(("q00", "q01", "q10", "q11"), found, strict=True))}


def _model_and_settings(text: str) -> dict[str, Any]:
    """As TOML, one setting per line; numbers may begin with the decimal point."""
    model, _, settings = text.partition(":")
    lines = re.sub(r"[\s,]+(?=\w+\s*=)", "\n", settings)
    lines = re.sub(r"(?<![\w.])\.(?=\d)", "0.", lines)
    return parsed(
        "--user",
        text,
        lambda _: tomllib.loads(f"model = {json.dumps(model.strip())}\n{lines}"),
        "a model, a colon and its settings, such as 'two-state: q00=.8 q01=.2 q10=.2 q11=.1'",
    )


def _start(name: str, text: str) -> float | list[list[float]]:
    if ":" not in text:
        return _numbers(name, text)[0]
    return [_numbers(name, pair.replace(":", ",")) for pair in text.split(",")]


def _rewards(name: str, text: str) -> list[Any]:
    """A word for each arm, separated by spaces."""
    return parsed(
        name,
        text,
        lambda text: [_reward(word) for word in text.split()],
        "a word for every arm, separated by spaces: a mean such as 0.4, beta:2,5, values with "
        "their chances such as 0:0.2,0.5:0.3,1:0.5, or sample:0.1,0.7",
    )


def _reward(word: str) -> Any:
    kind, colon, rest = word.partition(":")
    if not colon:
        return float(word)
    if kind in ("beta", "sample"):
        return {kind: numbers(rest)}
    pairs = [pair.split(":") for pair in word.split(",")]
    values, chances = zip(*((float(value), float(chance)) for value, chance in pairs), strict=True)
    return {"values": list(values), "chances": list(chances)}


def _numbers(name: str, text: str) -> list[float]:
    return parsed(name, text, numbers, "numbers separated by commas")


READ: dict[str, Callable[[str, str], Any]] = {"start": _start, "rewards": _rewards}
"""Parsers of options that are not plain numbers."""
