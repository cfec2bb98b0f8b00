"""The chance of a beta draw to be the greatest, against integrals by SciPy and known numbers."""

import numpy as np
import pytest

import sojourn as sj
from sojourn.policies.draws import greatest_draw

stats = pytest.importorskip("scipy.stats")

CASES = {
    "nothing known": ([1, 1, 1, 1], [1, 1, 1, 1]),
    "few": ([3, 2, 5.5], [2, 2, 3.25]),
    "all good": ([4, 9, 30], [1, 1, 1]),
    "all bad": ([1, 1, 1], [4, 9, 30.5]),
    "one known well": ([600_001, 3, 1], [400_001, 2, 8]),
    "two known well": ([600_001, 599_800, 80], [400_001, 400_100, 60]),
    "rare": ([2, 12, 1], [1_000, 9_000, 300]),
}


def integrated(a: list[float], b: list[float]) -> np.ndarray:
    """By each draw's own quantiles, cut at those of all: how often all others are below."""
    x, weight = np.polynomial.legendre.leggauss(20)
    every = [stats.beta(*each) for each in zip(a, b, strict=True)]
    half = stats.norm.cdf(np.linspace(-8, 0, 17))
    ends = np.concatenate([half, 1.0 - half])
    found = []
    for own in every:
        cuts = np.unique(
            np.concatenate([own.cdf(each.ppf(ends)) for each in every] + [ends, [0, 1]])
        )
        wide = np.diff(cuts)[:, None]
        at, mass = (cuts[:-1, None] + wide * (x + 1.0) / 2.0).ravel(), (wide * weight / 2.0).ravel()
        below = [each.cdf(own.ppf(at)) for each in every if each is not own]
        found.append(float(mass @ np.prod(below, axis=0)))
    return np.array(found)


@pytest.mark.parametrize("case", CASES)
def test_chances_are_the_integrals(case: str) -> None:
    a, b = CASES[case]
    found = greatest_draw(np.array(a, float), np.array(b, float))
    np.testing.assert_allclose(found, integrated(a, b), atol=1e-6)
    assert found.sum() == pytest.approx(1.0, abs=1e-14)


def test_known_numbers() -> None:
    """Beta(a, 1) is the greatest of a uniform draws, so that chances are shares of all a."""
    found = greatest_draw(np.array([1.0, 2.0, 3.0, 14.0]), np.ones(4))
    np.testing.assert_allclose(found, np.array([1, 2, 3, 14]) / 20, atol=1e-8)
    far = greatest_draw(np.array([900.0, 100.0]), np.array([100.0, 900.0]))
    assert far.tolist() == [1.0, 0.0]  # the second cannot win, and nothing is integrated


def test_a_mixture_with_thompson_sampling_is_known() -> None:
    policy = sj.policies.EpsilonMixture(sj.policies.GatedThompson(), epsilon=0.5)
    memory = policy.memory(2)
    for arm, reward in ((0, 1.0), (1, 0.0)):
        policy.update(memory, 1.0, arm, reward, False, reward)
    # Beta(2, 1) against Beta(1, 2): 5 in 6
    assert policy.probabilities(memory, 1.0)[0] == pytest.approx(0.25 + 0.5 * 5 / 6, abs=1e-8)
    assert policy.probabilities(memory, 0.0).tolist() == [0.75, 0.25]
