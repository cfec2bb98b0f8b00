"""Decisions among the arms that are eligible now."""

from collections import Counter
from math import sqrt
from pathlib import Path

import pytest
from asgi import client

import sojourn as sj
from sojourn.live import Ask, Experiment, Logged, Variant, conformance, export, verify
from sojourn.logs import evaluate

ARMS = ["a", "b", "c", "d"]


def test_choices_and_propensities_are_among_them() -> None:
    """Uniform: with probability 1/2 each of two, however often others were played."""
    with Experiment("news", ARMS, sj.policies.Uniform(), compiled=False, seed=3) as news:
        for _ in range(8):
            assert news.visit().choose() in ARMS
        n, found = 600, Counter[str]()
        for number in range(n):
            made = news.visit(id=f"v{number}").decide(Ask(candidates=["d", "b"], request="r"))
            found[made.arm] += 1
            assert made.propensity == 0.5
        assert found.keys() == {"b", "d"}
        assert abs(found["b"] / n - 0.5) <= 4.5 * sqrt(0.25 / n)
        again = news.get("v1").decide(Ask(candidates=["a"], request="r"))
        assert again.arm in ("b", "d")  # a retry gets what it got
        assert verify(news.journal.store, "news") == {}


def test_an_arm_is_new_where_it_is_a_candidate() -> None:
    """Each arm once, of those that may be shown; the best of those that were."""
    with Experiment("news", ARMS, sj.policies.UCB(c=0), compiled=False) as news:
        shown = []
        for candidates in (["b"], ["b", "c"], ["a", "b", "c"], ["b", "c"]):
            visit = news.visit()
            shown.append(visit.decide(Ask(candidates=candidates)).arm)
            visit.reward(int(shown[-1] == "c"))
        assert shown == ["b", "c", "a", "c"]
        news.retire_arms("c")
        assert news.visit().decide(Ask(candidates=["b", "c"])).arm == "b"
        for candidates, match in (
            (["x", "b"], "candidates = 'x' is not allowed: there is no such arm in 'news'"),
            (["b", "b"], "candidates has the name 'b' twice"),
            ([], "none of them is an active arm"),
            (["c"], "none of them is an active arm"),
            ("b", "candidates = 'b' is not allowed: give a list of names"),
        ):
            with pytest.raises(ValueError, match=match):
                news.visit().decide(Ask(candidates=candidates))
        assert news.memory.clock[0] == 4.0 and not news.branch.operations.stale()


def test_they_are_in_the_log(tmp_path: Path) -> None:
    """Those in use, where not all of them are; an export names them, and evaluate refuses them."""
    with Experiment("news", ARMS, sj.policies.Uniform(), compiled=False) as news:
        news.retire_arms("a")
        for candidates in (None, ["b", "a"], ["d", "c", "b"]):
            visit = news.visit()
            visit.decide(Ask(candidates=candidates))
            visit.end(1)
        store = news.journal.store
        _, events = conformance.all_of(store, "news")
        found = [event.candidates for event in events if event.kind == "decide"]
        assert found == [None, "1", None]
        for name in ("steps.csv", "steps.parquet"):
            export(store, "news", tmp_path / name)
            expected = "1 of 3 steps of the log were decided among some of the arms only"
            with pytest.raises(ValueError, match=expected):
                evaluate(tmp_path / name, sj.policies.FixedArm(0))
            with pytest.raises(ValueError, match=expected):
                evaluate(tmp_path / name, sj.policies.FixedArm(0), threshold=0.5)
        assert '"[""b""]"' in (tmp_path / "steps.csv").read_text()


def test_variants_and_http() -> None:
    policy = sj.policies.Uniform()
    both = [Variant("old", 0.5, policy, external=True), Variant("new", 0.5, policy)]
    with Experiment("news", ARMS, variants=both, holdout="old", compiled=False) as news:
        for n in range(10):
            made = news.visit(user=f"u{n}").decide(Ask(logged=Logged("a"), candidates=["b", "c"]))
            assert made.arm == "a" if made.variant == "old" else made.arm in "bc"
    with client() as http:
        base = "/v1/experiments/shorts"
        http.put(base, json={"arms": ARMS, "policy": {"name": "Uniform"}})
        body = {"opening": {}, "candidates": ["d"]}
        made = http.post(f"{base}/visits/v/decisions", json=body).json()
        assert (made["arm"], made["propensity"]) == ("d", 1.0)
        mixed = {"policy": {"name": "UCB"}, "epsilon": 0.2}
        given = {"arms": ARMS, "policy": {"name": "EpsilonMixture", "parameters": mixed}}
        assert http.put("/v1/experiments/mixed", json=given).status_code == 201
        body = {"opening": {}, "candidates": ["d", "b"]}
        made = http.post("/v1/experiments/mixed/visits/v/decisions", json=body).json()
        assert made["propensity"] == pytest.approx({"b": 0.9, "d": 0.1}[made["arm"]])
        for wrong in (["x"], [], ["a", "a"]):
            answer = http.post(f"{base}/visits/v/step", json={"reward": 1, "candidates": wrong})
            assert answer.status_code == 422 and "candidates" in answer.json()["detail"]
