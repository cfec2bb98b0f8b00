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
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn import validation
from sojourn.chain import total
from sojourn.engine.coasting import Coaster
from sojourn.engine.fingerprint import fingerprint
from sojourn.engine.kernel import REGRET, Leaser, columns, run_chunk
from sojourn.engine.rewards import Coins, coin
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
from sojourn.values import ByState

from .layered import Layered

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
            [validation.number(f"means[{i}]", m, 0, 1) for m in row]
            for i, row in enumerate(self.means)
        ]
        object.__setattr__(self, "table", np.array(rows))

    @cached_property
    def worth(self) -> Array:
        """V by [arm, state]: what is to come if that arm is always played."""
        return np.array([self._always(arm) for arm in range(self.table.shape[1])])

    def _always(self, arm: int) -> Array:
        size = 2 * len(self.user.rows)
        moves, gain = np.zeros((size, size)), np.zeros(size)
        for s in range(size):
            mean = self.table[s // 2, arm]
            gain[s] = mean
            for reward, chance in ((0.0, 1.0 - mean), (1.0, mean)):
                after = int(self.user.next_state(float(s), reward))
                moves[s, after] += chance * (1.0 - self.user.leave_probability(float(s), reward, 0))
        return total(moves, gain)

    @cached_property
    def best_arm(self) -> int:
        start = self.user.start
        weights = np.zeros(2 * len(self.user.rows))
        weights[np.array(start.states, int)] = start.chances
        return int(np.argmax(self.worth @ weights))

    @cached_property
    def average(self) -> Problem:
        """The problem with the average means: what results are reported for."""
        means = np.average(self.table, axis=0, weights=self.user.start.chances)
        return Problem(means.tolist(), self.user)

    def play(self, average: Problem, policies: Sequence[Policy], **how: Any) -> Result:
        """Simulate policies on these users instead of the average."""
        return simulate_tastes(self, policies, **how)


@dataclass(frozen=True, eq=False)
class TastesCoins(Coins):
    """Rewards of 0 and 1 with the means of each visitor's kind: a row for every layer of states."""

    table: Array

    def outcome(self, user: Any, arm: int, state: float, u: float) -> tuple[float, bool, float]:
        return coin(user, self.table[int(state // 2.0), arm], arm, state, u)


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
        own = self.table[int(state // 2.0)]
        return (own[int(self.best)] - own[arm]) * (1.0 + v1 - v0)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class TastesJob(Job):
    """One policy's work, in chunks that a store keeps."""

    tastes: Tastes

    @cached_property
    def key(self) -> str:
        plain = Job(self.problem, self.policy, self.seed, self.grid)
        return hashlib.sha256(
            f"{plain.key} {fingerprint(TastesCoins)} {fingerprint(TastesPrices)}".encode()
            + self.tastes.table.tobytes()
        ).hexdigest()

    def compute(self, first: int, runs: int, stop: NDArray[np.int8] = NEVER) -> Part:
        start, tastes = time.perf_counter(), self.tastes
        rows = np.zeros((runs, self.grid.size, columns(2, self.problem.arms)))
        worth, best = ByState(tastes.worth[tastes.best_arm]), float(tastes.best_arm)
        run_chunk(
            self.policy, tastes.user, Leaser(), Coaster(),
            TastesCoins(tastes.table[0], tastes.table), TastesPrices(worth, tastes.table, best),
            2, self.seed, first, self.grid, False, stop, np.zeros(2, np.int64), rows,
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
