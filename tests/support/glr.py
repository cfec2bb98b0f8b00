"""The test for changes of `sojourn.policies.restarting`, on arrays of sums by bucket."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sojourn.policies.restarting import needed

Array = NDArray[np.float64]


class Change(NamedTuple):
    """From bucket `at` on, the chance is `after` instead of `before`."""

    at: int
    before: float
    after: float
    statistic: float
    threshold: float


def likelihood_ratios(
    successes: Array, trials: Array, all_successes: float | Array, all_trials: float | Array
) -> Array:
    """The statistic for a split after the first `trials`, which are some of all trials."""
    since, later = all_trials - trials, all_successes - successes
    split = _fit(successes, trials) + _fit(later, since)
    return np.maximum(split - _fit(np.asarray(all_successes), np.asarray(all_trials)), 0.0)


def _fit(successes: Array, trials: Array) -> Array:
    """The greatest log likelihood of so many successes."""
    return _xlogx(successes) + _xlogx(trials - successes) - _xlogx(trials)


def _xlogx(x: Array) -> Array:
    x = np.maximum(x, 0.0)  # a difference of sums may be below 0 by rounding
    return np.asarray(x * np.log(np.where(x > 0.0, x, 1.0)))


def change_in(successes: ArrayLike, trials: ArrayLike, delta: float = 0.05) -> Change | None:
    """The change that shows most in the sums of buckets in their order in time, or None."""
    sums, counts = np.asarray(successes, float).cumsum(), np.asarray(trials, float).cumsum()
    edges = np.flatnonzero((counts > 0.0) & (counts < counts[-1:]))
    if edges.size == 0:
        return None
    won, made = sums[edges], counts[edges]
    since = counts[-1] - made
    statistic = likelihood_ratios(won, made, sums[-1], counts[-1])
    pairs = zip(made.tolist(), since.tolist(), edges.tolist(), strict=True)
    threshold = np.array([needed(n, m, k + 1.0, delta) for n, m, k in pairs])
    best = int(np.argmax(statistic - threshold))
    if statistic[best] < threshold[best]:
        return None
    means = won[best] / made[best], (sums[-1] - won[best]) / since[best]
    return Change(int(edges[best]) + 1, *means, statistic[best], threshold[best])
