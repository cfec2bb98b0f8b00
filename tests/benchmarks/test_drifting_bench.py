"""The monitor of changes, in a small version of its benchmark."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks/ is no part of the package

from benchmarks import drifting


@pytest.mark.parametrize("kind", ["weekend", "daily rhythm, weekend, mood"])
def test_false_alarms_are_rare(kind: str) -> None:
    """Eight weeks in six worlds, looked at every day, at level .05 each."""
    assert drifting.false_alarms(kind, 6) <= 1


@pytest.mark.parametrize("kind", ["weekend", "mood"])
def test_a_fall_of_one_arm_is_found_within_days(kind: str) -> None:
    assert max(drifting.delays(kind, 28, 3)) <= 7


def test_a_world_is_what_it_says() -> None:
    """Means by arm in both halves, by hour and by weekday."""
    arms, leaving, starts = drifting.world(np.random.default_rng(1), "daily rhythm", 28, (14, 1))
    assert (arms.won <= arms.made).all() and starts[1] - starts[0] == 3600.0
    np.testing.assert_array_equal(arms.made.sum(axis=0), leaving.made[0])
    day = np.arange(starts.size) // 24
    for part, wanted in ((day < 14, (0.6, 0.42, 0.3)), (day >= 14, (0.6, 0.37, 0.3))):
        hours = [each[:, part].reshape(3, 14, 24).sum(axis=1) for each in arms]
        means = hours[0] / hours[1]
        np.testing.assert_allclose(means.mean(axis=1), wanted, atol=0.012)
        np.testing.assert_allclose(means[:, 6] - means[:, 18], 0.4, atol=0.06)
    rng = np.random.default_rng(2)
    np.testing.assert_allclose(drifting.lift(rng, "mood", 20_000).std(), 0.03, atol=0.002)
    week = drifting.lift(rng, "weekends of one arm, weekend", 7 * 24)
    np.testing.assert_allclose(week.reshape(3, 7, 24).sum(axis=2)[0], [0] * 5 + [2.88] * 2)
    assert abs(week[1:]).max() < 1e-12
