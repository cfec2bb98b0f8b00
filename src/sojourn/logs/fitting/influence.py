"""How much rests on single users: what the log says without the few that move it most."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import log

import numpy as np

from ...stats.clusters import ratio_covariance, widening
from ...stats.intervals import Interval
from ...stats.moments import Array
from ...validation import InputError
from .diagnosis import Costs, costs, mistake_costs
from .sample import NO_REWARD, Codes, Sample
from .totals import CELLS

FEW = 5
SHARE = 0.01
"""At most so many users, and at most this share of them, are left out."""

BEST = len(CELLS)
"""The ratio that is the mean of the best arm, after the leave probabilities."""

STEP = 1e-6

COSTS = "costs"


@dataclass(frozen=True, eq=False)
class Influence:
    """The users without whom a number is outside of its interval.

    `what` is `COSTS` or a cell, `without` that number among all others, and `steps` their share of
    the steps. `rest` are the mistake costs without them, if these can be computed.
    """

    what: str
    users: Codes
    steps: float
    without: float
    rest: Costs | None


def influence(
    sample: Sample, best: int, ratio: Interval | None, leave: dict[str, Interval]
) -> Influence | None:
    """The first number, of the ratio of mistake costs and the cells, that rests on a few users."""
    few = min(FEW, int(SHARE * sample.users))
    if few == 0:
        return None
    n, k = _sums(sample, best)
    rates = k.sum(axis=0) / np.maximum(n.sum(axis=0), 1.0)
    pulls = (k - rates * n) / np.maximum(n.sum(axis=0), 1.0)
    targets: list[tuple[str, Interval, Array, Callable[[Array], float | None]]] = [
        (cell, interval, np.eye(BEST + 1)[i], partial(_rate, cell=i))
        for i, (cell, interval) in enumerate(leave.items())
    ]
    slope = None if ratio is None else _slope(rates)
    if ratio is not None and slope is not None:
        targets.insert(0, (COSTS, ratio, slope, _ratio))
    for what, interval, weights, number in targets:
        moved, usual = pulls @ weights, number(rates)
        order = np.argsort(moved)
        for chosen in (order[:few], order[-few:]):
            kept = np.ones(sample.users, bool)
            kept[chosen] = False
            found = number(k[kept].sum(axis=0) / np.maximum(n[kept].sum(axis=0), 1.0))
            if not usual or found is None:
                continue
            # Intervals are of all users, this is of a sample, and without shrinkage.
            if not interval.low <= interval.value * found / usual <= interval.high:
                steps = float(np.isin(sample.user, chosen).mean())
                strongest = chosen[np.argsort(-np.abs(moved[chosen]))]
                return Influence(what, strongest, steps, found, _costs(n[kept], k[kept]))
    return None


def _rate(rates: Array, cell: int) -> float:
    return float(rates[cell])


def _sums(sample: Sample, best: int) -> tuple[Array, Array]:
    """[user, ratio]: steps and departures by cell, then pulls and good rewards of the best arm."""
    shape = (sample.users, BEST + 1)
    found = []
    for counts in (np.ones(sample.user.size, bool), sample.left):
        rows = np.flatnonzero(sample.telling & counts)
        place = sample.user[rows] * (BEST + 1) + sample.cell[rows]
        found.append(np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape).astype(float))
    shown = (sample.arm == best) & (sample.reward < NO_REWARD)
    for table, rows in zip(found, (shown, shown & (sample.reward == 1)), strict=True):
        table[:, BEST] = np.bincount(sample.user[rows], minlength=sample.users)
    return found[0], found[1]


def _ratio(rates: Array) -> float | None:
    """D(0) / D(1), if both are positive."""
    try:
        d0, d1 = mistake_costs(rates[2:]).tolist()
    except InputError:
        return None
    return d0 / d1 if min(d0, d1) > 0.0 else None


def _slope(rates: Array) -> Array | None:
    """Of the logarithm of the ratio, by rate."""
    found = np.zeros(rates.size)
    for i in range(2, rates.size):
        ends = [np.clip(rates + s * STEP * np.eye(rates.size)[i], 0.0, 1.0) for s in (-1, 1)]
        low, high = (_ratio(end) for end in ends)
        if low is None or high is None:
            return None
        found[i] = (log(high) - log(low)) / (ends[1][i] - ends[0][i])
    return found


def _costs(n: Array, k: Array) -> Costs | None:
    x = np.hstack([n, k, np.ones((len(n), 1))])
    size = n.shape[1]
    products = x.T @ x
    rates, covariance = ratio_covariance(
        products, list(range(size, 2 * size)), list(range(size)), len(n)
    )
    wide = widening(n.sum(axis=0), (n * n).sum(axis=0))
    try:
        return costs(rates[2:], (covariance * np.outer(wide, wide))[2:, 2:])
    except InputError:
        return None
