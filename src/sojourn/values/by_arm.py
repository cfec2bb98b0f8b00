"""What a visit is worth where leaving depends on the arm, or rewards are graded or by state.

There is no mistake cost then, and the best arm depends on the state: policy iteration goes over
all arms. With reward r of chance p in state s, and W the value of where it leads,

    Q(s, a) = sum over r of p (r + (1 - q_a(s, r)) W(s, r)),     V(s) = max over a of Q(s, a).

Finitely many states are solved exactly, and [0, 1] by Chebyshev series on panels, as in `solve`;
but V has kinks where the best arm changes and wherever such a state can be reached from, so that
the bound on the error is from 1e-6 to 1e-4 there, not 1e-11. Rewards from a continuous distribution
are a sum over the nodes of a quadrature.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from ..chain import ROUNDING, best_rule, second_moment, total
from ..rewards import Reward
from ..users import User, unwrapped
from ..validation import InputError
from .functions import Array, ByState, Panels, PriceSeries, PriceTable
from .solution import MeanVariance, first_states, over_starts
from .solve import Basis, follows, on_panels, stays


class Steps(NamedTuple):
    """One step of every arm from given states, by [arm, state] and [arm, state, node]."""

    earn: Array
    earn_square: Array
    onward: Array  # onward @ f: what is to come, if f is
    earning: Array  # the same, weighted with the reward of the step

    def to_come(self, function: Array) -> Array:
        """By [arm, state]."""
        return self.onward @ function

    def under(self, rule: Array) -> "Steps":
        """Of the arm that a rule plays in each state: by [state] and [state, node]."""
        states = np.arange(rule.size)
        return Steps(*(part[rule, states] for part in self))


def steps_of(user: User, rewards: Sequence[Reward], states: Array, basis: Basis) -> Steps:
    """All that one step can do."""
    nodes, arms = basis(np.zeros(1)).shape[1], len(rewards)
    onward, earning = np.zeros((2, arms, states.size, nodes))
    earn, square = np.zeros((2, arms, states.size))
    known: dict[float, Array] = {}
    for arm, distribution in enumerate(rewards):
        for reward, chance in zip(*distribution.points_in(states, user.space.cuts), strict=True):
            value = float(reward)
            if value in (0.0, 1.0) and value not in known:  # of most arms, where these are coins
                known[value] = follows(user, states, value, basis)
            after = known[value] if value in known else follows(user, states, value, basis)
            rows = (chance * stays(user, arm, states, value))[:, None] * after
            onward[arm] += rows
            earning[arm] += value * rows
            earn[arm] += chance * value
            square[arm] += chance * value * value
    return Steps(earn, square, onward, earning)


def _optimum(steps: Steps, check: bool) -> list[Array]:
    """Value, length and their second moments at the nodes, under the best rule."""
    if check:
        best_rule(steps.onward, np.ones_like(steps.earn))
    rule, value = best_rule(steps.onward, steps.earn)
    own = steps.under(rule)
    ones = np.ones(rule.size)
    length = total(own.onward, ones, None)
    value_square = second_moment(own.onward, own.earn_square, own.earning, value)
    return [value, length, value_square, second_moment(own.onward, ones, own.onward, length)]


def _moments(steps: Steps, solution: Sequence[Array]) -> list[Array]:
    """Value, length and their second moments in the states that the steps are made from."""
    value, length, value_square, length_square = solution
    own = steps.under((steps.earn + steps.to_come(value)).argmax(axis=0))
    return [
        own.earn + own.onward @ value,
        1.0 + own.onward @ length,
        own.earn_square + 2.0 * own.earning @ value + own.onward @ value_square,
        1.0 + 2.0 * own.onward @ length + own.onward @ length_square,
    ]


@dataclass(frozen=True, eq=False)
class ValuesByArm:
    """The solution of any problem; see `Values`, which knows more of the paper's."""

    user: User
    rewards: tuple[Reward, ...]
    basis: Basis
    panels: Panels | None
    solution: tuple[Array, ...]
    error: float = field(default=0.0, kw_only=True)

    @property
    def value_function(self) -> Any:
        """V* in the states that steps lead to."""
        value = self.solution[0]
        return ByState(value) if self.panels is None else self.panels.function(value)

    @cached_property
    def _worth(self) -> Any:
        """Q*(s, a) by state, kept: solvers ask for one arm after the other."""

        @lru_cache(4096)
        def worth(state: float) -> tuple[float, ...]:
            steps = self._steps(np.array([state]))
            found: Array = (steps.earn + steps.to_come(self.solution[0]))[:, 0]
            return tuple(found.tolist())

        return worth

    def _steps(self, states: Array) -> Steps:
        return steps_of(self.user, self.rewards, states, self.basis)

    def action_value(self, state: float, arm: int) -> float:
        """Q*(s, a)."""
        return self._worth(state)[arm]  # type: ignore[no-any-return]

    def value(self, state: float) -> float:
        """V*(s)."""
        return float(max(self._worth(state)))

    def gap(self, state: float, arm: int) -> float:
        """V*(s) - Q*(s, a)."""
        return self.value(state) - self.action_value(state, arm)

    def rule(self, state: float) -> int:
        """The arm to play; the first of several."""
        worth = self._worth(state)
        return int(worth.index(max(worth)))

    def mistake_cost(self, state: float) -> float:
        """There is none: what a wrong pull costs is not in proportion to the mean it lacks."""
        raise InputError(
            "mistake_cost does not apply, because leaving depends on the arm, or rewards are "
            "graded or depend on the state: use gap(state, arm)"
        )

    @property
    def states(self) -> list[float]:
        """The states that matter: all of them, or a fine grid; and those of the first step."""
        if self.panels is None:
            return [*map(float, range(self.solution[0].size)), *self.first_states]
        return [*self.panels.nodes.tolist(), *self.first_states]

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
    def _at_start(self) -> list[Array]:
        return _moments(self._steps(np.array(self.first_states)), self.solution)

    @property
    def reward(self) -> MeanVariance:
        """The total reward of a visit under the best rule."""
        return over_starts(self.user, self._at_start[0], self._at_start[2])

    @property
    def length(self) -> MeanVariance:
        """The number of steps of a visit under the best rule."""
        return over_starts(self.user, self._at_start[1], self._at_start[3])

    @cached_property
    def prices(self) -> PriceTable | PriceSeries:
        """The gaps for compiled code."""
        own_first = unwrapped(self.user) is not self.user
        if self.panels is None:
            states = np.arange(self.solution[0].size, dtype=float)
            every = np.concatenate([states, -1.0 - states]) if own_first else states
            worth = self._actions(every)
            return PriceTable(np.ascontiguousarray((worth.max(axis=0) - worth).T), states.size)
        panels = self.panels
        series = [panels.function(row).series for row in self._actions(panels.nodes)]
        first = np.zeros((0, 1, 1))
        if own_first:
            rows = self._actions(-1.0 - panels.nodes)
            first = np.array([panels.function(row).series for row in rows])
        return PriceSeries(panels.edges, np.array(series), first)

    def _actions(self, states: Array) -> Array:
        steps = self._steps(states)
        return steps.earn + steps.to_come(self.solution[0])


@threadpool_limits.wrap(limits=1, user_api="blas")  # type: ignore[untyped-decorator]
def solve_by_arm(user: User, rewards: tuple[Reward, ...]) -> ValuesByArm:
    """The solution of any problem; raises `NeverEnds` if some rule keeps users for ever.

    >>> from sojourn import ByArm, TwoState
    >>> from sojourn.rewards import Bernoulli
    >>> user = ByArm.odds(TwoState(0.15, 0.08, 0.12, 0.06), [2, 0, 0])
    >>> values = solve_by_arm(user, tuple(map(Bernoulli, (0.8, 0.6, 0.4))))
    >>> values.rule(1.0), round(values.value(1.0), 2)
    (1, 6.5)
    """
    if user.space.states is not None:
        every = np.eye(user.space.states)

        def basis(points: Array) -> Array:
            rows: Array = every[points.astype(int)]
            return rows

        steps = steps_of(user, rewards, np.arange(user.space.states, dtype=float), basis)
        return ValuesByArm(user, rewards, basis, None, tuple(_optimum(steps, check=True)))

    def attempt(panels: Panels, check: bool) -> tuple[list[Array], Array]:
        solution = _optimum(steps_of(user, rewards, panels.nodes, panels.basis), check)
        steps = steps_of(user, rewards, panels.between, panels.basis)
        # Of the values only: lengths jump where the rule does, and wherever that can lead from.
        value, here = solution[0], panels.basis(panels.between) @ solution[0]
        right = (steps.earn + steps.to_come(value)).max(axis=0)
        return solution, np.abs(here - right) / (value.max() or 1.0)

    panels, solution, error = on_panels(attempt)
    return ValuesByArm(user, rewards, panels.basis, panels, tuple(solution), error=error)
