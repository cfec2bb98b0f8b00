"""What has changed of an experiment: from calls to a sentence."""

import random
from datetime import UTC, datetime
from pathlib import Path

import pytest
from small import Clock

import sojourn as sj
from sojourn.live import Experiment, Journal, SqliteStore, archive, drift, verify
from sojourn.live.monitor.drift import ARM, LEAVING
from sojourn.live.monitor.trends import SPAN, Trend, as_arm, by_arm
from sojourn.live.records import HOUR

DAY = 86_400.0
BEGAN = 20_000 * DAY


def traffic(
    news: Experiment, clock: Clock, days: int, likes: float, leaves: float, rng: random.Random
) -> None:
    """Visits every twenty minutes, in which `b` is liked with this chance."""
    for _ in range(days * 72):
        clock.now += 1200.0
        visit = news.visit()
        arm = visit.choose()
        while True:
            good = rng.random() < (likes if arm == "b" else 0.6)
            if rng.random() < (0.1 if good else leaves):
                visit.end(float(good))
                break
            arm = visit.choose(float(good))


def test_a_change_is_told_in_words(tmp_path: Path) -> None:
    """The mean of an arm falls, then users leave more often: what, when, and nothing else."""
    clock, rng = Clock(BEGAN), random.Random(4)
    store = SqliteStore(tmp_path / "live.db", clock)
    with Journal(store, upkeep=False) as journal:
        news = Experiment(
            "news", ["a", "b"], sj.policies.Uniform(), store=journal, compiled=False, seed=1
        )
        traffic(news, clock, 7, 0.8, 0.2, rng)
        early = drift(store, "news")
        assert not early.changed and "too early" in str(early)
        traffic(news, clock, 7, 0.8, 0.2, rng)
        assert (
            str(drift(store, "news"))
            == "Nothing has changed in the 7 means over time that are watched."
        )
        traffic(news, clock, 4, 0.3, 0.2, rng)
        found = drift(store, "news")
        (changed,) = (each for each in found.changed if each.kind == ARM)
        (change,) = changed.changes
        assert changed.name == "b" and change.at == BEGAN + 14 * DAY
        assert change.before == pytest.approx(0.8, abs=0.07) and changed.mean == change.after
        assert change.difference == pytest.approx(-0.5, abs=0.1)
        when = f"{datetime.fromtimestamp(change.at, UTC):until 18 October, 0.}"
        told = f"(log evidence {change.statistic:.1f} > {change.threshold:.1f})"
        assert when in str(found) and told in str(found)
        traffic(news, clock, 6, 0.3, 0.6, rng)
        leaving = [each for each in drift(store, "news").changed if each.kind == LEAVING]
        assert {each.name.rpartition(", then ")[2] for each in leaving} == {"no reward"}
        assert all(abs(each.changes[-1].at - BEGAN - 18 * DAY) <= DAY for each in leaving)
        before = drift(store, "news").series
        assert archive(store, "news", clock.now + 1.0, tmp_path).visits > 0
        assert drift(store, "news").series == before
        assert verify(store, "news", tmp_path) == {}


def test_what_times_out_is_of_when_it_was_shown() -> None:
    """It counts for its own bucket, and no bucket is used before all of it can be known."""
    clock = Clock(BEGAN)
    with Journal(SqliteStore.in_memory(clock), upkeep=False) as journal:
        store = journal.store
        news = Experiment(
            "news",
            ["a"],
            sj.policies.FixedArm(0),
            idle_timeout=1800.0,
            store=journal,
            compiled=False,
        )
        news.visit().choose()
        assert drift(store, "news").until == clock.now
        clock.now += 2000.0
        assert news.sweep() == 1
        assert store.series(Trend, "news", since=BEGAN, width=SPAN) == [
            Trend(BEGAN, -3, bad=1.0, bad_left=1.0), Trend(BEGAN, 0, 1.0, 0.0, 1.0, 1.0)
        ]  # fmt: skip
        assert drift(store, "news").until == clock.now - 1800.0
        assert verify(store, "news") == {}


def test_buckets_are_longer_where_there_are_many() -> None:
    clock = Clock(BEGAN)
    with Journal(SqliteStore.in_memory(clock), upkeep=False) as journal:
        news = Experiment("news", ["a"], sj.policies.FixedArm(0), store=journal, compiled=False)
        widths = []
        for _ in range(4):
            visit = news.visit()
            visit.choose()
            visit.end(1)
            clock.now += 10 * DAY
            widths.append(drift(journal.store, "news").width)
        assert widths == [HOUR, HOUR, 2 * HOUR, 2 * HOUR]
        retired = Experiment(
            "news", ["a", "b"], sj.policies.FixedArm(0), store=journal, compiled=False
        )
        retired.retire_arms("a")
        assert [each.name for each in drift(journal.store, "news").series if each.kind == ARM] == [
            "b"
        ]


def test_level_and_experiment_are_checked() -> None:
    store = SqliteStore.in_memory()
    with pytest.raises(ValueError, match="delta = 2 is not allowed"):
        drift(store, "news", delta=2)


def test_counters_as_sums_over_time() -> None:
    counts = {("pulls", 1, 0, 0): 1.0, ("successes", 1, 0, 0): 1.0, ("left", 1, 0, 1): 1.0}
    assert by_arm(counts.items())[1][2:] == (1.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    assert (as_arm(0), as_arm(-3)) == (-2, 1)
