"""The client: the calls of an experiment, over HTTP; how it insists, and what errors become."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import serving

import sojourn as sj
from sojourn.client import AsyncClient, Client, Refused
from sojourn.client.calls import AGAIN, Answer, Lost, call, insisting, pause
from sojourn.live import Busy, Conflict, Ended, MovingAverage, NotFound, Unavailable
from sojourn.service.drive.wire import Wire

ARMS = ["dance", "cooking", "news"]


def outcome_of(answers: list[Answer | Lost], retries: int) -> tuple[Any, list[float]]:
    """What a call comes to if these are its answers, and the pauses between them."""
    steps, pauses, left = insisting(call("GET", "experiments"), retries), [], iter(answers)
    try:
        wanted = next(steps)
        while True:
            if isinstance(wanted, float):
                pauses.append(wanted)
                wanted = next(steps)
                continue
            answer = next(left)
            wanted = steps.throw(answer) if isinstance(answer, Lost) else steps.send(answer)
    except StopIteration as done:
        return done.value, pauses
    except Exception as error:
        return error, pauses


def test_a_call_is_repeated_while_that_may_help_and_not_for_ever() -> None:
    good, bad = Answer(200, b"7"), [Lost("x"), *(Answer(s, b"") for s in sorted(AGAIN))]
    assert outcome_of([*bad, good], retries=5)[0] == 7
    value, pauses = outcome_of([*bad, good], retries=4)
    assert isinstance(value, Unavailable) and len(pauses) == 4
    value, pauses = outcome_of([Lost("refused")] * 3, retries=2)
    assert isinstance(value, Unavailable) and len(pauses) == 2
    assert str(value) == "no answer from the service (refused), tried 3 times"


def test_pauses_grow_and_heed_the_service() -> None:
    for tried in range(12):
        longest = min(10.0, 0.05 * 2**tried)
        assert 0.5 * longest <= pause(tried) <= longest
    assert 2.0 < pause(0, 2.0) < 2.1
    assert 10.0 < pause(0, 1e9) < 10.1
    _, (only,) = outcome_of([Answer(503, b"", 3.0), Answer(200, b"1")], retries=1)
    assert 3.0 < only < 3.1


@pytest.mark.parametrize(
    ("status", "word", "kind"),
    [
        (401, "unauthorized", Refused),
        (403, "forbidden", Refused),
        (404, "not_found", NotFound),
        (409, "conflict", Conflict),
        (410, "ended", Ended),
        (413, "too_large", ValueError),
        (422, "invalid", ValueError),
        (429, "rate_limited", Busy),
        (500, "failed", Unavailable),
        (503, "busy", Busy),
        (503, "unavailable", Unavailable),
    ],
)
def test_errors(status: int, word: str, kind: type[Exception]) -> None:
    body = f'{{"error": "{word}", "detail": "so it is"}}'.encode()
    error, pauses = outcome_of([Answer(status, body)], retries=0)
    assert type(error) is kind and str(error) == "so it is" and not pauses


def test_what_is_no_service() -> None:
    error, _ = outcome_of([Answer(200, b"<html>")], retries=0)
    assert str(error) == "the answer is not JSON: is this the address of a service?"
    error, _ = outcome_of([Answer(418, b"[]")], retries=0)
    assert str(error) == "the service answered with status 418"
    for make in (Client, AsyncClient, Wire):
        with pytest.raises(ValueError, match=r"must begin with http:// or https://"):
            make("localhost:8000")
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    with (
        Client(f"http://127.0.0.1:{port}", retries=1) as client,
        pytest.raises(Unavailable, match=r"no answer from the service .* tried 2 times"),
    ):
        client.experiment("shorts")


@pytest.fixture(scope="module")
def server() -> Iterator[serving.Server]:
    with serving.serve("memory://") as server:
        yield server


@pytest.fixture
def client(server: serving.Server) -> Iterator[Client]:
    with Client(server.url, retries=2) as client:
        yield client


def test_the_calls_of_an_experiment(client: Client) -> None:
    """What `Experiment` and `Visit` answer, to the same calls in the same order."""
    with sj.Experiment("news", ARMS, sj.ULCB(random_ties=False), compiled=False) as experiment:
        for shorts in (experiment, client.experiment("news", ARMS, sj.ULCB(random_ties=False))):
            visit = shorts.visit(user="u42")
            assert [visit.choose(), visit.step(1), visit.step(True)] == ARMS
            assert [visit.reward(1), visit.reward(1), visit.reward(1, step=3)] == [
                "learned", "same", "same",
            ]  # fmt: skip
            with pytest.raises(Conflict, match="has the reward 1, and 0 came later"):
                visit.reward(0)
            with pytest.raises(NotFound, match="has no step 9"):
                visit.reward(0, step=9)
            for bad in (1.5, "much", None):
                with pytest.raises(ValueError, match=r"reward = .* must be a number from 0 to 1"):
                    visit.reward(bad)
            decision = visit.decide(request="again")
            assert visit.decide(request="again", step=4) == decision
            assert (decision.visit, decision.step, decision.state) == (visit.id, 4, 1.0)
            assert decision.id == f"{visit.id}:4"
            assert [visit.end(1), visit.end()] == [True, False]
            with pytest.raises(Ended):
                visit.choose()
            assert shorts.visit(state=0).decide().state == 0
            assert shorts.visit().end()
            with pytest.raises(NotFound):
                shorts.get("nobody").choose()
            shorts.retire_arm("dance")
            shorts.add_arm("sports")
            assert shorts.arms == ("cooking", "news", "sports")
            shorts.warm_start({"sports": (1000, 999), "cooking": (1000, 1), "news": (1000, 1)})
            assert shorts.visit().choose() == "sports"


def test_experiments(client: Client) -> None:
    made = client.experiment(
        "of/its own", ["a", "b"], sj.UCB(c=4), MovingAverage(0.5), idle_timeout=9
    )
    again = client.experiment("of/its own")
    assert again.settings == made.settings and again.arms == ("a", "b")
    assert made.settings.user == MovingAverage(0.5) and made.settings.idle_timeout == 9
    assert made.settings.policy.parameters["c"] == 4
    assert repr(again) == "Experiment('of/its own')"
    changed = client.experiment("of/its own", policy=sj.UCB(c=0), user=MovingAverage(0.5))
    assert changed.arms == ("a", "b") and changed.settings.policy.parameters["c"] == 0
    with pytest.raises(NotFound, match="there is no experiment 'other'"):
        client.experiment("other")
    with pytest.raises(ValueError, match="name = '' is not allowed"):
        client.experiment("")
    with pytest.raises(ValueError, match="idle_timeout = -1 is not allowed"):
        client.experiment("other", ["a"], idle_timeout=-1)


def test_a_visit_of_several(client: Client) -> None:
    """Who finds that somebody else went on is told so, and can go on from there."""
    shorts = client.experiment("shared", ARMS)
    one, other = shorts.visit(id="v"), shorts.visit(id="v")
    assert [one.decide().step, other.decide().step] == [1, 2]
    with pytest.raises(Conflict):
        one.decide()
    assert one.decide().step == 3
    assert shorts.get("v").decide(1).step == 4
    assert shorts.get("v").reward(1) == "learned"


def test_async(server: serving.Server) -> None:
    async def main() -> None:
        async with AsyncClient(server.url) as client:
            shorts = await client.experiment("asynchronous", ARMS)
            visit = await shorts.avisit(user="u42")
            assert (await visit.adecide()).step == 1
            assert (await visit.adecide(1)).step == 2
            assert await visit.areward(1) == "learned"
            assert [await visit.aend(), await visit.aend()] == [True, False]
            with pytest.raises(Ended):
                await visit.adecide()
            await shorts.add_arm("sports")
            await shorts.retire_arm("dance")
            await shorts.warm_start({"sports": (10, 9)})
            assert shorts.arms == ("cooking", "news", "sports")
            several = await asyncio.gather(*(_visit(shorts, n) for n in range(20)))
            assert several == [3] * 20

    async def _visit(shorts: Any, number: int) -> int:
        visit = shorts.get(f"v{number}") if number % 2 else await shorts.avisit(id=f"v{number}")
        if number % 2:
            await (await shorts.avisit(id=f"v{number}")).adecide()
        else:
            await visit.adecide()
        await visit.adecide(1)
        return (await visit.adecide(0)).step

    asyncio.run(main())


@pytest.mark.parametrize(
    ("missing", "module", "call", "sentence"),
    [
        (
            "fastapi uvicorn pydantic starlette prometheus_client",
            "client",
            "Client('http://x')",
            "",
        ),
        ("fastapi uvicorn httpx", "drive", "drive", ""),
        ("httpx", "client", "Client('http://x')", "needs httpx: pip install 'sojourn[client]'"),
        ("httpx", "client", "AsyncClient('http://x')", "pip install 'sojourn[client]'"),
    ],
)
def test_what_it_needs(missing: str, module: str, call: str, sentence: str) -> None:
    """The client takes httpx, driving takes nothing at all."""
    lines = f"import sys; sys.modules.update(dict.fromkeys({missing.split()}))"
    used = f"from sojourn.service import {module}; {module}.{call}"
    command = [sys.executable, "-c", f"{lines}\nimport sojourn.cli.main\n{used}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == bool(sentence) and done.stderr.strip().endswith(sentence)


def test_keys(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    key = _key(file, "shorts")
    with serving.serve("memory://", "--keys", str(file)) as server:
        with Client(server.url, key) as client:
            client.experiment("shorts", ARMS).visit().choose()
            with pytest.raises(Refused, match="is not for experiment 'other'"):
                client.experiment("other", ARMS)
        for wrong in (None, "sj_nobody_knows", "nonsense"):
            with (
                Client(server.url, wrong) as client,
                pytest.raises(Refused, match="a valid key is needed"),
            ):
                client.experiment("shorts")


def _key(file: Path, experiment: str) -> str:
    from sojourn.service import keys

    return keys.make(file, [experiment], None)[1]
