"""A store with its two threads: the writer, and upkeep (timeouts, other processes' counters)."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Generator
from pathlib import PurePath
from typing import Any, Protocol, Self, TypeVar

from .. import validation
from .errors import Forked, LiveError, NotFound
from .executors import Executor, PerProcess, late
from .stores import Store, open_store
from .stores.base import Stored
from .writer import Writer

QUEUE, BATCH = 4096, 512
DEADLINE = 10.0
"""Seconds after which a call gives up with `Unavailable`."""
PULSE, SWEEP = 0.2, 1.0
"""Seconds between two refreshes of the counters of other processes, and between two sweeps."""

T = TypeVar("T")
Steps = Generator[Any, Any, T]
"""An operation that returns a T, and yields what blocks: tickets to wait for, functions to call."""

log = logging.getLogger("sojourn.live")


class Member(Protocol):
    """The interface of an experiment for upkeep."""

    name: str

    def refresh(self, stored: Stored | None = None) -> None: ...

    def sweep(self) -> int: ...

    def leave(self) -> None: ...


class Journal:
    """Shared by the experiments of one process: the store, its writer, and a thread for upkeep.

    At most `queue` calls wait for their commit, and one commit takes at most `batch`. After
    `deadline` seconds a call raises `Unavailable`, whatever the store does. With `upkeep` False,
    the caller has to call `Experiment.sweep` and `Experiment.refresh`.

    >>> with Journal("memory://") as journal:
    ...     journal.store.read()
    {}
    """

    def __init__(
        self,
        store: str | Store,
        *,
        queue: int = QUEUE,
        batch: int = BATCH,
        deadline: float = DEADLINE,
        upkeep: bool = True,
    ) -> None:
        self.deadline = validation.number("deadline", deadline, 0, 3600, open_ends=True)
        if isinstance(store, str | PurePath):
            self.store: Store = open_store(store, deadline=self.deadline)
        else:
            self.store = store
        self.writer = Writer(self.store.append, queue=queue, batch=batch)
        self.reading = Executor("read", threads=4, limit=queue)
        self.loading = Executor("load", threads=2, limit=queue)
        self.showing = Executor("show", threads=2, limit=256)
        self.probing = Executor("probe", threads=1, limit=16)
        self._members: dict[int, Member] = {}
        self.overdue: frozenset[str] = frozenset()
        """The experiments that had visits past their deadline when upkeep looked last."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sojourn-upkeep", daemon=True)
        self._trouble = ""

        def reopen() -> Journal:
            if not isinstance(store, str) or not self.store.shared:
                why = "was not given by its address" if self.store.shared else "serves one process"
                raise Forked(
                    f"the experiment was opened before a fork, and its store {why}: open it in the "
                    "child, such as in gunicorn's post_fork, or use store='postgresql://...'"
                )
            return Journal(store, queue=queue, batch=batch, deadline=self.deadline, upkeep=upkeep)

        self._processes = PerProcess(self, reopen)
        if upkeep:
            self._thread.start()

    def here(self) -> "Journal":
        """This journal; after a fork, the child's own one with the same settings."""
        return self._processes.get()

    def check(self) -> None:
        """Raise `Unavailable` if the store cannot be read, or not be written after a failure."""
        self.store.ping()
        failure = self.writer.failure
        if failure is not None:
            self.store.ping(write=True)
            if self.writer.failure is failure:  # which a commit may have changed meanwhile
                self.writer.failure = None

    def enter(self, member: Member) -> None:
        self._members[id(member)] = member

    def leave(self, member: Member) -> None:
        self._members.pop(id(member), None)

    def _run(self) -> None:
        swept, pause = time.monotonic(), PULSE
        while not self._stop.wait(pause):
            began, busy = time.monotonic(), time.thread_time()
            due = began - swept >= SWEEP
            members = list(self._members.values())
            found = self._read([member.name for member in members], due)
            if found is not None:
                for member in members:
                    self._look_after(member, found.get(member.name), due)
            now = time.monotonic()
            swept = now if due else swept
            worked = time.thread_time() - busy
            pause = min(max(PULSE, 10.0 * worked), 5.0 * PULSE)  # at most a tenth of a core

    def _read(self, names: list[str], due: bool) -> dict[str, Stored] | None:
        """What other processes may have changed; None if the store cannot be read."""
        try:
            found = self.store.read(names) if self.store.shared and names else {}
            if due:
                self.overdue = frozenset(self.store.read(counts=False, overdue=True))
        except LiveError as error:
            if str(error) != self._trouble:  # which may last: say it once
                log.warning("upkeep: %s", error)
            self._trouble = str(error)
            return None
        self._trouble = ""
        return found

    def _look_after(self, member: Member, stored: Stored | None, due: bool) -> None:
        try:
            member.refresh(stored)
            if due and member.name in self.overdue:
                member.sweep()
        except NotFound:  # it was dropped just now
            member.leave()
        except LiveError as error:
            log.warning("upkeep: %s", error)
        except Exception:
            log.exception("upkeep failed")

    def close(self, seconds: float | None = None) -> None:
        """Write what is queued, and close the store; give up after the deadline, or `seconds`.

        Calls not written by then were not acknowledged either. After a fork, only what the child
        opened is closed.
        """
        here = self._processes.opened
        if here is not self:
            if here is not None:
                here.close(seconds)
            return
        end = time.monotonic() + (self.deadline if seconds is None else seconds)
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(max(0.0, end - time.monotonic()))
        left = self.writer.close(max(0.1, end - time.monotonic()))
        if left:
            log.error("closed though the store does not answer: %d calls were not written", left)
        for executor in (self.reading, self.loading, self.showing, self.probing):
            executor.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def run(self, steps: Steps[T]) -> T:
        """Do an operation, within the deadline: what reads the store does so in a thread."""
        end = time.monotonic() + self.deadline
        try:
            answer = next(steps)
            while True:
                try:
                    if callable(answer):
                        answer = self.reading.submit(answer)
                    result = answer.wait(end - time.monotonic())
                except BaseException as error:
                    answer = steps.throw(error)
                else:
                    answer = steps.send(result)
        except StopIteration as done:
            value: T = done.value
            return value

    async def arun(self, steps: Steps[T]) -> T:
        """`run` for asyncio."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self.deadline
        try:
            answer = next(steps)
            while True:
                try:
                    if callable(answer):
                        answer = self.reading.submit(answer)
                    result = await answer.arrive(end - loop.time())
                except BaseException as error:
                    answer = steps.throw(error)
                else:
                    answer = steps.send(result)
        except StopIteration as done:
            value: T = done.value
            return value

    async def show(self, work: Callable[[], T], executor: Executor | None = None) -> T:
        """The result of a function that reads the store, within the deadline.

        Calls of visits have threads of their own, so they do not wait for dashboards.
        """
        shown: T = await (executor or self.showing).submit(work).arrive(self.deadline)
        return shown

    async def finish(self, work: Coroutine[Any, Any, T], seconds: float | None = None) -> T:
        """Wait for a coroutine, until the deadline unless `seconds` are given.

        It goes on whether or not anybody waits for it.
        """
        task = asyncio.ensure_future(work)
        await asyncio.wait([task], timeout=self.deadline if seconds is None else seconds)
        if not task.done():
            task.add_done_callback(lambda task: task.cancelled() or task.exception())
            raise late()
        return task.result()
