"""Connections that are cut at any moment: calls are repeated, and nothing is counted twice."""

import asyncio
import socket
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import serving
from cutting import cutting

from benchmarks.drive.wire import Wire
from sojourn.client import AsyncClient, Client, Unavailable, caller
from sojourn.client.caller import NoResponse, Request
from sojourn.live import Ask, Store, open_store, verify

ARMS = ["dance", "cooking", "news"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('client') / 'live.db'}"


@pytest.fixture(scope="module")
def server(place: str) -> Iterator[serving.Server]:
    with serving.serve(place) as server:
        yield server


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of milliseconds."""
    monkeypatch.setattr(caller, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(caller, "LONGEST_PAUSE", 0.01)


PLAN = ("pass", "after", "before", "pass", "half", "after", "after")


def check_once(place: str, name: str, made: Counter[str]) -> None:
    """All that was acknowledged was kept, once."""
    store: Store = open_store(place, read_only=True)
    try:
        events = store.events(name)
        assert len({(e.kind, e.visit, e.step) for e in events}) == len(events)
        assert Counter(e.kind for e in events) == made
        assert verify(store, name) == {}
    finally:
        store.close()


@pytest.mark.usefixtures("hasty")
def test_cut_connections_count_nothing_twice(server: serving.Server, place: str) -> None:
    made = Counter[str]()
    with (
        cutting(urlsplit(server.url).port or 0, *PLAN) as cutter,
        Client(cutter.url, retries=20, timeout=5) as client,
    ):
        shorts = client.experiment("cut", ARMS)
        for number in range(12):
            visit = shorts.visit(user=f"u{number}")
            visit.choose()
            for step in range(3):
                if number % 2:
                    visit.reward(step % 2)
                    visit.choose()
                else:
                    visit.choose(step % 2)
            visit.end(1)
            made.update(["open", *["decide", "resolve"] * 4, "leave"])
    assert all(cutter.done[fate] > 5 for fate in PLAN)
    check_once(place, "cut", made)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("transport", ["httpx", "wire"])
def test_cut_connections_count_nothing_twice_async(
    server: serving.Server, place: str, transport: str
) -> None:
    name = f"cut {transport}"

    async def visit(shorts: Any) -> None:
        visit = await shorts.avisit()
        for reward in (None, 1, 0, 1):
            await visit.adecide(Ask(reward=reward))
        await visit.aend(0)

    async def main(url: str) -> None:
        way = Wire(url, timeout=5) if transport == "wire" else None
        async with AsyncClient(url, retries=30, timeout=5, transport=way) as client:
            shorts = await client.experiment(name, ARMS)
            await asyncio.gather(*(visit(shorts) for _ in range(10)))

    with cutting(urlsplit(server.url).port or 0, *PLAN) as cutter:
        asyncio.run(main(cutter.url))
    assert all(cutter.done[fate] > 3 for fate in PLAN)
    check_once(place, name, Counter(open=10, decide=40, resolve=40, leave=10))


def test_a_call_given_up_is_repeated_by_calling_again(server: serving.Server, place: str) -> None:
    """The second call carries the request id of the first, whose answer was lost."""
    with Client(server.url) as direct:
        direct.experiment("given up", ARMS)
    fates = ["pass", "pass", "after", "after", "pass", "pass"]
    with (
        cutting(urlsplit(server.url).port or 0, *fates) as cutter,
        Client(cutter.url, retries=1) as client,
    ):
        visit = client.experiment("given up").visit()
        visit.choose()
        with pytest.raises(Unavailable, match="tried 2 times"):
            visit.choose(1)
        assert visit.decide(Ask(reward=1)).step == 2
        visit.end()
    check_once(place, "given up", Counter(open=1, decide=2, resolve=2, leave=1))


def test_silence_is_not_waited_for_longer_than_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with (
            Client(url, timeout=0.1, retries=1) as client,
            pytest.raises(Unavailable, match=r"no answer from the service \(ReadTimeout"),
        ):
            client.experiment("shorts")

        async def ask() -> None:
            with pytest.raises(NoResponse, match=r"nothing for 0.1 s"):
                await Wire(url, timeout=0.1).send(Request("GET", "/"))

        asyncio.run(ask())
