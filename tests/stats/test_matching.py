"""What one recommender would earn by the steps of another, against a twin that sees everything."""

from math import isinf, sqrt
from typing import NamedTuple

import numpy as np
import pytest

from sojourn.stats.intervals import radius
from sojourn.stats.matching import NAMES, Matching, Steps

USERS, RUNS = 400, 300


class World(NamedTuple):
    """Steps, and for each of them the reward and the departure after what would be shown."""

    steps: Steps
    reward: np.ndarray
    left: np.ndarray


def world(seed: int) -> World:
    """Users of different tastes with 1 to 8 steps; the other one chooses by the user's mood."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(USERS), rng.integers(1, 9, USERS))
    taste, mood = rng.normal(0.0, 0.15, USERS)[user], rng.random(user.size) < 0.5
    chances = np.where(mood[:, None], [0.6, 0.3, 0.1], [0.2, 0.2, 0.6])
    shown = (rng.random(user.size)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
    would = np.where(mood, rng.integers(0, 2, user.size), 2)
    likes = np.clip(np.array([0.3, 0.5, 0.7])[None, :] + taste[:, None], 0.0, 1.0)
    leaves = np.where(mood[:, None], [0.1, 0.2, 0.4], [0.3, 0.4, 0.6])
    every = np.arange(user.size)
    liked = rng.random(likes.shape) < likes
    left = rng.random(leaves.shape) < leaves
    steps = Steps(
        user, shown == would, chances[every, shown], liked[every, shown], left[every, shown]
    )
    return World(steps, liked[every, would], left[every, would])


@pytest.fixture(scope="module")
def runs() -> list[tuple[World, Matching]]:
    return [(made, Matching(made.steps)) for made in map(world, range(RUNS))]


def truth(made: World, name: str) -> float:
    """By the twin; of the one whose steps these are, by the steps."""
    reward, left = made.reward.mean(), made.left.mean()
    yours, ended = made.steps.reward.mean(), made.steps.left.mean()
    seen = {"would reward": reward, "would left": left, "would gain": reward / left, "weight": 1.0}
    seen |= {"reward": yours, "left": ended, "gain": yours / ended, "match": made.steps.same.mean()}
    return float(seen[name])


@pytest.mark.parametrize("name", NAMES)
def test_each_ratio_is_that_of_the_twin(runs: list[tuple[World, Matching]], name: str) -> None:
    """On average within 4.5 standard errors; exactly where it is a mean over the steps."""
    off = np.array([found.of(name).value - truth(made, name) for made, found in runs])
    if name in ("match", "reward", "left", "gain"):
        assert np.abs(off).max() < 1e-12
    else:
        bias = 1.0 / (2 * USERS) if name == "would gain" else 0.0  # of order 1 / users
        assert abs(off.mean()) < 4.5 * off.std() / sqrt(RUNS) + bias * 3.0
        assert off.std() > 0.0


@pytest.mark.parametrize("measure", ["reward", "left", "gain"])
def test_errors_and_intervals(runs: list[tuple[World, Matching]], measure: str) -> None:
    """Errors are the spread over worlds, within 4.5 of its own errors; intervals hold."""
    found = [run.of(f"would {measure}", measure) for _, run in runs]
    values = np.array([one.value for one in found])
    error = np.array([(one.high - one.low) / 2 for one in found]) / radius(USERS)
    assert abs(error.mean() / values.std(ddof=1) - 1.0) < 4.5 / sqrt(2 * RUNS)
    real = values.mean()  # of which the error is a seventeenth of one run's
    assert np.mean([one.low <= real <= one.high for one in found]) >= 0.95


def test_users_are_one_observation() -> None:
    """All steps twice, by the same users, are worth no more."""
    made = world(1)
    once = Matching(made.steps)
    twice = Matching(Steps(*(np.concatenate([column, column]) for column in made.steps)))
    assert twice.effective == pytest.approx(once.effective)
    for name in NAMES:
        assert twice.of(name) == pytest.approx(once.of(name))
    alone = made.steps._replace(user=np.arange(made.steps.user.size))
    assert Matching(alone).of("match").high != pytest.approx(once.of("match").high)


def test_what_is_not_known_is_left_out() -> None:
    """Steps without propensity or departure count for the match only; few users are too few."""
    made = world(2)
    half = np.arange(made.steps.user.size) % 2 == 0
    blind = made.steps._replace(propensity=np.where(half, np.nan, made.steps.propensity))
    cut = made.steps._replace(left=np.where(half, np.nan, made.steps.left.astype(float)))
    kept = Matching(Steps(*(column[~half] for column in made.steps)))
    for found in (Matching(blind), Matching(cut)):
        assert found.total.steps == half.size and found.total.weighed == (~half).sum()
        assert found.of("would gain").value == pytest.approx(kept.of("would gain").value)
        assert found.of("match").value == Matching(made.steps).of("match").value
    few = Matching(Steps(*(column[:20] for column in made.steps)))
    assert isinf(few.of("match").high)
    nothing = Matching(Steps(*[np.zeros(0)] * 5))
    assert nothing.effective == nothing.total.steps == 0.0 and isinf(nothing.of("weight").high)
