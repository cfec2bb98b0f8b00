"""The moving-average user: theta, first state and leave curve, and whether to trust them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from ...stats.departures import logit, probability
from ...stats.intervals import z
from ...stats.moments import Array
from ...validation import InputError
from .design import layers
from .exit_curves import STARTS, THETAS, Lens, Paths, by_class_alone, fit_tables, log_likelihood
from .sample import Codes, Sample
from .users import TableLeave

MOST = 200_000
"""Of larger samples the moving average takes about this many steps, of some of the users."""

SHUFFLES = 19
"""Of each kind: a gain by chance alone is above all of them once in 20 times."""

REPLICATES = 60
"""How often users are drawn anew for the band of the curve."""

NEAR = 3
"""Users drawn anew choose among this many thetas, the best of the log."""

SEED = 15


@dataclass(frozen=True)
class EmaFit:
    """The moving-average user that predicts held-out users best, at equal step numbers.

    `gain` is its held-out log-likelihood over that of the step number alone, in nats per 1,000
    steps, with its standard `error` over users; `tried` has that of every (theta, start).
    `shuffled` are the gains after shuffling the rewards, chosen and computed the same way; there
    are none if the gain is no more than noise.

    `state`, `n` and `left` describe the bins of the curve, `low` and `high` its 95 % band, from
    fits to users drawn anew: not a number where the curve is not `believed`.
    """

    theta: float
    start: float
    gain: float
    error: float
    shuffled: tuple[float, ...]
    tried: dict[tuple[float, float], float]
    curve: TableLeave
    state: Array
    n: Array
    left: Array
    low: Array
    high: Array

    @property
    def above_noise(self) -> bool:
        """Whether it predicts held-out users better than the step number alone."""
        return self.gain > z() * self.error

    @property
    def believed(self) -> bool:
        """Whether it is better than a count of steps: above noise, and all that was shuffled."""
        return self.above_noise and self.gain > max(self.shuffled)


def believed(ema: EmaFit | None) -> EmaFit:
    """This user; InputError if none was fitted, or none is to be trusted."""
    if ema is None:
        raise InputError("model = 'ema' is not allowed: no moving average was fitted")
    if not ema.believed:
        raise InputError(
            "model = 'ema' is not allowed: the moving average of rewards predicts "
            "departures no better than a count of steps"
        )
    return ema


def moving_average(sample: Sample, most: int = MOST) -> EmaFit | None:
    """The moving-average user of a sample; None if no visit has a second step that tells."""
    if sample.user.size > most:
        sample = sample.of(np.arange(sample.users) < sample.users * most / sample.user.size)
    paths = Paths.of(sample)
    if not paths.telling.size:
        return None
    lenses = [Lens(paths, theta) for theta in THETAS]
    real = _tables(lenses, paths.value)
    gains = _gains(real)[0]
    ((i, j),), (curve,) = _curves(real)
    n, left = real[0, i, j].sum(axis=(1, 2))
    there = n > 0
    states, q = lenses[i].middles(paths.value)[j, there], curve[there]
    unknown = np.full(states.size, np.nan)
    found = EmaFit(
        theta=THETAS[i],
        start=STARTS[j],
        gain=float(gains.max()),
        error=_error(paths, lenses[i].bins(paths.value, j), real[0, i, j]),
        shuffled=(),
        tried=dict(zip(product(THETAS, STARTS), gains.ravel().tolist(), strict=True)),
        curve=TableLeave(tuple(states.tolist()), tuple(q.tolist())),
        state=states, n=n[there], left=left[there], low=unknown, high=unknown,
    )  # fmt: skip
    if not found.above_noise:
        return found
    rng = np.random.default_rng(SEED)
    shuffled = np.concatenate([_tables(lenses, value) for value in _shuffles(paths, rng)])
    found = replace(found, shuffled=tuple(_gains(shuffled).max(axis=(1, 2)).tolist()))
    if not found.believed:
        return found
    near = np.sort(np.argsort(-gains.max(axis=1))[:NEAR])
    low, high = _band(found, paths, [lenses[k] for k in near], rng)
    return replace(found, low=low, high=high)


def _tables(lenses: Sequence[Lens], value: Array, weights: Array | None = None) -> Array:
    """[weights, theta, start, steps or departures, held, class, bin]."""
    return np.stack([lens.tables(value, weights) for lens in lenses], axis=1)


def _gains(tables: Array) -> Array:
    """[table, theta, start]: what a curve learnt from other users adds for held-out ones."""
    train, test = _split(tables)
    n, left = test[..., 0, :, :], test[..., 1, :, :]
    found, alone = _models(train)
    better = log_likelihood(found, n, left) - log_likelihood(alone, n, left)
    return np.asarray(1000.0 * better / np.maximum(n.sum(axis=(-2, -1)), 1.0))


def _models(train: Array) -> tuple[Array, Array]:
    """The chances to leave by class and state, and by class alone."""
    n, left = train[..., 0, :, :], train[..., 1, :, :]
    return fit_tables(n, left).chances, by_class_alone(n, left)


def _split(tables: Array) -> tuple[Array, Array]:
    """[..., steps or departures, class, bin] to learn from, and to be tested on."""
    train, test = tables[..., 0, :, :], tables[..., 1, :, :]
    if not train[..., 0, :, :].sum() or not test[..., 0, :, :].sum():
        train = test = train + test
    return train, test


def _error(paths: Paths, where: Codes, table: Array) -> float:
    """The standard error of the gain, from what single users add to it."""
    train, test = _split(table)
    found, alone = _models(train)
    rows, sample = paths.telling, paths.sample
    tested = sample.held[rows] if test is not train else np.ones(rows.size, bool)
    rows, where = rows[tested], where[tested]
    number = layers(sample.step[rows]) - 1
    q, base = found[number, where], alone[number, 0]
    better = np.where(sample.left[rows], np.log(q / base), np.log((1.0 - q) / (1.0 - base)))
    each, size = (np.bincount(sample.user[rows], w) for w in (better, np.ones(rows.size)))
    residuals = each - each.sum() / size.sum() * size
    return float(1000.0 * np.sqrt(residuals @ residuals) / size.sum())


def _shuffles(paths: Paths, rng: np.random.Generator) -> Iterator[Array]:
    """Rewards in an order that cannot matter for leaving; unknown ones stay where they are.

    First those of different visits change places, of the same arm and class of steps: what remains
    to be found is the step number and the arm. Then those of one visit do: what remains is who the
    user is.
    """
    sample, rows = paths.sample, paths.rows
    alike = layers(sample.step[rows]) * (sample.arms + 1) + sample.arm[rows]
    known = np.flatnonzero(~np.isnan(paths.value))
    for groups in (alike, sample.visit[rows]):
        for order in rotations(groups[known], SHUFFLES, rng):
            value = paths.value.copy()
            value[known] = value[known][order]
            yield value


def rotations(groups: Codes, number: int, rng: np.random.Generator) -> Iterator[Codes]:
    """Orders in which the members of each group, put in a random row, move on by a random number.

    They serve a test as well as orders that are random throughout, and are less work.
    """
    row = np.lexsort((rng.random(groups.size), groups))
    size = np.bincount(groups)
    mine = groups[row]
    begin = (np.cumsum(size) - size)[mine]
    place = np.arange(groups.size) - begin
    for _ in range(number):
        turn = (rng.random(size.size) * size).astype(np.int64)[mine]
        order = np.empty(groups.size, np.int64)
        order[row] = row[begin + (place + turn) % size[mine]]
        yield order


def _curves(tables: Array) -> tuple[list[tuple[int, int]], Array]:
    """The best (theta, start) of each table, by index, and its curve [bin] from all users."""
    gains = _gains(tables)
    best = [np.unravel_index(int(np.argmax(g)), g.shape) for g in gains]
    pairs = [(int(i), int(j)) for i, j in best]
    n, left = np.stack([t[pair].sum(axis=1) for t, pair in zip(tables, pairs, strict=True)], axis=1)
    return pairs, fit_tables(n, left, turns=60).curve(n.sum(axis=-1))


def _band(
    found: EmaFit, paths: Paths, lenses: Sequence[Lens], rng: np.random.Generator
) -> tuple[Array, Array]:
    """A 95 % band in log odds, from the spread of curves of users drawn anew."""
    weights = rng.poisson(1.0, (REPLICATES, paths.sample.users)).astype(float)
    telling = np.unique(paths.sample.user[paths.telling])
    weights = weights[weights[:, telling].any(axis=1)]  # of two users at times nobody is drawn
    pairs, curves = _curves(_tables(lenses, paths.value, weights))
    middles = [lens.middles(paths.value) for lens in lenses]
    others = [
        np.interp(found.state, middles[i][j], curve)
        for (i, j), curve in zip(pairs, curves, strict=True)
    ]
    middle = logit(np.array(found.curve.q))
    half = z() * np.sqrt(((logit(np.array(others)) - middle) ** 2).mean(axis=0))
    return probability(middle - half), probability(middle + half)
