"""What commands that read a log share: the log, and an option for each field of a `LogSpec`."""

import csv
from collections.abc import Callable, Mapping
from dataclasses import fields
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints

import typer

from ..logs.reading.spec import LogSpec
from ..validation import InputError
from .arguments import number_or_text, option

LogSource = Annotated[
    str,
    typer.Argument(
        metavar="LOG", help="A .csv, .jsonl or .parquet file, a folder, 'a/*/pattern', an address."
    ),
]


def _as_it_is(value: Any) -> Any:
    return value


def _arm_map(path: Path | None) -> dict[str, str] | None:
    if path is None:
        return None
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return {row["item"]: row["arm"] for row in csv.DictReader(file)}
    except (OSError, UnicodeDecodeError, KeyError):
        raise InputError(
            f"--arms {path} is not allowed: it must be a .csv file with columns item and arm"
        ) from None


class Typed(NamedTuple):
    """How the command line takes a type of field: its own type, and what becomes of its value."""

    kind: Any
    read: Callable[[Any], Any] = _as_it_is


TYPES = {
    str | float | None: Typed(str | None, number_or_text),
    tuple[float, ...]: Typed(list[float] | None, lambda numbers: tuple(numbers or ())),
    Mapping[Any, str] | None: Typed(Path | None, _arm_map),
}
"""Those that the command line has no type for."""


def _options(*without: str) -> dict[str, tuple[Parameter, Callable[[Any], Any]]]:
    hints: dict[str, Any] = get_type_hints(LogSpec)
    found = {}
    for field in fields(LogSpec):
        if field.name in without:
            continue
        typed = TYPES.get(hints[field.name], Typed(hints[field.name]))
        said = option(field.metadata["help"], metavar=field.metadata["metavar"])
        parameter = Parameter(
            field.name,
            Parameter.POSITIONAL_OR_KEYWORD,
            default=None if field.default == () else field.default,
            annotation=Annotated[typed[0], said],
        )
        found[field.name] = (parameter, typed[1])
    return found


def log_options(*without: str) -> Callable[..., LogSpec]:
    """A function with a parameter for each field but those `without`, for `with_options`."""
    options = _options(*without)

    def read(**given: Any) -> LogSpec:
        return LogSpec(**{name: options[name][1](value) for name, value in given.items()})

    read.__signature__ = Signature([p for p, _ in options.values()])  # type: ignore[attr-defined]
    return read
