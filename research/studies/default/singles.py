"""What is kept of a trial: means with their covariance, the rarest runs, and the wrong arms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from sojourn.problem import Problem
from sojourn.simulation import Result
from sojourn.stats.intervals import Interval
from sojourn.stats.moments import Array

from ...outcomes import Outcome
from ...runs import Ends

RARE = 0.999
"""The quantile of the regret of single runs that stands for the tail."""

RESAMPLED, LEAST_RUNS = 1_000, 1_000
"""Bootstrap samples of runs, and the runs from which on there is a tail to speak of."""

WRONG = 0.5
"""A visit is mostly a wrong arm if it loses more than this share of what the second best does."""


class Numbers(NamedTuple):
    """Figures that are no regrets, such as times: by label, and their covariance."""

    problem: Problem
    runs: int
    mean: Array
    covariance: Array


class Single(NamedTuple):
    """Of one policy: the quantile at each checkpoint, and over that of the first policy."""

    rare: list[Interval]
    over: list[Interval]
    wrong: int
    """Runs whose visits after the last checkpoint but one are mostly a wrong arm."""
    unseen: float
    """Arms that at least half of the runs never showed."""

    def to_list(self) -> list[Any]:
        return [*([list(x) for x in row] for row in self[:2]), *self[2:]]

    @classmethod
    def from_list(cls, kept: Sequence[Any]) -> "Single":
        rare, over, wrong, unseen = kept
        return cls([Interval(*x) for x in rare], [Interval(*x) for x in over], wrong, unseen)


def second_best(problem: Problem) -> float:
    """What a visit loses if the second best of all arms is always shown (two-state users).

    >>> import sojourn as sj
    >>> from sojourn.simulation.chunks import chunk
    >>> problem = sj.Problem([0.6, 0.5, 0.3], sj.paper.SETTINGS["B"].user)
    >>> rows = chunk(problem, sj.policies.FixedArm(1), 0, 0, 1, np.array([20_000]))
    >>> bool(abs(rows[0, 0, 0] / 20_000 / second_best(problem) - 1) < 0.03)
    True
    """
    start, states = problem.user.start, range(2)
    worth = []
    for arm, rewards in enumerate(problem.rewards):
        onward = problem.transition_matrix(arm)[:-1, :-1]
        value = np.linalg.solve(np.eye(2) - onward, [rewards.mean_in(s) for s in states])
        first = [value[int(s)] for s in start.states]
        worth.append(float(np.dot(first, start.chances)))
    return problem.value() - sorted(worth)[-2]


def rarest(regrets: list[Array]) -> tuple[list[list[Interval]], list[list[Interval]]]:
    """The quantile by [policy][checkpoint], and its ratio to the first policy's.

    Intervals by the bootstrap: runs are drawn with all that policies did in them.
    """
    every = np.array(regrets)  # [policy, run, checkpoint]
    runs, rng = every.shape[1], np.random.default_rng(0)
    value = np.quantile(every, RARE, axis=1)
    drawn = np.array(
        [np.quantile(every[:, rng.integers(runs, size=runs)], RARE, axis=1)
         for _ in range(RESAMPLED)]
    )  # fmt: skip
    return _intervals(value, drawn), _intervals(value / value[0], drawn / drawn[:, :1])


def _intervals(value: Array, drawn: Array) -> list[list[Interval]]:
    ends = np.quantile(drawn, (0.025, 0.975), axis=0)
    return [
        [Interval(float(v), float(low), float(high)) for v, low, high in zip(*row, strict=True)]
        for row in zip(value, *ends, strict=True)
    ]


def unseen(result: Result, policy: int) -> float:
    """Arms that at least half of the runs never showed: they have less than half a pull a run."""
    pulls = result.pulls.mean[policy, -1]  # by [state, arm]
    return float((pulls.sum(axis=0) < WRONG).sum())


@dataclass(frozen=True, eq=False)
class SinglesOutcome(Outcome):
    """Means at the end, and what single runs show."""

    visits: tuple[int, ...] = ()
    singles: Mapping[str, Single] | None = None

    @classmethod
    def of(cls, trial: Any, result: Any) -> Self:
        if isinstance(result, Numbers):
            facts = {"arms": float(result.problem.arms)}
            return cls(trial, trial.labels, result.runs, result.mean, result.covariance, facts)
        assert isinstance(result, Ends)
        plain = Outcome.of(trial, result.result)
        grid = [int(k) for k in result.result.checkpoints]
        rare: Any = ([], [])
        if plain.runs >= LEAST_RUNS:
            rare = rarest(result.regrets)
        return cls(
            **vars(plain), visits=tuple(grid), singles=_singles(trial.labels, result, grid, rare)
        )

    @classmethod
    def more_from(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        if "singles" not in data:
            return {}
        singles = {label: Single.from_list(kept) for label, kept in data["singles"].items()}
        return {"visits": tuple(data["at"]), "singles": singles}

    def to_dict(self) -> dict[str, Any]:
        more: dict[str, Any] = {}
        if self.singles is not None:
            singles = {label: single.to_list() for label, single in self.singles.items()}
            more = {"at": list(self.visits), "singles": singles}
        return {**super().to_dict(), **more}

    def single(self, label: str) -> Single:
        assert self.singles is not None
        return self.singles[label]


def _singles(labels: tuple[str, ...], ends: Ends, grid: list[int], rare: Any) -> dict[str, Single]:
    problem = ends.result.problem
    wrong = np.inf
    if len(grid) > 1 and problem.user.space.states == 2 and not problem.graded:
        wrong = WRONG * second_best(problem) * (grid[-1] - grid[-2])
    found = {}
    for p, (label, regrets) in enumerate(zip(labels, ends.regrets, strict=True)):
        late = regrets[:, -1] - regrets[:, -2] if len(grid) > 1 else regrets[:, -1]
        own, over = (list(rows[p]) if len(rows) else [] for rows in rare)
        found[label] = Single(own, over, int((late > wrong).sum()), unseen(ends.result, p))
    return found
