"""Simulate users whose rewards depend on who they are, which the model does not have.

Each visit is by one of several kinds of people, and every kind has means of its own. Policies are
played step by step, without leases. Regret is against the best fixed arm: with V the value of
playing it always, V(s) - Q(s, a) summed over all pulls has the expectation of the reward lost,
whichever policy the values are of. The sum can fall, where another arm suits a visitor better.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import checks
from ...engine.kernel import REGRET, columns, write_row
from ...engine.loops import jitable, loop
from ...engine.steps import World, begin, make_tally, make_world, step
from ...engine.streams import policy_stream
from ...policies import Policy
from ...problem import Problem
from ...simulation import Moments, Progress, Result, Stream
from ...simulation.backends import Threads, processors
from ...simulation.chunks import NEVER
from ...simulation.precision import Plan, chunk_runs
from ...simulation.reduce import Reduction
from ...simulation.store import ChunkStore
from ...simulation.work import Job
from ...stats.moments import Part
from ...values import ByState
from ..trials import Environment
from .crowds import Layered

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tastes:
    """Kinds of people with their own means (a row each) who leave like `user`, layer by layer.

    >>> user = Layered.kinds([(0.5, 0.5, 0.5, 0.5)] * 2, shares=(0.5, 0.5))
    >>> Tastes(((0.9, 0.5), (0.5, 0.3)), user).best_arm
    0
    """

    means: tuple[tuple[float, ...], ...]
    user: Layered
    table: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        rows = [
            [checks.number(f"means[{i}]", m, 0, 1) for m in row] for i, row in enumerate(self.means)
        ]
        object.__setattr__(self, "table", np.array(rows))

    @cached_property
    def worth(self) -> Array:
        """V by [arm, state]: what is to come if that arm is always played."""
        return np.array([self._always(arm) for arm in range(self.table.shape[1])])

    def _always(self, arm: int) -> Array:
        size = self.user.states
        matrix, right = np.eye(size), np.zeros(size)
        for s in range(size):
            mean = self.table[s // 2, arm]
            right[s] = mean
            for reward, chance in ((0.0, 1.0 - mean), (1.0, mean)):
                onward = int(self.user.next_state(float(s), reward))
                matrix[s, onward] -= chance * (1.0 - self.user.leave_probability(float(s), reward))
        return np.asarray(np.linalg.solve(matrix, right), np.float64)

    @cached_property
    def best_arm(self) -> int:
        start = self.user.start
        weights = np.zeros(self.user.states)
        weights[np.array(start.states, int)] = start.chances
        return int(np.argmax(self.worth @ weights))

    @cached_property
    def average(self) -> Problem:
        """The problem with the average means: what results are reported for."""
        means = np.average(self.table, axis=0, weights=self.user.start.chances)
        return Problem(means.tolist(), self.user)

    @property
    def environment(self) -> Environment:
        return Environment(self.average, partial(simulate_tastes, self))


@jitable
def play_tastes(
    policy: Any,
    user: Any,
    value: Any,
    means: Array,
    best: int,
    seed: int,
    run: int,
    checkpoints: NDArray[np.int64],
    stop: NDArray[np.int8],
    out: Array,
) -> None:
    """One run, as `engine.kernel.play` has it, with the means of each visitor's kind."""
    world = make_world(means[0], False, value, seed, run)
    tally, memory = make_tally(2, means.shape[1]), policy.memory(means.shape[1])
    rng, visit = policy_stream(seed, run), 1
    for done in range(checkpoints.size):
        while visit <= checkpoints[done] and stop[0] == 0:
            state, left = begin(user, world, visit), False
            own = means[int(state // 2.0)]
            theirs = World(own, own[best], own[best], False, value, world.keys, world.start_key)
            while not left:
                before = user.experience(state)
                arm = policy.choose(memory, before, rng)
                state, reward, left = step(user, theirs, tally, arm, state)
                policy.update(memory, before, arm, reward, left, user.experience(state))
            visit += 1
        write_row(tally, out[done])


@loop
def run_tastes(
    policy: Any, user: Any, value: Any, means: Array, best: int, seed: int, first: int,
    checkpoints: NDArray[np.int64], stop: NDArray[np.int8], out: Array,
) -> None:  # fmt: skip
    """Fill out[run, checkpoint, column] for the runs first, first + 1, ..."""
    for i in range(out.shape[0]):
        play_tastes(policy, user, value, means, best, seed, first + i, checkpoints, stop, out[i])


@dataclass(frozen=True, eq=False)
class TastesJob(Job):
    """One policy's work, in chunks that a store keeps."""

    tastes: Tastes

    @cached_property
    def key(self) -> str:
        plain = Job(self.problem, self.policy, self.seed, self.grid)
        return hashlib.sha256(
            f"{plain.key} {run_tastes.fingerprint}".encode() + self.tastes.table.tobytes()
        ).hexdigest()

    def compute(self, first: int, runs: int, stop: NDArray[np.int8] = NEVER) -> Part:
        start, tastes = time.perf_counter(), self.tastes
        rows = np.zeros((runs, self.grid.size, columns(2, self.problem.arms)))
        run_tastes(
            self.policy, tastes.user, ByState(tastes.worth[tastes.best_arm]), tastes.table,
            tastes.best_arm, self.seed, first, self.grid, stop, rows,
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
