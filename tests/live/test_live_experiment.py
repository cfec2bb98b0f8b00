"""Experiment and Visit: the simulator's decisions, and what each call does to a visit."""

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from rows import row_of
from small import Clock

import sojourn as sj
from sojourn.engine.steps import begin, make_tally, make_world, step
from sojourn.engine.streams import Stream, draw_uniform, policy_stream
from sojourn.live import (
    Ask,
    Busy,
    Conflict,
    Edit,
    Ended,
    Experiment,
    Journal,
    NotFound,
    SqliteStore,
    Unavailable,
    conformance,
)
from sojourn.live.records import fold
from sojourn.policies import Policy
from sojourn.users import LastReward, MovingAverage

B = sj.paper.SETTINGS["B"]
EMA = sj.Problem([0.8, 0.5, 0.7], sj.Ema(0.3, lambda s: 0.5 - 0.4 * s, start={0.2: 0.5, 1: 0.5}))


@pytest.fixture
def clock() -> Clock:
    return Clock(1000.0)


@pytest.fixture
def journal(clock: Clock) -> Iterator[Journal]:
    with Journal(SqliteStore.in_memory(clock), upkeep=False) as journal:
        yield journal


def experiment_of(journal: Journal, *, arms: Any = ("a", "b", "c"), **options: Any) -> Experiment:
    options = {"policy": sj.policies.ULCB(), "compiled": False, "seed": 3, **options}
    return Experiment("news", arms=arms, store=journal, **options)


def folded(experiment: Experiment) -> bool:
    counts, events = conformance.all_of(experiment.journal.store, experiment.name)
    return fold(events, experiment.settings.bins) == counts


def world_of(problem: sj.Problem, seed: int, run: int) -> tuple[Any, Any]:
    world = make_world(problem.coins, problem.values.prices, seed, run)
    return world, make_tally(problem.user.space.bins, problem.coins)


def simulated(problem: sj.Problem, policy: Policy, visits: int, seed: int, run: int) -> list[int]:
    """The arms that the loop of the simulator plays, step by step."""
    world, tally = world_of(problem, seed, run)
    memory, rng, user = policy.memory(problem.arms), policy_stream(seed, run), problem.user
    played = []
    for visit in range(1, visits + 1):
        state, left = begin(user, world, visit), False
        while not left:
            before = user.experience(state)
            arm = policy.choose(memory, before, rng)
            state, reward, left = step(user, world, tally, arm, state)
            policy.update(memory, before, arm, reward, left, user.experience(state))
            played.append(arm)
    return played


def served(experiment: Experiment, problem: sj.Problem, visits: int, seed: int, run: int) -> Any:
    """The arms it chooses for the same users, who tell rewards in turn in all ways."""
    world, tally = world_of(problem, seed, run)
    played = []
    for number in range(1, visits + 1):
        visit = experiment.visit()
        state, left, reward, turn = begin(problem.user, world, number), False, None, number
        while not left:
            name = visit.choose() if reward is None else visit.choose(reward)
            arm = experiment.arms.index(name)
            state, reward, left = step(problem.user, world, tally, arm, state)
            played.append(arm)
            turn += 1
            if turn % 3 == 0 or (left and turn % 3 == 1):
                visit.reward(reward)
                reward = None
        visit.end(reward)
    return played, tally


@pytest.mark.parametrize("problem", [B, EMA], ids=["two states", "moving average"])
@pytest.mark.parametrize("cls", sj.policies.ALL, ids=lambda cls: cls.__name__)
def test_decisions_are_those_of_the_simulator(
    cls: type[Policy], problem: sj.Problem, journal: Journal
) -> None:
    policy = cls.for_problem(problem)
    for any_state in (True, False):
        experiment = Experiment(
            f"replay {any_state}", [f"arm {i}" for i in range(problem.arms)], policy,
            problem.user, store=journal, seed=5, run=2, compiled=False,
            introduce_in_any_state=any_state,
        )  # fmt: skip
        played, _ = served(experiment, problem, 40, 5, 2)
        assert played == simulated(problem, experiment.policy, 40, 5, 2)
        assert folded(experiment)


def test_tables_by_step_follow_each_visit(journal: Journal) -> None:
    policy = sj.policies.UCBQLearning(H=5, by_step=True, c=0.1)
    experiment = experiment_of(journal, arms=["a", "b"], policy=policy, user=B.user, seed=5)
    assert served(experiment, B, 60, 5, 0)[0] == simulated(B, policy, 60, 5, 0)


def test_compiled_calls_make_the_totals_of_the_simulator(
    interpreted: Any, journal: Journal
) -> None:
    policy = sj.policies.LearnedIMED(introduce_in_any_state=False)
    experiment = experiment_of(
        journal, arms=["a", "b"], policy=policy, user=B.user, compiled=True, seed=7
    )
    experiment.compile()
    _, tally = served(experiment, B, 120, 7, 0)
    (row,) = interpreted(B, policy, 7, 0, [120])
    assert row[1] == tally.won.sum() and row[2] == tally.pulled.sum()
    assert (row[5:].reshape(2, 2) == tally.pulls).all()


@pytest.mark.parametrize("policy", [sj.policies.LearnedIMED(), sj.policies.QLearning()])
def test_memory_made_again_is_the_memory(policy: Policy, journal: Journal) -> None:
    """After a restart the policy knows what it knew."""
    experiment = experiment_of(journal, arms=["a", "b"], policy=policy, user=B.user)
    served(experiment, B, 50, 3, 0)
    before = experiment.memory
    experiment._reload()
    after = experiment.memory
    assert before is not after
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
    again = experiment_of(journal, arms=["a", "b"], policy=policy, user=B.user)
    for name, one, other in zip(after._fields, after, again.memory, strict=True):
        if name not in ("optimism", "next_refit"):
            np.testing.assert_array_equal(one, other)


def test_the_first_of_reward_next_end_and_timeout_resolves(journal: Journal, clock: Clock) -> None:
    experiment = experiment_of(journal, policy=sj.policies.UCB(), default_reward=0, idle_timeout=60)
    visit = experiment.visit(id="v")
    assert visit.choose() == "a"
    assert visit.reward(1) == "learned"
    assert visit.choose() == "b"
    assert visit.choose() == "c"  # b had the default reward
    visit.end(1)
    other = experiment.visit()
    other.choose()
    clock.now += 60
    assert experiment.sweep() == 1
    counts = experiment.counts()
    assert {k[0]: n for k, n in counts.items() if "by" in k[0]} == {
        "resolved by reward": 2,
        "resolved by next": 1,
        "resolved by timeout": 1,
        "left by end": 1,
        "left by timeout": 1,
    }
    memory = experiment.memory
    assert memory.pulls.sum() == memory.clock[0] == 4 and memory.successes.sum() == 2
    assert folded(experiment)


def test_rewards_again_late_and_contradictory(journal: Journal) -> None:
    experiment = experiment_of(journal)
    visit = experiment.visit()
    with pytest.raises(NotFound, match="has no step yet for a reward: choose an arm first"):
        visit.reward(1)
    visit.choose()
    assert [visit.reward(True), visit.reward(1.0), visit.reward(1, step=1)] == [
        "learned", "same", "same",
    ]  # fmt: skip
    with pytest.raises(Conflict, match=r"step 1 of visit .* has the reward 1, and 0 came later"):
        visit.reward(0)
    visit.choose()
    visit.choose()
    assert visit.reward(1, step=2) == "late"
    assert visit.reward(0, step=2) == "late"
    assert visit.reward(1, step=1) == "same"
    with pytest.raises(NotFound, match="has no step 9"):
        visit.reward(1, step=9)
    assert visit.end() and not visit.end() and not visit.end(0)
    assert visit.reward(1) == "late"
    counts = experiment.counts()
    assert counts["late", 0, 0, 0] == 2
    assert experiment.memory.successes.sum() == 1
    with pytest.raises(Ended, match="has ended \\(left\\): open another one"):
        visit.choose()
    assert folded(experiment)


def test_a_reward_with_the_next_decision_or_the_end_is_checked_too(journal: Journal) -> None:
    experiment = experiment_of(journal)
    visit = experiment.visit()
    visit.choose()
    visit.reward(1)
    visit.choose(1)  # known
    visit.reward(0)
    with pytest.raises(Conflict):
        visit.choose(1)
    with pytest.raises(Conflict):
        visit.end(1)
    assert row_of(visit).status == "open"
    assert visit.end(0)


def test_a_repeated_request_gets_the_same_answer(journal: Journal) -> None:
    experiment = experiment_of(journal, policy=sj.policies.Uniform())
    visit = experiment.visit(id="v")
    first = visit.decide(Ask(request="r1"))
    assert visit.decide(Ask(request="r1")) == first
    second = visit.decide(Ask(reward=1, request="r2"))
    assert (
        visit.decide(Ask(reward=1, request="r2"))
        == second
        == visit.decide(Ask(reward=0, request="r2"))
    )
    visit.reward(0)
    assert visit.decide(Ask(reward=1, request="r2")) == second
    assert second.step == 2 and second.id == "v:2"
    visit.end()
    assert visit.decide(Ask(reward=1, request="r2")) == second
    assert row_of(experiment.visit(id="v")).status == "left"
    assert folded(experiment)


def test_reward_wait_resolves_and_the_visit_goes_on(journal: Journal, clock: Clock) -> None:
    experiment = experiment_of(journal, default_reward=1, reward_wait=5, idle_timeout=60)
    visit = experiment.visit()
    visit.choose()
    clock.now += 4
    assert experiment.sweep() == 0
    clock.now += 1
    assert experiment.sweep() == 1 and experiment.sweep() == 0
    assert (row_of(visit).status, row_of(visit).reward, row_of(visit).cause) == (
        "open",
        1.0,
        "timeout",
    )
    assert visit.choose(0) == "b"  # too late for the first
    assert experiment.counts()["late", 0, 0, 0] == 1
    visit.reward(0)
    clock.now += 59
    assert experiment.sweep() == 0
    clock.now += 1
    assert experiment.sweep() == 1
    assert row_of(visit).status == "timed out"
    assert folded(experiment)


def test_a_first_pull_is_given_out_once(journal: Journal) -> None:
    """By results alone, everybody would get the first arm until its first reward arrives."""
    experiment = experiment_of(journal, policy=sj.policies.UCB())
    visits = [experiment.visit() for _ in range(9)]
    assert [v.choose() for v in visits[:3]] == ["a", "b", "c"]
    assert sorted(v.choose() for v in visits[3:6]) == ["a", "b", "c"]
    visits[1].reward(0)
    assert visits[6].choose() == "b"  # the others cannot be compared yet
    visits[0].reward(1)
    assert visits[7].choose() == "a"


def test_a_new_arm_waits_for_positive_optimism(journal: Journal) -> None:
    experiment = experiment_of(journal, arms=["a", "b"])
    happy, sad = experiment.visit(state=1), experiment.visit(state=0)
    for reward in (1, 1):
        happy.choose()
        happy.reward(reward)
    experiment.add_arms("new")
    assert sad.choose() != "new"
    assert happy.choose() == "new"
    assert experiment_of(journal, arms=[]).arms == ("a", "b", "new")
    eager = Experiment(
        "eager",
        ["a"],
        sj.policies.ULCB(),
        store=journal,
        compiled=False,
        introduce_in_any_state=True,
    )
    first = eager.visit(state=0)
    first.choose()
    first.reward(0)
    eager.add_arms("new")
    assert first.choose() == "new"


def test_arms_retire_and_return(journal: Journal) -> None:
    experiment = experiment_of(journal, arms=["a", "b"], policy=sj.policies.LearnedUCB())
    visit = experiment.visit()
    assert [visit.choose(), visit.choose(1)] == ["a", "b"]
    experiment.retire_arms("b")
    assert visit.choose(1) == "a"  # the reward of b counts though b is gone
    memory = experiment.memory
    assert (memory.pulls.tolist(), memory.clock[0]) == ([1], 2)
    with pytest.raises(Conflict, match=r"not all arms of '.*' can be retired: one has to stay"):
        experiment.retire_arms("a")
    experiment.add_arms("b")
    memory = experiment.memory
    assert (memory.pulls.tolist(), memory.successes.tolist()) == ([1, 1], [1, 1])
    with pytest.raises(NotFound, match="there is no arm 'z'"):
        experiment.retire_arms("z")
    assert folded(experiment)


def test_ids_of_users_and_arms_may_be_integers(journal: Journal) -> None:
    experiment = experiment_of(journal, arms=[1, np.int64(2)], policy=sj.policies.UCB())
    visit = experiment.visit(user=7)
    assert (visit.info().user, visit.choose(), experiment.arms) == ("7", "1", ("1", "2"))
    assert visit.decide(Ask(reward=1, candidates=(2,))).arm == "2"  # type: ignore[arg-type]
    edits = len(journal.store.series(Edit, None))
    experiment.add_arms([3, "news"])
    experiment.retire_arms([1, 2])
    assert experiment.arms == ("3", "news")
    experiment.add_arms(["1", 3])
    details = [json.loads(e.detail) for e in journal.store.series(Edit, None)[:-edits]]
    changed = [sorted(detail["arms"]) for detail in details]
    assert changed == [["1"], ["1", "2"], ["3", "news"]]
    for wrong in (True, 10**300, 1.5, [["a"]], ["a", 1.5], [5, "5"]):
        with pytest.raises(sj.InputError, match="arms"):
            experiment.add_arms(wrong)  # type: ignore[arg-type]


def test_a_new_arm_is_used_though_the_store_failed_when_it_came(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory that was made again by half is not relied on."""
    experiment = experiment_of(journal, arms=("a", "b"))

    read = journal.store.read

    def failing(names: Any, *, counts: bool = True) -> Any:
        if counts:
            raise Unavailable("not now")
        return read(names, counts=counts)

    with monkeypatch.context() as patch:
        patch.setattr(journal.store, "read", failing)
        with pytest.raises(Unavailable, match="not now"):
            experiment.add_arms("c")
    assert [experiment.visit().choose() for _ in range(3)] == ["a", "b", "c"]


def test_pulls_in_flight_narrow_upper_bounds_only(journal: Journal) -> None:
    experiment = experiment_of(
        journal, arms=["a", "b"], policy=sj.policies.ULCB(), count_in_flight=True
    )
    experiment.warm_start({"a": (10, 8), "b": (10, 7.5)})
    learner = experiment.branch.operations.learner
    learner.absorb({("issued", 0, 0, 0): 6.0})
    assert learner._with_flights(learner.memory, 0.0) is learner.memory
    seen = learner._with_flights(learner.memory, 1.0)
    assert (seen.pulls.tolist(), seen.successes.tolist()) == ([16, 10], [12.8, 7.5])
    assert (seen.successes / seen.pulls).tolist() == [0.8, 0.75]
    assert experiment.visit(state=1).choose() == "b"
    assert experiment.visit(state=0).choose() == "a"


def test_a_warm_start_counts_and_can_be_repeated(journal: Journal) -> None:
    experiment = experiment_of(journal, policy=sj.policies.KLUCB())
    for _ in range(2):
        experiment.warm_start({"a": (5, 1), "b": (100, 90), "c": (5, 2)})
    memory = experiment.memory
    assert (memory.pulls.tolist(), memory.clock[0]) == ([5, 100, 5], 110)
    assert folded(experiment) and experiment.counts() == {}
    with pytest.raises(ValueError, match=r"successes of 'a' = 6 is not allowed: .* from 0 to 5"):
        experiment.warm_start({"a": (5, 6)})


@dataclass(frozen=True)
class Coin(Policy):
    """A policy of one's own that knows its chances."""

    bias: float = 0.25

    def choose(self, memory: Any, state: float, rng: Stream) -> int:
        return 0 if draw_uniform(rng) < self.bias else 1

    def probabilities(self, memory: Any, state: float) -> Any:
        return np.array([self.bias, 1.0 - self.bias])


def test_propensities_of_a_policy_that_knows_them(journal: Journal) -> None:
    experiment = experiment_of(journal, arms=["a", "b"], policy=Coin(0.25))
    visit = experiment.visit()
    visit.choose()
    visit.choose(1)
    seen = set()
    for _ in range(20):
        decision = visit.decide(Ask(reward=1))
        seen.add((decision.arm, decision.propensity))
    assert seen == {("a", 0.25), ("b", 0.75)}
    assert experiment_of(journal, arms=[], policy=sj.policies.ULCB(), user=LastReward()).arms == (
        "a",
        "b",
    )


def test_start_states(journal: Journal) -> None:
    experiment = experiment_of(journal, user=MovingAverage(0.5, start=0.25))
    visit = experiment.visit()
    assert visit.decide().state == 0.25
    assert visit.decide(Ask(reward=1)).state == 0.625
    assert experiment.visit(state=0.75).decide().state == 0.75


def test_asyncio(journal: Journal) -> None:
    experiment = experiment_of(journal)

    async def one(number: int) -> list[str]:
        visit = await experiment.avisit(id=f"v{number}")
        first = await visit.adecide()
        answer = await visit.areward(1)
        again = await experiment.get(f"v{number}").adecide(Ask(request="x"))
        return [first.arm, answer, again.arm, str(await visit.aend())]

    async def many() -> list[list[str]]:
        return await asyncio.gather(*(one(i) for i in range(30)))

    answers = asyncio.run(many())
    assert {a[1] for a in answers} == {"learned"} and {a[3] for a in answers} == {"True"}
    assert folded(experiment) and experiment.counts()["left by end", 0, 0, 0] == 30


def test_all_who_wait_for_one_commit_are_answered(journal: Journal) -> None:
    """A request that is repeated while the first still waits: both get the answer."""
    experiment, append, go = experiment_of(journal), journal.writer._append, threading.Event()
    visit = experiment.visit(id="v")

    def slow(changes: Any) -> Any:
        go.wait()
        return append(changes)

    async def ask() -> list[Any]:
        journal.writer._append = slow
        asked = [asyncio.ensure_future(visit.adecide(Ask(request="r"))) for _ in range(3)]
        await asyncio.sleep(0.05)
        go.set()
        return await asyncio.wait_for(asyncio.gather(*asked), 30)

    first, *others = asyncio.run(ask())
    assert others == [first, first]


def test_a_full_queue_is_an_error_before_anything_is_done(clock: Clock) -> None:
    store = SqliteStore.in_memory(clock)
    with Journal(store, queue=1, upkeep=False) as journal:
        experiment = experiment_of(journal)
        visit = experiment.visit()
        journal.writer.reserve()
        with pytest.raises(Busy, match="1 calls wait for the store already"):
            visit.choose()
        journal.writer.release()
        assert visit.choose() == "a"
        assert folded(experiment)


def test_an_experiment_is_opened_by_name(journal: Journal) -> None:
    first = experiment_of(
        journal, policy=sj.policies.KLULCB(c=1), user=MovingAverage(0.5), reward_wait=3
    )
    again = Experiment.open("news", journal, compiled=False)
    assert again.settings == first.settings and again.arms == first.arms
    with pytest.raises(NotFound, match="there is no experiment 'other' in the store"):
        Experiment.open("other", journal)
    with pytest.raises(Conflict, match=r"user = .* is not allowed: experiment 'news' has"):
        experiment_of(journal, user=LastReward())
    with pytest.raises(Conflict, match="bins = 3 is not allowed: experiment 'news' has 4"):
        experiment_of(journal, user=MovingAverage(0.5), policy=sj.policies.LearnedUCB(bins=3))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"arms": "ab"}, "arms = 'ab' is not allowed: give a list of names"),
        ({"arms": []}, "arms is not allowed: give at least one arm"),
        ({"arms": ["a", "a"]}, "arms has the name 'a' twice"),
        ({"arms": ["a\0"]}, "arms = 'a.x00' is not allowed: it must be 1 to 200 printable"),
        ({"policy": "UCB"}, "policy = 'UCB' is not allowed: it must be a policy"),
        ({"policy": sj.policies.FixedArm(5)}, "arm = 5 is not allowed"),
        ({"user": 3}, "user = 3 is not allowed: it must be a user model"),
        ({"default_reward": 2}, "default_reward = 2 is not allowed"),
        ({"idle_timeout": 0}, "idle_timeout = 0 is not allowed"),
        ({"reward_wait": 2000}, "reward_wait = 2000 is not allowed: .* from 0 to 1800"),
        ({"seed": -1}, "seed = -1 is not allowed"),
    ],
)
def test_bad_input(options: dict[str, Any], sentence: str, journal: Journal) -> None:
    with pytest.raises(ValueError, match=sentence):
        experiment_of(journal, **options)
    assert list(journal.store.read()) == []


def test_bad_rewards_and_ids(journal: Journal) -> None:
    experiment = experiment_of(journal)
    visit = experiment.visit()
    visit.choose()
    for bad in (2, -1, float("nan"), "1", None):
        with pytest.raises(ValueError, match=r"reward = .* is not allowed"):
            visit.reward(bad)  # type: ignore[arg-type]
    for bad in ("", "x" * 201, "a\nb", 5):
        with pytest.raises(ValueError, match=r"id = .* is not allowed"):
            experiment.visit(id=bad)  # type: ignore[arg-type]
    with pytest.raises(NotFound, match="there is no visit 'x' in 'news'"):
        experiment.get("x").choose()
