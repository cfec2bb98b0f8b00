"""A store with its two threads: the writer, and upkeep (timeouts, other processes' counters)."""

import asyncio
import logging
import threading
import time
from collections.abc import Generator
from typing import Any, Protocol, Self, TypeVar

from .errors import Forked, LiveError
from .forks import PerProcess
from .records import News
from .stores import Store, open_store
from .writer import Writer

QUEUE, BATCH = 4096, 512
PULSE, SWEEP = 0.2, 1.0
"""Seconds between two refreshes of the counters of other processes, and between two sweeps."""

T = TypeVar("T")
Steps = Generator[Any, Any, T]
"""An operation that returns a T, and yields what blocks: tickets to wait for, functions to call."""

log = logging.getLogger("sojourn.live")


class Member(Protocol):
    """What upkeep needs of an experiment."""

    name: str

    def refresh(self, news: News | None = None) -> None: ...

    def sweep(self) -> int: ...


class Journal:
    """What the experiments of one process share: the store, its writer, and a thread for upkeep.

    `queue` is how many calls may wait for their commit, `batch` how many one commit takes. With
    `upkeep` False, `Experiment.sweep` and `Experiment.refresh` are for the caller to call.

    >>> with Journal("memory://") as journal:
    ...     journal.store.experiments()
    []
    """

    def __init__(
        self, store: str | Store, *, queue: int = QUEUE, batch: int = BATCH, upkeep: bool = True
    ) -> None:
        self.store: Store = open_store(store) if isinstance(store, str) else store
        self.writer = Writer(self.store.append, queue=queue, batch=batch)
        self._members: list[Member] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._upkeep = upkeep

        def reopen() -> Journal:
            if not isinstance(store, str) or not self.store.shared:
                raise Forked(
                    "the experiment was opened before a fork, and its store serves one process: "
                    "open it in the child, such as in gunicorn's post_fork, or use postgresql://"
                )
            return Journal(store, queue=queue, batch=batch, upkeep=upkeep)

        self._processes = PerProcess(self, reopen)

    def here(self) -> "Journal":
        """This journal; after a fork another one like it, which the child has for itself."""
        return self._processes.get()

    def check(self) -> None:
        """Raise `Unavailable` if the store cannot be read."""
        self.store.experiments()

    def enter(self, member: Member) -> None:
        self._members = [*self._members, member]
        if self._upkeep and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="sojourn-upkeep", daemon=True)
            self._thread.start()

    def leave(self, member: Member) -> None:
        self._members = [m for m in self._members if m is not member]

    def _run(self) -> None:
        swept, pause = time.monotonic(), PULSE
        while not self._stop.wait(pause):
            began, busy = time.monotonic(), time.thread_time()
            due = began - swept >= SWEEP
            members = self._members
            news = self._news([member.name for member in members])
            for member in members:
                self._look_after(member, news.get(member.name), due)
            now = time.monotonic()
            swept = now if due else swept
            worked = time.thread_time() - busy
            pause = min(max(PULSE, 10.0 * worked), 5.0 * PULSE)  # at most a tenth of a core

    def _news(self, names: list[str]) -> dict[str, News]:
        try:
            return self.store.news(names) if self.store.shared else {}
        except LiveError:
            return {}

    def _look_after(self, member: Member, news: News | None, due: bool) -> None:
        try:
            member.refresh(news)
            if due and (news is None or news.overdue):
                member.sweep()
        except LiveError as error:
            log.warning("upkeep: %s", error)
        except Exception:
            log.exception("upkeep failed")

    def close(self) -> None:
        """Write what is queued, and close the store; after a fork, only what the child opened."""
        here = self._processes.opened
        if here is not self:
            if here is not None:
                here.close()
            return
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self.writer.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def run(steps: Steps[T]) -> T:
    """Do an operation."""
    try:
        answer = next(steps)
        while True:
            try:
                result = answer() if callable(answer) else answer.wait()
            except BaseException as error:
                answer = steps.throw(error)
            else:
                answer = steps.send(result)
    except StopIteration as done:
        value: T = done.value
        return value


async def arun(steps: Steps[T]) -> T:
    """`run` for asyncio: functions are called in threads."""
    try:
        answer = next(steps)
        while True:
            try:
                if callable(answer):
                    result = await asyncio.to_thread(answer)
                else:
                    result = await answer.arrive()
            except BaseException as error:
                answer = steps.throw(error)
            else:
                answer = steps.send(result)
    except StopIteration as done:
        value: T = done.value
        return value
