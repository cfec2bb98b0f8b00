"""What commands share: options, and how values such as `log:24` are parsed."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, NamedTuple, TypeVar, get_type_hints

import typer

from ..validation import InputError

T = TypeVar("T")


def option(help_: str, *names: str, **more: Any) -> Any:
    """An option of a command, named after its parameter unless names are given."""
    return typer.Option(*names, help=help_, **more)


AsJson = Annotated[bool, option("Print JSON and nothing else.", "--json")]
Seed = Annotated[int, option("The same seed gives the same numbers.")]
Workers = Annotated[int | None, option("Threads; default: one per processor.")]

LOG, LIVE, MODEL, OPERATE = PANELS = ("Your log", "Live", "Simulate and theory", "Operate")
"""The panels of `sojourn --help`."""

Command = Callable[..., None]
Register = Callable[[Command], Command]


class Declared(NamedTuple):
    """A command or a group of commands, and its panel in the help."""

    panel: str
    name: str
    run: Command | typer.Typer
    example: str


DECLARED: list[Declared] = []
"""All commands. `main` finds the modules that declare them; nothing else has to name them."""


def command(panel: str, name: str, example: str) -> Register:
    """Declare a command of `sojourn`."""

    def declare(run: Command) -> Command:
        DECLARED.append(Declared(panel, name, run, example))
        return run

    return declare


def group(panel: str, name: str, help_: str, example: str) -> Callable[[str, str], Register]:
    """Declare a group of commands; the result declares each command in it."""
    app = typer.Typer(help=help_, epilog=f"Example: {example}", no_args_is_help=True)
    DECLARED.append(Declared(panel, name, app, example))
    return lambda name, example: app.command(name, epilog=f"Example: {example}")


def with_options(name: str, make: Callable[..., Any], **settings: Any) -> Register:
    """Replace a command's parameter `name` by the options of `make`, and pass the result of `make`.

    Keyword-only parameters of `make` are not options; they come from `settings`.
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


class Typed(NamedTuple):
    """How the command line takes a type of field: its own type, and how the value is converted."""

    kind: Any
    read: Callable[[Any], Any] = lambda value: value


def options_of(
    cls: Any,
    make: Callable[..., T],
    *without: str,
    types: Mapping[Any, Typed] | None = None,
    variables: bool = False,
) -> Callable[..., T]:
    """`make`, for `with_options`, with an option for each described field of a dataclass.

    `types` has the types that the command line lacks. With `variables`, environment variables can
    set options too.
    """
    hints, known = get_type_hints(cls), types or {}
    readers, parameters = dict[str, Callable[[Any], Any]](), list[Parameter]()
    for field in fields(cls):
        if not field.metadata or field.name in without:
            continue
        about = dict(field.metadata)
        help_, names = about.pop("help"), about.pop("names", ())
        if variables:
            flag = names[0] if names else field.name
            about["envvar"] = f"SOJOURN_{flag.lstrip('-').replace('-', '_').upper()}"
        kind: Any
        kind, readers[field.name] = known.get(hints[field.name], Typed(hints[field.name]))
        default = None if field.default == () else field.default
        declared = Annotated[kind, option(help_, *names, **about)]
        how = Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(Parameter(field.name, how, default=default, annotation=declared))

    def made(**given: Any) -> T:
        return make(**{name: readers[name](value) for name, value in given.items()})

    made.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return made


def parsed(name: str, text: str, read: Callable[[str], T], allowed: str) -> T:
    """Parse the text of an option; InputError if that fails."""
    try:
        return read(text)
    except ValueError:
        raise InputError(f"{name} {text} is not allowed: it must be {allowed}") from None


def numbers(text: str) -> list[float]:
    """Numbers separated by commas."""
    return [float(word) for word in text.split(",")]


def find_checkpoints(text: str | None) -> int | str | list[int] | None:
    """Parse `24`, `log:24`, `linear:50` or `1,10,100`."""
    if text is None or ":" in text:
        return text
    allowed = "a whole number, several such as 1,10,100, log:24 or linear:50"
    found = parsed("--checkpoints", text, lambda text: list(map(int, text.split(","))), allowed)
    return found if "," in text else found[0]


def number_or_text(text: str | None) -> float | str | None:
    """The number if the text is one, as in `8.73`; else the text, as in `5%` or `8.73 else 5%`."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text
