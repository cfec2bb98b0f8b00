"""Has a chance changed? A test that is valid after every bucket of time.

Successes and trials come as sums by bucket: a day, an hour, the next hundred trials. For each edge
between two buckets there is a likelihood ratio, "one chance before the edge and another one since"
against "the same chance all along", with the chances that fit best,

    N kl(p, m) + M kl(q, m),      p, q the means of the N trials before and the M since, m of all,

the statistic of GLR-klUCB (Besson, Kaufmann, Maillard and Seznec, "Efficient change-point detection
for tackling piecewise-stationary bandits", JMLR 23, 2022). It is compared with

    log(4 k (k + 1) sqrt(N M) / delta)                    at the edge after the k-th bucket.

While nothing changes, the chance that this is ever reached, at any edge of any look, is at most
delta. For with the chances before and since drawn from Jeffreys' prior the likelihood ratio against
the true chance is a martingale of mean 1; it is at least that of the best chances divided by
2 sqrt(N) and by 2 sqrt(M) (Krichevsky and Trofimov, IEEE Transactions on Information Theory 27,
1981), and that against the best single chance is less than against the true one. So each edge gets
there with a chance of at most delta / (k (k + 1)) (Ville's inequality), and those sum to delta.
Which trials are made may depend on all that was seen before, as it does where a policy decides.
Rewards between 0 and 1 are allowed too: they vary less than coins of the same mean.

Users differ, and one user's steps are alike, so that sums of buckets vary more than coins do. The
statistic is divided by how many times greater the variance is; then the level is not exact. How
much greater it is (`dispersion`) is told by differences of successive blocks of trials: where
nothing changes, (p - q)^2 / (1/n + 1/m) has the mean phi p (1 - p) for blocks of n and m trials. A
change in a block spoils its differences to both neighbours, which are the greatest if the change is
large; so the two greatest are left out, and what that takes away by chance is given back. What
varies slowly, such as a daily rhythm, shows in long blocks only: the estimate is the greatest over
blocks of several lengths, those of longer ones, which are few, lowered by a standard error.
"""

from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from math import erf, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import validation
from ..validation import InputError
from .moments import Array

LEAST = 25.0  # trials of the shortest blocks
PAIRS = 12  # of successive blocks that an estimate needs
VARIANCE = 3.0  # of the mean of n such terms, times n: neighbours share a block
MOST = 10  # changes of one series


class Change(NamedTuple):
    """A change that was found: from bucket `at` on, the chance is `after` instead of `before`."""

    at: int
    before: float
    after: float
    statistic: float
    threshold: float


def nats_needed(before: float, after: float, rank: float, delta: float) -> float:
    """The threshold of the statistic, with trials before and since the `rank`-th edge."""
    return log(4.0 * rank * (rank + 1.0) / delta) + 0.5 * log(before * after)


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


def change_in(
    successes: ArrayLike, trials: ArrayLike, *, delta: float = 0.05, overdispersion: float = 1.0
) -> Change | None:
    """The change that shows most in the sums of buckets in their order in time, or None.

    If it is used after every bucket, it ever finds a false change with probability at most `delta`.
    `overdispersion`, at least 1, divides the statistic: the variance of the sums over that of coins
    of the same mean.
    """
    won, made = np.asarray(successes, float), np.asarray(trials, float)
    if won.ndim != 1 or won.shape != made.shape:
        raise InputError(
            f"successes and trials have shapes {won.shape} and {made.shape}: "
            "they must be two lists of the same length"
        )
    if not bool(np.all((won >= 0.0) & (won <= made) & np.isfinite(made))):
        raise InputError("successes is not allowed: it must be from 0 to trials in every bucket")
    delta = validation.number("delta", delta, 0, 1, open_ends=True)
    overdispersion = validation.number("overdispersion", overdispersion, 1, validation.LARGE)
    sums, counts = won.cumsum(), made.cumsum()
    edges = np.flatnonzero((counts > 0.0) & (counts < counts[-1:]))
    if edges.size == 0:
        return None
    won_then, made_then = sums[edges], counts[edges]
    since = counts[-1] - made_then
    statistic = likelihood_ratios(won_then, made_then, sums[-1], counts[-1]) / overdispersion
    pairs = zip(made_then.tolist(), since.tolist(), edges.tolist(), strict=True)
    threshold = np.array([nats_needed(n, m, k + 1.0, delta) for n, m, k in pairs])
    best = int(np.argmax(statistic - threshold))
    if statistic[best] < threshold[best]:
        return None
    return Change(
        at=int(edges[best]) + 1,
        before=float(won_then[best] / made_then[best]),
        after=float((sums[-1] - won_then[best]) / since[best]),
        statistic=float(statistic[best]),
        threshold=float(threshold[best]),
    )


def changes_in(
    successes: Array, trials: Array, *, delta: float = 0.05, overdispersion: float = 1.0
) -> list[Change]:
    """All changes in the sums of buckets, in the order of time: of the whole, then of its parts.

    `before` and `after` are the chances between a change and its neighbours.
    """
    found: list[Change] = []
    parts = [(0, len(trials))]
    while parts and len(found) < MOST:
        start, end = parts.pop(0)
        change = change_in(
            successes[start:end], trials[start:end], delta=delta, overdispersion=overdispersion
        )
        if change is not None:
            at = start + change.at
            found.append(change._replace(at=at))
            parts += [(start, at), (at, end)]
    if not found:
        return []
    found.sort()
    edges = [0, *(change.at for change in found), len(trials)]
    means = [float(successes[a:b].sum() / trials[a:b].sum()) for a, b in pairwise(edges)]
    pairs = zip(found, pairwise(means), strict=True)
    return [change._replace(before=before, after=after) for change, (before, after) in pairs]


def dispersion(series: Iterable[tuple[Array, Array]]) -> float | None:
    """The variance of sums over that of coins, at least 1, pooled over series of the same kind.

    A series is successes and trials by bucket. None: there are too few trials to tell.
    """
    blocks = [_blocks(*each) for each in series]
    found: list[float] = []
    while blocks:
        terms = [_terms(won, made) for won, made in blocks]
        terms = [each for each in terms if each.size >= PAIRS]
        if terms:
            kept = sum(float(np.sort(each)[:-2].sum()) for each in terms)
            pairs = sum(each.size for each in terms)
            here = kept / sum(each.size - greatest(each.size) for each in terms)
            found.append(here if not found else here * (1.0 - sqrt(VARIANCE / pairs)))
        blocks = [_joined(won, made) for won, made in blocks if won.size > 2 * PAIRS]
    return max(1.0, *found) if found else None


def _blocks(successes: Array, trials: Array) -> tuple[Array, Array]:
    """Sums of successive buckets, of at least `LEAST` trials each."""
    starts, here = [0], 0.0
    for i, n in enumerate(trials.tolist()):
        here += n
        if here >= LEAST:
            starts.append(i + 1)
            here = 0.0
    ends = starts[1:]
    edges = np.array([0, *ends])
    won, made = (np.concatenate([[0.0], each.cumsum()])[edges] for each in (successes, trials))
    return np.diff(won), np.diff(made)


def _joined(successes: Array, trials: Array) -> tuple[Array, Array]:
    """Sums of pairs of blocks."""
    even = successes.size // 2 * 2
    won, made = (each[:even].reshape(-1, 2).sum(axis=1) for each in (successes, trials))
    return won, made


def _terms(successes: Array, trials: Array) -> Array:
    """Squares of differences between successive blocks, each of mean 1 for coins."""
    if successes.size < 2:
        return np.zeros(0)
    mean = successes.sum() / trials.sum()
    if not 0.0 < mean < 1.0:
        return np.zeros(0)  # which tell nothing
    means, weights = successes / trials, 1.0 / (1.0 / trials[1:] + 1.0 / trials[:-1])
    return np.asarray(np.diff(means) ** 2 * weights / (mean * (1.0 - mean)))


@cache
def greatest(count: int) -> float:
    """The mean of the sum of the two greatest of so many squares of standard normal variables."""
    step = 0.01
    chances = [erf(sqrt(0.5 * step * (i + 0.5))) for i in range(6000)]  # to be below x, for one
    both = sum(
        (1.0 - p**count) + (1.0 - p**count - count * p ** (count - 1) * (1.0 - p)) for p in chances
    )
    return step * both
