"""A store that hangs, is away, or takes no writes: every call ends by its deadline, and says so."""

import asyncio
import time
from collections.abc import Iterator

import asgi
import postgres
import pytest
from crashes import frozen, wait_until

from sojourn.live import verify

DEADLINE = 2.0
SLACK = 8.0  # seconds more than the deadline that a busy machine may take
NEWS = "/v1/experiments/news"
VISITS = f"{NEWS}/visits"
MADE = {"arms": ["a", "b"], "policy": {"name": "UCB"}}

FULL = """
CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
CREATE TRIGGER full_disk BEFORE INSERT ON sojourn_event EXECUTE FUNCTION full_disk();
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres.server() as url:
        yield url


def test_a_hung_database_hangs_nothing(server: str) -> None:
    url = postgres.database(server, "hung")
    with asgi.client(store=url, deadline=DEADLINE) as client:
        wait_until(lambda: client.put(NEWS, json=MADE).status_code < 300)
        for n in range(20):
            body = {"open": {}, "request_id": "r", "step": 1}
            path = f"{VISITS}/v{n}/decisions"
            wait_until(lambda path=path, body=body: client.post(path, json=body).is_success)
        calls = [
            *[("POST", f"{VISITS}/v{n}/step", {"reward": 1, "request_id": "s"}) for n in range(20)],
            *[("POST", f"{VISITS}/v{n}/decisions", {"request_id": "s"}) for n in range(20)],
            *[("POST", f"{VISITS}/w{n}/decisions", {"request_id": "r"}) for n in range(40)],
            *[("GET", f"{VISITS}/v{n}", None) for n in range(20)],
            ("PUT", f"{NEWS}/arms/c", {}),
            ("PUT", f"{NEWS}/arms/d", {}),
            ("POST", f"{NEWS}/batch", {"calls": [{"call": "decide", "visit": "v0"}] * 9}),
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
            answer = client.post(f"{VISITS}/v{n}/decisions", json={"request_id": "s", "step": 2})
            assert answer.status_code == 200
        experiment = client.app.state.catalog.experiments["news"]
        wait_until(lambda: not experiment._operations.stale())
        sums = dict.fromkeys(("pulls", "issued"), 0.0)
        for (what, *_), n in experiment.counts().items():
            sums[what] = sums.get(what, 0.0) + n
        assert sums["issued"] == 40 and experiment.memory.clock[0] == sums["pulls"] == 20
        assert verify(experiment.journal.store, "news") == {}


def test_a_service_that_starts_without_its_database_waits_for_it(server: str) -> None:
    url = postgres.database(server, "later")
    with frozen(url), asgi.client(store=url, deadline=DEADLINE) as client:
        for path in ("/readyz", "/v1/experiments", NEWS, "/"):
            assert client.get(path).status_code == 503
        assert client.post(f"{VISITS}/v/decisions", json={}).status_code == 503
        assert client.put(NEWS, json=MADE).status_code == 503
        assert client.get("/healthz").status_code == 200
        assert client.get("/metrics").status_code == 200
