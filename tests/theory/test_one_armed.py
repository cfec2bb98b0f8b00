"""The lower bound from one unknown arm: against the exact optimum, and a literal twin."""

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss

import sojourn as sj
from sojourn.theory.one_armed import _Bandit
from sojourn.values.finite import FiniteUser, Horizon, Visits

B = sj.TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1)
OPPOSITE = sj.paper.SETTINGS["opposite"].user


@pytest.mark.parametrize(("known", "user"), [(0.3, B), (0.7, OPPOSITE)])
def test_a_known_arm_is_one_of_a_narrow_prior(known: float, user: sj.User) -> None:
    bandit = _Bandit(user, Visits(FiniteUser.of(user), Horizon.of(5, False)), 60)
    whole, charged = bandit.solve((1.0, 1.0), known, 1.0 - known)
    narrow = (known * 1e4, (1.0 - known) * 1e4)
    exact = sj.theory.bayes_optimum(user, prior=[(1, 1), narrow], visits=5, pulls=60)
    assert exact.low - 2e-3 < whole < exact.high + 2e-3
    assert charged == pytest.approx(whole / 2, rel=0.02) and charged <= whole / 2 + 1e-9


def test_prices_are_means_under_the_posterior() -> None:
    """Six pulls, each number of successes: by Gauss on either side of the known mean."""
    known, n = 0.6, 6
    bandit = _Bandit(B, Visits(FiniteUser.of(B), Horizon.of(5, False)), n)
    (pull, show, waste), charged = bandit.prices((1.0, 2.0), known, 0.4)
    x, w = leggauss(40)
    for k in range(n + 1):
        total = np.zeros((4, 2))
        for low, high in ((0.0, known), (known, 1.0)):
            for point, weight in zip(x, w, strict=True):
                mean = low + (high - low) * (point + 1) / 2
                chance = weight * (high - low) / 2 * mean**k * (1 - mean) ** (1 + n - k)
                problem = sj.Problem([max(mean, known), 0.0], B)
                cost = np.array([problem.mistake_cost(s) for s in (0, 1)])
                total[0] += chance
                total[1] += chance * max(known - mean, 0) * cost
                total[2] += chance * max(mean - known, 0) * cost
                total[3] += chance * max(mean, known) * cost
        found = np.array([pull[:, k], show[:, k], waste[:, k]])
        np.testing.assert_allclose(found, total[1:] / total[0], rtol=1e-9)
    np.testing.assert_allclose(charged[:2], [pull / 2, show / 2])


def test_it_is_below_the_optimum() -> None:
    for arms, pulls in ((2, 80), (3, 30)):
        exact = sj.theory.bayes_optimum(B, arms=arms, visits=5, pulls=pulls)
        bound = sj.theory.bayes_lower_bound(B, arms=arms, visits=5, pulls=60)
        assert 0.3 * exact.high < bound.regret < exact.high
        assert bound.error < 0.01 * bound.regret
    assert bound.all_arms > bound.one_arm


def test_different_priors_are_taken_one_by_one() -> None:
    one = sj.theory.bayes_lower_bound(B, arms=3, visits=20, pulls=40)
    same = [(1.0, 1.0), (1.0, 1.0), (1.0, 1.0 + 1e-9)]
    three = sj.theory.bayes_lower_bound(B, arms=3, prior=same, visits=20, pulls=40)
    assert three.all_arms == pytest.approx(one.all_arms, rel=1e-6)
    assert three.one_arm == pytest.approx(one.one_arm, rel=1e-6)


def test_it_grows_with_the_horizon() -> None:
    found = [
        sj.theory.bayes_lower_bound(B, arms=10, visits=visits, pulls=60).regret
        for visits in (10, 100, 1_000)
    ]
    assert found == sorted(found) and found[0] > 0.0


def test_mistakes() -> None:
    with pytest.raises(ValueError, match=r"arms = 1 is not allowed"):
        sj.theory.bayes_lower_bound(B, arms=1)
    with pytest.raises(ValueError, match=r"better to show the arm of lower mean"):
        sj.theory.bayes_lower_bound(sj.TwoState(0.1, 0.05, 0.1, 0.6))
