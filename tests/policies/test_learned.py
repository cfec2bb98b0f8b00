"""Learned optimism: what it estimates, when, and what it concludes."""

from math import sqrt

import numpy as np
import pytest

import sojourn as sj
from sojourn.engine.kernel import BY_LEVEL
from sojourn.paper import SETTINGS
from sojourn.policies.departures import FIRST_LOOK, Watched, good_rewards, mistake_costs, reconsider
from sojourn.simulation.chunks import chunk

EVERY = [
    sj.policies.LearnedUCB(),
    sj.policies.LearnedKLUCB(),
    sj.policies.LearnedIMED(),
    sj.policies.LearnedThompson(),
]


def expected_memory(problem: sj.Problem, steps: float, bins: int = 4) -> Watched:
    """What a two-state user would have shown on average in so many steps from each state."""
    memory = sj.policies.LearnedIMED(bins=bins).memory(problem.arms)
    user, mean = problem.user, max(problem.means)
    for state in (0, 1):
        for reward, chance in ((0, 1 - mean), (1, mean)):
            b, after = state * (bins - 1), reward * (bins - 1)
            n = steps * chance
            leave = user.leave_probability(float(state), float(reward), 0)
            memory.moves[b, reward, after] = n
            memory.seen[problem.best_arm, b, reward] = n
            memory.left[problem.best_arm, b, reward] = n * leave
    memory.pulls[problem.best_arm], memory.clock[0] = 2 * steps, 2 * steps
    memory.successes[problem.best_arm] = 2 * steps * mean
    return memory


@pytest.mark.parametrize("setting", ["A", "B", "C", "opposite"])
@pytest.mark.parametrize("bins", [2, 4, 9])
def test_with_much_data_the_estimates_are_the_exact_costs(setting: str, bins: int) -> None:
    problem = SETTINGS[setting]
    costs, variances = mistake_costs(expected_memory(problem, 1e9, bins), False)
    exact = sj.theory.mistake_costs(problem)
    assert costs[[0, -1]] == pytest.approx([exact[0], exact[1]], rel=1e-4)
    assert (variances[[0, -1]] < 1e-4 * costs[[0, -1]] ** 2).all()


def test_estimates_agree_with_a_literal_computation() -> None:
    """The formulas of the docstring, with numpy.linalg and dictionaries."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        memory = sj.policies.LearnedIMED(bins=3).memory(2)
        memory.moves[:] = rng.integers(0, 30, (3, 2, 3))
        seen = memory.moves.sum(axis=2)
        memory.left[:] = rng.integers(0, seen + 1, (3, 3, 2))
        gone = memory.left.sum(axis=0)
        memory.seen[0, :, 0], memory.seen[0, :, 1] = [4, 1, 9], [20, 6, 10]
        memory.pulls[:], memory.successes[:] = [50, 20], [33, 11]
        mean, good = 34 / 52, 37 / 52
        q, follow = {}, {}
        for r in (0, 1):
            of_r = memory.moves[:, r].sum(axis=0)
            share = (gone[:, r].sum() + 0.5) / (of_r.sum() + 1)
            for b in range(3):
                q[b, r] = (gone[b, r] + share) / (seen[b, r] + 1)
                follow[b, r] = (memory.moves[b, r] + of_r / of_r.sum()) / (seen[b, r] + 1)
                q["spread", b, r] = share * (1 - share) / (seen[b, r] + 1)
        onward = np.array(
            [good * (1 - q[b, 1]) * follow[b, 1] + (1 - good) * (1 - q[b, 0]) * follow[b, 0]
             for b in range(3)]
        )  # fmt: skip
        V = np.linalg.solve(np.eye(3) - onward, np.full(3, mean))
        costs, variances = mistake_costs(memory, False)
        for b in range(3):
            W = [follow[b, r] @ V for r in (0, 1)]
            cost = 1 + (1 - q[b, 1]) * W[1] - (1 - q[b, 0]) * W[0]
            assert costs[b] == pytest.approx(cost, rel=1e-10)
            spread = sum(W[r] ** 2 * q["spread", b, r] for r in (0, 1))
            assert variances[b] == pytest.approx(spread, rel=1e-10)


@pytest.mark.parametrize(
    ("setting", "optimism"), [("A", [-1, 1]), ("B", [-1, 1]), ("C", [-1, 1]), ("opposite", [1, -1])]
)
def test_for_two_states_the_conclusion_is_ulcb_or_its_opposite(
    setting: str, optimism: list[float]
) -> None:
    memory = expected_memory(SETTINGS[setting], 1e5)
    reconsider(memory, 1.5, False)
    assert memory.optimism[[0, -1]].tolist() == optimism


def test_optimistic_everywhere_until_a_difference_shows() -> None:
    """The step at which it shows is where the difference passes `confidence` standard errors."""
    problem = SETTINGS["opposite"]
    for steps in np.geomspace(10, 10_000, 40):
        memory = expected_memory(problem, steps)
        cost, variance = mistake_costs(memory, False)
        z = abs(cost[0] - cost[3]) / sqrt(variance[0] + variance[3])
        for confidence in (1.0, 1.5, 3.0):
            reconsider(memory, confidence, False)
            expected = [1, -1] if z > confidence else [1, 1]
            assert memory.optimism[[0, 3]].tolist() == expected
    assert z > 3.0


def test_more_than_two_bins_are_graded_by_cost() -> None:
    """Three bins that are known well: 1 at the least cost, -1 at the greatest, a line between."""
    memory = sj.policies.LearnedUCB(bins=3).memory(2)
    memory.pulls[:], memory.successes[:] = [1e9, 0], [5e8, 0]
    leave = np.array([[0.9, 0.1], [0.5, 0.2], [0.3, 0.3]])
    for b in range(3):
        for r in (0, 1):
            memory.moves[b, r, min(max(b + 2 * r - 1, 0), 2)] = 1e9
            memory.left[0, b, r] = 1e9 * leave[b, r]
    cost, _ = mistake_costs(memory, False)
    reconsider(memory, 1.5, False)
    expected = 1 - 2 * (cost - cost.min()) / (cost.max() - cost.min())
    assert memory.optimism == pytest.approx(expected)
    assert -1 == min(memory.optimism) < sorted(memory.optimism)[1] < max(memory.optimism) == 1


def test_steps_are_counted_by_arm_and_split_at_the_threshold() -> None:
    policy = sj.policies.LearnedIMED(bins=2, threshold=0.7)
    memory = policy.memory(2)
    policy.update(memory, 1.0, 0, 0.7, False, 0.0)
    policy.update(memory, 0.0, 1, 0.69, True, 1.0)
    assert memory.seen.tolist() == [[[0, 0], [0, 1]], [[1, 0], [0, 0]], [[0, 0], [0, 0]]]
    assert memory.left.tolist() == [[[0, 0], [0, 0]], [[1, 0], [0, 0]], [[0, 0], [0, 0]]]
    assert memory.moves[1, 1, 0] == memory.moves[0, 0, 1] == 1
    assert memory.successes.tolist() == [0.7, 0.69]


def test_the_share_of_good_rewards_is_the_mean_where_levels_are_not_known() -> None:
    memory = sj.policies.LearnedIMED(bins=2).memory(2)
    assert good_rewards(memory, 0) == 0
    memory.pulls[:], memory.successes[:] = [30, 40], [15, 10]
    memory.seen[0, 1] = [2, 8]  # 20 pulls from elsewhere
    assert good_rewards(memory, 0) == 8 + 20 * 0.5
    memory.seen[1, 0] = [39, 1]  # of 40 graded rewards
    assert good_rewards(memory, 1) == 1


def test_optimism_is_never_below_the_floor() -> None:
    memory = expected_memory(SETTINGS["B"], 1e5)
    reconsider(memory, 1.5, False)
    for floor in (-1.0, -0.3, 0.0):
        policy = sj.policies.LearnedKLUCB(floor=floor)
        assert [policy.optimism_now(memory, s) for s in (0.0, 1.0)] == [floor, 1.0]
    assert sj.policies.LearnedIMED().floor == sj.policies.LearnedThompson().floor == 0.0
    assert (
        sj.policies.LearnedUCB().floor == sj.policies.LearnedKLUCB().floor == -1.0
    )  # ULCB, or its opposite


def test_estimates_are_made_on_a_geometric_schedule() -> None:
    policy = sj.policies.LearnedIMED()
    memory = policy.memory(2)
    looks = [FIRST_LOOK]
    for step in range(1, 2_000):
        policy.update(memory, 1.0, step % 2, float(step % 3 > 0), step % 7 == 0, 1.0)
        assert memory.next_refit[0] > memory.clock[0] == step
        if memory.next_refit[0] != looks[-1]:
            assert step == looks[-1]
            looks.append(float(memory.next_refit[0]))
    assert looks[:4] == [16, 18, 20, 22] and len(looks) == pytest.approx(54, abs=4)


@pytest.mark.parametrize("policy", EVERY[:3], ids=repr)
@pytest.mark.parametrize(("setting", "costly"), [("B", 0), ("opposite", 1)])
def test_it_finds_the_case_and_stops_exploring_where_it_is_costly(
    policy: sj.policies.LearnedUCB, setting: str, costly: int
) -> None:
    """After K = 2,000 the costly state has at most a tenth of the regret it has without a gate."""
    problem = SETTINGS[setting]
    rows = chunk(problem, policy, 5, 0, 40, np.array([2_000, 20_000]))
    late = (rows[:, 1] - rows[:, 0]).mean(axis=0)
    lost = late[BY_LEVEL : BY_LEVEL + 2]
    plain = type(policy).__name__.removeprefix("Learned")
    plain_rows = chunk(problem, getattr(sj.policies, plain)(), 5, 0, 40, np.array([2_000, 20_000]))
    plain_lost = (plain_rows[:, 1] - plain_rows[:, 0]).mean(axis=0)[BY_LEVEL : BY_LEVEL + 2]
    assert lost[costly] < 0.1 * plain_lost[costly]
    assert lost[1 - costly] > 0.5 * plain_lost[1 - costly]


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"confidence": -1}, "confidence = -1 is not allowed"),
        ({"floor": -2}, "floor = -2 is not allowed"),
        ({"bins": 1}, "bins = 1 is not allowed"),
        ({"growth": -0.1}, "growth = -0.1 is not allowed"),
        ({"threshold": 0}, "threshold = 0 is not allowed: it must be a number greater than 0, at"),
        ({"threshold": 1.1}, "threshold = 1.1 is not allowed"),
    ],
)
def test_bad_parameters(parameters: dict[str, float], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        sj.policies.LearnedIMED(**parameters)
