"""Shadow mode: what a policy would have shown where the caller decides, and what that is worth."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.engine.streams import policy_stream
from sojourn.live import (
    Ask,
    Conflict,
    Decision,
    Experiment,
    Logged,
    Shadow,
    Variant,
    export,
    open_store,
    shadow,
    verify,
)
from sojourn.live.records import DECIDE
from sojourn.stats.intervals import radius

ARMS = ["a", "b", "c"]
LIKES, LEAVES = np.array([0.3, 0.5, 0.6]), np.array([0.5, 0.3, 0.2])
CHANCES = {1.0: np.array([0.6, 0.2, 0.2]), 0.0: np.array([0.4, 0.3, 0.3])}
"""What the old recommender does, by the last reward."""


def external(policy: Any = None, **more: Any) -> Experiment:
    policy = sj.policies.UCB(random_ties=False) if policy is None else policy
    return Experiment("feed", ARMS, policy, external=True, **{"compiled": False, "seed": 3, **more})


def crowd(experiment: Any, visits: int, seed: int = 0, told: float = 1.0) -> list[Any]:
    """Users of an old recommender, two visits each: all decisions, with what came of them.

    The chances that are told are the true ones to the power of `told`; with 0, none are.
    """
    rng, found = np.random.default_rng(seed), []
    for n in range(visits):
        visit, state, reward, left = experiment.visit(user=f"u{n // 2}"), 1.0, None, False
        while not left:
            arm = int(rng.choice(3, p=CHANCES[state]))
            chance = float(CHANCES[state][arm]) ** told if told else None
            made = visit.decide(Ask(reward=reward, logged=Logged(ARMS[arm], chance)))
            reward, left = float(rng.random() < LIKES[arm]), rng.random() < LEAVES[arm]
            found.append((state, arm, reward, left, made))
            state = reward
        visit.end(reward)
    return found


def report(experiment: Experiment, **how: Any) -> Shadow:
    return shadow(experiment.journal.store, "feed", **how)


@pytest.mark.parametrize(
    "policy",
    [
        sj.policies.UCB(random_ties=False),
        sj.policies.EpsilonMixture(sj.policies.KLUCB(random_ties=False), 0.5),
    ],
)
def test_it_says_what_the_policy_would_show(policy: Any) -> None:
    """At each step what a twin says that was told the same, coins included."""
    memory, rng = policy.memory(3), policy_stream(3, 0)
    with external(policy) as feed:
        for state, arm, reward, left, made in crowd(feed, 60):
            assert made.shadow_arm == ARMS[policy.choose(memory, state, rng)]
            assert made.arm == ARMS[arm] and made.propensity == CHANCES[state][arm]
            policy.update(memory, state, arm, reward, left, reward)
        assert verify(feed.journal.store, "feed") == {}


def test_it_changes_nothing() -> None:
    """Without it all is the same, but for what would have been shown."""
    with external() as feed, external(shadow=False) as blind:
        found, other = crowd(feed, 40), crowd(blind, 40)
        assert [replace(made, visit="", shadow_arm=None) for *_, made in found] == [
            replace(made, visit="") for *_, made in other
        ]
        for one, two in zip(feed.memory, blind.memory, strict=True):
            np.testing.assert_array_equal(one, two)
        assert feed.counts() == blind.counts()
        assert report(blind).reason == "no step says what the policy would have shown"
        feed._reload()
        assert report(feed).steps == len(found)


def test_calls_that_are_repeated_and_candidates(tmp_path: Path) -> None:
    """The same answer again, whichever step it is and whoever is asked; one of the candidates."""
    url = f"sqlite:///{tmp_path / 'live.db'}"
    with external(store=url) as feed:
        visit = feed.visit(user="u", id="v")

        def decide(**asked: Any) -> Decision:
            return feed.decide("v", Ask(logged=Logged("a"), **asked))

        first = decide(request="1", step=1)
        second = decide(reward=1, request="2", candidates=("c",))
        assert second.shadow_arm == "c" and first.shadow_arm in ARMS
        assert decide(reward=1, request="2") == second == decide(reward=1, request="2", step=2)
        assert decide(request="1", step=1) == first
        visit.end()
    with external(store=url) as feed:
        assert feed.decide("v", Ask(logged=Logged("a"), request="2", step=2)) == second
        kept = [
            event.shadow_arm for event in feed.journal.store.events("feed") if event.kind == DECIDE
        ]
        assert [ARMS[arm] for arm in kept if arm is not None] == [first.shadow_arm, "c"]
    store = open_store(url, read_only=True)
    export(store, "feed", tmp_path / "steps.csv")
    store.close()
    head, *lines = (line.split(",") for line in (tmp_path / "steps.csv").read_text().splitlines())
    assert [line[head.index("shadow_arm")] for line in lines] == [first.shadow_arm, "c"]


@pytest.fixture(scope="module")
def known() -> Any:
    """A policy that would always show c, of which all is known, in the shadow of an old one."""
    with external(sj.policies.FixedArm(2)) as feed:
        found = crowd(feed, 1200)
        yield found, report(feed), report(feed, latest=2_000)


def test_the_report_is_what_happened(known: Any) -> None:
    found, seen, _ = known
    pairs = Counter((ARMS[arm], made.shadow_arm) for _, arm, _, _, made in found)
    assert {(one.shown, one.shadow_arm): one.steps for one in seen.pairs} == pairs
    assert (seen.steps, seen.users) == (len(found), 600)
    assert seen.matched == pairs["c", "c"] and seen.match.value == seen.matched / seen.steps
    assert seen.weighed == seen.steps and not seen.tried
    yours = {name: one.logged.value for name, one in seen.measures.items()}
    reward, left = (float(np.mean([step[i] for step in found])) for i in (2, 3))
    assert yours == pytest.approx({"reward": reward, "left": left, "gain": reward / left})


def test_the_next_item_is_worth_what_it_is(known: Any) -> None:
    """Within 4.5 standard errors of the truth, which are small enough to tell; weights likewise."""
    _, seen, _ = known
    truth = {"reward": 0.6, "left": 0.2, "gain": 3.0}
    for name, value in truth.items():
        measured = seen.measures[name]
        shadow = measured.shadow
        error = (shadow.high - shadow.low) / 2 / radius(seen.users)
        assert abs(shadow.value - value) < 4.5 * error < value / 2
        assert measured.difference.value == pytest.approx(shadow.value - measured.logged.value)
    assert seen.weight.low < 1.0 < seen.weight.high
    assert seen.verdict == "ready to ramp" and "rewards per departure" in seen.reason
    assert "not about whole visits" in str(seen)


def test_it_looks_at_whole_visits_of_late(known: Any) -> None:
    found, _, latest = known
    assert 500 < latest.steps < 1_000 and latest.users < 600
    assert latest.measures["reward"].logged.value == pytest.approx(
        np.mean([step[2] for step in found[-latest.steps :]])
    )


def test_when_it_cannot_tell() -> None:
    """Without propensities, with wrong ones, with few steps, with an arm that is never shown."""
    with external(sj.policies.FixedArm(2)) as feed:
        crowd(feed, 60, told=0.0)
        seen = report(feed)
        assert seen.verdict == "cannot tell" and "logged.propensity" in seen.reason
        assert not seen.measures and seen.weighed == 0
        assert (seen.match.low, seen.match.high) == (0.0, 1.0)  # of 30 users
    with external(sj.policies.FixedArm(2)) as feed:
        crowd(feed, 40)
        seen = report(feed)
        assert seen.verdict == "not yet" and "too few matched steps" in seen.reason
        crowd(feed, 300, seed=1, told=0.5)
        seen = report(feed)
        assert seen.verdict == "cannot tell" and "should be 1" in seen.reason
    with external(sj.policies.FixedArm(0)) as feed:
        crowd(feed, 500)
        seen = report(feed)
        assert seen.verdict == "not yet" and seen.measures["gain"].difference.high < 0.0
    with external() as feed:
        for _ in range(200):
            visit = feed.visit()
            visit.choose(logged=Logged("a", 1.0))
            visit.end(1)
        seen = report(feed)
        assert seen.verdict == "cannot tell" or "too few" in seen.reason
        assert seen.tried and "hardly ever" in str(seen)


MOODY = {1.0: np.array([0.2, 0.2, 0.6]), 0.0: np.array([0.45, 0.45, 0.1])}
GOES = {1.0: (0.25, 0.1), 0.0: (0.55, 0.4)}  # by state: without a reward, with one
WORSE = np.array([0.5, 0.5, 0.42])
MARGINAL = np.array([0.29, 0.29, 0.42])  # of all steps, c mostly after a reward


def moody(told: Any, visits: int = 1_500) -> Shadow:
    """Users who leave after no reward, when c is hardly shown; c earns 12 % less."""
    rng = np.random.default_rng(5)
    with external(sj.policies.FixedArm(2)) as feed:
        for n in range(visits):
            visit, state, reward, left = feed.visit(user=f"u{n}"), 1.0, None, False
            while not left:
                arm = int(rng.choice(3, p=MOODY[state]))
                chance = float(MOODY[state][arm] if told is None else told[arm])
                visit.decide(Ask(reward=reward, logged=Logged(ARMS[arm], chance)))
                reward = float(rng.random() < WORSE[arm])
                left, state = rng.random() < GOES[state][int(reward)], reward
            visit.end(reward)
        return report(feed)


def test_shares_that_are_not_those_of_the_state() -> None:
    """Told the shares of all steps for chances that depend on the state, weights have mean 1."""
    seen = moody(MARGINAL)
    assert seen.weight.low < 1.0 < seen.weight.high and seen.effective > 50.0
    assert seen.verdict == "cannot tell" and "(c, after a reward)" in seen.reason
    assert seen.measures["gain"].difference.value < 0.0  # +0.4 if weights were taken as they are
    assert {str(one): round(one.mean.value, 1) for one in seen.weights} == {
        "c, after no reward": 0.2, "c, after a reward": 1.4
    }  # fmt: skip


def test_what_the_check_cannot_see_is_beside_the_verdict() -> None:
    seen = moody(None)
    assert not any(one.wrong for one in seen.weights) and seen.verdict == "not yet"
    assert sum(one.steps for one in seen.weights) == seen.weighed
    widest = max((one.mean.high - one.mean.low) / 2 for one in seen.weights)
    assert f"off by less than {widest:.0%} (c, after no reward)" in seen.limits
    assert seen.limits in str(seen)


def test_where_there_is_no_shadow() -> None:
    with (
        Experiment("feed", ARMS, compiled=False) as feed,
        pytest.raises(Conflict, match="external"),
    ):
        report(feed)


def test_live_with_what_was_learned_in_the_shadow() -> None:
    """A variant that learns from all shows what the policy would have shown in the external one."""
    variants = [Variant("old", 1.0, external=True), Variant("new", 0.0, learns_from="all")]
    with Experiment("feed", ARMS, variants=variants, holdout="old", compiled=False) as feed:
        found = crowd(feed, 60)
        old, new = feed.variants["old"], feed.variants["new"]
        new.refresh()
        assert new.memory.pulls.tolist() == [sum(s[1] == arm for s in found) for arm in range(3)]
        for name in ("successes", "seen", "left", "moves"):
            np.testing.assert_array_equal(getattr(new.memory, name), getattr(old.memory, name))
        assert shadow(feed.journal.store, "feed:old").steps == len(found)
        with pytest.raises(ValueError, match="feed:old"):
            shadow(feed.journal.store, "feed")
