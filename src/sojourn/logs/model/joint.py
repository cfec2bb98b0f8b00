"""Rewards and departures together, of users who differ in both: maximum likelihood.

A step is rewarded with log odds x'a + sigma X, and left after with log odds x'b + lambda X + tau Y,
where X and Y are standard normal and belong to the user: X is taste, and people of better taste may
leave earlier (lambda > 0) or later. What was shown, and when the log looks, may depend on all that
happened before, so that every step counts, also the only visit of a user. The integral over X and Y
is a sum over a grid (`GRID`), and the Hessian is exact (Louis 1982), so Newton takes a few steps.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...engine.loops import loop
from ...stats.moments import Array

Codes = NDArray[np.int64]

SIGMA, LAMBDA, TAU = -3, -2, -1
"""The last three parameters."""

NONE = -1
"""No parameter; a row of log odds has up to three."""

TASTES, TEMPERS = np.linspace(-3.0, 3.0, 11), np.linspace(-2.5, 2.5, 7)
"""The grid: equal steps are as good as any rule for what is smooth, and a user with many steps
falls between two points that are near."""

MOST_ROUNDS = 60
CLOSE = 1e-6
LEAST = 0.01
"""Newton stops when a step would raise the likelihood by less than `CLOSE`, and takes no curvature
for less than `LEAST`: users who are all alike have no taste to tell temper from."""


class Nodes(NamedTuple):
    """Kinds of users: taste, temper, and the logarithm of their share."""

    taste: Array
    temper: Array
    log_share: Array


def nodes(differ: bool = True) -> Nodes:
    """The grid of kinds, or the one kind of users who are all alike."""
    if not differ:
        return Nodes(np.zeros(1), np.zeros(1), np.zeros(1))
    taste, temper = (axis.ravel() for axis in np.meshgrid(TASTES, TEMPERS, indexing="ij"))
    density = -0.5 * (taste**2 + temper**2)
    return Nodes(taste, temper, density - np.log(np.exp(density).sum()))


@dataclass(frozen=True, eq=False)
class Groups:
    """Counts of steps that have the user and the log odds in common.

    Those of user u are from `starts[u]` to before `starts[u + 1]`. Group g has `k[g]` of `n[g]`,
    and the log odds of row `key[g]`: parameters `effects[row]` and, where `leaves[row]`, the
    user's temper.
    """

    starts: Codes
    key: Codes
    n: Array
    k: Array
    effects: Codes
    leaves: Codes
    prior: Array
    """The precision matrix of the parameters before any data."""

    @property
    def users(self) -> int:
        return self.starts.size - 1

    @property
    def size(self) -> int:
        """The number of parameters, with the last three."""
        return len(self.prior)


@dataclass(frozen=True, eq=False)
class JointFit:
    """Estimates, their covariance clustered by user, and who the users are.

    `moves[u]` is how the steps of user u moved the estimates, so that the covariance is the sum of
    their squares; `weights[u, kind]` is the chance that user u is of a kind.
    """

    estimate: Array
    covariance: Array
    moves: Array
    weights: Array
    likelihood: float
    nodes: Nodes


def fit_jointly(groups: Groups, kinds: Nodes) -> JointFit:
    """Maximum likelihood by Newton's method, steps halved until they rise."""
    theta = np.zeros(groups.size)
    for parameter, k, n in _counts(groups):
        theta[parameter] = np.log((k + 0.5) / (n - k + 0.5))
    if kinds.taste.size > 1:
        theta[[SIGMA, TAU]] = 0.5
    current = _evaluate(groups, kinds, theta)
    for _ in range(MOST_ROUNDS):
        slope = current.score - groups.prior @ theta
        step = _ascent(current, groups.prior, slope)
        rise = float(step @ slope)
        if rise < CLOSE:
            break
        length = 1.0
        while length > 1e-4:
            tried = _evaluate(groups, kinds, theta + length * step, partly=True)
            if tried.penalised > current.penalised:
                break
            length /= 2.0
        theta = theta + length * step
        current = _evaluate(groups, kinds, theta)
        if length <= 1e-4:
            break
    return _result(groups, kinds, theta, current)


class _Evaluation(NamedTuple):
    likelihood: float
    penalised: float
    weights: Array
    scores: Array
    complete: Array
    missing: Array

    @property
    def score(self) -> Array:
        return np.asarray(self.scores.sum(axis=0))


def _counts(groups: Groups) -> list[tuple[int, float, float]]:
    """For the first effect of each row: where to start, from its own frequency."""
    first = groups.effects[groups.key, 0]
    n = np.bincount(first, groups.n, groups.size)
    k = np.bincount(first, groups.k, groups.size)
    return [(int(i), float(k[i]), float(n[i])) for i in np.flatnonzero(n)]


def log_odds(groups: Groups, kinds: Nodes, theta: Array) -> Array:
    """By [row, kind]."""
    padded = np.append(theta, 0.0)  # NONE is the last
    base = padded[groups.effects].sum(axis=1)
    own = np.stack(
        [theta[SIGMA] * kinds.taste, theta[LAMBDA] * kinds.taste + theta[TAU] * kinds.temper]
    )
    return np.asarray(base[:, None] + own[groups.leaves])


def _evaluate(groups: Groups, kinds: Nodes, theta: Array, partly: bool = False) -> _Evaluation:
    odds = log_odds(groups, kinds, theta)
    weights = np.empty((groups.users, kinds.taste.size))
    found = np.empty(groups.users)
    weigh(
        groups.starts, groups.key, groups.n, groups.k, odds, np.logaddexp(0.0, odds),
        kinds.log_share, weights, found,
    )  # fmt: skip
    likelihood = float(found.sum())
    penalised = likelihood - 0.5 * float(theta @ groups.prior @ theta)
    none = np.zeros((0, 0))
    if partly:
        return _Evaluation(likelihood, penalised, weights, none, none, none)
    scores, mass = np.zeros((groups.users, groups.size)), np.zeros(odds.shape)
    missing, chance = np.zeros((groups.size, groups.size)), 1.0 / (1.0 + np.exp(-odds))
    inform(
        groups.starts, groups.key, groups.n, groups.k, groups.effects, groups.leaves, chance,
        weights, kinds.taste, kinds.temper, scores, mass, missing,
    )  # fmt: skip
    complete = _complete(groups, kinds, mass * chance * (1.0 - chance))
    return _Evaluation(likelihood, penalised, weights, scores, complete, missing)


def _complete(groups: Groups, kinds: Nodes, spread: Array) -> Array:
    """The information if kinds were known, from the variance by [row, kind]."""
    size, left = groups.size, groups.leaves == 1
    slopes = np.stack([np.ones_like(kinds.taste), kinds.taste, kinds.temper])
    moments = np.einsum("rk,ik,jk->rij", spread, slopes, slopes)
    # The parameters of a row, and which of the slopes each of them has; NONE is beyond the last.
    taste = np.where(left, size + LAMBDA, size + SIGMA)
    temper = np.where(left, size + TAU, size)
    where = np.column_stack([np.where(groups.effects < 0, size, groups.effects), taste, temper])
    slope = (0,) * groups.effects.shape[1] + (1, 2)
    found = np.zeros((size + 1, size + 1))
    for i, j in np.ndindex(len(slope), len(slope)):
        np.add.at(found, (where[:, i], where[:, j]), moments[:, slope[i], slope[j]])
    return found[:size, :size]


def _ascent(current: _Evaluation, prior: Array, slope: Array) -> Array:
    """Newton's step; where the likelihood is not concave, as long as if it were."""
    return _inverse(current, prior) @ slope


def _inverse(current: _Evaluation, prior: Array) -> Array:
    """Of the information, with every curvature positive and not next to none."""
    size, axes = np.linalg.eigh(current.complete - current.missing + prior)
    return np.asarray(axes / np.maximum(np.abs(size), LEAST) @ axes.T)


def _result(groups: Groups, kinds: Nodes, theta: Array, current: _Evaluation) -> JointFit:
    """With signs that mean something: taste and temper rise with X and Y."""
    signs = np.ones(theta.size)
    weights = current.weights
    if kinds.taste.size > 1:
        shaped = weights.reshape(-1, TASTES.size, TEMPERS.size)
        if theta[SIGMA] < 0.0:
            signs[[SIGMA, LAMBDA]] = -1.0
            shaped = shaped[:, ::-1]
        if theta[TAU] < 0.0:
            signs[TAU] = -1.0
            shaped = shaped[:, :, ::-1]
        weights = shaped.reshape(weights.shape)
    moves = current.scores @ _inverse(current, groups.prior) * signs
    users = groups.users
    covariance = moves.T @ moves * (users / max(users - 1.0, 1.0))
    return JointFit(theta * signs, covariance, moves, weights, current.likelihood, kinds)


@loop
def weigh(
    starts: Codes, key: Codes, n: Array, k: Array, odds: Array, soft: Array, log_share: Array,
    weights: Array, likelihood: Array,
) -> None:  # fmt: skip
    """Fill the chances of kinds, by user, and the logarithm of each user's likelihood."""
    for user in range(starts.size - 1):
        own = weights[user]
        own[:] = log_share
        for g in range(starts[user], starts[user + 1]):
            for kind in range(own.size):
                own[kind] += k[g] * odds[key[g], kind] - n[g] * soft[key[g], kind]
        top = own.max()
        total = 0.0
        for kind in range(own.size):
            own[kind] = np.exp(own[kind] - top)
            total += own[kind]
        own /= total
        likelihood[user] = top + np.log(total)


@loop
def inform(
    starts: Codes, key: Codes, n: Array, k: Array, effects: Codes, leaves: Codes, chance: Array,
    weights: Array, taste: Array, temper: Array, scores: Array, mass: Array, missing: Array,
) -> None:  # fmt: skip
    """Add up scores by user, steps by row and kind, and the information that kinds would add."""
    size, kinds = scores.shape[1], taste.size
    own = np.zeros((size, kinds))  # the score of a user, if they are of this kind
    slot = np.zeros(size, np.int64)  # the row of a parameter in it, from 1; 0 for none
    used = np.zeros(size, np.int64)
    where = np.zeros(5, np.int64)
    slopes = np.ones((5, kinds))
    for user in range(starts.size - 1):
        count = 0
        for g in range(starts[user], starts[user + 1]):
            row, terms = key[g], 0
            for i in range(effects.shape[1]):
                if effects[row, i] >= 0:
                    where[terms] = effects[row, i]
                    slopes[terms] = 1.0
                    terms += 1
            if leaves[row] == 1:
                where[terms], where[terms + 1] = size - 2, size - 1
                slopes[terms], slopes[terms + 1] = taste, temper
                terms += 2
            else:
                where[terms] = size - 3
                slopes[terms] = taste
                terms += 1
            for kind in range(kinds):
                mass[row, kind] += weights[user, kind] * n[g]
            for i in range(terms):
                at = where[i]
                if slot[at] == 0:
                    used[count] = at
                    count += 1
                    slot[at] = count
                    own[count - 1] = 0.0
                at = slot[at] - 1
                for kind in range(kinds):
                    own[at, kind] += (k[g] - n[g] * chance[row, kind]) * slopes[i, kind]
        for i in range(count):
            total = 0.0
            for kind in range(kinds):
                total += weights[user, kind] * own[i, kind]
            scores[user, used[i]] = total
        for i in range(count):
            for j in range(i + 1):
                total = 0.0
                for kind in range(kinds):
                    total += weights[user, kind] * own[i, kind] * own[j, kind]
                total -= scores[user, used[i]] * scores[user, used[j]]
                missing[used[i], used[j]] += total
                if i != j:
                    missing[used[j], used[i]] += total
        for i in range(count):
            slot[used[i]] = 0
