"""Backends that compute chunks: threads of this process, or the workers of a Dask cluster.

`submit` begins a chunk, in any order, and gives back a future. Its `result` is None if the chunk
was lost and is to be computed again. The kernel runs without Python's lock, so that threads use all
processors without the memory and the start-up time of processes.
"""

import os
import time
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from functools import lru_cache
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from ..extras import require
from ..stats.moments import Part
from ..validation import InputError
from .chunks import Job, machine_digest

FROM_DISK = 1.0  # seconds after which a policy is not being read from disk, but compiled
GATHER = 60.0  # seconds that the transfer of a finished chunk may take before it is asked for again


def processors() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Threads:
    """Threads of this process."""

    def __init__(self, workers: int) -> None:
        self.slots = workers  # how many chunks can be computed at the same time
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="sojourn")
        self._stop: NDArray[np.int8] = np.zeros(1, np.int8)
        self._preparing: dict[Job, float] = {}  # and since when
        self._prepared: set[Job] = set()

    @property
    def compiling(self) -> Job | None:
        """The job whose policy is being compiled, if any; one compiles at a time."""
        late = time.monotonic() - FROM_DISK
        return next((job for job, since in [*self._preparing.items()] if since < late), None)

    @property
    def compiled(self) -> int:
        """Number of policies that have been compiled or were on disk."""
        return len(self._prepared)

    def submit(self, job: Job, first: int, runs: int) -> Future[Part]:
        return self._pool.submit(self._compute, job, first, runs)

    def _compute(self, job: Job, first: int, runs: int) -> Part:
        if job not in self._prepared:
            self._preparing.setdefault(job, time.monotonic())
            job.prepare()
            self._prepared.add(job)
            self._preparing.pop(job, None)
        return job.compute(first, runs, self._stop)

    def result(self, future: Future[Part]) -> Part:
        part = future.result()
        if self._stop[0]:
            raise CancelledError
        return part

    def cancel(self) -> None:
        """Have the kernels return at once, and begin no more."""
        self._stop[0] = 1
        self._pool.shutdown(wait=False, cancel_futures=True)


class Cluster:
    """The workers of a `dask.distributed.Client`.

    Dask computes a chunk again if its worker dies. What Dask itself gives up is reported as lost.
    """

    compiling, compiled = None, 0  # the workers do that

    def __init__(self, client: Any) -> None:
        require("client", "cluster", "distributed")
        import distributed

        if not isinstance(client, distributed.Client):
            raise InputError(
                f"client = {client!r} is not allowed: it must be a dask.distributed.Client"
            )
        if client.asynchronous:
            raise InputError(
                "client is asynchronous, which is not allowed: make it without asynchronous=True"
            )
        self._client = client
        self._lost = (distributed.KilledWorker, CancelledError, TimeoutError, OSError)
        self._futures: dict[str, Any] = {}
        self._packed: dict[str, bytes] = {}
        self._slots, self._asked = 1, -np.inf

    @property
    def slots(self) -> int:
        """The threads of all workers, now; clusters grow and shrink."""
        if time.monotonic() > self._asked + 2.0:
            self._slots = max(1, sum(self._client.nthreads().values()))
            self._asked = time.monotonic()
        return self._slots

    def submit(self, job: Job, first: int, runs: int) -> Any:
        from distributed.protocol import pickle

        if job.key not in self._packed:
            solutions = [phase.problem.values for phase in job.problem.phases]
            self._packed[job.key] = pickle.dumps((job, solutions))
        future: Any = self._client.submit(
            compute_remotely, self._packed[job.key], machine_digest(), first, runs,
            key=f"sojourn-{type(job.policy).__name__}-{first}-{uuid4().hex}", pure=False,
        )  # fmt: skip
        self._futures[future.key] = future
        return future

    def result(self, future: Any) -> Part | None:
        self._futures.pop(future.key, None)
        try:
            part: Part = future.result(timeout=GATHER)
        except self._lost:
            return None
        return part

    def cancel(self) -> None:
        """Withdraw chunks that have not begun; those in progress are discarded."""
        futures, self._futures = list(self._futures.values()), {}
        if futures and self._client.status == "running":
            self._client.cancel(futures)


def compute_remotely(packed: bytes, engine: str, first: int, runs: int) -> Part:
    """The work of a worker: a chunk of the same bits as computed locally, or an error.

    The problem comes with its solution, because linear algebra differs between machines in the
    last digits.
    """
    if machine_digest() != engine:
        raise InputError(
            "the workers and this process differ in the version of sojourn or numba, or in the "
            "kind of processor: install the same everywhere"
        )
    return _unpacked(packed).compute(first, runs)


Backend = Threads | Cluster


@lru_cache(maxsize=64)
def _unpacked(packed: bytes) -> Job:
    from distributed.protocol import pickle

    job, values = pickle.loads(packed)
    for phase, solution in zip(job.problem.phases, values, strict=True):
        vars(phase.problem)["values"] = solution
    return job  # type: ignore[no-any-return]
