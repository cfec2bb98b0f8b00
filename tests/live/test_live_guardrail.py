"""Guardrails: when they act, once, what they leave behind, and telling a webhook."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import postgres
import pytest

import sojourn as sj
from sojourn.live import (
    Ask,
    Conflict,
    Edit,
    Experiment,
    Guardrail,
    Journal,
    Logged,
    Variant,
    open_store,
)
from sojourn.live.rollout import guardrail
from sojourn.live.rollout.allocation import Allocation
from sojourn.live.rollout.groups import Group
from sojourn.live.rollout.guardrail import CLAIM, violation

POLICY = sj.policies.FixedArm(0)
RULE = Guardrail(margin=0.1, planned=200)


def shorts(store: Any, *, rule: Guardrail | None = RULE, **more: Any) -> Experiment:
    both = [Variant("old", 0.5, POLICY), Variant("new", 0.5, POLICY)]
    return Experiment(
        "shorts",
        ["a"],
        variants=both,
        holdout="old",
        guardrail=rule,
        store=store,
        compiled=False,
        **more,
    )


def harm(split: Experiment, users: int = 260, first: int = 0, worst: str = "new") -> None:
    """Visits of many users, of whom those in one variant like nothing, and every third other."""
    for user in range(first, first + users):
        visit = split.visit(user=f"u{user}")
        visit.choose()
        assert visit.opened is not None
        visit.end(0 if visit.opened.variant == worst else int(user % 3 > 0))


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[dict[str, Any]], list[int]]]:
    """The address of a webhook, what it was told, and the statuses that it answers with."""
    told: list[dict[str, Any]] = []
    statuses: list[int] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            told.append(json.loads(body))
            self.send_response(statuses.pop(0) if statuses else 200)
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    monkeypatch.setattr(guardrail, "PAUSES", (0.0, 0.01, 0.01))
    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/hook", told, statuses
    server.shutdown()
    server.server_close()


def plan(**more: Any) -> Allocation:
    return Allocation.of(
        {"old": 0.5, "new": 0.3, "newer": 0.2}, "old", at=0.0, guardrail=RULE, **more
    )


def groups(mean: float) -> list[Group]:
    """A hundred users with four visits each, and a reward with this mean."""
    return [Group("", 1, n, 4, 4, 8, 4 * mean + (n % 2 - 0.5) * 0.4, 4) for n in range(100)]


def test_what_it_looks_for() -> None:
    fine = {"old": groups(0.8), "new": groups(0.75), "newer": groups(2.0)}
    assert violation("shorts", plan(), fine, 1.0) is None  # within the margin
    worse = {**fine, "new": groups(0.5)}
    alarm = violation("shorts", plan(), worse, 5.0)
    assert alarm is not None
    assert (alarm.at, alarm.variant, alarm.shares) == (5.0, "new", plan().shares)
    assert alarm.reason.startswith(
        "reward per visit of new is below that of old by more than 0.1: -0.3 [-0."
    )
    assert alarm.reason.endswith("after 400 visits")
    stopped = plan().stopped(alarm)
    assert stopped.shares == {"old": 0.8, "new": 0.0, "newer": 0.2}  # the others go on
    assert violation("shorts", stopped, worse, 6.0) is None
    assert violation("shorts", replace(plan(), guardrail=None), worse, 6.0) is None
    away = plan().ramped({"new": 0.0}, at=1.0)
    assert violation("shorts", away, worse, 6.0) is None  # it has no visits to lose
    fewer = {**fine, "steps": [], "new": [g._replace(steps=2.0) for g in groups(0.8)]}
    steps = replace(plan(), guardrail=Guardrail(metric="steps"))
    assert violation("shorts", steps, fewer, 1.0) is None  # no two differ: nothing is known
    back = stopped.undone(at=9.0)
    assert back.shares == plan().shares and back.alarm is None
    assert violation("shorts", back, worse, 10.0) is None  # evidence counts from now on
    with pytest.raises(Conflict, match="there is nothing to undo"):
        back.undone(at=10.0)
    with pytest.raises(Conflict, match="the guardrail has acted"):
        stopped.ramped({"new": 0.5}, at=7.0)
    assert stopped.rolled_back(at=8.0).shares == {"old": 1.0, "new": 0.0, "newer": 0.0}


def test_it_acts_once_and_survives(tmp_path: Path, hook: Any) -> None:
    url, told, _ = hook
    place = f"sqlite:///{tmp_path / 'live.db'}"
    with Journal(place, upkeep=False) as journal:
        split = shorts(journal, webhook=url)
        assert not split._rollout.guard.look()
        harm(split)
        assert split._rollout.guard.look() and not split._rollout.guard.look()
        assert split.allocation.shares == {"old": 1.0, "new": 0.0} and split.allocation.epoch == 2
        assert split._rollout.guard.telling is not None
        split._rollout.guard.telling.join(10.0)
        assert [line["variant"] for line in told] == ["new"]
        assert told[0]["text"].startswith("shorts: visits of new go to old now. reward per visit")
        assert told[0]["shares_before"] == {"old": 0.5, "new": 0.5}
        assert split.allocation.alarm is not None and split.allocation.alarm.delivery == "done"
        edits = [e for e in journal.store.series(Edit, "shorts", limit=9) if e.actor == "guardrail"]
        assert len(edits) == 1 and "below that of old" in edits[0].detail
    with Journal(place, upkeep=False) as journal:
        split = Experiment.open("shorts", journal, compiled=False, webhook=url)
        assert split.allocation.alarm is not None and not split._rollout.guard.look()
        assert split.allocation.shares == {"old": 1.0, "new": 0.0}
        with pytest.raises(Conflict, match="undo that first"):
            split.ramp({"new": 0.1})
        split.undo()
        assert (
            split.allocation.shares == {"old": 0.5, "new": 0.5} and not split._rollout.guard.look()
        )
        split = shorts(journal, rule=Guardrail(margin=0.2, planned=200))  # the app starts again
        assert split.allocation.guardrail == Guardrail(margin=0.2, planned=200, since=3)
        assert not split._rollout.guard.look()  # what was undone is no evidence
        split.guard(RULE)
        assert split.compare().variants[1].differences["reward"].high < -0.1  # of all there is
        harm(split, first=1000)
        assert split._rollout.guard.look()
    assert len(told) in (1, 2)  # the second one may be under way


def test_it_stops_exploring(tmp_path: Path, hook: Any) -> None:
    """The variant keeps its visits, and plays what it knows: after a restart too, until undone."""
    url, told, _ = hook
    place, rule = f"sqlite:///{tmp_path / 'live.db'}", replace(RULE, action="stop exploring")
    both = [Variant("old", 0.5, external=True), Variant("new", 0.5, sj.policies.Uniform())]
    given = {"arms": ["a", "b", "c"], "variants": both, "holdout": "old"}

    def shown(split: Experiment) -> set[tuple[str, float | None]]:
        visits = [split.visit(user=f"w{n}") for n in range(60)]
        made = [visit.decide(Ask(logged=Logged("a"))) for visit in visits]
        return {(each.arm, each.propensity) for each in made if each.variant == "new"}

    with Journal(place, upkeep=False) as journal:
        split = Experiment(
            "shorts", **given, guardrail=rule, store=journal, compiled=False, webhook=url, seed=1
        )
        for n in range(300):  # all like b, and nothing else
            made = (visit := split.visit(user=f"u{n}")).decide(Ask(logged=Logged("b")))
            visit.end(int(made.arm == "b" and n % 4 > 0))
        assert {arm for arm, _ in shown(split)} == {"a", "b", "c"}
        before = split.allocation.epoch
        assert split._rollout.guard.look() and not split._rollout.guard.look()
        assert (
            split.allocation.shares == {"old": 0.5, "new": 0.5}
            and split.allocation.epoch == before + 1
        )
        assert shown(split) == {("b", 1.0)}
        reason = split.variants["new"].policy.reason(split.variants["new"].recent()[0])
        assert str(reason).startswith("exploring is stopped: best known: *b*, mean 0.")
        assert split._rollout.guard.telling is not None
        split._rollout.guard.telling.join(10.0)
        assert told[0]["action"] == "stop exploring"
        assert told[0]["text"].startswith("shorts: new plays only what it knows to be best now.")
        (edit,) = [
            e for e in journal.store.series(Edit, "shorts", limit=9) if e.actor == "guardrail"
        ]
        assert json.loads(edit.detail)["settled"] == ["new"] and "below that of" in edit.detail
    with Journal(place, upkeep=False) as journal:
        split = Experiment.open("shorts", journal, compiled=False)
        assert (
            split.allocation.alarm is not None and split.allocation.alarm.action == "stop exploring"
        )
        assert split.allocation.settled == ("new",) and shown(split) == {("b", 1.0)}
        with pytest.raises(Conflict, match="exploring cannot change: the guardrail has acted"):
            split.explore({"new": True})
        epochs = split.allocation.epoch
        split.undo()
        assert split.allocation.settled == () and len(shown(split)) == 3
        assert split.allocation.guardrail is not None
        assert split.allocation.guardrail.since == split.allocation.epoch == epochs + 1
        assert not split._rollout.guard.look()  # what was undone is no evidence
        split.explore({"new": False})  # by hand
        assert split.allocation.settled == ("new",) and shown(split) == {("b", 1.0)}
        epochs = split.allocation.epoch
        split.explore({"new": False})
        assert split.allocation.epoch == epochs
        split.explore({"new": True})
        assert len(shown(split)) == 3
        with pytest.raises(ValueError, match="'old' is not allowed: the caller chooses its arms"):
            split.explore({"old": False})
        with pytest.raises(ValueError, match="variant = 'x' is not allowed"):
            split.explore({"x": False})
    turned = [Variant("old", 0.5, sj.policies.Uniform()), Variant("new", 0.5, external=True)]
    with pytest.raises(ValueError, match="'new' is not allowed: the caller chooses its arms"):
        Experiment("shorts", ["a"], variants=turned, holdout="old", guardrail=rule, compiled=False)


def test_two_processes_act_once(hook: Any) -> None:
    """Each with a store of its own, at the same time; and one takes over from one that has died."""
    url, told, statuses = hook
    with postgres.server() as place:
        first = Journal(place, upkeep=False)
        split = shorts(first, webhook=url)
        harm(split)
        second = Journal(place, upkeep=False)
        other = Experiment.open("shorts", second, compiled=False, webhook=url)
        barrier = threading.Barrier(2)
        acted: list[bool] = []

        def act(each: Experiment) -> None:
            barrier.wait()
            acted.append(each._rollout.guard.look())

        threads = [threading.Thread(target=act, args=(each,)) for each in (split, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(acted) == [False, True]
        for thread in (split._rollout.guard.telling, other._rollout.guard.telling):
            if thread is not None:
                thread.join(10.0)
        for each in (split, other):
            each.refresh()
            assert each.allocation.shares == {"old": 1.0, "new": 0.0}
            assert each.allocation.alarm is not None and each.allocation.alarm.delivery == "done"
        assert len(told) == 1
        edits = first.store.series(Edit, "shorts", limit=9)
        assert len([edit for edit in edits if edit.actor == "guardrail"]) == 1

        alarm = replace(split.allocation.alarm, delivery="due")  # type: ignore[type-var]
        split._rollout.change(lambda plan: replace(plan, alarm=alarm))
        other.refresh()
        assert not other._rollout.guard.look() and len(told) == 1  # the other one may be about to
        split._rollout.change(lambda plan: replace(plan, claimed=plan.claimed - CLAIM))
        statuses += [500, 404, 503]
        other.refresh()
        other._rollout.guard.look()
        assert other._rollout.guard.telling is not None
        other._rollout.guard.telling.join(10.0)
        assert len(told) == 4
        assert other.allocation.alarm is not None
        assert other.allocation.alarm.delivery == "not told: it answered 503, 3 times"
        split.undo()
        split.explore({"new": False})
        other.refresh()
        assert not other.variants["new"].exploring and other.variants["old"].exploring
        for journal in (first, second):
            journal.close()


def test_a_thread_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guardrail, "LOOK", 0.0)
    with shorts("memory://") as split:
        harm(split)
        for _ in range(200):
            if split.allocation.alarm is not None:
                break
            threading.Event().wait(0.05)
        assert split.allocation.alarm is not None and split.allocation.alarm.delivery == "none"


def test_what_is_refused() -> None:
    for wrong, match in (
        ({"metric": "clicks"}, "metric = 'clicks' is not allowed"),
        ({"margin": -1}, "margin = -1 is not allowed"),
        ({"action": "cry"}, "action = 'cry' is not allowed: it must be one of holdout, stop expl"),
        ({"alpha": 0}, "alpha = 0 is not allowed"),
        ({"planned": 0}, "planned = 0 is not allowed"),
    ):
        with pytest.raises(ValueError, match=match):
            Guardrail(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="webhook is not allowed: it must begin with http"):
        shorts("memory://", webhook="ftp://x")
    assert open_store("memory://").read() == {}
