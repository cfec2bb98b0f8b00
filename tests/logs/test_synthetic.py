"""Synthetic logs, and the probabilities of policies that they record."""

from math import sqrt
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.engine.streams import policy_stream
from sojourn.logs.synthetic import synthetic_log
from sojourn.policies import Policy
from sojourn.simulation import chunks

TOLERANCE = 4.5  # standard errors
TWO_STATE = sj.Problem([0.6, 0.8, 0.5], sj.TwoState(0.6, 0.2, 0.3, 0.05, start={0: 0.4, 1: 0.6}))
ONE_START = sj.Problem([0.6, 0.8, 0.5], sj.TwoState(0.6, 0.2, 0.3, 0.05))
EMA = sj.Problem([0.6, 0.8], sj.Ema(theta=0.4, leave=sj.users.LogLeave(c6=20)))
MIXED = sj.policies.EpsilonMixture(epsilon=0.3)
RULE = sj.policies.Rule([[0.2, 0.5, 0.3], [0.0, 1.0, 0.0]])
EVERY = [
    *(cls.for_problem(TWO_STATE) for cls in sj.policies.ALL),
    RULE,
    sj.policies.UCB(random_ties=False),
]
POLICIES = [policy for policy in EVERY if policy.probabilities(policy.memory(3), 1.0).size]


# --- chances -----------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_probabilities_are_those_of_choose(policy: Policy) -> None:
    """Fresh, with a tie for the lead, and after some steps; in both states."""
    memory, draws, size = policy.memory(3), np.random.default_rng(1), 1500
    coins = policy_stream(4, 0)
    for steps in (0, 6, 40):
        for i in range(steps):
            reward = float(i % 3 < 2) if steps == 6 else float(draws.random() < 0.6)
            arm = i % 3 if steps == 6 else int(draws.integers(3))
            policy.update(memory, 1.0, arm, reward, i % 5 == 4, reward)
        for state in (0.0, 1.0):
            chances = policy.probabilities(memory, state)
            assert chances.sum() == pytest.approx(1.0) and chances.min() >= 0.0
            chosen = [policy.choose(memory, state, coins) for _ in range(size)]
            for arm, p in enumerate(chances):
                error = sqrt(p * (1 - p) / size)
                assert abs(chosen.count(arm) / size - p) <= TOLERANCE * error + 1e-12


def test_the_mixture_adds_a_little_of_every_arm() -> None:
    memory = MIXED.memory(3)
    for arm, reward in ((0, 1.0), (1, 0.0), (2, 0.0), (0, 1.0)):
        MIXED.update(memory, 1.0, arm, reward, False, reward)
    np.testing.assert_allclose(MIXED.probabilities(memory, 0.0), [0.8, 0.1, 0.1])
    twice = sj.policies.EpsilonMixture(MIXED, epsilon=0.5)
    np.testing.assert_allclose(twice.probabilities(memory, 0.0), [0.4 + 1 / 6] + [0.05 + 1 / 6] * 2)
    certain = sj.policies.EpsilonMixture(sj.policies.FixedArm(2), epsilon=0)
    assert certain.probabilities(certain.memory(3), 1.0).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: sj.policies.EpsilonMixture(sj.policies.UCB(), epsilon=1.5),
            "epsilon = 1.5 is not allowed: ",
        ),
        (
            lambda: sj.policies.EpsilonMixture("UCB"),
            "policy = 'UCB' is not allowed: it must be a policy",
        ),
        (lambda: sj.policies.Rule([[0.5, 0.6]]), "chances = [[0.5, 0.6]] is not allowed: "),
        (
            lambda: sj.policies.Rule([[1.0], [0.5, 0.5]]),
            "chances = [[1.0], [0.5, 0.5]] is not allowed: ",
        ),
        (lambda: sj.policies.Rule([[-0.5, 1.5]]), "chances = [[-0.5, 1.5]] is not allowed: "),
        (
            lambda: sj.policies.Rule([[float("nan"), 1.0]]),
            "chances = [[nan, 1.0]] is not allowed: ",
        ),
        (lambda: sj.policies.Rule("ab"), "chances = 'ab' is not allowed: "),
        (lambda: sj.policies.Rule([]), "chances = [] is not allowed: "),
        (lambda: RULE.check_arms(2), "chances is not allowed: it has 3 columns for 2 arms"),
        (lambda: sj.policies.EpsilonMixture(RULE).check_arms(2), "chances is not allowed: "),
    ],
)
def test_bad_policy_parameters_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError) as refusal:
        make()
    assert str(refusal.value).startswith(message)


# --- synthetic logs ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("problem", "policy"),
    [(ONE_START, MIXED), (TWO_STATE, RULE), (EMA, MIXED)],
    ids=["mixture", "rule", "ema"],
)
def test_a_log_is_a_run_of_the_simulator(
    problem: sj.Problem, policy: Policy, compiled: Any
) -> None:
    log = synthetic_log(problem, policy, visits=400, seed=11, run=3)
    row = compiled(problem, policy, 11, 3, [400])[0]
    assert (log["reward"].sum(), log["arm"].size) == (row[1], row[2])
    levels = np.minimum(
        (log["state"] * problem.user.space.bins).astype(int), problem.user.space.bins - 1
    )
    pulls = np.bincount(levels * problem.arms + log["arm"], minlength=row.size)
    by_level = 3 + problem.user.space.bins
    np.testing.assert_array_equal(row[by_level:], pulls[: row.size - by_level])


GRADED = sj.Problem(
    rewards=[sj.rewards.Beta(2, 3), sj.rewards.Discrete([0, 0.5, 1], [0.2, 0.3, 0.5]), 0.5],
    user=sj.users.Levels(sj.ByArm.odds(ONE_START.user, [1, 0, 0]), thresholds=[0.5]),
)


def test_a_graded_log_is_a_run_of_the_simulator(
    interpreted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both in plain Python: compiled they are compared above."""
    monkeypatch.setattr(chunks, "run_phase", chunks.run_phase.plain)
    log = synthetic_log(GRADED, RULE, visits=60, seed=11, run=3)
    row = interpreted(GRADED, RULE, 11, 3, [60])[0]
    assert (log["reward"].sum(), log["arm"].size) == (pytest.approx(row[1], rel=1e-12), row[2])
    assert log["reward"].dtype == np.float64
    assert set(log["reward"][log["arm"] == 1]) == {0.0, 0.5, 1.0}
    np.testing.assert_array_equal(log["left"], np.append(np.diff(log["visit"]) > 0, True))
    last = log["left"] == 1
    after = (log["reward"] >= 0.5).astype(float)
    np.testing.assert_array_equal(log["state"][1:][~last[:-1]], after[:-1][~last[:-1]])


def test_departures_after_each_arm_are_those_of_the_user() -> None:
    problem = sj.Problem([0.8, 0.6, 0.4], sj.ByArm.odds(ONE_START.user, [2, 0, -2]))
    log = synthetic_log(problem, RULE, visits=4_000, seed=1)
    for arm in range(3):
        for state in (0, 1):
            for reward in (0, 1):
                here = (log["arm"] == arm) & (log["state"] == state) & (log["reward"] == reward)
                q, n = problem.user.leave_probability(state, reward, arm), here.sum()
                assert n > 0 or RULE.chances[state][arm] == 0.0
                if n:
                    error = sqrt(q * (1 - q) / n)
                    assert abs(log["left"][here].mean() - q) < TOLERANCE * error


def test_graded_rewards_have_no_spread() -> None:
    with pytest.raises(ValueError, match=r"spread = 0.5 is not allowed: .* it must be 0$"):
        synthetic_log(GRADED, RULE, visits=4, spread=0.5)


def test_columns_fit_together() -> None:
    log = synthetic_log(EMA, MIXED, visits=200, seed=1, max_steps=6, users=40)
    last = np.append(np.diff(log["visit"]) > 0, True)
    first = np.append(True, last[:-1])
    assert (log["left"] + log["censored"] == last).all()
    assert (log["step"][first] == 1).all() and (np.diff(log["step"])[~last[:-1]] == 1).all()
    np.testing.assert_array_equal(log["censored"] == 1, log["step"] == 6)
    np.testing.assert_array_equal(log["user"], log["visit"] % 40)
    following = 0.6 * log["state"] + 0.4 * log["reward"]
    np.testing.assert_allclose(log["state"][1:][~last[:-1]], following[:-1][~last[:-1]])
    assert (log["state"][first] == 1.0).all()
    assert set(np.round(log["propensity"], 12)) <= {0.15, 0.5, 0.85}


def test_propensities_are_honest() -> None:
    """Given its chance, an arm is chosen that often: 1 / chance of the arm chosen has mean arms."""
    log = synthetic_log(ONE_START, MIXED, visits=20_000, seed=2)
    for state in (0.0, 1.0):
        ratio = 1.0 / log["propensity"][log["state"] == state]
        assert abs(ratio.mean() - 3) < TOLERANCE * ratio.std() / sqrt(ratio.size)
    for chance in (0.1, 0.8):
        assert np.isclose(log["propensity"], chance).any()


def test_users_differ_by_the_spread() -> None:
    """The mean over normal shifts of the logit, by quadrature; users keep their shift."""
    log = synthetic_log(
        EMA, sj.policies.FixedArm(0), visits=40_000, users=4_000, spread=1.2, seed=3
    )
    first = log["step"] == 1
    wins = np.bincount(log["user"][first], log["reward"][first]) / 10
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    shifted = 1 / (1 + 0.4 / 0.6 * np.exp(-1.2 * nodes))
    mean = np.dot(weights, shifted) / weights.sum()
    assert abs(wins.mean() - mean) < TOLERANCE * wins.std() / sqrt(4_000)
    within = mean - np.dot(weights, shifted**2) / weights.sum()
    between = mean * (1 - mean) - within
    squares = (wins - mean) ** 2
    expected = between + within / 10
    assert abs(squares.mean() - expected) < TOLERANCE * squares.std() / sqrt(4_000)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"visits": 0}, "visits = 0 is not allowed: it must be a whole number of at least 1"),
        ({"visits": 5, "max_steps": 0}, "max_steps = 0 is not allowed: "),
        ({"visits": 5, "users": 0}, "users = 0 is not allowed: "),
        ({"visits": 5, "spread": -1}, "spread = -1 is not allowed: "),
        ({"visits": 5, "policy": sj.policies.FixedArm(7)}, "arm = 7 is not allowed: "),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as refusal:
        synthetic_log(EMA, **{"policy": MIXED, **options})
    assert str(refusal.value).startswith(message)
