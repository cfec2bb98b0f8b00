"""How far the steps of a log allow people to be other than a crowd says.

Steps are compared with what the crowd expects of them; what is left over, by arm, by layer of the
step number and by user, says where the truth may lie. Errors are clustered by user.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...stats.departures import logit, probability
from ...stats.intervals import Z95
from ...stats.moments import Array
from ..fitting.crowd import LAYER_ENDS, Crowd, layers
from ..fitting.sample import Sample
from ..fitting.totals import FIRST

ROUNDS = 20
LEAST = 0.5
"""Departures that are added on either side, so that an arm nobody left after has an effect too."""

Codes = NDArray[np.int64]


class Effects(NamedTuple):
    """Log odds of leaving beyond those of a crowd, with standard errors."""

    value: Array
    error: Array

    @property
    def high(self) -> Array:
        """The upper ends of 95 % intervals."""
        return self.value + Z95 * self.error


class Spread(NamedTuple):
    """How users differ in log odds: the variance of their tastes, that of leaving, and both.

    The first two are the upper ends of their 95 % intervals.
    """

    taste: float
    leaving: float
    correlation: float


@dataclass(frozen=True, eq=False)
class Evidence:
    """Steps that tell who leaves, and what a crowd expects of them."""

    user: Codes
    arm: Codes
    layer: Codes
    reward: Codes
    left: Codes
    expected: Array
    """The log odds of leaving."""
    liked: Array
    """The chance of a reward of 1."""

    def by_arm(self, arms: int) -> Effects:
        return self._effects(self.arm, arms)

    def by_layer(self) -> Effects:
        return self._effects(self.layer, len(LAYER_ENDS) + 1)

    def _effects(self, code: Codes, size: int) -> Effects:
        """By Newton's method, each for itself."""
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
        """From how much more users' sums of residuals vary than those of people who are alike."""
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


def evidence(sample: Sample, crowd: Crowd, rule: Array) -> Evidence:
    """The steps of a log, and what a crowd that was shown arms by a rule expects of them."""
    rows = np.flatnonzero(sample.telling & (sample.arm < crowd.arms))
    step, arm, reward = sample.step[rows], sample.arm[rows], sample.reward[rows]
    previous = np.where(sample.previous[rows] == FIRST, 1, sample.previous[rows])
    at = np.minimum(step, crowd.horizon) - 1
    liked, leave = expectations(crowd, rule)
    return Evidence(
        user=sample.user[rows],
        arm=arm,
        layer=layers(step),
        reward=reward,
        left=sample.left[rows].astype(np.int64),
        expected=logit(leave[at, arm, previous, reward]),
        liked=liked[at, arm, previous],
    )


def expectations(crowd: Crowd, rule: Array) -> tuple[Array, Array]:
    """Over those who are still there: chances of a reward, and to leave.

    By [step - 1, arm, previous], and by [step - 1, arm, previous, reward], up to the horizon.
    """
    there = crowd.shares[:, None] * np.array([0.0, 1.0])  # kind, previous
    liked = np.empty((crowd.horizon, crowd.arms, 2))
    leave = np.empty((crowd.horizon, crowd.arms, 2, 2))
    odds = np.stack([1.0 - crowd.means, crowd.means], axis=-1)  # kind, arm, reward
    for step in range(1, crowd.horizon + 1):
        # A state that nobody is in yet has the kinds of all.
        weight = np.where(there.sum(axis=0) > 1e-12, there, there.sum(axis=1, keepdims=True))
        going = crowd.leave[:, crowd.layer(step)]  # kind, arm, previous, reward
        mass = np.einsum("kp,kar->apr", weight, odds)
        leave[step - 1] = np.einsum("kp,kar,kapr->apr", weight, odds, going) / mass
        liked[step - 1] = mass[..., 1] / mass.sum(axis=-1)
        there = advance(crowd, rule, there, step)
    return liked, leave


def advance(crowd: Crowd, rule: Array, there: Array, step: int) -> Array:
    """Who goes on after a step, [kind, reward], of those who were there, [kind, previous]."""
    _, onward = crowd.step(rule, step, True)
    return np.asarray(np.einsum("kp,kpr->kr", there, onward))
