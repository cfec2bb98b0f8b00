"""Group commit: one thread drains a bounded queue into one transaction per batch.

A call is answered after the commit of its batch. When a batch fails, so does all that is queued
behind it, because it may build on what was lost; the `generation` changes, which tells replicas to
reload.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .errors import Busy, Unavailable
from .executors import Pending, settle
from .records import Change

log = logging.getLogger("sojourn.live")

Append = Callable[[Sequence[Change]], Sequence[bool]]


class Ticket(Pending):
    """A place in the queue: for a change, for something to do between two commits, or for nothing.

    Its outcome is whether the change was applied, or else rejected by the optimistic lock; or what
    was done returned.
    """

    __slots__ = ("change", "mark", "rejected", "work")

    def __init__(
        self,
        writer: "Writer",
        change: Change | None = None,
        rejected: Callable[[], None] | None = None,
        work: Callable[[], Any] | None = None,
    ) -> None:
        super().__init__(writer.settled)
        self.change, self.rejected, self.work = change, rejected, work
        self.mark: Any = None


class Watch(Protocol):
    """Traces commits: the calls that a commit was for, and its result."""

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
        self.generation = self.rejected = 0
        self.failure: Exception | None = None
        """Why the last commit failed; None if it did not."""
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
        return self._enqueue(Ticket(self))

    def ask(self, work: Callable[[], Any]) -> Ticket:
        """Have a function called after all that is queued, and before all that will be.

        It runs in the writer's thread, between two commits, so it must be short; what it returns
        is the outcome.
        """
        return self._enqueue(Ticket(self, work=work))

    def _enqueue(self, ticket: Ticket) -> Ticket:
        with self.lock:
            if self._closing:
                raise Unavailable("the store is closed")
            self._held += 1
            self._queue.append(ticket)
            self._filled.notify()
        return ticket

    def close(self, seconds: float | None = None) -> int:
        """Write what is queued, then stop; the number of calls not written in these seconds."""
        with self.lock:
            self._closing = True
            self._filled.notify()
        self._thread.join(seconds)
        return self._held if self._thread.is_alive() else 0

    def _run(self) -> None:
        while True:
            with self.lock:
                self._filled.wait_for(lambda: self._queue or self._closing)
                if not self._queue:
                    return
                batch = self._next_batch()
            if batch[0].work is None:
                self._write(batch)
            else:
                self._do(batch[0])

    def _next_batch(self) -> list[Ticket]:
        """What is queued up to the next thing to do between commits; or that by itself."""
        batch: list[Ticket] = []
        while self._queue and len(batch) < self._batch:
            if self._queue[0].work is not None and batch:
                break
            batch.append(self._queue.popleft())
            if batch[-1].work is not None:
                break
        return batch

    def _do(self, ticket: Ticket) -> None:
        assert ticket.work is not None
        try:
            ticket.result = ticket.work()
        except Exception as error:
            ticket.error = error
        with self.lock:
            self._settle([ticket])

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
        if changes:
            self.failure = None
        for ticket in batch:
            ticket.result = ticket.change is None or next(applied)
            self.rejected += not ticket.result
            if not ticket.result and ticket.rejected is not None:
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
        if not isinstance(reason, Unavailable):
            text = " ".join(str(error).split())
            reason = Unavailable(f"the store failed ({type(error).__name__}: {text})")
        with self.lock:
            self.generation += 1
            self.failure = reason
            batch.extend(self._queue)
            self._queue.clear()
            for ticket in batch:
                ticket.error = reason
            self._settle(batch)

    def _settle(self, batch: list[Ticket]) -> None:
        """Wake what waits for a batch; the cache of visits keeps the tickets, but not the rest."""
        for ticket in batch:
            ticket.change = ticket.rejected = ticket.work = None
        self._held -= len(batch)
        settle(batch)
