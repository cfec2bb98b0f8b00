"""Problems that change: a twin in plain Python, the same bits always, the moving optimum."""

import json
import pickle
from collections.abc import Sequence
from pathlib import Path

import naive
import numpy as np
import pytest
from numpy.typing import NDArray
from twins import USERS

import sojourn as sj
from sojourn import problem_files
from sojourn.engine.kernel import BY_LEVEL, REGRET, REWARD, STEPS
from sojourn.paper import SETTINGS
from sojourn.policies import Policy
from sojourn.problem import Problem
from sojourn.simulation import chunks
from sojourn.simulation.chunks import chunk

B, OPPOSITE = SETTINGS["B"].user, SETTINGS["opposite"].user
PHASES = [(0, [0.6, 0.4, 0.5], "B"), (40, [0.3, 0.4, 0.7], "B"), (90, [0.6, 0.5, 0.2], "opposite")]
"""The arms change, then the arms and the user."""

PROBLEM = Problem.changing((after, sj.Problem(mu, SETTINGS[who].user)) for after, mu, who in PHASES)
GRID = np.array([10, 40, 41, 85, 120])
POLICY = sj.policies.KLULCB(random_ties=False)  # of ties the twin takes the first


class Moving(naive.Environment):
    """Arms and a user that are others from some episode on."""

    def __init__(self, seed: int, run: int) -> None:
        super().__init__(PHASES[0][1], USERS["B"], seed, run)
        self.steps: list[int] = []  # of all episodes so far, when one begins

    def initial_state(self, k: int) -> float:
        self.steps.append(sum(self.pulls))
        _, self.mu, who = [phase for phase in PHASES if phase[0] < k][-1]
        self.user = USERS[who]
        return 1


def totals(seed: int, run: int, visits: Sequence[int]) -> NDArray[np.float64]:
    """Regret, reward, steps, and then regret and pulls by state, of the twin: a row per number."""
    world = Moving(seed, run)
    made = naive.run(naive.kl_ulcb(1, 1, 0), world, max(visits), naive.first)
    ends = [*world.steps[1:], len(made)]
    rows = np.zeros((len(visits), BY_LEVEL + 2 + 2 * 3))
    for i, wanted in enumerate(visits):
        k = 0
        for t, (state, arm, reward, _) in enumerate(made[: ends[wanted - 1]]):
            k += t == world.steps[k] if k < len(world.steps) else 0
            cost = PROBLEM.at(k).gap(state, arm)
            rows[i, [REGRET, REWARD, STEPS]] += cost, reward, 1
            rows[i, BY_LEVEL + int(state)] += cost
            rows[i, BY_LEVEL + 2 + int(state) * 3 + arm] += 1
    return rows


@pytest.mark.parametrize("leases", [True, False])
def test_is_what_the_twin_plays(leases: bool) -> None:
    found = chunk(PROBLEM, POLICY, 7, 3, 4, GRID, leases=leases)
    for run, rows in enumerate(found):
        np.testing.assert_allclose(rows, totals(7, 3 + run, GRID), rtol=1e-12, atol=1e-12)


def test_leases_and_the_number_of_runs_change_nothing() -> None:
    found = chunk(PROBLEM, POLICY, 1, 0, 20, GRID)
    assert (found == chunk(PROBLEM, POLICY, 1, 0, 20, GRID, leases=False)).all()
    assert (found[12:] == chunk(PROBLEM, POLICY, 1, 12, 8, GRID)).all()


def test_one_phase_is_the_plain_problem() -> None:
    plain, grid = PROBLEM.at(1), np.array([1, 50, 120])
    found = chunk(Problem.changing([(0, plain)]), POLICY, 0, 0, 10, grid)
    assert (found == chunk(plain, POLICY, 0, 0, 10, grid)).all()
    # Phases that are alike change no decision, and sums of gaps in their last digits only.
    alike = Problem.changing([(0, plain), (50, plain), (200, PROBLEM.at(50))])
    np.testing.assert_allclose(chunk(alike, POLICY, 0, 0, 10, grid), found, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("policy", [sj.policies.LearnedIMED(), sj.policies.LearnedThompson()])
def test_other_memories_and_streams_go_on_too(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By Python: phases that are alike, with and without leases, against no phases."""
    plain, grid = PROBLEM.at(1), np.array([30, 60])
    monkeypatch.setattr(chunks, "run_phase", chunks.run_phase.plain)
    alike = Problem.changing([(0, plain), (20, plain), (45, plain)])
    found = [chunk(alike, policy, 0, 0, 2, grid, leases=leases) for leases in (True, False)]
    wanted = chunks.run_chunk.plain
    monkeypatch.setattr(chunks, "run_chunk", wanted)
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(found[0], chunk(plain, policy, 0, 0, 2, grid), rtol=1e-12)


def test_regret_is_against_the_moving_optimum(tmp_path: Path) -> None:
    """From gaps and from rewards: two unbiased estimates of the same."""
    result = sj.simulate(PROBLEM, "KL-ULCB", visits=120, runs=2_000, checkpoints=[40, 90, 120])
    best = [phase.problem.value() for phase in PROBLEM.phases]
    wanted = [40 * best[0], 40 * best[0] + 50 * best[1], sum(np.multiply(best, [40, 50, 30]))]
    np.testing.assert_allclose(PROBLEM.optimum(result.checkpoints), wanted)
    apart = result.raw_regret.mean - result.regret.mean
    error = np.hypot(result.raw_regret.std_error, result.regret.std_error)
    assert (np.abs(apart) < 4.5 * error).all()
    # The optimum stood still once: then the reward lost would be far from what gaps say.
    still = result.checkpoints[-1] * PROBLEM.at(1).value() - result.reward.mean[0, -1]
    assert abs(still - result.regret.mean[0, -1]) > 4.5 * error[0, -1]
    assert "lower bound" not in str(result)
    again = sj.simulate(
        PROBLEM, "KL-ULCB", visits=120, runs=2_000, checkpoints=[40, 90, 120],
        workers=3, store=tmp_path / "runs.db",
    )  # fmt: skip
    assert (again.regret.mean == result.regret.mean).all()
    result.save(tmp_path / "result.csv.gz")
    loaded = sj.Result.load(tmp_path / "result.csv.gz")
    assert loaded.problem == PROBLEM
    assert (loaded.regret.mean == result.regret.mean).all()


def test_is_a_value() -> None:
    same = Problem.changing(
        (after, sj.Problem(mu, SETTINGS[who].user)) for after, mu, who in PHASES
    )
    assert same == PROBLEM
    assert pickle.loads(pickle.dumps(PROBLEM)) == PROBLEM
    assert [PROBLEM.at(visit).means[0] for visit in (1, 40, 41, 90, 91, 10**9)] == [
        0.6, 0.6, 0.3, 0.3, 0.6, 0.6,
    ]  # fmt: skip
    assert sj.Problem.changing([(0, "A"), (10, "B")]).at(1) == SETTINGS["A"]


def test_gradual_change_ends_where_it_should() -> None:
    one, other = sj.Problem([0.6, 0.4], B), sj.Problem([0.1, 0.9], B)
    slow = Problem.drifting(one, other, begin=100, end=200, steps=7)
    assert slow.at(1) == one
    assert slow.phases[-1].problem.means == pytest.approx(other.means)
    assert [phase.after for phase in slow.phases[1:3]] == [100, 114]
    assert len(slow.phases) == 8


@pytest.mark.parametrize(
    ("phases", "sentence"),
    [
        (3, "phases = 3 is not allowed: give pairs"),
        ([], "the first one must begin after 0 visits"),
        ([(5, "A")], "the first one must begin after 0 visits"),
        ([(0, "A"), (0, "B")], "phases[1][0] = 0 is not allowed: it must be greater than 0"),
        ([(0, "A"), (2.5, "B")], "phases[1][0] = 2.5 is not allowed"),
        ([(0, "A"), (5, "D")], "phases[1][1] is not allowed: it has 3 arms, another number than"),
        ([(0, "A"), (5, "ema-1000")], "its user is of another kind than phases[0][1]"),
        ([(0, "A"), (5, "E")], "problem 'E' is not known"),
    ],
)
def test_bad_phases(phases: object, sentence: str) -> None:
    with pytest.raises(ValueError) as error:
        Problem.changing(phases)  # type: ignore[arg-type]
    assert sentence in str(error.value)


def test_gradual_change_is_for_arms_of_one_user() -> None:
    with pytest.raises(ValueError, match="first and last are not allowed"):
        Problem.drifting(SETTINGS["A"], SETTINGS["B"], begin=1, end=50)
    with pytest.raises(ValueError, match="end = 5 is not allowed"):
        Problem.drifting(SETTINGS["A"], SETTINGS["A"], begin=1, end=5)


def test_values_are_those_of_a_phase() -> None:
    with pytest.raises(sj.InputError, match="use one of its phases"):
        PROBLEM.value()
    for ask in (sj.theory.summary, sj.theory.case, sj.recommend):
        with pytest.raises(sj.InputError, match="use one of its phases"):
            ask(PROBLEM)
    assert sj.theory.bounds(PROBLEM) == ()
    assert PROBLEM._repr_html_().count("<table") == 3
    with pytest.raises(sj.InputError, match=r"phases\[0\]\[1\] is not allowed: it has phases"):
        Problem.changing([(0, PROBLEM), (200, "B")])


def test_has_problem_files(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(problem_files.to_dict(PROBLEM)))
    assert problem_files.problem_of(file) == PROBLEM


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"phases": 3}, "phases = 3 is not allowed: it must be a list of problems"),
        ({"phases": [3]}, "phases[0] must be a table"),
        ({"phases": [{"means": [1, 2]}]}, "phases[0].after is missing"),
        ({"phases": [{"after": 0, "means": [0.5, 0.2]}]}, "phases[0]: user is missing"),
        ({"phases": [], "means": []}, "means is not known"),
    ],
)
def test_bad_files(data: dict[str, object], sentence: str) -> None:
    with pytest.raises(sj.InputError) as error:
        problem_files.from_dict(data)
    assert sentence in str(error.value)
