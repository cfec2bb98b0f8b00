"""The dashboard's numbers against closed forms, a plain simulation, and the learned policies."""

import json
import random
from collections import defaultdict
from math import sqrt
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.live import Bucket, Settings
from sojourn.live.monitor.departures import CASES, Departures
from sojourn.live.monitor.insight import Insight, insight
from sojourn.live.records import DECIDE, END, LEAVE, OPEN, RESOLVE, REWARD, Arm, Counts, Event, fold
from sojourn.policies.departures import Watched, reconsider
from sojourn.show.plain import plain
from sojourn.stats.intervals import Z95, share
from sojourn.users import LastReward, MovingAverage

B = {(0, 0): 0.8, (0, 1): 0.2, (1, 0): 0.2, (1, 1): 0.1}
D_OF_B = 5.66096, 2.58165
"""FACTS: gaps .566096 and .258165 for a difference of means of .1."""
TWO = Settings(policy=sj.policies.KLULCB())
ARMS = [Arm(0, "dance"), Arm(1, "news")]
FAR = 4.5


def departures_of(q: dict[tuple[int, int], float], steps: float, top: int = 1) -> Counts:
    """Counters of `steps` steps in each state and with each reward, with these shares leaving.

    Without `seen`, by which the share of good rewards would be a half: so it is the mean.
    """
    counts: Counts = {}
    for (s, r), share_leaving in q.items():
        counts["moves", top * s, r, top * r] = steps
        counts["left", 0, top * s, r] = steps * share_leaving
    return counts


def crowd(means: list[float], visits: int, seed: int) -> tuple[list[Event], list[tuple[int, int]]]:
    """Users of setting B shown arms at random: the events, and steps and rewards of each visit."""
    rng, events, totals = random.Random(seed), [], []
    for number in range(visits):
        name, state, step, gained = f"v{number}", 1, 0, 0
        events.append(Event("e", name, 0, OPEN, state=1.0))
        while True:
            step += 1
            arm = rng.randrange(len(means))
            events.append(Event("e", name, step, DECIDE, arm=arm, state=float(state)))
            reward = int(rng.random() < means[arm])
            gained += reward
            where = {"arm": arm, "state": float(state), "after": float(reward)}
            events.append(
                Event("e", name, step, RESOLVE, reward=float(reward), cause=REWARD, **where)
            )
            left, state = rng.random() < B[state, reward], reward
            if left:
                events.append(Event("e", name, step, LEAVE, cause=END, reward=float(gained)))
                totals.append((step, gained))
                break
    return events, totals


def test_arms_have_what_was_counted_in_each_state_and_what_came_before() -> None:
    counts: Counts = {
        ("pulls", 0, 0, 0): 10.0, ("successes", 0, 0, 0): 4.0,
        ("pulls", 0, 1, 0): 30.0, ("successes", 0, 1, 0): 26.0,
        ("pulls", 1, 1, 0): 5.0,
    }  # fmt: skip
    arms = [Arm(0, "dance", pulls=20.0, successes=10.0), Arm(1, "news"), Arm(2, "new", retired=1)]
    found = insight(TWO, arms, counts)
    dance, news, new = found.arms
    assert found.states == ("after no reward", "after a reward")
    assert (dance.pulls, dance.prior_pulls, dance.prior_rewards) == (40.0, 20.0, 10.0)
    assert dance.mean == share(40, 60)
    assert [cell.mean for cell in dance.states] == [share(4, 10), share(26, 30)]
    assert [cell.state for cell in news.states] == ["after no reward", "after a reward"]
    assert [cell.mean for cell in news.states] == [None, share(0, 5)]
    assert (new.name, new.retired, new.pulls, new.mean) == ("new", True, 0.0, None)
    assert found.best == "dance"
    good = found.exploration[1]
    assert good.lost.value == pytest.approx(5 * 40 / 60 * good.mistake_cost.value)


def test_a_lucky_pull_does_not_make_an_arm_the_best_one() -> None:
    counts: Counts = {
        ("pulls", 0, 1, 0): 100.0, ("successes", 0, 1, 0): 80.0,
        ("pulls", 1, 1, 0): 1.0, ("successes", 1, 1, 0): 1.0,
    }  # fmt: skip
    found = insight(TWO, ARMS, counts)
    assert found.best == "dance"
    assert found.exploration[0].tried == 1.0
    assert found.exploration[0].lost.value == 0.0


def test_mistake_costs_and_what_exploration_costs_in_setting_b() -> None:
    n = 1e9
    counts: Counts = {
        ("pulls", 0, 0, 0): 2.0 * n, ("successes", 0, 0, 0): 1.8 * n,
        ("pulls", 0, 1, 0): 8.0 * n, ("successes", 0, 1, 0): 7.2 * n,
        ("pulls", 1, 0, 0): 1.0 * n, ("successes", 1, 0, 0): 0.8 * n,
        ("pulls", 1, 1, 0): 3.0 * n, ("successes", 1, 1, 0): 2.4 * n,
        **departures_of(B, n),
    }  # fmt: skip
    found = insight(TWO, ARMS, counts)
    bad, good = found.exploration
    for row, cost in zip((bad, good), D_OF_B, strict=True):
        assert row.mistake_cost.value == pytest.approx(cost, rel=2e-6)
    assert (bad.tried, bad.share) == (n, pytest.approx(1 / 3))
    assert (good.tried, good.share) == (3 * n, pytest.approx(3 / 11))
    assert bad.lost.value == pytest.approx(n * 0.1 * D_OF_B[0], rel=2e-6)
    assert good.lost.value == pytest.approx(3 * n * 0.1 * D_OF_B[1], rel=2e-6)
    assert found.lost.value == pytest.approx(bad.lost.value + good.lost.value)
    assert found.case.word == "normal"


def test_leave_probabilities_are_shares_of_the_steps() -> None:
    counts: Counts = {
        ("moves", 0, 0, 0): 40.0, ("left", 0, 0, 0): 20.0, ("left", 1, 0, 0): 10.0,
        ("moves", 1, 1, 1): 90.0, ("moves", 1, 1, 0): 10.0, ("left", 1, 1, 1): 5.0,
    }  # fmt: skip
    bad, good = insight(TWO, ARMS, counts).leaving
    assert (bad.unrewarded.steps, bad.unrewarded.departures) == (40.0, 30.0)
    assert bad.unrewarded.probability == share(30, 40)
    assert bad.rewarded.probability is None
    assert good.rewarded.probability == share(5, 100)


OPPOSITE = {(0, 0): 0.5, (0, 1): 0.4, (1, 0): 0.45, (1, 1): 0.02}
EVEN = dict.fromkeys(B, 0.2)
BACKWARD = {(0, 0): 0.1, (0, 1): 0.1, (1, 0): 0.05, (1, 1): 0.95}


@pytest.mark.parametrize(
    ("q", "steps", "mean", "word"),
    [
        (B, 1e5, 0.9, "normal"),
        (OPPOSITE, 1e5, 0.6, "opposite"),
        (EVEN, 1e6, 0.6, "neutral"),
        (EVEN, 50.0, 0.6, "not known yet"),
        (B, 3.0, 0.9, "not known yet"),
        (BACKWARD, 1e5, 0.5, "improper"),
    ],
)
@pytest.mark.parametrize(
    "settings", [TWO, Settings(policy=sj.policies.LearnedIMED())], ids=["2", "4"]
)
def test_the_case(
    q: dict[tuple[int, int], float], steps: float, mean: float, word: str, settings: Settings
) -> None:
    top = settings.bins - 1
    counts: Counts = {
        ("pulls", 0, top, 0): steps, ("successes", 0, top, 0): mean * steps,
        **departures_of(q, steps, top),
    }  # fmt: skip
    found = insight(settings, ARMS, counts)
    assert (found.case.word, found.case.text) == (word, CASES[word])
    assert found.states == ("after no reward", "after a reward")
    assert found.case.steps == 4 * steps


def test_the_case_of_four_states_may_be_mixed() -> None:
    steps = np.full((4, 2), 100.0)
    words = {
        (4.0, 3.0, 2.0, 1.0): "normal",
        (1.0, 1.0, 2.0, 2.0): "opposite",
        (1.0, 3.0, 2.0, 1.0): "mixed",
        (1.0, 1.0, 1.0, 1.0): "neutral",
        (1.0, -1.0, 1.0, 1.0): "improper",
    }
    for costs, word in words.items():
        seen = Departures(steps, steps / 10.0, list(costs), [0.001] * 4, 1.5, np.zeros(0))
        assert seen.case(range(4)).word == word


def test_costs_differ_just_where_learned_policies_see_a_difference() -> None:
    rng = np.random.default_rng(5)
    seen = 0
    for _ in range(200):
        moves = rng.integers(0, 30, (3, 2, 3)).astype(float)
        gone = np.floor(moves.sum(axis=2) * rng.random((3, 2)) * 0.5)
        pulls = np.array([moves.sum(), 0.0])
        levels, left = np.zeros((2, 3, 2)), np.stack([gone, 0.0 * gone])
        memory = Watched(
            pulls, 0.6 * pulls, np.zeros(1), moves, levels, left, np.ones(3), np.zeros(1)
        )
        reconsider(memory, 1.5, False)
        counts: Counts = {
            **{("moves", *at): n for at, n in np.ndenumerate(moves)},
            **{("left", 0, *at): n for at, n in np.ndenumerate(gone)},
            ("pulls", 0, 0, 0): pulls[0], ("successes", 0, 0, 0): 0.6 * pulls[0],
        }  # fmt: skip
        learned = Settings(policy=sj.policies.LearnedUCB(bins=3), user=MovingAverage(0.5))
        word = insight(learned, ARMS, counts).case.word
        steps = np.diff(memory.optimism)
        if not steps.any():
            expected = ("neutral", "not known yet")
        elif (steps >= 0.0).all():
            expected = ("normal",)
        else:
            expected = ("opposite",) if (steps <= 0.0).all() else ("mixed",)
        assert word in (*expected, "improper")
        seen += word in expected and bool(steps.any())
    assert seen > 50


def test_over_time() -> None:
    visits = [(2, 1.0), (5, 3.0), (3, 2.0)]
    sums = [sum(f(*v) for v in visits) for f in (lambda s, r: s, lambda s, r: s * s)]
    rewards = [r for _, r in visits]
    first = Bucket(60.0, 3, *map(float, sums), sum(rewards), sum(r * r for r in rewards))
    lone = Bucket(120.0, 1, 4.0, 16.0, 2.0, 4.0)
    found = insight(TWO, ARMS, {}, [first, lone], now=150.0, width=60.0)
    assert [p.start for p in found.over_time] == [60.0, 120.0]
    one, two = found.over_time
    assert one.length.value == pytest.approx(10 / 3)
    half = Z95 * np.std([2, 5, 3], ddof=1) / sqrt(3)
    assert one.length.high == pytest.approx(10 / 3 + half)
    assert one.reward.value == pytest.approx(2.0)
    assert (two.reward.value, two.visits) == (2.0, 1)
    assert found.reward_per_visit is not None
    assert found.reward_per_visit.value == pytest.approx(8 / 4)
    assert found.length is not None
    assert found.length.value == pytest.approx(14 / 4)
    assert found.length.high == pytest.approx(14 / 4 + Z95 * np.std([2, 5, 3, 4], ddof=1) / 2)


def test_visits_and_rewards() -> None:
    named = {
        "open": 10.0, "left by end": 4.0, "left by timeout": 3.0, "late": 2.0, "learned late": 1.0,
        "resolved by reward": 50.0, "resolved by next": 5.0, "resolved by end": 6.0,
        "resolved by timeout": 7.0,
    }  # fmt: skip
    counts = {(what, 0, 0, 0): n for what, n in named.items()}
    found = insight(TWO, ARMS, counts)
    assert tuple(vars(found.visits).values()) == (10.0, 3.0, 4.0, 3.0)
    assert tuple(vars(found.rewards).values()) == (0.0, 50.0, 2.0, 1.0, 18.0, 5.0, 6.0, 7.0)


def test_nothing_yet() -> None:
    found = insight(Settings(), ARMS, {})
    assert (found.best, found.states, found.exploration, found.leaving) == (None, (), (), ())
    assert (found.reward_per_visit, found.length, found.case.word) == (None, None, "not known yet")


def near(interval: Any, truth: float) -> bool:
    """Whether an interval is around the truth, or 4.5 standard errors wide it would be."""
    error = (interval.high - interval.value) / Z95
    return bool(abs(interval.value - truth) <= FAR * error)


@pytest.fixture(scope="module")
def crowded() -> tuple[Insight, list[tuple[int, int]], Counts]:
    events, totals = crowd([0.9, 0.8], visits=3000, seed=7)
    counts = fold(events, bins=2)
    buckets = defaultdict(list)
    for number, visit in enumerate(totals):
        buckets[number // 500].append(visit)
    timeline = [
        Bucket(
            60.0 * b, len(v), sum(s for s, _ in v), sum(s * s for s, _ in v),
            sum(r for _, r in v), sum(r * r for _, r in v),
        )
        for b, v in buckets.items()
    ]  # fmt: skip
    return insight(TWO, ARMS, counts, timeline), totals, counts


def test_a_crowd_of_setting_b(crowded: tuple[Insight, list[tuple[int, int]], Counts]) -> None:
    found, totals, counts = crowded
    assert found.case.word == "normal"
    for row, mean in zip(sorted(found.arms, key=lambda arm: arm.name), (0.9, 0.8), strict=True):
        assert row.mean is not None
        assert near(row.mean, mean)
        assert all(cell.mean is not None and near(cell.mean, mean) for cell in row.states)
    for s, row in enumerate(found.leaving):
        for r, leaves in enumerate((row.unrewarded, row.rewarded)):
            assert leaves.probability is not None
            assert near(leaves.probability, B[s, r])
    for s, row in enumerate(found.exploration):
        assert near(row.mistake_cost, D_OF_B[s])
        tried = counts["pulls", 1, s, 0]
        assert row.tried == tried
        assert near(row.lost, tried * 0.1 * D_OF_B[s])
    assert found.visits.left == len(totals) == 3000
    assert found.length is not None
    assert found.length.value == pytest.approx(np.mean([s for s, _ in totals]))
    assert found.rewards.total == sum(r for _, r in totals)


def test_reward_per_visit_of_the_best_arm_is_the_value_of_setting_b() -> None:
    _, totals = crowd([0.9], visits=2000, seed=8)
    steps, gains = ([float(v[i]) for v in totals] for i in (0, 1))
    bucket = Bucket(
        0.0, 2000, sum(steps), sum(s * s for s in steps), sum(gains), sum(g * g for g in gains)
    )  # fmt: skip
    found = insight(TWO, ARMS, {}, [bucket])
    assert found.reward_per_visit is not None
    assert found.length is not None
    assert near(found.reward_per_visit, 7.418351)
    assert near(found.length, 8.2426)
    error = (found.reward_per_visit.high - found.reward_per_visit.value) / Z95
    assert error == pytest.approx(7.1143 / sqrt(2000), rel=0.1)


def test_it_is_ready_for_json(crowded: tuple[Insight, list[tuple[int, int]], Counts]) -> None:
    found = plain(crowded[0])
    assert list(found) == [
        "now", "policy", "states", "best", "exploration", "lost", "leaving", "case", "warnings",
        "width", "over_time", "reward_per_visit", "length", "visits", "rewards", "arms",
    ]  # fmt: skip
    assert [arm["name"] for arm in found["arms"]] == [row.name for row in crowded[0].arms]
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["arms"][0]["states"][0]["mean"].keys() == {"value", "low", "high"}
    lone = plain(insight(TWO, ARMS, {}, [Bucket(0.0, 1, 4.0, 16.0, 2.0, 4.0)]))
    assert lone["over_time"][0]["reward"]["high"] is None


def test_many_arms_are_searched_and_paged() -> None:
    arms = [Arm(i, f"clip-{i:05d}", retired=int(i == 9_000)) for i in range(10_000)]
    counts: Counts = {("pulls", i, 1, 0): float(i) for i in range(1, 10_000)}
    listed = insight(TWO, arms, counts).arms
    top = listed.page()
    assert (top.found, top.pages, len(top.rows)) == (10_000, 500, 20)
    assert [row.pulls for row in top.rows] == list(map(float, range(9_999, 9_979, -1)))
    last = listed.page(page=10**6)
    assert (last.page, last.rows[-1].name) == (500, "clip-09000")
    some = listed.page(search="CLIP-0012", page=1, size=4)
    assert (some.found, some.pages) == (10, 3)
    assert [row.name for row in some.rows] == [f"clip-0012{i}" for i in (9, 8, 7, 6)]
    none = listed.page(search="nowhere")
    assert (none.found, none.pages, none.page, none.rows) == (0, 1, 1, ())


def test_states_have_names() -> None:
    for user, bins, words in [
        (LastReward(), 4, "after a reward of 0.25 to 0.5"),
        (MovingAverage(0.5), 4, "average 0.25 to 0.5"),
        (MovingAverage(0.5), 3, "average 0.33 to 0.67"),
    ]:
        settings = Settings(policy=sj.policies.LearnedUCB(bins=bins), user=user)
        found = insight(settings, ARMS, {("pulls", 0, 1, 0): 1.0})
        assert found.states == (words,)
