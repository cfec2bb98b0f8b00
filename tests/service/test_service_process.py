"""Real server processes: starting, refusing to start, stopping, several at a time."""

import asyncio
import json
import os
import re
import signal
import socket
import threading
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from postgres import server as postgres
from serving import PATIENCE, Server, serve

from sojourn import extras
from sojourn.cli.main import main
from sojourn.live import open_store, verify
from sojourn.live.stores.base import find_visit, loaded
from sojourn.service.auth import keys
from sojourn.service.metrics import drop_dead_gauges

SHORTS = "/v1/experiments/shorts"
PLAIN = {"arms": ["a", "b"], "policy": {"name": "UCB"}}


def head(server: Server, method: str, path: str, length: int) -> bytes:
    return (
        f"{method} {path} HTTP/1.1\r\nhost: {server.url[7:]}\r\n"
        f"content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    ).encode()


def connect(server: Server) -> socket.socket:
    host, _, port = server.url[7:].rpartition(":")
    return socket.create_connection((host, int(port)), timeout=30)


def until(good: Callable[[], bool]) -> None:
    """Wait for something that has to come."""
    end = time.monotonic() + PATIENCE
    while not good():
        assert time.monotonic() < end
        time.sleep(0.01)


def check(url: str) -> None:
    """Counters are the fold of events."""
    with closing(open_store(url)) as store:
        assert verify(store, "shorts") == {}


async def load(server: Server, name: str, acknowledged: list[tuple[str, int, str]]) -> None:
    """Steps of one visit until the server hangs up; what was answered is noted."""
    host, _, port = server.url[7:].rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    body = b'{"opening": {}}'
    for step in range(1, 100_000):
        try:
            writer.write(
                head(server, "POST", f"{SHORTS}/visits/{name}/decisions", len(body)) + body
            )
            answer = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = int(re.search(r"content-length: (\d+)", answer)[1])  # type: ignore[index]
            text = await reader.readexactly(length)
        except (OSError, EOFError):
            break
        assert answer.startswith("HTTP/1.1 200"), (answer, text)
        acknowledged.append((name, step, json.loads(text)["arm"]))
    writer.close()


def test_a_graceful_stop_loses_nothing(tmp_path: Path) -> None:
    """SIGTERM under load, with one call half sent and a page that listens to the dashboard."""
    file = tmp_path / "live.db"
    acknowledged: list[tuple[str, int, str]] = []
    with serve(f"sqlite:///{file}") as server:
        server.call("PUT", SHORTS, PLAIN)
        page = urllib.request.urlopen(f"{server.url}/events/shorts")
        body = b'{"user": "slow"}'
        half = connect(server)
        half.sendall(head(server, "PUT", f"{SHORTS}/visits/slow", len(body)) + body[:4])

        async def users() -> None:
            await asyncio.gather(*(load(server, f"v{n}", acknowledged) for n in range(8)))

        thread = threading.Thread(target=asyncio.run, args=(users(),))
        thread.start()
        until(lambda: len(acknowledged) >= 50)
        server.process.send_signal(signal.SIGTERM)
        until(lambda: "Shutting down" in server.lines)
        half.sendall(body[4:])
        assert half.recv(1000).startswith(b"HTTP/1.1 201")
        half.close()
        thread.join()
        assert server.process.wait(60) == 0
        page.close()
        assert "Traceback" not in server.lines
        assert "timeout graceful shutdown exceeded" not in server.lines
    store = open_store(f"sqlite:///{file}")
    events = {(e.visit, e.step): e for e in store.events("shorts") if e.kind == "decide"}
    arms = [arm.name for arm in loaded(store, "shorts")[1]]  # type: ignore[index]
    for visit, step, arm in acknowledged:
        assert arms[events[visit, step].arm] == arm  # type: ignore[index]
    assert find_visit(store, "shorts", "slow").user == "slow"  # type: ignore[union-attr]
    store.close()
    check(f"sqlite:///{file}")


def test_who_hangs_up_is_served_nevertheless() -> None:
    with serve() as server:
        server.call("PUT", SHORTS, PLAIN)
        body = b'{"opening": {}}'
        for number in range(20):
            caller = connect(server)
            path = f"{SHORTS}/visits/v{number}/decisions"
            caller.sendall(head(server, "POST", path, len(body)) + body)
            caller.close()
        for number in range(20):
            path = f"{SHORTS}/visits/v{number}"
            until(lambda path=path: server.call("GET", path)[1].get("step") == 1)
        assert "Traceback" not in server.lines


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The sentence with which `sojourn serve` ends at once."""
    assert main(["serve", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ") and said.err.count("\n") == 1
    return said.err


def test_refusing_to_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = ["--store", "memory://"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"--port {port} of 127.0.0.1 cannot be used (address already in use)" in refused(
            capsys, *memory, "--port", port
        )
        secret = "hunter22@/x"
        monkeypatch.setenv("SOJOURN_STORE", f"postgresql://ann:{secret}@127.0.0.1:1/db")
        away = refused(capsys)
        assert "the database cannot be used" in away and "hunter22" not in away
    with closing(open_store(f"sqlite:///{tmp_path}/live.db")):
        sentence = refused(capsys, "--store", f"sqlite:///{tmp_path}/live.db")
        assert "is in use by another process" in sentence
    for store in ("memory://", f"sqlite:///{tmp_path}/live.db"):
        sentence = refused(capsys, "--store", store, "--workers", "2")
        assert "--workers 2 needs a store that several processes can share" in sentence
    assert "needs keys" in refused(capsys, *memory, "--host", "0.0.0.0")
    assert "--port = 99999 is not allowed" in refused(capsys, *memory, "--port", "99999")
    assert "--rate" in refused(capsys, *memory, "--rate", "0")
    assert "--log-format" in refused(capsys, *memory, "--log-format", "xml")
    assert "--allow-origin" in refused(capsys, *memory, "--allow-origin", "https://a.example/b")
    assert "must be memory://" in refused(capsys, "--store", "mysql://a")
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "fastapi" else True)
    assert "serving needs fastapi: pip install 'sojourn[serve]'" in refused(capsys, *memory)


def test_nothing_has_to_be_configured(tmp_path: Path) -> None:
    with serve("") as server:
        assert server.call("PUT", SHORTS, PLAIN)[0] == 201
        made = server.log.with_name("sojourn.db")
        assert made.exists()
        assert server.lines.startswith(f"Sojourn at {server.url}/ (dashboard")
        assert server.stop(signal.SIGINT) == 0
        check(f"sqlite:///{made}")


def sums(text: str, name: str) -> float:
    """The sum of a metric over its labels."""
    return sum(float(v) for v in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE))


def test_workers_share_a_database(tmp_path: Path) -> None:
    """Two processes serve each other's experiments and visits, count together, and tell nobody
    the password or the key."""
    file = tmp_path / "keys.json"
    key, secret = keys.make(file, ["*"])[1], "hunter22"
    with postgres() as url:
        url = url.replace("postgres@", f"postgres:{secret}@")
        options = ["--workers", "2", "--keys", str(file), "--log-format", "json"]
        with serve(url, *options, "--log-level", "debug") as server:

            def call(method: str, path: str, body: Any = None) -> tuple[int, Any]:
                return server.call(method, path, body, key)

            assert call("PUT", SHORTS, PLAIN)[0] == 201
            workers = set()
            for step in range(1, 1000):
                path = f"{server.url}{SHORTS}/visits/v/decisions"
                request = urllib.request.Request(
                    path,
                    json.dumps({"opening": {}, "step": step, "request": f"r{step}"}).encode(),
                    {"content-type": "application/json", "authorization": f"Bearer {key}"},
                )
                with urllib.request.urlopen(request) as answer:
                    assert json.load(answer)["step"] == step
                    workers.add(answer.headers["x-request-id"].partition("-")[0])
                if len(workers) == 2 and step >= 20:
                    break
            assert len(workers) == 2
            assert call("GET", f"{SHORTS}/visits/v")[1]["step"] == step
            assert call("PUT", SHORTS, {**PLAIN, "policy": {"name": "Uniform"}})[0] == 200
            until(  # the other process has it after its next look
                lambda: all(
                    call("GET", SHORTS)[1]["policy"]["name"] == "Uniform" for _ in range(10)
                )
            )
            with ThreadPoolExecutor(8) as pool:  # all at once, by both processes
                made = list(pool.map(lambda _: call("PUT", "/v1/experiments/new", PLAIN), range(8)))
            assert {status for status, _ in made} <= {200, 201}
            assert [arm["name"] for arm in made[0][1]["arms"]] == ["a", "b"]
            text = call("GET", "/metrics")[1]
            decisions = r"sojourn_requests_total\{.*decisions.*"
            assert sum(map(float, re.findall(rf"^{decisions} (\S+)$", text, re.MULTILINE))) == step
            assert sums(text, "sojourn_commit_changes_sum") >= step
            assert sums(text, "sojourn_steps_total") == step
            assert server.call("GET", SHORTS, key="sj_no_thing")[0] == 401
            assert server.stop() == 0
            lines = server.lines
        assert "Traceback" not in lines
        assert lines.count("Application shutdown complete") == 2
        for word in (secret, key, key.split("_", 2)[2]):
            assert word not in lines
        logged = [json.loads(line) for line in lines.splitlines() if line.startswith("{")]
        assert {"serving", "stopped"} <= {line["message"] for line in logged}
        assert len(logged) > 20
        check(url)


def test_workers_end_with_their_parent() -> None:
    """Also if it was killed: they would hold the port, and the next start would fail."""
    with postgres() as url, serve(url, "--workers", "2") as server:
        until(lambda: server.lines.count("Application startup complete") == 2)
        workers = set(map(int, re.findall(r"Started server process \[(\d+)\]", server.lines)))
        assert len(workers) == 2
        server.stop(signal.SIGKILL)
        host, _, port = server.url[7:].rpartition(":")
        until(lambda: server.lines.count("Finished server process") == 2)
        with socket.create_server((host, int(port))):
            pass
        until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))


def test_the_present_of_dead_processes_is_forgotten(tmp_path: Path) -> None:
    pid = os.getpid()
    for name in (f"gauge_livesum_{pid}.db", "gauge_livesum_99999999.db", "counter_99999999.db"):
        (tmp_path / name).touch()
    drop_dead_gauges(tmp_path)
    left = sorted(file.name for file in tmp_path.iterdir())
    assert left == ["counter_99999999.db", f"gauge_livesum_{pid}.db"]
