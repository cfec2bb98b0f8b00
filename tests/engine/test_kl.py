"""Divergence and confidence bounds: closed forms, checked vectors, 40-digit arithmetic."""

from math import exp, expm1, inf, log, sqrt

import mpmath
import pytest
from hypothesis import example, given, strategies as st

from sojourn.engine.divergence import bernoulli_kl, kl_lower, kl_upper, kl_upper_at_least

VECTORS = [  # mean, budget, upper bound, lower bound
    (0.1, 0.2, 0.378391548848, 0.00551051062069),
    (0.1, 0.4, 0.519475531763, 0.00071416253974),
    (0.1, 0.9, 0.734715064211, 4.78135441288e-6),
    (0.5, 0.2, 0.787088816381, 0.212911183619),
    (0.5, 0.4, 0.871036061550, 0.128963938450),
    (0.5, 0.9, 0.956809892564, 0.0431901074357),
    (0.9, 0.2, 0.994489489379, 0.621608451152),
    (0.9, 0.4, 0.999285837460, 0.480524468237),
    (0.9, 0.9, 0.999995218646, 0.265284935789),
]

INDICES = [  # successes, pulls, t, upper bound, lower bound at budget log(t) / pulls
    (9, 10, 20, 0.998028179605, 0.545253027807),
    (80, 100, 1000, 0.918524520354, 0.628631702791),
    (900, 1000, 2000, 0.932928928284, 0.859009998580),
    (0, 5, 10, 0.369042655520, 0.0),
    (5, 5, 10, 1.0, 0.630957344480),
]

means = st.floats(0.0, 1.0)
inside = st.floats(-12.0, 0.0).flatmap(  # as close to either end as 1e-12
    lambda x: st.sampled_from([10.0**x / 2.0, 1.0 - 10.0**x / 2.0])
)
budgets = st.floats(-11.0, log(50.0, 10.0)).map(lambda x: 10.0**x)


def exact_kl(p, q):
    """kl(p, q) to 40 digits."""
    p, q = mpmath.mpf(p), mpmath.mpf(q)
    with mpmath.workdps(60):
        left = p * mpmath.log(p / q) if p else mpmath.mpf(0)
        right = (1 - p) * mpmath.log((1 - p) / (1 - q)) if p < 1 else mpmath.mpf(0)
        return left + right


@pytest.mark.parametrize(("mean", "budget", "upper", "lower"), VECTORS)
def test_checked_vectors(mean, budget, upper, lower):
    assert kl_upper(mean, budget) == pytest.approx(upper, abs=6e-13)
    assert kl_lower(mean, budget) == pytest.approx(lower, rel=3e-12)


@pytest.mark.parametrize(("successes", "pulls", "t", "upper", "lower"), INDICES)
def test_checked_indices(successes, pulls, t, upper, lower):
    mean, budget = successes / pulls, log(t) / pulls
    assert kl_upper(mean, budget) == pytest.approx(upper, abs=6e-13)
    assert kl_lower(mean, budget) == pytest.approx(lower, abs=6e-13)


@pytest.mark.parametrize(
    ("p", "q", "divergence"),
    [(0.1, 0.9, 1.757779), (0.4, 0.5, 0.020135), (0.8, 0.9, 0.0444030), (0.1, 0.2, 0.0366902)],
)
def test_checked_divergences(p, q, divergence):
    assert bernoulli_kl(p, q) == pytest.approx(divergence, abs=1e-6)
    assert bernoulli_kl(p, q) == pytest.approx(float(exact_kl(p, q)), rel=1e-14)


@given(budget=budgets)
def test_closed_forms(budget):
    assert kl_upper(0.0, budget) == pytest.approx(1.0 - exp(-budget), abs=1e-15)
    assert kl_lower(1.0, budget) == exp(-budget)
    assert kl_upper(1.0, budget) == 1.0
    assert kl_lower(0.0, budget) == 0.0
    root = sqrt(-expm1(-2.0 * budget))  # kl(1/2, q) = -log(4 q (1 - q)) / 2
    assert kl_upper(0.5, budget) == pytest.approx((1.0 + root) / 2.0, abs=1e-12)


def test_divergence_at_the_ends():
    assert bernoulli_kl(0.0, 0.0) == bernoulli_kl(1.0, 1.0) == bernoulli_kl(0.3, 0.3) == 0.0
    assert bernoulli_kl(0.3, 0.0) == bernoulli_kl(0.3, 1.0) == inf
    assert bernoulli_kl(1.0, 0.25) == pytest.approx(log(4.0), rel=1e-15)
    assert bernoulli_kl(0.0, 0.75) == pytest.approx(log(4.0), rel=1e-15)


@given(p=inside, q=inside)
def test_divergence_against_40_digits(p, q):
    # 1 - q is rounded when q is tiny: that alone moves kl by up to 1e-16 absolute.
    assert bernoulli_kl(p, q) == pytest.approx(float(exact_kl(p, q)), rel=1e-12, abs=1e-15)


@given(p=st.floats(0.01, 0.99), x=st.floats(-9.0, -3.0))
def test_close_means_do_not_cancel(p, x):
    q = p + (1.0 - p) * 10.0**x
    assert bernoulli_kl(p, q) == pytest.approx(float(exact_kl(p, q)), rel=1e-6)
    assert bernoulli_kl(q, p) == pytest.approx(float(exact_kl(q, p)), rel=1e-6)


@given(mean=inside, budget=budgets)
@example(mean=1.0 - 1e-12, budget=1e-11)
@example(mean=1.0 - 1e-12, budget=1e-12)
@example(mean=1.0 - 1e-12, budget=50.0)
@example(mean=1e-12, budget=1e-11)
@example(mean=0.5, budget=1e-11)
@example(mean=0.05, budget=33.0)
def test_lower_bound_brackets_the_root(mean, budget):
    """The root lies within 1e-12 of the answer, relative: shown by the sign of kl - budget."""
    found = kl_lower(mean, budget)
    assert 0.0 <= found <= mean
    if found < 1e-300:  # where doubles run out
        assert exact_kl(mean, 2e-300) <= budget
        return
    width = mpmath.mpf(found) * mpmath.mpf("1e-12")
    assert exact_kl(mean, found - width) >= budget
    assert found + width >= mean or exact_kl(mean, found + width) <= budget


@given(mean=inside, budget=budgets)
@example(mean=1e-12, budget=1e-11)
@example(mean=1e-12, budget=50.0)
@example(mean=1.0 - 1e-12, budget=1e-11)
def test_upper_bound_brackets_the_root(mean, budget):
    found = kl_upper(mean, budget)
    assert mean - 1e-15 <= found <= 1.0
    width = mpmath.mpf("1e-12")
    assert found + width >= 1 or exact_kl(mean, found + width) >= budget
    assert found - width <= mean or exact_kl(mean, found - width) <= budget


@pytest.mark.parametrize("pulls", [10**6, 10**9, 10**12])
@pytest.mark.parametrize("misses", [1, 17, 10**5])
@pytest.mark.parametrize("t", [10.0, 1e6, 1e12])
def test_counts_up_to_a_million_million(pulls, misses, t):
    mean, budget = 1.0 - misses / pulls, log(t) / pulls
    found = kl_lower(mean, budget)
    width = mpmath.mpf("1e-12") * found
    assert exact_kl(mean, found - width) >= budget
    assert found + width >= mean or exact_kl(mean, found + width) <= budget


@given(mean=means, more=means, budget=budgets)
@example(mean=0.0, more=1e-71, budget=1.0)
@example(mean=0.0, more=1e-22, budget=1e-11)
def test_bounds_enclose_mirror_and_grow(mean, more, budget):
    low, high = sorted((mean, more))
    assert kl_lower(mean, budget) <= mean + 1e-15
    assert kl_upper(mean, budget) >= mean - 1e-15
    assert kl_upper(1.0 - mean, budget) == pytest.approx(
        1.0 - kl_lower(1.0 - (1.0 - mean), budget), abs=1e-14
    )
    assert kl_lower(low, budget) <= kl_lower(high, budget) + 1e-14
    assert kl_upper(low, budget) <= kl_upper(high, budget) + 1e-14


@given(mean=means, budget=budgets, more=st.floats(1.0, 10.0))
def test_a_larger_budget_widens(mean, budget, more):
    assert kl_lower(mean, budget * more) <= kl_lower(mean, budget) + 1e-14
    assert kl_upper(mean, budget * more) >= kl_upper(mean, budget) - 1e-14


@given(p=st.floats(0.0, 1.0), q=st.floats(0.001, 0.999))
def test_pinsker(p, q):
    assert bernoulli_kl(p, q) >= 2.0 * (p - q) ** 2 - 1e-15


@given(mean=means)
def test_no_budget_leaves_the_mean(mean):
    assert kl_lower(mean, 0.0) == mean
    assert kl_upper(mean, 0.0) == pytest.approx(mean, abs=1e-16)


@given(mean=means | inside, budget=budgets)
def test_the_bound_that_is_not_solved_for_is_below_and_close(mean, budget):
    """To second order it is the bound; what is lost falls with the root of budget / variance."""
    low, exact = kl_upper_at_least(mean, budget), kl_upper(mean, budget)
    assert low <= exact + 1e-15
    lost = sqrt(budget / max(mean * (1.0 - mean), 1e-300))
    assert exact - low <= lost * (exact - mean) + 1e-15
