"""A policy's work on a problem, cut into chunks that anybody may compute; what its bits depend on.

A chunk is determined by what the kernel is given (problem, policy, checkpoints, seed, runs) and
by the code it runs. `Job.key` is a digest of all that: two chunks of the same key, first run and
length hold the same bits, whichever process computed them.
"""

import hashlib
import platform
import time
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from ..engine.fingerprint import engine_digest, feed, fingerprint
from ..engine.kernel import REGRET, columns
from ..policies import Policy
from ..problem import Problem
from ..stats import moments
from ..stats.moments import Moments, Part
from . import chunks
from .chunks import NEVER, chunk


@cache
def machine_digest() -> str:
    """Changes with any source of the engine or of a chunk, with Numba and with the processor."""
    sources = [Path(str(part.__file__)).read_bytes() for part in (chunks, moments)]
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
