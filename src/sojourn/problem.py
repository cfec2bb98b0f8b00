"""A problem: the mean reward of every arm, and the user who may leave."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import checks
from .users import User
from .values import LONGEST, MeanVariance, NeverEnds, Values, solve

STATED_ACCURACY = 1e-8  # relative; what is worse than this is warned about


@dataclass(frozen=True)
class Problem:
    """Bernoulli arms with these `means`, in any order, shown to this `user`.

    Every set of means and every user is a valid problem as long as all visits end.

    >>> from sojourn import TwoState
    >>> problem = Problem(means=[0.9, 0.8], user=TwoState(q00=1, q01=0, q10=0, q11=0))
    >>> round(problem.value(1), 9), problem.gaps().round(9).tolist()
    (99.0, [[0.0, 10.0], [0.0, 1.0]])
    """

    means: tuple[float, ...]
    user: User

    def __init__(self, means: Sequence[float], user: User) -> None:
        if not isinstance(user, User):
            raise ValueError(f"user = {user!r} is not allowed: it must be a user model")
        if not user.leaves:
            raise ValueError(f"user = {user!r} is not allowed: it says nothing of leaving")
        if isinstance(means, str) or not hasattr(means, "__iter__"):
            raise ValueError(f"means = {means!r} is not allowed: give a list of numbers")
        numbers = tuple(checks.number(f"means[{i}]", m, 0, 1) for i, m in enumerate(means))
        if len(numbers) < 2:
            raise ValueError(f"means = {list(means)!r} is not allowed: give at least two arms")
        object.__setattr__(self, "means", numbers)
        object.__setattr__(self, "user", user)
        try:
            _ = self.values
        except NeverEnds:
            raise ValueError(
                f"{self!r} is not allowed: every visit must end, but here someone can stay for "
                f"ever (or is expected to for more than {LONGEST:g} steps)"
            ) from None
        if self.values.error > STATED_ACCURACY:
            warnings.warn(
                f"the values of {self!r} may be off by a share of up to {self.values.error:.1g}, "
                f"more than the usual {STATED_ACCURACY:g}: its leave curve or its best rule jumps",
                stacklevel=2,
            )

    @property
    def arms(self) -> int:
        return len(self.means)

    @property
    def best_arm(self) -> int:
        """The arm of highest mean; the first of them if there are several."""
        return int(np.argmax(self.means))

    @cached_property
    def values(self) -> Values:
        """The solution of the decision problem."""
        values: Values = solve(self.user, self.means)
        return values

    def value(self, state: float | None = None) -> float:
        """V*(state), or its mean over the start states if no state is given."""
        return self.reward.mean if state is None else self.values.value(float(state))

    def action_value(self, state: float, arm: int) -> float:
        """Q*(state, arm)."""
        return self.values.action_value(float(state), self.means[arm])

    def gap(self, state: float, arm: int) -> float:
        """V*(state) - Q*(state, arm): what pulling this arm once costs."""
        return self.values.gap(float(state), self.means[arm])

    def gaps(self, states: Sequence[float] | None = None) -> NDArray[np.float64]:
        """A table of gaps, a row per state and a column per arm (all states if finitely many)."""
        if states is None:
            if self.user.states is None:
                raise ValueError("states = None is not allowed: this user has infinitely many")
            states = range(self.user.states)
        return np.array([[self.gap(s, a) for a in range(self.arms)] for s in states])

    def mistake_cost(self, state: float) -> float:
        """D(state), with gap(state, arm) = (best mean - mean of the arm) D(state) if D >= 0."""
        return self.values.mistake_cost(float(state))

    def rule(self, state: float) -> int:
        """The arm that is best in this state: of highest mean, or of lowest if D(state) < 0."""
        worst = int(np.argmin(self.means))
        return self.best_arm if self.mistake_cost(state) >= 0.0 else worst

    @property
    def best_arm_is_optimal(self) -> bool:
        """Whether the arm of highest mean is best in every state, as Lemmas 1 and 6 have it."""
        return self.values.best_arm_is_optimal

    @property
    def reward(self) -> MeanVariance:
        """Mean and variance of the total reward of a visit under the best rule."""
        return self.values.reward

    @property
    def length(self) -> MeanVariance:
        """Mean and variance of the number of steps of a visit under the best rule."""
        return self.values.length

    def transitions(self, state: float, arm: int) -> list[tuple[float | None, float]]:
        """The paper's transition table, one row: (next state, probability), None for leaving.

        >>> from sojourn import Ema, LogLeave
        >>> problem = Problem([0.9, 0.8], Ema(theta=0.5, leave=LogLeave(c6=1000)))
        >>> [(s, round(p, 4)) for s, p in problem.transitions(1, 0)]
        [(0.5, 0.09), (1.0, 0.9), (None, 0.01)]
        """
        state, mean = float(state), self.means[arm]
        stays = []
        for reward, chance in ((0.0, 1.0 - mean), (1.0, mean)):
            stay = 1.0 - self.user.leave_probability(state, reward)
            stays.append((self.user.next_state(state, reward), chance * stay))
        leaves = (None, 1.0 - sum(p for _, p in stays))
        return [*stays, leaves]

    def transition_matrix(self, arm: int) -> NDArray[np.float64]:
        """P(s' | s, arm) over the states 0, 1, ... and, last, the end of the visit."""
        if self.user.states is None:
            raise ValueError("transition_matrix needs finitely many states: use transitions")
        size = self.user.states + 1
        matrix = np.zeros((size, size))
        matrix[-1, -1] = 1.0
        for s in range(size - 1):
            for onward, p in self.transitions(s, arm):
                matrix[s, -1 if onward is None else int(onward)] += p
        return matrix

    def __reduce__(self) -> tuple[Any, ...]:
        return Problem, (self.means, self.user)
