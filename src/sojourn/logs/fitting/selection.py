"""Who is shown what: other arms to people who like less, or arms that nobody sees together."""

from typing import NamedTuple

import numpy as np

from ...stats.intervals import Interval, z
from ...stats.moments import Array
from .sample import NO_REWARD, Codes, Sample

SHIFT = 0.05
"""The difference between the shares of an arm from which it is worth a word."""

LIKING = 0.02
"""The difference between rewards of the same arm from which it is worth a word."""

TOGETHER, FEW_VISITS = 0.1, 5.0
"""Two arms are shown together if as many visits have both as this share of what chance would make
it; nothing is known of pairs of which chance would make fewer visits than that."""


class Selection(NamedTuple):
    """What is shown, and liked, after a 0 and after a 1.

    `arm` is the one whose share differs most, with its shares after a 0 and after a 1; `liked` is
    how much less often rewards of the same arm are good after a 0.
    """

    arm: int
    after_0: float
    after_1: float
    liked: Interval


def selection(sample: Sample) -> Selection | None:
    """The difference, if both are found: other arms after a 0, and the same arms liked less."""
    rows = np.flatnonzero(
        (sample.previous <= 1) & (sample.reward < NO_REWARD) & (sample.arm < sample.arms)
    )
    user, arm, after = sample.user[rows], sample.arm[rows], sample.previous[rows]
    if not 0 < after.sum() < after.size:
        return None
    shares = np.array([np.bincount(arm[after == s], minlength=sample.arms) for s in (0, 1)], float)
    shares /= shares.sum(axis=1, keepdims=True)
    most = int(np.argmax(np.abs(shares[1] - shares[0])))
    # Of many arms some differ by chance: the level is shared among them.
    wide = z(1.0 - 0.05 / sample.arms)
    shown = _difference(user, after, (arm == most).astype(float), np.zeros(rows.size, int))
    liked = _difference(user, after, sample.reward[rows].astype(float), arm)
    if (
        abs(shown[0]) < wide * shown[1]
        or abs(shown[0]) < SHIFT
        or abs(liked[0]) < max(z() * liked[1], LIKING)
    ):
        return None
    return Selection(
        most, float(shares[0, most]), float(shares[1, most]), Interval.from_error(*liked)
    )


def _difference(user: Codes, after: Codes, value: Array, group: Codes) -> tuple[float, float]:
    """The mean after a 1 less that after a 0 within groups, and its error clustered by user.

    Groups are weighted as Mantel and Haenszel do: n0 n1 / (n0 + n1).
    """
    groups = int(group.max()) + 1
    n = np.array([np.bincount(group[after == s], minlength=groups) for s in (0, 1)], float)
    sums = np.array(
        [np.bincount(group[after == s], value[after == s], groups) for s in (0, 1)], float
    )
    both = n.min(axis=0) > 0
    weight = np.where(both, n[0] * n[1] / np.maximum(n.sum(axis=0), 1.0), 0.0)
    means = sums / np.maximum(n, 1.0)
    difference = weight @ (means[1] - means[0]) / weight.sum()
    share = weight[group] / weight.sum() / np.maximum(n[after, group], 1.0)
    residual = share * (value - means[after, group]) * np.where(after == 1, 1.0, -1.0)
    each = np.bincount(user, residual)
    return float(difference), float(np.sqrt(each @ each))


def groups(sample: Sample) -> list[list[int]]:
    """Arms that are shown in the same visits, directly or through others; the most shown first."""
    arms = sample.arms
    rows = np.flatnonzero(sample.arm < arms)
    place = np.unique(sample.visit[rows] * arms + sample.arm[rows])
    visit, arm = place // arms, place % arms
    several = np.bincount(sample.visit)[visit] > 1
    visit, arm = np.unique(visit[several], return_inverse=True)[1], arm[several]
    both = np.zeros((arms, arms))
    # Pairs within a visit: each row with those that come 1, 2, ... rows after it.
    for ahead in range(1, min(arms, visit.size)):
        same = visit[ahead:] == visit[:-ahead]
        if not same.any():
            break
        np.add.at(both, (arm[:-ahead][same], arm[ahead:][same]), 1.0)
    seen = np.bincount(arm, minlength=arms).astype(float)
    chance = np.outer(seen, seen) / max(float(visit.max(initial=0)) + 1.0, 1.0)
    linked = (both + both.T >= TOGETHER * chance) | (chance < FEW_VISITS) | np.eye(arms, dtype=bool)
    while ((further := linked @ linked) != linked).any():
        linked = further
    found = {tuple(np.flatnonzero(row).tolist()) for row in linked}
    return sorted(map(list, found), key=lambda group: -seen[group].sum())


def by_propensity(sample: Sample) -> Array | None:
    """Means of the arms with each step weighted by one over its propensity (Hajek).

    As if all arms had been shown to everybody alike; None unless the log has propensities.
    """
    if sample.propensity is None:
        return None
    rows = np.flatnonzero((sample.reward < NO_REWARD) & (sample.propensity > 0.0))
    weight = 1.0 / sample.propensity[rows]
    good, total = (
        np.bincount(sample.arm[rows], w, sample.arms + 1)[: sample.arms]
        for w in (weight * sample.value[rows], weight)
    )
    found = np.divide(good, total, out=np.full(sample.arms, np.nan), where=total > 0.0)
    return np.asarray(found, np.float64)
