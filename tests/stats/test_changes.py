"""The test for changes: the statistic, its proof in numbers, its level at every look, its delay."""

from itertools import accumulate
from math import lgamma, log, pi, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from sojourn.engine.divergence import bernoulli_kl
from sojourn.stats.changes import (
    LEAST,
    PAIRS,
    Change,
    change_in,
    changes_in,
    dispersion,
    greatest,
    likelihood_ratios,
    nats_needed,
)


def of_the_paper(won: list[float], made: list[float], delta: float, spread: float) -> Change | None:
    """The same, one edge after the other, with divergences."""
    n, x = sum(made), sum(won)
    found, most = None, 0.0
    for k in range(1, len(made)):
        before, after = sum(made[:k]), sum(made[k:])
        if before == 0 or after == 0:
            continue
        p, q = sum(won[:k]) / before, sum(won[k:]) / after
        statistic = before * bernoulli_kl(p, x / n) + after * bernoulli_kl(q, x / n)
        threshold = log(4 * k * (k + 1) * sqrt(before * after) / delta)
        above = statistic / spread - threshold
        if above >= 0 and (found is None or above > most):
            found, most = Change(k, p, q, statistic / spread, threshold), above
    return found


@pytest.mark.parametrize("spread", [1.0, 1.7])
def test_is_what_the_module_says(spread: float) -> None:
    rng, changes = np.random.default_rng(0), 0
    for _ in range(300):
        made = rng.integers(0, 60, rng.integers(1, 12)).astype(float)
        chance = np.where(np.arange(made.size) < rng.integers(0, made.size + 1), *rng.random(2))
        won = rng.binomial(made.astype(int), chance).astype(float)
        if rng.random() < 0.3:
            won *= rng.random(won.size)  # graded rewards
        found = change_in(won, made, delta=0.05, overdispersion=spread)
        wanted = of_the_paper(won.tolist(), made.tolist(), 0.05, spread)
        assert (found is None) == (wanted is None)
        if found is not None and wanted is not None:
            changes += 1
            assert found == pytest.approx(wanted, rel=1e-9)
    assert 30 < changes < 250


def test_nothing_to_compare() -> None:
    assert change_in([], []) is None
    assert change_in([5], [5]) is None
    assert change_in([0, 5, 0], [0, 5, 0]) is None


def test_jeffreys_mixture_is_no_less_than_the_proof_says() -> None:
    """B(x + 1/2, n - x + 1/2) / pi >= (x / n)^x (1 - x / n)^(n - x) / (2 sqrt(n))."""
    for n in (1, 2, 3, 10, 100, 10_000):
        for x in np.linspace(0.0, n, 41):
            mixture = lgamma(x + 0.5) + lgamma(n - x + 0.5) - lgamma(n + 1) - log(pi)
            best = sum(y * log(y / n) for y in (x, n - x) if y > 0)
            assert mixture >= best - log(2 * sqrt(n)) - 1e-9
    assert sum(1 / (k * (k + 1)) for k in range(1, 10**5)) == pytest.approx(1, abs=2e-5)


def first_alarms(
    won: NDArray[np.float64], made: NDArray[np.float64], delta: float
) -> NDArray[np.float64]:
    """The look of the first alarm of each row of `won`, if buckets are looked at one by one.

    With delta 0, at what is right for one look at one edge: half the 95 % point of chi-square.
    """
    first = np.full(len(won), np.inf)
    sums, counts = won.cumsum(axis=1), made.cumsum()
    for look in range(2, made.size + 1):
        n = counts[: look - 1]
        bar = np.full(n.size, 1.92)
        if delta > 0.0:
            now = counts[look - 1]
            bar = np.array([nats_needed(a, now - a, k, delta) for k, a in enumerate(n, 1)])
        total = sums[:, look - 1 : look]
        alarm = (likelihood_ratios(sums[:, : look - 1], n, total, counts[look - 1]) >= bar).any(
            axis=1
        )
        first[alarm & np.isinf(first)] = look
    return first


@pytest.mark.parametrize("chance", [0.5, 0.03])
def test_holds_its_level_at_every_look(chance: float) -> None:
    """Looked at after each of 200 buckets, with the test for one look beside it."""
    tests, buckets, size, delta = 400, 200, 5, 0.2
    won = np.random.default_rng(1).binomial(size, chance, (tests, buckets)).astype(float)
    made = np.full(buckets, float(size))
    assert np.isfinite(first_alarms(won, made, delta)).mean() < delta
    assert np.isfinite(first_alarms(won, made, 0.0)).mean() > 0.8


def test_alarms_agree_with_change_in() -> None:
    won = np.random.default_rng(2).binomial(5, [[0.5] * 30 + [0.1] * 30] * 20).astype(float)
    made = np.full(60, 5.0)
    first = first_alarms(won, made, 0.05)
    for row, look in zip(won, first, strict=True):
        looks = [change_in(row[:n], made[:n]) is not None for n in range(1, 61)]
        assert looks.index(True) + 1 == look
    assert (first > 30).all()


def test_trials_may_depend_on_what_was_seen() -> None:
    """An arm that is dropped for a while when it does badly: the level holds all the same."""
    rng, delta, alarms = np.random.default_rng(3), 0.1, 0
    for _ in range(200):
        won, made = [0.0], [0.0]
        for _ in range(40):
            doing_well = sum(won) * 2 >= sum(made)
            made.append(10.0 if doing_well else 1.0)
            won.append(float(rng.binomial(int(made[-1]), 0.5)))
        looks = zip(accumulate([[x] for x in won]), accumulate([[n] for n in made]), strict=True)
        alarms += any(change_in(x, n, delta=delta) is not None for x, n in looks)
    assert alarms / 200 < delta


def test_finds_a_change_soon_and_where_it_was() -> None:
    """0.5 to 0.3 after 1,000 trials: kl is 0.08 nats a trial, and about 18 nats are needed."""
    rng, chance = np.random.default_rng(4), np.where(np.arange(60) < 20, 0.5, 0.3)
    won = rng.binomial(50, chance, (100, 60)).astype(float)
    first = first_alarms(won, np.full(60, 50.0), 0.01)
    assert (first > 20).all()
    assert np.median(first) <= 28
    found = [change_in(row[:40], [50] * 40, delta=0.01) for row in won]
    assert all(change is not None and abs(change.at - 20) <= 5 for change in found)


def test_overdispersion_keeps_the_level_of_users_that_differ() -> None:
    """Buckets whose chances vary by themselves: 1 + 49 / 10 times the variance of coins."""
    rng, tests, size = np.random.default_rng(5), 100, 50
    made = np.full(60, float(size))
    rate = 9.0  # Beta(rate / 2, rate / 2): variance of sums is 1 + (size - 1) / (rate + 1) times
    won = rng.binomial(size, rng.beta(rate / 2, rate / 2, (tests, 60))).astype(float)
    factor = 1 + (size - 1) / (rate + 1)
    plain = sum(change_in(row, made) is not None for row in won)
    honest = sum(change_in(row, made, overdispersion=factor) is not None for row in won)
    assert honest <= 0.05 * tests < plain


@pytest.mark.parametrize(
    ("successes", "trials", "options", "sentence"),
    [
        ([1, 2], [3], {}, "successes and trials have shapes (2,) and (1,)"),
        ([4], [3], {}, "successes is not allowed"),
        ([-1], [3], {}, "successes is not allowed"),
        ([1], [float("nan")], {}, "successes is not allowed"),
        ([1], [3], {"delta": 0}, "delta = 0 is not allowed"),
        ([1], [3], {"overdispersion": 0.5}, "overdispersion = 0.5 is not allowed"),
    ],
)
def test_bad_input(
    successes: list[float], trials: list[float], options: dict[str, float], sentence: str
) -> None:
    with pytest.raises(ValueError) as error:
        change_in(successes, trials, **options)
    assert sentence in str(error.value)


# --- several changes, and how much sums vary ------------------------------------------------------


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
