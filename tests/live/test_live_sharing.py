"""Variants that learn from the visits of all variants: exactly, across processes and restarts."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import postgres
import pytest

import sojourn as sj
from sojourn.live import Ask, Branch, Experiment, Journal, Logged, Variant, verify
from sojourn.live.records import Counts, added

ARMS = ["a", "b", "c"]


def split(store: Any, policy: sj.Policy, *, old: sj.Policy | None = None) -> Experiment:
    both = [
        Variant("old", 0.5, old or policy, external=True),
        Variant("new", 0.5, policy, learns_from="all"),
    ]
    return Experiment("shorts", ARMS, variants=both, holdout="old", store=store, compiled=False)


def play(shorts: Experiment, users: Sequence[str], draw: random.Random) -> None:
    for user in users:
        visit, reward = shorts.visit(user=user), None
        arms = shorts.variants[visit.info().variant or ""].arms
        for _ in range(draw.randint(1, 3)):
            visit.decide(Ask(reward=reward, logged=Logged.of(draw.choice(arms))))
            reward = draw.randint(0, 1)
        if draw.random() < 0.8:
            visit.end(reward)


def sums(experiment: Branch, counts: Counts) -> dict[str, Any]:
    """What the memory of an experiment should have if these were its counters."""
    fresh = experiment.operations._make(experiment.settings)
    fresh.forget(experiment.all_arms)
    fresh.absorb(counts)
    memory = fresh.memory
    names = [name for name in ("pulls", "successes", "clock", "seen", "left", "moves")
             if name in memory._fields]  # fmt: skip
    return {name: getattr(memory, name).tolist() for name in names}


def memory_of(experiment: Branch) -> dict[str, Any]:
    memory = experiment.memory
    return {name: getattr(memory, name).tolist() for name in sums(experiment, {})}


@pytest.mark.parametrize(
    "policy", [sj.policies.KLUCB(), sj.policies.VisitIMED(bins=2)], ids=lambda p: type(p).__name__
)
def test_counters_are_those_of_all_variants(policy: sj.Policy, tmp_path: Path) -> None:
    place, draw = f"sqlite:///{tmp_path / 'live.db'}", random.Random(1)
    users = [f"u{n}" for n in range(60)]
    with Journal(place, upkeep=False) as journal:
        shorts = split(journal, policy)
        old, new = shorts.variants.values()
        play(shorts, users, draw)
        assert memory_of(new) == sums(new, new.counts())  # what the other has counted comes later
        for _ in range(2):
            shorts.variants["new"].refresh()
            assert memory_of(new) == sums(new, added(old.counts(), new.counts()))
        assert old.counts() and new.counts() and memory_of(old) == sums(old, old.counts())
        play(shorts, users, draw)
        new.operations.reload()
        assert memory_of(new) == sums(new, added(old.counts(), new.counts()))
        assert all(verify(journal.store, each.name) == {} for each in (old, new))
        pulled = {n: sum(v for (what, *_), v in e.counts().items() if what == "pulls")
                  for n, e in shorts.variants.items()}  # fmt: skip
        compared = {each.name: each.means["steps"].value for each in shorts.compare().variants}
        assert compared["old"] and pulled["old"] + pulled["new"] == new.memory.clock[0]
    with Journal(place, upkeep=False) as journal:
        shorts = Experiment.open("shorts", journal, compiled=False)
        old, new = shorts.variants.values()
        assert memory_of(new) == sums(new, added(old.counts(), new.counts()))


def test_arms_are_found_by_name() -> None:
    """What is counted of an arm that only the other has is for the clock, until it is here too."""
    draw = random.Random(2)
    with Journal("memory://", upkeep=False) as journal:
        shorts = split(journal, sj.policies.KLUCB())
        old, new = shorts.variants.values()
        new.add_arms("y")
        for arm in ("x", "y"):
            old.add_arms(arm)
        users = [f"u{n}" for n in range(40)]
        play(shorts, users, draw)
        new.refresh()
        pulls = {name: float(n) for name, n in zip(old.arms, old.memory.pulls, strict=True)}
        own = np.zeros(4)
        for (what, arm, *_), n in new.counts().items():
            own[arm] += n if what == "pulls" else 0.0
        expected = own + [pulls[name] for name in new.arms]
        assert new.arms == ("a", "b", "c", "y") and pulls["x"] > 0.0 and pulls["y"] > 0.0
        assert new.memory.pulls.tolist() == expected.tolist()
        assert new.memory.clock[0] == own.sum() + sum(pulls.values())
        new.add_arms("x")
        assert new.memory.pulls.tolist() == [*expected, pulls["x"]]


def test_processes_agree() -> None:
    """Two processes, each with its own counters of both variants."""
    draw = random.Random(3)
    with postgres.server() as place, Journal(place, upkeep=False) as first:
        one = split(first, sj.policies.VisitIMED(bins=2))
        with Journal(place, upkeep=False) as second:
            other = Experiment.open("shorts", second, compiled=False)
            for turn in range(2):
                for n, each in enumerate((one, other)):
                    play(each, [f"u{turn}-{n}-{k}" for k in range(12)], draw)
            for each in (one, other):
                for variant in each.variants.values():
                    variant.refresh()
            new = one.variants["new"]
            every = added(one.variants["old"].counts(), new.counts())
            assert memory_of(new) == memory_of(other.variants["new"]) == sums(new, every)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="QLearning learns from each step of its own visits, and"):
        split("memory://", sj.policies.QLearning())
    with pytest.raises(ValueError, match="of 'new' is not allowed: its policy has 4 bins of the"):
        split("memory://", sj.policies.VisitIMED(), old=sj.policies.UCB())
    with split("memory://", sj.policies.UCB(), old=sj.policies.VisitIMED()):
        pass  # it needs no departures
    both = [Variant("old", 0.5), Variant("new", 0.5, learns_from="old")]
    with pytest.raises(ValueError, match="learns_from = 'old' is not allowed: it must be one of"):
        Experiment("s", ARMS, variants=both, holdout="old")
