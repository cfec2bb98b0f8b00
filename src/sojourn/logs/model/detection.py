"""What diagnostics look for step by step: reverse causation, confounding, and single users."""

from collections.abc import Iterator, Mapping
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...show.plain import from_toml
from ...stats.clusters import ratio_covariance, widening
from ...stats.intervals import z
from ...stats.moments import Array
from ...validation import InputError
from .costs import Costs, bracketed, costs, gradient, mistake_costs
from .exit_curves import fit_tables
from .sample import NO_REWARD, Codes, Sample
from .totals import CELLS, FIRST

if TYPE_CHECKING:
    from .fitted import Fit

Found = Iterator[Mapping[str, Any]]
"""For each time that a diagnostic applies, the values of the placeholders in its sentences."""

WORDS = from_toml(__package__, "diagnostics.toml")

CASE, FORECAST = "case", "forecast"
"""The things that a diagnostic may spoil."""

GRID = 1.0 - np.linspace(0.0, 1.0, 401)[:-1]
"""Chances that the reward of a last step is written down as it is."""

TURNS = 40
"""Newton steps, by arm and by reward in turns."""


class ReverseCausation(NamedTuple):
    """How much better reverse causation explains the log, in nats, and its standard error by user.

    `share` is that of the departures which would have been written down as a 0.
    """

    better: float
    error: float
    share: float


def reverse_causation(sample: Sample) -> ReverseCausation:
    """Which came first, a reward of 0 or the departure? Arms that differ tell.

    If people leave because of a 0, it adds the same to the log odds of leaving whatever the arm is.
    If they are written down as a 0 because they leave (an item left unfinished), it adds most where
    other zeros are rare: with arms that are liked. In both explanations every arm has a mean and a
    chance to leave of its own. Both are fitted to steps after a 0, after a 1, and to first ones,
    each by itself.
    """
    rows = np.flatnonzero(sample.telling)
    before = np.where(sample.previous[rows] == FIRST, 2, sample.previous[rows])
    arm, reward, left = sample.arm[rows], sample.reward[rows], sample.left[rows].astype(int)
    shape = (3, sample.arms + 1, 2, 2)
    place = np.ravel_multi_index((before, arm, reward, left), shape)
    counts = np.bincount(place, minlength=int(np.prod(shape))).reshape(shape).astype(float)
    gained = np.zeros(shape)
    written = 0.0
    for previous, table in enumerate(counts):
        if table.sum() > 0:
            second, share = _written_at_departure(table)
            gained[previous] = second - _caused_by_reward(table)
            written += share * table[..., 1].sum()
    each = np.bincount(sample.user[rows], gained.ravel()[place])
    return ReverseCausation(
        better=float(each.sum()),
        error=float(np.sqrt(each @ each)),
        share=float(written / max(counts[..., 1].sum(), 1.0)),
    )


def _log(p: Array) -> Array:
    return np.asarray(np.log(np.clip(p, 1e-12, 1.0)))


def _caused_by_reward(table: Array) -> Array:
    """Log-likelihood of a step by [arm, reward, left]: a 0 adds to the log odds of leaving."""
    mean = table[:, 1].sum(axis=1) / np.maximum(table.sum(axis=(1, 2)), 1e-9)
    q = fit_tables(table.sum(axis=2), table[..., 1], TURNS).chances
    return _log(np.stack([1.0 - mean, mean], axis=1))[:, :, None] + _log(np.stack([1.0 - q, q], 2))


def _written_at_departure(table: Array) -> tuple[Array, float]:
    """The same if rewards do not matter, and some of those who leave are written down as a 0."""
    stay, left = table[..., 0], table[..., 1]
    good = stay[:, 1] + left[:, 1]

    def means(c: Array) -> Array:
        # (good / m) - (stay 0 / (1 - m)) - (c left 0 / (1 - c m)) = 0, for each arm.
        two = c * (good + stay[:, 0] + left[:, 0])
        one = good * (1.0 + c) + stay[:, 0] + c * left[:, 0]
        root = np.sqrt(np.maximum(one**2 - 4.0 * two * good, 0.0))
        return np.divide(2.0 * good, one + root, out=np.full_like(one, 0.5), where=one + root > 0)

    c = GRID[:, None]
    m = means(c)
    likelihood = stay[:, 1] * _log(m) + stay[:, 0] * _log(1.0 - m)
    likelihood += left[:, 1] * _log(c * m) + left[:, 0] * _log(1.0 - c * m)
    best = GRID[int(np.argmax(likelihood.sum(axis=1)))]
    m = means(np.array([best]))
    gone = (left.sum(axis=1) / np.maximum(table.sum(axis=(1, 2)), 1e-9))[:, None]
    stays = _log(np.stack([1.0 - m, m], axis=1)) + _log(1.0 - gone)
    leaves = _log(np.stack([1.0 - best * m, best * m], axis=1)) + _log(gone)
    return np.stack([stays, leaves], axis=2), float(1.0 - best)


SHIFT = 0.05
"""The difference between the shares of an arm from which it is worth a word."""

LIKING = 0.02
"""The difference between rewards of the same arm from which it is worth a word."""

TOGETHER, FEW_VISITS = 0.1, 5.0
"""Two arms are shown together if as many visits have both as this share of what chance would make
it; nothing is known of pairs of which chance would make fewer visits than that."""

SHOWN = 3
"""Arms that are listed."""


def confounding(sample: Sample) -> Found:
    """Other arms after a 0 than after a 1, and the same arms liked less or more."""
    rows = np.flatnonzero(
        (sample.previous <= 1) & (sample.reward < NO_REWARD) & (sample.arm < sample.arms)
    )
    user, arm, after = sample.user[rows], sample.arm[rows], sample.previous[rows]
    if not 0 < after.sum() < after.size:
        return
    shares = np.array([np.bincount(arm[after == s], minlength=sample.arms) for s in (0, 1)], float)
    shares /= shares.sum(axis=1, keepdims=True)
    most = int(np.argmax(np.abs(shares[1] - shares[0])))
    # Of many arms some differ by chance: the level is shared among them.
    wide = z(1.0 - 0.05 / sample.arms)
    shown = _difference(user, after, (arm == most).astype(float), np.zeros(rows.size, int))
    liked = _difference(user, after, sample.reward[rows].astype(float), arm)
    if abs(shown[0]) < max(wide * shown[1], SHIFT) or abs(liked[0]) < max(z() * liked[1], LIKING):
        return
    weighted = by_propensity(sample)
    instead = "the values of visits by arm are adjusted for users, compare these"
    if weighted is not None:
        ranked = np.argsort(-np.nan_to_num(weighted, nan=-1.0))[:SHOWN]
        listed = ", ".join(f"{sample.names[i]} {weighted[i]:.3f}" for i in ranked)
        instead = (
            "weighted by the log's propensities, as if everybody had been shown the same, they are "
            f"{listed}{' ...' if sample.arms > SHOWN else ''}"
        )
    yield {
        "arm": sample.names[most],
        "after_0": shares[0, most],
        "after_1": shares[1, most],
        "how": "less" if liked[0] > 0 else "more",
        "by": abs(liked[0]),
        "instead": instead,
    }


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


def apart(sample: Sample) -> Found:
    """Arms of which hardly two are shown in the same visit."""
    found = groups(sample)
    if len(found) > 1:
        names = (", ".join(sample.names[i] for i in group[:SHOWN]) for group in found[:2])
        yield {"groups": len(found), "named": " and ".join(names)}


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


FEW = 5
SHARE = 0.01
"""Limits of the number and the share of users that are left out."""

BEST = len(CELLS)
"""The ratio that is the mean of the best arm, after the leave probabilities."""

NUMBERS = (*CELLS, "costs")
"""Numbers that may rest on few users, in the order of `_numbers`."""


def few_decide(fit: "Fit") -> Found:
    """The first number, of the ratio of mistake costs and the cells, that rests on a few users."""
    sample, words = fit.sample, WORDS["few users decide"]
    if sample is None or (few := min(FEW, int(SHARE * sample.users))) == 0:
        return
    n, k = _sums(sample, int(np.argmax(fit.means)))
    total = np.maximum(n.sum(axis=0), 1.0)
    rates, usual, slopes = k.sum(axis=0) / total, _numbers(n, k), np.eye(BEST + 1)
    try:
        d0, d1 = mistake_costs(rates[2:])
        of_d0, of_d1 = gradient(mistake_costs, rates[2:])
        slopes[BEST] = [0.0, 0.0, *(of_d0 / d0 - of_d1 / d1)]
    except InputError:
        usual[BEST] = nan
    moves = (k - rates * n) / total @ slopes.T  # how each user moved each number
    for what, interval in {"costs": fit.costs.ratio, **fit.leave}.items():
        at = NUMBERS.index(what)
        if interval is None or not usual[at] > 0.0:
            continue
        order = np.argsort(moves[:, at])
        for chosen in (order[:few], order[-few:]):
            kept = np.ones(sample.users, bool)
            kept[chosen] = False
            without = _numbers(n[kept], k[kept])[at]
            # Intervals are of all users, this is of a sample, and without shrinkage.
            changed = interval.value * without / usual[at]
            if changed < interval.low or changed > interval.high:
                strongest = chosen[np.argsort(-np.abs(moves[chosen, at]))]
                names = strongest if sample.ids is None else sample.ids[strongest]
                rest = _costs(n[kept], k[kept])
                others = ""
                if rest is not None and rest.ratio is not None:
                    ratio, case = bracketed(rest.ratio), words["cases"][rest.case]
                    others = f"; among the others {case} ({ratio} times)"
                yield {
                    "few": few,
                    "users": sample.users,
                    "names": ", ".join(map(str, names)),
                    "steps": np.isin(sample.user, chosen).mean(),
                    "what": f"{words['numbers'][what]} is {without:.3g}, not {interval.value:.3g}",
                    "rest": others,
                    "spoils": CASE if rest is None or rest.case != fit.costs.case else "",
                }
                return


def _numbers(n: Array, k: Array) -> Array:
    """The leave probabilities, and D(0) / D(1) if both are positive, else not a number."""
    rates = k.sum(axis=0) / np.maximum(n.sum(axis=0), 1.0)
    try:
        d0, d1 = mistake_costs(rates[2:]).tolist()
    except InputError:
        d0 = d1 = nan
    return np.array([*rates[:BEST], d0 / d1 if min(d0, d1) > 0.0 else nan])


def _sums(sample: Sample, best: int) -> tuple[Array, Array]:
    """[user, ratio]: steps and departures by cell, then pulls and good rewards of the best arm."""
    shape = (sample.users, BEST + 1)
    found = []
    for counts in (np.ones(sample.user.size, bool), sample.left):
        rows = np.flatnonzero(sample.telling & counts)
        place = sample.user[rows] * shape[1] + sample.cell[rows]
        found.append(np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape).astype(float))
    shown = (sample.arm == best) & (sample.reward < NO_REWARD)
    for table, rows in zip(found, (shown, shown & (sample.reward == 1)), strict=True):
        table[:, BEST] = np.bincount(sample.user[rows], minlength=sample.users)
    return found[0], found[1]


def _costs(n: Array, k: Array) -> Costs | None:
    x, under = np.hstack([n, k, np.ones((len(n), 1))]), list(range(BEST + 1))
    over = [BEST + 1 + i for i in under]
    rates, covariance = ratio_covariance(x.T @ x, over, under, len(n))
    wide = widening(n.sum(axis=0), (n * n).sum(axis=0))
    try:
        return costs(rates[2:], (covariance * np.outer(wide, wide))[2:, 2:])
    except InputError:
        return None
