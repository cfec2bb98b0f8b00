"""Differences between variants, stratified by epochs and clustered by groups of users.

Sums are arrays [epoch, group, quantity]; quantity 0 is the number of visits. Shares differ from
epoch to epoch, and visitors do too: so means are compared within epochs, and their differences
averaged,

    d = sum_e w_e (x_e / n_e - y_e / m_e),   w_e proportional to n_e m_e / (n_e + m_e),

with n_e and m_e visits of the two variants. Weights by sample sizes do not depend on outcomes; they
are those of least variance if visits vary alike. Group g, which has whole users in it, adds

    sum_e w_e ((x_eg - mean(x_e) n_eg) / n_e - (y_eg - mean(y_e) m_eg) / m_e)

to the error of d, whatever the visits of one user have in common, and also if a user is in another
variant after the shares have changed. The variance is the sum of their squares over groups.

Few visits with skewed rewards hide their variance: most samples lack the rare large rewards, so
that their mean and their variance are too small together. So the variance is at least

    sum_e w_e^2 s_e^2 (1 / n_e + 1 / m_e),

with s_e^2 the variance per visit of both variants together, which is mostly that of the larger one.
"""

from typing import NamedTuple

import numpy as np

from .intervals import ratio_evidence
from .moments import Array

EVEN = 4.0  # n m / (n + m) is a quarter of all visits if both variants have the same number


class Estimate(NamedTuple):
    """A number, its standard error, and from how many visits; `clusters` are worth as many groups.

    Of a difference, `units` are the visits of an even split that would be worth as much.
    """

    value: float
    error: float
    units: float
    clusters: float


def difference(one: Array, other: Array, quantity: int) -> Estimate:
    """The difference of means per visit, one - other."""
    (n, x), (m, y) = ((sums[:, :, 0], sums[:, :, quantity]) for sums in (one, other))
    visits, visits_other = n.sum(axis=1), m.sum(axis=1)
    both = (visits > 0.0) & (visits_other > 0.0)
    if not both.any():
        return Estimate(np.nan, np.inf, 0.0, 0.0)
    n, x, m, y = n[both], x[both], m[both], y[both]
    visits, visits_other = visits[both, None], visits_other[both, None]
    worth = visits * visits_other / (visits + visits_other)
    w = worth / worth.sum()
    mean, mean_other = x.sum(axis=1)[:, None] / visits, y.sum(axis=1)[:, None] / visits_other
    off, off_other = x - mean * n, y - mean_other * m
    errors = (w * (off / visits - off_other / visits_other)).sum(axis=0)
    spread = (off**2 + off_other**2).sum(axis=1)[:, None] / (visits + visits_other)
    pooled = float(np.sqrt((w * spread).sum() / worth.sum()))
    error = max(_error(errors, (n + m).sum(axis=0)), pooled)
    clusters = min(_clusters(n), _clusters(m))
    value, units = float((w * (mean - mean_other)).sum()), EVEN * float(worth.sum())
    return Estimate(value, error, units, clusters)


def mean(sums: Array, quantity: int) -> Estimate:
    """The mean per visit, over all epochs together."""
    n, x = sums[:, :, 0].sum(axis=0), sums[:, :, quantity].sum(axis=0)
    visits = float(n.sum())
    if visits == 0.0:
        return Estimate(np.nan, np.inf, 0.0, 0.0)
    value = float(x.sum()) / visits
    return Estimate(value, _error((x - value * n) / visits, n), visits, _clusters(n[None, :]))


def _error(errors: Array, visits: Array) -> float:
    """Unknown, so infinite, while no two groups differ."""
    used, squares = int(np.count_nonzero(visits)), float((errors**2).sum())
    return float(np.sqrt(squares * used / (used - 1.0))) if squares > 0.0 else np.inf


def _clusters(visits: Array) -> float:
    """As many groups with equally many visits are worth as much (Kish)."""
    n = visits.sum(axis=0)
    return float(n.sum() ** 2 / (n**2).sum())


def sample_ratio(opened: Array, shares: Array) -> float:
    """A p-value, valid at all times, of visits that deviate from the shares.

    `opened` are counts [variant, epoch, group], `shares` are [epoch, variant]. Users are assigned,
    not visits: if visits vary more than independent ones would, by a factor that the variation
    between groups tells, there are fewer of them by that factor.
    """
    counts, total = opened.sum(axis=2), opened.sum(axis=(0, 2))
    expected = shares.T[:, :, None] * opened.sum(axis=0)[None]
    excess = ((opened - expected) ** 2).sum(axis=2)  # [variant, epoch]
    alone = shares.T * (1.0 - shares.T) * total
    factor = max(1.0, float(excess.sum() / alone.sum())) if alone.sum() > 0.0 else 1.0
    return ratio_evidence(
        [(counts[:, e] / factor, shares[e]) for e in range(len(shares)) if total[e] > 0.0]
    )
