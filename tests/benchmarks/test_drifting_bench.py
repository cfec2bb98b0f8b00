"""The monitor of changes, in a small version of its benchmark."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks/ is no part of the package

from benchmarks import drifting


@pytest.mark.parametrize("alike", [drifting.ALIKE, drifting.DIFFERENT])
def test_false_alarms_are_rare_and_a_change_is_found(alike: float) -> None:
    """20 days in which nothing changes, at level .05 each; and three with a change at noon."""
    random = np.random.default_rng(3)
    quiet = [drifting.watch(random, alike, None) for _ in range(20)]
    alarms = sum(day.at is not None or day.other for day in quiet)
    assert alarms <= 20 * drifting.DELTA + 4.5 * np.sqrt(20 * drifting.DELTA * 0.95)
    loud = [drifting.watch(random, alike, 0.25) for _ in range(3)]
    assert all((day.at or 0) > drifting.BUCKETS // 2 for day in loud)
    assert all(0.0 < day.steps <= day.all_steps for day in loud)


def test_a_day_is_what_it_says() -> None:
    traffic = drifting.day(np.random.default_rng(1), drifting.DIFFERENT, 0.2)
    noon = drifting.BUCKETS // 2
    means = [
        traffic.won[:3, part].sum(axis=1) / traffic.made[:3, part].sum(axis=1)
        for part in (slice(noon), slice(noon, None))
    ]
    np.testing.assert_allclose(means, [(0.6, 0.42, 0.3), (0.6, 0.2, 0.3)], atol=0.035)
    assert traffic.made[:3].sum() == traffic.made[3].sum() and (traffic.won <= traffic.made).all()
