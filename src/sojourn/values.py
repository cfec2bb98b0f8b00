"""What a visit is worth: V*, Q*, gaps, and the length and reward of a visit.

A step in state s with arm a of mean mu earns mu and goes on, unless the user leaves, so with
v0 = (1 - q(s, 0)) V(s after 0) and v1 = (1 - q(s, 1)) V(s after 1)

    Q(s, a) = mu + (1 - mu) v0 + mu v1 = v0 + mu D(s),     D(s) = 1 + v1 - v0.

D is the *mistake cost*: what a pull loses per unit of mean. Whatever the number of arms, the best
choice in state s is therefore the arm of highest mean if D(s) >= 0 and of lowest mean otherwise.
Under the paper's assumptions D > 0 (Lemmas 1 and 6); here this is not assumed but found, by
policy iteration.

With finitely many states the equations are solved exactly. On [0, 1] the functions are piecewise
Chebyshev series that satisfy the equations at their nodes; panels are halved where the equations
fail between the nodes, which follows the steep leave curves of the paper wherever they are.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from .engine.jit import Compiled
from .engine.steps import onward
from .users import User

Array = NDArray[np.floating[Any]]

LONGEST = 1e12
"""Visits expected to last longer than this many steps count as never ending."""

DEGREE = 15
MAX_PANELS = 48
ACCURACY = 1e-11
"""The relative error aimed at; what was reached is `Values.error`."""
ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class Table(Compiled):
    """A function on the states 0, 1, ..., n - 1."""

    at_state: Array

    def at(self, state: float) -> float:
        """The value at one state."""
        return self.at_state[int(state)]  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Piecewise(Compiled):
    """A function on [0, 1]: a Chebyshev series on each panel between two edges."""

    edges: Array
    series: Array

    def at(self, state: float) -> float:
        """The value at one point, by Clenshaw's recurrence."""
        low, high = 0, self.edges.size - 1
        while high - low > 1:
            middle = (low + high) // 2
            if state < self.edges[middle]:
                high = middle
            else:
                low = middle
        left, right = self.edges[low], self.edges[low + 1]
        x = (2.0 * state - left - right) / (right - left)
        b1, b2 = 0.0, 0.0
        for k in range(self.series.shape[1] - 1, 0, -1):
            b1, b2 = self.series[low, k] + 2.0 * x * b1 - b2, b1
        return self.series[low, 0] + x * b1 - b2  # type: ignore[no-any-return]


class Moments(NamedTuple):
    """Mean and variance over visits."""

    mean: float
    variance: float

    @property
    def std(self) -> float:
        """The standard deviation."""
        return float(np.sqrt(self.variance))


@dataclass(frozen=True, eq=False)
class Values:
    """The solution of a problem: functions of the state, and the visit they describe.

    Made by `solve`; most of it is at hand on `Problem`.
    """

    user: User
    high: float
    low: float
    value_function: Any
    length_function: Any
    reward_square: Any
    length_square: Any
    error: float = field(default=0.0, kw_only=True)
    """A bound on the relative error of the values; 0 for finitely many states."""

    def mistake_cost(self, state: float) -> float:
        """D(s) = 1 + (1 - q(s, 1)) V(s after 1) - (1 - q(s, 0)) V(s after 0)."""
        v0, v1 = self._onward(self.value_function, state)
        return 1.0 + v1 - v0

    def value(self, state: float) -> float:
        """V*(s), the expected reward of the rest of the visit under the best rule."""
        return self.action_value(state, self._best_mean(state))

    def action_value(self, state: float, mean: float) -> float:
        """Q*(s, a) for an arm of this mean."""
        v0, _ = self._onward(self.value_function, state)
        return v0 + mean * self.mistake_cost(state)

    def gap(self, state: float, mean: float) -> float:
        """V*(s) - Q*(s, a) for an arm of this mean."""
        return (self._best_mean(state) - mean) * self.mistake_cost(state)

    @cached_property
    def best_arm_is_optimal(self) -> bool:
        """Whether to play the arm of highest mean in every state is optimal (Lemmas 1 and 6)."""
        return min(self.mistake_cost(s) for s in self.states) >= 0.0

    @property
    def states(self) -> list[float]:
        """The states that matter: all of them, or a fine grid; and those of the first step."""
        if self.user.states is not None:
            entered = np.arange(self.user.states, dtype=float)
        else:
            entered = _Panels(self.value_function.edges).nodes
        return [*entered.tolist(), *self.first_states]

    @cached_property
    def reward(self) -> Moments:
        """The total reward of a visit under the best rule."""
        means, squares = [], []
        for state in self.first_states:
            mean = self._best_mean(state)
            (v0, v1), (w0, w1) = (
                self._onward(f, state) for f in (self.value_function, self.reward_square)
            )
            means.append(v0 + mean * (1.0 + v1 - v0))
            squares.append((1.0 - mean) * w0 + mean * (1.0 + 2.0 * v1 + w1))
        return self._over_starts(means, squares)

    @cached_property
    def length(self) -> Moments:
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
        chances = np.array(self.user.start.chances)
        return [self.user.begin(float(u)) for u in np.cumsum(chances) - chances / 2.0]

    def _over_starts(self, means: list[float], squares: list[float]) -> Moments:
        chances = self.user.start.chances
        mean = float(np.dot(chances, means))
        return Moments(mean, float(np.dot(chances, squares)) - mean**2)

    def _best_mean(self, state: float) -> float:
        return self.high if self.mistake_cost(state) >= 0.0 else self.low

    def _onward(self, function: Any, state: float) -> tuple[float, float]:
        """What is still to come after reward 0 and after reward 1."""
        after_0, after_1 = onward(self.user, function, state)
        return float(after_0), float(after_1)


class NeverEnds(ValueError):
    """Someone can stay for ever."""


# With several threads the last bits of a solution depend on how busy the machine is.
@threadpool_limits.wrap(limits=1, user_api="blas")  # type: ignore[untyped-decorator]
def solve(user: User, means: tuple[float, ...]) -> Values:
    """V* and all that follows from it; raises `NeverEnds` if some rule keeps users for ever.

    >>> from sojourn import TwoState
    >>> round(solve(TwoState(q00=1, q01=0, q10=0, q11=0), (0.9, 0.8)).value(1.0), 9)
    99.0
    """
    high, low = max(means), min(means)
    if user.states is not None:
        every = np.eye(user.states)
        step = _step(user, np.arange(user.states, dtype=float), lambda s: every[s.astype(int)])
        return Values(user, high, low, *map(Table, _optimum(step, high, low)))
    edges = np.array([0.0, 1.0])
    while True:
        panels = _Panels(edges)
        step = _step(user, panels.nodes, panels.basis)
        solution = _optimum(step, high, low, check=edges.size == 2)
        residual = panels.worst(_residual(user, panels, solution, high, low))
        longest = float(solution[1].max())
        # Only the worst: elsewhere the residual is often theirs, and goes when they are mended.
        rough = residual > max(ACCURACY / longest, ROUNDING, residual.max() / 10.0)
        if not rough.any() or edges.size + rough.sum() > MAX_PANELS:
            error = float(residual.max()) * longest
            return Values(user, high, low, *map(panels.function, solution), error=error)
        edges = np.sort(np.concatenate([edges, (edges[:-1] + edges[1:])[rough] / 2.0]))


Basis = Callable[[Array], Array]
"""Points to rows of weights: basis(points) @ (values at the nodes) = values at the points."""


class _Step(NamedTuple):
    """One step from given states: `after_r @ f` is what is to come after reward r."""

    after_0: Array
    after_1: Array


def _step(user: User, states: Array, basis: Basis) -> _Step:
    def after(reward: float) -> Array:
        onward = np.array([user.next_state(float(s), reward) for s in states])
        stay = np.array([1.0 - user.leave_probability(float(s), reward) for s in states])
        rows: Array = stay[:, None] * basis(onward)
        return rows

    return _Step(after(0.0), after(1.0))


def _optimum(step: _Step, high: float, low: float, check: bool = True) -> list[Array]:
    """Value, length and their second moments at the nodes, under the best rule.

    With `check`, visits must end under every rule, the one with the longest visits included.
    """
    eye = np.eye(len(step.after_0))
    ones = np.ones(len(eye))

    def transition(mean: Array) -> Array:
        rows: Array = (1.0 - mean)[:, None] * step.after_0 + mean[:, None] * step.after_1
        return rows

    def improve(earn: Callable[[Array], Array], earn_more: float) -> tuple[Array, Array]:
        """Policy iteration for a step that earns `earn(mean)`, with slope `earn_more`."""
        mean: Array = np.full(len(eye), high)
        while True:
            try:
                total: Array = np.linalg.solve(eye - transition(mean), earn(mean))
            except np.linalg.LinAlgError:
                total = np.full(len(eye), np.inf)
            if not (np.abs(total) <= LONGEST).all() or total.min() < -1e-9:
                raise NeverEnds
            slope = earn_more + step.after_1 @ total - step.after_0 @ total
            better = np.where(slope * (high - low) >= -1e-12 * np.abs(total).max(), high, low)
            if (better == mean).all():
                return mean, total
            mean = better

    if check:
        improve(lambda mean: ones, 0.0)
    mean, value = improve(lambda mean: mean, 1.0)
    onward = transition(mean)
    solver = eye - onward
    length = np.linalg.solve(solver, ones)
    squares = [mean * (1.0 + 2.0 * step.after_1 @ value), 1.0 + 2.0 * onward @ length]
    value_square, length_square = np.linalg.solve(solver, np.transpose(squares)).T
    return [value, length, value_square, length_square]


def _residual(
    user: User, panels: "_Panels", solution: list[Array], high: float, low: float
) -> Array:
    """How far each function is from its equation between the nodes, relative to its size."""
    points = panels.between
    step, here = _step(user, points, panels.basis), panels.basis(points)
    value, length, value_square, length_square = solution
    v0, v1 = step.after_0 @ value, step.after_1 @ value
    mean = np.where(1.0 + v1 - v0 >= 0.0, high, low)

    def onward(f: Array) -> Array:
        rows: Array = (1.0 - mean) * (step.after_0 @ f) + mean * (step.after_1 @ f)
        return rows

    right = [
        mean + onward(value),
        1.0 + onward(length),
        mean * (1.0 + 2.0 * v1) + onward(value_square),
        1.0 + 2.0 * onward(length) + onward(length_square),
    ]
    worst = [np.abs(here @ f - r) / (f.max() or 1.0) for f, r in zip(solution, right, strict=True)]
    return np.max(worst, axis=0)  # type: ignore[no-any-return]


class _Panels:
    """Chebyshev nodes on each panel, and interpolation from the values there."""

    def __init__(self, edges: Array) -> None:
        self.edges = edges
        self.unit = np.cos(np.pi * np.arange(DEGREE, -1, -1) / DEGREE)
        self.weights = np.where(np.arange(DEGREE + 1) % 2, -1.0, 1.0)
        self.weights[[0, -1]] /= 2.0
        self.nodes = self._spread(self.unit)
        self.between = self._spread(np.cos(np.pi * (np.arange(DEGREE, 0, -1) - 0.5) / DEGREE))

    def _spread(self, unit: Array) -> Array:
        left, right = self.edges[:-1, None], self.edges[1:, None]
        points: Array = left + (right - left) * (unit + 1.0) / 2.0
        return points.ravel()

    def basis(self, points: Array) -> Array:
        """Barycentric interpolation rows."""
        panel = np.clip(np.searchsorted(self.edges, points, "right") - 1, 0, self.edges.size - 2)
        left, right = self.edges[panel], self.edges[panel + 1]
        x = (2.0 * points - left - right) / (right - left)
        distance = x[:, None] - self.unit
        hit = distance == 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            rows = self.weights / distance
            rows /= rows.sum(axis=1, keepdims=True)
        rows = np.where(hit.any(axis=1, keepdims=True), hit, rows)
        full = np.zeros((points.size, self.nodes.size))
        columns = panel[:, None] * self.unit.size + np.arange(self.unit.size)
        np.put_along_axis(full, columns, rows, axis=1)
        return full

    def worst(self, at_points: Array) -> Array:
        """The largest of the values at `between`, panel by panel."""
        return at_points.reshape(self.edges.size - 1, -1).max(axis=1)  # type: ignore[no-any-return]

    def function(self, at_nodes: Array) -> Piecewise:
        """The function with these values at the nodes."""
        fit = np.polynomial.chebyshev.chebvander(self.unit, DEGREE)
        series = np.linalg.solve(fit, at_nodes.reshape(-1, self.unit.size).T).T
        return Piecewise(self.edges, np.ascontiguousarray(series))
