"""A problem: the rewards of every arm, and the user who may leave."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import validation
from .chain import LONGEST, NeverEnds
from .engine.rewards import Coins, Grades
from .rewards import Bernoulli, Reward, compiled, reward_of
from .show.tables import Table, html
from .users import User
from .validation import InputError
from .values import MeanVariance, Values, ValuesByArm, solve, solve_by_arm

STATED_ACCURACY = 1e-8  # relative; what is worse than this is warned about
ACCURACY_BY_ARM = 1e-4  # the same where V has kinks: leaving by arm or graded rewards, on [0, 1]


@dataclass(frozen=True, repr=False)
class Problem:
    """Arms with these `means`, in any order, shown to this `user`.

    Rewards are 0 or 1, as in the paper. With `rewards` in place of means every arm has a
    distribution on [0, 1]: `Beta`, `Discrete`, `Sample`, or a number, which is the mean of a
    `Bernoulli` arm. Every set of arms and every user is a valid problem as long as all visits end.

    >>> from sojourn import Beta, Levels, TwoState
    >>> problem = Problem(means=[0.9, 0.8], user=TwoState(q00=1, q01=0, q10=0, q11=0))
    >>> round(problem.value(1), 9), problem.gaps().round(9).tolist()
    (99.0, [[0.0, 10.0], [0.0, 1.0]])
    >>> graded = Problem(rewards=[Beta(3, 2), 0.5], user=Levels(problem.user, thresholds=[0.5]))
    >>> graded.means, round(graded.value(1), 4)
    ((0.6, 0.5), 8.064)
    """

    means: tuple[float, ...]
    user: User
    rewards: tuple[Reward, ...]

    def __init__(
        self,
        means: Sequence[float] | None = None,
        user: User | None = None,
        *,
        rewards: Sequence[Reward | float] | None = None,
    ) -> None:
        if not isinstance(user, User):
            raise InputError(f"user = {user!r} is not allowed: it must be a user model")
        if not user.leaves:
            raise InputError(f"user = {user!r} is not allowed: it says nothing of leaving")
        if means is not None and rewards is not None:
            raise InputError("give either means, of arms with rewards of 0 and 1, or rewards")
        name = "means" if rewards is None else "rewards"
        given: Any = means if rewards is None else rewards
        if isinstance(given, str) or not hasattr(given, "__iter__"):
            what = "numbers" if rewards is None else "distributions"
            raise InputError(f"{name} = {given!r} is not allowed: give a list of {what}")
        make = _coin if rewards is None else reward_of
        arms = tuple(make(f"{name}[{i}]", arm) for i, arm in enumerate(given))
        if len(arms) < 2:
            raise InputError(f"{name} = {list(given)!r} is not allowed: give at least two arms")
        object.__setattr__(self, "rewards", arms)
        object.__setattr__(self, "means", tuple(arm.mean for arm in arms))
        object.__setattr__(self, "user", user)
        self._check_user()
        try:
            _ = self.values
        except NeverEnds:
            raise InputError(
                f"{self!r} is not allowed: every visit must end, but here someone can stay for "
                f"ever (or is expected to for more than {LONGEST:g} steps)"
            ) from None
        usual = ACCURACY_BY_ARM if self.graded or self.by_arm else STATED_ACCURACY
        if self.values.error > usual:
            warnings.warn(
                f"the values of {self!r} may be off by a share of up to {self.values.error:.1g}, "
                f"more than the usual {usual:g}: its leave curve or its best rule jumps",
                stacklevel=2,
            )

    def _check_user(self) -> None:
        user, arms = self.user, len(self.rewards)
        if user.arms not in (None, arms):
            raise InputError(
                f"user = {validation.shown(user)} is not allowed: the number of its arms is "
                f"{user.arms}, and there are {arms}"
            )
        if not user.graded and (self.graded or user.outcomes != 2):
            even = [round(level / user.outcomes, 2) for level in range(1, user.outcomes)]
            raise InputError(
                f"user = {validation.shown(user)} is not allowed: it takes rewards by "
                f"{user.outcomes} levels, so say from where on each is reached, as in "
                f"Levels(user, thresholds={validation.shown(even)})"
            )

    def __repr__(self) -> str:
        arms = f"rewards={self.rewards!r}" if self.graded else f"means={self.means!r}"
        return f"Problem({arms}, user={self.user!r})"

    def _repr_html_(self) -> str:
        """What notebooks show: the arms, what a pull of each costs, and the best visit."""
        states = shown_states(self.user)
        costs = self.gaps(states).T
        shown = [repr(arm) if self.graded else f"{arm.mean:g}" for arm in self.rewards]
        rows = [
            [f"{arm}", reward, *(f"{cost:.4g}" for cost in of_arm)]
            for arm, (reward, of_arm) in enumerate(zip(shown, costs, strict=True))
        ]
        headings = ["arm", "reward" if self.graded else "mean", *(f"cost in {s:g}" for s in states)]
        return html(
            [
                f"{self.user!r}",
                Table(headings, rows),
                "cost: what one pull loses in that state of the user, against the best arm there. "
                f"A visit with the best arms has {self.reward.mean:.4g} rewards in "
                f"{self.length.mean:.4g} steps on average.",
            ]
        )

    @property
    def graded(self) -> bool:
        """Whether some arm has rewards other than 0 and 1."""
        return not all(isinstance(arm, Bernoulli) for arm in self.rewards)

    @property
    def by_arm(self) -> bool:
        """Whether leaving depends on the arm."""
        return self.user.arms is not None

    @cached_property
    def coins(self) -> Coins | Grades:
        """The rewards of the arms for compiled code."""
        return compiled(self.rewards)

    @property
    def arms(self) -> int:
        return len(self.means)

    @property
    def best_arm(self) -> int:
        """The arm of highest mean; the first of them if there are several."""
        return int(np.argmax(self.means))

    @cached_property
    def values(self) -> Values | ValuesByArm:
        """The solution of the decision problem."""
        if self.graded or self.by_arm:
            general: ValuesByArm = solve_by_arm(self.user, self.rewards)
            return general
        values: Values = solve(self.user, self.means)
        return values

    def value(self, state: float | None = None) -> float:
        """V*(state), or its mean over the start states if no state is given."""
        return self.reward.mean if state is None else self.values.value(float(state))

    def action_value(self, state: float, arm: int) -> float:
        """Q*(state, arm)."""
        return self.values.action_value(float(state), arm)

    def gap(self, state: float, arm: int) -> float:
        """V*(state) - Q*(state, arm): what pulling this arm once costs."""
        return self.values.gap(float(state), arm)

    def gaps(self, states: Sequence[float] | None = None) -> NDArray[np.float64]:
        """A table of gaps, a row per state and a column per arm (all states if finitely many)."""
        if states is None:
            if self.user.states is None:
                raise InputError("states = None is not allowed: this user has infinitely many")
            states = range(self.user.states)
        return np.array([[self.gap(s, a) for a in range(self.arms)] for s in states])

    def mistake_cost(self, state: float) -> float:
        """D(state), with gap(state, arm) = (best mean - mean of the arm) D(state) if D >= 0.

        InputError if leaving depends on the arm or rewards are graded: then there is none.
        """
        return self.values.mistake_cost(float(state))

    def rule(self, state: float) -> int:
        """The arm that is best in this state.

        Where leaving does not depend on it: of highest mean, or of lowest if D(state) < 0.
        """
        return self.values.rule(float(state))

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
        if self.graded:
            raise InputError("transitions needs rewards of 0 and 1, and these are graded")
        state, mean = float(state), self.means[arm]
        stays = []
        for reward, chance in ((0.0, 1.0 - mean), (1.0, mean)):
            stay = 1.0 - self.user.leave_after(arm, state, reward)
            stays.append((self.user.next_state(state, reward), chance * stay))
        leaves = (None, 1.0 - sum(p for _, p in stays))
        return [*stays, leaves]

    def transition_matrix(self, arm: int) -> NDArray[np.float64]:
        """P(s' | s, arm) over the states 0, 1, ... and, last, the end of the visit."""
        if self.user.states is None:
            raise InputError("transition_matrix needs finitely many states: use transitions")
        size = self.user.states + 1
        matrix = np.zeros((size, size))
        matrix[-1, -1] = 1.0
        for s in range(size - 1):
            for onward, p in self.transitions(s, arm):
                matrix[s, -1 if onward is None else int(onward)] += p
        return matrix

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self.rewards, self.user)


def shown_states(user: User) -> list[float]:
    """All states of a user, or five if there are infinitely many."""
    return [0.0, 0.25, 0.5, 0.75, 1.0] if user.states is None else [*map(float, range(user.states))]


def _coin(name: str, mean: Any) -> Reward:
    return Bernoulli(validation.number(name, mean, 0, 1))


def _made(rewards: tuple[Reward, ...], user: User) -> Problem:
    return Problem(rewards=rewards, user=user)
