"""A proxy that cuts connections, before or after the service has handled a request."""

import socket
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import cycle


class Cutter:
    """One request on a connection; the plan says what becomes of each, in turn.

    "pass" delivers the answer, "before" cuts without telling the service, "after" cuts when the
    service has answered, "half" in the middle of its answer.
    """

    def __init__(self, port: int, plan: Iterable[str]) -> None:
        self.port, self.plan, self.done = port, cycle(plan), Counter[str]()
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client = self.listener.accept()[0]
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            while True:
                request = message(client)
                if not request:
                    return
                with self.lock:
                    fate = next(self.plan)
                    self.done[fate] += 1
                if fate == "before":
                    return
                with socket.create_connection(("127.0.0.1", self.port)) as server:
                    server.sendall(request)
                    answer = message(server)
                if fate == "half":
                    client.sendall(answer[: len(answer) // 2])
                if fate != "pass":
                    return
                client.sendall(answer)


def message(source: socket.socket) -> bytes:
    """One whole HTTP message, or nothing if the connection was closed."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = source.recv(65536)
        if not more:
            return b""
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:])
    while len(body) < int(fields.get(b"content-length", 0)):
        body += source.recv(65536)
    return head + b"\r\n\r\n" + body


@contextmanager
def cutting(port: int, *plan: str) -> Iterator[Cutter]:
    """A proxy in front of a port of this machine."""
    cutter = Cutter(port, plan)
    try:
        yield cutter
    finally:
        cutter.listener.close()
