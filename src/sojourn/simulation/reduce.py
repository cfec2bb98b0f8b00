"""Compute chunks on a backend and reduce them in order: the loop behind `simulate`.

Policies advance together, chunk by chunk. A result that arrives early waits for its turn, and no
more than a bounded number of chunks are on their way or waiting, so memory does not grow with the
number of runs. The reduction depends on the order of the chunks, never on when they arrived.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from ..show.progress import Now, Show, in_notebook, progress
from ..stats.moments import Array, Moments, Part
from ..validation import InputError
from .backends import Backend
from .chunks import Job
from .precision import Plan
from .store import ChunkStore

HELD = 64  # chunks that may wait for their turn, at least; on many workers it is four for each
TRIES = 5  # how often a chunk is begun before its loss is an error
PULSE = 0.2  # seconds after which the loop looks up to see if it is to stop


class Progress(NamedTuple):
    """The progress of the work; `done` and `total` are seconds of work for one worker.

    The rest is estimated from the last chunk of each policy and, if the number of runs is not
    fixed, from the precision so far. Chunks from a store count as no work.

    >>> Progress(done=2.0, total=8.0, runs=(64, 128), left=3.0)
    Progress(done=2.0, total=8.0, runs=(64, 128), left=3.0, compiling=None, compiled=0)
    """

    done: float
    total: float
    runs: tuple[int, ...]  # finished so far, by policy
    left: float | None = None  # seconds, about; None as long as a policy has not been timed
    compiling: str | None = None  # the label of the policy that is being compiled, if one is
    compiled: int = 0  # how many are


class Stopped(Exception):
    """The work was asked to stop."""


@dataclass
class Track:
    """The progress of one policy."""

    job: Job
    goal: int  # chunks that are needed for certain
    moments: Moments
    last: list[Array] = field(default_factory=list)  # regret of each run at the last checkpoint
    open: bool = True  # whether it may need more chunks than it has
    begun: int = 0
    reduced: int = 0
    arrived: dict[int, Part] = field(default_factory=dict)
    regret: dict[int, Array] = field(default_factory=dict)  # of reduced chunks whose pairs are not
    seconds: float = 0.0  # what the last computed chunk took


@dataclass
class Reduction:
    """All tracks and their chunks."""

    plan: Plan
    jobs: Sequence[Job]
    backend: Backend
    store: ChunkStore | None = None
    progress: Callable[[Progress], None] | None = None

    def __post_init__(self) -> None:
        self.tracks = [
            Track(job, self.plan.first_look, Moments.none(*job.shape)) for job in self.jobs
        ]
        self.pairs = {
            pair: Moments.none(self.jobs[0].grid.size)
            for pair in combinations(range(len(self.jobs)), 2)
        }
        self.stopping = False
        self._paired = 0
        self._worked = 0.0
        self._flying: dict[Any, tuple[Track, int, int]] = {}
        self._landed: SimpleQueue[Any] = SimpleQueue()

    def run(self) -> None:
        """Work until every policy has what it needs; `Stopped` soon after `stopping` is set."""
        try:
            while any(track.open for track in self.tracks):
                while (track := self._next()) is not None:
                    self._begin(track)
                self._take_one()
        finally:
            self.backend.cancel()

    def _next(self) -> Track | None:
        """The policy whose next chunk is to be begun now, if any.

        Chunks that may turn out not to be needed are begun only if a worker would be idle.
        """
        if self.stopping:
            return None
        flying, slots = len(self._flying), self.backend.slots
        held = flying + sum(len(t.arrived) + len(t.regret) for t in self.tracks)
        if flying and (flying >= 2 * slots or held >= max(HELD, 4 * slots)):
            return None
        certain = [t for t in self.tracks if t.open and t.begun < t.goal]
        if not certain and flying < slots:
            certain = [t for t in self.tracks if t.open and t.begun < self.plan.chunks]
        return min(certain, key=lambda t: t.begun, default=None)

    def _begin(self, track: Track) -> None:
        number = track.begun
        track.begun += 1
        span = self.plan.span(number)
        part = None if self.store is None else self.store.get(track.job, *span)
        if part is None:
            self._submit(track, number, 1)
        else:
            self._arrive(track, number, part)

    def _submit(self, track: Track, number: int, tries: int) -> None:
        future = self.backend.submit(track.job, *self.plan.span(number))
        self._flying[future] = (track, number, tries)
        future.add_done_callback(self._landed.put)

    def _take_one(self) -> None:
        while self._flying:
            if self.stopping:
                while not self._landed.empty():
                    self._take(self._landed.get())
                raise Stopped
            try:
                future = self._landed.get(timeout=PULSE)
            except Empty:
                if self.backend.compiling is not None:
                    self._report()
                continue
            self._take(future)
            return
        if self.stopping:
            raise Stopped

    def _take(self, future: Any) -> None:
        track, number, tries = self._flying.pop(future)
        part = self.backend.result(future)
        if part is not None:
            track.seconds = part.seconds
            self._worked += part.seconds
            if self.store is not None:
                self.store.put(track.job, self.plan.span(number)[0], part)
            self._arrive(track, number, part)
        elif tries < TRIES:
            self._submit(track, number, tries + 1)
        else:
            raise RuntimeError(
                f"a chunk of {track.job.policy!r} was lost {tries} times: its workers died, "
                "perhaps because memory ran out"
            )

    def _arrive(self, track: Track, number: int, part: Part) -> None:
        track.arrived[number] = part
        while track.open and track.reduced in track.arrived:
            ready = track.arrived.pop(track.reduced)
            track.moments = track.moments.join(ready.moments)
            track.regret[track.reduced] = ready.regret
            track.last.append(ready.regret[:, -1])
            track.reduced += 1
            if track.reduced == track.goal:
                track.goal = self.plan.next_look(track.goal, track.moments)
                track.open = track.reduced < track.goal
        if not track.open:
            track.arrived.clear()
        self._pair()
        self._report()

    def _pair(self) -> None:
        """Paired differences between policies, over chunks that all of them have finished."""
        while any(t.reduced > self._paired for t in self.tracks) and all(
            t.reduced > self._paired or not t.open for t in self.tracks
        ):
            rows = [t.regret.pop(self._paired, None) for t in self.tracks]
            for (p, q), moments in self.pairs.items():
                one, other = rows[p], rows[q]
                if one is not None and other is not None:
                    self.pairs[p, q] = moments.join(Moments.of(one - other))
            self._paired += 1

    def _report(self) -> None:
        if self.progress is None:
            return
        known = [t.seconds for t in self.tracks if t.seconds > 0.0]
        usual = sum(known) / len(known) if known else 0.0
        left, longest = 0.0, 0.0
        for t in (t for t in self.tracks if t.open):
            ready, chunk = t.reduced + len(t.arrived), t.seconds or usual
            left += max(self.plan.expected(t.reduced, t.moments) - ready, 1) * chunk
            longest = max(longest, chunk)
        timed = all(t.seconds > 0.0 for t in self.tracks if t.open)
        compiling = self.backend.compiling
        self.progress(
            Progress(
                done=self._worked,
                total=self._worked + left,
                runs=tuple(t.moments.runs for t in self.tracks),
                left=max(left / self.backend.slots, longest) if timed else None,
                compiling=None if compiling is None else compiling.policy.label,
                compiled=self.backend.compiled,
            )
        )


Watch = Callable[[Progress], None] | bool | None
"""A function to call, or whether to show a bar; by default, notebooks show one."""


@contextmanager
def watched(watch: Watch) -> Iterator[Callable[[Progress], None] | None]:
    """The function that reports the progress of a simulation, if any."""
    if callable(watch):
        yield watch
    elif watch is not None and not isinstance(watch, bool):
        raise InputError(
            f"progress = {watch!r} is not allowed: it must be a function, True or False"
        )
    elif in_notebook() if watch is None else watch:
        with progress() as show:
            yield by_runs(show)
    else:
        yield None


def by_runs(show: Show) -> Callable[[Progress], None]:
    """Takes the progress of a simulation: runs, and runs per second, or what is being compiled."""
    start = time.monotonic()

    def take(now: Progress) -> None:
        if now.compiling is not None:
            which = f"{now.compiling} ({now.compiled + 1} of {len(now.runs)}), once per machine"
            show(Now("compiling", None, which))
            return
        runs = sum(now.runs)
        rate = runs / max(time.monotonic() - start, 1e-9)
        share = now.done / now.total if now.total else None
        show(Now("simulating", share, f"{runs:,} runs, {rate:,.0f} a second", now.left))

    return take
