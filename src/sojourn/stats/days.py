"""A change of a mean from one day to the next, beyond the rhythm of days and weeks.

Sums come by bucket of time, at most an hour or two. From each bucket the usual level of its time of
day is taken, the rest is averaged over the day, and a day is compared with the same weekday of
other weeks: with weekday means m, n_i trials on day i and a change d from day k on,

    y_i = m[weekday of i] + d (i >= k) + noise of variance s^2 / n_i.

Nothing is known of m and s, so variation from day to day, as of moods that last for hours, counts
as noise. Against d = 0 stands d / s ~ N(0, 1 / p). With right Haar priors of m and s the Bayes
factor is, for z the indicator of i >= k, and both z and y less their weekday means,

    (p / (p + S))^(1/2)  (1 - b^2 S^2 / (p + S) / R)^(-(N - M) / 2),

where S = sum n z^2, b = sum n z y / S, R = sum n y^2, for N days on M different weekdays (Lindon,
Ham, Tingley and Bojinov, "Anytime-valid linear models and regression adjusted causal inference in
randomized experiments", 2022); the evidence is its mean over `PRIORS`. While nothing changes it is
a martingale of mean 1, if days are independent and normal: with probability 1 - delta it never
exceeds 1 / delta. Each day on which something might have changed has its own, with a level of
delta / `DAYS`.

What all arms have in common is no change of an arm. So an arm is compared with the others within
each bucket; what is common is tested as a series of its own.
"""

from math import log
from typing import NamedTuple

import numpy as np

from .moments import Array

DAY = 86_400.0
DAYS = 56  # that are looked back, and at which a change may begin
PRIORS = np.array([[100.0], [1.0]])  # small and large changes: trials that tell as much
LEAST = 10.0  # successes and failures, as expected, that make sums near normal
QUIET = 1e-4  # of the variance of coins, below which no noise is believed
MOST = 10  # changes of one series, and arms that are set aside


class Change(NamedTuple):
    """From bucket `at` on a mean is greater by `difference` than on the same weekdays before.

    `statistic` is the logarithm of the evidence, which has reached the `threshold`.
    """

    at: int
    difference: float
    statistic: float
    threshold: float


class Sums(NamedTuple):
    """Successes and trials by [series, bucket]."""

    won: Array
    made: Array


class Days(NamedTuple):
    """Numbers of days, the value and the trials of each, and the variance of a trial."""

    number: Array
    value: Array
    trials: Array
    variance: float

    def part(self, first: int, end: int) -> "Days":
        number, value, trials = (each[first:end] for each in self[:3])
        return Days(number, value, trials, self.variance)

    @property
    def compared(self) -> int:
        """How many days can be compared with the same weekday before."""
        return self.number.size - np.unique(self.number % 7).size


def by_day(values: Array, trials: Array, variance: float, starts: Array) -> Days:
    """The mean by day of what differs from the usual value of its time of day."""
    days, place = np.unique(starts // DAY, return_inverse=True)
    off = trials * (values - _mean_by(starts % DAY, values, trials))
    sums, made = (np.bincount(place, each, days.size).astype(float) for each in (off, trials))
    used = made > 0.0
    return Days(days[used], sums[used] / made[used], made[used], variance)


def watch(arms: Sums, others: Sums, starts: Array, delta: float) -> list[list[Change] | None]:
    """The changes of each arm, of the level that arms have in common, and of each other series.

    An arm that has changed is compared with those that have not, and these with each other. None
    is for a series without two days that can be compared with the same weekday before.
    """
    needed = log(DAYS * (len(arms.won) + 1 + len(others.won)) / delta)
    found: list[list[Change] | None] = [None for _ in arms.won]
    left = np.flatnonzero(arms.made.any(axis=1)).tolist()
    for _ in range(MOST):
        *against, level = contrasts(Sums(*(each[left] for each in arms)), starts)
        for arm, days in zip(left, against, strict=True):
            found[arm] = changes(days, needed)
        told = [
            (round(change.statistic), _own(arms, arm, _bucket(change.at, starts)), arm)
            for arm in left
            for change in found[arm] or ()
        ]
        if not told:
            break
        left.remove(max(told)[2])
    rest = [_plain(won, made, starts) for won, made in zip(*others, strict=True)]
    found += [changes(days, needed) for days in (level, *rest)]
    return [each and [c._replace(at=_bucket(c.at, starts)) for c in each] for each in found]


def _own(arms: Sums, arm: int, at: int) -> float:
    """The change of the mean of an arm itself, which tells of two arms which one it was."""
    (won, all_won), (made, trials) = ((each[arm, at:].sum(), each[arm].sum()) for each in arms)
    return abs(float(_ratio(won, made) - _ratio(all_won - won, trials - made)))


def contrasts(sums: Sums, starts: Array) -> list[Days]:
    """Each arm against the rest of them within each bucket; at last what they have in common.

    By least squares, a mean is that of the arm plus the level of the bucket, so that it does not
    matter which arms are shown when.
    """
    won, made = sums
    all_made = made.sum(axis=0)
    off = won - made * _means(won, made)[:, None]
    level, others = off.sum(axis=0), all_made - made
    values = _ratio(off, made) - _ratio(level - off, others)
    weights = made * _ratio(others, all_made) if len(made) > 1 else made
    coins = [_coin(*each) for each in zip(won, made, strict=True)]
    common = _ratio(level, all_made), all_made, _coin(won, made)
    rows = zip(values, weights, coins, strict=True)
    return [by_day(*row, starts) for row in (*rows, common)]


def _means(won: Array, made: Array) -> Array:
    """The means of rows beside the levels of columns, from the smaller system of the two."""
    if len(made) > made.shape[1]:
        levels = _means(won.T, made.T)
        return _ratio(won.sum(axis=1) - made @ levels, made.sum(axis=1))
    share = _ratio(made, made.sum(axis=0))
    normal = np.diag(made.sum(axis=1)) - share @ made.T + 1e-6 * np.eye(len(made))
    return np.linalg.solve(normal, won.sum(axis=1) - share @ won.sum(axis=0))


def _plain(won: Array, made: Array, starts: Array) -> Days:
    return by_day(_ratio(won, made), made, _coin(won, made), starts)


def _coin(won: Array, made: Array) -> float:
    """The variance of a coin with the mean of all trials."""
    mean = float(won.sum()) / max(float(made.sum()), 1.0)
    return mean * (1.0 - mean)


def changes(days: Days, needed: float) -> list[Change] | None:
    """The changes of a series, by day in the order of time: of the whole, then of its parts."""
    if days.compared < 2:
        return None
    found: list[Change] = []
    parts = [(0, days.number.size)]
    while parts and len(found) < MOST:
        first, end = parts.pop(0)
        change = _greatest(days.part(first, end), needed)
        if change is not None:
            at = first + change.at
            found.append(change._replace(at=at))
            parts += [(first, at), (at, end)]
    return [change._replace(at=int(days.number[change.at])) for change in sorted(found)]


def _greatest(days: Days, needed: float) -> Change | None:
    """The change for which there is most evidence, if that is enough."""
    number, y, n, variance = days
    if days.compared < 2:
        return None
    z = (np.arange(y.size) >= np.arange(1, y.size)[:, None]).astype(float)
    y, z = (each - _mean_by(number % 7, each, n) for each in (y, z))
    size, noise = (n * z**2).sum(axis=1), float((n * y**2).sum()) + QUIET * variance * y.size
    difference = _ratio((n * z * y).sum(axis=1), size)
    told = _ratio(difference**2 * size**2 / (PRIORS + size), np.array(noise))
    factors = 0.5 * (np.log(PRIORS / (PRIORS + size)) - days.compared * np.log1p(-told))
    evidence = np.logaddexp.reduce(factors) - log(len(PRIORS))
    evidence[size * variance < LEAST] = -np.inf
    best = int(np.argmax(evidence))
    if evidence[best] < needed:
        return None
    return Change(best + 1, float(difference[best]), float(evidence[best]), needed)


def _bucket(day: int, starts: Array) -> int:
    """The first bucket from a day on."""
    return int(np.searchsorted(starts, day * DAY))


def _mean_by(group: Array, values: Array, weights: Array) -> Array:
    """In the place of each value (the last axis), the weighted mean of its group."""
    names, place = np.unique(group, return_inverse=True)
    member = (place[:, None] == np.arange(names.size)).astype(float)
    return _ratio((values * weights) @ member, weights @ member)[..., place]


def _ratio(over: Array, under: Array) -> Array:
    """over / under, 0 where there is nothing."""
    return np.divide(over, under, out=np.zeros(np.shape(over)), where=under > 0.0)
