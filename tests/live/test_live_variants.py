"""Experiments with variants: who is in which, what is recorded, and shares that change."""

from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from sojourn.live import (
    Allocation,
    Ask,
    Conflict,
    Edit,
    Experiment,
    Guardrail,
    Journal,
    Logged,
    NotFound,
    Opening,
    SqliteStore,
    Variant,
    VisitInfo,
    archive,
    export,
    verify,
)
from sojourn.live.rollout.allocation import hash_scores, names_of, unit_of, whole_of, winner
from sojourn.live.rollout.groups import Group
from sojourn.validation import InputError

ARMS = ["a", "b", "c"]


def split(share: float = 0.5, **more: Any) -> Experiment:
    policy = more.pop("policy", sj.policies.UCB())
    variants = [Variant("old", 1.0 - share, policy, external=True), Variant("new", share, policy)]
    return Experiment(
        "shorts", ARMS, variants=variants, holdout="old", **{"compiled": False, **more}
    )


def shares_of(count: int, shares: dict[str, float]) -> list[str]:
    """The variants of so many users."""
    names = tuple(shares)
    return [
        winner(hash_scores("shorts", names, unit_of("", f"u{n}")), shares) for n in range(count)
    ]


def test_shares_are_kept() -> None:
    """Within 4.5 standard errors, for users and for visits, and nobody where there is no share."""
    n = 20_000
    shares = {"old": 0.7, "new": 0.2, "other": 0.1, "never": 0.0}
    found = shares_of(n, shares)
    for name, share in shares.items():
        error = sqrt(share * (1.0 - share) / n)
        assert abs(found.count(name) / n - share) <= 4.5 * error
    by_visit = [
        winner(
            hash_scores("shorts", ("old", "new"), unit_of(f"v{i}", None)), {"old": 0.9, "new": 0.1}
        )
        for i in range(n)
    ]
    assert abs(by_visit.count("new") / n - 0.1) <= 4.5 * sqrt(0.09 / n)


def test_assignment_is_monotone_and_of_the_experiment() -> None:
    """Ramped up, a variant keeps those it has; another experiment draws anew."""
    ramp = [(0.9, 0.0), (0.89, 0.01), (0.8, 0.1), (0.4, 0.5), (0.0, 0.9)]
    found = [shares_of(3000, {"old": old, "new": new, "third": 0.1}) for old, new in ramp]
    for before, after in pairwise(found):
        assert all(a == "new" for b, a in zip(before, after, strict=True) if b == "new")
        moved = [(b, a) for b, a in zip(before, after, strict=True) if b != a]
        # old has lost, new has won, and the third has won against old and lost against new
        assert set(moved) <= {("old", "new"), ("third", "new"), ("old", "third")}
    other = [
        winner(hash_scores("other", ("old", "new"), unit_of("", f"u{n}")), {"old": 0.5, "new": 0.5})
        for n in range(3000)
    ]
    here = shares_of(3000, {"old": 0.5, "new": 0.5})
    same = sum(a == b for a, b in zip(other, here, strict=True))
    assert abs(same / 3000 - 0.5) <= 4.5 * sqrt(0.25 / 3000)


def test_assignment_is_the_same_for_ever() -> None:
    """These are promises to stores that are out there: they never change."""
    found = shares_of(12, {"old": 0.5, "new": 0.5})
    assert "".join(name[0] for name in found) == "nnonoooonnnn"


def test_visits_are_sticky() -> None:
    """By user; and a visit stays where it is, found by its id alone, in memory and in the store."""
    with split() as shorts:
        users = [f"u{n}" for n in range(20)]
        homes = {u: shorts.visit(user=u, id=f"first {u}").info().variant for u in users}
        assert set(homes.values()) == {"old", "new"}
        again = {
            u: shorts.decide(f"2 {u}", Ask(opening=Opening(u), logged=Logged("a"))).variant
            for u in users
        }
        assert again == homes
        shorts.roll_back()
        for variant in shorts.variants.values():
            variant.operations.visits.clear()
        for u in users:  # those that are open, by id and with the user
            assert (
                shorts.decide(f"first {u}", Ask(logged=Logged("b"), opening=Opening(u))).variant
                == homes[u]
            )
            assert shorts.get(f"2 {u}").reward(1) == "learned"
            assert shorts.visit(user=u, id=f"2 {u}").opened is None
            assert shorts.get(f"2 {u}").end() is True
        assert {shorts.visit(user=u).info().variant for u in users} == {"old"}
        with pytest.raises(NotFound, match="there is no visit 'none' in 'shorts'"):
            shorts.get("none").end()
        for name in ("shorts:old", "shorts:new"):
            assert verify(shorts.journal.store, name) == {}


def test_what_the_caller_shows_is_recorded(tmp_path: Path) -> None:
    """Arms, rewards, ends and propensities as usual; the policy learns and never decides."""
    with split(share=0.0) as shorts:
        visit = shorts.visit(user="u")
        assert visit.opened is not None and visit.opened.external
        assert visit.choose(logged=Logged("b", 0.25)) == "b"
        assert visit.choose(1, logged="c") == "c"
        first = visit.decide(Ask(reward=0, request="r", logged=Logged("b")))
        assert (
            visit.decide(Ask(reward=0, request="r", logged=Logged("a"))) == first
        )  # a retry gets what it got
        assert visit.end(1) and (first.arm, first.variant) == ("b", "old")
        old = shorts.variants["old"]
        assert old.memory.pulls.tolist() == [0, 2, 1] and old.memory.successes.sum() == 2
        assert old.recent() == []
        assert verify(shorts.journal.store, "shorts:old") == {}
        export(shorts.journal.store, "shorts:old", tmp_path / "steps.csv")
        lines = [line.split(",") for line in (tmp_path / "steps.csv").read_text().splitlines()]
        place = lines[0].index("propensity")
        assert [line[place] for line in lines[1:]] == ["0.25", "", ""]
        other = shorts.visit()
        with pytest.raises(ValueError, match=r"logged is missing: .* of 'shorts:old'"):
            other.choose()
        with pytest.raises(ValueError, match=r"logged.arm = 'x' is not allowed: there is no"):
            other.choose(logged="x")
        with pytest.raises(ValueError, match=r"logged.propensity = 2 is not allowed"):
            other.choose(logged=Logged("a", 2))
        shorts.variants["old"].retire_arms("a")  # what was shown was shown
        assert other.choose(logged="a") == "a"


def test_a_policy_does_not_take_what_the_caller_shows() -> None:
    with (
        split(share=1.0) as shorts,
        Experiment("alone", ARMS, sj.policies.UCB(), compiled=False) as alone,
    ):
        for served in (shorts, alone):
            assert [served.visit().choose(logged="c") for _ in range(3)] == ["a", "b", "c"]
            with pytest.raises(ValueError, match=r"logged.arm = 'x' is not allowed"):
                served.visit().choose(logged="x")


def test_settings_go_through_json() -> None:
    settings = sj.live.Settings(external=True)
    assert sj.live.Settings.from_json(settings.to_json()) == settings


def test_plans() -> None:
    plan = Allocation.of(
        {"old": 0.8, "new": 0.2, "third": 0.0}, "old", at=1.0, guardrail=Guardrail()
    )
    assert Allocation.from_json(plan.to_json()) == plan
    up = plan.ramped({"new": 0.5, "third": 0.1}, at=2.0)
    assert up.shares == {"old": 0.4, "new": 0.5, "third": 0.1} and up.epoch == 2
    assert up.ramped({"new": 0.5}, at=3.0) is up
    assert up.rolled_back(at=4.0).shares == {"old": 1.0, "new": 0.0, "third": 0.0}
    for wrong, match in (
        ({"new": 0.7, "third": 0.4}, "they add up to 1.1, more than 1"),
        ({"old": 0.5}, "variant = 'old' is not allowed: it must be one of new, third"),
        ({"new": -0.1}, "share of 'new' = -0.1 is not allowed"),
    ):
        with pytest.raises(ValueError, match=match):
            plan.ramped(wrong, at=2.0)
    for shares, holdout, match in (
        ({"old": 0.5, "new": 0.4}, "old", "they add up to 0.9, not to 1"),
        ({"old": 1.0}, "old", "it has 1 of them, and must have 2 to 10"),
        ({"old": 0.5, "new": 0.5}, "none", "holdout = 'none' is not allowed"),
        ({"old": 0.5, "": 0.5}, "old", "variant = '' is not allowed"),
    ):
        with pytest.raises(ValueError, match=match):
            Allocation.of(shares, holdout, at=0.0)


def test_it_goes_on(tmp_path: Path) -> None:
    """Shares are those of the store, names cannot change, and nothing is made halfway."""
    url = f"sqlite:///{tmp_path / 'live.db'}"
    with split(0.1, store=url) as shorts:
        shorts.ramp({"new": 0.3})
        visit = shorts.visit(user="u1", id="v")
        home = visit.info().variant
    with split(0.1, store=url, guardrail=Guardrail(margin=0.5)) as shorts:
        assert shorts.allocation.shares == {"old": 0.7, "new": 0.3} and shorts.allocation.epoch == 2
        assert shorts.allocation.guardrail == Guardrail(margin=0.5)
        assert shorts.get("v").info().variant == home
        store = shorts.journal.store
        assert [edit.detail for edit in store.series(Edit, "shorts", limit=2)][1] == (
            '{"shares": {"old": 0.7, "new": 0.3}}'
        )
        with pytest.raises(Conflict, match="'shorts' has variants: change those"):
            Experiment("shorts", ARMS, store=shorts.journal, compiled=False)
        other = [Variant("old", 0.5), Variant("newer", 0.5)]
        with pytest.raises(Conflict, match="has the variants old, new with the holdout old, which"):
            Experiment(
                "shorts", ARMS, variants=other, holdout="old", store=shorts.journal, compiled=False
            )
        Experiment("taken:a", ARMS, sj.policies.UCB(), store=shorts.journal, compiled=False)
        both = [Variant("a", 0.5), Variant("b", 0.5)]
        with pytest.raises(Conflict, match="there is an experiment 'taken:a'"):
            Experiment(
                "taken", ARMS, variants=both, holdout="a", store=shorts.journal, compiled=False
            )
        with pytest.raises(ValueError, match="'shorts:old' has no variants"):
            Experiment.open("shorts:old", shorts.journal, compiled=False).compare()
        known = list(store.read())
        with pytest.raises(ValueError, match="idle_timeout = -1 is not allowed"):
            Experiment(
                "bad",
                ARMS,
                variants=both,
                holdout="a",
                store=shorts.journal,
                compiled=False,
                idle_timeout=-1,
            )
        with pytest.raises(ValueError, match="give at least one arm"):
            Experiment("bad", [], variants=both, holdout="a", store=shorts.journal, compiled=False)
        assert list(store.read()) == known
        shorts.drop()
        assert list(store.read()) == ["taken:a"] and shorts.dropped


def test_sums_by_groups_outlive_the_visits(tmp_path: Path) -> None:
    """Archived, erased or rewarded late, visits stay in the sums, which verify can tell."""
    now = [1e9]
    with Journal(SqliteStore.in_memory(lambda: now[0]), upkeep=False) as journal:
        shorts = split(store=journal, late_horizon=60.0)
        for n in range(40):
            visit = shorts.visit(user=f"u{n % 15}")
            visit.choose(logged="a")
            visit.choose(1, logged="b")
            if n % 3:
                visit.end()
                assert visit.reward(1, step=2) == "learned"  # after the end
        now[0] += 3601.0
        before = {name: journal.store.series(Group, f"shorts:{name}") for name in ("old", "new")}
        both = [group for groups in before.values() for group in groups]
        assert sum(group.visits for group in both) == sum(group.opened for group in both) == 40
        assert sum(group.left for group in both) == 26 and sum(group.steps for group in both) == 80
        assert sum(group.reward for group in both) == 40 + 26
        journal.store.erase("u1")
        for name in ("shorts:old", "shorts:new"):
            assert verify(journal.store, name) == {}
            assert archive(journal.store, name, now[0] + 1.0, tmp_path).visits > 5
            assert verify(journal.store, name, tmp_path) == {}
            assert journal.store.series(Group, name) == before[name.removeprefix("shorts:")]
        alone = Experiment.open("shorts:old", shorts.journal, compiled=False)
        alone.visit().end()  # by its own name: not compared
        assert journal.store.series(Group, "shorts:old") == before["old"]
        assert verify(journal.store, "shorts:old", tmp_path) == {}
        with journal.store._writing() as run:  # type: ignore[attr-defined]
            run("DELETE FROM sojourn_group WHERE experiment = 'shorts:old' AND epoch = 1")
        assert ("grouped", 0, 0, 0) in verify(journal.store, "shorts:old")


def test_an_experiment_has_at_least_one_branch() -> None:
    """Without variants it speaks for its only one; with them, each is asked by name."""
    with Experiment("alone", ARMS, compiled=False) as alone:
        assert list(alone.variants) == [""] and alone.branch is alone.variants[""]
        assert alone.branch.name == "alone" and alone.allocation is None
        assert (alone.settings, alone.policy) == (alone.branch.settings, alone.branch.policy)
        for change in (alone.roll_back, alone.undo, alone.compare, alone.history):
            with pytest.raises(InputError, match="'alone' has no variants"):
                change()
        visit = alone.visit(id="v")
        arm = visit.choose()
        assert visit.info() == VisitInfo("v", None, "open", 1, 1.0, arm)
    with split() as both:
        assert [branch.name for branch in both.variants.values()] == ["shorts:old", "shorts:new"]
        for ask in (lambda: both.policy, lambda: both.memory, both.counts, lambda: both.branch):
            with pytest.raises(InputError, match="'shorts' has variants: use one of old, new"):
                ask()
        both.add_arms("d")
        both.retire_arms("a")
        assert both.arms == ("b", "c", "d") == both.variants["old"].arms
        both.warm_start({"d": (4, 3)})
        assert {b.all_arms[3].pulls for b in both.variants.values()} == {4.0}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"holdout": "old"}, "holdout is not allowed without variants"),
        ({"webhook": "http://x"}, "webhook is not allowed without variants"),
        ({"guardrail": Guardrail()}, "guardrail is not allowed without variants"),
        ({"variants": [Variant("a", 1.0)]}, "holdout is missing"),
        (
            {"variants": [Variant("a", 0.5), Variant("b", 0.5)], "holdout": "a", "external": True},
            "external is not allowed with variants: set it in a Variant",
        ),
    ],
)
def test_what_only_some_experiments_may_have(given: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        Experiment("news", ARMS, compiled=False, **given)


def test_the_policy_of_an_experiment_is_that_of_variants_without_one() -> None:
    variants = [Variant("old", 0.5), Variant("new", 0.5, sj.policies.KLUCB())]
    more = {"variants": variants, "holdout": "old", "compiled": False}
    with Experiment("news", ARMS, sj.policies.UCB(c=3.0), **more) as news:
        assert news.variants["old"].policy.c == 3.0  # type: ignore[attr-defined]
        assert isinstance(news.variants["new"].policy, sj.policies.KLUCB)


def test_an_ask_checks_itself() -> None:
    """Before anything is locked, and wherever it is made."""
    ask = Ask(reward=True, step=2, candidates=["a", "b"])  # type: ignore[arg-type]
    assert ask == Ask(reward=1.0, step=2, candidates=("a", "b"))
    with pytest.raises(InputError, match="reward = 2 is not allowed"):
        Ask(reward=2)
    with pytest.raises(InputError, match="step = 0 is not allowed"):
        Ask(step=0)
    with pytest.raises(InputError, match="request = '' is not allowed"):
        Ask(request="")
    with pytest.raises(InputError, match="candidates has the name 'a' twice"):
        Ask(candidates=("a", "a"))
    with pytest.raises(InputError, match=r"logged = 'a' is not allowed: it must be Logged\(...\)"):
        Ask(logged="a")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"user = '' is not allowed"):
        Opening(user="")


def test_names_and_the_assignment_of_one_user() -> None:
    assert (whole_of("shorts:old"), whole_of("shorts")) == ("shorts", None)
    assert names_of("shorts", ["old", "new"]) == {"old": "shorts:old", "new": "shorts:new"}
    scores = hash_scores("shorts", ("old", "new"), unit_of("v1", "u42"))
    shares = (0.0, 0.2, 0.5, 1.0)
    assert [winner(scores, {"old": 1 - share, "new": share}) for share in shares] == [
        "old", "old", "old", "new"
    ]  # fmt: skip
