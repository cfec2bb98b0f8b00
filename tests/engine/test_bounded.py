"""Divergence and bound for bounded rewards: published values, closed forms, 40 digits, scipy."""

from math import exp, inf, log

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sojourn.engine.divergence import bernoulli_kl, kinf, kinf_upper, kl_upper

optimize = pytest.importorskip("scipy.optimize")


def grid(points: int, **weights: float) -> np.ndarray:
    """Weights of some points, `x3=0.5` for the fourth."""
    made = np.zeros(points)
    for name, weight in weights.items():
        made[int(name[1:])] = weight
    return made


PUBLISHED = [  # points, weights, budget with the residual printed, mean of the solution printed
    (
        [0.11794872, 0.27948718, 0.31538462, 0.14102564, 0.0974359, 0.03076923, 0.00769231,
         0.01025641, 0, 0, 0],
        0.0168913409484 + 6.346824777642493e-05,
        np.dot([0.09350345, 0.24384361, 0.30592818, 0.1540174, 0.1217364, 0.04491065, 0.01349865,
                0.02256166], np.arange(8)) / 10,
    ),
    (
        [0, 0, 0, 0.5, 0, 0, 0, 0, 0, 0, 0.5],
        0.1 + 3.2215083810294143e-06,
        0.71288173 * 1.0 + 0.28711827 * 0.3,
    ),
]  # fmt: skip
"""SMPyBandits, Policies/kullback.pydoctest.txt: its `maxEV` on values from 0 to 10, 8 digits."""


@pytest.mark.parametrize(("weights", "budget", "bound"), PUBLISHED)
def test_published_bounds(weights: list[float], budget: float, bound: float) -> None:
    weights = np.array(weights)
    assert kinf_upper(weights, budget) == pytest.approx(bound, abs=5e-8)
    assert kinf(weights, bound) == pytest.approx(budget, abs=5e-8)


def exact(weights: np.ndarray, mu: float) -> mpmath.mpf:
    """The greatest E log(1 - l (X - mu)), by bisection for l, to 40 digits."""
    with mpmath.workdps(40):
        mu, n = mpmath.mpf(mu), len(weights) - 1
        seen = [(mpmath.mpf(k) / n, mpmath.mpf(float(w))) for k, w in enumerate(weights) if w > 0]
        total = sum(w for _, w in seen)
        if sum(w * x for x, w in seen) >= mu * total:
            return mpmath.mpf(0)

        def slope(multiplier: mpmath.mpf) -> mpmath.mpf:
            return sum(w * (mu - x) / (1 - multiplier * (x - mu)) for x, w in seen)

        low, high = mpmath.mpf(0), 1 / (1 - mu)
        if seen[-1][0] < 1 and slope(high) >= 0:
            low = high
        for _ in range(140):
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) > 0 else (low, middle)
        return sum(w * mpmath.log(1 - low * (x - mu)) for x, w in seen) / total


many = st.lists(
    st.one_of(st.just(0.0), st.integers(1, 5).map(float), st.floats(1e-6, 1e6)),
    min_size=3, max_size=9,
).filter(lambda ws: sum(ws[:-1]) > 0)  # fmt: skip


@settings(max_examples=25, deadline=None, derandomize=True)
@given(many, st.one_of(st.floats(1e-4, 0.9999), st.floats(-4, -1).map(lambda x: 1 - 10.0**x)))
def test_against_40_digits(weights: list[float], way: float) -> None:
    weights = np.array(weights)
    mean = float(weights @ np.arange(len(weights)) / (len(weights) - 1) / weights.sum())
    mu = mean + way * (1.0 - mean)
    if not mean < mu < 1.0:
        return
    divergence = float(exact(weights, mu))
    assert kinf(weights, mu) == pytest.approx(divergence, rel=1e-8, abs=1e-15)
    assert kinf_upper(weights, divergence) == pytest.approx(mu, abs=1e-9)


def test_against_a_maximizer_of_another_package() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        x, weights = np.arange(11) / 10, rng.integers(0, 4, 11) + np.eye(11)[5]
        mu = rng.uniform(weights @ x / weights.sum(), 0.99)
        found = optimize.minimize_scalar(
            lambda part: -weights @ np.log1p(-part / (1 - mu) * (x - mu)) / weights.sum(),  # noqa: B023
            bounds=(0, 1 - 1e-12), method="bounded", options={"xatol": 1e-10},
        )  # fmt: skip
        assert kinf(weights.astype(float), mu) == pytest.approx(-found.fun, rel=1e-6)


@given(st.integers(0, 50), st.integers(1, 50), st.floats(0, 1), st.floats(0, 5))
def test_on_0_and_1_it_is_bernoullis(wins: int, losses: int, mu: float, budget: float) -> None:
    weights, mean = grid(21, x0=losses, x20=wins), wins / (wins + losses)
    assert kinf(weights, mu) == (bernoulli_kl(mean, mu) if mu > mean else 0.0)
    assert kinf_upper(weights, budget) == kl_upper(mean, budget)
    beside = weights + grid(21, x10=1e-12)  # which goes the other way through the code
    assert kinf_upper(beside, budget) == pytest.approx(kl_upper(mean, budget), abs=1e-6)


@pytest.mark.parametrize("mu", [0.45, 0.5, 0.59])
def test_two_points(mu: float) -> None:
    """Between them: kl of the shares. Beyond what those can reach, the rest of the mass is on 1."""
    low, high, p = 0.2, 0.6, 0.5
    weights = grid(11, x2=1 - p, x6=p)
    multiplier = (low + p * (high - low) - mu) / ((low - mu) * (high - mu))
    if multiplier <= 1 / (1 - mu):
        expected = bernoulli_kl(p, (mu - low) / (high - low))
    else:
        expected = (1 - p) * log((1 - low) / (1 - mu)) + p * log((1 - high) / (1 - mu))
    assert kinf(weights, mu) == pytest.approx(expected, rel=1e-12)
    assert kinf_upper(weights, expected) == pytest.approx(mu, rel=1e-12)


@given(st.integers(1, 18), st.floats(0.01, 3))
def test_one_point(k: int, budget: float) -> None:
    """All mass at x: G keeps exp(-budget) of it, and has the rest on 1."""
    x, weights = k / 20, grid(21, **{f"x{k}": 7.0})
    bound = 1 - (1 - x) * exp(-budget)
    assert kinf_upper(weights, budget) == pytest.approx(bound, rel=1e-13)
    assert kinf(weights, bound) == pytest.approx(budget, rel=1e-11)


def test_ends() -> None:
    weights = grid(3, x0=1.0, x1=1.0, x2=2.0)
    assert kinf(weights, 0.6) == kinf(weights, 0.625) == 0.0
    assert kinf(weights, 1.0) == inf
    assert kinf_upper(weights, 0.0) == 0.625
    assert kinf_upper(weights, 1e-12) == pytest.approx(0.625 + (2e-12 * 0.171875) ** 0.5, abs=1e-11)
    assert 0.999 < kinf_upper(weights, 50.0) <= 1.0


@pytest.mark.parametrize("rest", [1e-17, -1e-17, 1e-300, 1e-13, 1e-11])
@pytest.mark.parametrize(
    "weights", [[0, 0, 3, 2, 0], [1, 2, 0, 0, 0], [0, 0, 0, 5, 0], [3, 0, 0, 0, 2], [5, 0, 0, 0, 0]]
)
def test_what_rounding_leaves_makes_no_difference(weights: list[int], rest: float) -> None:
    clean = np.array(weights, float)
    rounded = clean + rest * np.array([0, 1, 0, 0, 1])
    for mu in (0.3, 0.8, 0.99):
        assert kinf(rounded, mu) == pytest.approx(kinf(clean, mu), rel=1e-9, abs=1e-9)
    for budget in (1e-3, 0.5, 5.0):
        assert kinf_upper(rounded, budget) == pytest.approx(kinf_upper(clean, budget), abs=1e-7)


@given(many, st.floats(0.001, 3.0), st.floats(0.05, 0.95))
def test_spreading_out_never_makes_a_bound_smaller(
    weights: list[float], budget: float, mu: float
) -> None:
    """Mass moved to neighbours, mean unchanged; in the end all of it is on 0 and 1."""
    fine, n = np.array(weights), len(weights) - 1
    coarse = fine.copy()
    coarse[0], coarse[1], coarse[2] = fine[0] + fine[1] / 2, 0.0, fine[2] + fine[1] / 2
    ends = np.zeros(n + 1)
    ends[-1] = fine @ np.arange(n + 1) / n
    ends[0] = fine.sum() - ends[-1]
    ordered = [kinf(w, mu) for w in (ends, coarse, fine)]
    assert ordered == pytest.approx(sorted(ordered), rel=1e-9, abs=1e-12)
    bounds = [kinf_upper(w, budget) for w in (fine, coarse, ends)]
    assert bounds == pytest.approx(sorted(bounds), rel=1e-9)
