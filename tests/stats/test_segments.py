"""Several changes over time, and how much more sums vary than coins."""

import numpy as np
import pytest

from sojourn.stats.segments import LEAST, PAIRS, changes_in, dispersion, greatest


@pytest.mark.parametrize("count", [3, 40])
def test_the_two_greatest_squares_are_those_of_draws(count: int) -> None:
    squares = np.random.default_rng(count).standard_normal((20_000, count)) ** 2
    drawn = np.sort(squares, axis=1)[:, -2:].sum(axis=1)
    error = drawn.std() / np.sqrt(len(drawn))
    assert abs(greatest(count) - drawn.mean()) < 4.5 * error


@pytest.mark.parametrize("alike", [1, 4])
def test_dispersion_is_how_many_trials_are_one(alike: int) -> None:
    """Trials that come in fours with one outcome vary four times as much, whatever the mean."""
    random, runs = np.random.default_rng(alike), 100
    trials = np.full(400, 40.0)
    found = [
        dispersion([(alike * random.binomial(40 // alike, p, 400), trials) for p in (0.2, 0.5)])
        for p in [0.0] * runs
    ]
    fine = np.sqrt(3.0 / 798)  # the standard error of one estimate, which the rest is above
    assert alike - 4.5 * alike * fine / np.sqrt(runs) < np.mean(found) < 1.25 * alike


def test_a_change_hardly_spoils_the_dispersion() -> None:
    random, trials = np.random.default_rng(5), np.full(100, 200.0)
    chances = np.where(np.arange(100) < 50, 0.2, 0.6)
    found = [dispersion([(random.binomial(200, chances), trials)]) for _ in range(50)]
    assert np.mean(found) < 1.6  # the two greatest terms would make it 5 and more
    rhythm = 0.4 + 0.1 * np.sin(np.arange(600) / 50)
    found = [dispersion([(random.binomial(100, rhythm), np.full(600, 100.0))]) for _ in range(10)]
    assert min(found) > 5.0  # which differences of neighbours alone do not see


def test_what_is_too_little_to_tell() -> None:
    few = np.full(PAIRS, LEAST)
    assert dispersion([(few / 2, few)]) is None and dispersion([]) is None
    enough = np.full(PAIRS + 1, LEAST)
    assert dispersion([(enough / 5, enough)]) == 1.0
    nothing = np.zeros(30)
    assert dispersion([(nothing, np.full(30, 30.0))]) is None  # no success at all
    assert dispersion([(nothing, nothing)]) is None and changes_in(nothing, nothing) == []


def test_changes_are_found_where_they_are() -> None:
    random = np.random.default_rng(8)
    chances = np.repeat([0.5, 0.3, 0.3, 0.6], 30)
    trials = random.poisson(60, 120).astype(float)
    found = changes_in(random.binomial(trials.astype(int), chances).astype(float), trials)
    assert [abs(change.at - wanted) <= 3 for change, wanted in zip(found, (30, 90), strict=True)]
    assert len(found) == 2 and all(change.statistic > change.threshold for change in found)
    np.testing.assert_allclose(
        [found[0].before, found[0].after, found[1].after], [0.5, 0.3, 0.6], atol=0.06
    )
    assert found[0].after == found[1].before
