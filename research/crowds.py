"""Users outside the model: hidden kinds of people, time within the visit, personal rewards.

Where every kind of people has means of its own, policies are played step by step, without leases.
Regret is against the best fixed arm: with V the value of playing it always, V(s) - Q(s, a) summed
over all pulls has the expectation of the reward lost, whichever policy the values are of. The sum
can fall, where another arm suits a visitor better.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.engine.coasting import Coaster
from sojourn.engine.fingerprint import fingerprint
from sojourn.engine.kernel import REGRET, Leaser, columns, run_chunk
from sojourn.engine.steps import onward
from sojourn.engine.structs import Compiled
from sojourn.policies import Policy
from sojourn.problem import Problem
from sojourn.simulation import Moments, Progress, Result, Stream
from sojourn.simulation.backends import Threads, processors
from sojourn.simulation.chunks import NEVER, Job
from sojourn.simulation.precision import Plan, chunk_runs
from sojourn.simulation.reduce import Reduction
from sojourn.simulation.store import ChunkStore
from sojourn.stats.moments import Part
from sojourn.users.population import ClassCoins, Population, always
from sojourn.values import ByState

Array = NDArray[np.float64]


def kinds(means: Sequence[Any], rows: Sequence[Any], shares: Sequence[float]) -> Population:
    """Kinds of people: their means, their q00, q01, q10, q11, and their shares of the visits.

    >>> users = kinds([(0.9, 0.5)] * 2, [(0.5, 0.1, 0.1, 0.1), (0.9, 0.1, 0.1, 0.1)], (0.5, 0.5))
    >>> users.leave_probability(users.begin(0.7) - 1.0, 0.0, 0)
    0.9
    """
    table = np.array(means)
    leave = np.array(rows).reshape(len(rows), 1, 1, 2, 2).repeat(table.shape[1], axis=2)
    return Population(np.array(shares), table, leave, np.zeros(2, np.int64))


def steps(means: Sequence[float], rows: Sequence[Any]) -> Population:
    """Leave chances for each of the first steps of a visit; the last row is for all later ones."""
    leave = np.array(rows).reshape(1, len(rows), 1, 2, 2).repeat(len(means), axis=2)
    return Population(np.ones(1), np.array([means]), leave, np.arange(len(rows)))


@dataclass(frozen=True, eq=False)
class Tastes:
    """A population whose kinds of people have their own means, and every fixed arm's values.

    >>> Tastes(kinds([(0.9, 0.5), (0.5, 0.3)], [(0.5, 0.5, 0.5, 0.5)] * 2, (0.5, 0.5))).best_arm
    0
    """

    user: Population

    @cached_property
    def worth(self) -> Array:
        """V by [arm, state]: what is to come if that arm is always played."""
        arms = self.user.arms
        return np.array(
            [self.user.values_under(always(arm, arms))[..., 0].ravel() for arm in range(arms)]
        )

    @cached_property
    def best_arm(self) -> int:
        return int(np.argmax(self.user.worth_of_arms()[0]))

    @cached_property
    def average(self) -> Problem:
        """The problem with the average means: what results are reported for."""
        means = np.average(self.user.means, axis=0, weights=self.user.shares)
        return Problem(means.tolist(), self.user)

    def play(self, average: Problem, policies: Sequence[Policy], **how: Any) -> Result:
        """Simulate policies on these users instead of the average."""
        return simulate_tastes(self, policies, **how)


@dataclass(frozen=True, eq=False)
class TastesPrices(Compiled):
    """What a pull costs, beside that of the best fixed arm, if that is played ever after."""

    value: Any
    table: Array
    best: float

    def is_free(self, arm: int) -> bool:
        return False

    def gap(self, user: Any, state: float, arm: int) -> float:
        v0, v1 = onward(user, self.value, state)
        own = self.table[user.class_of(state)]
        return (own[int(self.best)] - own[arm]) * (1.0 + v1 - v0)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class TastesJob(Job):
    """One policy's work, in chunks that a store keeps."""

    tastes: Tastes

    @cached_property
    def key(self) -> str:
        plain = Job(self.problem, self.policy, self.seed, self.grid)
        return hashlib.sha256(
            f"{plain.key} {fingerprint(ClassCoins)} {fingerprint(TastesPrices)}".encode()
        ).hexdigest()

    def compute(self, first: int, runs: int, stop: NDArray[np.int8] = NEVER) -> Part:
        start, tastes = time.perf_counter(), self.tastes
        rows = np.zeros((runs, self.grid.size, columns(2, self.problem.arms)))
        best, users = tastes.best_arm, tastes.user
        prices = TastesPrices(ByState(tastes.worth[best]), users.means, float(best))
        run_chunk(
            self.policy, users, Leaser(), Coaster(), users.rewards, prices, 2, self.seed, first,
            self.grid, False, stop, np.zeros(2, np.int64), rows,
        )  # fmt: skip
        regret = np.ascontiguousarray(rows[:, :, REGRET])
        return Part(Moments.of(rows), regret, time.perf_counter() - start)


def simulate_tastes(
    tastes: Tastes,
    policies: Sequence[Policy],
    *,
    visits: int,
    checkpoints: Sequence[int],
    runs: int,
    seed: int = 0,
    store: str | Path,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Result:
    """What `simulate` does, for these users; `raw_regret` has no meaning here."""
    problem, grid = tastes.average, np.array(checkpoints, np.int64)
    jobs = [TastesJob(problem, policy, seed, grid, tastes) for policy in policies]
    plan = Plan(0, chunk_runs(problem, visits, grid.size), runs)
    with ChunkStore(store) as kept:
        for job in jobs:
            kept.enter(job)
        done = Reduction(plan, jobs, Threads(workers or processors()), kept, progress)
        done.run()
    return Result(
        problem=problem,
        policies=tuple(policies),
        checkpoints=grid,
        moments=tuple(track.moments for track in done.tracks),
        pairs=tuple(done.pairs.values()),
        streams=tuple((Stream(seed, 0, track.moments.runs),) for track in done.tracks),
    )
