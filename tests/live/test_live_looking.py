"""A comparison over time: which looks are kept, once, and what is read of them."""

import threading
from itertools import pairwise

import postgres
import pytest

import sojourn as sj
from sojourn.live import (
    Conflict,
    Experiment,
    Guardrail,
    Journal,
    Snapshot,
    SqliteStore,
    Variant,
    history,
)
from sojourn.live.rollout.comparison import GROWTH, rank_of

POLICY = sj.policies.FixedArm(0)


def shorts(journal: Journal, rule: Guardrail | None = None) -> Experiment:
    both = [Variant("old", 0.5, POLICY), Variant("new", 0.5, POLICY)]
    return Experiment(
        "shorts", ["a"], variants=both, holdout="old", guardrail=rule, store=journal, compiled=False
    )


def visits(split: Experiment, users: range, likes: float = 0.5) -> None:
    """Users of the new variant like less."""
    for user in users:
        visit = split.visit(user=f"u{user}")
        visit.choose()
        assert visit.opened is not None
        if user % 3 == 0:
            visit.choose(0)
        chance = likes if visit.opened.variant == "new" else 0.7
        visit.end(int(user * 0.618 % 1.0 < chance))


def test_ranks_are_a_twentieth_apart() -> None:
    found = [n for n in range(1, 100_000) if rank_of(n, 3 * n) > rank_of(n - 1, 3 * n - 3)]
    late = [n for n in found if n > 1000]
    assert all(1.045 < b / a < 1.055 for a, b in pairwise(late))
    both = [(500, 500), (500, 550), (500, 1e9), (500_000, 500_000)]
    assert [rank_of(*each) for each in both] == [113, 114, 127, 254]
    assert rank_of(0, 0) == rank_of(0, 9) == 0 and len(late) < 100 and GROWTH == 1.05
    assert rank_of(1000, 1e9) == rank_of(1000, 1e12) == rank_of(1e12, 1000)  # it tells no more


def test_looks_are_kept_when_visits_have_grown() -> None:
    """Also without a guardrail, and after it has acted; the latest is that of now."""
    now = 1e9
    with Journal(SqliteStore.in_memory(lambda: now), upkeep=False) as journal:
        split = shorts(journal, Guardrail(margin=0.35, planned=300))
        split._rollout.guard.look()
        assert split.history().snapshots == ()
        for part in range(40):
            visits(split, range(20 * part, 20 * part + 20), likes=0.2)
            now += 60.0
            for _ in range(3):
                split._rollout.guard.look()
        kept = journal.store.series(Snapshot, "shorts")
        assert {look.metric for look in kept} == {"reward", "steps"}  # all have left alike
        rewards = [look for look in kept if look.metric == "reward"]
        assert 10 < len(rewards) < 40
        assert [look.rank for look in rewards] == sorted({look.rank for look in rewards})
        assert split.allocation.alarm is not None and rewards[-1].at > split.allocation.alarm.at
        found = split.history()
        assert [epoch.since for epoch in found.epochs][1] == split.allocation.alarm.at
        last = found.of("new", "reward")[-1]
        measured = split.compare().variants[1]
        difference = measured.differences["reward"]
        assert (last.difference, last.low, last.high) == tuple(difference) and last.at <= now
        assert last.visits == sum(each.visits for each in split.compare().variants)
        widths = [look.high - look.low for look in found.of("new", "reward")]
        assert widths[-1] < widths[0]
        lines = str(found).splitlines()
        assert lines[0].split()[:2] == ["variant", "visits"] and len(lines) == len(widths) + 1
        assert found.alarm == split.allocation.alarm
        with pytest.raises(Conflict, match="has no variants"):
            history(journal.store, "shorts:old")


def test_of_several_processes_one_look_of_each_rank_is_kept() -> None:
    with postgres.server() as place:
        journals = [Journal(place, upkeep=False) for _ in range(2)]
        first = shorts(journals[0])
        visits(first, range(200))
        both = [first, Experiment.open("shorts", journals[1], compiled=False)]
        barrier = threading.Barrier(2)

        def look(split: Experiment) -> None:
            barrier.wait()
            split._rollout.guard.look()

        threads = [threading.Thread(target=look, args=(split,)) for split in both]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        looks = journals[0].store.series(Snapshot, "shorts")
        assert sorted(look.metric for look in looks) == ["reward", "steps"]
        assert {look.visits for look in looks} == {200}
        for journal in journals:
            journal.close()
