"""`simulate`: run policies on a problem and collect moments.

The unit of work is a chunk: a fixed number of runs of one policy, addressed by (seed, first run).
Chunks are computed in any order, on any number of threads, and reduced in order, so the same seed
gives the same bits.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from .. import checks, theory
from ..policies import Policy
from ..problem import Problem
from .kernel import columns, run_chunk
from .result import Moments, Result

CHUNK = 32
"""Runs in a chunk; part of what makes results reproducible, hence not a parameter."""

SPACED = 24
"""Checkpoints unless said otherwise."""


def simulate(
    problem: Problem,
    policies: Sequence[Policy],
    *,
    visits: int = 20_000,
    runs: int = 1_000,
    seed: int = 0,
    checkpoints: int | Iterable[int] | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """Play each policy for `visits` visits in `runs` independent runs.

    `checkpoints` are numbers of visits at which totals are kept: a list, or how many of them to
    spread evenly on a logarithmic scale up to `visits`. All policies meet the same users: the
    n-th reward of an arm in a run is the same whoever plays it. `progress` is called with the
    chunks done and their number.

    >>> import sojourn as sj
    >>> print(sj.simulate(sj.paper.SETTINGS["A"], [sj.FixedArm()], visits=10, runs=2))
    10 visits, seed 0; regret with 95 % intervals
    policy               runs      regret        ±   from rewards          ±   steps a visit
    FixedArm                2         0.0      0.0         -233.5    1,069.2          133.90
    """
    visits = checks.whole("visits", visits, 1)
    runs = checks.whole("runs", runs, 2)
    seed = checks.whole("seed", seed, 0, 2**63 - 1)
    workers = checks.whole("workers", workers or os.cpu_count() or 1, 1)
    grid = checkpoint_grid(visits, checkpoints)
    policies = _check_policies(policies, problem)
    theory.warn_about(problem)

    def compute(policy: Policy, first: int) -> Moments:
        return Moments.of(chunk(problem, policy, seed, first, min(CHUNK, runs - first), grid))

    firsts = range(0, runs, CHUNK)
    total = len(policies) * len(firsts)
    with ThreadPoolExecutor(workers) as pool:
        try:
            futures = [[pool.submit(compute, p, f) for f in firsts] for p in policies]
            moments = []
            for done, row in enumerate(futures):
                parts = []
                for i, future in enumerate(row):
                    parts.append(future.result())
                    if progress is not None:
                        progress(done * len(firsts) + i + 1, total)
                moments.append(reduce(Moments.join, parts))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return Result(problem, policies, seed, grid, tuple(moments))


def chunk(
    problem: Problem,
    policy: Policy,
    seed: int,
    first: int,
    runs: int,
    grid: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Totals of the runs first, first + 1, ...: out[run, checkpoint, column]. A pure function."""
    user, values = problem.user, problem.values
    out = np.zeros((runs, grid.size, columns(user.levels, problem.arms)))
    run_chunk(
        policy,
        user,
        values.value_function,
        np.array(problem.means),
        problem.best_arm_is_optimal,
        user.levels,
        seed,
        first,
        grid,
        out,
    )
    return out


def checkpoint_grid(visits: int, checkpoints: int | Iterable[int] | None) -> NDArray[np.int64]:
    """The numbers of visits at which to keep totals, ending with `visits`.

    >>> checkpoint_grid(100, 3).tolist(), checkpoint_grid(100, [50]).tolist()
    ([1, 10, 100], [50, 100])
    """
    if checkpoints is None or isinstance(checkpoints, int):
        count = checks.whole("checkpoints", SPACED if checkpoints is None else checkpoints, 1)
        points = np.geomspace(1, visits, count).round().astype(np.int64)
    else:
        points = np.array([checks.whole("checkpoints", c, 1, visits) for c in checkpoints], int)
    return np.unique(np.append(points, visits))


def _check_policies(policies: Sequence[Policy], problem: Problem) -> tuple[Policy, ...]:
    if not policies:
        raise ValueError("policies = [] is not allowed: give at least one policy")
    for policy in policies:
        if not isinstance(policy, Policy):
            raise ValueError(f"policies has {policy!r}, which is not a policy of this package")
        policy.check_arms(problem.arms)
    return tuple(policies)
