"""The unit of work: a chunk of runs of one policy, a pure function of its arguments."""

import numpy as np
from numpy.typing import NDArray

from ..engine.coasting import coaster_for
from ..engine.faults import no_such_arm
from ..engine.kernel import BY_LEVEL, REGRET, AnyLeaser, Leaser, columns, run_chunk, run_phase
from ..engine.leases import leaser_for
from ..engine.streams import policy_stream
from ..policies import Policy
from ..problem import Problem

NEVER = np.zeros(1, np.int8)


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
    user, fault = problem.user, np.zeros(2, np.int64)
    out = np.zeros((runs, grid.size, columns(user.space.bins, problem.arms)))
    # Sums of graded rewards depend on their order in the last bits, so nothing is summed ahead.
    leaser = Leaser() if problem.graded else leaser_for(policy)
    if len(problem.phases) > 1:
        for i in range(max(runs, 1)):  # no runs: compile
            rows = out[i] if runs else np.zeros((0, out.shape[2]))
            _run_through(
                problem, policy, leaser, seed, first + i, grid[: len(rows)], leases, stop, fault,
                rows,
            )  # fmt: skip
    else:
        run_chunk(
            policy, user, leaser, coaster_for(user), problem.coins, problem.values.prices,
            user.space.bins, seed, first, grid, leases, stop, fault, out,
        )  # fmt: skip
    if fault[0]:
        raise no_such_arm(policy, int(fault[1]), problem.arms)
    return out


def _run_through(
    problem: Problem, policy: Policy, leaser: AnyLeaser, seed: int, run: int,
    grid: NDArray[np.int64], leases: bool, stop: NDArray[np.int8],
    fault: NDArray[np.int64], out: NDArray[np.float64],
) -> None:  # fmt: skip
    """One run through all phases: each is played with its own problem, and one memory.

    A lease does not outlive the phase: it ends at the latest with the visits asked for. What it
    promises depends on the memory alone.
    """
    arms, levels = problem.arms, problem.user.space.bins
    memory, board = policy.memory(arms), leaser.board(policy, arms)
    rng = policy_stream(seed, run)
    pulled, won = np.zeros(arms, np.int64), problem.coins.nothing()
    before = np.zeros(out.shape[1])  # regret and pulls of earlier phases
    last = int(grid[-1]) if grid.size else 0
    ends = [phase.after for phase in problem.phases[1:]]
    for phase, end in zip(problem.phases, [*ends, last], strict=True):
        own, user = phase.problem, phase.problem.user
        inside = (grid > phase.after) & (grid <= end)
        points = np.union1d(grid[inside], min(end, last)) if grid.size else grid
        rows = np.zeros((points.size, out.shape[1]))
        run_phase(
            policy, user, leaser, coaster_for(user), own.coins, own.values.prices,
            memory, board, rng, pulled, won,
            levels, seed, run, phase.after + 1, points, leases, stop, fault, rows,
        )  # fmt: skip
        rows[:, REGRET] += before[REGRET]
        rows[:, BY_LEVEL:] += before[BY_LEVEL:]
        out[inside] = rows[: np.count_nonzero(inside)]
        if fault[0] or end >= last:
            return
        before = rows[-1]
