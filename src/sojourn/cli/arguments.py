"""What commands have in common: options, and what words such as `log:24` stand for."""

from collections.abc import Callable
from functools import wraps
from inspect import Signature, signature
from typing import Annotated, Any, NamedTuple

import typer

from ..validation import InputError


def option(help_: str, *names: str, metavar: str | None = None) -> Any:
    """An option of a command; its name is that of the parameter unless names are given."""
    return typer.Option(*names, help=help_, metavar=metavar)


AsJson = Annotated[bool, option("Print JSON and nothing else.", "--json")]
Seed = Annotated[int, option("The same seed gives the same numbers.")]
Workers = Annotated[int | None, option("Threads; default: one per processor.")]


LOG, LIVE, MODEL, OPERATE = PANELS = ("Your log", "Live", "Simulate and theory", "Operate")
"""What help shows together."""

Command = Callable[..., None]
Register = Callable[[Command], Command]


class Declared(NamedTuple):
    """A command, or a group of them, and where help shows it."""

    panel: str
    name: str
    run: Command | typer.Typer
    example: str


DECLARED: list[Declared] = []
"""All commands. A module that declares one is found by `main`; nothing else has to name it."""


def command(panel: str, name: str, example: str) -> Register:
    """Declare a command of `sojourn`."""

    def declare(run: Command) -> Command:
        DECLARED.append(Declared(panel, name, run, example))
        return run

    return declare


def group(panel: str, name: str, help_: str, example: str) -> Callable[[str, str], Register]:
    """Declare a group of commands; what it returns declares each of them."""
    app = typer.Typer(help=help_, epilog=f"Example: {example}", no_args_is_help=True)
    DECLARED.append(Declared(panel, name, app, example))
    return lambda name, example: app.command(name, epilog=f"Example: {example}")


def with_options(name: str, make: Callable[..., Any], **settings: Any) -> Register:
    """Give a command the options of `make` in place of its parameter `name`, and there the result.

    Keyword-only parameters of `make` are no options, but come from `settings`.
    """
    options = {o.name: o for o in signature(make).parameters.values() if o.kind != o.KEYWORD_ONLY}

    def decorate(command: Command) -> Command:
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
        raise InputError(
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
