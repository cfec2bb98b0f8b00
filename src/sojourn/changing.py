"""Problems that change: other arms, or other users, from some visit on.

A problem that changes is a list of phases, each a `Problem` and the visit it begins after. A visit
is of one phase throughout. What is best changes with the phase, and regret is against that: the
reward of an optimal rule that is told when the phase changes, and to what.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import problem_files as files, validation
from .problem import Problem
from .users import User
from .validation import InputError


class Phase(NamedTuple):
    """A problem, and how many visits there are before it."""

    after: int
    problem: Problem


@dataclass(frozen=True)
class Changing:
    """A problem in phases: pairs of a number of visits, and the problem from there on.

    The first number is 0, and they rise. The problems, which may be given by name, have the same
    number of arms, the same kind of user, and all or none of them graded rewards. What policies
    remember, and the draws that decide rewards and departures, go on from one phase to the next.

    >>> from sojourn import TwoState
    >>> user = TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1)
    >>> swap = Changing([(0, Problem([0.6, 0.4], user)), (500, Problem([0.4, 0.6], user))])
    >>> swap.at(500).best_arm, swap.at(501).best_arm
    (0, 1)
    >>> import sojourn as sj
    >>> result = sj.simulate(swap, [sj.policies.FixedArm(0)], visits=1_000, runs=100)
    >>> print(f"{result.regret.mean[0, -1]:.0f} ± {result.regret.half_width[0, -1]:.0f}")
    715 ± 5
    """

    phases: tuple[Phase, ...]

    def __init__(self, phases: Iterable[tuple[int, Problem | str | Path]]) -> None:
        try:
            pairs = [(after, problem) for after, problem in phases]
        except (TypeError, ValueError):
            raise InputError(
                f"phases = {validation.shown(phases)} is not allowed: give pairs of a number of "
                "visits and the problem from there on"
            ) from None
        if not pairs or pairs[0][0] != 0:
            raise InputError("phases is not allowed: the first one must begin after 0 visits")
        made = [
            Phase(validation.whole(f"phases[{i}][0]", after, 0), files.problem_of(problem))
            for i, (after, problem) in enumerate(pairs)
        ]
        for i in range(1, len(made)):
            if made[i].after <= made[i - 1].after:
                raise InputError(
                    f"phases[{i}][0] = {made[i].after} is not allowed: it must be greater than "
                    f"{made[i - 1].after}, where the phase before it begins"
                )
            if (what := _differ(made[0].problem, made[i].problem)) is not None:
                raise InputError(f"phases[{i}][1] is not allowed: {what} than phases[0][1]")
        object.__setattr__(self, "phases", tuple(made))

    @classmethod
    def gradually(
        cls, first: Problem, last: Problem, *, begin: int, end: int, steps: int = 20
    ) -> "Changing":
        """From `first` to `last` in equal steps of the means, between two numbers of visits.

        Rewards of both are 0 and 1, and the users are the same.

        >>> from sojourn import TwoState
        >>> user = TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1)
        >>> one, other = Problem([0.6, 0.4], user), Problem([0.4, 0.6], user)
        >>> slow = Changing.gradually(one, other, begin=100, end=300, steps=4)
        >>> [(after, round(problem.means[0], 2)) for after, problem in slow.phases]
        [(0, 0.6), (100, 0.55), (150, 0.5), (200, 0.45), (250, 0.4)]
        """
        begin = validation.whole("begin", begin, 1)
        steps = validation.whole("steps", steps, 1)
        end = validation.whole("end", end, begin + steps)
        if first.graded or last.graded or first.user != last.user or first.arms != last.arms:
            raise InputError(
                "first and last are not allowed: they must have the same user, and as many arms "
                "each, with rewards of 0 and 1"
            )
        low, high = np.array(first.means), np.array(last.means)
        between = [
            (begin + (end - begin) * (i - 1) // steps, low + (high - low) * (i / steps))
            for i in range(1, steps + 1)
        ]
        moved = [(at, Problem(means.tolist(), first.user)) for at, means in between]
        return cls([(0, first), *moved])

    def at(self, visit: int) -> Problem:
        """The problem of a visit; they are numbered from 1."""
        return next(phase.problem for phase in reversed(self.phases) if phase.after < visit)

    @property
    def first(self) -> Problem:
        """The problem of the first phase; what phases have in common can be asked of it."""
        return self.phases[0].problem

    @property
    def arms(self) -> int:
        return self.first.arms

    @property
    def user(self) -> User:
        """The user of the first phase."""
        return self.first.user

    @property
    def graded(self) -> bool:
        return self.first.graded


AnyProblem = Problem | Changing


def phases_of(problem: AnyProblem) -> tuple[Phase, ...]:
    """The phases of a problem; there is one if it does not change."""
    return problem.phases if isinstance(problem, Changing) else (Phase(0, problem),)


def first_of(problem: AnyProblem) -> Problem:
    """What a policy that is set for a problem may know of it: the first phase."""
    return phases_of(problem)[0].problem


def any_problem_of(problem: AnyProblem | str | Path) -> AnyProblem:
    """A problem that changes, or what `problem_of` makes of it."""
    return problem if isinstance(problem, Changing) else files.problem_of(problem)


def to_dict(problem: AnyProblem) -> dict[str, Any]:
    """The dictionary that `from_dict` turns back into this problem.

    >>> list(to_dict(Changing([(0, "A"), (100, "B")])))
    ['phases']
    """
    if not isinstance(problem, Changing):
        return files.to_dict(problem)
    return {"phases": [{"after": after, **files.to_dict(own)} for after, own in problem.phases]}


def from_dict(data: Mapping[str, Any]) -> AnyProblem:
    """The problem that a dictionary describes: as a file does, or a list of such with `after`."""
    if "phases" not in data:
        return files.from_dict(data)
    return Changing(
        (phase["after"], files.from_dict({k: v for k, v in phase.items() if k != "after"}))
        for phase in data["phases"]
    )


def visits_by_phase(problem: AnyProblem, visits: Sequence[int] | Any) -> NDArray[np.int64]:
    """How many of the first so many visits are of each phase: [phase, number of visits]."""
    starts = np.array([phase.after for phase in phases_of(problem)], np.int64)
    gone = np.maximum(np.asarray(visits, np.int64) - starts[:, None], 0)
    gone[:-1] -= gone[1:]
    return np.asarray(gone)


def optimum(problem: AnyProblem, visits: NDArray[np.int64]) -> NDArray[np.float64]:
    """The expected reward of an optimal rule over so many visits."""
    parts = visits_by_phase(problem, visits)
    values = [phase.problem.value() for phase in phases_of(problem)]
    total = parts[0] * values[0]
    for part, value in zip(parts[1:], values[1:], strict=True):
        total = total + part * value
    return np.asarray(total)


def expected_steps(problem: AnyProblem, visits: int) -> float:
    """How many steps so many visits have under the best rule."""
    parts = visits_by_phase(problem, [visits])[:, 0]
    lengths = [phase.problem.length.mean for phase in phases_of(problem)]
    return float(sum(n * mean for n, mean in zip(parts.tolist(), lengths, strict=True)))


def _differ(one: Problem, other: Problem) -> str | None:
    """In what two problems differ that cannot be phases of one."""
    if one.arms != other.arms:
        return f"it has {other.arms} arms, another number"
    if one.graded != other.graded:
        return "its rewards are of another kind"
    if type(one.user) is not type(other.user) or one.user.levels != other.user.levels:
        return "its user is of another kind"
    return None
