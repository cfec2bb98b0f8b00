"""The test for changes: the statistic, its proof in numbers, its level at every look, its delay."""

from itertools import accumulate
from math import lgamma, log, pi, sqrt

import numpy as np
import pytest
from glr import Change, change_in, likelihood_ratios
from numpy.typing import NDArray

from sojourn.engine.divergence import bernoulli_kl
from sojourn.policies.restarting import needed


def of_the_paper(won: list[float], made: list[float], delta: float) -> Change | None:
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
        above = statistic - threshold
        if above >= 0 and (found is None or above > most):
            found, most = Change(k, p, q, statistic, threshold), above
    return found


def test_is_what_the_module_says() -> None:
    rng, changes = np.random.default_rng(0), 0
    for _ in range(300):
        made = rng.integers(0, 60, rng.integers(1, 12)).astype(float)
        chance = np.where(np.arange(made.size) < rng.integers(0, made.size + 1), *rng.random(2))
        won = rng.binomial(made.astype(int), chance).astype(float)
        if rng.random() < 0.3:
            won *= rng.random(won.size)  # graded rewards
        found = change_in(won, made, delta=0.05)
        wanted = of_the_paper(won.tolist(), made.tolist(), 0.05)
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
            bar = np.array([needed(a, now - a, k, delta) for k, a in enumerate(n, 1)])
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
