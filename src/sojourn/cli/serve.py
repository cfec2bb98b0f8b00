"""The command `sojourn serve`.

Every option can be given by an environment variable as well; the command line wins.
"""

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from ..extras import require
from ..validation import InputError
from .arguments import LIVE, command

NEEDED = ("fastapi", "uvicorn", "prometheus_client", "jinja2")


def setting(variable: str, help_: str, *names: str, **more: Any) -> Any:
    """An option that the environment may have as well, as SOJOURN_<variable>."""
    return typer.Option(*names, help=help_, envvar=f"SOJOURN_{variable}", **more)


@command(LIVE, "serve", "sojourn serve --demo")
def serve_command(
    context: typer.Context,
    store: Annotated[
        str,
        setting(
            "STORE",
            "sqlite:///file, postgresql://... or memory://; a password is better in the variable, "
            "which is not in the list of processes.",
            metavar="URL",
        ),
    ] = "sqlite:///sojourn.db",
    host: Annotated[str, setting("HOST", "The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, setting("PORT", "The port to listen on; 0: any free one.")] = 8000,
    workers: Annotated[
        int, setting("WORKERS", "Processes; several need a store that they share.")
    ] = 1,
    keys: Annotated[
        Path | None,
        setting(
            "KEYS",
            "API keys, from `sojourn keys new`; needed unless --host is this machine only.",
            metavar="FILE",
        ),
    ] = None,
    rate: Annotated[
        float | None,
        setting(
            "RATE",
            "Requests per second for each key (or address, without keys); default: no limit.",
        ),
    ] = None,
    deadline: Annotated[
        float,
        setting(
            "DEADLINE", "Seconds after which a call that the store has not answered ends in 503."
        ),
    ] = 10.0,
    connections: Annotated[
        int, setting("CONNECTIONS", "Open connections of each worker, at most.")
    ] = 4096,
    peer_connections: Annotated[
        int, setting("PEER_CONNECTIONS", "Open connections from one address, at most.")
    ] = 1024,
    header_wait: Annotated[
        float, setting("HEADER_WAIT", "Seconds in which the headers of a request must arrive.")
    ] = 10.0,
    body_wait: Annotated[
        float, setting("BODY_WAIT", "Seconds in which the body of a request must arrive.")
    ] = 30.0,
    allow_origin: Annotated[
        list[str] | None,
        setting(
            "ALLOW_ORIGIN",
            "CORS: a site whose pages may call, like https://www.example.com. Repeat for more; "
            "in the variable, with spaces between.",
            metavar="URL",
        ),
    ] = None,
    archive: Annotated[
        Path | None,
        setting(
            "ARCHIVE", "The folder of the archive; users are erased there too.", metavar="FOLDER"
        ),
    ] = None,
    keep_days: Annotated[
        float | None,
        setting(
            "KEEP_DAYS",
            "Move visits that ended more than so many days ago to the archive.",
            metavar="DAYS",
        ),
    ] = None,
    webhook: Annotated[
        str | None,
        setting(
            "WEBHOOK", "An address that is told, by a POST, when a guardrail acts.", metavar="URL"
        ),
    ] = None,
    demo: Annotated[
        bool,
        setting(
            "DEMO",
            "Start with a demonstration experiment and simulated users: in memory, not among real "
            "visits, unless --store is given.",
            "--demo",
        ),
    ] = False,
    log_format: Annotated[
        str, setting("LOG_FORMAT", "Format of the log.", metavar="json|text")
    ] = "text",
    log_level: Annotated[
        str,
        setting("LOG_LEVEL", "Least severe messages to log.", metavar="debug|info|warning|error"),
    ] = "info",
    parser: Annotated[
        str, setting("PARSER", "Parser of HTTP: httptools, h11 or auto.", hidden=True)
    ] = "auto",
    no_compile: Annotated[
        bool, setting("NO_COMPILE", "Do not compile policies.", "--no-compile", hidden=True)
    ] = False,
) -> None:
    """Serve decisions over HTTP, with a dashboard; nothing has to be configured."""
    require("serving", "serve", *NEEDED)
    from ..service.options import Options
    from ..service.server import run

    source = context.get_parameter_source("store")
    if demo and (source is None or source.name != "COMMANDLINE"):
        store = "memory://"
    try:
        options = Options(
            store=store, host=host, port=port, workers=workers, keys=keys, rate=rate,
            deadline=deadline, archive=archive, keep_days=keep_days, webhook=webhook,
            connections=connections, peer_connections=peer_connections, header_wait=header_wait,
            body_wait=body_wait, origins=tuple(allow_origin or ()), demo=demo,
            log_format=log_format, log_level=log_level, parser=parser, compiled=not no_compile,
        )  # fmt: skip
        run(options, say=lambda text: print(text, flush=True))
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
