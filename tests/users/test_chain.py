"""Users with any finite number of states: values, runs, files, live and Gymnasium."""

import json
import pickle
from pathlib import Path
from typing import Any

import gymnasium
import naive
import numpy as np
import pytest
from asgi import client
from hypothesis import given, settings, strategies as st

import sojourn as sj
import sojourn.gym
from sojourn import Chain, problem_files
from sojourn.cli import main
from sojourn.engine.steps import draw_next
from sojourn.live import Ask
from sojourn.live.states import describe, from_description, states_in_words
from sojourn.theory.gaps import as_two_state

NEXT = [[0, 1], [0, 2], [1, 2]]
LEAVE = [[0.6, 0.1], [0.3, 0.05], [0.1, 0.02]]
PATIENCE = Chain(next=NEXT, leave=LEAVE)
MOODS = Chain(
    next=[[[0.9, 0.1, 0.0], 1], [[0.5, 0.3, 0.2], [0.0, 0.25, 0.75]], [1, [0.0, 0.0, 1.0]]],
    leave=LEAVE,
    seen=[0.0, 0.4, 1.0],
    start={0: 0.25, 2: 0.75},
)
"""Some of its next states are random."""

probability = st.floats(0.0, 1.0)


@settings(max_examples=60)
@given(
    st.tuples(probability, probability, probability, st.floats(0.05, 1.0)),
    st.tuples(probability, probability),
    st.sampled_from([0, 1, {0: 0.25, 1: 0.75}]),
)
def test_two_states_are_the_two_state_user_to_the_last_bit(
    q: tuple[float, float, float, float], means: tuple[float, float], start: Any
) -> None:
    try:
        two = sj.Problem(means, sj.TwoState(*q, start=start))
    except ValueError:  # somebody stays for ever
        return
    chain = sj.Problem(means, Chain(next=[[0, 1]] * 2, leave=[q[:2], q[2:]], start=start))
    assert chain.gaps().tolist() == two.gaps().tolist()
    assert [chain.value(s) for s in (0, 1, None)] == [two.value(s) for s in (0, 1, None)]
    assert (chain.reward, chain.length) == (two.reward, two.length)
    assert (
        str(sj.theory.summary(chain)).split("\n")[1:] == str(sj.theory.summary(two)).split("\n")[1:]
    )


def test_two_states_play_as_the_two_state_user() -> None:
    """The same draws decide the same steps, 64 at a time or one by one."""
    two = sj.paper.SETTINGS["B"]
    chain = sj.Problem(two.means, Chain(next=[[0, 1]] * 2, leave=[[0.8, 0.2], [0.2, 0.1]]))
    policies = [sj.policies.ULCB(), sj.policies.FixedArm()]
    ours, theirs = (
        sj.simulate(problem, policies, visits=200, runs=8, seed=3) for problem in (chain, two)
    )
    for one, other in zip(ours.moments, theirs.moments, strict=True):
        np.testing.assert_allclose(one.mean, other.mean, rtol=1e-12)
    assert (ours.pulls.mean == theirs.pulls.mean).all()
    assert (ours.reward.mean == theirs.reward.mean).all()


@pytest.mark.parametrize("user", [PATIENCE, MOODS], ids=["sure", "random"])
def test_values_are_those_of_plain_iteration(user: Chain) -> None:
    means = (0.8, 0.55, 0.3)
    problem = sj.Problem(means, user)
    value, length = naive.chain_values(means, user.next, user.leave)
    for s in range(3):
        assert problem.value(s) == pytest.approx(value[s], rel=1e-12)
        for arm, mean in enumerate(means):
            q = naive.chain_action_value(mean, user.next, user.leave, s, value)
            assert problem.gap(s, arm) == pytest.approx(value[s] - q, abs=1e-11)
    chances = dict(zip(user.start.states, user.start.chances, strict=True))
    assert problem.length.mean == pytest.approx(sum(p * length[int(s)] for s, p in chances.items()))


@pytest.mark.filterwarnings("ignore:outside the paper's assumptions")
@pytest.mark.parametrize("user", [PATIENCE, MOODS], ids=["sure", "random"])
def test_runs_have_the_values_in_the_mean(user: Chain) -> None:
    """Reward, length and regret from gaps against exact ones, at 4.5 standard errors."""
    problem = sj.Problem([0.8, 0.3], user)
    result = sj.simulate(
        problem, [sj.policies.FixedArm(0), sj.policies.Uniform()], visits=50, runs=400, seed=5
    )
    best, uniform = result.visit_reward.mean[:, -1]
    errors = result.visit_reward.std_error[:, -1]
    assert abs(best - problem.value()) < 4.5 * errors[0]
    length, error = result.visit_length.mean[0, -1], result.visit_length.std_error[0, -1]
    assert abs(length - problem.length.mean) < 4.5 * error
    lost = result.regret.mean[1, -1] / 50
    noise = np.hypot(errors[1], result.regret.std_error[1, -1] / 50)
    assert abs((problem.value() - uniform) - lost) < 4.5 * noise
    assert result.pulls.mean.shape == (2, len(result.checkpoints), 3, 2)


def test_compiled_is_interpreted(compiled: Any, interpreted: Any) -> None:
    problem = sj.Problem([0.8, 0.3], MOODS)
    np.testing.assert_array_equal(
        compiled(problem, sj.policies.ContULCB(), 2, 1, [5, 40]),
        interpreted(problem, sj.policies.ContULCB(), 2, 1, [5, 40]),
    )


def test_next_states_are_drawn_by_their_chances() -> None:
    assert [draw_next(MOODS, 1.0, 0.0, u) for u in (0.0, 0.49, 0.5, 0.79, 0.8, 0.999)] == [
        0.0, 0.0, 1.0, 1.0, 2.0, 2.0,
    ]  # fmt: skip
    assert draw_next(MOODS, 0.0, 0.0, 0.95) == 1.0  # a chance of 0 is never drawn
    assert MOODS.next_state(0.0, 1.0) == draw_next(MOODS, 0.0, 1.0, 0.9) == 1.0


def test_transitions_of_random_next_states() -> None:
    problem = sj.Problem([0.8, 0.3], MOODS)
    for arm in range(2):
        matrix = problem.transition_matrix(arm)
        np.testing.assert_allclose(matrix.sum(axis=1), 1.0)
        stays = np.zeros((3, 3))
        for s in range(3):
            for r, chance in ((0, 1.0 - problem.means[arm]), (1, problem.means[arm])):
                onward = (
                    np.eye(3)[MOODS.next[s][r]]
                    if isinstance(MOODS.next[s][r], int)
                    else (np.array(MOODS.next[s][r]))
                )
                stays[s] += chance * (1.0 - MOODS.leave[s][r]) * onward
        np.testing.assert_allclose(matrix[:3, :3], stays)


def test_the_theory_knows_what_it_does_not_cover() -> None:
    problem = sj.Problem([0.8, 0.3], PATIENCE)
    assert sj.theory.case(problem) == "normal"
    names = [bound.name for bound in sj.theory.bounds(problem)]
    assert names == ["UCB", "KL-UCB"]  # the theorems are about two states and moving averages
    assert as_two_state(Chain(next=[[0, 1]] * 2, leave=[[1, 0], [0, 0]], start=0)) == sj.TwoState(
        1, 0, 0, 0, start=0
    )
    assert as_two_state(Chain(next=[[1, 0]] * 2, leave=[[1, 0], [0, 0]])) is None


def test_files_and_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for user in (PATIENCE, MOODS, sj.users.StaysFirst(PATIENCE)):
        problem = sj.Problem([0.8, 0.3], user)
        plain = json.loads(json.dumps(problem_files.to_dict(problem)))
        assert problem_files.from_dict(plain) == problem
        path = tmp_path / "problem.json"
        path.write_text(json.dumps(plain))
        assert main(["theory", str(path), "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert shown["values"]["2"] == pytest.approx(problem.value(2))
    toml = tmp_path / "problem.toml"
    toml.write_text(
        f'means = [0.8, 0.3]\n[user]\nmodel = "chain"\nnext = {NEXT}\nleave = {LEAVE}\n'
    )
    assert problem_files.load(toml) == sj.Problem([0.8, 0.3], PATIENCE)


def test_live(tmp_path: Path) -> None:
    """The state follows the table, and a store knows it again."""
    store = f"sqlite:///{tmp_path / 'live.db'}"
    with sj.Experiment(
        "e", ["a", "b"], sj.policies.ULCB(), PATIENCE, store=store, compiled=False
    ) as live:
        visit = live.visit(id="v")
        states = [visit.decide().state]
        states += [visit.decide(Ask(reward=reward)).state for reward in (0, 0, 1, 0)]
        assert states == [1.0, 0.5, 0.0, 0.5, 0.0]
    with sj.Experiment.open("e", store, compiled=False) as live:
        assert live.settings.user == PATIENCE
        assert live.get("v").decide(Ask(reward=1)).state == 0.5
    assert from_description(json.loads(json.dumps(describe(PATIENCE)))) == PATIENCE
    with pytest.raises(ValueError, match="a live state must follow from the rewards"):
        sj.Experiment("e", ["a"], user=MOODS, compiled=False)


def test_over_http() -> None:
    with client(store="memory://") as http:

        def put(**user: Any) -> Any:
            return http.put("/v1/experiments/e", json={"arms": ["a", "b"], "user": user})

        chain = {"model": "chain", "next": NEXT, "leave": LEAVE}
        made = put(**chain, start=1)
        assert made.status_code == 201
        assert made.json()["user"] == {**chain, "start": {"1.0": 1.0}}
        opened = http.post("/v1/experiments/e/visits", json={})
        assert opened.json()["state"] == 0.5
        missing = put(model="chain", next=NEXT)
        assert missing.status_code == 422
        assert missing.json()["detail"] == (
            "user.leave is missing: a chain user has model, next, leave, seen, start"
        )
        wrong = put(**{**chain, "leave": [[2, 0], [0, 0], [0, 0]]})
        assert (wrong.status_code, wrong.json()["detail"]) == (
            422, "leave[0][0] = 2 is not allowed: it must be a number from 0 to 1",
        )  # fmt: skip


def test_gymnasium() -> None:
    env = gymnasium.make("sojourn/Chain-v0", next=NEXT, leave=LEAVE, means=[0.8, 0.3])
    state, _ = env.reset(seed=1)
    assert state == [1.0]
    problem = sj.Problem([0.8, 0.3], PATIENCE)
    *_, info = env.step(1)
    assert info["gap"] == pytest.approx(problem.gap(2, 1))


def test_it_is_a_value() -> None:
    assert pickle.loads(pickle.dumps(MOODS)) == MOODS
    assert hash(MOODS) == hash(Chain(MOODS.next, MOODS.leave, MOODS.seen, start=MOODS.start))
    assert PATIENCE != MOODS
    assert repr(Chain(next=[[0, 1]] * 2, leave=[[1, 0], [0, 0]])) == (
        "Chain(next=((0, 1), (0, 1)), leave=((1.0, 0.0), (0.0, 0.0)))"
    )
    assert states_in_words(PATIENCE, 3) == ("state 0", "state 1", "state 2")
    assert sj.check(MOODS) == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"leave": [[0.6, 1.1], *LEAVE[1:]]},
         "leave[0][1] = 1.1 is not allowed: it must be a number from 0 to 1"),
        ({"leave": "none"}, "leave = 'none' is not allowed: it must be a table with a row per "
         "state and two columns, for reward 0 and for reward 1 (or one for each level of a graded "
         "reward, up to 100)"),
        ({"next": NEXT[:2]}, "next has 2 rows and leave 3: give a row per state in both"),
        ({"next": [[0, 3], *NEXT[1:]]},
         "next[0][1] = 3 is not allowed: it must be a whole number from 0 to 2"),
        ({"next": [[0, [0.5, 0.4, 0.0]], *NEXT[1:]]},
         "next[0][1] = [0.5, 0.4, 0.0] is not allowed: give a state, or 3 chances that add up "
         "to 1"),
        ({"seen": [0, 1]}, "seen = [0, 1] is not allowed: give a number per state"),
        ({"start": 3}, "start = 3 is not allowed: it must be a number from 0 to 2"),
    ],
)  # fmt: skip
def test_it_refuses(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError) as refusal:
        Chain(**{"next": NEXT, "leave": LEAVE, **changes})
    assert str(refusal.value) == sentence
