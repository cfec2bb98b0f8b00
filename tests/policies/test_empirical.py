"""Policies that keep the rewards themselves."""

from math import log

import naive
import numpy as np
import pytest
from twins import step_by_step

import sojourn as sj
from sojourn.engine.divergence import kinf, kinf_upper
from sojourn.paper import SETTINGS
from sojourn.policies import Policy

PAIRS = [
    (sj.policies.EmpiricalIMED(), sj.policies.IMED()),
    (sj.policies.EmpiricalKLUCB(c=1, cells=7), sj.policies.KLUCB(c=1)),
    (sj.policies.LearnedEmpiricalIMED(), sj.policies.LearnedIMED()),
    (sj.policies.LearnedEmpiricalIMED(floor=-1), sj.policies.LearnedIMED(floor=-1)),
]


@pytest.mark.parametrize(("policy", "plain"), PAIRS, ids=lambda policy: policy.label)
@pytest.mark.parametrize(("setting", "visits"), [("B", 200), ("D", 30), ("opposite", 200)])
def test_on_rewards_of_0_and_1_they_decide_as_bernoullis(
    policy: Policy, plain: Policy, setting: str, visits: int
) -> None:
    problem = SETTINGS[setting]
    for seed in (1, 2):
        ours = step_by_step(problem, policy, seed, 0, visits)
        assert ours == step_by_step(problem, plain, seed, 0, visits)


def told(policy: Policy, rewards: list[list[float]]):
    """A memory that has seen these rewards of each arm."""
    memory = policy.memory(len(rewards))
    for arm, of_arm in enumerate(rewards):
        for reward in of_arm:
            policy.update(memory, 1.0, arm, reward, False, 1.0)
    return memory


def test_a_reward_counts_for_its_neighbours_on_the_grid() -> None:
    memory = told(sj.policies.EmpiricalIMED(cells=4), [[0.0, 1.0, 0.5, 0.6], [0.999]])
    assert memory.grid[0] == pytest.approx([1, 0, 1.6, 0.4, 1])
    assert memory.grid[1] == pytest.approx([0, 0, 0, 0.004, 0.996])
    assert memory.pulls.tolist() == [4, 1] and memory.clock[0] == 5
    points = np.arange(5) / 4
    assert memory.grid @ points == pytest.approx(memory.successes)


@pytest.mark.parametrize("cells", [1, 3, 50, 1000])
def test_scores_by_hand(cells: int) -> None:
    """On the grid exactly, whatever the cells: 3 Kinf + log 3 against log 2."""
    policy = sj.policies.EmpiricalIMED(cells=cells)
    memory = told(policy, [[0.0, 1.0, 1.0], [1.0, 0.5]])
    moment = policy.moment(memory, 1.0, 1.0)
    assert moment.target == 0.75
    scores = [policy.score(memory, arm, 1.0, 1.0, moment) for arm in (0, 1)]
    assert scores == pytest.approx([-(3 * naive.kl(2 / 3, 0.75) + log(3)), -log(2)], rel=1e-12)
    bound = sj.policies.EmpiricalKLUCB(cells=cells).score(memory, 1, 1.0, 1.0, moment)
    wide = naive.kl_ucb(0)(1.0, 0.75, 2, 6)
    assert bound == pytest.approx(wide, abs=1e-9) if cells == 1 else bound <= wide


def test_more_cells_never_widen_a_bound() -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        rewards = rng.beta(*rng.uniform(0.5, 8, 2), size=rng.integers(2, 40)).tolist()
        grids = [
            told(sj.policies.EmpiricalIMED(cells=n), [rewards]).grid[0] for n in (1, 5, 25, 125)
        ]
        bounds = [kinf_upper(grid, 0.2) for grid in grids]
        assert bounds == sorted(bounds, reverse=True)
        divergences = [kinf(grid, 0.9) for grid in grids]
        assert divergences == sorted(divergences)


def test_a_lower_bound_is_an_upper_one_seen_from_the_other_end() -> None:
    policy = sj.policies.LearnedEmpiricalIMED(floor=-1)
    rewards = [0.4, 0.5, 0.5, 0.65, 0.8]
    memory = told(policy, [rewards, [1.0 - reward for reward in rewards]])
    low = policy.score(memory, 0, 1.0, -1.0, policy.moment(memory, 1.0, -1.0))
    assert low == pytest.approx(1.0 - kinf_upper(memory.grid[1], log(11) / 5), rel=1e-12)
    assert naive.min_p(0.57, 5, log(11)) < low < 0.4 < 0.57
    mean = policy.score(memory, 0, 1.0, 0.0, policy.moment(memory, 1.0, 0.0))
    assert mean == pytest.approx(0.57)


@pytest.mark.parametrize("cells", [0, 1001, 2.5])
def test_bad_cells(cells: float) -> None:
    with pytest.raises(ValueError, match="it must be a whole number from 1 to 1000"):
        sj.policies.EmpiricalIMED(cells=cells)
