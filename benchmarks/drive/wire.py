"""A minimal HTTP/1.1 transport over asyncio, cheap enough for load tests.

One request at a time on a keep-alive connection; as many connections as concurrent requests.
Responses need a Content-Length, which the service sends with every response to a client.
"""

import asyncio
import ssl
from collections import deque
from typing import Any
from urllib.parse import urlsplit

from sojourn.client.caller import (
    TIMEOUT,
    NoResponse,
    Request,
    Response,
    bad_url,
    headers,
    retry_after,
)

END = b"\r\n\r\n"


class Wire:
    """A pool of connections to one service.

    With `spread`, requests use that many connections in turn, which may lead to different workers.
    """

    def __init__(
        self, url: str, key: str | None = None, timeout: float = TIMEOUT, spread: int = 0
    ) -> None:
        address = urlsplit(url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise bad_url(url)
        self._secure = ssl.create_default_context() if address.scheme == "https" else None
        self._place = address.hostname, address.port or (443 if self._secure else 80)
        self._base, self._timeout = address.path.rstrip("/"), timeout
        fixed = {"host": address.netloc.rpartition("@")[2], **headers(key)}
        self._head = "".join(f"{name}: {value}\r\n" for name, value in fixed.items())
        self._idle: deque[_Connection] = deque()
        self._spread, self._opened = spread, 0

    async def send(self, request: Request) -> Response:
        timeout = request.timeout(self._timeout)
        connection = await self._connection(min(timeout, self._timeout))
        head = f"{request.method} {self._base}{request.path} HTTP/1.1\r\n{self._head}"
        length = f"content-length: {len(request.body)}\r\n\r\n"
        data = f"{head}{length}".encode() + request.body
        response = await connection.ask(data, timeout)
        self._idle.append(connection)
        return response

    async def _connection(self, timeout: float) -> "_Connection":
        while self._idle and self._opened >= self._spread:
            connection = self._idle.popleft() if self._spread else self._idle.pop()
            if connection.alive:
                return connection
        loop = asyncio.get_running_loop()
        self._opened += 1
        try:
            made = loop.create_connection(_Connection, *self._place, ssl=self._secure)
            return (await asyncio.wait_for(made, timeout))[1]
        except (OSError, TimeoutError) as error:
            raise NoResponse(f"{type(error).__name__}: {error}".rstrip(": ")) from None

    async def close(self) -> None:
        for connection in self._idle:
            connection.drop()
        self._idle.clear()


class _Connection(asyncio.Protocol):
    """One connection, with at most one request in flight."""

    def __init__(self) -> None:
        self.alive = True
        self._received = b""
        self._response: asyncio.Future[Response] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def connection_lost(self, error: Exception | None) -> None:
        self._fail(f"the connection was closed ({error})" if error else "the connection was closed")

    async def ask(self, data: bytes, timeout: float) -> Response:
        loop = asyncio.get_running_loop()
        self._response = loop.create_future()
        late = loop.call_later(timeout, self._fail, f"nothing for {timeout:g} s")
        self._transport.write(data)
        try:
            return await self._response
        except BaseException:
            self.drop()  # a late response must not be taken for that of another request
            raise
        finally:
            late.cancel()

    def data_received(self, data: bytes) -> None:
        received = self._received = self._received + data if self._received else data
        end = received.find(END)
        if end < 0:
            return
        head = received[:end].lower()
        length = _field(head, b"content-length")
        if length is None:
            self._fail("an answer of unknown length")
        elif len(received) >= end + 4 + int(length):
            body = received[end + 4 : end + 4 + int(length)]
            self._received = b""
            wait = _field(head, b"retry-after")
            if _field(head, b"connection") == b"close":
                self.drop()
            if self._response is not None and not self._response.done():
                seconds = retry_after(wait.decode("latin-1")) if wait else None
                self._response.set_result(Response(int(head[9:12]), body, seconds))

    def _fail(self, reason: str) -> None:
        self.alive = False
        if self._response is not None and not self._response.done():
            self._response.set_exception(NoResponse(reason))

    def drop(self) -> None:
        self.alive = False
        self._transport.close()


def _field(head: bytes, name: bytes) -> bytes | None:
    r"""A header's value, from a head in lower case.

    >>> _field(b"http/1.1 200 ok\r\ncontent-length: 12", b"content-length")
    b'12'
    """
    start = head.find(b"\r\n" + name + b":")
    if start < 0:
        return None
    start += len(name) + 3
    end = head.find(b"\r\n", start)
    return head[start : end if end >= 0 else len(head)].strip()
