"""A problem: the rewards of every arm, and the user who may leave."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import validation
from .chain import LONGEST, NeverEnds
from .engine.rewards import Coins, Grades
from .engine.steps import next_states
from .rewards import Bernoulli, BernoulliByState, Coin, Reward, compiled, reward_of
from .show.tables import Table, html
from .users import User, can_leave
from .validation import InputError
from .values import MeanVariance, Values, solve

STATED_ACCURACY = 1e-8  # relative; what is worse than this is warned about
ACCURACY_BY_ARM = 1e-4  # the same where V has kinks: leaving by arm or graded rewards, on [0, 1]


class Phase(NamedTuple):
    """A phase of a problem: the number of visits before it, and the problem from there on."""

    after: int
    problem: "Problem"


@dataclass(frozen=True, repr=False)
class Problem:
    """Arms with these `means`, in any order, shown to this `user`.

    Rewards are 0 or 1, as in the paper. A mean may depend on the state, if there are finitely many:
    then it is a list with one mean per state. With `rewards` in place of means every arm has a
    distribution on [0, 1]: `Beta`, `Discrete`, `Empirical`, or a number, which is the mean of a
    `Bernoulli` arm. Every set of arms and every user is a valid problem as long as all visits end.
    A nonstationary problem has several `phases` (`Problem.changing`).

    >>> from sojourn import TwoState
    >>> from sojourn.rewards import Beta
    >>> from sojourn.users import Levels
    >>> problem = Problem(means=[0.9, 0.8], user=TwoState(q00=1, q01=0, q10=0, q11=0))
    >>> round(problem.value(1), 9), problem.gaps().round(9).tolist()
    (99.0, [[0.0, 10.0], [0.0, 1.0]])
    >>> graded = Problem(rewards=[Beta(3, 2), 0.5], user=Levels(problem.user, thresholds=[0.5]))
    >>> graded.means, round(graded.value(1), 4)
    ((0.6, 0.5), 8.064)
    >>> by_state = Problem(means=[[0.4, 0.9], [0.5, 0.8]], user=problem.user)
    >>> [by_state.rule(s) for s in (0, 1)], round(by_state.value(1), 9)
    ([1, 0], 19.0)
    """

    means: tuple[float, ...]
    user: User
    rewards: tuple[Reward, ...]
    _phases: tuple[Phase, ...] = ()
    """All phases of a nonstationary problem; else none."""

    def __init__(
        self,
        means: Sequence[float] | None = None,
        user: User | None = None,
        *,
        rewards: Sequence[Reward | float] | None = None,
    ) -> None:
        if not isinstance(user, User):
            raise InputError(f"user = {user!r} is not allowed: it must be a user model")
        if not can_leave(user):
            raise InputError(f"user = {user!r} is not allowed: it has no leave probabilities")
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
        means = tuple(arm.mean for arm in arms)
        vars(self).update(means=means, user=user, rewards=arms, _phases=())
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

    @classmethod
    def changing(cls, phases: Iterable[tuple[int, "Problem | str | Path"]]) -> "Problem":
        """A nonstationary problem: pairs of a number of visits, and the problem from there on.

        The first number is 0, and they rise. The problems, which may be given by name, have the
        same number of arms, the same kind of user, and all or none of them graded rewards. What
        policies remember, and the draws that decide rewards and departures, go on from one phase
        to the next. Regret is against the best rule of each phase.

        Means, rewards and user of a nonstationary problem are those of its first phase. Values
        are those of a phase: `problem.at(visit).value()`.

        >>> from sojourn import TwoState
        >>> user = TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1)
        >>> one, other = Problem([0.6, 0.4], user), Problem([0.4, 0.6], user)
        >>> swap = Problem.changing([(0, one), (500, other)])
        >>> swap.at(500).best_arm, swap.at(501).best_arm
        (0, 1)
        """
        from .problem_files import problem_of

        try:
            pairs = [(after, problem) for after, problem in phases]
        except (TypeError, ValueError):
            raise InputError(
                f"phases = {validation.shown(phases)} is not allowed: give pairs of a number of "
                "visits and the problem from there on"
            ) from None
        if not pairs or pairs[0][0] != 0:
            raise InputError("phases is not allowed: the first one must begin after 0 visits")
        made, first = list[Phase](), problem_of(pairs[0][1])
        for i, (given, other) in enumerate(pairs):
            own = Phase(validation.whole(f"phases[{i}][0]", given, 0), problem_of(other))
            if made and own.after <= made[-1].after:
                raise InputError(
                    f"phases[{i}][0] = {own.after} is not allowed: it must be greater than "
                    f"{made[-1].after}, where the phase before it begins"
                )
            if (what := _difference(first, own.problem)) is not None:
                raise InputError(f"phases[{i}][1] is not allowed: {what}")
            made.append(own)
        if len(made) == 1:
            return first
        problem = object.__new__(cls)
        shared = {name: getattr(first, name) for name in ("means", "user", "rewards")}
        vars(problem).update(shared, _phases=tuple(made))
        return problem

    @classmethod
    def drifting(
        cls, first: "Problem", last: "Problem", *, begin: int, end: int, steps: int = 20
    ) -> "Problem":
        """A problem whose means move from `first` to `last` in equal steps, between two visits.

        Rewards of both are 0 and 1, and the users are the same.

        >>> from sojourn import TwoState
        >>> user = TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1)
        >>> one, other = Problem([0.6, 0.4], user), Problem([0.4, 0.6], user)
        >>> slow = Problem.drifting(one, other, begin=100, end=300, steps=4)
        >>> [(after, round(problem.means[0], 2)) for after, problem in slow.phases]
        [(0, 0.6), (100, 0.55), (150, 0.5), (200, 0.45), (250, 0.4)]
        """
        begin = validation.whole("begin", begin, 1)
        steps = validation.whole("steps", steps, 1)
        end = validation.whole("end", end, begin + steps)
        same = first.user == last.user and first.arms == last.arms
        if not same or any(problem.graded or problem.by_state for problem in (first, last)):
            raise InputError(
                "first and last are not allowed: they must have the same user, and as many arms "
                "each, with one mean for each, of rewards of 0 and 1"
            )
        low, high = np.array(first.means), np.array(last.means)
        between = [
            (begin + (end - begin) * (i - 1) // steps, low + (high - low) * (i / steps))
            for i in range(1, steps + 1)
        ]
        moved = [(at, Problem(means.tolist(), first.user)) for at, means in between]
        return cls.changing([(0, first), *moved])

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Its phases, in order; there is one unless the problem is nonstationary."""
        return self._phases or (Phase(0, self),)

    def at(self, visit: int) -> "Problem":
        """The problem of a visit (they count from 1); itself unless it is nonstationary."""
        return next(phase.problem for phase in reversed(self.phases) if phase.after < visit)

    def optimum(self, visits: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
        """Expected reward under the best rule of each phase, for each of these numbers of visits.

        >>> from sojourn.problem_files import SETTINGS
        >>> Problem.changing([(0, SETTINGS["C"]), (10, SETTINGS["A"])]).optimum([10, 11]).round(3)
        array([  5.625, 104.625])
        """
        return self._over_phases(visits, lambda problem: problem.reward)

    def expected_steps(self, visits: int) -> float:
        """Expected steps of this many visits under the best rule of each phase."""
        return float(self._over_phases([visits], lambda problem: problem.length)[0])

    def _over_phases(
        self, visits: Any, of_visit: Callable[["Problem"], MeanVariance]
    ) -> NDArray[np.float64]:
        """The sum of the means of a visit, over each of these numbers of visits."""
        starts = np.array([phase.after for phase in self.phases], np.int64)
        gone = np.maximum(np.asarray(visits, np.int64) - starts[:, None], 0)
        gone[:-1] -= gone[1:]  # how many are of each phase: [phase, number of visits]
        pairs = zip(gone, self.phases, strict=True)
        return np.asarray(sum(number * of_visit(own.problem).mean for number, own in pairs))

    def _check_user(self) -> None:
        user, arms = self.user, len(self.rewards)
        space = user.space
        if self.by_state:
            self._check_means(space.states)
        if space.arms not in (None, arms):
            raise InputError(
                f"user = {validation.shown(user)} is not allowed: the number of its arms is "
                f"{space.arms}, and there are {arms}"
            )
        if not space.graded and (self.graded or space.outcomes != 2):
            even = [round(level / space.outcomes, 2) for level in range(1, space.outcomes)]
            raise InputError(
                f"user = {validation.shown(user)} is not allowed: it takes rewards by "
                f"{space.outcomes} levels, so give their thresholds, as in "
                f"Levels(user, thresholds={validation.shown(even)})"
            )

    def _check_means(self, states: int | None) -> None:
        """InputError unless every mean by state has one for each state."""
        if states is None:
            raise InputError(
                "means by state are not allowed: the states of this user fill [0, 1]; give one "
                "mean for each arm, or take a Chain"
            )
        if self.graded:
            raise InputError("rewards is not allowed: some are graded and some depend on the state")
        for i, arm in enumerate(self.rewards):
            if isinstance(arm, BernoulliByState) and len(arm.means) != states:
                raise InputError(
                    f"means[{i}] = {list(arm.means)} is not allowed: give one mean, or one for "
                    f"each of the {states} states"
                )

    def __repr__(self) -> str:
        if self._phases:
            return f"Problem.changing({[tuple(phase) for phase in self._phases]!r})"
        means = tuple(arm.described() for arm in self.rewards) if self.by_state else self.means
        arms = f"rewards={self.rewards!r}" if self.graded else f"means={means!r}"
        return f"Problem({arms}, user={self.user!r})"

    def _repr_html_(self) -> str:
        """What notebooks show: the arms, what a pull of each costs, and the best visit."""
        return "".join(phase.problem._html(phase.after) for phase in self.phases)

    def _html(self, after: int) -> str:
        states = shown_states(self.user)
        costs = self.gaps(states).T
        shown = [
            repr(arm) if self.graded else validation.shown(arm.described()) for arm in self.rewards
        ]
        rows = [
            [f"{arm}", reward, *(f"{cost:.4g}" for cost in of_arm)]
            for arm, (reward, of_arm) in enumerate(zip(shown, costs, strict=True))
        ]
        headings = ["arm", "reward" if self.graded else "mean", *(f"cost in {s:g}" for s in states)]
        return html(
            [
                f"{self.user!r}" + (f", after {after:,} visits" if after else ""),
                Table(headings, rows),
                "cost: what one pull loses in that state of the user, against the best arm there. "
                f"A visit with the best arms has {self.reward.mean:.4g} rewards in "
                f"{self.length.mean:.4g} steps on average.",
            ]
        )

    @property
    def graded(self) -> bool:
        """Whether some arm has rewards other than 0 and 1."""
        return not all(isinstance(arm, Coin) for arm in self.rewards)

    @property
    def by_arm(self) -> bool:
        """Whether leaving depends on the arm."""
        return self.user.space.arms is not None

    @property
    def by_state(self) -> bool:
        """Whether the mean of some arm depends on the state of the user."""
        return any(isinstance(arm, BernoulliByState) for arm in self.rewards)

    @cached_property
    def coins(self) -> Coins | Grades:
        """The rewards of the arms for compiled code."""
        return compiled(self.rewards, self.user.space.states or 1)

    @property
    def arms(self) -> int:
        return len(self.means)

    @property
    def best_arm(self) -> int:
        """The arm of highest mean; the first one if there are several.

        A mean by state counts as its average over the states.
        """
        return int(np.argmax(self.means))

    @cached_property
    def values(self) -> Values:
        """The solution of the decision problem; InputError if there is one for each phase."""
        if self._phases:
            raise InputError(
                "a nonstationary problem has no values of its own: use one of its phases, "
                "such as problem.at(1)"
            )
        return solve(self.user, self.rewards)  # type: ignore[no-any-return]

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
            if self.user.space.states is None:
                raise InputError("states = None is not allowed: this user has infinitely many")
            states = range(self.user.space.states)
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
        """Whether the arm of highest mean is best in every state (Lemmas 1 and 6)."""
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

        >>> from sojourn import Ema
        >>> from sojourn.users import LogLeave
        >>> problem = Problem([0.9, 0.8], Ema(theta=0.5, leave=LogLeave(c6=1000)))
        >>> [(s, round(p, 4)) for s, p in problem.transitions(1, 0)]
        [(0.5, 0.09), (1.0, 0.9), (None, 0.01)]
        """
        if self.graded:
            raise InputError("transitions needs rewards of 0 and 1, and these are graded")
        state = float(state)
        mean = self.rewards[arm].mean_in(state)
        stays = list[tuple[float, float]]()
        for reward, chance in ((0.0, 1.0 - mean), (1.0, mean)):
            stay = 1.0 - self.user.leave_probability(state, reward, arm)
            found = next_states(self.user, state, reward)
            stays += [(after, chance * stay * p) for after, p in found]
        leaves = (None, 1.0 - sum(p for _, p in stays))
        return [*stays, leaves]

    def transition_matrix(self, arm: int) -> NDArray[np.float64]:
        """P(s' | s, arm) over the states 0, 1, ... and, last, the end of the visit."""
        if self.user.space.states is None:
            raise InputError("transition_matrix needs finitely many states: use transitions")
        size = self.user.space.states + 1
        matrix = np.zeros((size, size))
        matrix[-1, -1] = 1.0
        for s in range(size - 1):
            for onward, p in self.transitions(s, arm):
                matrix[s, -1 if onward is None else int(onward)] += p
        return matrix

    def __getstate__(self) -> dict[str, Any]:
        """Without the solution, which depends on the machine in the last digits."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def _difference(one: Problem, other: Problem) -> str | None:
    """Why two problems cannot be phases of one."""
    if other._phases:
        return "it has phases of its own"
    if one.arms != other.arms:
        return f"it has {other.arms} arms, another number than phases[0][1]"
    if (one.graded, one.by_state) != (other.graded, other.by_state):
        return "its rewards are of another kind than phases[0][1]"
    if type(one.user) is not type(other.user) or one.user.space.bins != other.user.space.bins:
        return "its user is of another kind than phases[0][1]"
    return None


def shown_states(user: User) -> list[float]:
    """All states of a user, or five if there are infinitely many."""
    states = user.space.states
    return [0.0, 0.25, 0.5, 0.75, 1.0] if states is None else [*map(float, range(states))]


def _coin(name: str, mean: Any) -> Reward:
    if hasattr(mean, "__iter__") and not isinstance(mean, str):
        return reward_of(name, list(mean))
    return Bernoulli(validation.number(name, mean, 0, 1))
