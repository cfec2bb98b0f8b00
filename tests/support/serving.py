"""A real server process for tests: `python -m sojourn serve` on a free port, gone afterwards."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE = 60.0


@dataclass
class Server:
    """Where it is, its process, and the file with what it printed and logged."""

    url: str
    process: "subprocess.Popen[bytes]"
    log: Path

    @property
    def lines(self) -> str:
        """All it has printed and logged."""
        return self.log.read_text()

    def call(
        self, method: str, path: str, body: Any = None, key: str = "", timeout: float = PATIENCE
    ) -> tuple[int, Any]:
        """The status and the decoded answer of one call."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"} if data is not None else {}
        if key:
            headers["authorization"] = f"Bearer {key}"
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                status, text = error.code, error.read()
        return status, json.loads(text) if text[:1] in (b"{", b"[") else text.decode()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, wait for the end; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@contextmanager
def serve(
    store: str = "memory://",
    *arguments: str,
    interpreted: bool = True,
    environment: Mapping[str, str] | None = None,
    under: Sequence[str] = (),
) -> Iterator[Server]:
    """Start a server and wait until it is ready; at the end it is stopped, killed if need be.

    Policies are not compiled unless `interpreted` is False: that takes seconds. `under` is a
    command that runs the one after it, such as ``prlimit --nofile=1024``.
    """
    with tempfile.TemporaryDirectory(prefix="sojourn-serve") as folder:
        log = Path(folder) / "log"
        process = start(
            log, store, *arguments, interpreted=interpreted, environment=environment, under=under
        )
        try:
            server = Server(_address(process, log), process, log)
            _wait(server)
            yield server
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(PATIENCE)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def start(
    log: Path,
    store: str,
    *arguments: str,
    interpreted: bool = True,
    environment: Mapping[str, str] | None = None,
    under: Sequence[str] = (),
) -> "subprocess.Popen[bytes]":
    """The process itself; what it prints and logs goes to `log`."""
    given = [*arguments, *(["--no-compile"] if interpreted else [])]
    if "--port" not in given:
        given += ["--port", "0"]
    with log.open("wb") as file:
        return subprocess.Popen(
            [*under, sys.executable, "-m", "sojourn", "serve", *given],
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, "SOJOURN_STORE": store, **(environment or {})},
            cwd=log.parent,
        )


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """It says where it is once it has the port."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        found = re.search(r"(http://\S+:\d+)/", log.read_text())
        if found:
            return found[1]
        time.sleep(0.02)
    raise AssertionError(f"the server did not start:\n{log.read_text()}")


def _wait(server: Server) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and server.process.poll() is None:
        try:
            if server.call("GET", "/readyz", timeout=1.0)[0] == 200:
                return
        except OSError:
            pass
        time.sleep(0.02)
    raise AssertionError(f"the server is not ready:\n{server.lines}")
