"""Comparisons that are watched, small."""

import sys
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks/ is no part of the package

from benchmarks import watching


@pytest.fixture(scope="module")
def pool() -> np.ndarray:
    return watching.totals(watching.MEAN, 20_000, np.random.default_rng(0))


def test_totals_are_those_of_the_model(pool: np.ndarray) -> None:
    error = pool.std() / sqrt(pool.size)
    assert abs(pool.mean() - watching.value(watching.MEAN)) < 4.5 * error
    less = watching.mean_for(0.95 * watching.value(watching.MEAN))
    assert watching.value(less) == pytest.approx(0.95 * watching.value(watching.MEAN))
    assert less < watching.MEAN


def test_the_standing_is_that_of_the_visits_so_far(pool: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    holdout, variant = pool[:400], pool[400:800]
    mine = rng.random(400) < 0.3
    difference, error = watching.standing(holdout, variant, mine)
    for t in (250, 399):
        one, other = variant[: t + 1][mine[: t + 1]], holdout[: t + 1][~mine[: t + 1]]
        assert difference[t] == pytest.approx(one.mean() - other.mean())
        spread = sum(x.var(ddof=1) / len(x) for x in (one, other))
        assert error[t] ** 2 == pytest.approx(spread)
    assert np.isnan(error[60])


def test_false_alarms_are_few_and_harm_is_found(pool: np.ndarray) -> None:
    how, rng, tests = watching.Watch(visits=3_000, a_day=100), np.random.default_rng(2), 200
    same = watching.watch(pool, pool, tests, how, rng)
    assert (same["either"] > 0).mean() < 0.05 + 4.5 * sqrt(0.05 * 0.95 / tests)
    assert (same["daily z-test"] > 0).mean() > 0.15
    worse = watching.watch(pool, 0.7 * pool, 20, how, rng)
    assert (worse["below"] > 0).all() and not worse["above"].any()
    assert set(worse["either"]) == set(worse["below"])
