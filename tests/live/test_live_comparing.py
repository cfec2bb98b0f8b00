"""Variants compared, from what a store has: against a twin that reads all events."""

from collections import defaultdict
from math import inf, sqrt
from pathlib import Path

import numpy as np
import pytest
from commands import Run

import sojourn as sj
from sojourn.live import (
    Comparison,
    Experiment,
    Journal,
    SqliteStore,
    Store,
    Variant,
    archive,
    compare,
)
from sojourn.live.stores.base import find_visit
from sojourn.show.plain import plain
from sojourn.stats.intervals import radius

POLICY = sj.policies.FixedArm(0)
BOTH = [Variant("old", 0.5, POLICY), Variant("new", 0.5, POLICY)]


def play(shorts: Experiment, users: int, seed: int, harm: float = 0.0) -> None:
    """Two visits of each user: some end, some time out; in `new` there is less reward."""
    rng = np.random.default_rng(seed)
    for user in range(users):
        taste = rng.random()
        for _ in range(2):
            visit = shorts.visit(user=f"user {seed} {user}")
            assert visit.opened is not None
            worse = harm if visit.opened.variant == "new" else 0.0
            for _ in range(int(rng.integers(1, 4))):
                visit.choose()
                visit.reward(int(rng.random() < max(taste - worse, 0.0)))
            if rng.random() < 0.7:
                visit.end()


def by_hand(store: Store, metric: str, alpha: float, planned: float) -> tuple[float, float]:
    """The difference and half of its interval, from events, with each user a cluster."""
    sums: defaultdict[tuple[int, str], dict[str, list[float]]] = defaultdict(dict)
    for variant in ("old", "new"):
        users: dict[str, str | None] = {}
        for event in store.events(f"shorts:{variant}"):
            if event.kind == "open":
                users[event.visit] = event.user
            elif event.kind == "leave":
                row = find_visit(store, f"shorts:{variant}", event.visit)
                assert row is not None
                found = {"reward": event.reward, "steps": event.step, "left": event.cause == "end"}
                mine = sums[row.epoch, variant].setdefault(str(users[event.visit]), [0.0, 0.0])
                mine[0] += 1.0
                mine[1] += float(found[metric] or 0.0)
    epochs = {epoch for epoch, _ in sums}
    total, weights, errors = 0.0, 0.0, defaultdict[str, float](float)
    for epoch in epochs:
        both = [sums[epoch, variant] for variant in ("new", "old")]
        sizes = [sum(n for n, _ in users.values()) for users in both]
        means = [sum(x for _, x in u.values()) / n for u, n in zip(both, sizes, strict=True)]
        weight = sizes[0] * sizes[1] / sum(sizes)
        total, weights = total + weight * (means[0] - means[1]), weights + weight
        for users_, size, mean, sign in zip(both, sizes, means, (1, -1), strict=True):
            for user, (n, x) in users_.items():
                errors[user] += sign * weight * (x - mean * n) / size
    k = len(errors)
    error = sqrt(sum(e * e for e in errors.values()) * k / (k - 1)) / weights
    return total / weights, error * radius(4.0 * weights, alpha, planned)


def test_it_is_what_the_events_say(tmp_path: Path, run: Run) -> None:
    """In two epochs; again after the visits were archived; and as the command shows it."""
    now = [1e9]
    store = SqliteStore(tmp_path / "live.db", lambda: now[0])
    with Journal(store, upkeep=False) as journal:
        shorts = Experiment(
            "shorts",
            ["a"],
            variants=BOTH,
            holdout="old",
            store=journal,
            compiled=False,
            idle_timeout=60.0,
        )
        play(shorts, 60, seed=1)
        shorts.ramp({"new": 0.6})
        play(shorts, 60, seed=2)
        now[0] += 60.0
        for variant in shorts.variants.values():
            variant.sweep()
        found = shorts.compare(alpha=0.1, planned=200)
        old, new = found.variants
        assert new.opened == new.visits and old.opened == old.visits > 80
        assert old.visits + new.visits == 240 and old.differences == {}
        for metric in ("reward", "steps", "left"):
            value, half = by_hand(journal.store, metric, 0.1, 200)
            there = new.differences[metric]
            assert there.value == pytest.approx(value, abs=1e-12)
            # a group of a thousand may have two users, who then count as one
            assert (there.high - there.low) / 2.0 == pytest.approx(half, rel=0.05)
        assert 0.6 < old.means["left"].value < 0.8
        assert found.sample_ratio > 0.05 and not found.ratio_is_wrong
        now[0] += found.window
        for name in ("shorts:old", "shorts:new"):
            assert archive(journal.store, name, now[0], tmp_path / "archive").visits > 80
        assert shorts.compare(alpha=0.1, planned=200).variants == found.variants
        later = shorts.compare(since=2)
        assert sum(v.visits for v in later.variants) == 120
    outcome = run("monitor", "compare", str(tmp_path / "live.db"), "shorts", "--alpha", "0.1")
    assert outcome.code == 0 and outcome.out.splitlines()[0].split()[:3] == [
        "variant",
        "share",
        "visits",
    ]
    assert "  - holdout" in outcome.out
    for words, sentence in (
        (
            ("monitor", "compare", str(tmp_path / "live.db"), "none"),
            "there is no experiment 'none'",
        ),
        (
            ("monitor", "compare", str(tmp_path / "live.db"), "shorts:old"),
            "'shorts:old' has no variants",
        ),
        (
            ("store", "export", str(tmp_path / "live.db"), "shorts", "x.csv"),
            "name one of them, such as",
        ),
    ):
        outcome = run(*words)
        assert outcome.code == (2 if "name one" in sentence else 1)
        assert sentence in outcome.err
    assert run("store", "verify", str(tmp_path / "live.db")).code == 0
    assert run("store", "drop", str(tmp_path / "live.db"), "shorts", "--yes").code == 0
    outcome = run("store", "verify", str(tmp_path / "live.db"))
    assert outcome.out.startswith("0 experiments")


def test_nothing_is_said_before_there_are_fifty_users() -> None:
    with Journal("memory://", upkeep=False) as journal:
        shorts = Experiment(
            "shorts",
            ["a"],
            variants=BOTH,
            holdout="old",
            store=journal,
            compiled=False,
            idle_timeout=1e-3,
        )

        def differs() -> Comparison:
            play(shorts, 30, seed=int(journal.store.ping() * 1e6) % 2**32, harm=0.9)
            while any(variant.opened > variant.visits for variant in shorts.compare().variants):
                shorts.sweep()
            return compare(journal.store, "shorts", planned=100)

        first = differs()
        assert first.variants[1].differences["reward"].high == inf
        assert plain(first)["variants"][1]["differences"]["reward"]["high"] is None
        empty = Experiment(
            "empty", ["a"], variants=BOTH, holdout="old", store=journal, compiled=False
        ).compare()
        assert plain(empty)["variants"][0]["means"]["reward"]["value"] is None
        for _ in range(9):
            later = differs()
        difference = later.variants[1].differences["reward"]
        assert difference.low < difference.value < difference.high < 0.0
