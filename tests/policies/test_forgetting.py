"""Policies that forget: their sums against plain ones, and what they conclude when."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from glr import change_in
from numba import njit
from twins import step_by_step

import sojourn as sj
from sojourn.engine.streams import policy_stream
from sojourn.policies import Policy
from sojourn.policies.restarting import BUCKETS, SMALLEST, SUCCESSES, SUMS, TRIALS, follow

SUMMED = (
    "pulls",
    "successes",
    "clock",
    "moves",
    "seen",
    "left",
    "grid",
    "tried",
    "earned",
    "grades",
)
COUNTING = [
    sj.policies.KLULCB(),
    sj.policies.LearnedIMED(threshold=0.4),
    sj.policies.VisitIMED(bins=3, growth=1.0),
    sj.policies.EngagementIndex(bins=3),
    sj.policies.EmpiricalIMED(cells=5),
    sj.policies.LearnedEmpiricalIMED(cells=3),
    sj.policies.EpsilonMixture(sj.policies.PricedIndex()),
]
counting = pytest.mark.parametrize("policy", COUNTING, ids=lambda policy: policy.label)


class Told(NamedTuple):
    state: float
    arm: int
    reward: float
    left: bool
    onward: float


def steps(number: int, *, graded: bool = False, seed: int = 0) -> Iterator[Told]:
    rng = np.random.default_rng(seed)
    for _ in range(number):
        reward = rng.random() if graded else float(rng.random() < 0.6)
        yield Told(rng.random(), int(rng.integers(3)), reward, rng.random() < 0.2, rng.random())


def sums_of(memory: Any) -> dict[str, np.ndarray]:
    return {name: getattr(memory, name) for name in SUMMED if name in memory._fields}


def told(policy: Policy, what: list[Told]) -> Any:
    memory = policy.memory(3)
    for step in what:
        policy.update(memory, *step)
    return memory


# --- discounts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("graded", [False, True])
@counting
def test_discounted_sums_are_weighted_sums(policy: Policy, graded: bool) -> None:
    """Each step alone, times its weight: 2^(-age / half_life)."""
    what = list(steps(60, graded=graded))
    found = sums_of(told(sj.policies.Discounted(policy, half_life=7), what))
    wanted = {name: np.zeros_like(array) for name, array in found.items()}
    for age, step in enumerate(reversed(what)):
        for name, array in sums_of(told(policy, [step])).items():
            wanted[name] += 2 ** (-age / 7) * array
    assert {"pulls", "successes", "clock"} <= set(found)
    for name, array in found.items():
        np.testing.assert_allclose(array, wanted[name], rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    "policy", [sj.policies.LearnedIMED(), sj.policies.VisitIMED(growth=0.1, bins=2)]
)
def test_conclusions_go_on_when_the_clock_stands_still(policy: Policy) -> None:
    """A tenth of growth is log2(1.1) half-lives, or a tenth of a window, in the long run."""
    for wrapped, gap in (
        (sj.policies.Discounted(policy, half_life=200), 200 * np.log2(1.1)),
        (sj.policies.Windowed(policy, window=200), 20),
    ):
        memory, when, next_refit = wrapped.memory(3), [], 0.0
        for i, step in enumerate(steps(1_500)):
            wrapped.update(memory, *step)
            if memory.next_refit[0] > next_refit:
                when.append(i)
            next_refit = memory.next_refit[0]
        late = np.diff([i for i in when if i > 1_000])
        assert late.size > 10
        assert late.max() <= gap + 2
        if isinstance(
            policy, sj.policies.LearnedIMED
        ):  # the other looks when an arm has grown, too
            assert late.min() >= gap - 2


# --- windows -----------------------------------------------------------------------------------


@pytest.mark.parametrize("graded", [False, True])
@counting
def test_windowed_sums_are_those_of_the_last_steps(policy: Policy, graded: bool) -> None:
    what = list(steps(130, graded=graded))
    for window in (1, 25, 130, 200):
        found = sums_of(told(sj.policies.Windowed(policy, window=window), what))
        for name, array in sums_of(told(policy, what[-window:])).items():
            np.testing.assert_allclose(found[name], array, rtol=1e-9, atol=1e-9, err_msg=name)
            assert found[name].min() >= 0.0


def test_a_step_that_is_too_old_is_taken_back_before_the_next() -> None:
    policy = sj.policies.Windowed(sj.policies.KLUCB(), window=2)
    memory = policy.memory(2)
    for arm, pulls in ((0, [1, 0]), (1, [1, 1]), (1, [0, 2]), (0, [1, 1])):
        policy.update(memory, 1.0, arm, 1.0, False, 1.0)
        assert memory.pulls.tolist() == memory.successes.tolist() == pulls
    memory = told(policy, [Told(1.0, 0, 1.0, False, 1.0)] * 5)
    assert policy.choose(memory, 1.0, policy_stream(0, 0)) == 1  # as an arm never played


# --- restarts ----------------------------------------------------------------------------------


def first_alarm(outcomes: np.ndarray, delta: float) -> int:
    row = np.zeros(SUMS + BUCKETS)
    for n, outcome in enumerate(outcomes, 1):
        if follow(row, outcome, delta):
            return n
    return 0


def alarm_of_the_twin(outcomes: np.ndarray, delta: float) -> int:
    """All sums from the outcomes themselves; the weight of an edge by its rank among all."""
    doubled, length = 0, int(SMALLEST)
    for n in range(length, len(outcomes) + 1):
        if n == length * BUCKETS + 1:
            doubled, length = doubled + 1, 2 * length
        if n % length:
            continue
        parts = np.add.reduceat(outcomes[:n], np.arange(0, n, length))
        rank = doubled * BUCKETS // 2
        # Empty buckets in front move the rank of every edge.
        made = np.r_[np.zeros(rank), np.full(parts.size, length)]
        if change_in(np.r_[np.zeros(rank), parts], made, delta=delta) is not None:
            return n
    return 0


@pytest.mark.parametrize(
    ("before", "after", "at"), [(0.9, 0.4, 90), (0.5, 0.8, 300), (0.4, 0.6, 700), (0.6, 0.6, 0)]
)
def test_finds_a_change_when_the_plain_test_does(before: float, after: float, at: int) -> None:
    rng, found = np.random.default_rng(1), []
    for _ in range(4):
        outcomes = (rng.random(2_400) < np.where(np.arange(2_400) < at, before, after)) * 1.0
        found.append(first_alarm(outcomes, 0.01))
        assert found[-1] == alarm_of_the_twin(outcomes, 0.01)
    assert (min(found) > at) if before != after else not any(found)


@njit
def alarms(outcomes, delta):  # type: ignore[no-untyped-def]
    found = 0
    for one in outcomes:
        row = np.zeros(SUMS + BUCKETS)
        for outcome in one:
            if follow(row, outcome, delta):
                found += 1
                break
    return found


def test_is_wrong_no_more_often_than_it_says() -> None:
    outcomes = np.random.default_rng(2).random((300, 3_000))
    assert alarms((outcomes < 0.4) * 1.0, 0.2) <= 0.2 * 300
    assert alarms((outcomes < np.where(np.arange(3_000) < 2_000, 0.4, 0.6)) * 1.0, 0.2) == 300


def test_an_arm_that_changed_makes_it_forget_all_arms_or_that_one() -> None:
    for local, pulls in ((False, [0, 0, 0]), (True, [100, 0, 100])):
        policy = sj.policies.Restarting(sj.policies.LearnedIMED(), local=local)
        memory = policy.memory(3)
        for i in range(300):
            policy.update(memory, 1.0, i % 3, 1.0, False, 1.0)
        moves = memory.moves.sum()
        for _ in range(100):
            policy.update(memory, 1.0, 1, 0.0, False, 1.0)
            moves += 1
            if memory.changes[0]:
                break
        assert memory.pulls.tolist() == memory.successes.tolist() == pulls
        assert memory.clock[0] == sum(pulls)
        assert memory.moves.sum() == memory.seen.sum() == moves  # departures are not forgotten
        assert memory.trail[:, TRIALS].tolist() == pulls
        assert memory.trail[:, SUCCESSES].tolist() == pulls


@pytest.mark.parametrize("inner", [sj.policies.LearnedIMED(), sj.policies.VisitIMED(bins=2)])
def test_departures_that_changed_are_forgotten_and_concluded_from_soon(inner: Policy) -> None:
    policy = sj.policies.Restarting(inner)
    memory, rng = policy.memory(2), np.random.default_rng(3)
    for i in range(4_000):
        policy.update(memory, 1.0, i % 2, 0.0, rng.random() < 0.1, 1.0)
    assert not memory.changes.any()
    while not memory.changes[1]:
        policy.update(memory, 1.0, 0, 0.0, rng.random() < 0.4, 1.0)
    assert memory.clock[0] == memory.pulls.sum() > 4_000  # arms are not forgotten
    assert memory.left.sum() == memory.seen.sum() == memory.moves.sum() == 0
    assert memory.changes.tolist() == [0, 1]
    looks, next_refit = 0, memory.next_refit[0]
    for _ in range(200):
        policy.update(memory, 1.0, 0, 0.0, rng.random() < 0.4, 1.0)
        looks += memory.next_refit[0] > next_refit
        next_refit = memory.next_refit[0]
    assert looks >= 8  # and not one, when all steps have grown by a tenth


@pytest.mark.parametrize(
    "inner", [sj.policies.LearnedIMED(), sj.policies.KLUCB(), sj.policies.LearnedThompson()]
)
def test_decides_as_its_policy_while_nothing_is_found(inner: Policy) -> None:
    problem = sj.Problem([0.6, 0.5, 0.4], sj.TwoState(0.8, 0.2, 0.2, 0.1))
    assert step_by_step(problem, sj.policies.Restarting(inner), 1, 0, 100) == step_by_step(
        problem, inner, 1, 0, 100
    )


def test_explores_where_the_policy_tries_arms() -> None:
    policy = sj.policies.Restarting(sj.policies.KLULCB(), explore=0.3)
    memory = policy.memory(3)
    for arm in range(3):
        policy.update(memory, 1.0, arm, float(arm == 1), False, 1.0)
    assert policy.probabilities(memory, 1.0).tolist() == pytest.approx([0.1, 0.8, 0.1])
    assert policy.probabilities(memory, 0.0).tolist() == [0, 1, 0]  # mistakes are costly there
    rng = policy_stream(0, 0)
    chosen = np.bincount([policy.choose(memory, 1.0, rng) for _ in range(3_000)]) / 3_000
    assert np.abs(chosen - [0.1, 0.8, 0.1]).max() < 4.5 * np.sqrt(0.16 / 3_000)


# --- what is allowed ---------------------------------------------------------------------------

EXACT = sj.policies.ExactIndex(sj.TwoState(0.8, 0.2, 0.2, 0.1), visits=20)


@pytest.mark.parametrize(
    "wrapper", [sj.policies.Discounted, sj.policies.Windowed, sj.policies.Restarting]
)
@pytest.mark.parametrize(
    "policy",
    [
        sj.policies.QLearning(),
        EXACT,
        sj.policies.EpsilonMixture(sj.policies.QLearning()),
        sj.policies.Discounted(),
        sj.policies.Windowed(),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_who_does_not_count_cannot_forget(wrapper: type[Policy], policy: Policy) -> None:
    with pytest.raises(ValueError, match="is no sum of what it saw") as error:
        wrapper(policy)
    assert "\n" not in str(error.value)


def test_what_learns_in_its_own_way_says_how_to_take_it_back() -> None:
    with pytest.raises(TypeError, match=r"^Doubling has an update of its own, so it needs a take_"):

        class Doubling(sj.policies.KLUCB):
            def update(self, memory, state, arm, reward, left, next_state):
                memory.pulls[arm] += 2.0


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: sj.policies.Discounted(half_life=0), "half_life = 0 is not allowed"),
        (lambda: sj.policies.Windowed(window=10**6), "window = 1000000 is not allowed"),
        (lambda: sj.policies.Windowed("UCB"), "policy = 'UCB' is not allowed: it must be a policy"),
        (lambda: sj.policies.Restarting(delta=1), "delta = 1 is not allowed"),
        (lambda: sj.policies.Restarting(explore=-0.1), "explore = -0.1 is not allowed"),
        (lambda: sj.policies.Restarting(local=1), "local = 1 is not allowed"),
    ],
)
def test_bad_parameters(make: Any, sentence: str) -> None:
    with pytest.raises(ValueError) as error:
        make()
    assert sentence in str(error.value)
