"""Values, gaps and visits against closed forms, linear algebra and an independent slow solver."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from sojourn import Ema, Problem, TwoState
from sojourn.problem_files import SETTINGS
from sojourn.users import LogLeave, StaysFirst

MUST_CHEER = TwoState(q00=1, q01=0, q10=0, q11=0)

chance = st.floats(0.0, 1.0)
leaving = st.floats(0.02, 1.0)  # visits of up to some fifty steps


@st.composite
def two_state_problems(draw):
    means = draw(st.lists(chance, min_size=2, max_size=4))
    user = TwoState(*(draw(leaving) for _ in range(4)), start={0: 0.25, 1: 0.75})
    return Problem(means, user)


def q_table(user):
    return np.array([[user.q00, user.q01], [user.q10, user.q11]])


def always(mean, q):
    """V when state s always plays an arm of mean[s]: two linear equations."""
    m = np.broadcast_to(mean, 2)
    stay = np.stack([(1 - m) * (1 - q[:, 0]), m * (1 - q[:, 1])], axis=1)
    return np.linalg.solve(np.eye(2) - stay, m)


def spread(mean, q, reward):
    """Mean and variance of the total reward (or steps) by state, by the law of total variance."""
    p = np.array([1 - mean, mean])
    earn = np.array([0.0, 1.0]) if reward else np.ones(2)
    onward = p * (1 - q)
    total = np.linalg.solve(np.eye(2) - onward, np.full(2, p @ earn))
    square = (onward * (earn + total) ** 2 + p * q * earn**2).sum(axis=1)
    return total, np.linalg.solve(np.eye(2) - onward, square - total**2)


class SlowEma:
    """The best arm for ever, iterated to a fixed point on an even grid in log(1 + c6 s).

    In that variable the leave curve is a straight line; between points, cubic interpolation.
    """

    def __init__(self, mean, c6, theta, points=4001):
        u = np.linspace(0.0, np.log1p(c6), points)
        self.u, self.c6, self.theta, self.mean = u, c6, theta, mean
        s = np.expm1(u) / c6
        s[-1] = 1.0
        self.after = [self.weights((1 - theta) * s + theta * r) for r in (0.0, 1.0)]
        self.value = self.fixed_point(mean)
        self.length = self.fixed_point(1.0)
        v1 = self.onward(self.value, 1)
        self.square = self.fixed_point(mean * (1 + 2 * v1))

    def weights(self, s):
        """Where the four neighbours start, their cubic weights, and the chance to stay."""
        step = self.u[1]
        x = np.log1p(self.c6 * s) / step
        first = np.clip(np.floor(x).astype(int) - 1, 0, self.u.size - 4)
        x = x - first
        cubic = [np.prod([(x - j) / (i - j) for j in range(4) if j != i], axis=0) for i in range(4)]
        return first, np.array(cubic), np.log1p(self.c6 * s) / np.log1p(self.c6)

    def onward(self, f, reward):
        first, cubic, stay = self.after[reward]
        return stay * sum(cubic[i] * f[first + i] for i in range(4))

    def step(self, earned, f):
        return earned + (1 - self.mean) * self.onward(f, 0) + self.mean * self.onward(f, 1)

    def fixed_point(self, earned):
        f = np.zeros_like(self.u)
        while True:
            after = self.step(earned, f)
            if np.abs(after - f).max() <= 1e-13 * after.max():
                return after
            f = after

    def at(self, f, s):
        first, cubic, _ = self.weights(np.array([s]))
        return float(sum(cubic[i] * f[first + i] for i in range(4))[0])

    def cost(self, s):
        before = self.after
        self.after = [
            self.weights(np.array([(1 - self.theta) * s + self.theta * r])) for r in (0, 1)
        ]
        v0, v1 = (float(self.onward(self.value, r)[0]) for r in (0, 1))
        self.after = before
        return 1.0 + v1 - v0


@pytest.mark.parametrize(
    ("name", "v0", "v1", "length", "gap_0", "gap_1"),
    [
        ("A", 90, 99, 110, [10], [1]),
        ("B", 6.368585, 7.418351, 8.2426, [0.566096], [0.258165]),
        ("C", 0.3125, 0.5625, 2.8125, [0.15625], [0.125]),
        ("D", 90, 99, 110, [10, 40], [1, 4]),
        ("opposite", 1.849840, 2.444089, None, [0.154153], [0.237780]),
    ],
)
def test_two_state_facts(name, v0, v1, length, gap_0, gap_1):
    problem = SETTINGS[name]
    assert [problem.value(0), problem.value(1)] == pytest.approx([v0, v1], abs=6e-7)
    assert problem.value() == problem.value(1)
    np.testing.assert_allclose(problem.gaps(), [[0, *gap_0], [0, *gap_1]], atol=6e-7)
    if length is not None:
        assert problem.length.mean == pytest.approx(length, abs=6e-5)
    assert problem.best_arm_is_optimal


@pytest.mark.parametrize(
    ("name", "v0", "v1", "gap_0", "gap_75", "gap_1"),
    [
        ("ema-1000", 38.383688, 50.648542, 4.264854, 1.102327, 1),
        ("ema-100", 24.781615, 35.535127, 2.753513, 1.084700, 1),
        ("ema-low", 0.350085, 1.000425, 0.175042, 0.127597, 0.125),
    ],
)
def test_moving_average_facts(name, v0, v1, gap_0, gap_75, gap_1):
    problem = SETTINGS[name]
    assert [problem.value(0), problem.value(1)] == pytest.approx([v0, v1], abs=6e-7)
    found = problem.gaps([0, 0.75, 1])[:, 1]
    np.testing.assert_allclose(found, [gap_0, gap_75, gap_1], atol=6e-7)


@pytest.mark.parametrize(
    ("mean", "c6", "theta"),
    [(0.9, 1000, 0.5), (0.9, 100, 0.5), (0.2, 1000, 0.5), (0.9, 5, 0.5), (0.6, 50, 0.37),
     (0.1, 1e6, 0.3)],
)  # fmt: skip
def test_moving_average_against_a_slow_solver(mean, c6, theta):
    """The last one once came back with an error of 2e-5, its panels all halved at once."""
    problem = Problem([mean, mean / 2], Ema(theta=theta, leave=LogLeave(c6=c6)))
    slow = SlowEma(mean, c6, theta)
    assert problem.values.error < 1e-10
    for s in (0.0, 1e-6, 1e-3, 0.1, 0.25, 1 / 3, 0.5, 0.75, 0.9, 1.0):
        assert problem.value(s) == pytest.approx(slow.at(slow.value, s), rel=1e-8)
        assert problem.mistake_cost(s) == pytest.approx(slow.cost(s), rel=1e-8)
    assert problem.length.mean == pytest.approx(slow.length[-1], rel=1e-8)
    variance = slow.square[-1] - slow.value[-1] ** 2
    assert problem.reward.variance == pytest.approx(variance, rel=1e-7)


@pytest.mark.parametrize(
    ("name", "sd", "rough", "stated"),
    [
        ("A", 99.4987, 99.4987, 8.73),
        ("B", 7.1143, 7.1143, 0.63),
        ("ema-1000", 50.4661, 50.51, 4.43),
        ("ema-100", 35.3949, 35.25, 3.11),
        ("ema-low", 1.33186, 1.332, 0.12),
    ],
)
def test_the_half_widths_of_the_paper_are_the_noise_of_rewards(name, sd, rough, stated):
    """`rough` comes from simulation; `stated` is the paper's, for 2e4 visits and 1e7 runs."""
    found = SETTINGS[name].reward.std
    assert found == pytest.approx(sd, rel=1e-5)
    assert found == pytest.approx(rough, rel=5e-3)
    half_width = 1.959964 * found * np.sqrt(2e4) / np.sqrt(1e7)
    assert 0.97 * stated <= half_width <= stated


@given(best=st.floats(0.01, 0.98), share=st.floats(0.0, 0.99))
def test_closed_forms_of_the_paper(best, share):
    """q00 = 1, the rest 0: gap(1) = delta / (1 - mu), gap(0) = delta / (1 - mu)^2."""
    problem = Problem([best * share, best], MUST_CHEER)
    delta = best * (1 - share)
    assert problem.gap(1, 0) == pytest.approx(delta / (1 - best), rel=1e-9)
    assert problem.gap(0, 0) == pytest.approx(delta / (1 - best) ** 2, rel=1e-9)
    assert problem.value(1) == pytest.approx(best * (2 - best) / (1 - best) ** 2, rel=1e-9)
    assert problem.value(0) == pytest.approx(best / (1 - best) ** 2, rel=1e-9)


@given(problem=two_state_problems())
def test_bellman_equation(problem):
    """V is the best of all actions, and no stationary rule does better."""
    q = q_table(problem.user)
    value = np.array([problem.value(0), problem.value(1)])
    for s in (0, 1):
        stay = 1 - q[s]
        actions = [m + (1 - m) * stay[0] * value[0] + m * stay[1] * value[1] for m in problem.means]
        assert value[s] == pytest.approx(max(actions), rel=1e-11, abs=1e-12)
        for a, worth in enumerate(actions):
            assert problem.action_value(s, a) == pytest.approx(worth, rel=1e-11, abs=1e-12)
            assert problem.gap(s, a) == pytest.approx(max(actions) - worth, abs=1e-10)
        assert problem.gap(s, problem.rule(s)) == pytest.approx(0.0, abs=1e-12)
    rules = [always(np.array(pair), q) for pair in product(problem.means, repeat=2)]
    np.testing.assert_allclose(value, np.max(rules, axis=0), rtol=1e-10, atol=1e-12)


@given(problem=two_state_problems())
def test_moments_and_starts(problem):
    assume(problem.best_arm_is_optimal)
    q, best = q_table(problem.user), max(problem.means)
    for reward, found in ((True, problem.reward), (False, problem.length)):
        mean, variance = spread(best, q, reward)
        start = np.array([0.25, 0.75])
        assert found.mean == pytest.approx(start @ mean, rel=1e-10)
        total = start @ (variance + mean**2) - (start @ mean) ** 2
        assert found.variance == pytest.approx(total, rel=1e-8, abs=1e-10)
        assert found.std == pytest.approx(found.variance**0.5)
    assert problem.value() == problem.reward.mean


@given(q=st.floats(0.02, 1.0), mean=st.floats(0.1, 0.9))
def test_leaving_that_ignores_rewards(q, mean):
    """Steps are geometric, and the reward is a sum of that many coins."""
    problem = Problem([mean, mean / 2], TwoState(q, q, q, q))
    assert problem.length.mean == pytest.approx(1 / q)
    assert problem.length.variance == pytest.approx((1 - q) / q**2, abs=1e-9)
    assert problem.reward.mean == pytest.approx(mean / q)
    variance = mean * (1 - mean) / q + mean**2 * (1 - q) / q**2
    assert problem.reward.variance == pytest.approx(variance, rel=1e-9)
    assert problem.mistake_cost(0) == pytest.approx(1.0)
    flat = Problem([mean, mean / 2], Ema(theta=0.3, leave=lambda s: 0.25))
    assert flat.value(0.4) == pytest.approx(4 * mean, rel=1e-10)


@given(base=two_state_problems())
@settings(max_examples=50)
def test_first_step_that_nobody_leaves(base):
    """Against a chain of four states: two for the first step, two as before."""
    problem = Problem(base.means, StaysFirst(base.user))
    q = np.vstack([q_table(base.user), np.zeros((2, 2))])
    best = max(base.means)
    onward = np.zeros((4, 4))
    onward[:, :2] = np.array([1 - best, best]) * (1 - q)
    value = np.linalg.solve(np.eye(4) - onward, np.full(4, best))
    assume(base.best_arm_is_optimal)
    assume(1 + value[1] - value[0] >= 0)
    assert problem.value(0) == pytest.approx(value[0])
    assert problem.value(-1) == pytest.approx(value[2])
    assert problem.value(-2) == pytest.approx(value[3])
    assert problem.mistake_cost(-1) == pytest.approx(1 + value[1] - value[0])
    assert problem.reward.mean == pytest.approx(0.25 * value[2] + 0.75 * value[3])
    length = np.linalg.solve(np.eye(4) - onward, np.ones(4))
    square = np.linalg.solve(np.eye(4) - onward, 1 + 2 * onward @ length)
    assert problem.length.mean == pytest.approx(0.25 * length[2] + 0.75 * length[3])
    total = 0.25 * square[2] + 0.75 * square[3] - problem.length.mean**2
    assert problem.length.variance == pytest.approx(total, rel=1e-8, abs=1e-10)


ASSISTMENTS_2015 = Problem(
    [0.9046121593291404, 0.481029810298103],
    TwoState(
        q00=0.13300374770751933,
        q01=0.016945458508145807,
        q10=0.10642088141894508,
        q11=0.4360519407297778,
    ),
)
"""Fitted to the public ASSISTments 2015 log (131,458 answers): users leave after success."""


def test_a_real_log_in_which_the_best_arm_is_not_optimal():
    problem = ASSISTMENTS_2015
    high, low = problem.means
    q = q_table(problem.user)
    best = always(high, q)
    assert best == pytest.approx([3.339914, 2.427897], abs=1e-6)
    cost = 1 + (1 - q[:, 1]) * best[1] - (1 - q[:, 0]) * best[0]
    assert cost == pytest.approx([0.491062, -0.615269], abs=1e-6)

    assert not problem.best_arm_is_optimal
    assert [problem.rule(0), problem.rule(1)] == [0, 1]
    assert [problem.value(0), problem.value(1)] == pytest.approx(always(np.array([high, low]), q))
    assert problem.value(1) == pytest.approx(3.36, abs=5e-3)
    assert problem.mistake_cost(1) == pytest.approx(-0.89754, abs=1e-5)  # against the true optimum
    assert (problem.gaps() >= 0).all()
    assert problem.gap(1, 0) > 0 == problem.gap(1, 1)


@pytest.mark.parametrize(
    ("means", "user"),
    [
        ([0.9, 0.8], TwoState(0, 0, 0, 0)),
        ([1.0, 0.8], TwoState(0.5, 0.5, 0.5, 0)),
        ([0.9, 0.0], TwoState(0, 0.5, 0.5, 0.5)),  # the worst arm keeps users for ever
        ([0.5, 0.4], TwoState(1e-13, 1e-13, 1e-13, 1e-13)),
        ([0.9, 0.8], Ema(theta=0.5, leave=lambda s: 0.0)),
        ([1.0, 0.8], Ema(theta=0.5, leave=LogLeave(c6=10))),
        ([1.0, 0.8], StaysFirst(TwoState(0.5, 0.5, 0.5, 0))),
    ],
)
def test_visits_that_may_never_end_are_refused(means, user):
    with pytest.raises(ValueError, match="every visit must end"):
        Problem(means, user)


def test_transition_table_of_two_states():
    problem = SETTINGS["B"]
    np.testing.assert_allclose(
        problem.transition_matrix(1),
        [
            [0.2 * 0.2, 0.8 * 0.8, 0.2 * 0.8 + 0.8 * 0.2],
            [0.2 * 0.8, 0.8 * 0.9, 0.2 * 0.2 + 0.8 * 0.1],
            [0, 0, 1],
        ],
    )


def test_transition_table_of_a_moving_average():
    problem = SETTINGS["ema-100"]

    def stay(s):
        return np.log(100 * s + 1) / np.log(101)

    bad, good, gone = problem.transitions(0.4, 1)
    assert bad == (pytest.approx(0.2), pytest.approx(0.2 * stay(0.2)))
    assert good == (pytest.approx(0.7), pytest.approx(0.8 * stay(0.7)))
    assert gone == (None, pytest.approx(0.2 * (1 - stay(0.2)) + 0.8 * (1 - stay(0.7))))


def test_answers_are_plain_floats():
    for name in ("A", "ema-100"):
        problem = SETTINGS[name]
        answers = [problem.value(1), problem.gap(0, 1), problem.mistake_cost(0), problem.value()]
        assert {type(x) for x in answers} == {float}
