"""A client that was made before a fork: the child never speaks on the parent's connections."""

import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sojourn.client import Client
from sojourn.client.caller import Request, finish


def test_every_process_has_connections_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    ports: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            ports.append(self.client_address[1])
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        client = Client(f"http://127.0.0.1:{server.server_address[1]}")

        def call() -> None:
            assert finish(client._caller.call(Request.of("GET", "experiments"))) == {}

        call()
        call()
        with monkeypatch.context() as child:
            child.setattr(os, "getpid", lambda: -1)
            client.close()  # which is not the child's to close
            call()
            client.close()
        call()
        client.close()
        server.shutdown()
    parent, again, child_port, after = ports
    assert parent == again == after != child_port
