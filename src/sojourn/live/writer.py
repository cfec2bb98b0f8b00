"""Group commit: one thread drains a bounded queue into one transaction per batch.

A call is answered after the commit of its batch. When a batch fails, so does all that is queued
behind it, because it may build on what was lost; the `generation` changes, which tells replicas to
reload.
"""

import asyncio
import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .errors import Busy, LiveError, Unavailable
from .records import Change

log = logging.getLogger("sojourn.live")

Append = Callable[[Sequence[Change]], Sequence[bool]]


class Ticket:
    """A change in the queue; without a change it is a barrier."""

    __slots__ = ("applied", "change", "done", "error", "futures", "mark", "rejected", "writer")

    def __init__(
        self, writer: "Writer", change: Change | None, rejected: Callable[[], None] | None = None
    ) -> None:
        self.writer, self.change, self.rejected = writer, change, rejected
        self.mark: Any = None
        self.done, self.applied = False, False
        self.error: LiveError | None = None
        self.futures: list[asyncio.Future[bool]] = []

    def outcome(self) -> bool:
        """Whether the change was applied; else it was rejected by the optimistic lock."""
        if self.error is not None:
            raise Unavailable(str(self.error)) from self.error
        return self.applied

    def wait(self) -> bool:
        with self.writer.lock:
            self.writer.settled.wait_for(lambda: self.done)
        return self.outcome()

    async def arrive(self) -> bool:
        """`wait` for asyncio; cancelling the wait does not cancel the commit."""
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        with self.writer.lock:
            if self.done:
                return self.outcome()
            self.futures.append(future)
        await future
        return self.outcome()


class Watch(Protocol):
    """What traces commits: which calls a commit was for, and how it went."""

    def mark(self) -> Any:
        """Called where a change is queued; given back when it is committed."""

    def committed(self, marks: list[Any], seconds: float, error: Exception | None) -> None:
        """Called in the writer's thread after each commit, and after one that failed."""


class Writer:
    """The one thread that writes."""

    def __init__(self, append: Append, *, queue: int, batch: int) -> None:
        self._append, self._limit, self._batch = append, queue, batch
        self.lock = threading.Lock()
        self.settled = threading.Condition(self.lock)
        self._filled = threading.Condition(self.lock)
        self._queue: deque[Ticket] = deque()
        self._held = 0
        self._closing = False
        self.generation = 0
        self.on_commit: Callable[[int, float], None] | None = None
        """Called in the writer's thread after each commit: how many changes, how many seconds."""
        self.watch: Watch | None = None
        self._thread = threading.Thread(target=self._run, name="sojourn-writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Calls that wait for their commit."""
        return self._held

    def reserve(self) -> None:
        """Reserve a place in the queue before anything is done; `Busy` if it is full."""
        with self.lock:
            if self._closing:
                raise Unavailable("the store is closed")
            if self._held >= self._limit:
                raise Busy(f"{self._held} calls wait for the store already: try again in a moment")
            self._held += 1

    def release(self) -> None:
        with self.lock:
            self._held -= 1

    def submit(self, change: Change, generation: int, rejected: Callable[[], None]) -> Ticket:
        """Queue a change in a reserved place; `rejected` is called on a conflict."""
        ticket = Ticket(self, change, rejected)
        if self.watch is not None:
            ticket.mark = self.watch.mark()
        with self.lock:
            if generation != self.generation or self._closing:
                self._held -= 1
                raise Unavailable("the store has failed meanwhile: the call was not kept")
            self._queue.append(ticket)
            self._filled.notify()
        return ticket

    def barrier(self) -> Ticket:
        """A ticket that is done when all that was queued before it is."""
        ticket = Ticket(self, None)
        with self.lock:
            if self._closing:
                raise Unavailable("the store is closed")
            self._held += 1
            self._queue.append(ticket)
            self._filled.notify()
        return ticket

    def close(self) -> None:
        """Write what is queued, then stop."""
        with self.lock:
            self._closing = True
            self._filled.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self.lock:
                self._filled.wait_for(lambda: self._queue or self._closing)
                if not self._queue:
                    return
                size = min(self._batch, len(self._queue))
                batch = [self._queue.popleft() for _ in range(size)]
            self._write(batch)

    def _write(self, batch: list[Ticket]) -> None:
        changes = [t.change for t in batch if t.change is not None]
        began = time.perf_counter()
        try:
            applied = iter(self._append(changes))
        except Exception as error:
            self._report(batch, began, error)
            self._fail(batch, error)
            return
        self._report(batch, began)
        for ticket in batch:
            ticket.applied = ticket.change is None or next(applied)
            if not ticket.applied and ticket.rejected is not None:
                ticket.rejected()
        with self.lock:
            self._settle(batch)

    def _report(self, batch: list[Ticket], began: float, error: Exception | None = None) -> None:
        """Tell the metrics and the traces; what fails there must not end the writer's thread."""
        marks = [ticket.mark for ticket in batch if ticket.change is not None]
        seconds = time.perf_counter() - began
        try:
            if self.on_commit is not None and marks and error is None:
                self.on_commit(len(marks), seconds)
            if self.watch is not None:
                self.watch.committed(marks, seconds, error)
        except Exception:
            log.exception("a commit could not be reported")

    def _fail(self, batch: list[Ticket], error: Exception) -> None:
        reason = error
        if not isinstance(reason, LiveError):
            text = " ".join(str(error).split())
            reason = Unavailable(f"the store failed ({type(error).__name__}: {text})")
        with self.lock:
            self.generation += 1
            batch.extend(self._queue)
            self._queue.clear()
            for ticket in batch:
                ticket.error = reason
            self._settle(batch)

    def _settle(self, batch: list[Ticket]) -> None:
        """Wake all who wait for a batch: one call into each event loop, one notify for threads."""
        loops: dict[Any, list[asyncio.Future[bool]]] = defaultdict(list)
        for ticket in batch:
            ticket.done, ticket.change, ticket.rejected = True, None, None  # the cache keeps it
            for future in ticket.futures:
                loops[future.get_loop()].append(future)
        self._held -= len(batch)
        self.settled.notify_all()
        for loop, futures in loops.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_resolve, futures)


def _resolve(futures: list[asyncio.Future[bool]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(True)
