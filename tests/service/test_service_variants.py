"""Experiments with variants over HTTP: as in the process, and who may see what."""

from pathlib import Path
from typing import Any

import pytest
from asgi import Caller, client

from sojourn.live.rollout.allocation import STOP_EXPLORING, Alarm
from sojourn.service.auth import keys

SHORTS = "/v1/experiments/shorts"
FIXED = {"name": "FixedArm", "parameters": {"arm": 0}}
GONE = {"dropped": "shorts", "removed_files": 0, "kept_files": 0}
GIVEN = {
    "arms": ["a", "b"],
    "variants": {
        "old": {"share": 0.5, "external": True, "policy": FIXED},
        "new": {"share": 0.5, "policy": FIXED},
    },
    "holdout": "old",
    "guardrail": {"margin": 0.1, "planned": 200},
}


@pytest.fixture
def http() -> Any:
    with client() as http:
        assert http.put(f"{SHORTS}/variants", json=GIVEN).status_code == 201
        yield http


def said(http: Caller, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    given = {} if body is None else {"json": body}
    answer = http.request(method, path, **given)
    return answer.status_code, answer.json()


def test_visits(http: Caller) -> None:
    homes = {}
    for n in range(20):
        body = {"opening": {"user": f"u{n}"}, "logged": {"arm": "b", "propensity": 0.5}}
        status, made = said(http, "POST", f"{SHORTS}/visits/v{n}/decisions", body)
        assert status == 200 and made["arm"] == ("b" if made["variant"] == "old" else "a")
        assert made["propensity"] == (0.5 if made["variant"] == "old" else 1.0)
        homes[n] = made["variant"]
        status, seen = said(http, "GET", f"{SHORTS}/visits/v{n}")
        assert (seen["variant"], seen["external"]) == (homes[n], homes[n] == "old")
    assert set(homes.values()) == {"old", "new"}
    old = next(n for n, home in homes.items() if home == "old")
    status, wrong = said(http, "POST", f"{SHORTS}/visits/v{old}/step", {"reward": 1})
    assert status == 422 and wrong["detail"].startswith("logged is missing")
    status, wrong = said(
        http, "POST", f"{SHORTS}/visits/v{old}/decisions", {"logged": {"arm": "x"}}
    )
    assert status == 422 and "there is no such arm in 'shorts:old'" in wrong["detail"]
    calls = [
        {"call": "step", "visit": f"v{old}", "reward": 1, "logged": {"arm": "a"}},
        {"call": "end", "visit": f"v{old}", "reward": 1},
        {"call": "open", "user": "u1"},
    ]
    status, batch = said(http, "POST", f"{SHORTS}/batch", {"calls": calls})
    assert [answer["status"] for answer in batch["answers"]] == [200, 200, 201]
    status, batch = said(
        http,
        "POST",
        f"{SHORTS}/batch",
        {"calls": [{"call": "end", "visit": f"v{n}"} for n in homes]},
    )
    assert [answer["status"] for answer in batch["answers"]] == [200] * 20
    status, found = said(http, "GET", f"{SHORTS}/comparison")
    variants, share = found["variants"], list(homes.values()).count("old")
    assert status == 200 and variants[0]["means"]["reward"]["value"] == 2.0 / share
    assert found["window"] == 3600.0 and sum(each["opened"] for each in variants) == 21
    assert sum(each["visits"] for each in variants) == 20  # one is open


def test_shares(http: Caller) -> None:
    assert said(http, "PUT", f"{SHORTS}/shares", {"shares": {"new": 0.1}})[1]["shares"] == {
        "old": 0.9, "new": 0.1,
    }  # fmt: skip
    shown = said(http, "DELETE", f"{SHORTS}/shares")[1]
    assert shown["shares"] == {"old": 1.0, "new": 0.0} and len(shown["epochs"]) == 3
    status, again = said(http, "PUT", f"{SHORTS}/variants", GIVEN)
    assert status == 200 and again["shares"] == shown["shares"]  # a PUT does not ramp
    for shares in ({"old": 0.1}, {"x": 0.1}, {"new": 2}):
        assert said(http, "PUT", f"{SHORTS}/shares", {"shares": shares})[0] == 422
    status, wrong = said(http, "DELETE", f"{SHORTS}/alarm")
    assert status == 409 and "there is nothing to undo" in wrong["detail"]
    assert said(http, "GET", f"{SHORTS}/variants") == (200, again)


def test_what_is_not_for_it(http: Caller) -> None:
    """Calls for one experiment name the variants; those for variants, that there are none."""
    for method, path in (("GET", ""), ("GET", "/insight"), ("POST", "/arms"), ("PUT", "/prior")):
        body = {"/arms": {"arms": ["c"]}, "/prior": {"arms": {}}}.get(path, {})
        status, wrong = said(http, method, SHORTS + path, body)
        assert status == 409 and "use one of shorts:old, shorts:new" in wrong["detail"]
    assert said(http, "PUT", SHORTS, {"arms": ["a"]})[0] == 409
    assert said(http, "GET", f"{SHORTS}/ranking") == (200, {"arms": ["a", "b"]})
    status, wrong = said(http, "GET", f"{SHORTS}:old/comparison")
    assert status == 409 and "has no variants" in wrong["detail"]
    assert said(http, "GET", f"{SHORTS}:old")[1]["external"] is True
    status, wrong = said(http, "DELETE", f"{SHORTS}:old")
    assert status == 409 and "is a variant of 'shorts': drop that" in wrong["detail"]
    names = ["shorts", "shorts:new", "shorts:old"]
    assert said(http, "GET", "/v1/experiments")[1] == {"experiments": names, "broken": {}}
    for change in (
        {"variants": {"old": {"share": 1.0}}},
        {"holdout": "x"},
        {"variants": {"old": {"share": 0.5}, "new": {"share": 0.6}}},
        {"guardrail": {"metric": "x"}},
        {"variants": {"old": {"share": 0.5}, "a:b": {"share": 0.5}}},
    ):
        assert said(http, "PUT", "/v1/experiments/other/variants", {**GIVEN, **change})[0] == 422
    assert said(http, "GET", "/v1/experiments")[1]["experiments"] == names  # nothing halfway
    assert 'sojourn_guardrail_acted{experiment="shorts"} 0.0' in http.get("/metrics").text
    assert said(http, "DELETE", SHORTS) == (200, GONE)
    assert said(http, "GET", "/v1/experiments")[1]["experiments"] == []


def test_the_guardrail_over_http(http: Caller) -> None:
    split = http.app.state.catalog.experiments["shorts"]
    for n in range(260):
        visit = split.visit(user=f"u{n}")
        visit.choose(logged="a")
        visit.end(0 if visit.opened.variant == "new" else int(n % 3 > 0))
    split._rollout.guard.look()
    shown = said(http, "GET", f"{SHORTS}/variants")[1]
    assert shown["shares"] == {"old": 1.0, "new": 0.0} and shown["alarm"]["variant"] == "new"
    assert said(http, "GET", f"{SHORTS}/comparison")[1]["alarm"] == shown["alarm"]
    assert 'sojourn_guardrail_acted{experiment="shorts"} 1.0' in http.get("/metrics").text
    over_time = said(http, "GET", f"{SHORTS}/comparison/history")[1]
    assert over_time["alarm"] == shown["alarm"] and len(over_time["epochs"]) == 2
    last = over_time["snapshots"][-1]  # the thread may have looked before
    assert (last["variant"], last["metric"], last["visits"]) == ("new", "reward", 260)
    status, changes = said(http, "GET", f"{SHORTS}:new/drift")
    assert status == 200 and changes["series"][0]["name"] == "a"
    assert 'sojourn_changed_means{experiment="shorts:new"} 0.0' in http.get("/metrics").text
    assert said(http, "GET", f"{SHORTS}/drift")[0] == 409
    assert said(http, "PUT", f"{SHORTS}/shares", {"shares": {"new": 0.5}})[0] == 409
    shown = said(http, "DELETE", f"{SHORTS}/alarm")[1]
    assert shown["shares"] == {"old": 0.5, "new": 0.5} and shown["alarm"] is None
    body = {"exploring": {"new": False}}
    shown = said(http, "PUT", f"{SHORTS}/exploring", body)[1]
    assert shown["exploring"] == {"old": True, "new": False} and not split.variants["new"].exploring
    for wrong in ({"x": False}, {"old": False}, {"new": "no"}):
        assert said(http, "PUT", f"{SHORTS}/exploring", {"exploring": wrong})[0] == 422
    rule = {"margin": 0.1, "action": "stop exploring"}
    shown = said(http, "PUT", f"{SHORTS}/variants", {**GIVEN, "guardrail": rule})[1]
    assert shown["guardrail"]["action"] == "stop exploring" and not shown["exploring"]["new"]
    said(http, "PUT", f"{SHORTS}/exploring", {"exploring": {"new": True}})
    alarm = Alarm(
        at=1.0,
        variant="new",
        reason="it is bad",
        shares=split.allocation.shares,
        action=STOP_EXPLORING,
    )
    split._rollout.change(lambda plan: plan.stopped(alarm))
    page = http.get("/experiments/shorts").text
    assert "new does not explore since" in page and "stops exploring. Each visit counts" in page
    assert "new does not explore: it plays only what it knows to be best" in page


def test_learning_from_all_over_http(http: Caller) -> None:
    sharing = {**GIVEN["variants"], "new": {"share": 0.5, "learns_from": "all"}}  # type: ignore[dict-item]
    status, wrong = said(http, "PUT", f"{SHORTS}/variants", {**GIVEN, "variants": sharing})
    assert status == 422 and "has 4 bins of the state" in wrong["detail"]
    sharing["new"] |= {"policy": {"name": "VisitIMED", "parameters": {"bins": 2}}}
    assert said(http, "PUT", f"{SHORTS}/variants", {**GIVEN, "variants": sharing})[0] == 200
    new = http.app.state.catalog.experiments["shorts:new"]
    assert new.settings.learns_from == ("shorts:old",)
    sharing["new"] |= {"policy": {"name": "QLearning"}}
    status, wrong = said(http, "PUT", f"{SHORTS}/variants", {**GIVEN, "variants": sharing})
    assert status == 422 and "QLearning learns from each step" in wrong["detail"]
    sharing["new"] |= {"policy": {"name": "UCB"}, "learns_from": "own"}
    assert said(http, "PUT", f"{SHORTS}/variants", {**GIVEN, "variants": sharing})[0] == 200
    assert new.settings.learns_from == ()


def test_a_key_for_an_experiment_is_for_its_variants(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    token = {name: keys.make(file, [name], role="owner")[1] for name in ("shorts", "other")}
    with client(keys=file) as http:

        def status(name: str, method: str, path: str, body: Any = None) -> int:
            head = {"authorization": f"Bearer {token[name]}"}
            return http.request(method, path, json=body, headers=head).status_code

        assert status("shorts", "PUT", f"{SHORTS}/variants", GIVEN) == 201
        assert status("shorts", "GET", f"{SHORTS}:old") == 200
        assert status("shorts", "GET", f"{SHORTS}:none") == 403  # no variant of it
        assert status("other", "GET", f"{SHORTS}:old") == 403
        assert status("other", "PUT", f"{SHORTS}/shares", {"shares": {}}) == 403
        head = {"authorization": f"Bearer {token['shorts']}"}
        listed = http.get("/v1/experiments", headers=head).json()["experiments"]
        assert listed == ["shorts", "shorts:new", "shorts:old"]


def test_a_worker_that_has_not_opened_it_yet(tmp_path: Path) -> None:
    """Made by another process: a key for the whole is for its variants at the first call."""
    file, place = tmp_path / "keys.json", f"sqlite:///{tmp_path / 'live.db'}"
    token = {name: keys.make(file, [name], role="owner")[1] for name in ("shorts", "other")}
    with client(store=place) as http:
        said(http, "PUT", f"{SHORTS}/variants", GIVEN)
        said(http, "PUT", f"{SHORTS}/exploring", {"exploring": {"new": False}})
    for name, path, expected in (
        ("shorts", ":new", 200), ("other", ":new", 403), ("shorts", ":none", 403),
    ):  # fmt: skip
        with client(store=place, keys=file) as http:
            catalog = http.app.state.catalog
            catalog.experiments.clear()  # as if it had been made just now
            head = {"authorization": f"Bearer {token[name]}"}
            assert http.get(SHORTS + path, headers=head).status_code == expected
            if expected == 200:
                assert not catalog.experiments["shorts:new"].branch.exploring
    with client(store=place) as http:
        http.app.state.catalog.experiments.clear()
        assert said(http, "GET", f"{SHORTS}:new")[0] == 200
        assert not http.app.state.catalog.experiments["shorts:new"].branch.exploring


def test_in_the_shadow(http: Caller) -> None:
    """What the policy would have shown, in answers, in the report and on the page."""
    would = []
    for n in range(20):
        body = {
            "opening": {"user": f"u{n}"},
            "logged": {"arm": "b", "propensity": 0.5},
            "request": "1",
        }
        for _ in range(2):  # the same answer again
            made = said(http, "POST", f"{SHORTS}/visits/v{n}/decisions", body)[1]
            assert made["shadow_arm"] == ("a" if made["variant"] == "old" else None)
        said(http, "PUT", f"{SHORTS}/visits/v{n}/end", {"reward": 1})
        would.append(made["shadow_arm"])
    status, found = said(http, "GET", f"{SHORTS}:old/shadow")
    assert status == 200 and found["steps"] == found["weighed"] == would.count("a")
    assert found["pairs"] == [{"shown": "b", "shadow_arm": "a", "steps": would.count("a")}]
    assert (found["verdict"], found["matched"], found["tried"]) == ("not yet", 0, ["a"])
    assert found["match"] == {"value": 0.0, "low": 0.0, "high": 1.0}
    page = http.get("/experiments/shorts:old").text
    assert 'id="panel-shadow"' in page and "too few matched steps" in page
    assert 'id="panel-shadow"' not in http.get("/experiments/shorts:new").text
    for name, word in ((f"{SHORTS}:new", "is not external"), (SHORTS, "has variants")):
        status, wrong = said(http, "GET", f"{name}/shadow")
        assert status == 409 and word in wrong["detail"]


def test_the_store_keeps_it(tmp_path: Path) -> None:
    """Opened again, visits go on where they were; a variant that is missing is said."""
    url = f"sqlite:///{tmp_path / 'live.db'}"
    with client(store=url) as http:
        said(http, "PUT", f"{SHORTS}/variants", GIVEN)
        body = {"opening": {"user": "u1"}, "logged": {"arm": "b"}}
        home = said(http, "POST", f"{SHORTS}/visits/v/decisions", body)[1]["variant"]
        said(http, "DELETE", f"{SHORTS}/shares")
    with client(store=url) as http:
        assert said(http, "GET", f"{SHORTS}/visits/v")[1]["variant"] == home
        http.app.state.catalog.journal.store.drop("shorts:new")
    with client(store=url) as http:
        status, wrong = said(http, "GET", f"{SHORTS}/variants")
        assert status == 409 and "its variant 'shorts:new' is missing" in wrong["detail"]
        assert said(http, "DELETE", SHORTS)[0] == 200
