"""Rewards and departures together, of users who differ in both: maximum likelihood.

A step is rewarded with log odds x'a + sigma X, and left after with log odds x'b + lambda X + tau Y.
Here x'b is the model of `stats.departures`, base and effect of the arm, with a class of the step
number (`design`); X and Y are standard normal and belong to the user. Users who like more may leave
earlier (lambda > 0) or later. What was shown may depend on all that happened before, so that every
step counts, also the only visit of a user. The integral over X and Y is a sum over a grid, and the
Hessian is exact (Louis 1982), so Newton takes a few steps.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...engine.loops import loop
from ...stats.clusters import clustered
from ...stats.moments import Array

Codes = NDArray[np.int64]

SIGMA, LAMBDA, TAU = -3, -2, -1
"""The last three parameters."""

NONE = -1
"""No parameter."""

LIKING, LEAVING = np.linspace(-3.0, 3.0, 11), np.linspace(-2.5, 2.5, 7)
"""The grid: equal steps are as good as any rule for what is smooth, and a user with many steps
falls between two points that are near."""

MOST_ROUNDS, HALVINGS = 60, 14
CLOSE, LEAST = 1e-6, 0.01
"""Newton stops when a step would raise the likelihood by less than `CLOSE`, and takes no curvature
for less than `LEAST`: users who are all alike have no variance of either to tell apart."""


class LatentClasses(NamedTuple):
    """Classes of users by their random effects, and the logarithm of the share of each.

    `liking` is X, which adds to rewards, and `leaving` is Y, which adds to leaving alone.
    """

    liking: Array
    leaving: Array
    log_share: Array

    @property
    def slopes(self) -> Array:
        """[term, class]: what the parameters of a row are multiplied by (see `Groups.terms`)."""
        one = np.ones_like(self.liking)
        return np.stack([one, one, one, self.liking, self.leaving])


def latent_classes(differ: bool = True) -> LatentClasses:
    """The grid of classes, or the one class of users who are all alike."""
    if not differ:
        return LatentClasses(np.zeros(1), np.zeros(1), np.zeros(1))
    liking, leaving = (axis.ravel() for axis in np.meshgrid(LIKING, LEAVING, indexing="ij"))
    density = -0.5 * (liking**2 + leaving**2)
    return LatentClasses(liking, leaving, density - np.log(np.exp(density).sum()))


@dataclass(frozen=True, eq=False)
class Groups:
    """Counts of steps that have the user and the log odds in common.

    Those of user u are from `starts[u]` to before `starts[u + 1]`. Group g has `k[g]` of `n[g]`,
    and the log odds of row `key[g]`. A row has five `terms`: the parameters of up to three effects,
    that of X and that of Y, or `NONE`.
    """

    starts: Codes
    key: Codes
    n: Array
    k: Array
    terms: Codes
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
    """Estimates, and who the users are.

    `moves[u]` is how the steps of user u moved the estimates, so that their covariance, clustered
    by user, is the sum of the squares; `weights[u, class]` is the probability that user u is in a
    class.
    """

    estimate: Array
    moves: Array
    weights: Array
    classes: LatentClasses

    @cached_property
    def covariance(self) -> Array:
        return clustered(self.moves)


def fit_jointly(groups: Groups, classes: LatentClasses) -> JointFit:
    """Maximum likelihood by Newton's method, steps halved until they rise."""
    first = groups.terms[groups.key, 0]
    n, k = (np.bincount(first, counts, groups.size) for counts in (groups.n, groups.k))
    theta = np.log((k + 0.5) / (n - k + 0.5))
    if classes.liking.size > 1:
        theta[[SIGMA, TAU]] = 0.5
    current = _evaluate(groups, classes, theta)
    for _ in range(MOST_ROUNDS):
        slope = current.score - groups.prior @ theta
        step = _inverse(current, groups.prior) @ slope
        if float(step @ slope) < CLOSE:
            break
        for _ in range(HALVINGS):
            tried = _evaluate(groups, classes, theta + step)
            if tried.penalised > current.penalised:
                break
            step = step / 2.0
        else:
            break
        theta, current = theta + step, tried
    return _result(groups, classes, theta, current)


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


def _evaluate(groups: Groups, classes: LatentClasses, theta: Array) -> _Evaluation:
    own = np.append(theta, 0.0)[groups.terms]  # NONE is the last
    users = own[:, 3:4] * classes.liking + own[:, 4:] * classes.leaving
    odds = own[:, :3].sum(axis=1)[:, None] + users
    log_total = np.logaddexp(0.0, odds)
    weights, found = np.empty((groups.users, classes.liking.size)), np.empty(groups.users)
    steps = groups.starts, groups.key, groups.n, groups.k
    weigh(*steps, odds, log_total, classes.log_share, weights, found)
    scores, mass = np.zeros((groups.users, groups.size)), np.zeros(odds.shape)
    missing, chance = np.zeros((groups.size, groups.size)), np.exp(odds - log_total)
    inform(*steps, groups.terms, classes.slopes, chance, weights, scores, mass, missing)
    likelihood = float(found.sum())
    penalised = likelihood - 0.5 * float(theta @ groups.prior @ theta)
    complete = _complete(groups, classes.slopes, mass * chance * (1.0 - chance))
    return _Evaluation(likelihood, penalised, weights, scores, complete, missing)


def _complete(groups: Groups, slopes: Array, spread: Array) -> Array:
    """The information if classes were known, from the variance by [row, class]."""
    found = np.zeros((groups.size + 1, groups.size + 1))  # NONE is the last
    for i, j in np.ndindex(len(slopes), len(slopes)):
        moment = spread @ (slopes[i] * slopes[j])
        np.add.at(found, (groups.terms[:, i], groups.terms[:, j]), moment)
    return found[:-1, :-1]


def _inverse(current: _Evaluation, prior: Array) -> Array:
    """Of the information, with every curvature positive and not next to none."""
    size, axes = np.linalg.eigh(current.complete - current.missing + prior)
    return np.asarray(axes / np.maximum(np.abs(size), LEAST) @ axes.T)


def _result(groups: Groups, classes: LatentClasses, theta: Array, current: _Evaluation) -> JointFit:
    """With signs that mean something: log odds rise with X and Y."""
    signs = np.ones(theta.size)
    weights = current.weights
    if classes.liking.size > 1:
        shaped = weights.reshape(-1, LIKING.size, LEAVING.size)
        if theta[SIGMA] < 0.0:
            signs[[SIGMA, LAMBDA]] = -1.0
            shaped = shaped[:, ::-1]
        if theta[TAU] < 0.0:
            signs[TAU] = -1.0
            shaped = shaped[:, :, ::-1]
        weights = shaped.reshape(weights.shape)
    moves = current.scores @ _inverse(current, groups.prior) * signs
    return JointFit(theta * signs, moves, weights, classes)


@loop
def weigh(
    starts: Codes, key: Codes, n: Array, k: Array, odds: Array, soft: Array, log_share: Array,
    weights: Array, likelihood: Array,
) -> None:  # fmt: skip
    """Fill the probabilities of classes, by user, and the logarithm of each user's likelihood."""
    for user in range(starts.size - 1):
        own = weights[user]
        own[:] = log_share
        for g in range(starts[user], starts[user + 1]):
            for latent in range(own.size):
                own[latent] += k[g] * odds[key[g], latent] - n[g] * soft[key[g], latent]
        top = own.max()
        total = 0.0
        for latent in range(own.size):
            own[latent] = np.exp(own[latent] - top)
            total += own[latent]
        own /= total
        likelihood[user] = top + np.log(total)


@loop
def inform(
    starts: Codes, key: Codes, n: Array, k: Array, terms: Codes, slopes: Array, chance: Array,
    weights: Array, scores: Array, mass: Array, missing: Array,
) -> None:  # fmt: skip
    """Add up scores by user, steps by row and class, and the information that classes would add."""
    size, classes = scores.shape[1], slopes.shape[1]
    own = np.zeros((size, classes))  # the score of a user, if in this class
    slot = np.zeros(size, np.int64)  # the row of a parameter in it, from 1; 0 for none
    used = np.zeros(size, np.int64)
    for user in range(starts.size - 1):
        count = 0
        for g in range(starts[user], starts[user + 1]):
            row = key[g]
            for latent in range(classes):
                mass[row, latent] += weights[user, latent] * n[g]
            for i in range(terms.shape[1]):
                at = terms[row, i]
                if at < 0:
                    continue
                if slot[at] == 0:
                    used[count] = at
                    count += 1
                    slot[at] = count
                    own[count - 1] = 0.0
                at = slot[at] - 1
                for latent in range(classes):
                    own[at, latent] += (k[g] - n[g] * chance[row, latent]) * slopes[i, latent]
        for i in range(count):
            total = 0.0
            for latent in range(classes):
                total += weights[user, latent] * own[i, latent]
            scores[user, used[i]] = total
        for i in range(count):
            for j in range(i + 1):
                total = 0.0
                for latent in range(classes):
                    total += weights[user, latent] * own[i, latent] * own[j, latent]
                total -= scores[user, used[i]] * scores[user, used[j]]
                missing[used[i], used[j]] += total
                if i != j:
                    missing[used[j], used[i]] += total
        for i in range(count):
            slot[used[i]] = 0
