"""Several changes of a chance over time, and how much more sums vary than coins do.

Users differ, and one user's steps are alike, so that the sums of buckets vary more than sums of
coins. How much more is told by differences of successive blocks of trials: where nothing changes,
(p - q)^2 / (1/n + 1/m) has the mean phi p (1 - p) for blocks of n and m trials. A change in a block
spoils its differences to both neighbours, which are the greatest if the change is large; so the two
greatest are left out, and what that takes away by chance is given back. What varies slowly, such as
a daily rhythm, shows in long blocks only: the estimate is the greatest over blocks of several
lengths, those of longer ones, which are few, lowered by a standard error.
"""

from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from math import erf, sqrt

import numpy as np

from .changes import Change, change_in
from .moments import Array

LEAST = 25.0  # trials of the shortest blocks
PAIRS = 12  # of successive blocks that an estimate needs
VARIANCE = 3.0  # of the mean of n such terms, times n: neighbours share a block
MOST = 10  # changes of one series


def dispersion(series: Iterable[tuple[Array, Array]]) -> float | None:
    """The variance of sums over that of coins, at least 1, pooled over series of the same kind.

    A series is successes and trials by bucket. None: there are too few trials to tell.

    >>> drawn, trials = np.random.default_rng(1), np.full(2000, 50.0)
    >>> coins, users = drawn.binomial(50, 0.4, 2000), 5.0 * drawn.binomial(10, 0.4, 2000)
    >>> round(dispersion([(coins, trials)]), 1), round(dispersion([(users, trials)]), 1)
    (1.2, 5.2)
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
    """The mean of the sum of the two greatest of so many squares of standard normal variables.

    >>> round(greatest(2), 3), round(greatest(100), 2)
    (2.0, 13.62)
    """
    step = 0.01
    chances = [erf(sqrt(0.5 * step * (i + 0.5))) for i in range(6000)]  # to be below x, for one
    both = sum(
        (1.0 - p**count) + (1.0 - p**count - count * p ** (count - 1) * (1.0 - p)) for p in chances
    )
    return step * both


def changes_in(
    successes: Array, trials: Array, *, delta: float = 0.05, overdispersion: float = 1.0
) -> list[Change]:
    """All changes in the sums of buckets, in the order of time: of the whole, then of its parts.

    `before` and `after` are the chances between a change and its neighbours.

    >>> clicks = np.repeat([30.0, 10.0, 30.0], 20)
    >>> [(found.at, found.before, found.after) for found in changes_in(clicks, np.full(60, 100.0))]
    [(20, 0.3, 0.1), (40, 0.1, 0.3)]
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
