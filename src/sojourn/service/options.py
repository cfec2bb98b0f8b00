"""The options of `sojourn serve`."""

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from .. import validation
from ..live import store_class
from ..live.journal import DEADLINE
from ..validation import InputError

STORE = "sqlite:///sojourn.db"
MEGABYTE = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Options:
    """All options of the service, frozen and picklable.

    `rate` is how many calls a second each key, or each address where there are no keys, may make
    of this service; None: any number. A call that the store has not answered after `deadline`
    seconds ends in 503. `keys` is needed unless only this machine can reach `host`.
    Visits that ended more than `keep_days` ago move to files in the folder `archive`.
    The address `webhook` is told when a guardrail acts.
    `connections` and, of one address, `peer_connections` are what each worker has open at most;
    requests have `header_wait` seconds for their headers and `body_wait` for their body to arrive.
    `parser` of HTTP is httptools or h11; "auto": the faster one of those that are installed.

    >>> Options(host="0.0.0.0")
    Traceback (most recent call last):
    sojourn.InputError: --host 0.0.0.0 can be reached from other machines, which takes keys: make \
a file of them with sojourn keys new, and give it with --keys
    """

    store: str = field(default=STORE, repr=False)  # it may hold a password
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    keys: Path | None = None
    rate: float | None = None
    largest_body: int = MEGABYTE
    largest_headers: int = 16_384
    connections: int = 4096
    peer_connections: int = 1024
    header_wait: float = 10.0
    body_wait: float = 30.0
    origins: tuple[str, ...] = ()
    demo: bool = False
    log_format: str = "text"
    log_level: str = "info"
    deadline: float = DEADLINE
    patience: float = 10.0
    archive: Path | None = None
    keep_days: float | None = None
    webhook: str | None = field(default=None, repr=False)  # it may hold a secret
    parser: str = "auto"
    compiled: bool = True

    def __post_init__(self) -> None:
        if self.keys is None and not self.local:
            raise InputError(
                f"--host {self.host} can be reached from other machines, which takes keys: "
                "make a file of them with sojourn keys new, and give it with --keys"
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
        validation.one_of("--parser", self.parser, ("auto", "httptools", "h11"))
        if self.keep_days is not None:
            validation.number("--keep-days", self.keep_days, 0, 36_500)
            if self.archive is None:
                raise InputError(
                    f"--keep-days {self.keep_days:g} needs a folder for what is older: --archive"
                )
        if self.webhook is not None and not self.webhook.startswith(("http://", "https://")):
            raise InputError("--webhook is not allowed: it must begin with http:// or https://")
        if self.rate is not None:
            validation.number("--rate", self.rate, 0, 1e9, open_ends=True)
        for origin in self.origins:
            _check_origin(origin)
        if self.workers > 1 and self.demo:
            raise InputError(f"--demo is for one process: leave out --workers {self.workers}")
        if self.workers > 1 and not self.shared:
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

    @property
    def shared(self) -> bool:
        return store_class(self.store).shared


def _check_origin(origin: str) -> None:
    scheme, found, rest = origin.partition("://")
    if not (found and scheme in ("http", "https") and rest and not set("/?# *") & set(rest)):
        raise InputError(
            f"--allow-origin {origin} is not allowed: it must be like https://www.example.com"
        )
