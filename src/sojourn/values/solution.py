"""The solution of a problem: values, gaps, and the visit under the best rule."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import validation
from ..chain import ROUNDING, mistake_cost
from ..engine.steps import next_states, onward
from ..rewards import BernoulliByState, Reward, extremes
from ..users import User, unwrapped
from ..validation import InputError
from .functions import Array, CommonPrices, Panels, PriceSeries, PriceTable, States

OUTSIDE = 1e-14
"""Distance by which rounding may put a state outside of [0, 1]."""

Grid = States | Panels
"""The states at which functions are known: all, or nodes in [0, 1]."""


class MeanVariance(NamedTuple):
    """Mean and variance over visits.

    >>> MeanVariance(9.0, 16.0).std
    4.0
    """

    mean: float
    variance: float

    @property
    def std(self) -> float:
        return float(np.sqrt(self.variance))


def first_states(user: User) -> list[float]:
    """The states in which visits begin, as the user model codes them."""
    chances = np.array(user.start.chances)
    return [user.begin(float(u)) for u in np.cumsum(chances) - chances / 2.0]


class Steps(NamedTuple):
    """One step of every arm from given states, by [arm, state] and [arm, state, node]."""

    earn: Array
    earn_square: Array
    onward: Array  # onward @ f: what is to come, if f is
    earning: Array  # the same, weighted with the reward of the step

    def worth(self, value: Array) -> Array:
        """By [arm, state]."""
        return self.earn + self.onward @ value

    def under(self, rule: Array) -> "Steps":
        """The step of the arm that a rule plays in each state: by [state] and [state, node]."""
        states = np.arange(rule.size)
        return Steps(*(part[rule, states] for part in self))

    def moments(self, solution: Sequence[Array]) -> list[Array]:
        """Value, length and their second moments in these states, from those at the nodes."""
        value, length, value_square, length_square = solution
        own = self.under(self.worth(value).argmax(axis=0))
        return [
            own.earn + own.onward @ value,
            1.0 + own.onward @ length,
            own.earn_square + 2.0 * own.earning @ value + own.onward @ value_square,
            1.0 + 2.0 * own.onward @ length + own.onward @ length_square,
        ]


def steps_of(user: User, rewards: Sequence[Reward], grid: Grid, states: Array) -> Steps:
    """The steps of a user and rewards, from given states."""
    arms, space = len(rewards), user.space
    onward, earning = np.zeros((2, arms, states.size, grid.nodes.size))
    earn, square = np.zeros((2, arms, states.size))
    # Rewards of most arms are 0 and 1.
    follow = lru_cache(2)(lambda reward: follows(user, states, reward, grid.basis))
    stay = lru_cache(2)(lambda arm, reward: stays(user, arm, states, reward))
    for arm, distribution in enumerate(rewards):
        for reward, chance in zip(*distribution.points_in(states, space.cuts), strict=True):
            value, like = float(reward), 0 if space.arms is None else arm
            rows = (chance * stay(like, value))[:, None] * follow(value)
            onward[arm] += rows
            earning[arm] += value * rows
            earn[arm] += chance * value
            square[arm] += chance * value * value
    return Steps(earn, square, onward, earning)


def stays(user: User, arm: int, states: Array, reward: float) -> Array:
    """The chance to stay after an arm and a reward, in each of these states."""
    name = f"{type(user).__name__}.leave_probability"
    found = []
    for state in states.tolist():
        leave = user.leave_probability(state, reward, arm)
        what = f"{name}({state:g}, {reward:g}, {arm})"
        found.append(1.0 - validation.number(what, leave, 0, 1))
    return np.array(found)


def follows(user: User, states: Array, reward: float, basis: Callable[[Array], Array]) -> Array:
    """Rows of weights: a function of the next state, which may be random, from the nodes."""
    rows = [_next_states(user, state, reward) for state in states.tolist()]
    most = max(map(len, rows))
    padded = [row + [(row[0][0], 0.0)] * (most - len(row)) for row in rows]
    ways = np.transpose(padded, (1, 2, 0))
    if most == 1:
        return basis(ways[0, 0])
    return np.sum([chances[:, None] * basis(to) for to, chances in ways], axis=0)  # type: ignore[no-any-return]


def _next_states(user: User, state: float, reward: float) -> list[tuple[float, float]]:
    """The next states with their chances; InputError if one of them is none."""
    found = next_states(user, state, reward)
    what = f"{type(user).__name__}.next_state({state:g}, {reward:g})"
    for after, _ in found:
        if user.space.states is not None:
            validation.whole(what, after, 0, user.space.states - 1)
        elif not -OUTSIDE <= after <= 1.0 + OUTSIDE:
            validation.number(what, after, 0, 1)
    return found


@dataclass(frozen=True, eq=False)
class Values:
    """The solution of a problem. Made by `solve`; most of it is at hand on `Problem`.

    >>> from sojourn import TwoState
    >>> from sojourn.rewards import Bernoulli
    >>> from sojourn.values import solve
    >>> arms = Bernoulli(0.9), Bernoulli(0.8)
    >>> found = solve(TwoState(q00=1, q01=0, q10=0, q11=0), arms)
    >>> round(found.value(1.0), 9), round(found.gap(0.0, 1), 9)
    (99.0, 10.0)
    """

    user: User
    rewards: tuple[Reward, ...]
    grid: Grid
    solution: tuple[Array, ...]
    """Value, length and their second moments at the nodes of the grid, under the best rule."""
    error: float = field(default=0.0, kw_only=True)
    """A bound on the relative error of the values; 0 for finitely many states."""

    @staticmethod
    def played(rewards: tuple[Reward, ...]) -> tuple[Reward, ...]:
        """The arms between which the best rule chooses."""
        return rewards

    def value(self, state: float) -> float:
        """V*(s), the expected reward of the rest of the visit under the best rule."""
        return self.action_value(state, self.rule(state))

    def action_value(self, state: float, arm: int) -> float:
        """Q*(s, a)."""
        return _worth(self, state)[arm]

    def gap(self, state: float, arm: int) -> float:
        """V*(s) - Q*(s, a)."""
        return self.value(state) - self.action_value(state, arm)

    def rule(self, state: float) -> int:
        """The arm to play; the first of several."""
        worth = _worth(self, state)
        return worth.index(max(worth))

    def mistake_cost(self, state: float) -> float:
        """There is none: the cost of a wrong pull is not proportional to the mean it lacks."""
        raise InputError(
            "mistake_cost does not apply, because leaving depends on the arm or rewards are "
            "graded: use gap(state, arm)"
        )

    @property
    def states(self) -> list[float]:
        """The states that matter: all of them, or a fine grid; and those of the first step."""
        return [*self.grid.nodes.tolist(), *self.first_states]

    @property
    def best_arm_is_optimal(self) -> bool:
        """Whether to play the arm of highest mean in every state is optimal."""
        best = int(np.argmax([reward.mean for reward in self.rewards]))
        small = ROUNDING * float(np.abs(self.solution[0]).max())
        return all(self.gap(s, best) <= small for s in self.states)

    @property
    def first_states(self) -> list[float]:
        return first_states(self.user)

    @cached_property
    def prices(self) -> Any:
        """The gaps for compiled code."""
        own_first = unwrapped(self.user) is not self.user
        grid, nodes = self.grid, self.grid.nodes
        if isinstance(grid, States):
            worth = self.worth(np.concatenate([nodes, -1.0 - nodes]) if own_first else nodes)
            return PriceTable(np.ascontiguousarray((worth.max(axis=0) - worth).T), nodes.size)
        first = self._series(grid, -1.0 - nodes) if own_first else np.zeros((0, 1, 1))
        return PriceSeries(grid.edges, self._series(grid, nodes), first)

    @cached_property
    def reward(self) -> MeanVariance:
        """The total reward of a visit under the best rule."""
        return self._over_starts(0)

    @cached_property
    def length(self) -> MeanVariance:
        """The number of steps of a visit under the best rule."""
        return self._over_starts(1)

    def worth(self, states: Array) -> Array:
        """Q* by [arm played, state]."""
        return self._steps(states).worth(self.solution[0])

    def _series(self, panels: Panels, states: Array) -> Array:
        return np.array([panels.function(row).series for row in self.worth(states)])

    def _steps(self, states: Array) -> Steps:
        return steps_of(self.user, self.played(self.rewards), self.grid, states)

    def _over_starts(self, which: int) -> MeanVariance:
        chances, found = self.user.start.chances, self._at_start
        mean = float(np.dot(chances, found[which]))
        return MeanVariance(mean, float(np.dot(chances, found[which + 2])) - mean**2)

    @cached_property
    def _at_start(self) -> list[Array]:
        starts = self.first_states
        found = self._steps(np.array(starts)).moments(self.solution)
        return [np.array([self.value(s) for s in starts]), *found[1:]]


@lru_cache(256)
def _worth(values: Values, state: float) -> list[float]:
    """Q*(s, a) by arm, kept: solvers ask for one arm after the other."""
    return values.worth(np.array([state]))[:, 0].tolist()  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class CommonValues(Values):
    """Values if leaving does not depend on the arm and rewards are 0 or 1: with a mistake cost.

    What is best in a state is the arm of highest or of lowest mean.
    """

    @staticmethod
    def played(rewards: tuple[Reward, ...]) -> tuple[Reward, ...]:
        return extremes(rewards)

    def means(self, state: float) -> list[float]:
        """The mean of each arm in a state."""
        return [arm.mean_in(state) for arm in self.rewards]

    @cached_property
    def value_function(self) -> Any:
        """V* in the states that steps lead to, for compiled code."""
        return self.grid.function(self.solution[0])

    def mistake_cost(self, state: float) -> float:
        """D(s) = 1 + (1 - q(s, 1)) V(s after 1) - (1 - q(s, 0)) V(s after 0)."""
        return mistake_cost(*self._onward(state))  # type: ignore[no-any-return]

    def action_value(self, state: float, arm: int) -> float:
        mean = self.rewards[arm].mean_in(state)
        return self._onward(state)[0] + mean * self.mistake_cost(state)

    def gap(self, state: float, arm: int) -> float:
        lacking = self._best_mean(state) - self.rewards[arm].mean_in(state)
        return lacking * self.mistake_cost(state)

    def rule(self, state: float) -> int:
        """The arm to play: of highest mean, or of lowest if D(s) < 0; the first of several."""
        return self.means(state).index(self._best_mean(state))

    @cached_property
    def prices(self) -> CommonPrices | PriceTable:
        if any(isinstance(arm, BernoulliByState) for arm in self.rewards):
            nodes, own_first = self.grid.nodes, unwrapped(self.user) is not self.user
            states = [*nodes, *(-1.0 - nodes if own_first else [])]
            gaps = [[self.gap(s, a) for a in range(len(self.rewards))] for s in states]
            return PriceTable(np.array(gaps), nodes.size)
        means, optimal = np.array(self.means(1.0)), self.best_arm_is_optimal
        return CommonPrices(self.value_function, means, means.max(), means.min(), optimal)

    @cached_property
    def best_arm_is_optimal(self) -> bool:
        """Whether to play the arm of highest mean in every state is optimal (Lemmas 1 and 6)."""
        best = int(np.argmax([arm.mean for arm in self.rewards]))
        least = min(self.mistake_cost(s) for s in self.states)
        return least >= 0.0 and all(self.gap(s, best) == 0.0 for s in self.states)

    def _best_mean(self, state: float) -> float:
        means = self.means(state)
        return max(means) if self.mistake_cost(state) >= 0.0 else min(means)

    def _onward(self, state: float) -> tuple[float, float]:
        """What is still to come after reward 0 and after reward 1."""
        after_0, after_1 = onward(self.user, self.value_function, state)
        return float(after_0), float(after_1)
