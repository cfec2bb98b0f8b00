"""`simulate`: run policies on a problem and collect moments."""

import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .. import theory, validation
from ..policies import Policy
from ..policy_names import policies_of
from ..problem import Problem
from ..problem_files import problem_of
from ..validation import InputError
from .backends import Backend, Cluster, Threads, processors
from .chunks import Job
from .precision import MAX_RUNS, Checkpoints, Plan, Precision, checkpoint_grid, chunk_runs
from .reduce import Progress, Reduction, Stopped, watched
from .result import Result, Stream
from .store import ChunkStore

RUNS = 1_000  # runs unless said otherwise
LAST_RUN = 2**62


class Interrupted(KeyboardInterrupt):
    """Ctrl-C stopped a simulation; `result` has each policy's finished chunks, perhaps none."""

    def __init__(self, result: Result, store: Path | None) -> None:
        runs = ", ".join(f"{n:,}" for n in result.runs)
        again = (
            "to be able to continue another time, give a store"
            if store is None
            else f"to continue, run the same again with the store {store}"
        )
        super().__init__(f"stopped with {runs} runs finished; {again}")
        self.result = result


class PrecisionWarning(UserWarning):
    """A policy did not reach the precision asked for."""


def simulate(
    problem: Problem | str | Path,
    policies: Policy | str | Sequence[Policy | str],
    *,
    visits: int = 20_000,
    runs: int | None = None,
    precision: float | str | None = None,
    max_runs: int | None = None,
    seed: int = 0,
    first_run: int = 0,
    checkpoints: Checkpoints = None,
    workers: int | None = None,
    client: Any = None,
    store: str | Path | None = None,
    progress: Callable[[Progress], None] | bool | None = None,
) -> Result:
    """Play each policy for `visits` visits, in many independent runs.

    All policies meet the same users: in a run the n-th reward of an arm is the same for every
    policy, so that `Result.difference` is much sharper than the difference of two results. Ctrl-C
    raises `Interrupted`, which has the runs finished so far.

    Arguments, by name after the first two:
        problem: The arms and the user: a `Problem`, the name of a setting of the paper such as
            "A", or a problem file. Regret on a nonstationary one (`Problem.changing`) is against
            the best rule of the phase of each visit.
        policies: A policy or several, each a `Policy` or a name, with parameters if
            you like, such as "KL-ULCB" or "ULCB:c0=-0.5,c=4".
        visits: Visits in a run.
        runs: Independent runs of each policy; 1,000 unless `precision` is given.
        precision: Instead of `runs`: as many as it takes, policy by policy, for the 95 % half-width
            of the regret at the end to be at most 8.73 (`8.73`), 5 % of the regret (`"5%"`), or
            8.73 and, for policies for which that takes more than `max_runs`, 5 %
            (`"8.73 else 5%"`). At least 256 runs are made. A policy that does not get there is
            warned about, and given up at once if it would take more than ten times `max_runs`.
        max_runs: With `precision`: no more than this; 100,000 by default.
        seed: The numbers of a run depend on the seed and the number of the run only.
        first_run: The number of the first run: another one gives other runs of the same seed.
        checkpoints: Numbers of visits at which totals are kept: a list; how many to spread evenly
            on a logarithmic scale; `"log:24"` or `"linear:50"`.
        workers: Threads; one per processor by default.
        client: A Dask client whose workers do the work instead.
        store: A file (SQLite) in which finished chunks of runs are kept, and from which another
            call takes what it needs.
        progress: True for a bar on a terminal or in a notebook, False for none; by default
            notebooks have one. A function is called with a `Progress` after every chunk, and
            while policies are compiled, which is done once per machine and takes seconds for each.

    None of `workers`, `client` and `store` changes a bit of the result.

    >>> import sojourn as sj
    >>> print(sj.simulate("A", sj.policies.FixedArm(), visits=10, runs=2))
    10 visits, seed 0; regret with 95 % intervals
    policy     runs  regret    ±  from rewards      ±  steps per visit
    Fixed arm     2     0.0  0.0          -233  1,069           133.90
    """
    problem = problem_of(problem)
    visits = validation.whole("visits", visits, 1)
    seed = validation.whole("seed", seed, 0, 2**63 - 1)
    first_run = validation.whole("first_run", first_run, 0, LAST_RUN)
    wanted, limit = _how_many(runs, precision, max_runs)
    grid = checkpoint_grid(visits, checkpoints)
    plan = Plan(first_run, chunk_runs(problem, visits, grid.size), limit, wanted)
    players = policies_of(policies, problem.at(1), known={"visits": visits})
    jobs = [Job(problem, policy, seed, grid) for policy in players]
    with ExitStack() as stack:
        told = stack.enter_context(watched(progress))
        backend = _backend(workers, client)
        stack.callback(backend.cancel)
        kept = None if store is None else stack.enter_context(ChunkStore(store))
        for phase in problem.phases:
            theory.warn_about(phase.problem)
        if kept is not None:
            for job in jobs:
                kept.enter(job)
        reduction = Reduction(plan, jobs, backend, kept, told)
        try:
            with _ctrl_c(lambda: setattr(reduction, "stopping", True)):
                reduction.run()
        except Stopped:
            where = None if kept is None else kept.path
            raise Interrupted(_result(reduction), where) from None
    result = _result(reduction)
    _warn_about_precision(result)
    return result


def _how_many(runs: Any, precision: Any, max_runs: Any) -> tuple[Precision | None, int]:
    """The precision, if one is asked for, and the greatest number of runs."""
    if precision is None:
        if max_runs is not None:
            raise InputError("max_runs needs precision: without it, give runs")
        return None, validation.whole("runs", RUNS if runs is None else runs, 2, LAST_RUN)
    if runs is not None:
        raise InputError("give either runs or precision, not both")
    limit = validation.whole("max_runs", MAX_RUNS if max_runs is None else max_runs, 2, LAST_RUN)
    return Precision.of(precision, limit), limit


def _backend(workers: int | None, client: Any) -> Backend:
    if client is None:
        return Threads(validation.whole("workers", processors() if workers is None else workers, 1))
    if workers is not None:
        raise InputError("give either workers, which are threads here, or client, not both")
    return Cluster(client)


def _result(reduction: Reduction) -> Result:
    job, tracks = reduction.jobs[0], reduction.tracks
    first = reduction.plan.first_run
    return Result(
        problem=job.problem,
        policies=tuple(track.job.policy for track in tracks),
        checkpoints=job.grid,
        moments=tuple(track.moments for track in tracks),
        pairs=tuple(reduction.pairs.values()),
        streams=tuple((Stream(job.seed, first, track.moments.runs),) for track in tracks),
        precision=reduction.plan.precision,
        last=tuple(np.concatenate([*track.last, np.zeros(0)]) for track in tracks),
    )


def _warn_about_precision(result: Result) -> None:
    wanted, widths = result.precision, result.regret.half_width[:, -1]
    if wanted is None:
        return
    for p, moments in enumerate(result.moments):
        if not result.reached[p]:
            needed = float(f"{wanted.needed(moments):.2g}")
            hint = "" if wanted.share else "; a share of the regret such as '5%' may be in reach"
            warnings.warn(
                f"{result.labels[p]} did not reach the precision {wanted}: its half-width is "
                f"{widths[p]:,.4g} after {moments.runs:,} runs, and about {needed:,.0f} would be "
                f"needed, but max_runs is {wanted.max_runs:,}{hint}",
                PrecisionWarning,
                stacklevel=3,
            )


@contextmanager
def _ctrl_c(stop: Callable[[], None]) -> Iterator[None]:
    """Let the first Ctrl-C call `stop` instead of raising an error anywhere.

    The second one does what it always does. Only the main thread hears of Ctrl-C.
    """
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return

    def heard(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, usual)
        stop()

    signal.signal(signal.SIGINT, heard)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
