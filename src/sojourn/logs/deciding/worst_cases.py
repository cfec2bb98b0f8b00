"""Populations that are worse for a change of policy than the fitted one, and that the log allows.

Each is the fitted population but for one thing:

* **arms**: arms differ in leaving as counted, without shrinking, and the two that look best (of
  greatest mean, and of greatest worth of a visit) raise the exit rate as much as their 95 %
  intervals allow;
* **users**: people differ in taste and in leaving by the upper ends of the 95 % intervals;
* **personal**: the recommender shows arms to those who like them. Within an arm, rewards are
  compared between people who are shown it often and seldom, and means are those of people who are
  shown it as often as all are. The recommender keeps what it earns;
* **drift**: over the run means move by the spread of the arms' means, every second arm (by rank,
  the best one first) downwards and the others upwards;
* **fatigue**: from the second step on people leave as often as the upper ends of the 95 % intervals
  of the classes of step numbers say.

Published totals have no steps to look at: then effects of `ASSUMED` are taken instead, and nothing
is known of the recommender.
"""

from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...stats.departures import logit, probability
from ...stats.intervals import Z95
from ...stats.moments import Array
from ...users.population import Population
from ..model.design import LAYER_OF_STEP, LAYERS, layers
from ..model.fitted import Fit
from ..model.sample import Sample
from ..model.totals import FIRST

ASSUMED = 0.5
"""Log odds: of leaving after the arms that look best, between users, and of fatigue."""

MOST = 2.0
"""The greatest log odds by which anything is changed beyond what was counted."""

PARTS = 8
"""Parts of a run, between which drifting means move."""

FEW_PULLS, ROUNDS = 30, 20

LEAST = 0.5
"""Departures that are added on either side: an arm without departures then has an effect too."""

Codes = NDArray[np.int64]


KEEPS = "personal"
"""The worst case in which the recommender still earns what it earns in the fitted population."""


class Effects(NamedTuple):
    """Log odds of leaving beyond those of a population, with standard errors."""

    value: Array
    error: Array


class Spread(NamedTuple):
    """How users differ in log odds: the variance of their tastes, that of leaving, and both.

    The first two are the upper ends of their 95 % intervals.
    """

    taste: float
    leaving: float
    correlation: float


@dataclass(frozen=True, eq=False)
class Evidence:
    """Steps that tell who leaves, and what a population expects of them."""

    user: Codes
    arm: Codes
    layer: Codes
    reward: Codes
    left: Codes
    expected: Array
    """The log odds of leaving."""
    liked: Array
    """The chance of a reward of 1."""

    def effects(self, code: Codes, size: int) -> Effects:
        """Effects of the arms, or of the layers, by Newton's method, each for itself."""
        left, value = np.bincount(code, self.left, size), np.zeros(size)
        for _ in range(ROUNDS):
            p = probability(self.expected + value[code])
            score = left - np.bincount(code, p, size) + LEAST * (1.0 - 2.0 * probability(value))
            slope = np.bincount(code, p * (1.0 - p), size) + LEAST / 2.0
            value = value + np.clip(score / slope, -1.0, 1.0)
        p = probability(self.expected + value[code])
        slope = np.bincount(code, p * (1.0 - p), size) + LEAST / 2.0
        # The variance of the sum of residuals: by user, but no less than if steps were independent.
        pair, where = np.unique(self.user * size + code, return_inverse=True)
        squares = np.bincount(pair % size, np.bincount(where, self.left - p) ** 2, size)
        return Effects(value, np.sqrt(np.maximum(squares, slope)) / slope)

    def spread(self) -> Spread:
        """The spread, from how much more users' sums of residuals vary than if users were alike."""
        tastes, noise = self._by_user(self.reward, self.liked)
        goings, other = self._by_user(self.left, probability(self.expected))
        both = (tastes * goings).sum() / max((noise * other).sum(), 1e-9)
        taste, leaving = _variance(tastes, noise), _variance(goings, other)
        top = np.sqrt(max(taste[0], 1e-9) * max(leaving[0], 1e-9))
        return Spread(taste[1], leaving[1], float(np.clip(both / top, -1.0, 1.0)))

    def _by_user(self, seen: Codes, chance: Array) -> tuple[Array, Array]:
        """Sums of residuals, and their variance if users were alike."""
        return (
            np.bincount(self.user, seen - chance).astype(float),
            np.bincount(self.user, chance * (1.0 - chance)).astype(float),
        )


def _variance(total: Array, noise: Array) -> tuple[float, float]:
    """Of users' log odds, by moments: E total^2 = noise + noise^2 variance. And its upper end."""
    weight = max(float(noise @ noise), 1e-9)
    value = float((total**2 - noise).sum()) / weight
    error = float(np.sqrt(((total**2 - noise - value * noise**2) ** 2).sum())) / weight
    return max(value, 0.0), max(value + Z95 * error, 0.0)


def evidence(sample: Sample, population: Population, rule: Array) -> Evidence:
    """The steps of a log, and what a population that was shown arms by a rule expects of them."""
    rows = np.flatnonzero(sample.telling & (sample.arm < population.arms))
    step, arm, reward = sample.step[rows], sample.arm[rows], sample.reward[rows]
    previous = np.where(sample.previous[rows] == FIRST, 1, sample.previous[rows])
    at = np.minimum(step, population.horizon) - 1
    liked, leave = expectations(population, rule)
    return Evidence(
        user=sample.user[rows],
        arm=arm,
        layer=layers(step),
        reward=reward,
        left=sample.left[rows].astype(np.int64),
        expected=logit(leave[at, arm, previous, reward]),
        liked=liked[at, arm, previous],
    )


def expectations(population: Population, rule: Array) -> tuple[Array, Array]:
    """Over those who are still there: chances of a reward, and to leave.

    By [step - 1, arm, previous], and by [step - 1, arm, previous, reward], up to the horizon.
    """
    there = population.shares[:, None] * np.array([0.0, 1.0])  # kind, previous
    liked = np.empty((population.horizon, population.arms, 2))
    leave = np.empty((population.horizon, population.arms, 2, 2))
    odds = np.stack([1.0 - population.means, population.means], axis=-1)  # kind, arm, reward
    for step in range(1, population.horizon + 1):
        # A state without users yet has the kinds of all.
        weight = np.where(there.sum(axis=0) > 1e-12, there, there.sum(axis=1, keepdims=True))
        going = population.leave[:, population.layer(step)]  # kind, arm, previous, reward
        mass = np.einsum("kp,kar->apr", weight, odds)
        leave[step - 1] = np.einsum("kp,kar,kapr->apr", weight, odds, going) / mass
        liked[step - 1] = mass[..., 1] / mass.sum(axis=-1)
        there = advance(population, rule, there, step)
    return liked, leave


def advance(population: Population, rule: Array, there: Array, step: int) -> Array:
    """Users who continue after a step, [kind, reward], of those before it, [kind, previous]."""
    _, onward = population.transition(rule, step)
    return np.asarray(np.einsum("kp,kpr->kr", there, onward))


def worst_cases(fit: Fit, population: Population, rule: Array) -> dict[str, tuple[Population, ...]]:
    """All worst cases of a fitted population, each with one that replaces it, or several in turn.

    `rule` is that of the log's recommender.
    """
    population, sample = population.in_layers(LAYER_OF_STEP), fit.sample
    seen = None if sample is None else evidence(sample, population, rule)
    return {
        "arms": (_arms(population, seen),),
        "users": (_users(population, seen),),
        **({} if sample is None else {KEEPS: (_personal(population, sample),)}),
        "drift": _drift(population),
        "fatigue": (_fatigue(population, seen),),
    }


def _arms(population: Population, seen: Evidence | None) -> Population:
    """As counted, and the arms that look best at the upper ends."""
    arms, more = population.arms, np.zeros(population.arms)
    found = Effects(more, np.full(arms, ASSUMED / Z95))
    if seen is not None:
        found = seen.effects(seen.arm, arms)
    counted = _leaving(population, found.value[:, None, None])
    best = population.shares @ population.means, counted.worth_of_arms()[0]
    looks = [int(np.argmax(by_arm)) for by_arm in best]
    more[looks] = np.clip(Z95 * found.error[looks], 0.0, MOST)
    return _leaving(counted, more[:, None, None])


def _users(population: Population, seen: Evidence | None) -> Population:
    """Every kind in four: a greater and a lesser taste, and likewise leaving."""
    spread = Spread(ASSUMED**2, ASSUMED**2, 0.0) if seen is None else seen.spread()
    taste, leaving = (
        np.sqrt(np.clip(top - _between(population, by_kind), 0.0, MOST**2))
        for top, by_kind in ((spread.taste, population.means), (spread.leaving, population.leave))
    )
    signs = np.array(list(product((1.0, -1.0), repeat=2)))
    shares = (1.0 + signs.prod(axis=1) * spread.correlation) / 4.0
    liked, left = logit(population.means), logit(population.leave)
    return replace(
        population,
        shares=np.concatenate([population.shares * share for share in shares]),
        means=probability(np.concatenate([liked + liking * taste for liking, _ in signs])),
        leave=probability(np.concatenate([left + going * leaving for _, going in signs])),
    )


def _between(population: Population, chances: Array) -> float:
    """The variance of log odds between the kinds that a population has."""
    odds = logit(chances).reshape(population.shares.size, -1)
    return float(np.mean(population.shares @ (odds - population.shares @ odds) ** 2))


def _drift(population: Population) -> tuple[Population, ...]:
    odds = logit(population.means)
    by_arm = population.shares @ odds
    sign = np.empty(population.arms)
    sign[np.argsort(-by_arm)] = 1.0 - 2.0 * (np.arange(population.arms) % 2)
    size = min(float(by_arm.std()), MOST) * sign
    times = 0.5 - (np.arange(PARTS) + 0.5) / PARTS
    return tuple(replace(population, means=probability(odds + t * size)) for t in times)


def _fatigue(population: Population, seen: Evidence | None) -> Population:
    """From the second step on; a class of steps that was hardly seen is like the one before."""
    more = np.full(LAYERS, ASSUMED)
    if seen is not None:
        counts, found = np.bincount(seen.layer, minlength=LAYERS), seen.effects(seen.layer, LAYERS)
        for layer, high in enumerate(found.value + Z95 * found.error):
            more[layer] = high if counts[layer] >= FEW_PULLS else more[layer - 1]
    more[0] = 0.0
    return _leaving(population, np.clip(more, 0.0, MOST)[:, None, None, None])


def _leaving(population: Population, more: Array) -> Population:
    """With these log odds added to those of leaving, [..., arm, previous, reward]."""
    return replace(population, leave=probability(logit(population.leave) + more))


def _personal(population: Population, sample: Sample) -> Population:
    """With the means of arms for people who are shown them as often as all are.

    Rewards of an arm are taken to be straight in the share of it among the other steps of the
    user, with a slope at the upper end of its 95 % interval.
    """
    rows = np.flatnonzero((sample.reward < 2) & (sample.arm < population.arms))
    user, arm, reward = sample.user[rows], sample.arm[rows], sample.reward[rows]
    shown = np.bincount(arm, minlength=population.arms) / rows.size
    own = np.bincount(user, minlength=sample.users)
    pairs = user * population.arms + arm
    pair, where, pulls = np.unique(pairs, return_inverse=True, return_counts=True)
    rows = np.flatnonzero(own[user] > 1)
    x = (pulls[where[rows]] - 1.0) / (own[user[rows]] - 1.0)
    arm, where, reward = arm[rows], where[rows], reward[rows]

    def total(values: NDArray[Any]) -> Array:
        return np.bincount(arm, values, population.arms).astype(float)

    n = np.maximum(total(np.ones(rows.size)), 1.0)
    usual, liked = total(x) / n, total(reward) / n
    deviation = x - usual[arm]
    squares = np.maximum(total(deviation**2), 1e-9)
    slope = total(deviation * (reward - liked[arm])) / squares
    residual = deviation * (reward - liked[arm] - slope[arm] * deviation)
    by_pair = np.bincount(where, residual, pair.size) ** 2
    error = np.sqrt(np.bincount(pair % population.arms, by_pair, population.arms)) / squares
    high = np.clip(slope + Z95 * np.minimum(error, 1.0), -1.0, 1.0)
    less = np.where(n >= FEW_PULLS, high * (usual - shown), 0.0)
    return replace(population, means=np.clip(population.means - less, 0.01, 0.99))
