"""Problems: what is refused and how, arms in any order, the best rule."""

import pickle
from collections.abc import Callable

import numpy as np
import pytest

import sojourn as sj
from sojourn.paper import SETTINGS

HARSH = sj.TwoState(q00=1, q01=0, q10=0, q11=0)


@pytest.mark.parametrize(
    ("means", "sentence"),
    [
        ([0.5], "means = [0.5] is not allowed: give at least two arms"),
        ([], "means = [] is not allowed: give at least two arms"),
        ([0.5, 1.5], "means[1] = 1.5 is not allowed: it must be a number from 0 to 1"),
        ([-0.1, 0.5], "means[0] = -0.1 is not allowed: it must be a number from 0 to 1"),
        ([0.5, float("nan")], "means[1] = nan is not allowed: it must be a number from 0 to 1"),
        ([0.5, "0.4"], "means[1] = '0.4' is not allowed: it must be a number from 0 to 1"),
        ([True, 0.4], "means[0] = True is not allowed: it must be a number from 0 to 1"),
    ],
)
def test_bad_means(means: list, sentence: str) -> None:
    with pytest.raises(ValueError) as refusal:
        sj.Problem(means, HARSH)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize("user", [None, "A", 0.5, sj.policies.UCB(), sj.users.LogLeave(c6=5)])
def test_bad_user(user: object) -> None:
    with pytest.raises(ValueError) as refusal:
        sj.Problem([0.9, 0.8], user)
    assert str(refusal.value) == f"user = {user!r} is not allowed: it must be a user model"


@pytest.mark.parametrize(
    ("means", "user"),
    [
        ([0.5, 0.4], lambda: sj.TwoState(q00=0, q01=0, q10=0, q11=0)),
        ([1.0, 0.4], lambda: HARSH),
        ([0.4, 1.0], lambda: HARSH),
        ([0.4, 0.0], lambda: sj.TwoState(q00=0, q01=0.5, q10=0.5, q11=0.5)),  # by the worst arm
        ([0.5, 0.4], lambda: sj.Ema(theta=0.5, leave=lambda s: 0.0)),
        ([1.0, 0.4], lambda: sj.Ema(theta=0.5, leave=sj.users.LogLeave(c6=5))),
        ([1.0, 0.4], lambda: sj.users.StaysFirst(HARSH)),
    ],
)
def test_someone_can_stay_for_ever(means: list[float], user: Callable[[], sj.User]) -> None:
    with pytest.raises(ValueError, match="is not allowed: every visit must end") as refusal:
        sj.Problem(means, user())
    assert str(refusal.value).startswith("Problem(means=(")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", ["A", "B", "D", "opposite", "ema-low"])
def test_arms_in_any_order(name: str) -> None:
    problem = SETTINGS[name]
    turned = sj.Problem(problem.means[::-1], problem.user)
    assert turned.best_arm == problem.arms - 1
    states = [0.0, 1.0]
    np.testing.assert_allclose(turned.gaps(states), problem.gaps(states)[:, ::-1])
    assert turned.value(0) == pytest.approx(problem.value(0), rel=1e-12)
    assert turned.length.mean == pytest.approx(problem.length.mean, rel=1e-12)


def test_rule_is_the_best_arm_where_lemma_1_holds() -> None:
    problem = sj.Problem([0.1, 0.3, 0.2], SETTINGS["B"].user)
    assert problem.best_arm_is_optimal
    assert [problem.rule(s) for s in (0, 1)] == [1, 1]


def test_rule_where_the_worst_arm_is_best() -> None:
    """A good item in state 1 sends this user away, a bad one never does."""
    problem = sj.Problem([0.1, 0.9, 0.5], sj.TwoState(q00=0.05, q01=0.0, q10=0.0, q11=1.0))
    assert not problem.best_arm_is_optimal
    assert [problem.rule(s) for s in (0, 1)] == [1, 0]
    assert problem.mistake_cost(1) < 0.0 < problem.mistake_cost(0)
    gaps = problem.gaps()
    assert gaps.min() == 0.0
    assert gaps[1, 0] == 0.0 and gaps[0, 1] == 0.0
    for state in (0, 1):
        best = max(problem.action_value(state, arm) for arm in range(3))
        assert problem.value(state) == pytest.approx(best, rel=1e-12)


def test_value_without_a_state_is_over_the_starts() -> None:
    user = sj.TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1, start={0: 0.25, 1: 0.75})
    problem = sj.Problem([0.9, 0.8], user)
    assert problem.value() == pytest.approx(0.25 * problem.value(0) + 0.75 * problem.value(1))


def test_transitions_add_up() -> None:
    for problem in SETTINGS.values():
        for arm in range(problem.arms):
            rows = problem.transitions(1.0, arm)
            assert sum(p for _, p in rows) == pytest.approx(1.0, abs=1e-15)
    matrix = SETTINGS["B"].transition_matrix(0)
    np.testing.assert_allclose(
        matrix, [[0.02, 0.72, 0.26], [0.08, 0.81, 0.11], [0.0, 0.0, 1.0]], atol=1e-12
    )
    with pytest.raises(ValueError, match="finitely many states"):
        SETTINGS["ema-low"].transition_matrix(0)
    with pytest.raises(ValueError, match="states = None is not allowed"):
        SETTINGS["ema-low"].gaps()


@pytest.mark.parametrize("name", ["A", "D", "ema-100"])
def test_pickle_and_repr(name: str) -> None:
    problem = SETTINGS[name]
    copy = pickle.loads(pickle.dumps(problem))
    assert copy == problem and hash(copy) == hash(problem)
    assert copy.value(1) == problem.value(1)
    assert eval(repr(problem), vars(sj.users) | {"Problem": sj.Problem}) == problem


def test_problems_do_not_change() -> None:
    with pytest.raises(AttributeError):
        SETTINGS["A"].means = (0.1, 0.2)
    means = [0.9, 0.8]
    problem = sj.Problem(means, HARSH)
    means[0] = 0.0
    assert problem.means == (0.9, 0.8)


@pytest.mark.parametrize("means", [0.5, "0.9", None])
def test_means_must_be_a_list(means: object) -> None:
    with pytest.raises(ValueError, match="give a list of numbers"):
        sj.Problem(means, HARSH)
