"""Limits for connections, which hold for every caller, before there is a request.

Uvicorn's protocol limits neither how many connections there are, nor how long a request may take to
arrive, nor how long its headers may be. `Limited` does; `Connections` counts connections and closes
those that are late.
"""

import asyncio
import errno
import logging
import os
from collections import Counter
from functools import partial
from http import HTTPStatus
from typing import Any

from pydantic_core import to_json
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .errors import RETRY_AFTER, Refusal
from .options import Options

log = logging.getLogger("sojourn.service")

EVERY = 1.0  # seconds between two checks of what is late
TELL_EVERY = 60.0  # seconds between two log lines of one kind
READER_WAIT = 60.0  # seconds that an answer may wait for its reader
RESERVED = 128  # descriptors for everything but connections
MOST_DESCRIPTORS = 1 << 20
HEAD, BODY = "headers", "body"


def raise_descriptors() -> int:
    """Raise the limit of open descriptors as far as this process may; the limit."""
    try:
        import resource
    except ImportError:  # Windows, where sockets are none
        return MOST_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (ValueError, OSError):
        return soft
    return wanted


class Connections:
    """The connections of one process.

    When there are too many, the one that has waited longest for a request is closed for a new one.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.most = max(1, min(options.connections, raise_descriptors() - RESERVED))
        self.most_of_peer = max(1, options.peer_connections * self.most // options.connections)
        self.open: set[Limited] = set()
        self.peers: Counter[str] = Counter()
        self.waiting: dict[Limited, None] = {}
        self._sweeping = False
        self._told: dict[str, tuple[int, float]] = {}

    def enter(self, new: "Limited") -> Refusal | None:
        """Count a connection, or say why it cannot be."""
        full = None
        if self.peers[new.peer] >= self.most_of_peer:
            full = f"{self.most_of_peer} connections are open from one address"
            oldest = next((one for one in self.waiting if one.peer == new.peer), None)
        elif len(self.open) >= self.most:
            full = f"{self.most} connections are open"
            oldest = next(iter(self.waiting), None)
        if full and oldest is None:
            self.tell(f"{full} and busy: new ones are refused")
            return Refusal(503, f"{full}: try again", word="busy", retry_after=RETRY_AFTER)
        if full and oldest is not None:
            self.tell(f"{full}: waiting ones are closed for new ones")
            self.leave(oldest)
            oldest.transport.close()
        self.open.add(new)
        self.peers[new.peer] += 1
        self.waiting[new] = None
        if not self._sweeping:
            self._sweeping = True
            new.loop.call_later(EVERY, self._sweep, new.loop)
        return None

    def leave(self, one: "Limited") -> None:
        if one in self.open:
            self.open.discard(one)
            self.waiting.pop(one, None)
            self.peers[one.peer] -= 1
            if not self.peers[one.peer]:
                del self.peers[one.peer]

    def tell(self, what: str) -> None:
        """Log a warning, unless it was logged within the last minute; then count it."""
        now = asyncio.get_running_loop().time()
        times, due = self._told.get(what, (0, 0.0))
        if now < due:
            self._told[what] = times + 1, due
        else:
            log.warning("%s", what, extra={"times": times + 1})
            self._told[what] = 0, now + TELL_EVERY

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close connections that are late, and say if there are no descriptors for new ones."""
        now = loop.time()
        for one in list(self.open):
            one.check(now)
        try:
            os.close(os.open(os.devnull, os.O_RDONLY))
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self.tell(f"connections cannot be accepted: {error.strerror}")
        self._sweeping = bool(self.open)
        if self._sweeping:
            loop.call_later(EVERY, self._sweep, loop)


class Limited(HttpToolsProtocol):
    """Uvicorn's protocol, with limits.

    `reading` is the part of a request that has begun to arrive, or that a new connection owes;
    `since` is when, and `silent` how many bytes have arrived in which no part of a request ended.
    """

    def __init__(self, connections: Connections, **options: Any) -> None:
        super().__init__(**options)
        self.book, self.options = connections, connections.options
        self.peer = ""
        self.reading: str | None = HEAD
        self.since, self.silent, self.progress = self.loop.time(), 0, 0
        self.unread = 0  # bytes of a body whose request is answered already
        self.stalled: float | None = None

    @property
    def answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.peer = self.client[0] if self.client else ""
        full = self.book.enter(self)
        if full is not None:
            self.refuse(full)

    def connection_lost(self, exc: Exception | None) -> None:
        self.book.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived, in pieces of which none can exceed the limit for headers."""
        most = self.options.largest_headers
        while data and not self.transport.is_closing():
            if self.reading is None:
                self.reading, self.since = HEAD, self.loop.time()
            before, room = self.progress, most - self.silent
            piece, data = data[:room], data[room:]
            super().data_received(piece)
            self._count_unread(len(piece))
            if self.progress != before or self.flow.read_paused:
                self.silent = 0
                continue
            self.silent += len(piece)
            if self.silent >= most:
                self.book.tell("requests were refused for their long headers")
                self.refuse(Refusal(431, f"the headers are longer than {most} bytes"))
        self._settle()

    def _count_unread(self, length: int) -> None:
        """Close the connection if the body of an answered request goes on and on.

        Not at its first byte: the caller would see a reset instead of the answer.
        """
        answered = self.cycle is not None and self.cycle.response_complete
        self.unread = self.unread + length if answered and self.reading == BODY else 0
        if self.unread > self.options.largest_body:
            self.book.tell("connections were closed for the bodies of refused requests")
            self.transport.close()

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self.reading, self.since, self.progress = BODY, self.loop.time(), self.progress + 1

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self.progress += 1

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self.reading, self.progress = None, self.progress + 1

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.reading == HEAD:
            self.since = self.loop.time()
        self._settle()

    def send_400_response(self, msg: str) -> None:
        """The parser could not read what arrived."""
        self.refuse(Refusal(400, "this is not a request in HTTP/1.1"))

    def pause_writing(self) -> None:
        super().pause_writing()
        self.stalled = self.loop.time()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.stalled = None

    def _settle(self) -> None:
        if self.answering or self.reading == BODY:
            self.book.waiting.pop(self, None)
        elif self in self.book.open:
            self.book.waiting.setdefault(self)

    def check(self, now: float) -> None:
        """Close the connection if its request or its reader is late. Streams are never late."""
        if self.stalled is not None and now - self.stalled > READER_WAIT:
            self.transport.abort()
        elif self.reading == HEAD and not self.answering:
            self._close_if_late(now, self.options.header_wait)
        elif self.reading == BODY and not self.flow.read_paused:
            self._close_if_late(now, self.options.body_wait)

    def _close_if_late(self, now: float, wait: float) -> None:
        if now - self.since <= wait:
            return
        if self.reading == HEAD and not self.silent:
            self.transport.close()
            return
        self.book.tell(f"requests were refused because their {self.reading} took too long")
        self.refuse(Refusal(408, f"the {self.reading} did not arrive within {wait:g} s"))

    def refuse(self, refusal: Refusal) -> None:
        """Answer, unless an answer has begun, and close the connection."""
        if self.transport.is_closing():
            return
        cycle: Any = self.cycle if self.answering else None
        if cycle is None or (self.reading == BODY and not cycle.response_started):
            body = to_json(refusal.body)
            headers = {
                "content-type": "application/json", "content-length": len(body),
                "connection": "close", **refusal.headers,
            }  # fmt: skip
            lines = [f"HTTP/1.1 {refusal.status} {HTTPStatus(refusal.status).phrase}"]
            lines += [f"{name}: {value}" for name, value in headers.items()]
            self.transport.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        if cycle is not None:  # the application is told, and sends no more
            cycle.scope["sojourn.refused"] = refusal.status
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.close()


def protocol(options: Options) -> Any:
    """The factory of protocols for connections; every process has its own `Connections`."""
    return partial(Limited, Connections(options))
