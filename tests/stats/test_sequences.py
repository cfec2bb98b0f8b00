"""Confidence sequences: the formula, who has computed it too, and looking after every unit."""

from fractions import Fraction
from itertools import product
from math import factorial, inf, log, sqrt

import numpy as np
import pytest

from sojourn.stats.intervals import FIRST, Interval, radius, ratio_evidence, sequence


def of_the_paper(t: float, rho: float, alpha: float) -> float:
    """The half-width in standard deviations of one unit, as the paper writes it."""
    a = t * rho**2 + 1
    return sqrt(2 * a / (t**2 * rho**2) * log(sqrt(a) / alpha))


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.2])
@pytest.mark.parametrize("t", [50, 500, 5_000])
def test_radius_is_the_formula_at_its_best_rho(t: float, alpha: float) -> None:
    rhos = np.geomspace(1e-4, 10, 20_001)
    planned = 500.0
    best = rhos[np.argmin([of_the_paper(planned, rho, alpha) for rho in rhos])]
    assert radius(t, alpha, planned) == pytest.approx(
        of_the_paper(t, best, alpha) * sqrt(t), rel=2e-4
    )


@pytest.mark.parametrize(
    ("planned", "low", "high"), [(500, 0.421456, 0.568544), (100, 0.422698, 0.567302)]
)
def test_intervals_of_another_package(planned: float, low: float, high: float) -> None:
    """0, 1/6, ..., 1 over and over, 200 numbers; ville 0.1.0, AsymptoticCS."""
    x = np.arange(200) % 7 / 6
    found = sequence(x.mean(), x.std(ddof=1) / sqrt(200), 200, planned=planned)
    assert (found.low, found.high) == pytest.approx((low, high), abs=2e-6)


def test_without_units_there_is_nothing_to_say() -> None:
    assert sequence(1.0, 0.5, 0.0) == Interval(1.0, -inf, inf)


def test_looking_after_every_unit() -> None:
    """Totals of visits: geometric, so far from normal. A z-test at every look beside it."""
    rng, tests, units = np.random.default_rng(0), 1_000, 1_000
    x = rng.geometric(0.2, (tests, units)).astype(float)
    n = np.arange(1, units + 1)
    mean = x.cumsum(axis=1) / n
    error = np.sqrt(((x**2).cumsum(axis=1) / n - mean**2) / n)
    off, late = np.abs(mean - 5.0) / np.maximum(error, 1e-9), n >= 2 * FIRST
    width = np.array([radius(t, planned=500.0) for t in n])
    wrong = (off > width)[:, late].any(axis=1).mean()
    assert wrong < 0.05 + 4.5 * sqrt(0.05 * 0.95 / tests)
    assert (off > 1.96)[:, late].any(axis=1).mean() > 0.3


# --- sample ratios -----------------------------------------------------------------------------


def bayes_factor(counts: tuple[int, ...], shares: tuple[Fraction, ...]) -> Fraction:
    d, n = len(counts), sum(counts)
    top = Fraction(factorial(d - 1), factorial(n + d - 1))
    for x, share in zip(counts, shares, strict=True):
        top *= factorial(x) / share**x
    return top


def test_evidence_is_the_bayes_factor() -> None:
    shares = (Fraction(1, 2), Fraction(3, 10), Fraction(1, 5))
    for counts in ((0, 0, 0), (30, 2, 9), (3, 1, 0)):
        wanted = min(1 / bayes_factor(counts, shares), Fraction(1))
        found = ratio_evidence([(counts, [float(s) for s in shares])])
        assert found == pytest.approx(float(wanted), rel=1e-10)


def test_evidence_has_mean_1_where_the_shares_are_true() -> None:
    shares, total = (Fraction(1, 4), Fraction(3, 4)), Fraction(0)
    for way in product((0, 1), repeat=8):
        ones = sum(way)
        chance = shares[1] ** ones * shares[0] ** (8 - ones)
        total += chance * bayes_factor((8 - ones, ones), shares)
    assert total == 1


def test_epochs_multiply_and_a_share_of_0_is_never_met() -> None:
    one, other = ([70, 30], [0.5, 0.5]), ([9, 91], [0.1, 0.9])
    both = ratio_evidence([one, other])
    factors = [
        float(bayes_factor((70, 30), (Fraction(1, 2), Fraction(1, 2)))),
        float(bayes_factor((9, 91), (Fraction(1, 10), Fraction(9, 10)))),
    ]
    assert both == pytest.approx(1 / (factors[0] * factors[1]))
    assert ratio_evidence([([100, 0], [1.0, 0.0])]) == 1.0
    assert ratio_evidence([([100, 1], [1.0, 0.0])]) == 0.0


def test_ratios_watched_after_every_unit() -> None:
    rng, tests, units = np.random.default_rng(1), 400, 400
    to_one = (rng.random((tests, units)) < 0.1).cumsum(axis=1)
    n, alarms = np.arange(1, units + 1), 0
    for row in to_one:
        looks = ([([k, t - k], [0.1, 0.9])] for k, t in zip(row, n, strict=True))
        alarms += any(ratio_evidence(look) < 0.05 for look in looks)
    assert alarms / tests < 0.05
