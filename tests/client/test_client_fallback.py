"""The client's fallback: decisions from the last ranking while the service is away."""

import asyncio
import pydoc
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import asgi
import pytest

from sojourn.client import AsyncClient, AsyncExperiment, Busy, Client, NotFound, Unavailable, caller
from sojourn.client.caller import NoResponse, Request, Response, headers
from sojourn.client.client import Visit
from sojourn.live import Ask, Store, open_store
from sojourn.live.answers import ranked

ARMS = ["dance", "cooking", "news"]
PRIOR = {"dance": (4, 4), "cooking": (400, 300), "news": (400, 200)}


class Line:
    """A transport to a service in this process: "up", "away", or "lost", without its answers."""

    def __init__(self, app: asgi.Caller) -> None:
        self.app, self.state, self.sent = app, "up", list[Request]()
        self.answer: Response | None = None

    async def send(self, request: Request) -> Response:
        self.sent.append(request)
        if self.state == "away":
            raise NoResponse("refused")
        answer = self.app.request(
            request.method, request.path, content=request.body or None, headers=headers(None)
        )
        if self.state == "lost":
            raise NoResponse("cut")
        return self.answer or Response(answer.status_code, answer.content)

    async def close(self) -> None: ...


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('fallback') / 'live.db'}"


@pytest.fixture(scope="module")
def app(place: str) -> Iterator[asgi.Caller]:
    with asgi.client(store=place) as app:
        yield app


@pytest.fixture
def line(app: asgi.Caller) -> Line:
    return Line(app)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service is tried again at once."""
    monkeypatch.setattr(caller, "AWAY_PAUSE", 0.0)


def client_on(line: Line, **options: Any) -> Client:
    client = Client("http://localhost", **{"retries": 0, "fallback": 0.3, **options})
    client.close()
    client._caller = replace(client._caller, transport=line)
    return client


def experiment_on(line: Line, name: str, **options: Any) -> Any:
    shorts = client_on(line, **options).experiment(name, ARMS, {"name": "ULCB"})
    shorts.warm_start(PRIOR)
    return shorts


def events(place: str, name: str) -> list[tuple[Any, ...]]:
    """What the service has committed: kind, step and reward."""
    store: Store = open_store(place, read_only=True)
    try:
        return [(e.kind, e.step, e.reward) for e in store.events(name)]
    finally:
        store.close()


def test_while_away_the_best_arm_of_the_last_ranking_is_shown(line: Line) -> None:
    shorts = experiment_on(line, "away")
    assert shorts.ranking == ("cooking", "dance", "news")  # 4 of 4 are few
    visit = shorts.visit(user="u42")
    first = visit.decide()
    assert (first.step, first.fallback) == (1, False)
    line.state = "away"
    shown = [
        visit.decide(Ask(reward=1)),
        visit.decide(Ask(reward=0)),
        shorts.visit(state=0.5).decide(),
    ]
    assert [(d.step, d.arm, d.fallback, d.propensity) for d in shown] == [
        (0, "cooking", True, None)
    ] * 3
    assert [d.state for d in shown] == [first.state, first.state, 0.5]
    assert [visit.choose(), visit.choose(1)] == ["cooking"] * 2
    assert visit.choose(logged="news") == "news"  # what the caller would have shown
    assert [visit.reward(1), visit.reward(1, step=0), visit.reward(1, step=1)] == ["not sent"] * 3
    assert visit.end(1) is False


def test_a_service_that_is_away_is_asked_once_in_a_while(line: Line) -> None:
    shorts = experiment_on(line, "breaker", retries=2, fallback=5)
    visit, line.state = shorts.visit(), "away"
    line.sent.clear()
    assert visit.decide().fallback and len(line.sent) == 3
    for _ in range(5):
        assert visit.decide(Ask(reward=1)).fallback and shorts.visit().decide().fallback
        assert visit.reward(1, step=1) == "not sent"
    assert len(line.sent) == 3
    shorts._twin._standby._away_until = 1e-9  # a pause later
    assert visit.decide(Ask(reward=1)).fallback and len(line.sent) == 6
    assert visit.decide(Ask(reward=1)).fallback and len(line.sent) == 6
    line.state, shorts._twin._standby._away_until = "up", 1e-9
    assert [visit.decide(Ask(reward=1)).step, visit.decide(Ask(reward=1)).step] == [1, 2] and len(
        line.sent
    ) == 8


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("state", ["away", "lost"])
def test_nothing_of_a_fallback_is_learned_and_what_was_lost_is_found(
    line: Line, place: str, state: str
) -> None:
    """The reward of the service's own decision comes with the question that is asked again."""
    shorts = experiment_on(line, f"found {state}")
    visit = shorts.visit()
    visit.choose()
    line.state = state
    assert visit.decide(Ask(reward=1)).fallback
    line.state = "away"
    assert visit.decide(Ask(reward=0)).fallback
    made = events(place, f"found {state}")
    line.state = "up"
    assert (visit.decide(Ask(reward=0)).step, visit.decide(Ask(reward=1)).step) == (2, 3)
    assert visit.end(0)
    wanted = [("open", 0), ("decide", 1), ("resolve", 1), ("decide", 2), ("resolve", 2)]
    wanted += [("decide", 3), ("resolve", 3), ("leave", 3)]
    found = events(place, f"found {state}")
    assert [(kind, step) for kind, step, _ in found] == wanted
    assert [r for kind, _, r in found if kind == "resolve"] == [1, 1, 0]
    assert len(made) == (4 if state == "lost" else 2)


@pytest.mark.usefixtures("impatient")
def test_a_visit_that_began_and_ended_without_the_service(line: Line, place: str) -> None:
    shorts = experiment_on(line, "alone")
    visit, line.state = shorts.visit(user="u42"), "away"
    assert visit.decide().fallback
    line.state = "up"
    assert visit.reward(1) == "not sent"
    assert visit.end(1) is True
    assert [kind for kind, _, _ in events(place, "alone")] == ["open", "leave"]


@pytest.mark.usefixtures("impatient")
def test_a_reward_that_is_refused_later_is_told_once(line: Line, place: str) -> None:
    """The experiment takes 0 and 1: the question that is asked again does without the reward."""
    shorts = experiment_on(line, "refused")
    visit = shorts.visit()
    visit.choose()
    line.state = "away"
    assert visit.decide(Ask(reward=0.5)).fallback
    line.state = "up"
    with pytest.raises(ValueError, match="rewards of this experiment are 0 or 1"):
        visit.decide(Ask(reward=1))
    assert visit.decide(Ask(reward=1)).step == 2
    assert [r for kind, _, r in events(place, "refused") if kind == "resolve"] == [0]


@pytest.mark.usefixtures("impatient")
def test_errors_that_are_answers_are_raised(line: Line) -> None:
    shorts = experiment_on(line, "answers")
    with pytest.raises(NotFound):
        shorts.get("nobody").choose()
    for status in (429, 500, 503):
        line.answer = Response(status, b"{}")
        assert shorts.visit().decide().fallback
    line.answer = None
    with pytest.raises(ValueError, match="must be a number from 0 to 1"):
        shorts.visit().decide(Ask(reward=7))
    plain = experiment_on(line, "plain", fallback=None)
    line.state = "away"
    with pytest.raises(Unavailable):
        plain.visit().choose()
    line.state, line.answer = "up", Response(429, b"{}")
    with pytest.raises(Busy):
        plain.visit().choose()


def test_the_ranking_is_read_again_in_the_background(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorts, other = experiment_on(line, "fresh"), experiment_on(line, "fresh")
    visit = shorts.visit()
    visit.choose()
    other.warm_start({**PRIOR, "news": (400, 399)})
    visit.choose(1)
    assert shorts.ranking[0] == "cooking"
    monkeypatch.setattr(caller, "REFRESH", 0.0)
    visit.choose(1)
    deadline = time.monotonic() + 20
    while shorts.ranking[0] != "news" and time.monotonic() < deadline:
        time.sleep(0.01)
    assert shorts.ranking == ("news", "cooking", "dance")
    answer = line.app.get("/v1/experiments/fresh/ranking")
    assert answer.json() == {"arms": ["news", "cooking", "dance"]}
    assert answer.headers["cache-control"] == "private, max-age=60"
    assert line.app.get("/v1/experiments/nobody/ranking").status_code == 404


def test_a_client_can_begin_while_the_service_is_away(line: Line) -> None:
    line.state = "away"
    client = client_on(line)
    shorts = client.experiment("late", ranking=["news", "dance"])
    assert shorts.arms == shorts.ranking == ("news", "dance")
    assert shorts.visit().choose() == "news"
    with pytest.raises(Unavailable):
        client.experiment("late")
    with pytest.raises(Unavailable):
        client.experiment("late", ARMS, ranking=ARMS)
    line.state = "up"
    with pytest.raises(NotFound):
        client.experiment("late", ranking=["news"])
    client.experiment("late", ARMS)
    assert client.experiment("late", ranking=["news"]).ranking == tuple(ARMS)


def test_bad_options(line: Line) -> None:
    for wrong in (0, -1, True, "ranking"):
        for make in (Client, AsyncClient):
            with pytest.raises(ValueError, match=r"fallback = .* must be a number greater than 0"):
                make("http://localhost", fallback=wrong)
    with pytest.raises(ValueError, match="ranking is not allowed without a fallback"):
        client_on(line, fallback=None).experiment("any", ranking=["a"])
    with pytest.raises(ValueError, match="ranking = '' is not allowed"):
        client_on(line).experiment("any", ranking=[""])


def test_a_silent_service_delays_a_decision_by_the_fallback_and_no_more() -> None:
    """Where without a fallback there would be seven attempts of 10 s each."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        begun = time.monotonic()
        with Client(url, fallback=0.1) as client:
            assert client.experiment("shorts", ranking=["a", "b"]).visit().decide().arm == "a"

        async def main() -> None:
            async with AsyncClient(url, fallback=0.1) as client:
                shorts = await client.experiment("shorts", ranking=["b", "a"])
                several = await asyncio.gather(*(_first(shorts) for _ in range(20)))
                assert several == [("b", True)] * 20

        async def _first(shorts: Any) -> tuple[str, bool]:
            decision = await (await shorts.avisit()).adecide()
            return decision.arm, decision.fallback

        asyncio.run(main())
        assert time.monotonic() - begun < 5


def test_closing_ends_what_is_in_the_background() -> None:
    """A ranking that was asked for and has not come does not outlive the client."""

    class Slow:
        asked = ended = False

        async def send(self, request: Request) -> Response:
            if request.method != "GET":
                return Response(200, b'{"visit":"v","step":1,"arm":"a","state":1,"propensity":1}')
            self.asked = True
            try:
                await asyncio.sleep(60)
            finally:
                self.ended = True
            raise NoResponse("never")

        async def close(self) -> None: ...

    async def main() -> bool:
        slow = Slow()
        async with AsyncClient("http://x", fallback=5, transport=slow) as client:
            shorts = AsyncExperiment("shorts", client._caller)
            shorts._standby._asked -= caller.REFRESH
            await (await shorts.avisit()).adecide()
            await asyncio.sleep(0)
            assert slow.asked and not slow.ended
        return slow.ended

    assert asyncio.run(main())


def test_ranks() -> None:
    def arm(name: str, pulls: float, mean: float | None, retired: bool = False) -> dict[str, Any]:
        return {"name": name, "pulls": pulls, "mean": mean, "retired": retired}

    assert ranked([arm("a", 0, None), arm("b", 0, None)]) == ("a", "b")
    tried = [arm("new", 0, None), arm("lucky", 1, 1.0), arm("bad", 9, 0.0), arm("good", 900, 0.5)]
    assert ranked([*tried, arm("best", 900, 0.9, True)]) == ("good", "lucky", "bad", "new")


def test_help_has_the_names_of_the_blocking_client() -> None:
    for name in ("decide", "reward", "end"):
        method = getattr(Visit, name)
        assert method.__name__ == name and method.__qualname__ == f"Visit.{name}"
        assert pydoc.plain(pydoc.render_doc(method)).splitlines()[2].startswith(f"{name}(self")
