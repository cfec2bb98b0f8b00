"""The unit of work: a chunk of runs of one policy, a pure function of its arguments.

A chunk is determined by what the kernel is given (problem, policy, checkpoints, seed, runs) and
by the code it runs. `Job.key` is a digest of all that: two chunks of the same key, first run and
length hold the same bits, whichever process computed them.
"""

import hashlib
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from ..engine.coasting import Coaster, coaster_for
from ..engine.faults import no_such_arm
from ..engine.fingerprint import engine_digest, feed, fingerprint
from ..engine.kernel import BY_LEVEL, REGRET, AnyLeaser, Leaser, columns, run_chunk, run_phase
from ..engine.leases import leaser_for
from ..engine.steps import NEVER_BACK
from ..engine.streams import policy_stream
from ..policies import Policy
from ..problem import Problem
from ..stats import moments
from ..stats.moments import Moments, Part
from ..users import User

NEVER = np.zeros(1, np.int8)


class Stage(NamedTuple):
    """A part of a run: the visits before it, who comes, what arms give, and what pulls cost."""

    after: int
    user: User
    rewards: Any
    prices: Any
    coaster: Coaster = Coaster()


def chunk(
    problem: Problem,
    policy: Policy,
    seed: int,
    first: int,
    runs: int,
    grid: NDArray[np.int64],
    *,
    leases: bool = True,
    stop: NDArray[np.int8] = NEVER,
) -> NDArray[np.float64]:
    """Totals of the runs first, first + 1, ...: out[run, checkpoint, column].

    The columns are described in `engine.kernel`. `leases` changes the speed, never a number.
    Setting `stop[0]` from another thread makes the call return soon, with rows of which none may
    be used.
    """
    user, fault, bins = problem.user, np.zeros(2, np.int64), problem.user.space.bins
    out = np.zeros((runs, grid.size, columns(bins, problem.arms)))
    # Sums of graded rewards depend on their order in the last bits, so nothing is summed ahead.
    leaser = Leaser() if problem.graded else leaser_for(policy)
    if len(problem.phases) == 1:
        run_chunk(
            policy, user, leaser, _coaster(problem), problem.coins, problem.values.prices,
            bins, seed, first, grid, leases, stop, fault, out,
        )  # fmt: skip
        if fault[0]:
            raise no_such_arm(policy, int(fault[1]), problem.arms)
        return out
    stages = [
        Stage(after, own.user, own.coins, own.values.prices, _coaster(own))
        for after, own in problem.phases
    ]
    for i in range(max(runs, 1)):  # no runs: compile
        rows = out[i] if runs else out.reshape(0, out.shape[2])
        play_stages(
            stages, policy, seed, first + i, grid[: len(rows)], rows,
            leaser=leaser, leases=leases, stop=stop,
        )  # fmt: skip
    return out


def _coaster(problem: Problem) -> Coaster:
    """Step by step where means depend on the state: faster ways take one mean for each arm."""
    return Coaster() if problem.by_state else coaster_for(problem.user)


def play_stages(
    stages: Sequence[Stage],
    policy: Policy,
    seed: int,
    run: int,
    grid: NDArray[np.int64],
    out: NDArray[np.float64],
    *,
    leaser: AnyLeaser | None = None,
    leases: bool = False,
    people: int = NEVER_BACK,
    memory: Any = None,
    stop: NDArray[np.int8] = NEVER,
) -> None:
    """One run through all stages, with one memory: fills out[checkpoint, column].

    `people` come in turn. A lease does not outlive a stage: it ends at the latest with the visits
    asked for. What it promises depends on the memory alone.
    """
    arms, bins = stages[0].rewards.means.size, stages[0].user.space.bins
    leaser = Leaser() if leaser is None else leaser
    memory = policy.memory(arms) if memory is None else memory
    board, rng, fault = leaser.board(policy, arms), policy_stream(seed, run), np.zeros(2, np.int64)
    pulled, won = np.zeros(arms, np.int64), stages[0].rewards.nothing()
    before = np.zeros(out.shape[1])  # regret and pulls of earlier stages
    last = int(grid[-1]) if grid.size else 0
    ends = [stage.after for stage in stages[1:]]
    for (after, user, rewards, prices, coaster), end in zip(stages, [*ends, last], strict=True):
        inside = (grid > after) & (grid <= end)
        points = np.union1d(grid[inside], min(end, last)) if grid.size else grid
        rows = np.zeros((points.size, out.shape[1]))
        run_phase(
            policy, user, leaser, coaster, rewards, prices,
            memory, board, rng, pulled, won,
            bins, seed, run, people, after + 1, points, leases, stop, fault, rows,
        )  # fmt: skip
        if fault[0]:
            raise no_such_arm(policy, int(fault[1]), arms)
        rows[:, REGRET] += before[REGRET]
        rows[:, BY_LEVEL:] += before[BY_LEVEL:]
        out[inside] = rows[: np.count_nonzero(inside)]
        if end >= last:
            return
        before = rows[-1]


@cache
def machine_digest() -> str:
    """Changes with any source of the engine or of a chunk, with Numba and with the processor."""
    sources = [Path(file).read_bytes() for file in (__file__, str(moments.__file__))]
    own = hashlib.sha256(b"".join(sources))
    return f"{engine_digest()} {own.hexdigest()} {numba.__version__} {platform.machine()}"


@dataclass(frozen=True, eq=False)
class Job:
    """One policy on one problem: runs numbered 0, 1, 2, ... for a seed."""

    problem: Problem
    policy: Policy
    seed: int
    grid: NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, int]:
        """Checkpoints and columns of the totals."""
        return self.grid.size, columns(self.problem.user.space.bins, self.problem.arms)

    @cached_property
    def key(self) -> str:
        digest = hashlib.sha256(machine_digest().encode())
        for after, problem in self.problem.phases:
            if after > 0:
                _describe(digest, after)
            for part in (problem.coins, problem.user, problem.values.prices):
                _describe(digest, part)
        for value in (self.policy, self.seed, self.grid):
            _describe(digest, value)
        return digest.hexdigest()

    def prepare(self) -> None:
        """Have the policy's code in memory: from disk, or compiled, which takes seconds."""
        chunk(self.problem, self.policy, self.seed, 0, 0, self.grid)

    def compute(self, first: int, runs: int, stop: NDArray[np.int8] = NEVER) -> Part:
        """The chunk that begins at run `first`; of no use if `stop[0]` was set meanwhile."""
        self.prepare()  # which is not work on the chunk
        start = time.perf_counter()
        rows = chunk(self.problem, self.policy, self.seed, first, runs, self.grid, stop=stop)
        regret = np.ascontiguousarray(rows[:, :, REGRET])
        return Part(Moments.of(rows), regret, time.perf_counter() - start)


def _describe(digest: Any, value: Any) -> None:
    """Feed a value into a digest: its class with its code, and all it holds, to the last bit."""
    if is_dataclass(value) and not isinstance(value, type):
        cls = type(value)
        digest.update(f"{cls.__module__}.{cls.__qualname__} {fingerprint(cls)}(".encode())
        for field in fields(value):
            digest.update(f"{field.name}=".encode())
            _describe(digest, getattr(value, field.name))
        digest.update(b")")
    elif isinstance(value, tuple | list):
        digest.update(f"{len(value)}[".encode())
        for item in value:
            _describe(digest, item)
    else:
        feed(digest, value, set())
        digest.update(b";")
