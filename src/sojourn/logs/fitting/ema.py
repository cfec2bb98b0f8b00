"""The moving-average user: which theta and first state, and a falling leave curve."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...stats.clusters import one_ratio_variance, share_interval
from ...stats.moments import Array
from .users import TableLeave

THETAS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
"""The weights of a new reward that are tried."""

STARTS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The first states that are tried."""

REACH = 256
"""Averages are followed for this many steps of a visit: 0.1^-256 is still a number."""

CODES = 500
SHIFT = 0.3718281828
"""An average A is coded as floor(500 A + shift); the odd shift keeps round numbers off the edges
of the codes, where engines that round differently would disagree."""

BINS = 20
"""The leave curve has this many bins of equal width."""

FADED = 0.005
"""Below this weight the first state is forgotten, and steps are no longer told apart."""


def cap(theta: float) -> int:
    """The number of steps after which the first state has faded."""
    return int(np.ceil(np.log(FADED) / np.log1p(-theta)))


def isotonic(value: Array, weight: Array) -> Array:
    """The nonincreasing sequence nearest to `value` in weighted squares: pool neighbours that rise.

    >>> isotonic(np.array([0.5, 0.25, 0.75, 0.125]), np.array([2.0, 1.0, 1.0, 1.0])).tolist()
    [0.5, 0.5, 0.5, 0.125]
    """
    blocks: list[tuple[float, float, int]] = []
    for v, w in zip(value, weight, strict=True):
        block = (float(v), float(w), 1)
        while blocks and blocks[-1][0] <= block[0]:
            mean, mass, size = blocks.pop()
            total = mass + block[1]
            block = ((mean * mass + block[0] * block[1]) / total, total, size + block[2])
        blocks.append(block)
    return np.repeat([b[0] for b in blocks], [b[2] for b in blocks])


@dataclass(frozen=True)
class Averages:
    """Steps by their moving average, for one theta: a row for each (held out, step, code).

    `step` is capped; `n` counts the steps not censored, `left` those after which the user left.
    """

    theta: float
    held: NDArray[np.bool_]
    step: Array
    code: Array
    n: Array
    left: Array

    def states(self, start: float) -> Array:
        """The state reached at each row, if visits start in `start`."""
        middle = np.clip((self.code + 0.5 - SHIFT) / CODES, 0.0, 1.0)  # of what has that code
        return np.clip(middle + (1.0 - self.theta) ** self.step * start, 0.0, 1.0)


@dataclass(frozen=True)
class EmaFit:
    """The moving-average user that predicts held-out users best.

    `gain` is its held-out log-likelihood over a constant chance to leave, in nats per 1,000
    steps; `tried` has that of every (theta, start). `state`, `n`, `left`, `low` and `high` describe
    the bins from which the curve was made, with 95 % intervals clustered by user.
    """

    theta: float
    start: float
    gain: float
    tried: dict[tuple[float, float], float]
    curve: TableLeave
    state: Array
    n: Array
    left: Array
    low: Array
    high: Array


def _bin_of(states: Array) -> NDArray[np.int64]:
    return np.minimum((states * BINS).astype(np.int64), BINS - 1)


def binned(states: Array, n: Array, left: Array) -> tuple[Array, Array, Array]:
    """Mean state, steps and departures of every bin that has steps."""
    where = _bin_of(states)
    sums = [np.bincount(where, weights=w, minlength=BINS) for w in (n, left, n * states)]
    total, gone, mass = np.asarray(sums, np.float64)
    some = total > 0
    return mass[some] / total[some], total[some], gone[some]


def falling(state: Array, q: Array, n: Array) -> TableLeave:
    """The falling leave curve nearest to bins of n steps each."""
    return TableLeave(tuple(state.tolist()), tuple(isotonic(q, n).tolist()))


class EmaChoice(NamedTuple):
    """Theta and first state of greatest held-out likelihood, and the gain of all those tried."""

    theta: float
    start: float
    tried: dict[tuple[float, float], float]


def choose(found: tuple[Averages, ...]) -> EmaChoice:
    """The moving average that predicts held-out users best."""
    tried = {(a.theta, start): _gain(a, start) for a in found for start in STARTS}
    return EmaChoice(*max(tried, key=lambda pair: tried[pair]), tried)


def fitted(choice: EmaChoice, averages: Averages, squares: Array, users: int) -> EmaFit:
    """The leave curve of the chosen average from all steps.

    `squares` are, for each of all bins, the sums over users of n^2, n x left and left^2.
    """
    states = averages.states(choice.start)
    state, n, left = binned(states, averages.n, averages.left)
    variance = one_ratio_variance(left, n, squares[np.unique(_bin_of(states))], users)
    ends = [share_interval(k, m, v) for k, m, v in zip(left, n, variance, strict=True)]
    low, high = np.array(ends).T
    return EmaFit(
        theta=choice.theta,
        start=choice.start,
        gain=choice.tried[choice.theta, choice.start],
        tried=choice.tried,
        curve=falling(state, left / n, n),
        state=state, n=n, left=left, low=low, high=high,
    )  # fmt: skip


def _gain(a: Averages, start: float) -> float:
    states, train, test = a.states(start), ~a.held, a.held
    if not train.any() or not test.any():
        train = test = np.ones(a.held.size, dtype=bool)
    state, n, left = binned(states[train], a.n[train], a.left[train])
    # Half a departure more keeps a bin that saw none from ruling one out.
    curve = falling(state, (left + 0.5) / (n + 1.0), n + 1.0)
    level = np.array(left.sum() / n.sum())
    q = np.interp(states[test], curve.states, curve.q)
    gain = log_likelihood(q, a.n[test], a.left[test])
    base = log_likelihood(level, a.n[test], a.left[test])
    return 1000.0 * (gain - base) / float(a.n[test].sum())


def log_likelihood(q: Array, n: Array, left: Array) -> float:
    """Of `left` departures in `n` steps with chance q, up to what does not depend on q."""
    q = np.clip(q, 1e-12, 1.0 - 1e-12)
    return float((left * np.log(q) + (n - left) * np.log1p(-q)).sum())
