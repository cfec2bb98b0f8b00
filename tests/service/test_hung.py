"""A store that hangs, is away, or takes no writes: every call ends by its deadline, and says so."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import asgi
import postgres
import psycopg
import pytest
import serving
from crashes import frozen, wait_until, workers

from sojourn.live import Journal, Unavailable, open_store, verify
from sojourn.service.catalog import Catalog
from sojourn.service.routes.base import Cache

DEADLINE = 2.0
SLACK = 8.0  # seconds more than the deadline that a busy machine may take
NEWS = "/v1/experiments/news"
VISITS = f"{NEWS}/visits"
MADE = {"arms": ["a", "b"], "policy": {"name": "UCB"}}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres.server() as url:
        yield url


def test_a_hung_database_hangs_nothing(server: str) -> None:
    url = postgres.database(server, "hung")
    with asgi.client(store=url, deadline=DEADLINE) as client:
        wait_until(lambda: client.put(NEWS, json=MADE).status_code < 300)
        for n in range(20):
            body = {"opening": {}, "request": "r", "step": 1}
            path = f"{VISITS}/v{n}/decisions"
            wait_until(lambda path=path, body=body: client.post(path, json=body).is_success)
        calls = [
            *[("POST", f"{VISITS}/v{n}/step", {"reward": 1, "request": "s"}) for n in range(20)],
            *[("POST", f"{VISITS}/v{n}/decisions", {"request": "s"}) for n in range(20)],
            *[("POST", f"{VISITS}/w{n}/decisions", {"request": "r"}) for n in range(40)],
            *[("GET", f"{VISITS}/v{n}", None) for n in range(20)],
            ("POST", f"{NEWS}/arms", {"arms": ["c"]}),
            ("POST", f"{NEWS}/arms", {"arms": ["d"]}),
            ("POST", f"{NEWS}/batch", {"calls": [{"call": "decide", "visit": "w0"}] * 9}),
            *[("GET", path, None) for path in (
                "/readyz", "/v1/experiments", NEWS, f"{NEWS}/insight", "/", "/experiments/news"
            )] * 5,
        ]  # fmt: skip

        async def call(method: str, path: str, body: object) -> tuple[str, int, float]:
            began = time.monotonic()
            given = {} if body is None else {"json": body}
            answer = await client.http.request(method, path, **given)
            status = answer.status_code
            if path.endswith("/batch"):
                status = max(each["status"] for each in answer.json()["answers"])
            return path, status, time.monotonic() - began

        async def all_at_once() -> list[tuple[str, int, float]]:
            return await asyncio.gather(*(call(*each) for each in calls))

        with frozen(url):
            asked = asyncio.run_coroutine_threadsafe(all_at_once(), client.loop)
            began = time.monotonic()
            assert client.get("/healthz").status_code == 200  # though an arm is being added
            assert time.monotonic() - began < DEADLINE + SLACK
            answers = asked.result(60)
            began = time.monotonic()
            assert b"sojourn_queue" in client.get("/metrics").content
            assert time.monotonic() - began < DEADLINE + SLACK
        slow = [(path, seconds) for path, _, seconds in answers if seconds > DEADLINE + SLACK]
        assert slow == []
        assert {status for _, status, _ in answers} == {503}
        wait_until(lambda: client.get("/readyz").status_code == 200)
        for n in range(20):  # one of the two had this request, and may have been committed
            answer = client.post(f"{VISITS}/v{n}/decisions", json={"request": "s", "step": 2})
            assert answer.status_code == 200
        experiment = client.app.state.catalog.experiments["news"]
        wait_until(lambda: not experiment.branch.operations.stale())
        sums = dict.fromkeys(("pulls", "issued"), 0.0)
        for (what, *_), n in experiment.counts().items():
            sums[what] = sums.get(what, 0.0) + n
        assert sums["issued"] == 40 and experiment.memory.clock[0] == sums["pulls"] == 20
        assert verify(experiment.journal.store, "news") == {}


def test_a_service_that_starts_without_its_database_waits_for_it(server: str) -> None:
    url = postgres.database(server, "later")
    with ExitStack() as stack:
        with frozen(url):
            client = stack.enter_context(asgi.client(store=url, deadline=DEADLINE))
            for path in ("/readyz", "/v1/experiments", NEWS, "/"):
                assert client.get(path).status_code == 503
            assert client.post(f"{VISITS}/v/decisions", json={}).status_code == 503
            assert client.put(NEWS, json=MADE).status_code == 503
            assert client.get("/healthz").status_code == 200
            assert client.get("/metrics").status_code == 200
        wait_until(lambda: client.get("/readyz").status_code == 200)
        wait_until(lambda: client.put(NEWS, json=MADE).is_success)
        wait_until(lambda: client.post(f"{VISITS}/v/decisions", json={"opening": {}}).is_success)


def test_workers_and_a_database_that_hangs(server: str) -> None:
    """One is killed meanwhile, and the next one waits; a signal ends them all, hung or not."""
    url = postgres.database(server, "workers")
    with serving.serve(url, "--workers", "2", "--deadline", f"{DEADLINE:g}") as service:
        wait_until(lambda: service.call("PUT", NEWS, MADE)[0] < 300)
        pid = service.process.pid
        wait_until(lambda: len(workers(pid)) == 2)
        with frozen(url):
            killed = workers(pid)[0]
            os.kill(killed, signal.SIGKILL)
            wait_until(lambda: len(workers(pid)) == 2 and killed not in workers(pid))
            wait_until(lambda: "serving without a store until it can be opened" in service.lines)
            for _ in range(3):
                assert service.call("GET", "/healthz")[0] == 200
                assert service.call("GET", "/readyz")[0] == 503
            assert service.process.poll() is None
        wait_until(lambda: "the store is open now" in service.lines)
        for n in range(6):
            path, body = f"{VISITS}/v{n}/decisions", {"opening": {}, "request": "r"}
            wait_until(lambda path=path, body=body: service.call("POST", path, body)[0] == 200)
        with frozen(url), ThreadPoolExecutor(4) as pool:
            body = {"request": "s"}
            asked = [
                pool.submit(service.call, "POST", f"{VISITS}/v{n}/decisions", body)
                for n in range(4)
            ]
            time.sleep(0.3)
            began = time.monotonic()
            service.process.send_signal(signal.SIGTERM)
            assert {each.result(60)[0] for each in asked} == {503}
            service.process.wait(60)
            assert time.monotonic() - began < 2 * DEADLINE + 2 * SLACK
    store = open_store(url)
    try:
        assert verify(store, "news") == {}
    finally:
        store.close()


def test_ready_means_that_the_store_takes_writes(server: str) -> None:
    """A full disk can be read; the service is ready again once it takes a write, called or not."""
    url = postgres.database(server, "room")
    with asgi.client(store=url) as client, psycopg.connect(url, autocommit=True) as db:
        assert client.put(NEWS, json=MADE).is_success
        assert client.post(f"{VISITS}/v/decisions", json={"opening": {}}).is_success
        assert client.get("/readyz").status_code == 200
        db.execute(postgres.FULL_DISK)
        assert client.get("/readyz").status_code == 200  # nothing was tried
        assert client.post(f"{VISITS}/v/step", json={"reward": 1}).status_code == 503
        assert client.get("/readyz").status_code == 503
        assert client.get("/readyz").status_code == 503
        assert client.get(f"{VISITS}/v").status_code == 200
        db.execute("DROP TRIGGER full_disk ON sojourn_event")
        assert client.get("/readyz").status_code == 200
        assert client.post(f"{VISITS}/v/step", json={"reward": 1}).is_success


def test_ready_on_a_full_disk_under_sqlite(tmp_path: Path) -> None:
    with asgi.client(store=f"sqlite:///{tmp_path}/live.db") as client:
        assert client.put(NEWS, json=MADE).is_success
        store = client.app.state.catalog.journal.store
        store._writer.execute("PRAGMA query_only = ON")  # as SQLite refuses what finds no room
        assert client.post(f"{VISITS}/v/decisions", json={"opening": {}}).status_code == 503
        assert client.get("/readyz").status_code == 503
        store._writer.execute("PRAGMA query_only = OFF")
        assert client.get("/readyz").status_code == 200
        assert client.post(f"{VISITS}/v/decisions", json={"opening": {}}).is_success


def test_those_who_look_on_share_what_they_read() -> None:
    """Thirty ask at once: one reads, then one more for all others; later ones read again."""
    reads, began = Cache(), []

    def read() -> int:
        began.append(time.monotonic())
        time.sleep(0.05)
        return len(began)

    async def ask() -> list[int]:
        journal = Journal("memory://", upkeep=False)
        news: Any = SimpleNamespace(name="news", journal=journal)
        first = await asyncio.gather(*(reads.get(news, "reading", read) for _ in range(30)))
        again = [await reads.get(news, "reading", read) for _ in range(2)]
        kept = await reads.get(news, "reading", read, fresh=60.0)
        journal.close()
        return [*first, *again, kept]

    answers = asyncio.run(ask())
    assert len(began) <= 4 and set(answers[:30]) <= {1, 2}
    assert answers[30] < answers[31] == answers[32]


def test_a_change_that_compiles_nothing_ends_by_the_deadline() -> None:
    """Its turn and its work together; it goes on, and the next one waits for it."""

    async def change() -> list[str]:
        done: list[str] = []
        with Journal("memory://", upkeep=False, deadline=1.0) as journal:
            catalog, go = Catalog(journal, compiled=False), threading.Event()
            with pytest.raises(Unavailable, match="within the deadline"):
                await catalog.changing(lambda: go.wait(30) and done.append("late"))
            with pytest.raises(Unavailable, match="within the deadline"):
                await catalog.changing(lambda: done.append("never"))
            go.set()
            await catalog.changing(lambda: done.append("next"))
            return done

    assert asyncio.run(change()) == ["late", "next"]
