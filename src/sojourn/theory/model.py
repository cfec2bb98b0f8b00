"""What the rest of the theory asks of a problem: its kind of user, and D over the states."""

from functools import singledispatch

import numpy as np

from ..problem import Problem
from ..users import Chain, Ema, Levels, TwoState, User, unwrapped
from ..validation import InputError


class DoesNotApply(InputError):
    """A result of the paper was asked for where its assumptions fail.

    >>> import sojourn as sj
    >>> try:
    ...     sj.theory.mistake_costs("ema-100")
    ... except DoesNotApply as why:
    ...     print(str(why).partition(":")[0])
    a table of mistake costs does not apply, because this user has infinitely many states
    """


BY_ARM, GRADED = "leaving depends on the arm", "rewards are graded"


def outside(problem: Problem) -> str | None:
    """Why the paper's theory says nothing of a problem: there is no mistake cost D(s)."""
    if problem.by_arm:
        return BY_ARM
    return GRADED if problem.graded else None


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
    near_zero = np.geomspace(1e-12, 1e-2, 201)
    states = np.unique(np.concatenate([np.linspace(0.0, 1.0, points), near_zero]))
    return [float(s) for s in states]


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
