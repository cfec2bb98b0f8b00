"""Running the service: sockets, processes, signals."""

import inspect
import logging
import multiprocessing
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from ..live import LiveError, open_store
from ..validation import InputError
from . import logs, telemetry
from .app import Service, create
from .auth.keys import Keyring
from .metrics import FOLDER
from .options import Options
from .protocol import RESERVED, protocol, raise_descriptors

log = logging.getLogger("sojourn.service")

BACKLOG = 2048
STARTUP_FAILURE = 3  # the exit code of a Uvicorn worker that could not start
HEALTH = 20
"""Seconds without a health check after which a worker is replaced; starting one takes several."""

SHORT = "%d descriptors (ulimit -n) are too few for the %d connections of --connections"
FAILED = "the service could not start: the log says why"


def run(options: Options, say: Callable[[str], None] = print) -> None:
    """Serve until SIGTERM or Ctrl-C; InputError says in one sentence why that cannot be.

    After a signal, what is in flight is answered, and what is queued is written.
    """
    _check(options)
    listener = _listen(options.host, options.port)
    port = listener.getsockname()[1]
    config = configuration(options)
    if raise_descriptors() < options.connections + RESERVED:
        log.warning(SHORT, raise_descriptors(), options.connections)
    host = f"[{options.host}]" if ":" in options.host else options.host
    say(f"Sojourn at http://{host}:{port}/ (dashboard; API below /v1). Stop with Ctrl-C.")
    if options.workers > 1:
        _run_many(config, listener)
        return
    for number in (signal.SIGTERM, signal.SIGINT):  # Uvicorn raises them again when it is done
        signal.signal(number, lambda number, frame: None)
    server = uvicorn.Server(config)
    try:
        server.run(sockets=[listener])
    except SystemExit:
        raise InputError(FAILED) from None


def _check(options: Options) -> None:
    """Fail early, with one sentence, for what would fail in every worker."""
    if options.keys is not None:
        try:
            Keyring(options.keys)
        except InputError as error:
            raise InputError(f"--keys: {error}") from None
    telemetry.wanted()
    try:
        open_store(options.store).close()
    except LiveError as error:
        hidden = logs.Hiding(words=logs.secrets_of(options.store))
        raise InputError(hidden.hide(str(error))) from None


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        number = error.errno or 0
        reason = (os.strerror(number) if number > 0 else error.strerror or str(error)).lower()
        raise InputError(
            f"--port {port} of {host} cannot be used ({reason}): choose another one"
        ) from None


def configuration(options: Options, *, log: bool = True) -> uvicorn.Config:
    """The configuration of Uvicorn; unless `log`, that of logging stays as it is."""
    words = logs.secrets_of(options.store)
    return uvicorn.Config(
        partial(_app, options),
        factory=True,
        workers=options.workers,
        loop="uvloop" if find_spec("uvloop") else "asyncio",
        http=protocol(options),
        ws="none",
        lifespan="on",
        log_config=logs.configuration(options.log_format, options.log_level, words)
        if log
        else None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=int(options.patience),
        timeout_worker_healthcheck=HEALTH,
    )


def _app(options: Options) -> Service:
    """The application of this process, which ends with its parent if it is a worker."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        end = partial(_end_with, parent, options.patience + HEALTH)
        threading.Thread(target=end, name="sojourn-parent", daemon=True).start()
    return create(options)


def _end_with(parent: Any, most: float) -> None:
    """Stop this process when its parent is gone, however that ended: it would hold the port."""
    parent.join()
    log.warning("the parent process is gone: this worker stops")
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(most)
    os._exit(1)  # what was acknowledged is committed


def _run_many(config: uvicorn.Config, listener: socket.socket) -> None:
    """Several workers on one socket; their metrics are in files of one folder."""
    folder = tempfile.mkdtemp(prefix="sojourn-metrics-")
    os.environ[FOLDER] = folder
    os.environ.setdefault("UV_TCP_SINGLE_ACCEPT", "1")  # else one takes all connections that wait
    options: dict[str, Any] = {"sockets": [listener]}
    if "target" in inspect.signature(Multiprocess).parameters:  # Uvicorn some time ago
        options["target"] = uvicorn.Server(config).run
    processes = Multiprocess(config, **options)
    try:
        processes.run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if any(process.process.exitcode == STARTUP_FAILURE for process in processes.processes):
        raise InputError(FAILED)
