"""User models: what they refuse, how they begin, move and leave, and one written by a reader."""

import importlib
import json
import pickle
from pathlib import Path
from types import ModuleType

import gymnasium
import numpy as np
import pytest
from small import refused

import sojourn as sj
import sojourn.users
from sojourn import gym, problem_files  # noqa: F401 - gym registers environments
from sojourn.live.states import describe, from_description, live_model, states_in_words
from sojourn.users import FunctionLeave, Start

EXAMPLES = Path(__file__).parents[2] / "examples"
HARSH = sj.TwoState(q00=1, q01=0, q10=0, q11=0)


def steep(state: float) -> float:
    return 0.3 - 0.2 * state * state


@pytest.mark.parametrize("name", ["q00", "q01", "q10", "q11"])
@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), "0.5", None, True])
def test_two_state_refuses(name: str, value: object) -> None:
    good = {"q00": 0.5, "q01": 0.5, "q10": 0.5, "q11": 0.5}
    message = refused(lambda: sj.TwoState(**{**good, name: value}))
    assert message == f"{name} = {value!r} is not allowed: it must be a number from 0 to 1"


@pytest.mark.parametrize("theta", [0, 1, -0.5, 1.5, float("nan"), "half"])
def test_ema_refuses_theta(theta: object) -> None:
    message = refused(lambda: sj.Ema(theta=theta, leave=sj.users.LogLeave(c6=5)))
    assert message == (
        f"theta = {theta!r} is not allowed: it must be a number strictly between 0 and 1"
    )


@pytest.mark.parametrize("c6", [0, -1, float("nan"), float("inf")])
def test_log_leave_refuses(c6: float) -> None:
    message = refused(lambda: sj.users.LogLeave(c6=c6))
    assert message == f"c6 = {c6!r} is not allowed: it must be a number greater than 0"


def test_ema_refuses_what_is_no_curve() -> None:
    assert refused(lambda: sj.Ema(theta=0.5, leave=0.3)).startswith("leave = 0.3 is not allowed")
    too_sure = refused(lambda: sj.Ema(theta=0.5, leave=lambda s: 2.0 - s))
    assert too_sure == "leave(0) = 2.0 is not allowed: it must be a number from 0 to 1"
    late = refused(lambda: sj.Ema(theta=0.5, leave=lambda s: 0.5 if s < 0.7 else -1.0))
    assert late == "leave(0.7) = -1.0 is not allowed: it must be a number from 0 to 1"


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        (2, "start = 2 is not allowed: it must be a number from 0 to 1"),
        (-1, "start = -1 is not allowed: it must be a number from 0 to 1"),
        ("1", "start = '1' is not allowed: it must be a number from 0 to 1"),
        (0.5, "start = 0.5 is not allowed: it must be a whole number from 0 to 1"),
        ({}, "start = {} is not allowed: its probabilities must add up to 1"),
        ({0: 0.5, 1: 0.6}, "is not allowed: its probabilities must add up to 1"),
        ({0: 1.5, 1: -0.5}, "start[0] = 1.5 is not allowed: it must be a number from 0 to 1"),
    ],
)
def test_bad_starts(start: object, sentence: str) -> None:
    message = refused(lambda: sj.TwoState(q00=1, q01=0, q10=0, q11=0, start=start))
    assert message.endswith(sentence)


def test_stays_first_refuses() -> None:
    for bad in (None, 0.5, sj.users.StaysFirst(HARSH)):
        message = refused(lambda bad=bad: sj.users.StaysFirst(bad))
        assert message == f"user = {bad!r} is not allowed: it must be another user model"


def test_two_state_table() -> None:
    user = sj.TwoState(q00=0.4, q01=0.3, q10=0.2, q11=0.1)
    table = {(s, r): user.leave_probability(s, r, 0) for s in (0.0, 1.0) for r in (0.0, 1.0)}
    assert table == {(0, 0): 0.4, (0, 1): 0.3, (1, 0): 0.2, (1, 1): 0.1}
    assert [user.next_state(s, r) for s in (0.0, 1.0) for r in (0.0, 1.0)] == [0, 1, 0, 1]
    assert (user.space.states, user.space.bins, user.begin(0.99)) == (2, 2, 1.0)


@pytest.mark.parametrize("theta", [0.5, 0.3])
def test_ema_moves_then_leaves(theta: float) -> None:
    user = sj.Ema(theta=theta, leave=steep)
    state = 1.0
    for reward in (0.0, 0.0, 1.0, 0.0, 1.0):
        onward = state * (1 - theta) + theta * reward
        assert user.next_state(state, reward) == pytest.approx(onward, rel=1e-15)
        assert user.leave_probability(state, reward, 0) == pytest.approx(steep(onward), rel=1e-15)
        state = onward
    assert user.experience(state) == state


def test_log_leave_is_the_papers_curve() -> None:
    for c6 in (5.0, 1000.0):
        for s in (0.0, 0.1, 0.5, 1.0):
            paper = 1 - np.log(c6 * s + 1) / np.log(c6 + 1)
            assert sj.users.LogLeave(c6=c6).probability(s) == pytest.approx(paper, abs=1e-15)


@pytest.mark.parametrize(
    "user", [HARSH, sj.Ema(theta=0.5, leave=sj.users.LogLeave(c6=1000), start=0.6)]
)
def test_stays_first(user: sj.User) -> None:
    shy = sj.users.StaysFirst(user)
    assert shy.space == user.space
    start, marked = user.begin(0.5), shy.begin(0.5)
    assert marked < 0.0
    assert shy.experience(marked) == pytest.approx(start)
    for reward in (0.0, 1.0):
        assert shy.leave_probability(marked, reward, 0) == 0.0
        assert shy.next_state(marked, reward) == pytest.approx(user.next_state(start, reward))
        for later in (0.0, 1.0):
            assert shy.leave_probability(later, reward, 0) == user.leave_probability(
                later, reward, 0
            )
            assert shy.next_state(later, reward) == user.next_state(later, reward)


def test_stays_first_is_worth_more() -> None:
    plain = sj.TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1)
    problem, shy = (sj.Problem([0.9, 0.8], u) for u in (plain, sj.users.StaysFirst(plain)))
    expected = 0.9 + 0.9 * problem.value(1) + 0.1 * problem.value(0)
    assert shy.value() == pytest.approx(expected, rel=1e-12)


def test_starts_have_their_frequencies() -> None:
    table = {0.0: 0.2, 0.5: 0.3, 1.0: 0.5}
    user = sj.Ema(theta=0.5, leave=steep, start=table)
    size = 20_000
    drawn = [user.begin(float(u)) for u in np.random.default_rng(5).random(size)]
    for state, chance in table.items():
        error = np.sqrt(chance * (1 - chance) / size)
        assert abs(drawn.count(state) / size - chance) < 4.5 * error
    assert user.begin(0.0) == 0.0
    assert user.begin(1.0 - 2**-53) == 1.0
    assert [user.begin(u) for u in (0.19, 0.21, 0.49, 0.51)] == [0.0, 0.5, 0.5, 1.0]


def test_starts_in_a_simulation(compiled) -> None:
    """Users who leave at once show where they began."""
    problem = sj.Problem(
        [0.9, 0.8], sj.TwoState(q00=1, q01=1, q10=1, q11=1, start={0: 0.3, 1: 0.7})
    )
    visits = 20_000
    row = compiled(problem, sj.policies.FixedArm(), 3, 0, [visits])[0]
    assert row[2] == visits
    pulls = row[5:].reshape(2, 2)
    assert abs(pulls[0, 0] / visits - 0.3) < 4.5 * np.sqrt(0.21 / visits)


def test_start_reads_back() -> None:
    assert Start.of(1) == Start.of(1.0) == Start.of(Start.of({1: 1.0}))
    for user in (
        sj.TwoState(0.1, 0.2, 0.3, 0.4),
        sj.TwoState(0.1, 0.2, 0.3, 0.4, start=0),
        sj.TwoState(0.1, 0.2, 0.3, 0.4, start={0: 0.5, 1: 0.5}),
        sj.Ema(theta=0.3, leave=sj.users.LogLeave(c6=7.5), start={0.25: 0.5, 1: 0.5}),
        sj.users.StaysFirst(sj.TwoState(0.1, 0.2, 0.3, 0.4, start=0)),
    ):
        assert eval(repr(user), vars(sj.users)) == user
        assert pickle.loads(pickle.dumps(user)) == user


def test_a_curve_survives_pickling() -> None:
    user = sj.Ema(theta=0.5, leave=steep)
    assert isinstance(user.leave, FunctionLeave)
    assert repr(user) == "Ema(theta=0.5, leave=FunctionLeave(steep))"
    copy = pickle.loads(pickle.dumps(user))
    assert copy.leave_probability(0.5, 1.0, 0) == user.leave_probability(0.5, 1.0, 0)


@pytest.fixture(scope="module")
def example() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLES)
        return importlib.import_module("own_user")


def test_own_user_is_solved(example: ModuleType) -> None:
    """V of always the best arm, from a linear system written out by hand."""
    user = example.Impatient(bored=0.02, step=0.2)
    problem = sj.Problem([0.4, 0.7, 0.6], user)
    matrix, right = np.eye(4), np.full(4, 0.7)
    for bad in range(4):
        matrix[bad, 0] -= 0.7 * 0.98
        matrix[bad, min(bad + 1, 3)] -= 0.3 * (1 - 0.2 * (bad + 1))
    V = np.linalg.solve(matrix, right)
    np.testing.assert_allclose([problem.value(s) for s in range(4)], V, rtol=1e-12)
    cost = [1 + 0.98 * V[0] - (1 - 0.2 * (s + 1)) * V[min(s + 1, 3)] for s in range(4)]
    np.testing.assert_allclose([problem.mistake_cost(s) for s in range(4)], cost, rtol=1e-12)
    assert problem.value() == problem.value(0)


def test_own_user_may_start_anywhere(example: ModuleType) -> None:
    user = example.Impatient(bored=0.02, step=0.2, start={0: 0.5, 3: 0.5})
    problem = sj.Problem([0.7, 0.6], user)
    assert problem.value() == pytest.approx((problem.value(0) + problem.value(3)) / 2)
    with pytest.raises(ValueError, match="start = 4 is not allowed"):
        example.Impatient(bored=0.02, step=0.2, start=4)


@pytest.mark.filterwarnings("ignore::sojourn.theory.AssumptionWarning")
def test_own_user_example_runs(example: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    result = example.main(visits=100, runs=400)
    assert "3 bad items in a row: 6.423" in capsys.readouterr().out
    regret, raw = result.regret, result.raw_regret
    assert (regret.mean[:, -1] > 0.0).all()
    error = np.hypot(regret.std_error, raw.std_error)
    assert (np.abs(regret.mean - raw.mean) < 4.5 * error)[:, -1].all()
    assert (result.pulls.mean[:, -1] > 0.0).any(axis=(1, 2)).all()
    assert (result.pulls.mean[:, -1].sum(axis=2) > 0.0).all()  # every level of experience is met


named = pytest.mark.parametrize("model", list(sj.users.USERS))


@named
def test_a_named_model_describes_itself(model: str) -> None:
    """What files, stores and the API keep of it gives it back; live it has a state in [0, 1]."""
    cls = sj.users.USERS[model]
    keys = problem_files.keys_of(cls)
    settings = sj.users.EXAMPLES.get(model, {"theta": 0.5} if "theta" in keys else {})
    user = cls.from_settings(**settings, start=0)
    assert user.model == model
    assert set(user.settings()) == {key for key, required in keys.items() if required}
    assert from_description(json.loads(json.dumps(describe(user)))) == user
    live = live_model(user)
    assert not hasattr(live, "q00")
    state = live.begin(0.5)
    for reward in (0.0, 1.0, 1.0, 0.0):
        assert 0.0 <= live.experience(state) <= 1.0
        state = live.next_state(state, reward)
    assert len(states_in_words(live, 4)) == 4


@named
def test_a_named_model_that_leaves_has_files_and_an_environment(model: str) -> None:
    cls = sj.users.USERS[model]
    if not hasattr(cls, "leave_probability"):
        with pytest.raises(ValueError, match="it must be one of two-state, ema, chain"):
            problem_files.from_dict({"means": [0.9, 0.8], "user": {"model": model}})
        with pytest.raises(ValueError, match="it has no leave probabilities"):
            sj.Problem(
                [0.9, 0.8],
                cls.from_settings(**({"theta": 0.5} if problem_files.keys_of(cls) else {})),
            )
        return
    problem = sj.Problem([0.9, 0.8], cls.from_settings(**sj.users.EXAMPLES[model]))
    assert (
        problem_files.from_dict(json.loads(json.dumps(problem_files.to_dict(problem)))) == problem
    )
    assert gymnasium.make(f"sojourn/{cls.__name__}-v0").unwrapped.problem == problem


def test_a_wrapper_about_leaving_by_arm_keeps_the_contract() -> None:
    user = sj.users.StaysFirst(
        sj.ByArm.odds(sj.Ema(theta=0.3, leave=sj.users.LogLeave(c6=1000)), [1, 0])
    )
    assert sj.check(user) == []
    copy = pickle.loads(pickle.dumps(user))
    assert copy == user and copy.leave_probability(1.0, 1.0, 0) == user.leave_probability(
        1.0, 1.0, 0
    )
    assert user.leave_probability(1.0, 0.0, 0) > user.leave_probability(1.0, 0.0, 1)
