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
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from .. import validation
from ..chain import mistake_cost, second_moment, total
from ..engine.steps import next_states
from ..users import User
from .functions import Array, ByState, Panels
from .solution import Values

MAX_PANELS = 48
ACCURACY = 1e-11
"""The relative error aimed at; what was reached is `Values.error`."""
ROUNDING = 1e-14


# With several threads the last bits of a solution depend on how busy the machine is.
@threadpool_limits.wrap(limits=1, user_api="blas")  # type: ignore[untyped-decorator]
def solve(user: User, means: tuple[float, ...]) -> Values:
    """V* and all that follows from it; raises `NeverEnds` if some rule keeps users for ever.

    >>> from sojourn import TwoState
    >>> round(solve(TwoState(q00=1, q01=0, q10=0, q11=0), (0.9, 0.8)).value(1.0), 9)
    99.0
    """
    high, low = max(means), min(means)
    if user.space.states is not None:
        every = np.eye(user.space.states)
        states = np.arange(user.space.states, dtype=float)
        step = _step(user, states, lambda s: every[s.astype(int)])
        return Values(user, means, *map(ByState, _optimum(step, high, low)))

    def attempt(panels: Panels, check: bool) -> tuple[list[Array], Array]:
        step = _step(user, panels.nodes, panels.basis)
        solution = _optimum(step, high, low, check=check)
        return solution, _residual(user, panels, solution, high, low)

    panels, solution, error = on_panels(attempt)
    return Values(user, means, *map(panels.function, solution), error=error)


Attempt = Callable[[Panels, bool], tuple[list[Array], Array]]
"""Panels, and whether to check that visits end, to a solution at the nodes (values first, then
lengths) and how far it is from its equations between them."""


def on_panels(attempt: Attempt) -> tuple[Panels, list[Array], float]:
    """Solve on panels that are halved where the equations fail; with a bound on the error."""
    edges = np.array([0.0, 1.0])
    while True:
        panels = Panels(edges)
        solution, between = attempt(panels, edges.size == 2)
        residual = panels.worst(between)
        longest = float(solution[1].max())
        # Refine only the worst panels: the residual elsewhere often disappears with them.
        rough = residual > max(ACCURACY / longest, ROUNDING, residual.max() / 10.0)
        if not rough.any() or edges.size + rough.sum() > MAX_PANELS:
            return panels, solution, float(residual.max()) * longest
        edges = np.sort(np.concatenate([edges, (edges[:-1] + edges[1:])[rough] / 2.0]))


Basis = Callable[[Array], Array]
"""Points to rows of weights: basis(points) @ (values at the nodes) = values at the points."""


class _Step(NamedTuple):
    """One step from given states: `after_r @ f` is what is to come after reward r."""

    after_0: Array
    after_1: Array


def _step(user: User, states: Array, basis: Basis) -> _Step:
    def after(reward: float) -> Array:
        return stays(user, 0, states, reward)[:, None] * follows(user, states, reward, basis)

    return _Step(after(0.0), after(1.0))


def stays(user: User, arm: int, states: Array, reward: float) -> Array:
    """The chance to stay after an arm and a reward, in each of these states."""
    return np.array([1.0 - _leaving(user, arm, float(s), reward) for s in states])


def follows(user: User, states: Array, reward: float, basis: Basis) -> Array:
    """Rows of weights: a function of the next state, from its values at the nodes."""
    return _mixed([_onward(user, float(s), reward) for s in states], basis)


def _leaving(user: User, arm: int, state: float, reward: float) -> float:
    what = f"{type(user).__name__}.leave_probability({state:g}, {reward:g}, {arm})"
    return validation.number(what, user.leave_probability(state, reward, arm), 0, 1)


def _onward(user: User, state: float, reward: float) -> list[tuple[float, float]]:
    """The next states with their chances, all of them states that there are."""
    found = next_states(user, state, reward)
    what = f"{type(user).__name__}.next_state({state:g}, {reward:g})"
    for onward, _ in found:
        if user.space.states is not None:
            validation.whole(what, onward, 0, user.space.states - 1)
        elif not -ROUNDING <= onward <= 1.0 + ROUNDING:
            validation.number(what, onward, 0, 1)
    return found


def _mixed(next_states: list[list[tuple[float, float]]], basis: Basis) -> Array:
    """Rows of weights for next states that may be random."""
    most = max(map(len, next_states))
    padded = [row + [(row[0][0], 0.0)] * (most - len(row)) for row in next_states]
    first, *others = np.transpose(padded, (1, 2, 0))
    if not others:
        return basis(first[0])
    parts = [chances[:, None] * basis(states) for states, chances in (first, *others)]
    return np.sum(parts, axis=0)  # type: ignore[no-any-return]


def _optimum(step: _Step, high: float, low: float, check: bool = True) -> list[Array]:
    """Value, length and their second moments at the nodes, under the best rule.

    With `check`, visits must end under every rule, the one with the longest visits included.
    """
    ones = np.ones(len(step.after_0))

    def transition(mean: Array) -> Array:
        rows: Array = (1.0 - mean)[:, None] * step.after_0 + mean[:, None] * step.after_1
        return rows

    def improve(earn: Callable[[Array], Array], earn_more: float) -> tuple[Array, Array]:
        """Policy iteration for a step that earns `earn(mean)`, with slope `earn_more`."""
        mean: Array = np.full(ones.size, high)
        while True:
            found = total(transition(mean), earn(mean))
            slope = earn_more + step.after_1 @ found - step.after_0 @ found
            better = np.where(slope * (high - low) >= -1e-12 * np.abs(found).max(), high, low)
            if (better == mean).all():
                return mean, found
            mean = better

    if check:
        improve(lambda mean: ones, 0.0)
    mean, value = improve(lambda mean: mean, 1.0)
    onward = transition(mean)
    length = total(onward, ones, None)
    value_square = second_moment(onward, mean, mean[:, None] * step.after_1, value)
    return [value, length, value_square, second_moment(onward, ones, onward, length)]


def _residual(
    user: User, panels: "Panels", solution: list[Array], high: float, low: float
) -> Array:
    """How far each function is from its equation between the nodes, relative to its size."""
    points = panels.between
    step, here = _step(user, points, panels.basis), panels.basis(points)
    value, length, value_square, length_square = solution
    v0, v1 = step.after_0 @ value, step.after_1 @ value
    mean = np.where(mistake_cost(v0, v1) >= 0.0, high, low)

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
