"""The command `sojourn serve`.

Every option can be given by an environment variable as well; the command line wins.
"""

import re
from collections.abc import Iterator
from dataclasses import Field, fields
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

from ..extras import require
from ..service.options import Options
from ..validation import InputError
from .arguments import LIVE, command, with_options

NEEDED = ("fastapi", "uvicorn", "prometheus_client", "jinja2")


def _parameters() -> Iterator[Parameter]:
    """The fields of `Options` that are described, as options that the environment may have too."""
    for each in fields(Options):
        if each.metadata:
            annotation, default = _declared(each)
            kind = Parameter.POSITIONAL_OR_KEYWORD
            yield Parameter(each.name, kind, default=default, annotation=annotation)


def _declared(of: Field[Any]) -> tuple[Any, Any]:
    names, repeated = of.metadata["names"], of.default == ()
    flag = names[0] if names else f"--{of.name.replace('_', '-')}"
    variable = flag.lstrip("-").replace("-", "_").upper()
    shown = typer.Option(
        *names,
        help=of.metadata["help"],
        envvar=f"SOJOURN_{variable}",
        metavar=of.metadata["metavar"],
    )
    if repeated:
        return Annotated[list[str] | None, shown], None
    return Annotated[of.type, shown], of.default


def _given(**given: Any) -> dict[str, Any]:
    return {**given, "origins": tuple(given["origins"] or ())}


_given.__signature__ = Signature(list(_parameters()))  # type: ignore[attr-defined]


@command(LIVE, "serve", "sojourn serve --demo")
@with_options("given", _given)
def serve_command(
    context: typer.Context,
    given: dict[str, Any],
    no_compile: Annotated[
        bool,
        typer.Option(
            "--no-compile",
            help="Do not compile policies.",
            envvar="SOJOURN_NO_COMPILE",
            hidden=True,
        ),
    ] = False,
) -> None:
    """Serve decisions over HTTP, with a dashboard; nothing has to be configured."""
    require("serving", "serve", *NEEDED)
    from ..service.server import run

    source = context.get_parameter_source("store")
    if given["demo"] and (source is None or source.name != "COMMANDLINE"):
        given["store"] = "memory://"
    try:
        run(Options(**given, compiled=not no_compile), say=lambda text: print(text, flush=True))
    except InputError as error:
        raise InputError(_with_variables(context, str(error))) from None


def _with_variables(context: typer.Context, sentence: str) -> str:
    """A sentence about options, which names the variable of those that the environment gave."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is not None and source.name == "ENVIRONMENT":
            names = rf"{re.escape(parameter.opts[0])}(?![\w-])|^{parameter.name}(?= = )"
            sentence = re.sub(names, str(parameter.envvar), sentence)
    return sentence
