"""IMED and Thompson sampling, plain and gated by the state."""

from math import log, sqrt

import mpmath
import naive
import numpy as np
import pytest
from twins import MEANS, RUNS, USERS, step_by_step

import sojourn as sj
from sojourn.engine.leases import leaser_for
from sojourn.engine.streams import beta, policy_stream
from sojourn.paper import SETTINGS
from sojourn.policies import Counts, Policy
from sojourn.registry import described
from sojourn.simulation.chunks import chunk

RULES = {
    sj.policies.IMED(): lambda S: True,
    sj.policies.GatedIMED(): lambda S: S == 1,
    sj.policies.GatedIMED().opposite(): lambda S: S == 0,
}


@pytest.mark.parametrize(("seed", "run", "random_ties"), RUNS)
@pytest.mark.parametrize(("setting", "visits"), [("B", 300), ("D", 30), ("opposite", 400)])
@pytest.mark.parametrize("policy", RULES, ids=repr)
def test_imed_decides_as_its_twin(
    policy: Policy, setting: str, visits: int, seed: int, run: int, random_ties: bool
) -> None:
    environment = naive.Environment(MEANS[setting], USERS[setting], seed, run)
    ties = naive.AtRandom(seed, run) if random_ties else naive.first
    twin = naive.run_scores(naive.imed(RULES[policy]), environment, visits, ties)
    ours = type(policy)(**{**described(policy)[1], "random_ties": random_ties})
    assert step_by_step(SETTINGS[setting], ours, seed, run, visits) == twin


def test_imed_by_hand() -> None:
    """N kl(m, m*) + log N: 4 kl(.5, .7) + log 4 = 1.735 against log 10 = 2.303."""
    memory = Counts(np.array([10.0, 4.0]), np.array([7.0, 2.0]), np.array([14.0]))
    policy = sj.policies.IMED()
    moment = policy.moment(memory, 1.0, 1.0)
    scores = [policy.score(memory, arm, 1.0, 1.0, moment) for arm in (0, 1)]
    assert scores == pytest.approx([-log(10), -(4 * naive.kl(0.5, 0.7) + log(4))], rel=1e-14)
    assert policy.choose(memory, 0.0, policy_stream(0, 0)) == 1


def test_most_steps_of_imed_are_leased() -> None:
    """The choices that are made one by one are few."""
    problem, policy = SETTINGS["A"], sj.policies.GatedIMED()
    leaser = leaser_for(policy)
    memory, board = policy.memory(2), leaser.board(policy, 2)
    draws, rng, steps, decided = np.random.default_rng(0), policy_stream(0, 0), 0, 0
    while steps < 50_000:
        arm, leased, least = leaser.lease(policy, memory, board)
        if leased <= 0:
            arm = leaser.decide(policy, memory, board, 1.0, rng)
            reward = float(draws.random() < problem.means[arm])
            leaser.learn(policy, memory, board, 1.0, arm, reward, False, reward)
            steps, decided = steps + 1, decided + 1
        for _ in range(leased):
            if memory.pulls[arm] and memory.successes[arm] < least * memory.pulls[arm]:
                break
            leaser.absorb(policy, memory, board, arm, 1, int(draws.random() < problem.means[arm]))
            steps += 1
    assert 10 < decided < 0.02 * steps


@pytest.mark.parametrize(
    ("a", "b"), [(1, 1), (6, 1), (1, 9), (2, 2), (3, 40), (81, 21), (2e3, 5e2)]
)
def test_beta_has_the_beta_distribution(a: float, b: float) -> None:
    """Moments, and the share below the exact quartiles; a wrong sampler fails by far."""
    rng, size = policy_stream(5, 0), 4_000
    draws = np.array([beta(float(a), float(b), rng) for _ in range(size)])
    mean, variance = a / (a + b), a * b / (a + b) ** 2 / (a + b + 1)
    assert abs(draws.mean() - mean) < 4.5 * sqrt(variance / size)
    for spread in (-0.7, 0.0, 0.7):
        x = mean + spread * sqrt(variance)
        share = float(mpmath.betainc(a, b, 0, x, regularized=True))
        assert abs((draws < x).mean() - share) < 4.5 * sqrt(share * (1 - share) / size)
    assert ((draws > 0) & (draws < 1)).all()


def test_thompson_plays_arms_as_often_as_they_are_best() -> None:
    """P(draw 1 > draw 2) for Beta(8, 4) and Beta(3, 3), by integration."""
    memory = Counts(np.array([10.0, 4.0]), np.array([7.0, 2.0]), np.array([14.0]))
    exact = float(
        mpmath.quad(
            lambda x: x**7 * (1 - x) ** 3 / mpmath.beta(8, 4) * mpmath.betainc(3, 3, 0, x)
            / mpmath.beta(3, 3),
            [0, 1],
        )
    )  # fmt: skip
    coins, size = policy_stream(1, 1), 4_000
    chosen = [sj.policies.Thompson().choose(memory, 0.0, coins) for _ in range(size)]
    assert abs(chosen.count(0) / size - exact) < 4.5 * sqrt(exact * (1 - exact) / size)
    before = int(coins[0])
    assert {sj.policies.GatedThompson().choose(memory, 0.0, coins) for _ in range(9)} == {0}
    assert int(coins[0]) == before  # playing safe draws nothing


@pytest.mark.parametrize(
    "policy", [sj.policies.IMED(), sj.policies.GatedIMED(), sj.policies.LearnedIMED()], ids=repr
)
def test_leases_with_many_arms(policy: Policy) -> None:
    rng = np.random.default_rng(1)
    problem = sj.Problem(rng.uniform(0.2, 0.9, 30).tolist(), SETTINGS["B"].user)
    grid = np.array([500, 1_500])
    fast, slow = (chunk(problem, policy, 3, 0, 1, grid, leases=on) for on in (True, False))
    np.testing.assert_array_equal(fast, slow)


@pytest.mark.parametrize(("setting", "checked"), [("B", 42.0), ("C", 19.0)])
def test_regret_near_that_of_an_independent_program(setting: str, checked: float) -> None:
    """FACTS: about 42 and 19; "about" is taken as 10 %."""
    result = sj.simulate(
        SETTINGS[setting], [sj.policies.GatedIMED()], visits=20_000, runs=400, seed=2
    )
    error = result.regret.half_width[0, -1] * 4.5 / 1.96
    assert abs(result.regret.mean[0, -1] - checked) < 0.1 * checked + error
