"""The solution of a problem: values, gaps, and the visit under the best rule."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..chain import mistake_cost
from ..engine.steps import onward
from ..users import User
from .functions import CommonPrices, Panels


class MeanVariance(NamedTuple):
    """Mean and variance over visits.

    >>> MeanVariance(9.0, 16.0).std
    4.0
    """

    mean: float
    variance: float

    @property
    def std(self) -> float:
        """The standard deviation."""
        return float(np.sqrt(self.variance))


def first_states(user: User) -> list[float]:
    """The states in which visits begin, as the user model codes them."""
    chances = np.array(user.start.chances)
    return [user.begin(float(u)) for u in np.cumsum(chances) - chances / 2.0]


def over_starts(user: User, means: Any, squares: Any) -> MeanVariance:
    """Mean and variance from the first two moments in each of the `first_states`."""
    chances = user.start.chances
    mean = float(np.dot(chances, means))
    return MeanVariance(mean, float(np.dot(chances, squares)) - mean**2)


@dataclass(frozen=True, eq=False)
class Values:
    """The solution of a problem in which leaving does not depend on the arm and rewards are coins.

    Functions of the state, and the visit they describe. Made by `solve`; most of it is at hand on
    `Problem`.

    >>> from sojourn import TwoState
    >>> from sojourn.values import solve
    >>> found = solve(TwoState(q00=1, q01=0, q10=0, q11=0), (0.9, 0.8))
    >>> round(found.value(1.0), 9), round(found.gap(0.0, 1), 9)
    (99.0, 10.0)
    """

    user: User
    means: tuple[float, ...]
    value_function: Any
    length_function: Any
    reward_square: Any
    length_square: Any
    error: float = field(default=0.0, kw_only=True)
    """A bound on the relative error of the values; 0 for finitely many states."""

    def mistake_cost(self, state: float) -> float:
        """D(s) = 1 + (1 - q(s, 1)) V(s after 1) - (1 - q(s, 0)) V(s after 0)."""
        v0, v1 = self._onward(self.value_function, state)
        return mistake_cost(v0, v1)  # type: ignore[no-any-return]

    def value(self, state: float) -> float:
        """V*(s), the expected reward of the rest of the visit under the best rule."""
        return self.action_value(state, self.rule(state))

    def action_value(self, state: float, arm: int) -> float:
        """Q*(s, a)."""
        v0, _ = self._onward(self.value_function, state)
        return v0 + self.means[arm] * self.mistake_cost(state)

    def gap(self, state: float, arm: int) -> float:
        """V*(s) - Q*(s, a)."""
        return (self._best_mean(state) - self.means[arm]) * self.mistake_cost(state)

    def rule(self, state: float) -> int:
        """The arm to play: of highest mean, or of lowest if D(s) < 0; the first of several."""
        return self.means.index(self._best_mean(state))

    @cached_property
    def prices(self) -> CommonPrices:
        """The gaps for compiled code."""
        means = np.array(self.means)
        optimal = self.best_arm_is_optimal
        return CommonPrices(self.value_function, means, means.max(), means.min(), optimal)

    @cached_property
    def best_arm_is_optimal(self) -> bool:
        """Whether to play the arm of highest mean in every state is optimal (Lemmas 1 and 6)."""
        return min(self.mistake_cost(s) for s in self.states) >= 0.0

    @property
    def states(self) -> list[float]:
        """The states that matter: all of them, or a fine grid; and those of the first step."""
        if self.user.space.states is not None:
            entered = np.arange(self.user.space.states, dtype=float)
        else:
            entered = Panels(self.value_function.edges).nodes
        return [*entered.tolist(), *self.first_states]

    @cached_property
    def reward(self) -> MeanVariance:
        """The total reward of a visit under the best rule."""
        means, squares = [], []
        for state in self.first_states:
            mean = self._best_mean(state)
            (v0, v1), (w0, w1) = (
                self._onward(f, state) for f in (self.value_function, self.reward_square)
            )
            means.append(v0 + mean * mistake_cost(v0, v1))
            squares.append((1.0 - mean) * w0 + mean * (1.0 + 2.0 * v1 + w1))
        return self._over_starts(means, squares)

    @cached_property
    def length(self) -> MeanVariance:
        """The number of steps of a visit under the best rule."""
        means, squares = [], []
        for state in self.first_states:
            mean = self._best_mean(state)
            (n0, n1), (w0, w1) = (
                self._onward(f, state) for f in (self.length_function, self.length_square)
            )
            onward = (1.0 - mean) * n0 + mean * n1
            means.append(1.0 + onward)
            squares.append(1.0 + 2.0 * onward + (1.0 - mean) * w0 + mean * w1)
        return self._over_starts(means, squares)

    @property
    def first_states(self) -> list[float]:
        """The states in which visits begin, as the user model codes them."""
        return first_states(self.user)

    def _over_starts(self, means: list[float], squares: list[float]) -> MeanVariance:
        return over_starts(self.user, means, squares)

    def _best_mean(self, state: float) -> float:
        return max(self.means) if self.mistake_cost(state) >= 0.0 else min(self.means)

    def _onward(self, function: Any, state: float) -> tuple[float, float]:
        """What is still to come after reward 0 and after reward 1."""
        after_0, after_1 = onward(self.user, function, state)
        return float(after_0), float(after_1)
