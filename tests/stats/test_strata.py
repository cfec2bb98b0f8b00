"""Differences by strata and clusters, against plain twins that see every visit."""

from math import inf, isnan, sqrt

import numpy as np
import pytest

from sojourn.stats.intervals import FIRST, radius
from sojourn.stats.moments import Array
from sojourn.stats.strata import difference, mean, sample_ratio

Visit = tuple[int, str, int, float]  # epoch, variant, user, reward


def visits_of(rng: np.random.Generator, users: int) -> list[Visit]:
    """Users with 1 to 6 visits that are alike, in two epochs, some of them in both variants."""
    found = []
    for user in range(users):
        taste = rng.normal()
        for _ in range(rng.integers(1, 7)):
            epoch = int(rng.integers(2))
            variant = "a" if user % 10 < (2, 5)[epoch] else "b"
            reward = taste + 3.0 * epoch + (0.5 if variant == "a" else 0.0) + rng.normal()
            found.append((epoch, variant, user, reward))
    return found


def sums_of(visits: list[Visit], variant: str, users: int) -> Array:
    sums = np.zeros((2, users, 2))
    for epoch, name, user, reward in visits:
        if name == variant:
            sums[epoch, user] += 1.0, reward
    return sums


def twin(visits: list[Visit]) -> tuple[float, float]:
    """The difference, and its error by users left out one at a time: no formula of ours."""

    def estimate(kept: list[Visit]) -> float:
        total = weight = 0.0
        for e in (0, 1):
            a, b = ([r for epoch, v, _, r in kept if (epoch, v) == (e, name)] for name in "ab")
            w = len(a) * len(b) / (len(a) + len(b))
            total += w * (sum(a) / len(a) - sum(b) / len(b))
            weight += w
        return total / weight

    users = sorted({user for _, _, user, _ in visits})
    without = [estimate([v for v in visits if v[2] != user]) for user in users]
    n = len(users)
    return estimate(visits), sqrt((n - 1) / n * sum((x - np.mean(without)) ** 2 for x in without))


def test_difference_is_that_of_the_twin() -> None:
    users = 300
    visits = visits_of(np.random.default_rng(3), users)
    found = difference(sums_of(visits, "a", users), sums_of(visits, "b", users), 1)
    value, error = twin(visits)
    assert found.value == pytest.approx(value, rel=1e-12)
    assert found.error == pytest.approx(error, rel=0.03)  # to first order
    naive = sqrt(sum(1.0 / sum(v == name for _, v, *_ in visits) for name in "ab") * 2.0)
    assert error > 1.2 * naive  # clusters matter here
    plain = np.mean([r for _, v, _, r in visits if v == "a"]) - np.mean(
        [r for _, v, _, r in visits if v == "b"]
    )
    assert plain > value + 0.3  # and so do strata: later visits are better, and more often a


def test_groups_of_users_do_as_well_as_users() -> None:
    """1,000 users in 100 groups: the same number, and the same error but for chance."""
    users = 1000
    visits = visits_of(np.random.default_rng(4), users)
    one, other = (sums_of(visits, name, users) for name in "ab")
    exact = difference(one, other, 1)
    grouped = difference(*(s.reshape(2, 100, 10, 2).sum(axis=2) for s in (one, other)), 1)
    assert grouped.value == pytest.approx(exact.value, rel=1e-12)
    assert grouped.error == pytest.approx(exact.error, rel=4.5 / sqrt(2 * 100))
    assert grouped.units == pytest.approx(exact.units) and grouped.clusters < 100 < exact.clusters


def test_means() -> None:
    users = 300
    visits = visits_of(np.random.default_rng(5), users)
    found = mean(sums_of(visits, "b", users), 1)
    rewards = [r for _, v, _, r in visits if v == "b"]
    assert found.value == pytest.approx(np.mean(rewards)) and found.units == len(rewards)


def test_where_there_is_nothing_to_compare() -> None:
    nothing, some = np.zeros((2, 5, 2)), np.ones((2, 5, 2))
    for found in (difference(nothing, some, 1), mean(nothing, 1)):
        assert isnan(found.value) and found.error == inf and found.units == 0.0
    assert difference(some, some, 1).error == inf  # all alike: nothing is known of the error
    apart = np.zeros((2, 5, 2))
    apart[0], nothing[1] = 1.0, 1.0
    assert isnan(difference(apart, nothing, 1).value)  # never at the same time


def test_few_visits_borrow_the_variance_of_many() -> None:
    """In two epochs: that of both together, visit by visit, if it says that the error is larger."""
    rng, one, other = np.random.default_rng(8), np.zeros((2, 400, 2)), np.zeros((2, 400, 2))
    other[:, :, 0], one[:, :20, 0] = 5.0, 1.0
    other[:, :, 1] = 5.0 + rng.normal(size=(2, 400))
    one[:, :20, 1] = 1.0 + rng.normal(size=(2, 20)) * 1e-3
    found = difference(one, other, 1)
    spread = [(other[e, :, 1].var() * 400 + one[e, :20, 1].var() * 20) / 2020 for e in (0, 1)]
    assert found.error == pytest.approx(sqrt(sum(spread) / 4 * (1 / 20 + 1 / 2000)))
    more = one.copy()
    more[:, :20, 1] = 1.0 + rng.normal(size=(2, 20))
    own = difference(more, other, 1)
    assert own.error > 1.5 * found.error  # what varies more counts as it is


def test_units_are_those_of_an_even_split() -> None:
    one, other = np.zeros((1, 900, 2)), np.zeros((1, 900, 2))
    one[0, :100, 0] = 1.0
    other[0, :900, 0] = 1.0
    assert difference(one, other, 1).units == pytest.approx(4.0 * 100 * 900 / 1000)


def test_watched_all_the_time_nothing_is_found_where_nothing_is() -> None:
    """400 A/A tests with users who come back, in two epochs; looked at after every tenth visit."""
    rng, tests, groups, looks = np.random.default_rng(6), 400, 250, 80
    wrong = 0
    for _ in range(tests):
        tastes = rng.normal(size=groups)
        one, other = np.zeros((2, groups, 2)), np.zeros((2, groups, 2))
        is_one = rng.random(groups) < 0.5
        found = False
        for look in range(looks):
            users = rng.integers(groups, size=10)
            rewards = tastes[users] + rng.normal(size=10)
            for sums, chosen in ((one, is_one[users]), (other, ~is_one[users])):
                np.add.at(sums[int(look >= 40)], users[chosen], np.c_[np.ones(10), rewards][chosen])
            now = difference(one, other, 1)
            if now.clusters >= FIRST:
                found |= abs(now.value) > now.error * radius(now.units, 0.05, 500.0)
        wrong += found
    assert wrong / tests <= 0.05 + 4.5 * sqrt(0.05 * 0.95 / tests)


def test_sample_ratio() -> None:
    """Users with many visits do not make it wrong, lost visits do."""
    rng, shares = np.random.default_rng(7), np.array([[0.5, 0.5], [0.9, 0.1]])
    alarms = 0
    for _ in range(200):
        opened = np.zeros((2, 2, 1000))
        for user in range(600):
            for epoch in (0, 1):
                variant = int(rng.random() >= shares[epoch, 0])
                opened[variant, epoch, user] += rng.integers(1, 20)
        alarms += sample_ratio(opened, shares) < 0.05
    assert alarms / 200 <= 0.05 + 4.5 * sqrt(0.05 * 0.95 / 200)
    opened[1] *= 0.5  # half the visits of a variant are lost
    assert sample_ratio(opened, shares) < 0.001
    single = np.zeros((2, 1, 2000))
    single[0, 0, :1200] = single[1, 0, 1200:] = 1.0
    assert sample_ratio(single, np.array([[0.5, 0.5]])) < 0.001
    assert sample_ratio(np.zeros((2, 1, 5)), np.array([[0.5, 0.5]])) == 1.0
