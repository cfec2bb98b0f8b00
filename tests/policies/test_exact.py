"""The exact index as a policy: what it plays, and how far it is from the best."""

import pickle
from functools import cache
from math import sqrt
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.engine.coasting import coaster_for
from sojourn.engine.kernel import STEPS, Leaser, columns, play
from sojourn.engine.leases import ExactLeaser, leaser_for
from sojourn.engine.streams import policy_stream
from sojourn.registry import described
from sojourn.simulation import over_prior
from sojourn.simulation.chunks import NEVER, chunk
from sojourn.stats.intervals import Z95

B = sj.TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1)
ONCE = sj.TwoState(1, 1, 1, 1)
THREE = sj.Chain(next=[[0, 1], [0, 2], [1, 2]], leave=[[0.6, 0.1], [0.3, 0.05], [0.1, 0.04]])


@cache
def exact(user: sj.User, visits: float, pulls: int = 30) -> sj.policies.ExactIndex:
    return sj.policies.ExactIndex(user, visits=visits, pulls=pulls)


# --- the contract --------------------------------------------------------------------------------


def test_it_keeps_the_contract() -> None:
    policy = exact(B, 100)
    assert sj.check(policy) == []
    copy = pickle.loads(pickle.dumps(policy))
    assert copy == policy and hash(copy) == hash(policy)
    assert eval(repr(policy), vars(sj.users) | vars(sj.policies)) == policy
    assert type(policy)(**described(policy)[1]) == policy != exact(B, 50)
    assert sj.policies.ExactIndex.of(policy.table) == policy
    assert policy.label == "Exact index, visits=100"
    assert (
        sj.policies.ExactIndex.for_problem(sj.Problem([0.5, 0.4], B), visits=100, pulls=30)
        == policy
    )
    with pytest.raises(ValueError, match=r"^visits is missing"):
        sj.policies.ExactIndex.for_problem(sj.Problem([0.5, 0.4], B))


def test_it_is_no_policy_of_the_registry() -> None:
    assert "ExactIndex" not in sj.policies.POLICIES and "Exact index" in sj.policies.ORACLES


def test_ties_are_broken_uniformly_and_coins_tossed_only_then() -> None:
    policy, coins, size = exact(B, 100), policy_stream(9, 0), 3_000
    memory = policy.memory(4)
    chosen = [policy.choose(memory, 1.0, coins) for _ in range(size)]
    for arm in range(4):
        assert abs(chosen.count(arm) / size - 1 / 4) < 4.5 * sqrt(3 / 16 / size)
    assert policy.probabilities(memory, 0.0).tolist() == [0.25] * 4
    policy.update(memory, 1.0, 2, 1.0, False, 1.0)
    before = int(coins[0])
    assert policy.choose(memory, 1.0, coins) == 2 and int(coins[0]) == before
    policy.update(memory, 1.0, 2, 0.0, False, 0.0)
    policy.update(memory, 0.0, 2, 0.0, False, 0.0)
    assert policy.probabilities(memory, 1.0).tolist() == [1 / 3, 1 / 3, 0.0, 1 / 3]


def test_states_are_told_apart_by_what_is_seen_of_them() -> None:
    shy, three = exact(sj.users.StaysFirst(B), 20), exact(THREE, 20)
    memory = shy.memory(2)
    scores = memory.scores
    scores[:] = [[0.1, 0.9], [0.9, 0.1], [0.1, 0.9]]  # of a first step; of states 0 and 1
    assert shy.table.finite.codes == (-2.0, 0.0, 1.0)
    assert shy.choose(memory, 1.0, None) == 1
    shy.update(memory, 1.0, 0, 0.0, False, 0.0)
    scores[:] = [[0.9, 0.1], [0.1, 0.9], [0.9, 0.1]]
    assert [shy.choose(memory, s, None) for s in (0.0, 1.0)] == [1, 0]
    scores[0] = [0.1, 0.9]
    shy.update(memory, 0.0, 0, 0.0, True, 1.0)
    scores[:, 0] = [0.0, 1.0, 1.0]
    assert shy.choose(memory, 1.0, None) == 1
    memory = three.memory(2)
    memory.scores[:] = [[0.1, 0.9], [0.9, 0.1], [0.1, 0.9]]
    assert [three.choose(memory, s, None) for s in (0.0, 0.5, 1.0)] == [1, 0, 1]


def test_who_cannot_be_told_apart_is_refused() -> None:
    blind = sj.Chain(next=[[0, 1]] * 2, leave=[[0.8, 0.2], [0.2, 0.1]], seen=[0.5, 0.5])
    with pytest.raises(ValueError, match=r"states of the user apart that look alike"):
        sj.policies.ExactIndex(blind, visits=2, pulls=10)


# --- leases --------------------------------------------------------------------------------------


def interpreted(problem: sj.Problem, policy: Any, visits: int, leases: bool) -> Any:
    user: Any = problem.user
    out = np.zeros((1, columns(user.space.bins, problem.arms)))
    play(
        policy, user, leaser_for(policy) if leases else Leaser(), coaster_for(user), problem.coins,
        problem.values.prices, user.space.bins, 3, 0, np.array([visits]), leases, NEVER,
        np.zeros(2, np.int64), out,
    )  # fmt: skip
    return out


def test_leases_change_nothing() -> None:
    """With arms that are close, alike, far apart, many; and priors of all kinds."""
    drawn = np.random.default_rng(5)
    lists = [[0.9, 0.8], [0.5, 0.5, 0.5], [0.9, 0.2], [1.0, 0.0, 0.5], [0.02, 0.01]]
    lists += [drawn.random(arms).tolist() for arms in (2, 2, 3, 5, 60)]
    policies = [exact(B, 2_000), exact(B, 30, 12)]
    policies += [
        sj.policies.ExactIndex(B, visits=300, prior=prior, pulls=20) for prior in ((8, 2), (0.3, 4))
    ]
    grid = np.array([300, 1_000])
    for seed, means in enumerate(lists):
        problem = sj.Problem(means, B)
        for policy in policies:
            fast, slow = (
                chunk(problem, policy, seed, 0, 1, grid, leases=leases) for leases in (True, False)
            )
            np.testing.assert_array_equal(fast, slow)


def test_leases_with_other_users() -> None:
    for user in (THREE, sj.users.StaysFirst(B)):
        problem, policy = sj.Problem([0.8, 0.3], user), exact(user, 20)
        fast, slow = (interpreted(problem, policy, 60, leases) for leases in (True, False))
        np.testing.assert_array_equal(fast, slow)


def test_a_clear_leader_is_leased_for_ever() -> None:
    policy = exact(B, 100)
    memory = policy.memory(2)
    for arm, pulls, good in ((0, 400, 360), (1, 40, 4)):
        memory.pulls[arm], memory.successes[arm] = pulls, good
        policy.rate(memory, arm)
    assert leaser_for(policy) == ExactLeaser()
    arm, steps, least = ExactLeaser().lease(policy, memory, np.zeros(1))
    assert arm == 0 and steps > 10**9 and memory.scores[:, 1].max() < least < 0.9
    ExactLeaser().absorb(policy, memory, np.zeros(1), 0, 600, 0)
    assert memory.scores[:, 0].tolist() == [policy.score_of(1_000.0, 360.0, s) for s in (0, 1)]
    memory.successes[0] = 20
    assert ExactLeaser().lease(policy, memory, np.zeros(1))[1] < 0  # and not to be asked soon


def test_two_thousand_arms() -> None:
    problem = sj.Problem(np.random.default_rng(2).random(2_000).tolist(), B)
    rows = chunk(problem, exact(B, 2_000), 0, 0, 1, np.array([500]))
    assert rows[0, 0, STEPS] > 3_000


# --- how good it is ------------------------------------------------------------------------------


def test_it_is_near_the_best_for_a_fixed_number_of_pulls() -> None:
    """All counts of two arms gone through: no noise. With too long a horizon it costs more."""
    pulls = 20

    def regret(policy: sj.policies.ExactIndex) -> float:
        rate = {
            (n, k): policy.score_of(float(n), float(k), 0)
            for n in range(pulls)
            for k in range(n + 1)
        }

        @cache
        def value(n0: int, k0: int, n1: int, k1: int) -> float:
            if n0 + n1 == pulls:
                return 0.0
            p0, p1 = (1 + k0) / (2 + n0), (1 + k1) / (2 + n1)
            lead = rate[n0, k0] - rate[n1, k1]
            share = 0.5 if lead == 0.0 else float(lead > 0.0)
            total = 0.0
            if share > 0.0:
                total += share * p0 * (1 + value(n0 + 1, k0 + 1, n1, k1))
                total += share * (1 - p0) * value(n0 + 1, k0, n1, k1)
            if share < 1.0:
                total += (1 - share) * p1 * (1 + value(n0, k0, n1 + 1, k1 + 1))
                total += (1 - share) * (1 - p1) * value(n0, k0, n1 + 1, k1)
            return total

        return pulls * 2 / 3 - value(0, 0, 0, 0)

    best = sj.theory.bayes_optimum(ONCE, visits=pulls, fixed=True, pulls=pulls).high
    near, far = (regret(exact(ONCE, visits)) / best for visits in (pulls, 20 * pulls))
    assert 1.0 <= near < 1.02 and far > 1.08


def test_it_is_at_the_limit() -> None:
    """B with three visits on average: 1.00 times the least Bayes regret, up to noise."""
    best = sj.theory.bayes_optimum(B, visits=3, pulls=60, plan=True)
    found = over_prior(best, [exact(B, 3, 60), exact(B, 3_000, 60)], runs=1_000)
    value, _, high = found.multiple(0)
    error = (high - value) / Z95
    assert error < 0.02 and abs(value - 1.0) < 4.5 * error + 0.01
    assert found.multiple(1).low > 1.04  # told a thousand times as many
