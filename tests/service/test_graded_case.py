"""Shares watched tell as much of departures as whether half was watched."""

import random

import pytest

import sojourn as sj
from sojourn.live import Experiment, Journal, SqliteStore
from sojourn.live.monitor.insight import insight

SHARES = [(3.0, 2.0), (2.0, 2.0), (2.0, 3.0)]
"""Beta distributions of the share of an item that is watched; half or more in .69, .5 and .31."""

VISITS = 400


def case(threshold: float | None, seed: int) -> str:
    """What the dashboard calls users who leave when they are bored twice.

    They leave with chance .85 after two items in a row that were watched to less than half, and
    else with chance .06. With a threshold the experiment is told the shares.
    """
    rng = random.Random(seed)
    journal = Journal(SqliteStore.in_memory(), upkeep=False)
    experiment = Experiment(
        "clips", ["a", "b", "c"], store=journal, seed=seed, compiled=False,
        policy=sj.policies.LearnedIMED(), reward_threshold=threshold,
    )  # fmt: skip
    for _ in range(VISITS):
        visit, bored_before, reward = experiment.visit(), False, None
        while True:
            arm = visit.choose(reward) if reward is not None else visit.choose()
            watched = rng.betavariate(*SHARES["abc".index(arm)])
            bored = watched < 0.5
            reward = float(not bored) if threshold is None else watched
            if rng.random() < (0.85 if bored and bored_before else 0.06):
                visit.end(reward)
                break
            bored_before = bored
    return insight(experiment.settings, experiment.all_arms, experiment.counts()).case.word


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("threshold", [None, 0.5], ids=["half or not", "share"])
def test_the_case_is_normal_by_shares_and_by_halves(threshold: float | None, seed: int) -> None:
    assert case(threshold, seed) == "normal"


def test_any_reward_above_0_taken_for_a_good_one_says_the_contrary() -> None:
    """As it was before there were thresholds, and still is where an experiment is that old."""
    assert case(0.0, 0) == "opposite"
