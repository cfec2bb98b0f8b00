"""One experiment that cannot be served is shown as broken, and keeps no other from being served."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asgi import Caller, client

from sojourn.live import Settings, SqliteStore
from sojourn.live.records import Arm
from sojourn.live.stores.base import save
from sojourn.policies import KLUCB

GOOD, ODD = "/v1/experiments/good", "/v1/experiments/odd"
FRAIL = Settings(policy=KLUCB()).to_json()
BROKEN = {
    "odd": "this is no JSON",
    "empty": "{}",
    "gone": FRAIL.replace("KLUCB", "NoSuchPolicy"),
    "frail": FRAIL,
    "vast": Settings().to_json().replace('"bins": 4', '"bins": 200000'),
}
BOUND = "bins = 200000 is not allowed"


@pytest.fixture(scope="module")
def http(tmp_path_factory: Any) -> Iterator[Caller]:
    """A store with five experiments that cannot be opened, and one that can."""
    path: Path = tmp_path_factory.mktemp("broken") / "live.db"
    with client(store=f"sqlite:///{path}") as http:
        assert http.put(GOOD, json={"arms": ["a", "b"]}).status_code == 201
    store = SqliteStore(path)
    for name, text in BROKEN.items():
        save(store, name, text, [Arm(0, "a"), Arm(1, "b"), Arm(2, "c")])
    store.close()
    with pytest.MonkeyPatch.context() as patch:

        def memory(self: KLUCB, arms: int) -> None:
            raise MemoryError("Unable to allocate 596. GiB")

        patch.setattr(KLUCB, "memory", memory)
        with client(store=f"sqlite:///{path}") as http:  # it starts
            yield http


def test_the_others_are_served(http: Caller) -> None:
    decided = http.post(f"{GOOD}/visits/v1/decisions", json={"opening": {}})
    assert decided.status_code == 200 and decided.json()["arm"] in "ab"
    listed = http.get("/v1/experiments").json()
    assert listed["experiments"] == ["empty", "frail", "gone", "good", "odd", "vast"]
    assert listed["broken"].keys() == BROKEN.keys()
    assert BOUND in listed["broken"]["vast"] and "MemoryError" in listed["broken"]["frail"]
    assert listed["broken"]["empty"] == "its settings cannot be read (KeyError: 'policy')"
    assert "sojourn_broken_experiments 5.0" in http.get("/metrics").text


def test_calls_on_a_broken_one_say_why_it_is_not_served(http: Caller) -> None:
    vast = "/v1/experiments/vast"
    answers = [
        http.get(vast),
        http.get(f"{vast}/insight"),
        http.post(f"{vast}/visits", json={}),
        http.post(f"{vast}/visits/v/decisions", json={"opening": {}}),
        http.post(f"{vast}/arms", json={"arms": ["d"]}),
        http.post(f"{vast}/batch", json={"calls": []}),
        http.post(f"{vast}/arms/retire", json={"arms": ["a"]}),
    ]
    assert {answer.status_code for answer in answers} == {409}
    (body,) = {tuple(answer.json().items()) for answer in answers}
    assert dict(body)["error"] == "broken"
    assert BOUND in dict(body)["detail"] and "give it other settings, or drop it" in str(body)


def test_the_dashboard_shows_it_with_its_reason_beside_the_others(http: Caller) -> None:
    front = http.get("/")
    assert front.status_code == 200 and 'href="/experiments/good"' in front.text
    assert f"Experiment &#39;vast&#39; cannot be served: {BOUND}" in front.text
    shown = http.get("/experiments/vast")
    assert shown.status_code == 409 and BOUND in shown.text
    assert http.get("/experiments/good").status_code == 200


def test_good_settings_repair_it_and_it_can_be_dropped(http: Caller) -> None:
    refused = http.put(ODD, json={"arms": ["d"], "policy": {"name": "KLUCB"}})
    assert refused.status_code == 422 and "MemoryError" in refused.json()["detail"]
    assert http.get(ODD).status_code == 409
    repaired = http.put(ODD, json={"arms": ["d"]})
    assert repaired.status_code == 200 and len(repaired.json()["arms"]) == 4
    assert http.post(f"{ODD}/visits/v/decisions", json={"opening": {}}).status_code == 200
    assert http.delete("/v1/experiments/empty").status_code == 200
    assert http.get("/v1/experiments/empty").status_code == 404
    assert http.get("/v1/experiments").json()["broken"].keys() == {"frail", "gone", "vast"}


def test_a_bad_put_changes_nothing(http: Caller) -> None:
    before = http.get(GOOD).json()
    for policy in (
        {"name": "LearnedIMED", "parameters": {"bins": 200_000}},
        {"name": "UCBQLearning", "parameters": {"H": 10_000, "bins": 64, "by_step": True}},
        {"name": "EpsilonMixture", "parameters": {"policy": {"name": "KLUCB", "parameters": {}}}},
    ):
        body = {"arms": [f"a{i}" for i in range(100)], "policy": policy}
        for path in (GOOD, "/v1/experiments/new"):
            answer = http.put(path, json=body)
            assert answer.status_code in (409, 422) and answer.json()["detail"].count("\n") == 0
    assert http.get(GOOD).json() == before
    assert http.get("/v1/experiments/new").status_code == 404
