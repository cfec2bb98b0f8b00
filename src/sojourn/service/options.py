"""The options of `sojourn serve`: their defaults, what they mean, and what is allowed."""

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import validation
from ..validation import InputError

MEGABYTE = 1 << 20


def option(
    default: Any, help_: str, *names: str, metavar: str | None = None, secret: bool = False
) -> Any:
    """A field that is an option of the command too, and a variable of the environment."""
    about = {"help": help_, "names": names, "metavar": metavar}
    return field(default=default, repr=not secret, metadata=about)


@dataclass(frozen=True, kw_only=True)
class Options:
    """All options of the service, frozen and picklable; `sojourn serve --help` describes them.

    >>> Options(host="0.0.0.0")
    Traceback (most recent call last):
    sojourn.InputError: --host 0.0.0.0 can be reached from other machines, which needs keys: \
create a file of them with sojourn keys new, and give it with --keys
    """

    store: str = option(
        "sqlite:///sojourn.db",
        "sqlite:///file, postgresql://... or memory://; put a password into the variable, "
        "which the list of processes does not show.",
        metavar="URL",
        secret=True,
    )
    host: str = option("127.0.0.1", "The address to listen on.")
    port: int = option(8000, "The port to listen on; 0: any free one.")
    workers: int = option(1, "Number of processes; several need a store that they can share.")
    keys: Path | None = option(  # noqa: RUF009 (a field)
        None,
        "File of API keys, from `sojourn keys new`; needed unless --host is this machine only.",
        metavar="FILE",
    )
    rate: float | None = option(
        None, "Requests per second for each key (or address, without keys); default: no limit."
    )
    deadline: float = option(
        10.0, "Seconds after which a call is answered with 503 if the store has not answered."
    )
    connections: int = option(4096, "Most open connections of each worker.")
    peer_connections: int = option(1024, "Most open connections from one address.")
    header_wait: float = option(10.0, "Seconds in which the headers of a request must arrive.")
    body_wait: float = option(30.0, "Seconds in which the body of a request must arrive.")
    origins: tuple[str, ...] = option(
        (),
        "CORS: a site whose pages may call, like https://www.example.com. Repeat for more; "
        "in the variable, separated by spaces.",
        "--allow-origin",
        metavar="URL",
    )
    archive: Path | None = option(  # noqa: RUF009
        None, "The folder of the archive; users are erased there too.", metavar="FOLDER"
    )
    keep_days: float | None = option(
        None, "Move visits that ended more than this many days ago to the archive.", metavar="DAYS"
    )
    webhook: str | None = option(
        None, "An address that gets a POST when a guardrail acts.", metavar="URL", secret=True
    )
    demo: bool = option(
        False,
        "Start with a demonstration experiment and simulated users: in memory, apart from real "
        "visits, unless --store is given.",
        "--demo",
    )
    log_format: str = option("text", "Format of the log.", metavar="json|text")
    log_level: str = option(
        "info", "Least severe messages to log.", metavar="debug|info|warning|error"
    )
    compiled: bool = True
    largest_body: int = MEGABYTE
    largest_headers: int = 16_384
    patience: float = 10.0

    def __post_init__(self) -> None:
        if self.keys is None and not self.local:
            raise InputError(
                f"--host {self.host} can be reached from other machines, which needs keys: "
                "create a file of them with sojourn keys new, and give it with --keys"
            )
        validation.whole("--port", self.port, 0, 65535)
        validation.whole("--workers", self.workers, 1, 512)
        validation.whole("largest_body", self.largest_body, 1)
        validation.number("--deadline", self.deadline, 0.1, 600)
        validation.whole("largest_headers", self.largest_headers, 1024)
        validation.whole("--connections", self.connections, 1)
        validation.whole("--peer-connections", self.peer_connections, 1)
        validation.number("--header-wait", self.header_wait, 0, 3600, open_ends=True)
        validation.number("--body-wait", self.body_wait, 0, 3600, open_ends=True)
        validation.number("patience", self.patience, 0, 3600)
        validation.one_of("--log-format", self.log_format, ("json", "text"))
        validation.one_of("--log-level", self.log_level, ("debug", "info", "warning", "error"))
        if self.keep_days is not None:
            validation.number("--keep-days", self.keep_days, 0, 36_500)
            if self.archive is None:
                raise InputError(
                    f"--keep-days {self.keep_days:g} needs a folder for older visits: --archive"
                )
        if self.webhook is not None and not self.webhook.startswith(("http://", "https://")):
            raise InputError("--webhook is not allowed: it must begin with http:// or https://")
        if self.rate is not None:
            validation.number("--rate", self.rate, 0, 1e9, open_ends=True)
        for origin in self.origins:
            _check_origin(origin)
        if self.workers > 1 and self.demo:
            raise InputError(f"--demo is for one process: leave out --workers {self.workers}")
        if self.workers > 1:
            from ..live import store_class  # the command line has options without a store

            if not store_class(self.store).shared:
                raise InputError(
                    f"--workers {self.workers} needs a store that several processes can share: "
                    "postgresql://...; SQLite and memory serve one process"
                )

    @property
    def local(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def _check_origin(origin: str) -> None:
    scheme, found, rest = origin.partition("://")
    if not (found and scheme in ("http", "https") and rest and not set("/?# *") & set(rest)):
        raise InputError(
            f"--allow-origin {origin} is not allowed: it must be like https://www.example.com"
        )
