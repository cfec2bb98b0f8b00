"""Values where leaving depends on the arm or rewards are graded: enumeration, plain simulation."""

import random
from dataclasses import dataclass
from math import pi, sqrt
from typing import ClassVar

import naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import sojourn as sj
from sojourn.engine.rewards import any_beta
from sojourn.engine.streams import policy_stream
from sojourn.rewards import compiled, gauss_jacobi
from sojourn.users import Space
from sojourn.values import solve

Q = (0.15, 0.08, 0.12, 0.06)
CLICKBAIT = sj.Problem([0.8, 0.6, 0.4], sj.ByArm.odds(sj.TwoState(*Q, start=0), [2, 0, 0]))
MILD = sj.Problem([0.65, 0.6, 0.4], sj.ByArm.odds(sj.TwoState(*Q, start=0), [0.5, 0, 0]))

chances = st.floats(0.02, 1.0)
tables = st.tuples(chances, chances, chances, chances)


def always(problem: sj.Problem, arm: int) -> float:
    """The reward of a visit in which one arm is always played, from the enumeration's solver."""
    rewards = [[(0, 1 - m), (1, m)] for m in problem.means]
    value, _ = naive.rule_value(
        (arm, arm),
        rewards,
        lambda a, s, r: problem.user.leave_probability(s, r, a),
        lambda s, r: int(r),
    )
    return float(value[0])


def test_clickbait_and_its_mild_form() -> None:
    assert [round(always(CLICKBAIT, arm), 2) for arm in (0, 1)] == [2.05, 6.34]
    assert round(CLICKBAIT.value(), 2) == 6.34 == round(MILD.value(), 2)
    assert round(always(MILD, 0), 2) == 4.63
    assert [CLICKBAIT.rule(s) for s in (0, 1)] == [1, 1] == [MILD.rule(s) for s in (0, 1)]
    assert not CLICKBAIT.best_arm_is_optimal and CLICKBAIT.best_arm == 0


@settings(max_examples=40)
@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=3), st.lists(tables, min_size=3))
def test_two_states_by_enumeration(means: list[float], q: list[tuple[float, ...]]) -> None:
    users = [sj.TwoState(*row) for row in q[: len(means)]]
    problem = sj.Problem(means, sj.ByArm(users))
    rewards = [[(0, 1 - m), (1, m)] for m in means]
    value, worth, length = naive.enumerated(
        2, rewards, lambda a, s, r: users[a].leave_probability(s, r, 0), lambda s, r: int(r)
    )
    for s in (0, 1):
        assert problem.value(s) == pytest.approx(float(value[s]), rel=1e-9)
        for a in range(len(means)):
            assert problem.action_value(s, a) == pytest.approx(float(worth[s][a]), rel=1e-9)
            assert problem.gap(s, a) == pytest.approx(float(value[s] - worth[s][a]), abs=1e-9)
            assert problem.values.prices.gap(None, s, a) == pytest.approx(
                problem.gap(s, a), abs=1e-9
            )
    best = [float(max(row)) for row in worth]
    ties = any(
        sum(x >= b - 1e-9 for x in map(float, r)) > 1 for r, b in zip(worth, best, strict=True)
    )
    if not ties:  # several best rules may have visits of different lengths
        assert problem.length.mean == pytest.approx(float(length[1]), rel=1e-9)


def test_a_chain_of_graded_levels_by_enumeration() -> None:
    next_states = [[0, 1, 2], [0, 1, 2], [1, 2, 2]]
    leave = [
        [[0.5, 0.3, 0.1], [0.4, 0.2, 0.1], [0.3, 0.1, 0.05]],
        [[0.2, 0.2, 0.2], [0.6, 0.1, 0.1], [0.1, 0.1, 0.1]],
    ]
    users = [sj.Chain(next=next_states, leave=table) for table in leave]
    user = sj.users.Levels(sj.ByArm(users), thresholds=[0.25, 0.75])
    rewards = [[(0.0, 0.25), (0.25, 0.5), (1.0, 0.25)], [(0.5, 0.5), (0.875, 0.5)]]
    arms = [sj.rewards.Discrete(*zip(*rows, strict=True)) for rows in rewards]
    problem = sj.Problem(rewards=arms, user=user)
    level = [(0.0, 0), (0.25, 1), (0.5, 1), (0.875, 2), (1.0, 2)]
    value, worth, length = naive.enumerated(
        3, rewards,
        lambda a, s, r: leave[a][s][dict(level)[r]], lambda s, r: next_states[s][dict(level)[r]],
    )  # fmt: skip
    assert [problem.value(s) for s in range(3)] == pytest.approx(list(map(float, value)), rel=1e-12)
    gaps = [[float(max(row) - x) for x in row] for row in worth]
    np.testing.assert_allclose(problem.gaps(), gaps, atol=1e-12)
    assert problem.length.mean == pytest.approx(float(length[2]), rel=1e-12)


def plain_visit(problem: sj.Problem, draw: random.Random, reward: object) -> tuple[float, int]:
    """One visit under the best rule, by Python's own generator."""
    user = problem.user
    state, total, steps = user.begin(draw.random()), 0.0, 0
    while True:
        arm = problem.rule(state)
        r = reward(arm)
        total, steps = total + r, steps + 1
        if draw.random() < user.leave_probability(state, r, arm):
            return total, steps
        state = user.next_state(state, r)


@pytest.mark.parametrize("wrap", [lambda u: u, sj.users.StaysFirst])
def test_a_plain_simulation_has_the_same_moments(wrap: type) -> None:
    arms = [sj.rewards.Beta(0.8, 0.6), sj.rewards.Discrete([0, 0.5, 1], [0.2, 0.3, 0.5])]
    user = sj.ByArm([sj.TwoState(0.7, 0.3, 0.6, 0.2), sj.TwoState(0.3, 0.2, 0.4, 0.1)])
    problem = sj.Problem(rewards=arms, user=wrap(sj.users.Levels(user, thresholds=[0.6])))
    draw = random.Random(7)

    def reward(arm: int) -> float:
        if arm == 0:
            return draw.betavariate(0.8, 0.6)
        return draw.choices([0.0, 0.5, 1.0], [0.2, 0.3, 0.5])[0]

    visits = np.array([plain_visit(problem, draw, reward) for _ in range(8_000)])
    for column, moments in zip(visits.T, (problem.reward, problem.length), strict=True):
        error = column.std() / sqrt(column.size)
        assert abs(column.mean() - moments.mean) < 4.5 * error
        squares = (column - column.mean()) ** 2
        assert abs(squares.mean() - moments.variance) < 4.5 * squares.std() / sqrt(column.size)


@pytest.mark.parametrize(
    "problem",
    [
        CLICKBAIT,
        sj.Problem(
            rewards=[sj.rewards.Beta(3, 2), 0.5, sj.rewards.Empirical([0.2, 0.9, 1.0])],
            user=sj.users.Levels(sj.TwoState(0.5, 0.1, 0.3, 0.05), thresholds=[0.5]),
        ),
        sj.Problem(
            rewards=[sj.rewards.Beta(3, 2), 0.5],
            user=sj.ByArm.odds(sj.Ema(theta=0.5, leave=sj.users.LogLeave(c6=50)), [0, -0.5]),
        ),
    ],
    ids=["clickbait", "graded", "graded moving average by arm"],
)
@pytest.mark.filterwarnings("ignore::sojourn.theory.AssumptionWarning")
def test_gaps_and_rewards_tell_the_same_regret(problem: sj.Problem) -> None:
    """The simulator's sum of gaps against its rewards, which know nothing of values."""
    result = sj.simulate(problem, [sj.policies.Uniform()], visits=200, runs=300, seed=3)
    lost, raw = result.regret, result.raw_regret
    error = float(raw.half_width[0, -1]) / 1.96
    assert abs(float(lost.mean[0, -1] - raw.mean[0, -1])) < 4.5 * error
    assert lost.mean[0, -1] > 20 * error / 4.5  # so that the test can see something


def test_the_same_leaving_after_every_arm_is_the_papers_problem() -> None:
    user = sj.TwoState(0.8, 0.2, 0.2, 0.1)
    plain, by_arm = sj.Problem([0.9, 0.8], user), sj.Problem([0.9, 0.8], sj.ByArm([user, user]))
    np.testing.assert_allclose(by_arm.gaps(), plain.gaps(), atol=1e-12)
    assert by_arm.reward == pytest.approx(plain.reward) and by_arm.best_arm_is_optimal
    assert by_arm.length == pytest.approx(plain.length)


def test_moving_averages_by_arm_agree_with_the_papers_solver() -> None:
    user = sj.Ema(theta=0.5, leave=sj.users.LogLeave(c6=100))
    plain = sj.Problem([0.9, 0.8], user)
    by_arm = solve(sj.ByArm([user, user]), plain.rewards)
    for s in (0.0, 0.3, 1.0):
        assert by_arm.value(s) == pytest.approx(plain.value(s), rel=1e-9)
        assert by_arm.gap(s, 1) == pytest.approx(plain.gap(s, 1), rel=1e-7)
        assert by_arm.prices.gap(None, s, 1) == pytest.approx(plain.gap(s, 1), rel=1e-7)


@pytest.mark.parametrize(("a", "b"), [(2, 5), (0.5, 0.5), (0.05, 3), (400, 300), (1, 1), (1e5, 7)])
def test_the_points_of_a_beta(a: float, b: float) -> None:
    """Moments in closed form, and masses below a cut that are known."""
    values, weights = sj.rewards.Beta(a, b).points()
    moment = 1.0
    for k in range(6):
        assert float(weights @ values**k) == pytest.approx(moment, rel=1e-9)
        moment *= (a + k) / (a + b + k)
    masses = {(0.5, 0.5): (0.25, 1 / 3), (1, 1): (0.3, 0.3), (2, 5): (0.5, 1 - 7 / 64)}
    if (a, b) in masses:
        cut, mass = masses[a, b]
        values, weights = sj.rewards.Beta(a, b).points([cut])
        assert weights[values < cut].sum() == pytest.approx(mass, rel=1e-10)


def test_gauss_jacobi_integrates_its_weight() -> None:
    nodes, log_weights = gauss_jacobi(8, -0.5, -0.5)  # Chebyshev
    weights = np.exp(log_weights)
    assert float(weights.sum()) == pytest.approx(pi)
    assert float(weights @ nodes**2) == pytest.approx(pi / 2)


@pytest.mark.parametrize(("a", "b"), [(0.3, 0.7), (2, 5), (0.2, 4)])
def test_beta_rewards_are_beta(a: float, b: float) -> None:
    rng = policy_stream(5, 1)
    drawn = np.array([any_beta(a, b, rng) for _ in range(4_000)])
    mean = a / (a + b)
    deviation = sqrt(a * b / (a + b + 1)) / (a + b)
    assert abs(drawn.mean() - mean) < 4.5 * deviation / sqrt(drawn.size)
    for level in (0.1, 0.5):
        values, weights = sj.rewards.Beta(a, b).points([level])
        p = float(weights[values < level].sum())
        assert abs((drawn < level).mean() - p) < 4.5 * sqrt(p * (1 - p) / drawn.size)


def test_discrete_rewards_have_their_chances() -> None:
    arms = compiled(
        [
            sj.rewards.Discrete([0.1, 0.4, 1], [0.5, 0.2, 0.3]),
            sj.rewards.Empirical([0.3]),
            sj.rewards.Beta(2, 2),
        ]
    )
    rng = policy_stream(2, 0)
    drawn = np.array([arms.reward_of(0, rng) for _ in range(4_000)])
    for value, p in ((0.1, 0.5), (0.4, 0.2), (1.0, 0.3)):
        assert abs((drawn == value).mean() - p) < 4.5 * sqrt(p * (1 - p) / drawn.size)
    assert arms.reward_of(1, rng) == 0.3 and 0 < arms.reward_of(2, rng) < 1


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: sj.Problem([0.5, 0.4], sj.ByArm([sj.TwoState(*Q)] * 3)),
            "the number of its arms is 3, and there are 2",
        ),
        (
            lambda: sj.Problem(rewards=[sj.rewards.Beta(1, 2), 0.4], user=sj.TwoState(*Q)),
            r"give their thresholds, as in Levels\(user, thresholds=\[0.5\]\)",
        ),
        (
            lambda: sj.ByArm([sj.TwoState(*Q), sj.TwoState(*Q, start=0)]),
            r"users\[1\] = .* must start and move",
        ),
        (
            lambda: sj.ByArm([sj.TwoState(*Q), sj.Ema(0.5, sj.users.LogLeave(9))]),
            "must be of one class",
        ),
        (
            lambda: sj.ByArm.odds(sj.users.StaysFirst(sj.TwoState(*Q)), [1, 2]),
            "give ByArm a user for each arm",
        ),
        (lambda: sj.ByArm.odds(sj.TwoState(*Q), [1, 99]), r"odds\[1\] = 99 is not allowed"),
        (
            lambda: sj.users.Levels(sj.TwoState(*Q), [0.2, 0.5]),
            "this user has 2 levels, so give 1 above 0",
        ),
        (
            lambda: sj.users.Levels(sj.users.MovingAverage(0.5), [0.5]),
            "does not follow graded rewards already",
        ),
        (
            lambda: sj.Problem(
                rewards=[{"beta": [1]}, 0.2], user=sj.Ema(0.5, sj.users.LogLeave(9))
            ),
            "give a mean, or beta",
        ),
        (
            lambda: sj.Problem(rewards=[1.5, 0.2], user=sj.TwoState(*Q)),
            r"rewards\[0\] = 1.5 is not allowed",
        ),
        (lambda: sj.Problem([0.1, 0.2], sj.TwoState(*Q), rewards=[0.2]), "give either means"),
        (lambda: sj.rewards.Discrete([0, 1], [0.5, 0.6]), "they must add up to 1"),
        (lambda: sj.rewards.Beta(0, 1), "a = 0 is not allowed"),
        (lambda: sj.rewards.Empirical([]), "sample is not allowed: it is empty"),
        (
            lambda: sj.Problem(
                [0.5, 0.4], sj.ByArm([sj.TwoState(0.1, 0, 0.1, 0), sj.TwoState(0, 0, 0, 0)])
            ),
            "every visit must end",
        ),
    ],
)
def test_what_is_refused(make: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make()


def test_there_is_no_mistake_cost() -> None:
    with pytest.raises(ValueError, match="leaving depends on the arm or rewards are graded"):
        CLICKBAIT.mistake_cost(1)
    assert sj.theory.case(CLICKBAIT) == "by arm"
    reasons = {bound.reason for bound in sj.theory.bounds(CLICKBAIT)}
    assert reasons == {"does not apply, because leaving depends on the arm"}


@dataclass(frozen=True, repr=False)
class Impatient(sj.User):
    """A finite model that takes graded rewards as they are."""

    patience: float = 0.5
    space: ClassVar[Space] = Space(states=1, graded=True)

    def next_state(self, state: float, reward: float) -> float:
        return 0.0

    def leave_probability(self, state: float, reward: float, arm: int) -> float:
        return 1.0 - reward * self.patience


def test_graded_rewards_reach_a_user_by_arm_as_they_are() -> None:
    user = sj.ByArm([Impatient(0.5, start=0), Impatient(0.8, start=0)])
    assert [user.leave_probability(0.0, 0.5, arm) for arm in (0, 1)] == [0.75, 0.6]
    problem = sj.Problem(
        rewards=[sj.rewards.Empirical([0.5]), sj.rewards.Empirical([0.5])], user=user
    )
    assert problem.value() == pytest.approx(0.5 / 0.6)


def test_levels_go_around_users_by_arm() -> None:
    levels = sj.users.Levels(sj.TwoState(*Q), thresholds=[0.5])
    with pytest.raises(ValueError, match="put Levels around ByArm"):
        sj.ByArm([levels, levels])


@pytest.mark.parametrize(
    "base", [sj.TwoState(*Q), sj.Ema(theta=0.5, leave=sj.users.LogLeave(c6=50))]
)
def test_prices_of_a_first_step_that_nobody_leaves(base: sj.User) -> None:
    problem = sj.Problem([0.8, 0.6], sj.users.StaysFirst(sj.ByArm.odds(base, [2, 0])))
    for state in (0.0, 1.0, -1.0, -2.0):
        for arm in (0, 1):
            gap = problem.values.prices.gap(None, state, arm)
            assert gap == pytest.approx(problem.gap(state, arm), abs=1e-5)
    assert problem.rule(-1.0) == 0 != problem.rule(0.0)  # nobody leaves after clickbait there
