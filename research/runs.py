"""Single runs of a simulation, from the store that it was given."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sojourn.paper.trials import Trial
from sojourn.simulation import Result, Stream
from sojourn.simulation.chunks import Job
from sojourn.simulation.precision import Plan, chunk_runs
from sojourn.simulation.store import ChunkStore
from sojourn.stats.moments import Array
from sojourn.validation import InputError


class Ends(NamedTuple):
    """A result, and the regret of every run: by policy, [run, checkpoint]."""

    result: Result
    regrets: list[Array]


@dataclass(frozen=True)
class RunsTrial(Trial):
    """A trial that looks at single runs."""

    def run(self, *, quick: bool, **how: Any) -> Any:
        result = super().run(quick=quick, **how)
        return Ends(result, run_regrets(result, how["store"]))


def run_regrets(result: Result, store: str | Path) -> list[Array]:
    """By policy, the regret of every run at every checkpoint: [run, checkpoint].

    A `Result` has moments only. The store that `simulate` was given has this as well: differences
    between policies are made of it.

    >>> import sojourn as sj
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     how = {"visits": 50, "runs": 8, "store": f"{folder}/chunks.db"}
    ...     result = sj.simulate(sj.paper.SETTINGS["B"], [sj.policies.UCB()], **how)
    ...     (regrets,) = run_regrets(result, f"{folder}/chunks.db")
    >>> regrets.shape == (8, len(result.checkpoints))
    True
    >>> bool(np.isclose(regrets[:, -1].mean(), result.regret.mean[0, -1]))
    True
    """
    with ChunkStore(store) as kept:
        return [
            np.concatenate([_chunks(result, p, stream, kept) for stream in streams])
            for p, streams in enumerate(result.streams)
        ]


def _chunks(result: Result, policy: int, stream: Stream, kept: ChunkStore) -> Array:
    grid = result.checkpoints
    job = Job(result.problem, result.policies[policy], stream.seed, grid)
    size = chunk_runs(result.problem, int(grid[-1]), grid.size)
    plan, found = Plan(stream.first, size, stream.runs), []
    for number in range(plan.chunks):
        part = kept.get(job, *plan.span(number))
        if part is None:
            raise InputError(f"{kept.path} does not have the runs of {job.policy!r}")
        found.append(part.regret)
    return np.concatenate(found)
