"""The memory of a policy is a sum of counters, from which any change can be subtracted again."""

import random
from typing import Any, NamedTuple

import numpy as np
import pytest

import sojourn as sj
from sojourn.live import Settings
from sojourn.live.learner import COUNTERS, Learner
from sojourn.live.records import END, REWARD, Arm, Counts, Row
from sojourn.live.transition import Transition
from sojourn.policies import Policy

B = sj.paper.SETTINGS["B"]
ARMS = [Arm(0, "a", 0, 3.0, 2.0), Arm(1, "gone", 1, 5.0, 1.0), Arm(2, "b")]


def learner(settings: Settings) -> Learner:
    made = Learner(settings, seed=1, compiled=False)
    made.forget(ARMS)
    return made


def turned(row: Row, settings: Settings, told: Learner, rng: random.Random) -> Transition:
    """Something that may happen to a visit."""
    transition, reward = Transition(row, settings, told), rng.choice([None, 0.0, 0.5, 1.0])
    if row.pending and rng.random() < 0.3:
        transition.resolve(reward, REWARD)
    elif row.step and rng.random() < 0.2:
        transition.leave(reward, END)
    else:
        transition.decide(reward, None)
    return transition


def sums(told: Learner) -> dict[str, list[float]]:
    arrays = {"issued": told.issued, "resolved": told.resolved}
    if told.from_counters:
        fields = [name for name in told.memory._fields if name in COUNTERS]
        arrays |= {name: getattr(told.memory, name) for name in fields}
    return {name: array.tolist() for name, array in arrays.items()}


@pytest.mark.parametrize("policy", sj.policies.ALL, ids=lambda policy: policy.__name__)
def test_candidates_are_as_if_there_were_no_others(policy: type[sj.Policy]) -> None:
    """As a learner for which the others are retired, where that keeps no more of them."""
    arms = [Arm(n, name) for n, name in enumerate("abcde")]
    given = policy(H=3) if policy is sj.policies.UCBQLearning else policy()
    counts = {
        (what, arm, b, 0): n * (arm + 2.0)
        for arm in range(5)
        for b in range(2)
        for what, n in (("issued", 8.0), ("pulls", 8.0), ("successes", 3.0 + arm % 2))
    }
    whole, part = (Learner(Settings(policy=given), seed=1, compiled=False) for _ in range(2))
    whole.forget(arms)
    part.forget([arm._replace(retired=int(arm.position not in (1, 3))) for arm in arms])
    for learner in (whole, part):
        learner.absorb(counts)
        learner.conclude() if learner.from_counters else None
    rows = {len(getattr(part.memory, name)) for name, axis in part._axes.items() if axis == 0}
    for state in (0.0, 1.0) * 10:
        chosen, chance = whole.choose(state, 1, [3, 1])
        assert chosen in (1, 3)
        if rows <= {2} and whole.from_counters:
            assert (chosen, chance) == part.choose(state, 1)
    with pytest.raises(
        ValueError, match="candidates is not allowed: none of them is an active arm"
    ):
        part.choose(1.0, 1, [0, 2])
    whole.waiting = {1, 3}
    # Of two that wait, the less issued one; a mixture shows any arm sometimes, also one that waits.
    share = getattr(given, "epsilon", 0.0) if policy is sj.policies.EpsilonMixture else 0.0
    found = dict(whole.choose(1.0, 1, [1, 3]) for _ in range(200))
    expected = {1: 1.0 - share / 2, 3: share / 2} if share else {1: 1.0}
    assert found == pytest.approx(expected)


def test_the_share_of_a_mixture_has_every_arm() -> None:
    """Propensities while arms wait for their first result: exact, and never 0."""
    policy, n = sj.policies.EpsilonMixture(sj.policies.KLUCB(), epsilon=0.3), 2_000
    told = Learner(Settings(policy=policy), seed=2, compiled=False)
    told.forget([Arm(k, name) for k, name in enumerate("abc")])
    told.absorb({("issued", 0, 0, 0): 1.0, ("pulls", 0, 0, 0): 1.0, ("issued", 1, 0, 0): 1.0})
    assert told.waiting == {1}
    for among, expected in ((None, [0.1, 0.1, 0.8]), ([0, 1], [0.85, 0.15, 0.0])):
        found = [told.choose(1.0, 1, among) for _ in range(n)]
        for position, p in enumerate(expected):
            shown = [chance for chosen, chance in found if chosen == position]
            assert set(shown) <= {p} or shown == pytest.approx([p] * len(shown))
            assert abs(len(shown) / n - p) <= 4.5 * np.sqrt(p * (1 - p) / n)


@pytest.mark.parametrize("policy", sj.policies.ALL, ids=lambda policy: policy.__name__)
def test_without_exploring_the_best_known_arm_is_played(policy: type[sj.Policy]) -> None:
    """In both states, and among candidates; one never shown only if none was."""
    given = policy(H=3) if policy is sj.policies.UCBQLearning else policy()
    told = Learner(Settings(policy=given), seed=1, compiled=False)
    told.forget([Arm(n, name) for n, name in enumerate("abcd")])
    knows_nothing = policy is not sj.policies.FixedArm
    assert told.choose(1.0, 1, exploring=False)[1] == (0.25 if knows_nothing else 1.0)
    told.policy.update(told.memory, 1.0, 3, 0.0, True, 0.0)
    for step in range(60):
        arm = int(step % 3 == 2)
        good = float(step % 10 < 8 - 4 * arm)
        for state in (0.0, 1.0):
            told.policy.update(told.memory, state, arm, good, step % 4 == 0, good)
    best = told.policy.greedy_values(told.memory, 1.0)
    if knows_nothing:
        assert best[2] == -np.inf and best[0] > best[1]
    for state in (0.0, 1.0):
        assert told.choose(state, 1, exploring=False) == (0, 1.0)
        if knows_nothing:
            assert told.choose(state, 1, [1, 2], exploring=False) == (1, 1.0)
            assert told.choose(state, 1, [2], exploring=False) == (2, 1.0)


@pytest.mark.parametrize(
    "policy", [sj.policies.VisitIMED(bins=2), sj.policies.VisitThompson(bins=2)]
)
def test_the_best_known_arm_is_that_of_the_whole_visit(policy: Policy) -> None:
    """The first is liked more, and every second person leaves after it: by 1 / 2 to 0."""
    memory = policy.memory(2)
    for step in range(400):
        arm, good = step % 2, float(step % 10 < 8 - 2 * (step % 2))
        policy.update(memory, 1.0, arm, good, arm == 0 and step % 4 == 0, good)
    assert memory.successes[0] > memory.successes[1]
    assert np.argmax(policy.greedy_values(memory, 1.0)) == 1
    memory.strength[:] = 0.0  # if they differed in their means only
    assert np.argmax(policy.greedy_values(memory, 1.0)) == 0


@pytest.mark.parametrize("cls", sj.policies.ALL, ids=lambda cls: cls.__name__)
def test_what_is_retracted_leaves_no_trace(cls: type[Policy]) -> None:
    settings, rng = Settings(policy=cls.for_problem(B), user=B.user), random.Random(5)
    one, kept, lost = learner(settings), list[Counts](), 0
    row = start = Row("e", "v", before=1.0, state=1.0)
    for _ in range(300):
        transition = turned(row, settings, one, rng)
        counts = transition.change().counts
        if rng.random() < 0.3:
            followed = any(what == "moves" for what, *_ in counts)
            assert one.retract(counts) == (one.from_counters or not followed)
            lost += 1
        else:
            kept.append(counts)
            row = transition.row if transition.row.status == "open" else start
    assert lost > 50
    other = learner(settings)
    for counts in kept:
        other.absorb(counts)
    assert sums(one) == sums(other)
    assert one.waiting == other.waiting


def test_an_arm_waits_from_its_first_issue_to_its_first_result() -> None:
    told = learner(Settings(policy=sj.policies.UCB()))
    told.absorb({("issued", 0, 0, 0): 1.0})
    assert told.waiting == set()  # it has results from elsewhere
    told.absorb({("issued", 2, 0, 0): 1.0})
    assert told.waiting == {1}
    told.absorb({("pulls", 2, 0, 0): 1.0})
    assert told.waiting == set()
    assert told.retract({("pulls", 2, 0, 0): 1.0})
    assert told.waiting == {1}
    assert told.retract({("issued", 2, 0, 0): 1.0})
    assert told.waiting == set()
    np.testing.assert_array_equal(told.memory.clock, [8.0])  # retired arms included


def test_departures_are_counted_by_arm_and_those_of_retired_arms_together() -> None:
    told = learner(Settings(policy=sj.policies.LearnedIMED(bins=2)))
    told.absorb({("seen", 2, 1, 0): 4.0, ("left", 2, 1, 0): 1.0})
    told.absorb({("seen", 1, 0, 1): 3.0, ("left", 1, 0, 1): 2.0})
    assert told.memory.seen.tolist() == [[[0, 0], [0, 0]], [[0, 0], [4, 0]], [[0, 3], [0, 0]]]
    assert told.memory.left.tolist() == [[[0, 0], [0, 0]], [[0, 0], [1, 0]], [[0, 2], [0, 0]]]


def test_while_an_arm_waits_the_policy_sees_the_counts_of_the_others_only() -> None:
    told = learner(Settings(policy=sj.policies.LearnedIMED(bins=2)))
    told.absorb({("issued", 2, 0, 0): 1.0, ("seen", 0, 0, 0): 3.0, ("seen", 1, 0, 0): 5.0})
    shown: list[Any] = []

    def choose(policy: Policy, memory: Any, state: float, rng: Any) -> int:
        shown.append(memory)
        return 0

    told.runner.calls = told.calls._replace(choose=choose)
    assert told.choose(1.0, 1)[0] == 0
    assert shown[0].pulls.tolist() == [3.0] and shown[0].successes.tolist() == [2.0]
    assert shown[0].seen[:, 0, 0].tolist() == [3.0, 5.0] and shown[0].left.shape == (2, 2, 2)


class Noted(NamedTuple):
    """`Watched`, and a conclusion about every arm."""

    pulls: Any
    successes: Any
    clock: Any
    moves: Any
    seen: Any
    left: Any
    optimism: Any
    next_refit: Any
    verdict: Any


class Judging(sj.policies.LearnedUCB):
    """Concludes something of every arm whenever it thinks."""

    def memory(self, arms: int) -> Any:
        return Noted(*super().memory(arms), np.full(arms, -1.0))

    def tell(self, memory: Any, arm: int, pulls: int, successes: float) -> None:
        due = memory.clock[0] >= memory.next_refit[0]
        super().tell(memory, arm, pulls, successes)
        if due:
            memory.verdict[:] = memory.pulls


def test_conclusions_about_arms_are_those_of_the_arms_there_are() -> None:
    told = learner(Settings(policy=Judging(bins=2)))
    told.absorb({("pulls", 0, 0, 0): 20.0, ("pulls", 2, 0, 0): 1.0})
    told.conclude()
    assert told.memory.verdict.tolist() == [23.0, 1.0]
    same, more = (learner(Settings(policy=Judging(bins=2))) for _ in range(2))
    more.forget([*ARMS, Arm(3, "new")])
    for fresh in (same, more):
        fresh.absorb({("pulls", 0, 0, 0): 21.0})
        fresh.conclude(told)
    assert same.memory.verdict.tolist() == [23.0, 1.0]  # until it is time to think again
    assert more.memory.verdict.tolist() == [24.0, 0.0, 0.0]
    told.absorb({("issued", 0, 0, 0): 0.0, ("issued", 2, 0, 0): 1.0, ("pulls", 2, 0, 0): -1.0})
    assert told._only(told.memory, [0]).verdict.tolist() == [23.0]
