"""Rewards of an arm: 0 and 1, or anything between.

A distribution knows its mean, and `points`: values with chances that stand for it. Of a continuous
one they are the nodes of a quadrature, exact for polynomials of high degree between given cuts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import lgamma, log
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import validation
from .engine.rewards import Coins, CoinsByState, Grades
from .engine.steps import unmarked
from .stats.moments import Array
from .validation import InputError

NODES = 24
"""Nodes of the quadrature on each piece of [0, 1]."""

PEAK = (-8.0, -4.0, 0.0, 4.0, 8.0)
"""Points where [0, 1] is always cut, in standard deviations from the mean."""


class Reward:
    """Base of the distributions of rewards on [0, 1]: they have a `mean`, and points.

    ``points(cuts)`` are values and their chances; sums over them are means, of functions that may
    jump at the cuts. A value at a cut belongs to the interval above.

    >>> stars = Discrete((0.0, 0.5, 1.0), (0.5, 0.25, 0.25))
    >>> isinstance(stars, Reward), stars.mean
    (True, 0.375)
    """

    if TYPE_CHECKING:

        @property
        def mean(self) -> float: ...
        def points(self, cuts: Sequence[float] = ()) -> tuple[Array, Array]: ...

    def mean_in(self, state: float) -> float:
        """The mean in a state of the user."""
        return self.mean

    def points_in(self, states: NDArray[Any], cuts: Sequence[float]) -> tuple[Array, Array]:
        """`points`, with chances by state where they depend on it: [value, state]."""
        return self.points(cuts)

    def described(self) -> Any:
        """The reward as in a problem file; InputError if it has no such form."""
        raise InputError(
            f"{validation.shown(self)} has no problem file: only rewards of this package"
        )


@dataclass(frozen=True)
class Bernoulli(Reward):
    """1 with chance `mean`, else 0: the paper's arms.

    >>> Bernoulli(0.3).points()[1].tolist()
    [0.7, 0.3]
    """

    mean: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", validation.number("mean", self.mean, 0, 1))

    def points(self, cuts: Sequence[float] = ()) -> tuple[Array, Array]:
        return np.array([0.0, 1.0]), np.array([1.0 - self.mean, self.mean])

    def described(self) -> float:
        return self.mean


@dataclass(frozen=True)
class BernoulliByState(Reward):
    """1 with a chance that depends on the state of the user, else 0: `means` by state.

    `mean` is the average over the states, each counted once.

    >>> arm = BernoulliByState([0.4, 0.8])
    >>> arm.mean_in(1.0), round(arm.mean, 9)
    (0.8, 0.6)
    """

    means: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", validation.numbers("means", self.means, 0, 1))

    @property
    def mean(self) -> float:
        return float(np.mean(self.means))

    def mean_in(self, state: float) -> float:
        return self.means[int(unmarked(state))]

    def points_in(self, states: NDArray[Any], cuts: Sequence[float]) -> tuple[Array, Array]:
        means = np.array([self.mean_in(state) for state in states])
        return np.array([0.0, 1.0]), np.array([1.0 - means, means])

    def described(self) -> list[float]:
        return list(self.means)


Coin = Bernoulli | BernoulliByState
"""Rewards of 0 and 1."""


def extremes(coins: Sequence[Reward]) -> tuple[Reward, Reward]:
    """Arms with the highest and with the lowest mean of all, in each state.

    >>> best, worst = extremes([Bernoulli(0.5), BernoulliByState((0.4, 0.7))])
    >>> [best.mean_in(state) for state in (0, 1)], [worst.mean_in(state) for state in (0, 1)]
    ([0.5, 0.7], [0.4, 0.5])
    """
    if all(isinstance(coin, Bernoulli) for coin in coins):
        return max(coins, key=lambda arm: arm.mean), min(coins, key=lambda arm: arm.mean)
    states = max(len(coin.means) for coin in coins if isinstance(coin, BernoulliByState))
    means = np.array([[coin.mean_in(s) for s in range(states)] for coin in coins])
    return BernoulliByState(means.max(axis=0)), BernoulliByState(means.min(axis=0))


@dataclass(frozen=True)
class Beta(Reward):
    """A share, such as the part of a video that is watched: Beta(a, b), of mean a / (a + b).

    >>> Beta(2, 3).mean
    0.4
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            number = validation.number(name, getattr(self, name), 1e-3, 1e6)
            object.__setattr__(self, name, number)

    @property
    def mean(self) -> float:
        return self.a / (self.a + self.b)

    def points(self, cuts: Sequence[float] = ()) -> tuple[Array, Array]:
        n = self.a + self.b
        deviation = np.sqrt(self.a * self.b / (n * n * (n + 1.0)))
        ends = np.unique(
            np.clip([0.0, 1.0, *cuts, *(self.mean + deviation * np.array(PEAK))], 0.0, 1.0)
        )
        pieces = [self._piece(*piece) for piece in pairwise(ends)]
        values = np.concatenate([nodes for nodes, _ in pieces])
        log_weights = np.concatenate([weights for _, weights in pieces])
        weights = np.exp(log_weights - log_weights.max())
        return values, weights / weights.sum()

    def _piece(self, low: float, high: float) -> tuple[Array, Array]:
        """Nodes and logarithms of their weights, up to a constant.

        Where the density may be singular, at 0 and 1, its factor is the weight of a Gauss-Jacobi
        rule; elsewhere it is a factor of the function.
        """
        left = self.a - 1.0 if low == 0.0 else 0.0
        right = self.b - 1.0 if high == 1.0 else 0.0
        unit, log_weights = gauss_jacobi(NODES, right, left)
        half = (high - low) / 2.0
        x = low + half * (unit + 1.0)
        found = log_weights + (1.0 + left + right) * np.log(half)
        if low > 0.0:
            found += (self.a - 1.0) * np.log(x)
        if high < 1.0:
            found += (self.b - 1.0) * np.log1p(-x)
        return x, found

    def described(self) -> dict[str, Any]:
        return {"beta": [self.a, self.b]}


@dataclass(frozen=True)
class Discrete(Reward):
    """Some values in [0, 1] with their chances, such as stars.

    >>> Discrete([0, 0.5, 1], [0.2, 0.3, 0.5]).mean
    0.65
    """

    values: tuple[float, ...]
    chances: tuple[float, ...]

    def __post_init__(self) -> None:
        values = validation.numbers("values", self.values, 0, 1)
        chances = validation.numbers("chances", self.chances, 0, 1)
        if len(values) != len(chances) or abs(sum(chances) - 1.0) > 1e-9:
            raise InputError(
                f"chances = {validation.shown(list(chances))} is not allowed: there must be one "
                f"for each of the {len(values)} values, and they must add up to 1"
            )
        vars(self).update(values=values, chances=chances)

    @property
    def mean(self) -> float:
        return float(np.dot(self.values, self.chances))

    def points(self, cuts: Sequence[float] = ()) -> tuple[Array, Array]:
        return np.array(self.values), np.array(self.chances)

    def described(self) -> dict[str, Any]:
        return {"values": list(self.values), "chances": list(self.chances)}


@dataclass(frozen=True)
class Empirical(Reward):
    """Rewards that were seen, each as likely as any other.

    >>> Empirical([0.2, 0.2, 0.8]).points()[0].tolist()
    [0.2, 0.8]
    """

    seen: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "seen", validation.numbers("sample", self.seen, 0, 1))

    @property
    def mean(self) -> float:
        return float(np.mean(self.seen))

    def points(self, cuts: Sequence[float] = ()) -> tuple[Array, Array]:
        values, times = np.unique(self.seen, return_counts=True)
        return values, times / len(self.seen)

    def described(self) -> dict[str, Any]:
        return {"sample": list(self.seen)}


@lru_cache(64)
def gauss_jacobi(n: int, a: float, b: float) -> tuple[Array, Array]:
    """Nodes and log weights on [-1, 1] for (1 - t)^a (1 + t)^b: Golub and Welsch (1969)."""
    k = np.arange(1.0, n)
    s = 2.0 * k + a + b
    diagonal = np.array([(b - a) / (a + b + 2.0), *((b * b - a * a) / (s * (s + 2.0)))])
    # For k = 1 a factor of s - 1 cancels one of k + a + b, and may be 0.
    rest = np.where(k == 1.0, 1.0, (k + a + b) / np.where(k == 1.0, 1.0, s - 1.0))
    square = 4.0 * k * (k + a) * (k + b) * rest / (s * s * (s + 1.0))
    matrix = np.diag(diagonal) + np.diag(np.sqrt(square), 1) + np.diag(np.sqrt(square), -1)
    nodes, vectors = np.linalg.eigh(matrix)
    log_total = (a + b + 1.0) * log(2.0) + lgamma(a + 1.0) + lgamma(b + 1.0) - lgamma(a + b + 2.0)
    with np.errstate(divide="ignore"):  # a weight may be too small for a float
        return nodes, 2.0 * np.log(np.abs(vectors[0])) + log_total


def reward_of(name: str, value: Any) -> Reward:
    """A distribution: itself, from a number (the mean of a `Bernoulli`), or as a file has it.

    >>> reward_of("rewards[0]", {"beta": [2, 3]}), reward_of("rewards[1]", 0.5)
    (Beta(a=2.0, b=3.0), Bernoulli(mean=0.5))
    """
    if isinstance(value, Reward):
        return value
    if isinstance(value, Real):
        return Bernoulli(validation.number(name, value, 0, 1))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return BernoulliByState(validation.numbers(name, value, 0, 1))
    keys = tuple(value) if isinstance(value, Mapping) else ()
    try:
        if set(keys) == {"values", "chances"}:
            return Discrete(value["values"], value["chances"])
        if keys == ("sample",):
            return Empirical(value["sample"])
        if keys == ("beta",) and isinstance(value["beta"], Sequence) and len(value["beta"]) == 2:
            return Beta(*value["beta"])
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    raise InputError(
        f"{name} = {validation.shown(value)} is not allowed: give a mean, or beta = [a, b], or "
        "values with chances, or a sample, or a list of means by state"
    )


def compiled(rewards: Sequence[Reward], states: int = 1) -> Coins | Grades:
    """The arms as the simulator plays them.

    >>> compiled([Bernoulli(0.9), Bernoulli(0.8)]).means.tolist()
    [0.9, 0.8]
    """
    means = np.array([reward.mean for reward in rewards])
    if all(isinstance(reward, Bernoulli) for reward in rewards):
        return Coins(means)
    if all(isinstance(reward, Coin) for reward in rewards):
        by_state = [[reward.mean_in(s) for s in range(states)] for reward in rewards]
        return CoinsByState(means, np.array(by_state))
    a, b = np.zeros(means.size), np.zeros(means.size)
    first, values, below = [0], list[float](), list[float]()
    for arm, reward in enumerate(rewards):
        if isinstance(reward, Beta):
            a[arm], b[arm] = reward.a, reward.b
        else:
            own, chances = reward.points()
            values.extend(own)
            below.extend([*np.cumsum(chances)[:-1], 1.0])
        first.append(len(values))
    held = np.array(first, np.int64), np.array(values or [0.0]), np.array(below or [1.0])
    return Grades(means, a, b, *held)
