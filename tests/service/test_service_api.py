"""The HTTP API in one process: every call, every refusal, and what is counted of them."""

import asyncio
import json
import re
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from asgi import Caller, client, in_parts

from sojourn.live import Busy, Unavailable
from sojourn.live.learner import Learner
from sojourn.service.auth import keys
from sojourn.service.errors import Refusal
from sojourn.service.fast_routes import FAST_ROUTES, VISIT as VISIT_PATH, find
from sojourn.service.request import read_body
from sojourn.validation import PolicyError

SHORTS = "/v1/experiments/shorts"
PLAIN = {"arms": ["dance", "cooking"], "policy": {"name": "UCB"}}


@pytest.fixture
def http() -> Iterator[Caller]:
    with client() as http:
        assert http.put(SHORTS, json=PLAIN).status_code == 201
        yield http


def np_error(*_: Any, **__: Any) -> Any:
    """What a mistake in our own code may look like."""
    return np.zeros(2) + np.zeros(3)


def policy_error(*_: Any, **__: Any) -> Any:
    """A policy that is at fault."""
    raise PolicyError("the policy chose arm 7 of 2")


def metric(http: Caller, name: str, **labels: str) -> float:
    """The value of a metric, the sum over labels that are not given."""
    total = 0.0
    for line in http.get("/metrics").text.splitlines():
        found = re.fullmatch(rf"{name}(?:{{(.*)}})? (\S+)", line)
        if found:
            given = dict(re.findall(r'(\w+)="([^"]*)"', found[1] or ""))
            total += float(found[2]) if labels.items() <= given.items() else 0.0
    return total


def test_a_visit_from_begin_to_end(http: Caller) -> None:
    opened = http.put(f"{SHORTS}/visits/v1", json={"user": "u42"})
    visit = {"id": "v1", "user": "u42", "status": "open", "step": 0, "state": 1.0}
    visit |= {"variant": None, "external": False}
    assert (opened.status_code, opened.json()) == (201, visit | {"pending_arm": None})
    assert http.put(f"{SHORTS}/visits/v1", json={"user": "u42"}).status_code == 200

    decided = http.post(f"{SHORTS}/visits/v1/decisions", json={"request": "a"}).json()
    arms = {"dance", "cooking"}
    assert decided.pop("arm") in arms
    assert decided.pop("variant") is decided.pop("shadow_arm") is None
    assert decided == {"id": "v1:1", "visit": "v1", "step": 1, "state": 1.0, "propensity": None}

    second = http.post(f"{SHORTS}/visits/v1/step", json={"reward": 0, "request": "b"}).json()
    assert (second["step"], second["state"]) == (2, 0.0)
    shown = http.get(f"{SHORTS}/visits/v1").json()
    assert shown == visit | {"step": 2, "state": 0.0, "pending_arm": second["arm"]}

    last = http.put(f"{SHORTS}/visits/v1/decisions/2/reward", json={"value": 1})
    assert last.json() == {"outcome": "learned"}
    assert http.put(f"{SHORTS}/visits/v1/end", json={}).json() == {"ended": True}
    assert http.put(f"{SHORTS}/visits/v1/end", json={}).json() == {"ended": False}
    assert http.get(f"{SHORTS}/visits/v1").json()["status"] == "left"
    made = http.get(SHORTS).json()
    assert {arm["name"]: (arm["pulls"], arm["mean"]) for arm in made["arms"]}[second["arm"]][0] >= 1
    assert sum(arm["pulls"] for arm in made["arms"]) == 2
    assert http.get(f"{SHORTS}/insight").json()["visits"]["left"] == 1


def test_the_server_makes_ids_and_names_may_have_anything_printable(http: Caller) -> None:
    made = http.post(f"{SHORTS}/visits", json={"state": 0.0})
    assert made.status_code == 201 and len(made.json()["id"]) == 36
    odd = "/v1/experiments/a%2Fb%20%C3%A9%25"
    assert http.put(odd, json={"arms": ["x/y", "z"]}).json()["name"] == "a/b é%"
    assert http.get(odd).json()["name"] == "a/b é%"
    assert http.post(f"{odd}/visits/v%2F1/decisions", json={"opening": {}}).json()["id"] == "v/1:1"
    assert http.get(f"{odd}/visits/v%2F1").json()["step"] == 1
    arms = http.post(f"{odd}/arms/retire", json={"arms": ["x/y"]}).json()["arms"]
    assert [arm["name"] for arm in arms if arm["retired"]] == ["x/y"]
    assert http.get("/v1/experiments").json()["experiments"] == ["a/b é%", "shorts"]


def test_the_same_request_has_the_same_answer(http: Caller) -> None:
    body = {"request": "r1", "step": 1, "opening": {"user": "ann"}}
    first = http.post(f"{SHORTS}/visits/v/decisions", json=body)
    assert http.post(f"{SHORTS}/visits/v/decisions", json=body).json() == first.json()
    body = {"request": "r2", "step": 2, "reward": 1}
    second = http.post(f"{SHORTS}/visits/v/step", json=body)
    assert http.post(f"{SHORTS}/visits/v/step", json=body).json() == second.json()
    http.post(f"{SHORTS}/visits/v/step", json={"request": "r3", "step": 3, "reward": 0})
    assert http.post(f"{SHORTS}/visits/v/step", json=body).json() == second.json()
    assert metric(http, "sojourn_steps_total", experiment="shorts") == 3
    assert metric(http, "sojourn_rewards_total", outcome="learned") == 2
    for wrong in ({"step": 2}, {"step": 2, "request": "r4"}, {"step": 9}):
        assert http.post(f"{SHORTS}/visits/v/decisions", json=wrong).status_code == 409


def test_every_kind_of_reward_has_an_answer_and_a_metric(http: Caller) -> None:
    def reward(visit: str, step: int, value: float) -> Any:
        answer = http.put(f"{SHORTS}/visits/{visit}/decisions/{step}/reward", json={"value": value})
        return answer.json().get("outcome", answer.status_code)

    for visit in ("v1", "v2", "v3"):
        http.post(f"{SHORTS}/visits/{visit}/decisions", json={"opening": {}})
    assert reward("v1", 1, 1) == "learned"
    assert reward("v1", 1, 1) == "same"
    assert reward("v1", 1, 0) == 409
    http.post(f"{SHORTS}/visits/v2/decisions", json={})  # missing: the next decision resolves it
    assert reward("v2", 1, 1) == "late"
    assert reward("v2", 7, 1) == 404
    http.put(f"{SHORTS}/visits/v3/end", json={})  # missing: the end resolves it
    for outcome in ("learned", "same", "late", "conflict"):
        assert metric(http, "sojourn_reward_answers_total", outcome=outcome) == 1, outcome
    for outcome, by, n in (
        ("learned", "reward", 1),
        ("late", "reward", 1),
        ("missing", "next", 1),
        ("missing", "end", 1),
        ("missing", "timeout", 0),
    ):
        assert metric(http, "sojourn_rewards_total", outcome=outcome, by=by) == n, (outcome, by)


def test_idle_visits_time_out(http: Caller) -> None:
    http.put("/v1/experiments/quick", json={**PLAIN, "idle_timeout": 0.01})
    http.post("/v1/experiments/quick/visits/v/decisions", json={"opening": {}})
    catalog = http.app.state.catalog
    while http.get("/v1/experiments/quick/visits/v").json()["status"] == "open":
        catalog.experiments["quick"].sweep()
    assert metric(http, "sojourn_visits_total", experiment="quick", event="timed out") == 1
    assert metric(http, "sojourn_rewards_total", experiment="quick", by="timeout") == 1
    answer = http.post("/v1/experiments/quick/visits/v/decisions", json={})
    assert (answer.status_code, answer.json()["error"]) == (410, "ended")


def test_a_batch_is_answered_in_order(http: Caller) -> None:
    calls: list[dict[str, Any]] = []
    for visit in ("v1", "v2"):
        calls += [
            {"call": "open", "visit": visit, "user": "ann"},
            {"call": "decide", "visit": visit, "step": 1},
            {"call": "step", "visit": visit, "reward": 1, "step": 2},
            {"call": "reward", "visit": visit, "step": 2, "value": 0},
            {"call": "reward", "visit": visit, "step": 2, "value": 1},
            {"call": "end", "visit": visit},
            {"call": "decide", "visit": visit},
        ]
    calls += [{"call": "end", "visit": "v9"}, {"call": "open"}]
    answers = http.post(f"{SHORTS}/batch", json={"calls": calls}).json()["answers"]
    statuses = [answer["status"] for answer in answers]
    assert statuses == [201, 200, 200, 200, 409, 200, 410] * 2 + [404, 201]
    assert [a["body"].get("step") for a in answers[:3]] == [0, 1, 2]
    assert [a["body"]["error"] for a in answers[4:7:2]] == ["conflict", "ended"]
    assert metric(http, "sojourn_reward_answers_total", outcome="conflict") == 2
    assert http.post(f"{SHORTS}/batch", json={"calls": []}).json() == {"answers": []}
    many = {"calls": [{"call": "open"}] * 1001}
    assert http.post(f"{SHORTS}/batch", json=many).status_code == 422


def test_graded_rewards(http: Caller) -> None:
    """Without a threshold they are refused, alone and in a batch; with one they are learned."""
    visit = f"{SHORTS}/visits/v"
    http.post(f"{visit}/decisions", json={"opening": {}})
    calls = [
        {"call": "reward", "visit": "v", "step": 1, "value": 0.7},
        {"call": "step", "visit": "v", "reward": 0.7},
        {"call": "end", "visit": "v", "reward": 0.7},
        {"call": "reward", "visit": "v", "step": 1, "value": 1},
    ]
    answers = http.post(f"{SHORTS}/batch", json={"calls": calls}).json()["answers"]
    assert [answer["status"] for answer in answers] == [422, 422, 422, 200]
    alone = http.put(f"{visit}/decisions/1/reward", json={"value": 0.7})
    for body in (alone.json(), *(answer["body"] for answer in answers[:3])):
        assert "rewards of this experiment are 0 or 1" in body["detail"]
    refused = http.put("/v1/experiments/graded", json={**PLAIN, "default_reward": 0.5})
    assert refused.status_code == 422 and "default_reward = 0.5" in refused.json()["detail"]
    assert http.put(SHORTS, json={**PLAIN, "reward_threshold": 0.5}).status_code == 409
    made = http.put("/v1/experiments/graded", json={**PLAIN, "reward_threshold": 0.5})
    assert made.json()["reward_threshold"] == 0.5
    calls = [{"call": "decide", "visit": "v", "opening": {}}, {**calls[2], "call": "end"}]
    answers = http.post("/v1/experiments/graded/batch", json={"calls": calls}).json()["answers"]
    assert [answer["status"] for answer in answers] == [200, 200]
    assert 0.7 in [arm["mean"] for arm in http.get("/v1/experiments/graded").json()["arms"]]


def test_experiments_change(http: Caller) -> None:
    again = http.put(SHORTS, json={**PLAIN, "policy": {"name": "Uniform"}, "reward_wait": 60})
    assert again.status_code == 200 and again.json()["policy"]["name"] == "Uniform"
    assert again.json()["reward_wait"] == 60
    other = {**PLAIN, "user": {"model": "moving-average", "theta": 0.5}}
    assert http.put(SHORTS, json=other).status_code == 409
    added = http.post(f"{SHORTS}/arms", json={"arms": ["news", 7]})
    names = ["dance", "cooking", "news", "7"]
    assert [arm["name"] for arm in added.json()["arms"]] == names
    edit = http.get("/v1/changes?limit=1").json()["changes"][0]
    assert json.loads(edit["detail"]) == {"arms": {"news": {}, "7": {}}}
    assert http.post(f"{SHORTS}/arms", json={"arms": ["news"]}).status_code == 200
    warm = http.put(f"{SHORTS}/prior", json={"arms": {"news": {"pulls": 4, "successes": 1}}})
    assert {a["name"]: a["mean"] for a in warm.json()["arms"]}["news"] == 0.25
    for arms, status in ((["dance", "cooking", 7], 200), (["news"], 409), (["news", "golf"], 404)):
        answer = http.post(f"{SHORTS}/arms/retire", json={"arms": arms})
        assert answer.status_code == status, arms
    back = http.post(f"{SHORTS}/arms", json={"arms": ["dance"]}).json()["arms"]
    assert [arm["name"] for arm in back if not arm["retired"]] == ["dance", "news"]
    decided = http.post(f"{SHORTS}/visits/v/decisions", json={"opening": {}}).json()
    assert decided["propensity"] == 0.5


VISIT = f"{SHORTS}/visits/v1"
JSON = {"content-type": "application/json"}
REFUSED = [
    ("POST", f"{VISIT}/decisions", "{", 422, "the body is not JSON: EOF while parsing"),
    ("POST", f"{VISIT}/decisions", "", 422, "the body is not JSON"),
    ("POST", f"{VISIT}/decisions", "[]", 422, "the body"),
    ("POST", f"{VISIT}/decisions", '{"colour": 1}', 422, "colour is not known here"),
    ("POST", f"{VISIT}/step", "{}", 422, "reward is missing"),
    ("POST", f"{VISIT}/step", '{"reward": 2}', 422, "reward = 2 is not allowed: input should be"),
    ("POST", f"{VISIT}/step", '{"reward": NaN}', 422, "reward"),
    ("POST", f"{VISIT}/step", '{"reward": "1"}', 422, "reward = '1' is not allowed"),
    ("POST", f"{VISIT}/step", '{"reward": true}', 422, "reward = True is not allowed"),
    ("POST", f"{VISIT}/decisions", '{"request": ""}', 422, "request = '' is not allowed"),
    ("POST", f"{VISIT}/decisions", '{"request": "a\\u0000"}', 422, "it must be printable"),
    ("POST", f"{VISIT}/decisions", "{}", 404, "there is no visit 'v1' in 'shorts'"),
    ("POST", "/v1/experiments/none/visits/v/decisions", "{}", 404, "no experiment 'none'"),
    ("POST", f"{SHORTS}/visits/{'v' * 201}/decisions", "{}", 422, "1 to 200 printable characters"),
    ("PUT", f"{SHORTS}/visits/%00", "{}", 422, "1 to 200 printable characters"),
    ("PUT", f"{VISIT}/decisions/0/reward", '{"value": 1}', 422, "step = '0' is not allowed"),
    ("PUT", f"{VISIT}/decisions/x/reward", '{"value": 1}', 422, "step = 'x' is not allowed"),
    ("PUT", f"{VISIT}/end", '{"reward": -1}', 422, "reward = -1 is not allowed"),
    ("PUT", SHORTS, "{", 422, "the body is not JSON"),
    ("PUT", SHORTS, '{"arms": []}', 422, "arms = [] is not allowed"),
    ("PUT", SHORTS, '{"arms": ["a", "a"]}', 422, "it must name every arm once"),
    ("PUT", SHORTS, '{"arms": ["a"], "policy": {"name": "Best"}}', 422, "one of UCB, KLUCB"),
    ("PUT", SHORTS, '{"arms":["a"],"policy":{"name":"UCB","parameters":{"z":1}}}', 422, "'z'"),
    ("PUT", SHORTS, '{"arms": ["a"], "reward_wait": 9, "idle_timeout": 1}', 422, "reward_wait"),
    ("PUT", SHORTS, '{"arms": ["a"], "user": {"theta": 0.5}}', 422, "user.theta is not known"),
    ("POST", f"{SHORTS}/arms", '{"arms": [1.5]}', 422, "arms.0"),
    ("PUT", f"{SHORTS}/prior", '{"arms": {"dance": {"successes": 1}}}', 422, "from 0 to 0"),
    ("PUT", f"{SHORTS}/prior", '{"arms": {"golf": {"pulls": 1}}}', 404, "no arm 'golf'"),
    ("GET", "/v1/experiments/none", None, 404, "there is no experiment 'none'"),
    ("GET", f"{SHORTS}/visits/none", None, 404, "there is no visit 'none'"),
    ("GET", "/v1/nothing", None, 404, "there is nothing at /v1/nothing"),
    ("GET", f"{VISIT}/", None, 404, "there is nothing at"),
    ("PATCH", VISIT, "{}", 405, "PATCH is not allowed here, but GET, PUT"),
    ("GET", f"{VISIT}/step", None, 405, "GET is not allowed here, but POST"),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "detail"), REFUSED)
def test_refusals(
    http: Caller, method: str, path: str, body: str | None, status: int, detail: str
) -> None:
    words = {404: "not_found", 405: "not_allowed", 422: "invalid"}
    answer = http.request(method, path, content=body, headers=JSON if body is not None else {})
    assert answer.status_code == status, answer.text
    assert answer.json().keys() == {"error", "detail"}
    assert answer.json()["error"] == words[status]
    assert detail in answer.json()["detail"]
    assert "\n" not in answer.json()["detail"]
    if status == 405:
        assert answer.headers["allow"] == answer.json()["detail"].partition("but ")[2]


@pytest.mark.parametrize("path", [VISIT, SHORTS], ids=["hot", "cold"])
@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded"])
def test_bodies_must_be_json(http: Caller, path: str, kind: str | None) -> None:
    answer = http.put(path, content="{}", headers={"content-type": kind} if kind else {})
    assert (answer.status_code, answer.json()["error"]) == (415, "not_json")
    more = {"content-type": "Application/JSON; charset=utf-8"}
    assert http.put(path, content='{"arms": ["a"]}', headers=more).status_code != 415


@pytest.mark.parametrize(
    ("error", "word"), [(Busy("4096 calls wait"), "busy"), (Unavailable("host x"), "unavailable")]
)
def test_a_store_that_is_busy_or_away(
    http: Caller, error: Exception, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = http.app.state.catalog

    def fail(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(catalog.journal.writer, "reserve", fail)
        for name in ("read", "ping"):
            patch.setattr(catalog.journal.store, name, fail)
        for answer in (http.put(VISIT, json={}), http.get("/v1/experiments"), http.get("/readyz")):
            assert (answer.status_code, answer.json()["error"]) == (503, word)
            assert answer.headers["retry-after"] == "1"
            assert "host x" not in answer.text
        assert http.get("/healthz").json() == {"status": "ok"}
        assert word == "busy" or "sojourn_queue" in http.get("/metrics").text
    assert http.get("/readyz").json() == {"status": "ready"}


def test_a_mistake_in_the_service_is_told_and_logged(
    http: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    catalog = http.app.state.catalog
    monkeypatch.setattr(catalog.experiments["shorts"], "avisit", None)
    monkeypatch.setattr(catalog.journal.store, "read", None)
    for answer in (http.put(VISIT, json={}), http.get("/v1/experiments")):
        assert (answer.status_code, answer.json()["error"]) == (500, "failed")
        assert answer.headers["x-request-id"] in answer.json()["detail"]
        assert answer.headers["x-request-id"] in str([vars(r) for r in caplog.records])


@pytest.mark.parametrize("planted", [np_error, policy_error])
def test_an_error_inside_a_decision_is_a_bug_of_the_service(
    planted: Any, http: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """NumPy's ValueError is not blamed on the caller, and the experiment still serves."""
    assert metric(http, "sojourn_bugs_total") == 0
    batch = {"calls": [{"call": "decide", "visit": "b", "opening": {}}]}
    with monkeypatch.context() as patch:
        patch.setattr(Learner, "choose", planted)
        for number, (path, body) in enumerate(
            [(f"{VISIT}/decisions", {"opening": {}}), (f"{SHORTS}/batch", batch)], 1
        ):
            caplog.clear()
            answer = http.post(path, json=body)
            assert (answer.status_code, answer.json()["error"]) == (500, "failed")
            assert answer.headers["x-request-id"] in answer.json()["detail"]
            (record,) = [r for r in caplog.records if r.levelname == "ERROR"]
            assert vars(record)["request"] == answer.headers["x-request-id"]
            assert record.exc_info and planted.__name__ in str(
                traceback.format_tb(record.exc_info[2])
            )
            assert metric(http, "sojourn_bugs_total") == number
    decided = http.post(f"{VISIT}/decisions", json={"opening": {}})
    assert (decided.status_code, decided.json()["step"]) == (200, 1)
    assert http.post(f"{VISIT}/step", json={"reward": 1}).json()["step"] == 2
    assert metric(http, "sojourn_bugs_total") == 2


def test_an_error_of_a_page_is_a_bug_of_the_service(
    http: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    catalog = http.app.state.catalog
    with monkeypatch.context() as patch:
        patch.setattr(catalog, "experiment", np_error)
        for path, status in ((SHORTS, 500), (f"{SHORTS}/insight", 500), ("/", 200)):
            caplog.clear()
            assert http.get(path).status_code == status
            assert [r.levelname for r in caplog.records].count("ERROR") == 1
    assert metric(http, "sojourn_bugs_total") == 3
    assert http.get(SHORTS).status_code == 200


def test_long_bodies(tmp_path: Path) -> None:
    with client(largest_body=100) as http:
        for path in (VISIT, SHORTS):
            answer = http.put(path, content=b" " * 101, headers=JSON)
            assert (answer.status_code, answer.json()["error"]) == (413, "too_large")
            assert answer.headers["connection"] == "close"
            streamed = http.put(path, content=in_parts(b" " * 60, b" " * 60), headers=JSON)
            assert streamed.status_code == 413
        body = b'{"arms": ["a"]}'
        assert (
            http.put(SHORTS, content=in_parts(body[:5], body[5:]), headers=JSON).status_code == 201
        )


@pytest.mark.parametrize("sizes", [[100], [50, 50], [101], [60, 60], [60, 60, 0]])
def test_bodies_in_parts(sizes: list[int]) -> None:
    parts = [{"type": "http.request", "body": b"x" * n, "more_body": True} for n in sizes]
    messages = iter([*parts[:-1], {**parts[-1], "more_body": False}])

    async def receive() -> Any:
        return next(messages)

    if sum(sizes) <= 100:
        assert asyncio.run(read_body(receive, 100)) == b"x" * sum(sizes)
    else:
        with pytest.raises(Refusal, match="longer than 100 bytes"):
            asyncio.run(read_body(receive, 100))


def test_the_rate_is_limited(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    tokens = [keys.make(file, ["*"])[1] for _ in range(2)]
    with client(rate=0.001, keys=file) as http:
        first, second = ({"authorization": f"Bearer {token}"} for token in tokens)
        assert http.get("/v1/experiments", headers=first).status_code == 200
        refused = http.get("/v1/experiments", headers=first)
        assert (refused.status_code, refused.json()["error"]) == (429, "rate_limited")
        assert 1 <= int(refused.headers["retry-after"]) <= 1000
        assert http.get("/v1/experiments", headers=second).status_code == 200
        assert [http.get("/v1/experiments").status_code for _ in range(2)] == [401, 429]
    with client(rate=5) as http:
        http.put(SHORTS, json=PLAIN)
        http.post(f"{SHORTS}/batch", json={"calls": [{"call": "open"}] * 500})  # as many calls
        assert http.get("/v1/experiments").status_code == 429
        assert http.app.state.metrics.limited._value.get() == 1


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", ""])
def test_without_keys_it_answers_to_this_machine_only(http: Caller, host: str) -> None:
    for path in ("/", "/v1/experiments", f"{VISIT}/decisions", "/metrics"):
        answer = http.get(path, headers={"host": host})
        assert (answer.status_code, answer.json()["error"]) == (403, "forbidden")
    for good in ("localhost", "localhost:8000", "127.0.0.1:1", "[::1]:80", "LOCALHOST"):
        assert http.get("/healthz", headers={"host": good}).status_code == 200


def test_cross_origin() -> None:
    site, other = "https://www.example.com", "https://evil.example"
    wanted = "authorization, content-type, x-request-id"
    ask = {"access-control-request-method": "POST", "access-control-request-headers": wanted}
    with client(origins=(site,)) as http:
        asked = http.request("OPTIONS", f"{VISIT}/decisions", headers={"origin": site, **ask})
        assert asked.status_code == 200
        assert asked.headers["access-control-allow-origin"] == site
        assert wanted.split(", ")[0] in asked.headers["access-control-allow-headers"]
        asked = http.request("OPTIONS", f"{VISIT}/decisions", headers={"origin": other, **ask})
        assert asked.status_code == 400 and "access-control-allow-origin" not in asked.headers
        for path in ("/v1/experiments", VISIT):
            answer = http.put(path, json={}, headers={"origin": site})
            assert answer.headers["access-control-allow-origin"] == site  # refusals too
            assert answer.headers["vary"] == "Origin"
    with client() as http:
        asked = http.request("OPTIONS", VISIT, headers={"origin": site, **ask})
        assert "access-control-allow-origin" not in asked.headers


def test_request_ids(http: Caller) -> None:
    given = http.get("/healthz", headers={"x-request-id": "abc-1"})
    assert given.headers["x-request-id"] == "abc-1"
    ids = {http.put(VISIT, json={}).headers["x-request-id"] for _ in range(3)}
    assert len(ids) == 3
    bad = http.get("/healthz", headers={"x-request-id": 'a"b c'})
    assert bad.headers["x-request-id"] != 'a"b c'


def test_metrics_of_requests_and_commits(http: Caller) -> None:
    http.put(VISIT, json={})
    http.get("/nothing")
    route = "/v1/experiments/{experiment}/visits/{visit}"
    named = {"method": "PUT", "route": route, "status": "201"}
    assert metric(http, "sojourn_requests_total", **named) == 1
    assert metric(http, "sojourn_requests_total", route="other", status="404") == 1
    assert metric(http, "sojourn_request_seconds_count", route=route) == 1
    assert metric(http, "sojourn_commit_changes_sum") == 1
    assert metric(http, "sojourn_commit_seconds_count") == 1
    assert metric(http, "sojourn_queue") == 0
    assert metric(http, "sojourn_conflicts_total") == 0
    assert metric(http, "sojourn_visits_total", event="opened") == 1
    assert "dance" not in http.get("/metrics").text  # no label for arms


def test_what_is_in_the_schema_is_what_runs(http: Caller) -> None:
    """The calls of the middleware are in the schema, and FastAPI has no second version."""
    described = http.get("/openapi.json").json()["paths"]
    for call in FAST_ROUTES:
        operation = described[call.path][call.method.lower()]
        assert operation["operationId"] == call.name
        body = operation["requestBody"]["content"]["application/json"]["schema"]
        assert body["$ref"].rpartition("/")[2] == call.model.__name__
        assert {str(status) for status in call.statuses} <= operation["responses"].keys()
        assert find(call.method, call.path.split("/")) is call
    installed = {
        (method, route.path)
        for route in http.app.routes
        for method in getattr(route, "methods", [])
    }
    assert not installed & {(call.method, call.path) for call in FAST_ROUTES}
    assert ("GET", VISIT_PATH) in installed  # which is no call of the middleware


def test_paths_that_only_look_like_calls_of_visits(http: Caller) -> None:
    for path in ("/v1/else/shorts/visits/v/end", "/v2/experiments/shorts/visits/v/end"):
        assert http.put(path, json={}).status_code == 404
    for method in ("GET", "DELETE", "POST"):
        answer = http.request(method, f"{SHORTS}/visits/v/end", json={})
        assert (answer.status_code, answer.headers["allow"]) == (405, "PUT")
    assert http.request("OPTIONS", f"{SHORTS}/batch").headers["allow"] == "POST"
