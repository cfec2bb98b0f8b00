"""Means that depend on the state: values by enumeration, and the simulator against its twin."""

import pickle
from itertools import product

import naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import sojourn as sj
from sojourn import problem_files
from sojourn.simulation.chunks import chunk
from sojourn.theory import AssumptionWarning

Q = (0.1, 0.1, 0.6, 0.02)
SAME_ORDER = sj.Problem([[0.45, 0.8], [0.35, 0.7], [0.25, 0.6]], sj.TwoState(*Q))
CROSSING = sj.Problem([[0.3, 0.8], [0.4, 0.6], [0.25, 0.6]], sj.TwoState(*Q))

chances = st.floats(0.02, 1.0)


class World(naive.Environment):
    """The n-th draw of an arm decides its n-th pull, whatever the state it is made in."""

    def __init__(self, mu: list[list[float]], user: naive.TwoStateUser, seed: int, run: int):
        super().__init__([0.0] * len(mu), user, seed, run)
        self.by_state = mu

    def play(self, S: float, a: int) -> tuple[int, bool]:
        self.mu[a] = self.by_state[a][int(S)]
        return super().play(S, a)


def value_of(rule: tuple[int, int], means: list[tuple[float, float]], q: tuple[float, ...]):
    """The value of a rule, from its two equations."""
    matrix, right = np.eye(2), np.zeros(2)
    for s in (0, 1):
        m = means[rule[s]][s]
        matrix[s, 0] -= (1 - m) * (1 - q[2 * s])
        matrix[s, 1] -= m * (1 - q[2 * s + 1])
        right[s] = m
    return np.linalg.solve(matrix, right)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=3),
    st.tuples(chances, chances, chances, chances),
)
def test_values_by_enumeration(
    means: list[tuple[float, float]], q: tuple[float, float, float, float]
) -> None:
    problem = sj.Problem(means, sj.TwoState(*q))
    rules = product(range(len(means)), repeat=2)
    best = np.max([value_of(rule, means, q) for rule in rules], axis=0)
    for s in (0, 1):
        assert problem.value(s) == pytest.approx(best[s], rel=1e-9)
        for a, by_state in enumerate(means):
            m = by_state[s]
            after = (1 - q[2 * s]) * best[0], (1 - q[2 * s + 1]) * best[1]
            worth = m + (1 - m) * after[0] + m * after[1]
            assert problem.action_value(s, a) == pytest.approx(worth, rel=1e-9, abs=1e-12)
            assert problem.gap(s, a) == pytest.approx(best[s] - worth, abs=1e-9)
            assert problem.values.prices.gap(None, s, a) == pytest.approx(best[s] - worth, abs=1e-9)
        cost = 1 + (1 - q[2 * s + 1]) * best[1] - (1 - q[2 * s]) * best[0]
        assert problem.mistake_cost(s) == pytest.approx(cost, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("problem", [SAME_ORDER, CROSSING])
@pytest.mark.parametrize(("seed", "run"), [(0, 0), (7, 3)])
def test_the_simulator_plays_as_its_twin(problem: sj.Problem, seed: int, run: int) -> None:
    mu = [arm.described() for arm in problem.rewards]
    q = {(s, r): Q[2 * s + r] for s in (0, 1) for r in (0, 1)}
    world = World(mu, naive.TwoStateUser(q), seed, run)
    decisions = naive.run(naive.kl_ucb(0), world, 300, naive.first)
    policy, grid = sj.policies.KLUCB(random_ties=False), np.array([300])
    for leases in (True, False):
        out = chunk(problem, policy, seed, run, 1, grid, leases=leases)[0, -1]
        assert out[1] == sum(R for _, _, R, _ in decisions)
        assert out[2] == len(decisions)
        assert out[0] == pytest.approx(sum(problem.gap(S, A) for S, A, _, _ in decisions))
        for level, arm in product((0, 1), range(3)):
            times = sum((S, A) == (level, arm) for S, A, _, _ in decisions)
            assert out[5 + 3 * level + arm] == times


@pytest.mark.filterwarnings("ignore::sojourn.theory.AssumptionWarning")
def test_regret_from_gaps_is_the_reward_lost() -> None:
    found = sj.simulate(CROSSING, [sj.policies.UCB(), sj.policies.IMED()], visits=300, runs=400)
    regret, raw = found.regret, found.raw_regret
    error = np.hypot(regret.std_error[:, -1], raw.std_error[:, -1])
    assert (np.abs(regret.mean[:, -1] - raw.mean[:, -1]) < 4.5 * error).all()
    assert (regret.mean[:, -1] > 10 * regret.std_error[:, -1]).all()


def test_one_mean_in_every_state_is_the_plain_problem() -> None:
    plain = sj.Problem([0.6, 0.5], sj.TwoState(*Q))
    same = sj.Problem([[0.6, 0.6], 0.5], sj.TwoState(*Q))
    assert same.value() == pytest.approx(plain.value(), rel=1e-12)
    assert same.gaps() == pytest.approx(plain.gaps(), abs=1e-12)
    with pytest.warns(AssumptionWarning, match="rewards depend on the state"):
        one = sj.simulate(same, [sj.policies.KLUCB()], visits=200, runs=8, seed=3)
    with pytest.warns(AssumptionWarning, match="q00 >= q10"):
        other = sj.simulate(plain, [sj.policies.KLUCB()], visits=200, runs=8, seed=3)
    assert (one.pulls.mean == other.pulls.mean).all()


def test_the_first_step_of_its_own_has_the_mean_of_its_state() -> None:
    user = sj.users.StaysFirst(sj.TwoState(*Q, start=0))
    problem = sj.Problem([[0.3, 0.8], [0.4, 0.6]], user)
    assert problem.transitions(-1.0, 1)[1] == (1.0, pytest.approx(0.4))
    assert chunk(problem, sj.policies.FixedArm(1), 0, 0, 1, np.array([50]))[0, -1, 0] > 0.0


def test_files_pickles_and_words() -> None:
    assert problem_files.from_dict(problem_files.to_dict(CROSSING)) == CROSSING
    assert pickle.loads(pickle.dumps(CROSSING)) == CROSSING
    assert eval(repr(CROSSING), {"Problem": sj.Problem, "TwoState": sj.TwoState}) == CROSSING
    assert sj.theory.case(CROSSING) == "by state"
    assert not CROSSING.best_arm_is_optimal
    assert SAME_ORDER.best_arm_is_optimal
    assert "[0.3, 0.8]" in CROSSING._repr_html_()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: sj.Problem([[0.3, 0.8, 0.1], 0.5], sj.TwoState(*Q)), r"means\[0\].*2 states"),
        (lambda: sj.Problem([[0.3, 1.8], 0.5], sj.TwoState(*Q)), r"means\[0\]\[1\] = 1.8"),
        (
            lambda: sj.Problem([[0.3, 0.8], 0.5], sj.Ema(0.5, sj.users.LogLeave(c6=100))),
            "fill \\[0, 1\\]",
        ),
        (
            lambda: sj.Problem(
                rewards=[[0.3, 0.8], sj.rewards.Beta(2, 3)],
                user=sj.users.Levels(sj.TwoState(*Q), thresholds=[0.5]),
            ),
            "some are graded and some depend on the state",
        ),
    ],
)
def test_what_is_refused(make, sentence: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(sj.InputError, match=sentence):
        make()
