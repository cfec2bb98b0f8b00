"""Comparisons that are watched, small."""

import sys
from math import isnan, sqrt
from pathlib import Path

import numpy as np
import pytest

from sojourn.stats.intervals import FIRST, radius
from sojourn.stats.strata import difference

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks/ is no part of the package

from benchmarks import watching

WIDTHS = np.array([radius(t) for t in range(20_001)])


def test_a_variant_earns_what_it_is_worth() -> None:
    rng, means = np.random.default_rng(0), {"users alike": 5.0, "one in a hundred": 0.01}
    for name, mean in means.items():
        for worth in (1.0, 0.9):
            pool = watching.REWARDS[name](worth, 100_000, rng)
            assert abs(pool.mean() - worth * mean) < 4.5 * pool.std() / sqrt(pool.size)


def test_the_standing_is_that_of_the_package() -> None:
    """After every visit, from running sums, what `strata.difference` says of all groups."""
    rng, groups = np.random.default_rng(1), watching.GROUPS
    sums = watching.Sums(
        np.zeros((2, groups)),
        np.zeros((2, groups)),
        np.zeros((2, 2)),
        np.zeros((2, 3)),
        np.zeros(5),
    )
    both = np.zeros((2, 1, groups, 2))
    for visit in range(4_000):
        mine, group, reward = int(rng.random() < 0.1), int(rng.integers(groups)), rng.lognormal()
        watching.add(sums, mine, group, reward)
        both[mine, 0, group] += 1.0, reward
        if visit % 97 == 0:
            value, error, units, _ = watching.standing(sums)
            expected = difference(both[1], both[0], 1)
            assert isnan(error) == (expected.clusters < FIRST)
            if not isnan(error):
                assert (value, error, units) == pytest.approx(expected[:3], rel=1e-9)


@pytest.mark.parametrize(("rewards", "part"), [("lognormal(1.5)", 0.02), ("one in a hundred", 0.1)])
def test_false_alarms_are_few(rewards: str, part: float) -> None:
    """With few visits and skewed rewards, 13 % of these tests found what is not there."""
    rng, tests = np.random.default_rng(2), 300
    pool = watching.REWARDS[rewards](1.0, 100_000, rng)
    when = watching.watch(pool, pool, part, WIDTHS, tests, 3, watching.A_DAY)
    assert (when[:, :2].max(axis=1) > 0).mean() < 0.03
    assert (when[:, 2] > 0).mean() > 0.15


def test_harm_is_found() -> None:
    rng = np.random.default_rng(4)
    pool = watching.alike(1.0, 50_000, rng)
    when = watching.watch(pool, 0.7 * pool, 0.5, WIDTHS, 20, 5, watching.A_DAY)
    assert (when[:, 0] > 0).all() and not when[:, 1].any()
    assert np.median(when[:, 0]) < 2_000
