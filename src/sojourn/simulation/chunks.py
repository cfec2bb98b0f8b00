"""The unit of work: a chunk of runs of one policy, a pure function of its arguments."""

import numpy as np
from numpy.typing import NDArray

from ..engine.coasting import coaster_for
from ..engine.kernel import columns, run_chunk
from ..engine.leaser import Leaser
from ..engine.leases import leaser_for
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
    out = np.zeros((runs, grid.size, columns(user.levels, problem.arms)))
    # Sums of graded rewards depend on their order in the last bits, so nothing is summed ahead.
    leaser = Leaser() if problem.graded else leaser_for(policy)
    run_chunk(
        policy, user, leaser, coaster_for(user), problem.coins, problem.values.prices,
        user.levels, seed, first, grid, leases, stop, fault, out,
    )  # fmt: skip
    if fault[0]:
        raise policy.no_such_arm(int(fault[1]), problem.arms)
    return out
