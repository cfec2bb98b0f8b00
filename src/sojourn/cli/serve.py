"""The command `sojourn serve`.

Every option can be given by an environment variable as well; the command line wins.
"""

import re
from typing import Annotated, Any

import typer

from ..extras import require
from ..service.options import Options
from ..validation import InputError
from .arguments import LIVE, Typed, command, option, options_of, with_options

NEEDED = ("fastapi", "uvicorn", "prometheus_client", "jinja2")

TYPES = {tuple[str, ...]: Typed(list[str] | None, lambda words: tuple(words or ()))}


@command(LIVE, "serve", "sojourn serve --demo")
@with_options("given", options_of(Options, dict[str, Any], types=TYPES, variables=True))
def serve_command(
    context: typer.Context,
    given: dict[str, Any],
    no_compile: Annotated[
        bool,
        option(
            "Do not compile policies.", "--no-compile", envvar="SOJOURN_NO_COMPILE", hidden=True
        ),
    ] = False,
) -> None:
    """Serve decisions over HTTP, with a dashboard; no configuration is needed."""
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
    """A sentence about options, with the variable of each option that the environment set."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is not None and source.name == "ENVIRONMENT":
            names = rf"{re.escape(parameter.opts[0])}(?![\w-])|^{parameter.name}(?= = )"
            sentence = re.sub(names, str(parameter.envvar), sentence)
    return sentence
