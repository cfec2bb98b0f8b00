"""Which state makes a wrong pull costly: mistake costs, cases, and the conditions on gaps.

gap(s, a) = (best mean - mean of a) D(s), so every condition of the paper on the gaps of all arms is
one on the mistake cost D alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from pathlib import Path

import numpy as np

from .. import validation
from ..problem import Problem
from ..problem_files import problem_of
from ..users import Chain, Ema, Levels, LogLeave, TwoState, User, unwrapped
from ..values.prior import DoesNotApply

BY_ARM, GRADED = "leaving depends on the arm", "rewards are graded"
BY_STATE = "rewards depend on the state"

OUTSIDE = {BY_ARM: "by arm", GRADED: "graded", BY_STATE: "by state"}
"""Why a problem is outside the paper, and the name of its case."""


def outside(problem: Problem) -> str | None:
    """Why the paper's theory does not cover a problem."""
    found = (problem.by_arm, problem.graded, problem.by_state)
    return next((why for why, holds in zip(OUTSIDE, found, strict=True) if holds), None)


def two_state(problem: Problem) -> TwoState | None:
    """The paper's basic user, if the problem has that."""
    return None if outside(problem) else as_two_state(unwrapped(problem.user))


def moving_average(problem: Problem) -> Ema | None:
    """The paper's general user, if the problem has that."""
    user = unwrapped(problem.user)
    return user if isinstance(user, Ema) and not outside(problem) else None


@singledispatch
def as_two_state(user: User) -> TwoState | None:
    """The paper's basic user that a model is, if it is one: the theorems are about that."""
    return None


@as_two_state.register
def _(user: TwoState) -> TwoState:
    return user


@as_two_state.register
def _(user: Levels) -> TwoState | None:
    return as_two_state(user.user)  # with rewards of 0 and 1 levels change nothing


@as_two_state.register
def _(user: Chain) -> TwoState | None:
    """Two states that are the last reward are the paper's, whatever they are called."""
    if user.after.tolist() != [[0.0, 1.0]] * 2 or user.shown.tolist() != [0.0, 1.0]:
        return None
    return TwoState(*user.leaving.ravel().tolist(), start=user.start)


def grid(points: int = 1001) -> list[float]:
    """`points` evenly spaced states from 0 to 1, and 20 per decade from 1e-12 to 1e-2.

    Leave curves like the paper's are steep near 0, where an even grid sees nothing.
    """
    states = np.concatenate([np.linspace(0.0, 1.0, points), np.geomspace(1e-12, 1e-2, 201)])
    return [float(s) for s in np.unique(states)]


def entered_states(problem: Problem, points: int = 1001) -> list[float]:
    """All states that steps lead to, in ascending order, or the `grid` if they fill [0, 1]."""
    count = problem.user.space.states
    return grid(points) if count is None else [float(s) for s in range(count)]


def first_step_costs(problem: Problem) -> list[tuple[float, float]]:
    """(experience, D) of the states that only a first step can be in (`StaysFirst`)."""
    if unwrapped(problem.user) is problem.user:
        return []
    firsts = sorted(set(problem.values.first_states), reverse=True)
    return [(problem.user.experience(s), problem.mistake_cost(s)) for s in firsts]


def all_costs(problem: Problem) -> list[float]:
    """D in every state, those of the first step included."""
    entered = [problem.mistake_cost(s) for s in entered_states(problem)]
    return entered + [cost for _, cost in first_step_costs(problem)]


def tolerance(problem: Problem, costs: list[float]) -> float:
    """Differences between mistake costs up to this size are rounding.

    D is a difference of values, so that their error counts in full, but no more than 1e-8 of it:
    where lengths jump (the optimum changes arms) `Values.error` is theirs, and V far better known.
    """
    largest_value = max(problem.value(s) for s in (0.0, 1.0))
    error = min(problem.values.error, 1e-8) + 1e-13
    return 1e-9 * max(map(abs, costs)) + error * largest_value


@dataclass(frozen=True)
class Condition:
    """An inequality between `left` and `right`, and whether it holds.

    >>> found = gap_condition("B")
    >>> found.name, round(found.left, 2), round(found.right, 2), found.holds
    ('D(0) >= D(1)', 5.66, 2.58, True)
    """

    name: str
    left: float | None
    right: float | None
    holds: bool
    reason: str | None = None  # why there is nothing to compare, or where it fails


def mistake_costs(problem: Problem | str | Path) -> dict[int, float]:
    """D(s) for each of finitely many states.

    >>> {s: round(d, 9) for s, d in mistake_costs("A").items()}
    {0: 100.0, 1: 10.0}
    """
    problem = problem_of(problem)
    if why := outside(problem):
        raise DoesNotApply(f"a table of mistake costs does not apply, because {why}")
    if problem.user.space.states is None:
        raise DoesNotApply(
            "a table of mistake costs does not apply, because this user has infinitely many "
            "states: use problem.mistake_cost(state)"
        )
    return {s: problem.mistake_cost(s) for s in range(problem.user.space.states)}


def case(problem: Problem | str | Path) -> str:
    """How the mistake cost D moves with the state, in one word.

    * "normal": a wrong pull costs less in better states (D falls; Theorems 1 to 4);
    * "opposite": it costs more there (D rises; Theorems 5 to 7);
    * "neutral": it costs the same everywhere;
    * "improper": somewhere D < 0, so that the best arm is *not* the one to play there;
    * "mixed": with more than two states, D both rises and falls. The paper has no name for
      this case, nor a theorem;
    * "by arm", "graded": there is no D, because leaving depends on the arm or rewards are graded;
    * "by state": rewards depend on the state, which the paper does not cover.

    >>> [case(name) for name in ("A", "ema-100", "opposite")]
    ['normal', 'normal', 'opposite']
    """
    problem = problem_of(problem)
    if why := outside(problem):
        return OUTSIDE[why]
    entered = [problem.mistake_cost(s) for s in entered_states(problem)]
    every = all_costs(problem)
    small = tolerance(problem, every)
    if min(every) < -small:
        return "improper"
    if max(entered) - min(entered) <= small:
        return "neutral"
    if _rise(entered)[0] <= small:
        return "normal"
    return "opposite" if _rise([-d for d in entered])[0] <= small else "mixed"


def gap_condition(problem: Problem | str | Path) -> Condition:
    """The paper's condition on the gaps, V*(0) - Q*(0, a) >= V*(1) - Q*(1, a) for every arm.

    It is the same for all arms: D(0) >= D(1). Theorems 1 to 3 need it; where it fails, Theorems
    5 to 7 take over. For a user with states in [0, 1] see `monotone_gap`.

    >>> condition = gap_condition("A")
    >>> round(condition.left, 9), round(condition.right, 9), condition.holds
    (100.0, 10.0, True)
    """
    problem = problem_of(problem)
    if two_state(problem) is None:
        return monotone_gap(problem)
    at_0, at_1 = mistake_costs(problem).values()
    holds = at_0 >= at_1 - tolerance(problem, [at_0, at_1])
    reason = None if holds else "a wrong pull costs less in state 0 than in state 1"
    return Condition("D(0) >= D(1)", at_0, at_1, holds, reason)


def monotone_gap(problem: Problem | str | Path, points: int = 1001) -> Condition:
    """Whether the gap never grows with the state, as Theorem 4 assumes.

    Looks at `points` even points of [0, 1] and at a geometric grid near 0. `left` is the largest
    rise D(s1) - D(s2) over s1 > s2 (0 if there is none), `right` what rounding may explain.

    >>> from sojourn import Ema
    >>> from sojourn.users import LogLeave
    >>> monotone_gap(Problem([0.9, 0.8], Ema(theta=0.5, leave=LogLeave(c6=5)))).holds
    True
    >>> monotone_gap(Problem([0.9, 0.8], Ema(theta=0.5, leave=LogLeave(c6=1)))).reason
    'D rises by 2.98083 from s = 0 to s = 1'
    """
    problem = problem_of(problem)
    name = "largest rise of D(s) <= rounding"
    states = entered_states(problem, validation.whole("points", points, 2))
    if why := outside(problem):
        return Condition(name, None, None, False, f"does not apply, because {why}")
    rise, low, high, small = _largest_rise(problem, states)
    rises = f"D rises by {rise:.6g} from s = {low:g} to s = {high:g}"
    return Condition(name, rise, small, rise <= small, None if rise <= small else rises)


def _largest_rise(problem: Problem, states: Sequence[float]) -> tuple[float, float, float, float]:
    """max D(s1) - D(s2) over s1 > s2, with s2 and s1, and what rounding may explain."""
    costs = [problem.mistake_cost(s) for s in states]
    rise, low, high = _rise(costs)
    return rise, states[low], states[high], tolerance(problem, costs)


def _rise(costs: Sequence[float]) -> tuple[float, int, int]:
    """max costs[j] - costs[i] over i <= j, with i and j."""
    rises = np.array(costs) - np.minimum.accumulate(costs)
    j = int(np.argmax(rises))
    return float(rises[j]), int(np.argmin(costs[: j + 1])), j


@dataclass(frozen=True)
class Conjecture:
    """The result for one c6: the largest rise of D, and its two states."""

    c6: float
    rise: float
    low: float
    high: float
    holds: bool


def conjecture(
    c6s: Sequence[float] = (5, 6, 8, 10, 20, 50, 100, 1000, 1e4, 1e6),
    mean: float = 0.9,
    theta: float = 0.5,
    points: int = 1001,
) -> tuple[Conjecture, ...]:
    """Scan the paper's conjecture that for its leave curve the gap never grows if c6 >= 5.

    A row for each c6, which may also be below 5. `mean` is that of the best arm. The paper takes
    mean 0.9 and theta 0.5: there the scan finds it true from c6 = 4.796 on. It is not true of every
    theta: with theta 0.3 it fails at c6 = 50, with theta 0.1 even at 1e6.

    >>> [(row.c6, row.holds, round(row.rise, 4)) for row in conjecture([1, 4.5, 5, 1000])]
    [(1, False, 2.9808), (4.5, False, 0.0067), (5, True, 0.0), (1000, True, 0.0)]
    """
    states, rows = grid(points), []
    for c6 in c6s:
        problem = Problem([mean, mean / 2.0], Ema(theta=theta, leave=LogLeave(c6=c6)))
        rise, low, high, small = _largest_rise(problem, states)
        rows.append(Conjecture(c6, rise, low, high, rise <= small))
    return tuple(rows)
