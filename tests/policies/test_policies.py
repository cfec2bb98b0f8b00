"""What every policy promises, and what each of them does."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from numba import njit
from rosters import roster

import sojourn as sj
from sojourn.engine.fingerprint import methods_of
from sojourn.engine.streams import draw_uniform, policy_stream
from sojourn.paper import SETTINGS
from sojourn.policies import Counts, Policy, gated
from sojourn.policies.wrapper import base_policy
from sojourn.registry import described

TWO_STATE = sj.Problem([0.6, 0.8, 0.5], sj.TwoState(0.6, 0.2, 0.3, 0.05))
EMA = sj.Problem([0.6, 0.8, 0.5], sj.Ema(theta=0.4, leave=sj.users.LogLeave(c6=20)))
SHY = sj.Problem([0.6, 0.8], sj.users.StaysFirst(SETTINGS["B"].user))
ANY_START = sj.Problem([0.6, 0.8], sj.TwoState(0.6, 0.2, 0.3, 0.05, start={0: 0.4, 1: 0.6}))
CURVE = sj.Problem([0.6, 0.8], sj.Ema(theta=0.5, leave=lambda s: 0.4 - 0.3 * s))

BY_STEP = sj.policies.UCBQLearning(H=6, by_step=True)
CONTRACT = [
    *(
        (problem, cls.for_problem(problem))
        for problem in (TWO_STATE, EMA)
        for cls in roster(problem)
    ),
    (SHY, BY_STEP),
    (CURVE, sj.policies.Uniform()),
    (ANY_START, sj.policies.KLULCB()),
]
"""Policies with the paper's two users; three that differ most with three more."""

EVERY = [cls.for_problem(TWO_STATE) for cls in sj.policies.POLICIES.values()]
each = pytest.mark.parametrize("policy", EVERY, ids=repr)


def memory_of(pulls: list[float], successes: list[float]) -> Counts:
    return Counts(np.array(pulls, float), np.array(successes, float), np.array([float(sum(pulls))]))


def filled(policy: Policy, pulls: list[float], successes: list[float]) -> Any:
    memory = policy.memory(len(pulls))
    memory.pulls[:], memory.successes[:], memory.clock[0] = pulls, successes, sum(pulls)
    return memory


def same_memory(one: Any, other: Any) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


# --- the contract ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("problem", "policy"),
    CONTRACT,
    ids=lambda x: type(x).__name__ if isinstance(x, Policy) else "on",
)
def test_compiled_equals_interpreted(
    problem: sj.Problem, policy: Policy, compiled, interpreted
) -> None:
    for seed, run in [(0, 0), (1, 5), (2**40, 1)]:
        fast = compiled(problem, policy, seed, run, [1, 20, 80])
        slow = interpreted(problem, policy, seed, run, [1, 20, 80])
        np.testing.assert_array_equal(fast, slow)
    assert fast[-1, 2] >= 80


@each
def test_same_seed_same_run(policy: Policy, compiled) -> None:
    def rows(seed: int, run: int) -> np.ndarray:
        return compiled(TWO_STATE, policy, seed, run, [300])

    np.testing.assert_array_equal(rows(4, 2), rows(4, 2))
    assert not np.array_equal(rows(4, 2), rows(5, 2))
    assert not np.array_equal(rows(4, 2), rows(4, 3))


@dataclass(frozen=True)
class Spy(Policy):
    """Plays arms in turn and writes down what it is told."""

    heard: list[tuple] = field(default_factory=list)

    def memory(self, arms: int) -> list[tuple]:
        return self.heard

    def choose(self, memory: list[tuple], state: float, rng: Any) -> int:
        memory.append(("choose", state))
        return len(memory) // 2 % 2

    def update(self, memory, state, arm, reward, left, next_state) -> None:
        memory.append(("update", state, arm, reward, left, next_state))


def test_what_a_policy_is_told(interpreted) -> None:
    """The state it chose in, its arm, and where that led; the start state after a departure."""
    problem, spy = SHY, Spy()
    interpreted(problem, spy, 0, 0, [40])
    asked, told = spy.heard[::2], spy.heard[1::2]
    assert sum(left for *_, left, _ in told) == 40 and told[-1][4]
    assert {"choose"} == {kind for kind, _ in asked} and asked[0][1] == 1.0
    for i, (kind, state, arm, reward, left, onward) in enumerate(told):
        assert (kind, state, arm, onward) == ("update", asked[i][1], i % 2, reward)
        if i + 1 < len(asked):
            assert asked[i + 1][1] == (1.0 if left else onward)
    assert len({(state, reward) for _, state, _, reward, _, _ in told}) == 4


@njit
def compiled_step(policy, memory, state, rng, reward, left, next_state):
    arm = policy.choose(memory, state, rng)
    policy.update(memory, state, arm, reward, left, next_state)
    return arm


def with_every_text() -> list[Policy]:
    """Each has a method that those before it do not have; together they have all."""
    seen: set[Any] = set()
    found = []
    for policy in EVERY:
        texts = {method for _, method in methods_of(type(policy))}
        if texts - seen:
            found.append(policy)
            seen |= texts
    return found


@pytest.mark.parametrize("policy", with_every_text(), ids=repr)
def test_single_compiled_calls(policy: Policy) -> None:
    """Compiled for this test alone, which takes seconds; loops prove the same of all policies."""
    draws = np.random.default_rng(3)
    ours, theirs = policy.memory(3), policy.memory(3)
    coins, their_coins = policy_stream(1, 2), policy_stream(1, 2)
    state = 1.0
    for _ in range(80):
        told = float(draws.random() < 0.6), bool(draws.random() < 0.2), float(draws.random())
        arm = policy.choose(ours, state, coins)
        policy.update(ours, state, arm, *told)
        assert arm == compiled_step(policy, theirs, state, their_coins, *told)
        assert coins[0] == their_coins[0]
        assert same_memory(ours, theirs)
        state = told[-1]


@each
def test_pickle_and_repr(policy: Policy) -> None:
    _ = policy._numba_type_  # what the compiler leaves on an instance must not travel
    copy = pickle.loads(pickle.dumps(policy))
    assert copy == policy and hash(copy) == hash(policy) and type(copy) is type(policy)
    assert "_numba_type_" not in vars(copy)
    assert eval(repr(policy), vars(sj.users) | vars(sj.policies)) == policy
    assert type(policy).__name__ in repr(policy)
    assert type(policy)(**described(policy)[1]) == policy


@each
def test_memory_is_fresh(policy: Policy) -> None:
    one, other, larger = policy.memory(3), policy.memory(3), policy.memory(5)
    assert same_memory(one, other)
    assert not any(np.shares_memory(a, b) for a, b in zip(one, other, strict=True))
    assert all(a.dtype == np.float64 for a in one)
    assert [a.shape[-1] for a in larger[:2]] == [5, 5]
    policy.update(one, 1.0, 2, 1.0, False, 1.0)
    assert not same_memory(one, other)
    assert same_memory(other, policy.memory(3))


def test_memory_shapes() -> None:
    assert [a.shape for a in sj.policies.UCB().memory(4)] == [(4,), (4,), (1,)]
    assert [a.shape for a in sj.policies.QLearning(bins=3).memory(4)] == [
        (1, 3, 4),
        (1, 3, 4),
        (1,),
    ]
    assert BY_STEP.memory(2).q.shape == (7, 2, 2)


@each
def test_policies_do_not_change(policy: Policy) -> None:
    with pytest.raises(AttributeError):
        policy.c = 3.0


def told(policy: Policy, *, lefts: bool) -> Any:
    """A memory after steps some of which end visits, or none."""
    memory, draws = policy.memory(2), np.random.default_rng(4)
    for _ in range(60):
        arm, state = int(draws.integers(2)), float(draws.integers(2))
        reward, left = float(draws.random() < 0.6), bool(draws.random() < 0.3) and lefts
        policy.update(memory, state, arm, reward, left, reward)
    return memory


@each
def test_a_policy_says_truly_whether_it_learns_from_departures(policy: Policy) -> None:
    one, other = told(policy, lefts=True), told(policy, lefts=False)
    learned = [name for name in one._fields if name != "window"]  # that has steps as they were
    differ = any((getattr(one, name) != getattr(other, name)).any() for name in learned)
    assert differ == (policy.learns_from == "departures")


@each
def test_a_policy_says_truly_whether_it_learns(policy: Policy) -> None:
    """What it has seen changes its chances; of one that does not learn it never does."""
    pupil: Any = base_policy(policy)
    states = (0.0, 1.0)
    fresh, later = policy.memory(2), told(policy, lefts=True)
    known = [pupil.probabilities(m, s) for m in (fresh, later) for s in states]
    if known[0].size == 0:  # Visit Thompson: its draws are random, and follow what was seen
        assert policy.learns_from != "nothing"
    elif policy.learns_from == "nothing":
        assert all((a == b).all() for a, b in zip(known[:2], known[2:], strict=True))
    else:
        assert any((a != b).any() for a, b in zip(known[:2], known[2:], strict=True))


def test_every_policy_is_listed_once() -> None:
    assert len(set(sj.policies.ALL)) == len(sj.policies.ALL)
    for cls in sj.policies.ALL:
        assert getattr(sj.policies, cls.__name__) is cls


NAN, INF = float("nan"), float("inf")
POSITIVE, SHARE = "a number from 0 to 1e+09", "a number from 0 to 1"


@pytest.mark.parametrize(
    ("make", "name", "value", "allowed"),
    [
        *(
            (cls, "c", v, POSITIVE)
            for cls in (sj.policies.UCB, sj.policies.KLULCB)
            for v in (-1, NAN, INF, "4")
        ),
        (sj.policies.ULCB, "c0", NAN, "number"),
        (sj.policies.KLULCB, "c1", "up", "number"),
        (sj.policies.ContULCB, "c1", INF, "number"),
        *(
            (sj.policies.DiscULCB, "n", v, "whole number from 2 to 1e+09")
            for v in (1, 2.5, NAN, "4", True)
        ),
        *((sj.policies.QLearning, "epsilon", v, SHARE) for v in (2, -0.1, NAN, None)),
        *((sj.policies.QLearning, "bins", v, "a whole number from 1 to 1000") for v in (0, 1.5)),
        *(
            (sj.policies.UCBQLearning, "H", v, "a number from 1 to 1e+12")
            for v in (0, 0.5, NAN, INF)
        ),
        *(
            (sj.policies.FixedArm, "arm", v, "a whole number of at least 0")
            for v in (-1, 0.5, NAN, "0")
        ),
        (sj.policies.UCB, "random_ties", "no", "True or False"),
        (sj.policies.KLULCB, "introduce_in_any_state", None, "True or False"),
    ],
)
def test_bad_parameters(make: type[Policy], name: str, value: Any, allowed: str) -> None:
    with pytest.raises(ValueError) as refusal:
        make(**{name: value})
    message = str(refusal.value)
    assert message.startswith(f"{name} = {value!r} is not allowed: it must be ")
    assert allowed in message and "\n" not in message


@pytest.mark.parametrize(
    ("name", "value"), [("c", -1), ("p", 0), ("p", 1), ("visits", 0), ("bins", 0), ("by_step", 3)]
)
def test_bad_parameters_of_ucb_q(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{name} = {value!r} is not allowed: it must be "):
        sj.policies.UCBQLearning(H=10, **{name: value})


def test_a_fixed_arm_must_be_there() -> None:
    sj.policies.FixedArm(arm=1).check_arms(2)
    with pytest.raises(ValueError, match=r"arm = 2 is not allowed: .* from 0 to 1"):
        sj.policies.FixedArm(arm=2).check_arms(2)


def test_for_problem() -> None:
    assert sj.policies.FixedArm.for_problem(TWO_STATE) == sj.policies.FixedArm(arm=1)
    horizon = sj.policies.UCBQLearning.for_problem(SETTINGS["A"]).H
    assert horizon == pytest.approx(110.0)
    assert sj.policies.UCBQLearning.for_problem(
        SETTINGS["A"], H=5, c=1
    ) == sj.policies.UCBQLearning(H=5, c=1)
    assert sj.policies.ULCB.for_problem(TWO_STATE, c=4) == sj.policies.ULCB(c=4)


# --- indices -----------------------------------------------------------------------------------

VECTORS = [
    (9, 10, 20, 1.28702275602, 0.51297724398, 0.998028179605, 0.545253027807),
    (80, 100, 1000, 0.985846109442, 0.614153890558, 0.918524520354, 0.628631702791),
    (900, 1000, 2000, 0.961647799878, 0.838352200122, 0.932928928284, 0.859009998580),
    (0, 5, 10, 0.479852591219, -0.479852591219, 0.369042655520, 0.0),
    (5, 5, 10, 1.47985259122, 0.520147408781, 1.0, 0.630957344480),
]


@pytest.mark.parametrize(("successes", "pulls", "t", "ucb", "lcb", "kl_ucb", "kl_lcb"), VECTORS)
def test_index_vectors(successes, pulls, t, ucb, lcb, kl_ucb, kl_lcb) -> None:
    def index(policy: Any, state: float) -> float:
        return policy.index(successes / pulls, pulls, log(t), 0.0, policy.optimism(state))

    assert index(sj.policies.UCB(), 0.0) == pytest.approx(ucb, rel=3e-12)
    assert index(sj.policies.ULCB(), 1.0) == pytest.approx(ucb, rel=3e-12)
    assert index(sj.policies.ULCB(), 0.0) == pytest.approx(lcb, rel=3e-12)
    assert index(sj.policies.KLUCB(), 0.0) == pytest.approx(kl_ucb, rel=3e-12)
    assert index(sj.policies.KLULCB(), 1.0) == pytest.approx(kl_ucb, rel=3e-12)
    assert index(sj.policies.KLULCB(), 0.0) == pytest.approx(kl_lcb, rel=3e-12, abs=1e-300)


def test_c_widens_the_bounds_as_the_formula_says() -> None:
    t, pulls, mean = 1000.0, 50.0, 0.7
    budget = log(t) + 4.0 * log(log(t))
    extra = 4.0 * log(log(t))
    width = sqrt(budget / (2 * pulls))
    assert sj.policies.UCB(c=4).index(mean, pulls, log(t), extra, 1.0) == pytest.approx(
        mean + width
    )
    assert sj.policies.ULCB(c=4).index(mean, pulls, log(t), extra, -1.0) == pytest.approx(
        mean - width
    )
    p = sj.policies.KLUCB(c=4).index(mean, pulls, log(t), extra, 1.0)
    divergence = mean * log(mean / p) + (1 - mean) * log((1 - mean) / (1 - p))
    assert pulls * divergence == pytest.approx(budget)


def test_c_reaches_the_choice() -> None:
    """At t = 101 a bonus of 4 log log t is what makes the rare arm worth a try."""
    memory, coins = memory_of([90, 10], [80, 5]), policy_stream(0, 0)
    plain, wide = (
        [m + sqrt((log(101) + c * log(log(101))) / (2 * n)) for m, n in ((80 / 90, 90), (0.5, 10))]
        for c in (0, 4)
    )
    assert np.argmax(plain) == 0 and np.argmax(wide) == 1
    assert sj.policies.UCB().choose(memory, 1.0, coins) == 0
    assert sj.policies.UCB(c=4).choose(memory, 1.0, coins) == 1


def test_t_is_past_pulls_plus_one() -> None:
    """Other packages take past pulls: decisions between the two tell them apart."""

    def leader(t: int, counts: tuple[int, int, int, int]) -> int:
        n0, s0, n1, s1 = counts
        bonus = [s / n + sqrt(log(t) / (2 * n)) for s, n in ((s0, n0), (s1, n1))]
        return int(bonus[1] > bonus[0])

    telling = [
        counts
        for counts in product(range(2, 16), range(2, 16), range(1, 4), range(2))
        if counts[1] <= counts[0] and counts[3] <= counts[2]
        and leader(counts[0] + counts[2], counts) != leader(counts[0] + counts[2] + 1, counts)
    ]  # fmt: skip
    assert telling
    for n0, s0, n1, s1 in telling:
        chosen = sj.policies.UCB().choose(memory_of([n0, n1], [s0, s1]), 1.0, policy_stream(0, 0))
        assert chosen == leader(n0 + n1 + 1, (n0, s0, n1, s1))


# --- optimism ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "table"),
    [
        (sj.policies.UCB(), {0.0: 1, 0.5: 1, 1.0: 1}),
        (sj.policies.KLUCB(), {0.0: 1, 0.5: 1, 1.0: 1}),
        (sj.policies.Greedy(), {0.0: 0, 1.0: 0}),
        (sj.policies.ULCB(), {0.0: -1, 1.0: 1}),
        (sj.policies.KLULCB(c0=-0.5, c1=2), {0.0: -0.5, 1.0: 2}),
        (sj.policies.DiscULCB(), {0.0: -1, 0.7499: -1, 0.75: 1, 1.0: 1}),
        (sj.policies.DiscKLULCB(n=2), {0.0: -1, 0.49: -1, 0.5: 1, 1.0: 1}),
        (sj.policies.ContULCB(), {0.0: -1, 0.25: -0.5, 0.5: 0, 0.75: 0.5, 1.0: 1}),
        (sj.policies.ContKLULCB(), {0.0: -1, 0.25: -0.5, 0.5: 0, 1.0: 1}),
    ],
    ids=repr,
)
def test_optimism(policy: Any, table: dict[float, float]) -> None:
    assert {state: policy.optimism(state) for state in table} == table
    if hasattr(policy, "opposite"):
        turned = policy.opposite()
        assert (turned.c0, turned.c1) == (policy.c1, policy.c0)
        assert turned.opposite() == policy and type(turned) is type(policy)


@pytest.mark.parametrize(
    "make",
    [
        sj.policies.ULCB,
        sj.policies.KLULCB,
        sj.policies.DiscULCB,
        sj.policies.ContKLULCB,
        sj.policies.GatedIMED,
    ],
)
def test_explores_in_good_states_and_plays_safe_in_bad_ones(make: Callable[..., Any]) -> None:
    memory, coins = memory_of([100, 4], [70, 2]), policy_stream(0, 0)
    assert [make().choose(memory, s, coins) for s in (0.0, 1.0)] == [0, 1]
    assert [make().opposite().choose(memory, s, coins) for s in (0.0, 1.0)] == [1, 0]
    assert [sj.policies.Greedy().choose(memory, s, coins) for s in (0.0, 1.0)] == [0, 0]


# --- first pulls and ties ----------------------------------------------------------------------

INDEX = [cls() for cls in sj.policies.ALL if hasattr(cls, "index")]
SURE = [p for p in INDEX if not isinstance(p, gated.ThompsonExplorer)]


@pytest.mark.parametrize("policy", INDEX, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("state", [0.0, 1.0])
def test_first_pulls_in_arm_order(policy: Any, state: float) -> None:
    memory, coins = policy.memory(4), policy_stream(0, 0)
    before = coins.copy()
    for arm in range(4):
        assert policy.choose(memory, state, coins) == arm
        policy.update(memory, state, arm, float(arm == 1), False, state)
    assert coins[0] == before[0]


def test_introduce_only_at_positive_optimism() -> None:
    policy = sj.policies.ULCB(introduce_in_any_state=False)
    coins = policy_stream(0, 0)
    assert policy.choose(policy.memory(3), 0.0, coins) == 0  # someone must be first
    memory = memory_of([0, 3, 2, 0], [0, 0, 2, 0])
    assert policy.choose(memory, 0.0, coins) == 2
    assert policy.choose(memory, 1.0, coins) == 0
    assert sj.policies.ULCB().choose(memory, 0.0, coins) == 0
    assert sj.policies.Greedy(introduce_in_any_state=False).choose(memory, 1.0, coins) == 2
    tied = memory_of([0, 2, 2, 0], [0, 1, 1, 0])
    assert {policy.choose(tied, 0.0, coins) for _ in range(50)} == {1, 2}


@pytest.mark.parametrize("policy", SURE, ids=lambda p: type(p).__name__)
def test_ties_are_broken_uniformly(policy: Any) -> None:
    memory, coins = filled(policy, [10, 10, 10, 10], [7, 5, 7, 7]), policy_stream(9, 0)
    size = 4000
    chosen = [policy.choose(memory, 1.0, coins) for _ in range(size)]
    for arm, share in enumerate([1 / 3, 0, 1 / 3, 1 / 3]):
        error = sqrt(share * (1 - share) / size)
        assert abs(chosen.count(arm) / size - share) <= 4.5 * error


@pytest.mark.parametrize("policy", SURE, ids=lambda p: type(p).__name__)
def test_coins_are_tossed_only_for_the_lead(policy: Any) -> None:
    coins = policy_stream(9, 0)
    before = int(coins[0])
    behind = filled(policy, [10, 10, 10], [5, 5, 9])
    assert [policy.choose(behind, s, coins) for s in (0.0, 1.0)] == [2, 2]
    assert int(coins[0]) == before
    ahead = filled(policy, [10, 10, 10], [5, 9, 9])
    first = type(policy)(random_ties=False)
    assert {first.choose(ahead, 1.0, coins) for _ in range(20)} == {1}
    assert int(coins[0]) == before
    policy.choose(ahead, 1.0, coins)
    expected = np.array([before], np.uint64)
    draw_uniform(expected)
    assert coins[0] == expected[0]


# --- Q-learning --------------------------------------------------------------------------------


def trajectory(steps: int, arms: int, seed: int):
    """(state, arm, reward, left, next state), in two states; visits follow one another."""
    draws = np.random.default_rng(seed)
    state = 1.0
    for _ in range(steps):
        reward, left = float(draws.random() < 0.6), bool(draws.random() < 0.15)
        yield state, int(draws.integers(arms)), reward, left, reward
        state = 1.0 if left else reward


def test_q_learning_twin() -> None:
    policy = sj.policies.QLearning()
    memory = policy.memory(3)
    Q = {(s, a): 0.0 for s in (0, 1) for a in range(3)}
    N = dict.fromkeys(Q, 0)
    for state, arm, reward, left, onward in trajectory(400, 3, 1):
        policy.update(memory, state, arm, reward, left, onward)
        target = reward + (0.0 if left else max(Q[onward, b] for b in range(3)))
        N[state, arm] += 1
        Q[state, arm] = (1 - 1 / N[state, arm]) * Q[state, arm] + target / N[state, arm]
        ours = {(s, a): memory.q[0, s, a] for s, a in Q}
        assert ours == pytest.approx(Q, rel=1e-12)
    assert {(s, a): memory.visits[0, s, a] for s, a in N} == N


def test_q_learning_explores_with_epsilon() -> None:
    policy = sj.policies.QLearning(epsilon=0.3)
    memory, coins, size = policy.memory(3), policy_stream(2, 0), 6000
    memory.q[0, 1] = [1.0, 3.0, 2.0]
    chosen = [policy.choose(memory, 1.0, coins) for _ in range(size)]
    for arm, share in enumerate([0.1, 0.8, 0.1]):
        assert abs(chosen.count(arm) / size - share) < 4.5 * sqrt(share * (1 - share) / size)
    in_state_0 = [policy.choose(memory, 0.0, coins) for _ in range(size)]  # all tied there
    for arm in range(3):
        assert abs(in_state_0.count(arm) / size - 1 / 3) < 4.5 * sqrt(2 / 9 / size)


@pytest.mark.parametrize("by_step", [False, True])
def test_ucb_q_twin(by_step: bool) -> None:
    H, c, p, arms = 6.5, 0.5, 0.1, 2
    policy = sj.policies.UCBQLearning(H=H, c=c, visits=50, p=p, by_step=by_step)
    memory, coins = policy.memory(arms), policy_stream(0, 0)
    last = 6 if by_step else 0
    Q = {(h, s, a): H for h in range(last + 1) for s in (0, 1) for a in range(arms)}
    N = dict.fromkeys(Q, 0)
    iota = log(2 * arms * 50 * H / p)
    h = 0
    for state, arm, reward, left, onward in trajectory(600, arms, 2):
        stage, following = min(h, last), min(h + 1, last)
        row = [Q[stage, state, b] for b in range(arms)]
        if row[0] != pytest.approx(row[1]):
            assert policy.choose(memory, state, coins) == int(row[1] > row[0])
        policy.update(memory, state, arm, reward, left, onward)
        V = 0.0 if left else min(H, max(Q[following, onward, b] for b in range(arms)))
        N[stage, state, arm] += 1
        n = N[stage, state, arm]
        rate = (H + 1) / (H + n)
        target = reward + V + c * sqrt(H**3 * iota / n)
        Q[stage, state, arm] = (1 - rate) * Q[stage, state, arm] + rate * target
        assert {key: memory.q[key] for key in (map(_indices, Q))} == pytest.approx(Q, rel=1e-11)
        h = 0 if left else h + 1
    if by_step:
        assert sum(N[last, s, a] for s in (0, 1) for a in range(arms)) > 10


def _indices(key: tuple[int, float, int]) -> tuple[int, int, int]:
    return key[0], int(key[1]), key[2]


def test_uniform_is_uniform() -> None:
    memory, coins, size = sj.policies.Uniform().memory(4), policy_stream(3, 0), 8000
    chosen = [sj.policies.Uniform().choose(memory, 1.0, coins) for _ in range(size)]
    for arm in range(4):
        assert abs(chosen.count(arm) / size - 1 / 4) < 4.5 * sqrt(3 / 16 / size)


def test_the_contract_of_a_policy_has_ten_public_names() -> None:
    own = {name for name in dir(Policy) if not name.startswith("_")} | {"choose"}
    assert sorted(own) == [
        "check_arms", "choose", "for_problem", "greedy_values", "label",
        "learns_from", "memory", "probabilities", "title", "update",
    ]  # fmt: skip
