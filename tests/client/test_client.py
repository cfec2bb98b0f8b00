"""The client: the calls of an experiment over HTTP, retries, errors, and what it imports."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import serving

import sojourn as sj
from benchmarks.drive.wire import Wire
from sojourn import InputError
from sojourn.client import (
    AccessDenied,
    AsyncClient,
    Busy,
    Client,
    Conflict,
    Ended,
    NotFound,
    Unavailable,
)
from sojourn.client.caller import (
    RETRY_STATUSES,
    Caller,
    NoResponse,
    Request,
    Response,
    described_policy,
    described_user,
    finish,
    pause,
    retry_after,
)
from sojourn.live import Ask, Logged
from sojourn.users import MovingAverage

ARMS = ["dance", "cooking", "news"]


class Scripted:
    """A transport with these responses."""

    def __init__(self, responses: list[Response | NoResponse]) -> None:
        self.left = iter(responses)

    async def send(self, request: Request) -> Response:
        response = next(self.left)
        if isinstance(response, NoResponse):
            raise response
        return response

    async def close(self) -> None: ...


def outcome_of(responses: list[Response | NoResponse], retries: int) -> tuple[Any, list[float]]:
    """The result or the error of a call that gets these responses, and the pauses between them."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    caller = Caller(Scripted(responses), retries, sleep)
    try:
        return finish(caller.call(Request.of("GET", "experiments"))), pauses
    except Exception as error:
        return error, pauses


def test_a_call_is_repeated_while_that_may_help_and_not_for_ever() -> None:
    good = Response(200, b"7")
    bad = [NoResponse("x"), *(Response(s, b"") for s in sorted(RETRY_STATUSES))]
    assert outcome_of([*bad, good], retries=5)[0] == 7
    value, pauses = outcome_of([*bad, good], retries=4)
    assert isinstance(value, Unavailable) and len(pauses) == 4
    value, pauses = outcome_of([NoResponse("refused")] * 3, retries=2)
    assert isinstance(value, Unavailable) and len(pauses) == 2
    assert str(value) == "no answer from the service (refused), tried 3 times"


def test_pauses_grow_and_heed_the_service() -> None:
    for attempt in range(12):
        longest = min(10.0, 0.05 * 2**attempt)
        assert 0.5 * longest <= pause(attempt) <= longest
    assert 2.0 < pause(0, 2.0) < 2.1
    assert 10.0 < pause(0, 1e9) < 10.1
    _, (only,) = outcome_of([Response(503, b"", 3.0), Response(200, b"1")], retries=1)
    assert 3.0 < only < 3.1


@pytest.mark.parametrize(
    ("status", "word", "kind"),
    [
        (401, "unauthorized", AccessDenied),
        (403, "forbidden", AccessDenied),
        (404, "not_found", NotFound),
        (409, "conflict", Conflict),
        (410, "ended", Ended),
        (413, "too_large", InputError),
        (422, "invalid", InputError),
        (429, "rate_limited", Busy),
        (500, "failed", Unavailable),
        (503, "busy", Busy),
        (503, "unavailable", Unavailable),
    ],
)
def test_errors(status: int, word: str, kind: type[Exception]) -> None:
    body = f'{{"error": "{word}", "detail": "so it is"}}'.encode()
    error, pauses = outcome_of([Response(status, body)], retries=0)
    assert type(error) is kind and str(error) == "so it is" and not pauses


def test_what_is_no_service() -> None:
    error, _ = outcome_of([Response(200, b"<html>")], retries=0)
    assert str(error) == "the answer is not JSON: is this the address of a service?"
    error, _ = outcome_of([Response(418, b"[]")], retries=0)
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
    with sj.Experiment(
        "news", ARMS, sj.policies.ULCB(random_ties=False), compiled=False
    ) as experiment:
        for shorts in (
            experiment,
            client.experiment("news", ARMS, sj.policies.ULCB(random_ties=False)),
        ):
            visit = shorts.visit(user="u42")
            assert [visit.choose(), visit.choose(1), visit.choose(True)] == ARMS
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
            decision = visit.decide(Ask(request="again"))
            assert visit.decide(Ask(request="again", step=4)) == decision
            assert (decision.visit, decision.step, decision.state) == (visit.id, 4, 1.0)
            assert decision.id == f"{visit.id}:4"
            assert [visit.end(1), visit.end()] == [True, False]
            with pytest.raises(Ended):
                visit.choose()
            assert shorts.visit(state=0).decide().state == 0
            assert shorts.visit().end()
            with pytest.raises(NotFound):
                shorts.get("nobody").choose()
            shorts.retire_arms("dance")
            shorts.add_arms("sports")
            assert shorts.arms == ("cooking", "news", "sports")
            shorts.warm_start({"sports": (1000, 999), "cooking": (1000, 1), "news": (1000, 1)})
            assert shorts.visit().choose() == "sports"


def test_experiments(client: Client) -> None:
    made = client.experiment(
        "of/its own", ["a", "b"], sj.policies.UCB(c=4), MovingAverage(0.5), idle_timeout=9
    )
    again = client.experiment("of/its own")
    assert again.settings == made.settings and again.arms == ("a", "b")
    user = {"model": "moving-average", "theta": 0.5, "start": {"1.0": 1.0}}
    assert made.settings["user"] == user and made.settings["idle_timeout"] == 9
    parameters = {"c": 4, "random_ties": True, "introduce_in_any_state": False}
    assert made.settings["policy"] == {"name": "UCB", "parameters": parameters}
    assert set(made.settings) == {
        "policy", "user", "reward_threshold", "default_reward", "reward_wait", "idle_timeout",
        "late_horizon", "introduce_in_any_state", "count_in_flight", "external", "shadow",
    }  # fmt: skip
    assert repr(again) == "Experiment('of/its own')"
    changed = client.experiment("of/its own", policy=sj.policies.UCB(c=0), user=MovingAverage(0.5))
    assert changed.arms == ("a", "b") and changed.settings["policy"]["parameters"]["c"] == 0
    assert changed.settings["idle_timeout"] == 1800
    with pytest.raises(NotFound, match="there is no experiment 'other'"):
        client.experiment("other")
    with pytest.raises(ValueError, match="name = '' is not allowed"):
        client.experiment("")
    with pytest.raises(ValueError, match="idle_timeout = -1 is not allowed"):
        client.experiment("other", ["a"], idle_timeout=-1)


def test_policies_and_users_as_values_names_and_plain_data(client: Client) -> None:
    """However they are given, the experiment has the settings of one in the process."""
    mixed = sj.policies.EpsilonMixture(sj.policies.KLULCB(c0=0.5), 0.1)
    plain = {"name": "KLULCB", "parameters": {"c0": 0.5}}
    averaging = {"model": "moving-average", "theta": 0.5}
    given: list[tuple[Any, Any, Any, Any]] = [
        (None, None, None, None),
        (sj.policies.DEFAULT(), sj.TwoState(q00=1, q01=0, q10=0, q11=0), None, None),
        ("KLUCB", "last-reward", sj.policies.KLUCB(), None),
        (plain, averaging, sj.policies.KLULCB(c0=0.5), MovingAverage(0.5)),
        (mixed, sj.Ema(0.5, sj.users.LogLeave(c6=5), start=0), mixed, MovingAverage(0.5, start=0)),
    ]
    for number, (policy, user, same_policy, same_user) in enumerate(given):
        made = client.experiment(f"given {number}", ARMS, policy, user)
        with sj.Experiment("same", ARMS, same_policy, same_user, compiled=False) as same:
            wanted = json.loads(same.settings.to_json())
        del wanted["bins"], wanted["learns_from"]
        assert made.settings == {**wanted, "external": False, "shadow": True}
    levels = sj.users.Levels(sj.TwoState(q00=1, q01=0, q10=0, q11=0), thresholds=[0.25])
    made = client.experiment("graded", ARMS, None, levels)
    assert made.settings["user"]["model"] == "last-reward"
    assert made.settings["reward_threshold"] == 0.25
    for wrong in (7, sj.policies.UCB):
        with pytest.raises(ValueError, match=r"policy = .* is not allowed: give a policy"):
            client.experiment("wrong", ARMS, wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"policy.name = 'Best' is not allowed"):
        client.experiment("wrong", ARMS, "Best")
    with pytest.raises(ValueError, match=r"user = 7 is not allowed: it must be a user model"):
        client.experiment("wrong", ARMS, user=7)  # type: ignore[arg-type]


def test_a_visit_of_several(client: Client) -> None:
    """Who finds that somebody else went on is told so, and can go on from there."""
    shorts = client.experiment("shared", ARMS)
    one, other = shorts.visit(id="v"), shorts.visit(id="v")
    assert [one.decide().step, other.decide().step] == [1, 2]
    with pytest.raises(Conflict):
        one.decide()
    assert one.decide().step == 3
    assert shorts.get("v").decide(Ask(reward=1)).step == 4
    assert shorts.get("v").reward(1) == "learned"


def test_variants_and_a_recommender_of_ones_own(client: Client, server: serving.Server) -> None:
    fixed = {"name": "FixedArm", "parameters": {"arm": 0}}
    variants = {
        "old": {"share": 0.5, "external": True, "policy": fixed},
        "new": {"share": 0.5, "policy": fixed},
    }
    body = {"arms": ["a", "b"], "variants": variants, "holdout": "old"}
    assert server.call("PUT", "/v1/experiments/split/variants", body)[0] == 201
    split = client.experiment("split")
    assert split.arms == ("a", "b")  # those of the holdout
    seen = {}
    for n in range(12):
        visit = split.visit(user=f"u{n}")
        first = visit.decide(Ask(logged=Logged("b", 0.5)))
        second = visit.decide(Ask(reward=1, logged=Logged("b")))
        assert first.variant == second.variant and visit.end(1)
        seen[first.variant] = first.arm, first.propensity
    assert seen == {"old": ("b", 0.5), "new": ("a", 1.0)}
    alone = client.experiment("mine", ["a", "b"], external=True)
    made = alone.visit().decide(Ask(logged=Logged("b")))
    assert alone.settings["external"] is True and made.arm == "b" and made.shadow_arm in "ab"
    with pytest.raises(ValueError, match="logged is missing"):
        alone.visit().choose()


def test_async(server: serving.Server) -> None:
    async def main() -> None:
        async with AsyncClient(server.url) as client:
            shorts = await client.experiment("asynchronous", ARMS)
            visit = await shorts.avisit(user="u42")
            assert (await visit.adecide()).step == 1
            assert (await visit.adecide(Ask(reward=1))).step == 2
            assert await visit.areward(1) == "learned"
            assert [await visit.aend(), await visit.aend()] == [True, False]
            with pytest.raises(Ended):
                await visit.adecide()
            await shorts.add_arms("sports")
            await shorts.retire_arms("dance")
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
        await visit.adecide(Ask(reward=1))
        return (await visit.adecide(Ask(reward=0))).step

    asyncio.run(main())


HEAVY = """numba numpy llvmlite fastapi starlette pydantic uvicorn prometheus_client jinja2
sojourn.policies sojourn.engine sojourn.users sojourn.simulation sojourn.problem sojourn.service
sojourn.live.experiment sojourn.live.settings"""


def test_the_client_loads_neither_the_compiler_nor_the_server() -> None:
    """Neither to make a client nor to call: policies and users can be given by name."""
    code = f"""
import sys
from sojourn.client import AsyncClient, Client, Unavailable
with Client("http://127.0.0.1:9", retries=0) as client:
    try:
        client.experiment("shorts", ["a", "b"], "KLULCB", {{"model": "last-reward"}})
    except Unavailable:
        print(*(name for name in {HEAVY.split()} if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


@pytest.mark.parametrize(
    ("missing", "code", "sentence"),
    [
        (
            "fastapi uvicorn pydantic starlette prometheus_client",
            "from sojourn.client import Client; Client('http://x')",
            "",
        ),
        (
            "httpx",
            "from sojourn.client import Client; Client('http://x')",
            "needs httpx: pip install 'sojourn[client]'",
        ),
        (
            "httpx",
            "from sojourn.client import AsyncClient; AsyncClient('http://x')",
            "pip install 'sojourn[client]'",
        ),
    ],
)
def test_what_it_needs(missing: str, code: str, sentence: str) -> None:
    """The client takes httpx, driving takes nothing at all."""
    lines = f"import sys; sys.modules.update(dict.fromkeys({missing.split()}))"
    command = [sys.executable, "-c", f"{lines}\nimport sojourn.cli.main\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == bool(sentence) and done.stderr.strip().endswith(sentence)


def test_keys(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    key = _key(file, "shorts")
    deciding = _key(file, "shorts", "decide")
    with serving.serve("memory://", "--keys", str(file)) as server:
        with Client(server.url, key) as client:
            client.experiment("shorts", ARMS).visit().choose()
            with pytest.raises(AccessDenied, match="is not for experiment 'other'"):
                client.experiment("other", ARMS)
        with Client(server.url, deciding) as client:
            shorts = client.experiment("shorts")
            assert set(shorts.arms) == set(shorts.ranking) == set(ARMS) and not shorts.settings
            assert shorts.visit().choose() in ARMS
            with pytest.raises(AccessDenied, match="has the role 'decide'"):
                shorts.add_arms("sports")
        for wrong in (None, "sj_nobody_knows", "nonsense"):
            with (
                Client(server.url, wrong) as client,
                pytest.raises(AccessDenied, match="a valid key is needed"),
            ):
                client.experiment("shorts")


def _key(file: Path, experiment: str, role: str = "owner") -> str:
    from sojourn.service.auth import keys

    return keys.make(file, [experiment], None, role)[1]


def test_what_is_sent_and_what_comes_back() -> None:
    request = Request.of("PUT", "experiments", "a/b", user="u42", state=None)
    assert request[:3] == ("PUT", "/v1/experiments/a%2Fb", b'{"user":"u42"}')
    ended = Response(410, b'{"error": "ended", "detail": "visit v1 is over"}').error
    assert isinstance(ended, Ended) and str(ended) == "visit v1 is over"
    date = "Wed, 21 Oct 2026 07:28:00 GMT"
    assert [retry_after(each) for each in ("2", date, None)] == [2.0, None, None]
    plain = {"name": "UCB", "parameters": {"c": 4}}
    assert described_policy("KLULCB") == {"name": "KLULCB"} and described_policy(plain) == plain
    moving = {"model": "moving-average", "theta": 0.5}
    assert described_user("last-reward") == {"model": "last-reward"}
    assert described_user(moving) == moving
