"""No setting kills an experiment: bounds, and what is tried before it is saved."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

import sojourn as sj
from sojourn.live import Conflict, Experiment, Journal, Settings, SqliteStore
from sojourn.live.enrolment import MOST_ARMS, MOST_MEGABYTES
from sojourn.live.records import Arm
from sojourn.live.settings import DEEPEST, MOST_BINS
from sojourn.live.stores.base import loaded, save
from sojourn.policies import POLICIES
from sojourn.registry import described
from sojourn.users import Chain, MovingAverage

EXTREME = (0, 5e-324, 1e15, -1e308, 1e308, 10**15, 10**400)
TOO_MUCH = (
    (
        lambda: sj.policies.LearnedIMED(bins=200_000),
        "bins = 200000 is not allowed.* from 2 to 1000",
    ),
    (
        lambda: sj.policies.QLearning(bins=10**9),
        "bins = 1000000000 is not allowed.* from 1 to 1000",
    ),
    (lambda: sj.policies.UCBQLearning(H=2e4, by_step=True), "H = 20000.0 is not allowed"),
    (lambda: sj.policies.UCBQLearning(H=1e200), "H = 1e.200 is not allowed"),
    (lambda: sj.policies.KLUCB(c=10**400), "c = 1000"),
    (lambda: sj.policies.KLUCB(c=10**5000), "c = a number of thousands of digits is not allowed"),
    (lambda: Chain([[0, 0]] * 1001, [[0, 0]] * 1001), "leave is not allowed: it has 1001 rows"),
    (lambda: MovingAverage(0.5, start=dict.fromkeys(range(1001), 0.5)), "start is not allowed"),
    (lambda: Settings(policy=sj.policies.LearnedIMED(bins=65)), "at most 64 bins"),
    (
        lambda: Settings(policy=sj.policies.UCB(), user=Chain([[0, 1]] * 65, [[0, 0]] * 65)),
        "65 is not",
    ),
    (lambda: Settings(policy=nested(DEEPEST)), "nests more than 3 policies"),
)


def nested(levels: int) -> sj.Policy:
    policy: sj.Policy = sj.policies.KLULCB()
    for _ in range(levels):
        policy = sj.policies.EpsilonMixture(policy)
    return policy


@pytest.mark.parametrize(("make", "sentence"), TOO_MUCH)
def test_what_costs_memory_or_time_has_a_bound(make: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as refused:
        make()
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 500


def test_whatever_number_is_allowed_can_be_played() -> None:
    """All policies of the registry, with every number at its extremes: refused, or they work."""
    played = 0
    for name, cls in POLICIES.items():
        usual = cls(**{"H": 5.0} if name == "UCBQLearning" else {})
        numbers = [k for k, v in described(usual)[1].items() if type(v) in (int, float)]
        for given in ({k: value} for k in numbers for value in EXTREME):
            try:
                settings = Settings(policy=cls(**{**described(usual)[1], **given}))
            except ValueError:
                continue
            if name != "FixedArm" or settings.policy == usual:
                with Experiment("e", ["a", "b"], settings.policy, seed=1, compiled=False) as shorts:
                    visit = shorts.visit()
                    visit.choose()
                    assert {visit.choose(step % 2) for step in range(9)} <= {"a", "b"}
                    played += 1
    assert played > 50


def test_the_memory_of_a_policy_is_bounded_for_the_arms_that_it_has() -> None:
    long = sj.policies.UCBQLearning(H=10_000, bins=MOST_BINS, by_step=True)
    with Journal(SqliteStore.in_memory(), upkeep=False) as journal:
        with pytest.raises(ValueError, match=f"for 100 arms it takes .* {MOST_MEGABYTES}$"):
            Experiment("e", [f"a{i}" for i in range(100)], long, store=journal, compiled=False)
        assert list(journal.store.read()) == []
        shorts = Experiment("e", [f"a{i}" for i in range(9)], long, store=journal, compiled=False)
        with pytest.raises(ValueError, match="for 10 arms it takes 102 MB"):
            shorts.add_arms("a9")
        assert len(shorts.arms) == 9 == len(loaded(journal.store, "e")[1])


def test_an_experiment_has_at_most_so_many_arms_retired_ones_included() -> None:
    with Journal(SqliteStore.in_memory(), upkeep=False) as journal:
        shorts = Experiment("e", ["a", "b"], sj.policies.Uniform(), store=journal, compiled=False)
        save(journal.store, "e", shorts.settings.to_json(), many(MOST_ARMS - 2))
        shorts._reload()
        with pytest.raises(ValueError, match="it may have 10000"):
            shorts.add_arms("one more")
        with pytest.raises(ValueError, match="it may have 10000"):
            Experiment("e", ["one more"], sj.policies.Uniform(), store=journal, compiled=False)
        shorts.retire_arms("a")
        shorts.add_arms("a")
        assert shorts.arms == ("a", "b")


def many(n: int) -> list[Arm]:
    return [Arm(0, f"x{i}", retired=1) for i in range(n)]


def test_an_arm_that_the_policy_needs_is_not_retired() -> None:
    with Experiment("e", ["a", "b"], sj.policies.FixedArm(1), compiled=False) as shorts:
        with pytest.raises(ValueError, match="arm = 1 is not allowed"):
            shorts.retire_arms("a")
        assert shorts.visit().choose() == "b"


@dataclass(frozen=True)
class Greedier(sj.policies.KLUCB):
    """A policy that takes more memory than there is, or fails when it is to choose."""

    memories: bool = True

    def memory(self, arms: int) -> Any:
        if self.memories and arms > 2:
            raise MemoryError("Unable to allocate 596. GiB")
        return super().memory(arms)

    def choose(self, memory: Any, state: float, rng: Any) -> int:
        raise ZeroDivisionError("by zero")


@pytest.mark.parametrize(
    ("memories", "why"), [(True, "MemoryError: Unable to all"), (False, "ZeroDivisionError: by")]
)
def test_a_policy_is_built_and_tried_before_it_is_saved(memories: bool, why: str) -> None:
    policy = Greedier(memories=memories)
    with Journal(SqliteStore.in_memory(), upkeep=False) as journal:
        with pytest.raises(ValueError, match=f"cannot be served: {why}"):
            Experiment("e", ["a", "b", "c"], policy, store=journal, compiled=False)
        assert list(journal.store.read()) == []


@pytest.mark.parametrize("text", ["no JSON", "[]", "{}", '{"policy": {"name": "X"}}'])
def test_broken_settings_are_replaced_unless_there_are_counters_of_other_states(text: str) -> None:
    with Journal(SqliteStore.in_memory(), upkeep=False) as journal:
        save(journal.store, "e", text, [Arm(0, "a")])
        with Experiment("e", ["b"], store=journal, compiled=False) as shorts:
            assert shorts.arms == ("a", "b")
            shorts.visit().choose()
        good = loaded(journal.store, "e")[0]
        save(journal.store, "e", text)
        with pytest.raises(Conflict, match="has visits, and its settings cannot be read"):
            Experiment("e", store=journal, compiled=False)
        plain = json.loads(good) | {"policy": {"name": "Gone", "parameters": {}}}
        save(journal.store, "e", json.dumps(plain))
        with pytest.raises(Conflict, match="bins = 5 is not allowed"):
            Experiment("e", policy=sj.policies.LearnedIMED(bins=5), store=journal, compiled=False)
        with Experiment("e", store=journal, compiled=False) as shorts:
            assert shorts.counts()["open", 0, 0, 0] == 1.0
