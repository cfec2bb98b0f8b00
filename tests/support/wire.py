"""Bytes to a server in this process, and the bytes that it answers."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn

from sojourn.service.options import Options
from sojourn.service.server import configuration

PATIENCE = 30.0


class Wire:
    """A server that listens on this machine."""

    def __init__(self, port: int) -> None:
        self.port = port

    def connect(self, sent: str = "", source: str = "127.0.0.1") -> socket.socket:
        """A connection from an address of this machine, on which something was sent."""
        connection = socket.create_connection(
            ("127.0.0.1", self.port), timeout=PATIENCE, source_address=(source, 0)
        )
        connection.sendall(sent.encode("latin-1"))
        return connection

    def ask(self, method: str, target: str, body: str = "", **headers: str) -> tuple[int, str]:
        """The status and the body of the answer to a request with exactly this target."""
        lines = [f"{method} {target} HTTP/1.1", "host: localhost", "connection: close"]
        if method in ("POST", "PUT"):
            lines += ["content-type: application/json", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        with self.connect("\r\n".join([*lines, "", body])) as connection:
            return parsed(all_of(connection))


def all_of(connection: socket.socket) -> bytes:
    """What arrives until the server closes the connection."""
    got = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(65536):
            got += part
    return got


def one_of(connection: socket.socket) -> int:
    """The status of one answer, which is read to its end; 0 if nothing was answered."""
    got = b""
    while part := connection.recv(65536):
        got += part
        head, _, body = got.partition(b"\r\n\r\n")
        if body and len(body) >= int(head.lower().partition(b"content-length: ")[2].split()[0]):
            break
    return parsed(got)[0]


def parsed(answer: bytes) -> tuple[int, str]:
    """Status and body; the status is 0 if nothing was answered."""
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]) if head else 0, body.decode()


@contextmanager
def listening(**options: Any) -> Iterator[Wire]:
    """A server with these options, in memory and without compiling unless they say otherwise."""
    given = Options(**{"store": "memory://", "compiled": False, "patience": 1, **options})
    server = uvicorn.Server(configuration(given, log=False))
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        end = time.monotonic() + PATIENCE
        while not server.started:
            assert thread.is_alive() and time.monotonic() < end
            time.sleep(0.01)
        yield Wire(listener.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
