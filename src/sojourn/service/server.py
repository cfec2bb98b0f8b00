"""Running the service: sockets, processes, signals, log lines.

What callers send cannot forge a line of the log: all that is not printable is escaped, and lines of
a trace begin with a bar, which no event does.
"""

import inspect
import json
import logging
import multiprocessing
import os
import re
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
from urllib.parse import unquote

import uvicorn
from uvicorn.supervisors import Multiprocess

from ..live import LiveError, open_store
from ..validation import InputError
from . import telemetry
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
FAILED = "the service could not start: see the log"


def run(options: Options, say: Callable[[str], None] = print) -> None:
    """Serve until SIGTERM or Ctrl-C; InputError if the options do not allow it.

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
    """Fail early, with one sentence, if every worker would fail."""
    if options.keys is not None:
        try:
            Keyring(options.keys)
        except InputError as error:
            raise InputError(f"--keys: {error}") from None
    telemetry.wanted()
    try:
        open_store(options.store).close()
    except LiveError as error:
        lines = Lines(words=secrets_of(options.store))
        raise InputError(lines.hide(str(error))) from None


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
    words = secrets_of(options.store)
    return uvicorn.Config(
        partial(_app, options),
        factory=True,
        workers=options.workers,
        loop="uvloop" if find_spec("uvloop") else "asyncio",
        http=protocol(options),
        ws="none",
        lifespan="on",
        log_config=logging_configuration(options.log_format, options.log_level, words)
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


PLAIN = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}
"""Attributes of every record; others were given with `extra`."""

TOKENS = r"\bsj_[0-9a-zA-Z]+_[\w-]+|(?<=://)([^/\s:@]*):[^\s]*@|(?i:password=)\S+"
"""Keys, and passwords in URLs."""


def escaped(text: str) -> str:
    """The text on one line: line breaks, control and direction characters are escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


class Lines(logging.Formatter):
    """Lines of the log, as JSON objects or for people: message, and what was given with `extra`.

    Secrets are hidden: keys, passwords in URLs, and the words given. For people, a trace follows on
    lines of its own.
    """

    def __init__(self, *, form: str = "text", words: tuple[str, ...] = ()) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        longest_first = sorted(map(re.escape, words), key=len, reverse=True)
        self._form, self._secrets = form, re.compile("|".join([*longest_first, TOKENS]))

    def hide(self, text: str) -> str:
        return self._secrets.sub("***", text)

    def format(self, record: logging.LogRecord) -> str:
        more = {name: value for name, value in vars(record).items() if name not in PLAIN}
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        record.message, record.asctime = record.getMessage(), self.formatTime(record)
        if self._form == "text":
            given = "".join(f" {name}={_value(value)}" for name, value in more.items())
            line = escaped(self.formatMessage(record) + given)
            return self.hide("\n  | ".join([line, *map(escaped, trace.splitlines())]))
        whole = {
            "time": f"{self.formatTime(record, '%Y-%m-%dT%H:%M:%S')}.{record.msecs:03.0f}",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.message,
            **more,
        }
        if trace:
            whole["trace"] = trace
        return escaped(self.hide(json.dumps(whole, ensure_ascii=False, default=str)))


def _value(value: object) -> str:
    """A value that cannot be taken for several."""
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if set(text) & set(' ="') else text


def secrets_of(url: str) -> tuple[str, ...]:
    """The password in a database URL: as it is, decoded, and parts between reserved characters."""
    _, _, rest = url.partition("://")
    login, found, _ = rest.rpartition("@")
    _, colon, password = login.partition(":")
    query = re.findall(r"password=([^&\s]+)", url)
    whole = [*([password] if found and colon and password else []), *query]
    parts = [part for word in whole for part in re.split(r"[@/:?#]", word) if len(part) >= 4]
    return tuple(dict.fromkeys([*whole, *map(unquote, whole), *parts]))


def logging_configuration(form: str, level: str, words: tuple[str, ...]) -> dict[str, Any]:
    """Settings for `logging.config.dictConfig`: all loggers to standard error in one format."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": Lines, "form": form, "words": words}},
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "stream": "ext://sys.stderr",
                "formatter": "lines",
            }
        },
        "root": {"level": level.upper(), "handlers": ["stderr"]},
        "loggers": {
            "uvicorn": {"level": level.upper(), "handlers": [], "propagate": True},
            "numba": {"level": "WARNING"},  # at debug level it prints all it compiles
        },
    }
