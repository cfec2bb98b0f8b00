"""The experiments that a process serves: found in the store, opened once, made and changed."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from ..live import Experiment, Journal, LiveError, NotFound, Settings
from ..live.enrolment import enrol

log = logging.getLogger("sojourn.service")

T = TypeVar("T")


class Catalog:
    """The experiments of one journal, each opened once. Blocking work runs in threads.

    `tell` is called with the name of an experiment and what became of a reward.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        compiled: bool = True,
        tell: Callable[[str, str], None] = lambda experiment, outcome: None,
    ) -> None:
        self.journal, self.compiled, self.tell = journal, compiled, tell
        self.experiments: dict[str, Experiment] = {}
        self.stopping = asyncio.Event()
        self._lock = asyncio.Lock()

    async def names(self) -> list[str]:
        return await self.journal.show(self.journal.store.experiments)

    async def experiment(self, name: str) -> Experiment:
        """The experiment of this name, also if another process has made it; else `NotFound`."""
        found = self.experiments.get(name)
        if found is not None and not found.dropped:
            return found
        load = partial(self.journal.store.load, name)
        if await self.journal.show(load, self.journal.reading) is None:
            raise NotFound(f"there is no experiment {name!r}")
        return await self.changing(lambda: self._opened(name))

    async def make(
        self, name: str, arms: Sequence[str], settings: Settings, *, compiled: bool = True
    ) -> tuple[Experiment, bool]:
        """An experiment with these settings, and whether it is new."""

        def work() -> tuple[Experiment, bool]:
            new = enrol(self.journal.store, name, settings, arms)
            if name in self.experiments and not self.experiments[name].dropped:
                self.experiments[name].reload()
            return self._opened(name, compiled), new

        return await self.changing(work)

    async def drop(self, name: str) -> None:
        """Delete an experiment, also one that cannot be opened; `NotFound` if there is none."""

        def work() -> None:
            found = self.experiments.pop(name, None)
            found.drop() if found is not None else self.journal.store.drop(name)

        await self.changing(work)

    async def changing(self, work: Callable[[], T]) -> T:
        """Change experiments in a thread: one call at a time, and not cancelled halfway.

        Who waits until the deadline does not know what came of it, as with any other call.
        """

        async def alone() -> T:
            async with self._lock:
                return await asyncio.to_thread(work)

        return await self.journal.finish(alone())

    async def open_all(self) -> None:
        """Open what the store has; what cannot be served is skipped with a warning."""
        for name in await self.names():
            try:
                await self.experiment(name)
            except (ValueError, LiveError) as error:
                log.warning("experiment %r is not served: %s", name, error)

    def _opened(self, name: str, compiled: bool = True) -> Experiment:
        if name not in self.experiments or self.experiments[name].dropped:
            compiled = compiled and self.compiled
            self.experiments[name] = Experiment.open(name, self.journal, compiled=compiled)
        return self.experiments[name]
