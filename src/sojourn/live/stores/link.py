"""Connections to PostgreSQL that do not wait for ever, and behave the same on every server."""

import math
import time
from collections.abc import Generator
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

TCP = {
    "keepalives": 1, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}  # fmt: skip
"""Parameters of libpq, unless the address has others: a peer that is gone is noticed."""

CONNECT = 5.0
"""Seconds to connect, unless the deadline is shorter; psycopg takes 2 at least."""

PINNED = {
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "off",
    "idle_in_transaction_session_timeout": "60s",
}
"""Settings that a server, a database or a role may have otherwise."""


class Link(psycopg.Connection[Any]):
    """A connection with a deadline for every answer of the server, after which it is closed.

    The server has the deadline as well (`statement_timeout`), but one that hangs keeps none.
    """

    deadline = math.inf
    _told = math.inf

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **options: Any) -> Any:
        """What psycopg waits for; it looks up several times a second."""
        if self.deadline < math.inf:
            gen = self._limited(gen, time.monotonic() + self.deadline)
        return super().wait(gen, *args, **options)

    def _limited(self, gen: Generator[Any, Any, Any], end: float) -> Generator[Any, Any, Any]:
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() >= end:
                    self.close()
                    raise psycopg.OperationalError(f"no answer for {self.deadline:g} s")
                wanted = gen.send(ready)
        except StopIteration as done:
            return done.value

    def limit(self, deadline: float) -> None:
        """Change the deadline of what comes."""
        self.deadline = deadline
        if deadline != self._told:
            ms = 0 if deadline == math.inf else max(1, round(1000 * deadline))
            self.execute(
                "SELECT set_config('statement_timeout', %s, false), "
                "set_config('lock_timeout', %s, false)",
                (str(ms), str(ms)),
            )
            self._told = deadline


def connect(url: str, deadline: float, *, read_only: bool = False) -> Link:
    """A connection in autocommit mode."""
    given = conninfo_to_dict(url)
    wanted = {**TCP, "connect_timeout": math.ceil(min(CONNECT, deadline))}
    more: Any = {name: value for name, value in wanted.items() if name not in given}
    link = Link.connect(url, autocommit=True, **more)
    try:
        link.deadline = deadline
        pinned = {**PINNED, "default_transaction_read_only": "on" if read_only else "off"}
        calls = ", ".join(["set_config(%s, %s, false)"] * len(pinned))
        link.execute(f"SELECT {calls}", [word for pair in pinned.items() for word in pair])
        link.limit(deadline)
    except BaseException:
        link.close()
        raise
    return link
