"""The command `sojourn serve`."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from .arguments import option

EXAMPLE = "sojourn serve --demo"
NEEDED = ("fastapi", "uvicorn", "prometheus_client", "jinja2")


def serve_command(
    store: Annotated[
        str | None,
        option(
            "sqlite:///file, postgresql://... or memory://; default: what the variable "
            "SOJOURN_STORE says (so that no password is in the command line), "
            "else sqlite:///sojourn.db in this folder.",
            metavar="URL",
        ),
    ] = None,
    host: Annotated[str, option("The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option("The port to listen on; 0: any free one.")] = 8000,
    workers: Annotated[int, option("Processes; several need a store that they share.")] = 1,
    keys: Annotated[
        Path | None,
        option(
            "API keys, from `sojourn keys new`; needed unless --host is this machine only.",
            metavar="FILE",
        ),
    ] = None,
    rate: Annotated[
        float | None,
        option("Requests per second for each key (or address, without keys); default: no limit."),
    ] = None,
    deadline: Annotated[
        float, option("Seconds after which a call that the store has not answered ends in 503.")
    ] = 10.0,
    allow_origin: Annotated[
        list[str] | None,
        option(
            "CORS: a site whose pages may call, like https://www.example.com. Repeat for more.",
            metavar="URL",
        ),
    ] = None,
    archive: Annotated[
        Path | None,
        option("The folder of the archive; users are erased there too.", metavar="FOLDER"),
    ] = None,
    keep_days: Annotated[
        float | None,
        option("Move visits that ended more than so many days ago to the archive.", metavar="DAYS"),
    ] = None,
    demo: Annotated[
        bool, option("Start with a demonstration experiment and simulated users.", "--demo")
    ] = False,
    log_format: Annotated[str, option("Format of the log.", metavar="json|text")] = "text",
    log_level: Annotated[
        str, option("Least severe messages to log.", metavar="debug|info|warning|error")
    ] = "info",
    interpreted: Annotated[
        bool, typer.Option("--interpreted", help="Do not compile policies.", hidden=True)
    ] = False,
) -> None:
    """Serve decisions over HTTP, with a dashboard; nothing has to be configured."""
    check_extra()
    from ..service.options import Options, default_store
    from ..service.server import run

    options = Options(
        store=store or default_store(), host=host, port=port, workers=workers, keys=keys, rate=rate,
        archive=archive, keep_days=keep_days,
        deadline=deadline, origins=tuple(allow_origin or ()), demo=demo, log_format=log_format,
        log_level=log_level, compiled=not interpreted,
    )  # fmt: skip
    run(options, say=lambda text: print(text, flush=True))


def check_extra() -> None:
    """Say how to install what serving takes, if it is not there."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ValueError(f"serving needs {', '.join(missing)}: pip install 'sojourn[serve]'")
