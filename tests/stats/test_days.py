"""Changes beyond the rhythm of days and weeks: the evidence, its level, and what cancels."""

import numpy as np
import pytest

from sojourn.stats.days import DAY, PRIORS, Days, Sums, _means, by_day, changes, contrasts, watch

BEGAN = 20_000.0


def days(values: np.ndarray, trials: float = 400.0) -> Days:
    number = BEGAN + np.arange(len(values))
    return Days(number, values, np.full(len(values), trials), 0.25)


def integrated(values: np.ndarray, trials: float, at: int) -> float:
    """The log Bayes factor of a change by then, summed over grids of its size and of the noise."""
    weekday = np.arange(len(values)) % 7 == np.arange(7)[:, None]
    basis = np.linalg.svd(weekday.T)[0][:, 7:]  # what differs from all weekday means
    y = basis.T @ values * np.sqrt(trials)
    z = basis.T @ (np.arange(len(values)) >= at) * np.sqrt(trials)
    log_noise = np.linspace(-4.0, 2.0, 400)[:, None]
    size = np.linspace(-8.0, 8.0, 8_001)  # in units of the noise

    def likelihood(of: np.ndarray) -> np.ndarray:
        noise = np.exp(log_noise)
        squares = sum((a - noise * of * b) ** 2 for a, b in zip(y, z, strict=True))
        return np.exp(-squares / noise**2 / 2.0 - len(y) * log_noise)  # d noise / noise

    prior = sum(np.sqrt(p) * np.exp(-p * size**2 / 2.0) for p in PRIORS.ravel())
    with_change = (likelihood(size) * prior).sum() / prior.sum()
    return float(np.log(with_change / likelihood(np.zeros(1)).sum()))


def test_the_evidence_is_the_bayes_factor() -> None:
    rng = np.random.default_rng(1)
    values = 0.5 + 0.1 * rng.standard_normal(7)[np.arange(24) % 7]
    values += 0.025 * rng.standard_normal(24) - 0.09 * (np.arange(24) >= 17)
    (change,) = changes(days(values), 2.0) or []
    assert change.at == BEGAN + 17 and change.difference == pytest.approx(-0.09, abs=0.03)
    assert change.statistic == pytest.approx(integrated(values, 400.0, 17), abs=0.02)
    assert changes(days(values), change.statistic + 0.01) == []


def test_level_at_every_look() -> None:
    """Normal days with weekdays of their own, looked at on each; one test in five may err."""
    rng, delta, tests = np.random.default_rng(2), 0.2, 80
    wrong = 0
    for _ in range(tests):
        values = rng.standard_normal(7)[np.arange(42) % 7] + 0.02 * rng.standard_normal(42)
        needed = np.log(56 / delta)
        wrong += any(changes(days(values[:n]), needed) for n in range(9, 43))
    assert wrong <= delta * tests
    assert changes(days(values[:8]), 1.0) is None


def test_what_is_common_cancels_whatever_is_shown_when() -> None:
    """Means that are arm plus level without noise, and shares that move from hour to hour."""
    rng = np.random.default_rng(3)
    starts = (BEGAN + np.arange(20 * 24) / 24) * DAY
    made = rng.integers(0, 50, (3, starts.size)).astype(float)
    level = 0.2 * np.sin(np.arange(starts.size) / 24 * 2 * np.pi) + 0.1 * rng.random(starts.size)
    won = made * (np.array([0.3, 0.4, 0.5])[:, None] + level)
    *arms, common = contrasts(Sums(won, made), starts)
    assert max(np.abs(each.value).max() for each in arms) < 1e-6
    hours = level.reshape(-1, 24)
    assert np.abs(common.value - (hours - hours.mean(axis=0)).mean(axis=1)).max() < 0.02
    assert common.trials.sum() == made.sum()


def test_a_day_is_compared_by_its_hours() -> None:
    """Half of a day is missing: its mean is that of other days in the other half."""
    starts = (BEGAN + np.arange(96) / 24) * DAY
    values, trials = np.tile(np.arange(24.0), 4), np.ones(96)
    trials[60:72] = 0.0
    found = by_day(values, trials, 0.25, starts)
    np.testing.assert_allclose(found.value, 0.0, atol=1e-12)
    assert found.trials.tolist() == [24, 24, 12, 24]
    assert by_day(values, 0.0 * trials, 0.25, starts).number.size == 0


@pytest.mark.parametrize("falls", [0, 1])
def test_of_two_arms_it_is_the_one_that_changed(falls: int) -> None:
    rng = np.random.default_rng(5)
    starts = (BEGAN + np.arange(21 * 24) / 24) * DAY
    means = np.full((2, starts.size), 0.5)
    means[falls, 18 * 24 :] -= 0.2
    made = np.full(means.shape, 40.0)
    won = rng.binomial(40, means).astype(float)
    found = watch(Sums(won, made), Sums(won[:0], made[:0]), starts, 0.05)
    assert [bool(each) for each in found[:2]] == [falls == 0, falls == 1]
    assert found[falls] and found[falls][0].at == 18 * 24


def test_what_never_varies_is_no_change() -> None:
    """Rewards that are all alike, but for rounding, and an exit that is hardly ever taken."""
    starts = (BEGAN + np.arange(28 * 24) / 24) * DAY
    made = np.random.default_rng(6).integers(1, 50, (2, starts.size)).astype(float)
    won = made * np.array([[0.3], [0.7]])
    once = np.zeros((1, starts.size))
    once[0, -30] = 1.0
    found = watch(Sums(won, made), Sums(once, 0.0 * once + 40.0), starts, 0.05)
    assert found == [[], [], [], []]
    empty = Sums(won[:0, :0], made[:0, :0])
    assert watch(empty, empty, starts[:0], 0.05) == [None]


def test_with_more_arms_than_buckets_the_smaller_system_says_the_same() -> None:
    rng = np.random.default_rng(3)
    starts, split = np.arange(0.0, 8 * DAY, DAY / 2), 10
    made = rng.integers(1, 50, (40, starts.size)).astype(float)
    won = np.floor(made * rng.random(made.shape))
    few, many = _means(won[:split], made[:split]), _means(won, made)
    for means, rows in ((few, slice(split)), (many, slice(None))):  # residuals sum to 0
        off = won[rows] - made[rows] * means[:, None]
        off -= made[rows] * (off.sum(axis=0) / made[rows].sum(axis=0))
        np.testing.assert_allclose(off.sum(axis=1), 0.0, atol=1e-3)
