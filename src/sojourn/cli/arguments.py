"""What the words of the command line stand for: problems, policies, checkpoints, precisions.

The rooms that these words need are imported when a word is looked up, so that help is quick.
"""

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from inspect import Signature, signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ..policies import Policy
    from ..problem import Problem


def option(help_: str, *names: str, metavar: str | None = None) -> Any:
    """An option of a command; its name is that of the parameter unless names are given."""
    return typer.Option(*names, help=help_, metavar=metavar)


AsJson = Annotated[bool, option("Print JSON and nothing else.", "--json")]
Seed = Annotated[int, option("The same seed gives the same numbers.")]
Workers = Annotated[int | None, option("Threads; default: one per processor.")]

FLAGS = {"true": True, "false": False}


def with_options(
    name: str, make: Callable[..., Any], **settings: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of `make` in place of its parameter `name`, and there the result.

    Keyword-only parameters of `make` are no options, but come from `settings`.
    """
    options = {o.name: o for o in signature(make).parameters.values() if o.kind != o.KEYWORD_ONLY}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(*args: Any, **given: Any) -> None:
            chosen = {key: given.pop(key) for key in options if key in given}
            command(*args, **given, **{name: make(**chosen, **settings)})

        own = signature(command).parameters.values()
        declared = [o for p in own for o in (options.values() if p.name == name else [p])]
        run.__signature__ = Signature(declared)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in declared}
        return run

    return decorate


def find_problem(
    problem: Annotated[
        str | None,
        typer.Argument(
            metavar="PROBLEM",
            help="A setting of the paper, such as A or ema-100, or a .toml or .json problem file.",
        ),
    ] = None,
    means: Annotated[str | None, option("Mean reward of every arm.", metavar="0.9,0.8")] = None,
    q: Annotated[
        str | None, option("Two-state user: q00,q01,q10,q11.", "--q", metavar="1,0,0,0")
    ] = None,
    theta: Annotated[
        float | None, option("Moving-average user: weight of a new reward.", metavar="0.5")
    ] = None,
    c6: Annotated[
        float | None, option("Moving-average user: c6 of the leave curve.", metavar="1000")
    ] = None,
    user: Annotated[
        str | None,
        option(
            "Any user model, with its settings as in a problem file: 'chain: "
            "next=[[0,1],[0,2],[1,2]] leave=[[.6,.1],[.3,.05],[.1,.02]]'.",
            metavar="'MODEL: KEY=VALUE ...'",
        ),
    ] = None,
    start: Annotated[
        str | None,
        option("First state, or states with their probabilities.", metavar="1|0:0.5,1:0.5"),
    ] = None,
    stays_first: Annotated[
        bool, option("Nobody leaves at the first step.", "--stays-first")
    ] = False,
    *,
    default: str | None = None,
) -> "Problem":
    """The problem that the arguments of a command name, or describe by options.

    >>> find_problem("B") == find_problem(means="0.9,0.8", q=".8,.2,.2,.1")
    True
    """
    from .. import problem_files as files
    from ..lab.paper.settings import SETTINGS

    described = stays_first or any(x is not None for x in (means, q, theta, c6, user, start))
    if problem is not None and described:
        raise ValueError(
            f"give either the problem {problem!r} or options that describe one, not both"
        )
    name = default if problem is None and not described else problem
    if name is not None:
        return _named_problem(name)
    if means is None:
        raise ValueError(
            f"give a problem: a setting of the paper ({', '.join(SETTINGS)}), a .toml or .json "
            "file, or --means with --q, --means with --theta and --c6, or --means with --user"
        )
    model = _user_options(q, theta, c6, user)
    more: dict[str, Any] = {} if start is None else {"start": _start_option(start)}
    if stays_first:
        more["stays_first"] = True
    if twice := more.keys() & model:
        raise ValueError(f"give {twice.pop()} either in --user or as an option, not both")
    return files.from_dict({"means": _numbers("--means", means), "user": {**model, **more}})


def find_policy(text: str, problem: "Problem") -> "Policy":
    """The policy that a name or a label stands for, with parameters after a colon or comma.

    >>> problem = find_problem("A")
    >>> find_policy("KLULCB:c=4,opposite", problem).label
    'KL-ULCB, c0=1, c1=-1, c=4'
    >>> find_policy("Learned IMED, floor=-1", problem).label
    'Learned IMED, floor=-1'
    """
    from ..policies import POLICIES

    name, *rest = re.split("[:,]", text, maxsplit=1)
    words = [word.strip() for word in "".join(rest).split(",")]
    cls = POLICIES.find("policy", name.strip())
    parameters = dict(_parameter(cls, w, problem) for w in words if w and w != "opposite")
    policy = cls.for_problem(problem, **parameters)
    if "opposite" not in words:
        return policy
    if not hasattr(policy, "opposite"):
        raise ValueError(f"{cls.__name__} has no opposite: it does not look at the state")
    flipped: Policy = policy.opposite()
    return flipped


def find_checkpoints(text: str | None) -> int | str | list[int] | None:
    """What `24`, `log:24`, `linear:50` or `1,10,100` stands for.

    >>> find_checkpoints("24"), find_checkpoints("linear:50"), find_checkpoints("1,10,100")
    (24, 'linear:50', [1, 10, 100])
    """
    if text is None or ":" in text:
        return text
    try:
        numbers = [int(word) for word in text.split(",")]
    except ValueError:
        raise ValueError(
            f"--checkpoints {text} is not allowed: "
            "it must be a whole number, several such as 1,10,100, log:24 or linear:50"
        ) from None
    return numbers if "," in text else numbers[0]


def number_or_text(text: str | None) -> float | str | None:
    """A number where the text is one: of `8.73`, `5%` or `8.73 else 5%` the first.

    >>> number_or_text("8.73"), number_or_text("5%")
    (8.73, '5%')
    """
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _named_problem(name: str) -> "Problem":
    from .. import problem_files as files
    from ..lab.paper.settings import SETTINGS

    by_name = {key.lower(): problem for key, problem in SETTINGS.items()}
    if name.lower() in by_name:
        return by_name[name.lower()]
    if name.endswith(files.SUFFIXES):
        return files.load(name)
    raise ValueError(
        f"problem {name!r} is not known: it must be one of {', '.join(SETTINGS)}, "
        "or a .toml or .json file"
    )


def _user_options(
    q: str | None, theta: float | None, c6: float | None, user: str | None
) -> dict[str, Any]:
    options = {"q": q, "theta": theta, "c6": c6, "user": user}
    given = [name for name, value in options.items() if value is not None]
    if q is not None and given == ["q"]:
        numbers = _numbers("--q", q)
        if len(numbers) != 4:
            raise ValueError(f"--q {q} is not allowed: it must be four numbers, q00,q01,q10,q11")
        names = ("q00", "q01", "q10", "q11")
        return {"model": "two-state", **dict(zip(names, numbers, strict=True))}
    if given == ["theta", "c6"]:
        return {"model": "ema", "theta": theta, "c6": c6}
    if user is not None and given == ["user"]:
        return _model_and_settings(user)
    raise ValueError("describe the user with --q, or with both --theta and --c6, or with --user")


def _model_and_settings(text: str) -> dict[str, Any]:
    """As TOML, a setting a line; numbers may begin with the point."""
    model, _, settings = text.partition(":")
    lines = re.sub(r"[\s,]+(?=\w+\s*=)", "\n", settings)
    lines = re.sub(r"(?<![\w.])\.(?=\d)", "0.", lines)
    try:
        return tomllib.loads(f"model = {json.dumps(model.strip())}\n{lines}")
    except tomllib.TOMLDecodeError:
        raise ValueError(
            f"--user {text} is not allowed: it must be a model, a colon and its settings, such as "
            "'two-state: q00=.8 q01=.2 q10=.2 q11=.1'"
        ) from None


def _start_option(text: str) -> float | list[list[float]]:
    if ":" not in text:
        return _numbers("--start", text)[0]
    return [_numbers("--start", pair.replace(":", ",")) for pair in text.split(",")]


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise ValueError(
            f"{option} {text} is not allowed: it must be numbers with commas between"
        ) from None


def _parameter(cls: type["Policy"], text: str, problem: "Problem") -> tuple[str, Any]:
    from ..policies import Policy

    name, _, value = (part.strip() for part in text.partition("="))
    kinds: dict[str, Any] = {f.name: f.type for f in fields(cls) if f.init}
    if name not in kinds:
        known = ", ".join(kinds) or "none"
        raise ValueError(f"{cls.__name__} has no parameter {name!r}: its parameters are {known}")
    if kinds[name] is Policy:
        return name, find_policy(value, problem)
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
