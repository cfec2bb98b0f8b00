"""Threads for calls that block, none of which waits for ever; and per-process resources."""

import asyncio
import os
import queue
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

from .errors import Busy, Unavailable

T = TypeVar("T")


def late() -> Unavailable:
    """The error of a call whose deadline has passed."""
    return Unavailable(
        "the store has not answered within the deadline: whether the call was committed is "
        "unknown, so repeat it with its request id"
    )


class Pending:
    """Work in another thread: any number of threads and event loops may wait for it."""

    __slots__ = ("done", "error", "futures", "result", "settled")

    def __init__(self, settled: threading.Condition) -> None:
        self.settled, self.done = settled, False
        self.result: Any = None
        self.error: BaseException | None = None
        self.futures: list[asyncio.Future[None]] = []

    def outcome(self) -> Any:
        """The result, or the error."""
        if isinstance(self.error, Unavailable):
            raise Unavailable(str(self.error)) from self.error  # a new one for each caller
        if self.error is not None:
            raise self.error
        return self.result

    def wait(self, seconds: float) -> Any:
        """The outcome; `Unavailable` after this many seconds, which does not stop the work."""
        with self.settled:
            if not self.settled.wait_for(lambda: self.done, seconds):
                raise self.given_up()
        return self.outcome()

    async def arrive(self, seconds: float) -> Any:
        """`wait` for asyncio; a caller that is cancelled does not stop the work either."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self.settled:
            if self.done:
                return self.outcome()
            self.futures.append(future)
        wake_after(seconds, future)
        await future
        if not self.done:
            raise self.given_up()
        return self.outcome()

    def given_up(self) -> Unavailable:
        """The error for a caller that has waited long enough."""
        return late()


def settle(batch: Sequence[Pending]) -> None:
    """Wake all callers that wait, with one call into each event loop; their lock is held."""
    loops: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = defaultdict(list)
    for each in batch:
        each.done = True
        for future in each.futures:
            loops[future.get_loop()].append(future)
    batch[0].settled.notify_all()
    for loop, futures in loops.items():
        with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
            loop.call_soon_threadsafe(_wake, futures)


def _wake(futures: Sequence["asyncio.Future[None]"]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)


class Call(Pending):
    """A function that runs, or will run, in a thread of an executor.

    Any number may wait for it if it is `shared`; else it never begins once its caller gave up.
    """

    __slots__ = ("shared", "work")

    def __init__(self, work: Callable[[], Any], *, shared: bool) -> None:
        super().__init__(threading.Condition())
        self.work: Callable[[], Any] | None = work
        self.shared = shared

    def run(self) -> None:
        work = self.work
        if work is None:
            return
        try:
            self.result = work()
        except BaseException as error:
            self.error = error
        with self.settled:
            settle([self])

    def given_up(self) -> Unavailable:
        if not self.shared:
            self.work = None
        return late()


class Alarms(threading.local):
    """Futures of a thread's event loop that are resolved at the latest after a time.

    A timer of its own for each call, set and cancelled, is a tenth of what a call costs; here all
    that are due in the same quarter of a second share one.
    """

    TICK = 0.25

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self.due: dict[int, list[asyncio.Future[None]]] = {}

    def set(self, seconds: float, future: "asyncio.Future[None]") -> None:
        loop = future.get_loop()
        if loop is not self.loop:
            self.loop, self.due = loop, {}
        tick = int((loop.time() + max(0.0, seconds)) / self.TICK) + 1
        waiting = self.due.get(tick)
        if waiting is None:
            waiting = self.due[tick] = []
            loop.call_at(tick * self.TICK, self._ring, self.due, tick)
        waiting.append(future)

    def _ring(self, due: "dict[int, list[asyncio.Future[None]]]", tick: int) -> None:
        _wake(due.pop(tick))


wake_after = Alarms().set
"""Resolve a future of this thread's event loop after this many seconds, if it is not done then."""


class Executor:
    """A bounded number of threads, which end with the process, and of calls in all.

    >>> Executor("doctest", threads=1, limit=1).submit(lambda: 1 + 1).wait(10.0)
    2
    """

    def __init__(self, name: str, *, threads: int, limit: int) -> None:
        self.name, self._most, self._limit = name, threads, limit
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._threads = self._held = 0

    def submit(self, work: Callable[[], Any], *, shared: bool = False) -> Call:
        """Have a function called in a thread; `Busy` if too many wait already."""
        call = Call(work, shared=shared)
        with self._lock:
            if self._most == 0:
                raise Unavailable("the store is closed")
            if self._held >= self._limit:
                raise Busy(f"{self._held} calls wait to read the store already: try again later")
            self._held += 1
            if self._threads < min(self._most, self._held):
                self._threads += 1
                name = f"sojourn-{self.name}-{self._threads}"
                threading.Thread(target=self._run, name=name, daemon=True).start()
            self._queue.put(call)
        return call

    def _run(self) -> None:
        while (call := self._queue.get()) is not None:
            call.run()
            with self._lock:
                self._held -= 1
            del call

    def close(self) -> None:
        """Let the threads end once nothing is left to do."""
        with self._lock:
            for _ in range(self._threads):
                self._queue.put(None)
            self._threads, self._most = 0, 0


class PerProcess(Generic[T]):
    """Something that every process opens for itself, when it first uses it.

    A fork copies neither the threads of a process nor the meaning of its connections: the child's
    are those of the parent, whose answers it would read and whose session it would end. Those of
    other processes are kept, because to discard them might close them; they are not used.

    >>> numbers = PerProcess(1, lambda: 2)
    >>> numbers.get(), numbers.opened
    (1, 1)
    """

    def __init__(self, opened: T, reopen: Callable[[], T]) -> None:
        self._opened, self._reopen = {os.getpid(): opened}, reopen

    @property
    def opened(self) -> T | None:
        """The value of this process, if it has been opened."""
        return self._opened.get(os.getpid())

    def get(self) -> T:
        """The value of this process."""
        process = os.getpid()  # a hook after forks would not do: uWSGI forks without Python
        if process not in self._opened:
            with _reopening:
                if process not in self._opened:
                    self._opened[process] = self._reopen()
        return self._opened[process]


_reopening = threading.RLock()


def _renew() -> None:
    """A lock that was held when the process was forked would be held for ever."""
    global _reopening
    _reopening = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
