"""Nothing acknowledged is lost and nothing counts twice, whoever is killed under the service."""

import os
import signal
import urllib.error
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import postgres
import psycopg
import pytest
import serving
from crashes import check, kill_server, wait_until, workers
from service_load import Load, quiet_port

from sojourn.live import open_store
from sojourn.live.stores.postgres import NAMESPACE


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with postgres.server() as url:
        yield url


def check_all(place: str, said: list[list[str]]) -> None:
    """What was acknowledged is there, counted once; and as all was acknowledged, nothing else."""
    store = open_store(place)
    try:
        check(store, said, everything=True)
    finally:
        store.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_kill_the_service_in_mid_load(kind: str, tmp_path: Path, database: str) -> None:
    """Four lives of one service; clients repeat what was not answered, and go on."""
    place = (
        f"sqlite:///{tmp_path / 'live.db'}"
        if kind == "sqlite"
        else postgres.database(database, "killed")
    )
    port = quiet_port()
    with Load(f"http://127.0.0.1:{port}", clients=4) as load:
        for _ in range(3):
            with serving.serve(place, "--port", str(port)) as server:
                load.more(150)
                server.stop(signal.SIGKILL)
        with serving.serve(place, "--port", str(port)) as server:
            load.more(150)
            load.finish()
            status, known = server.call("GET", "/v1/experiments/load")
            resolved = sum(line[0] == "resolve" for line in load.said)
            assert status == 200 and sum(arm["pulls"] for arm in known["arms"]) == resolved
    assert load.troubles["Unavailable"] >= 3
    check_all(place, load.said)


def test_kill_the_database_under_the_service() -> None:
    """Meanwhile the service says 503 and lives; when the database is back, so is the service."""
    with postgres.server() as place, serving.serve(place) as server:
        with psycopg.connect(place) as db:
            (folder,) = db.execute("SHOW data_directory").fetchone() or ("",)
        with Load(server.url, clients=4) as load:
            load.more(150)
            restart = kill_server(Path(folder))
            load.troubles.clear()
            wait_until(lambda: load.troubles["Unavailable"] >= 2)
            check_says_503(server.url)
            assert server.call("GET", "/healthz")[0] == 200
            assert server.call("GET", "/readyz")[0] == 503
            restart()
            load.more(150)
            load.finish()
            wait_until(lambda: server.call("GET", "/readyz")[0] == 200)
            assert server.process.poll() is None
        check_all(place, load.said)


def check_says_503(url: str) -> None:
    request = urllib.request.Request(
        f"{url}/v1/experiments/load/visits/new/decisions",
        b'{"opening": {}, "request": "r"}',
        {"content-type": "application/json"},
        method="POST",
    )
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=30)
    with caught.value as answer:
        assert answer.code == 503 and float(answer.headers["retry-after"]) > 0
        assert b'"unavailable"' in answer.read()


def writers(place: str) -> int:
    """How many processes are ready to write to a database."""
    with psycopg.connect(place) as db:
        held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
        (found,) = db.execute(f"{held} AND classid::bigint = %s", (NAMESPACE,)).fetchone() or (0,)
    return int(found)


def open_files(process: int) -> int:
    return sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())


def test_four_workers_and_the_same_visits_one_worker_killed(database: str) -> None:
    """Clients of different workers decide for the same visits in turn, all at the same time."""
    place, visits = postgres.database(database, "workers"), ("v1", "v2", "v3")
    with serving.serve(place, "--workers", "4") as server:
        wait_until(lambda: len(workers(server.process.pid)) == writers(place) == 4)
        with Load(server.url, clients=8, shared=visits) as load:
            load.more(200)
            before = workers(server.process.pid)
            os.kill(max(before, key=open_files), signal.SIGKILL)  # most clients are with that one
            load.more(200)
            wait_until(lambda: len(set(workers(server.process.pid)) - set(before)) == 1)
            load.more(200)
            load.finish()
        for visit in visits:
            path = f"/v1/experiments/load/visits/{visit}/end"
            assert server.call("PUT", path, {"reward": 1.0})[1] == {"ended": True}
        assert server.stop() == 0
    store = open_store(place)
    try:
        assert len(load.firsts) == len(visits)
        check(store, load.said + [["decide", visit, "1", arm] for visit, arm in load.firsts])
        events = store.events("load")
    finally:
        store.close()
    steps = defaultdict(list)
    for event in events:
        steps[event.kind, event.visit].append(event.step)
    for visit in visits:
        expected = list(range(1, max(steps["decide", visit]) + 1))
        assert sorted(steps["decide", visit]) == sorted(steps["resolve", visit]) == expected
    said = Counter((kind, visit, step) for kind, visit, step, _ in load.said)
    assert max(said.values()) == 1
    decided = sum(len(s) for (kind, _), s in steps.items() if kind == "decide") - len(visits)
    assert decided - sum(key[0] == "decide" for key in said) <= load.troubles["Conflict"]
    assert len({event.writer for event in events if event.kind == "decide"}) >= 2
    assert load.troubles["Conflict"] > 0
