"""What the words of the command line stand for: policies, checkpoints, precisions.

The rooms that these words need are imported when a word is looked up, so that help is quick.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
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


def find_policy(
    text: str, problem: "Problem | None" = None, told: Mapping[str, Any] | None = None
) -> "Policy":
    """The policy that a name or a label stands for, with parameters after a colon or comma.

    Without a problem it is as it is by default, not as the paper would set it. Policies that have
    to know the user are found only if there is something they are `told`: parameters, unless given.

    >>> from sojourn.cli.problems import find_problem
    >>> problem = find_problem("A")
    >>> find_policy("KLULCB:c=4,opposite", problem).label
    'KL-ULCB, c0=1, c1=-1, c=4'
    >>> find_policy("Learned IMED, floor=-1", problem).label
    'Learned IMED, floor=-1'
    """
    from ..policies import POLICIES, TOLD

    name, *rest = re.split("[:,]", text, maxsplit=1)
    words = [word.strip() for word in "".join(rest).split(",")]
    knows_user = told is not None and name in TOLD
    cls = TOLD[name] if knows_user else POLICIES.find("policy", name.strip())
    parameters = dict(_parameter(cls, w, problem) for w in words if w and w != "opposite")
    if told is not None and knows_user:
        parameters = {**told, **parameters}
    if problem is None:
        policy = cls(**_complete(cls, parameters))
    else:
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


def _complete(cls: type["Policy"], parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters, if there is none without a default among those not given."""
    for f in fields(cls):
        if f.init and f.default is f.default_factory is MISSING and f.name not in parameters:
            raise ValueError(f"{cls.__name__} needs {f.name}: give it as {cls.__name__}:{f.name}=")
    return parameters


def _parameter(cls: type["Policy"], text: str, problem: "Problem | None") -> tuple[str, Any]:
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
