"""Users whom a success drives away: the sign of a mistake's cost is learned and followed."""

from math import inf

import numpy as np
import pytest

import sojourn as sj
from sojourn.engine.streams import policy_stream
from sojourn.policies.departures import set_optimism
from sojourn.policies.optimism import LEAST

IMPROPER = sj.Problem([0.8, 0.7, 0.6], sj.TwoState(0.1, 0.05, 0.1, 0.6))


def watched(visits: list[float]) -> sj.Policy:
    policy = sj.policies.LearnedIMED(bins=2, follow_improper=True)
    memory = policy.memory(2)
    for b, steps in enumerate(visits):
        memory.moves[b, 0, 0] = steps
    return memory


@pytest.mark.parametrize(
    ("cost", "error", "optimism"),
    [
        ((2.0, -1.0), 0.1, (1.0, LEAST)),
        ((-1.0, 2.0), 0.1, (LEAST, 1.0)),
        ((2.0, -0.6), 1.0, (-1.0, 1.0)),  # below 0 by too little
        ((2.0, -0.8), 1.0, (1.0, LEAST)),
        ((-1.0, -1.1), 0.2, (LEAST, LEAST)),  # the same, and below 0
        ((3.0, 1.0), 0.1, (-1.0, 1.0)),
    ],
)
def test_optimism_by_cost(
    cost: tuple[float, ...], error: float, optimism: tuple[float, ...]
) -> None:
    memory = watched([60.0, 40.0])
    set_optimism(memory, np.array(cost), np.full(2, error**2), 1.5, True)
    assert memory.optimism.tolist() == list(optimism)
    set_optimism(memory, np.array(cost), np.full(2, error**2), 1.5, False)
    assert min(memory.optimism) >= -1.0


def test_signs_are_to_be_surer_as_time_goes_on() -> None:
    memory = watched([60.0, 40.0])
    for steps, followed in [(1_000.0, True), (100_000.0, False)]:  # at 1.8 and at 3.5 errors
        memory.clock[0] = steps
        set_optimism(memory, np.array([5.0, -2.5]), np.ones(2), 1.5, True)
        assert (memory.optimism[1] == LEAST) == followed


def test_nothing_changes_as_long_as_no_sign_is_followed() -> None:
    """Runs with the option and without are the same where no cost seems to be below 0."""
    options = [sj.policies.LearnedIMED(), sj.policies.LearnedIMED(follow_improper=True)]
    result = sj.simulate(sj.paper.SETTINGS["B"], options, visits=300, runs=16, seed=2)
    assert np.array_equal(result.regret.mean[0], result.regret.mean[1])


@pytest.mark.parametrize("name", ["LearnedUCB", "LearnedKLUCB", "LearnedIMED", "LearnedThompson"])
def test_the_arm_of_least_mean_is_played_where_that_is_best(name: str) -> None:
    policy = sj.policies.POLICIES[name](follow_improper=True)
    memory = policy.memory(3)
    for arm, (pulls, successes) in enumerate([(50, 40), (40, 20), (60, 42)]):
        policy.tell(memory, arm, pulls, successes)
    memory.optimism[:] = [1.0, 1.0, 1.0, LEAST]
    assert policy.optimism_now(memory, 1.0) == -inf
    assert policy.choose(memory, 1.0, policy_stream(0, 0)) == 1
    chances = policy.probabilities(memory, 1.0)
    assert chances.size == 0 or chances.tolist() == [0.0, 1.0, 0.0]
    assert policy.choose(memory, 0.0, policy_stream(0, 0)) != 1


def test_regret_stays_small_where_it_was_a_share_of_all_visits() -> None:
    assert sj.theory.case(IMPROPER) == "improper"
    with pytest.warns(sj.theory.AssumptionWarning):
        result = sj.simulate(
            IMPROPER, [sj.policies.LearnedIMED(), sj.policies.LearnedIMED(follow_improper=True)],
            visits=5_000, checkpoints=[500, 5_000], runs=64, seed=3,
        )  # fmt: skip
    as_usual, followed = result.regret.mean
    assert as_usual[1] > 1_000.0
    assert followed[1] < 25.0 + 4.5 * result.regret.std_error[1, 1]
    assert followed[1] - followed[0] < 0.01 * (as_usual[1] - as_usual[0])
