"""The experiments that a process serves: found in the store, created and changed.

An experiment is opened when it is first asked for, or has overdue visits. One that nobody asks for
rests after a while: upkeep leaves it out until it is asked for again.
"""

import asyncio
import json
import logging
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ..live import (
    Branch,
    Broken,
    Busy,
    Experiment,
    Journal,
    LiveError,
    NotFound,
    Settings,
    Unavailable,
)
from ..live.enrolment import Given, check_served, drop_with_variants, enrol, enrol_variants
from ..live.executors import late
from ..live.learner import Learner
from ..live.rollout.allocation import names_of, whole_of
from ..live.stores.base import Stored, find
from ..validation import InputError
from .auth.keys import Key

log = logging.getLogger("sojourn.service")

LONGEST_REASON = 500
UNREADABLE = (json.JSONDecodeError, KeyError, TypeError, AttributeError)
REST, ROUND = 10.0, 1.0
"""Seconds without a call after which an experiment rests, and between two looks for that."""

T = TypeVar("T")


class Trouble(NamedTuple):
    """Why an experiment is not served, with its settings and arms in the store then."""

    reason: str
    stored: Stored | None


class Catalog:
    """The experiments of one journal, each opened once. Blocking work runs in threads.

    One of `resting` is refreshed before it is used again; those with variants never rest. One that
    cannot be opened is `broken`: calls of it raise `Broken`, until its settings change. `tell` is
    called with the name of an experiment and the outcome of a reward; `webhook` is the address that
    is called when a guardrail acts.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        compiled: bool = True,
        tell: Callable[[str, str], None] = lambda experiment, outcome: None,
        webhook: str | None = None,
    ) -> None:
        self.journal, self.compiled, self.tell = journal, compiled, tell
        self.webhook = webhook
        self.experiments: dict[str, Experiment] = {}
        self.resting: set[str] = set()
        self.used: dict[str, float] = {}
        self.broken: dict[str, Trouble] = {}
        self.stopping = asyncio.Event()
        self._lock = asyncio.Lock()

    async def names(self, key: Key | None) -> list[str]:
        """The experiments that a key, if one is needed, is for."""
        names = await self.journal.show(partial(self.journal.store.read, counts=False))
        for name in names:
            if key is not None and not key.allows(name):
                await self.whole_for(key, name)
        return sorted(name for name in names if self.allows(key, name))

    def whole_of(self, name: str) -> str | None:
        """The experiment that the one of this name is a variant of."""
        whole = whole_of(name)
        found = self.experiments.get(whole) if whole else None
        known = found is not None and name in {each.name for each in found.variants.values()}
        return whole if known else None

    async def whole_for(self, key: Key, name: str) -> str | None:
        """`whole_of`, also if another process has just made what the key is for."""
        whole = whole_of(name)
        if whole is not None and whole not in self.experiments and key.allows(whole):
            with suppress(NotFound, Broken):
                await self._found(whole)
        return self.whole_of(name)

    def allows(self, key: Key | None, name: str) -> bool:
        """Whether a key, if one is needed, is for an experiment, or for what it is a variant of."""
        if key is None or key.allows(name):
            return True
        whole = self.whole_of(name)
        return whole is not None and key.allows(whole)

    async def experiment(self, name: str) -> Experiment:
        """The experiment of this name, also if another process has made it.

        `NotFound` if there is none, `Broken` if it cannot be served.
        """
        whole = whole_of(name)
        if whole is not None and not {name, whole} & self.experiments.keys():
            with suppress(NotFound, Broken):  # it says whether its variants explore, if it has some
                await self._found(whole)
        return await self._found(name)

    def in_use(self, name: str) -> Experiment | None:
        """The experiment, if it is open and does not rest; it will not for a while."""
        found = self.experiments.get(name)
        if found is None or found.dropped or name in self.resting:
            return None
        self.used[name] = time.monotonic()
        return found

    async def _found(self, name: str) -> Experiment:
        if name in self.resting:
            await self.journal.show(partial(self._wake, name), self.journal.reading)
        found = self.in_use(name)
        if found is not None:
            return found
        load = partial(find, self.journal.store, name)
        stored = await self.journal.show(load, self.journal.reading)
        trouble = self.broken.get(name)
        if stored is None:
            self.broken.pop(name, None)
            raise NotFound(f"there is no experiment {name!r}")
        if trouble is not None and trouble.stored == stored:
            raise _broken(name, trouble.reason)
        return await self.changing(lambda: self._opened(name))

    def _wake(self, name: str) -> None:
        branch = self.experiments[name].branch
        self.journal.enter(branch)
        branch.refresh()
        self.resting.discard(name)

    async def keep_up(self) -> None:
        """Until cancelled: open what has overdue visits, and let rest what nobody asks for."""
        while True:
            await asyncio.sleep(ROUND)
            try:
                for name in self.journal.overdue - self.broken.keys():
                    if self.in_use(name) is None:
                        await self.experiment(name)
            except LiveError as error:
                log.warning("overdue visits have to wait: %s", error)
            idle = time.monotonic() - REST
            for name, found in list(self.experiments.items()):
                if name not in self.resting and self.used[name] < idle and self._is_alone(found):
                    self.resting.add(name)
                    self.journal.leave(found.branch)

    def _is_alone(self, found: Experiment) -> bool:
        """Whether an experiment neither has variants nor is one."""
        return found.allocation is None and whole_of(found.name) not in self.experiments

    async def make(
        self, name: str, arms: Sequence[str], settings: Settings
    ) -> tuple[Experiment, bool]:
        """An experiment with these settings, and whether it is new."""
        make = partial(Learner, seed=0, compiled=self.compiled)

        def work() -> tuple[Experiment, bool]:
            new = enrol(self.journal.store, name, settings, arms, make)
            self._reload(name)
            return self._opened(name), new

        return await self.changing(work)

    async def make_divided(self, name: str, given: Given) -> tuple[Experiment, bool]:
        """An experiment with these variants, and whether it is new."""
        make = partial(Learner, seed=0, compiled=self.compiled)

        def work() -> tuple[Experiment, bool]:
            variants, new = enrol_variants(self.journal.store, name, given, make)
            for each in (*names_of(name, tuple(variants)).values(), name):
                self._reload(each)
            return self._opened(name), new

        return await self.changing(work)

    def _reload(self, name: str) -> None:
        if name in self.experiments and not self.experiments[name].dropped:
            self.experiments[name]._reload()

    async def drop(self, name: str) -> list[str]:
        """Delete an experiment, also a broken one, with its variants; the names of all deleted.

        `NotFound` if there is none, `Conflict` if it is a variant itself.
        """

        def work() -> None:
            for each in drop_with_variants(self.journal.store, name):
                dropped.append(each)
                self.resting.discard(each)
                found = self.experiments.pop(each, None)
                if found is not None:
                    found._leave()
                self.broken.pop(each, None)

        dropped: list[str] = []
        await self.changing(work)
        return dropped

    async def changing(self, work: Callable[[], T]) -> T:
        """Change experiments in a thread: one call at a time, and not cancelled halfway.

        All of it together, the wait for its turn included, has the deadline.
        """

        async def alone() -> T:
            try:
                async with asyncio.timeout(self.journal.deadline):
                    await self._lock.acquire()
            except TimeoutError:
                raise late() from None
            try:
                return await asyncio.to_thread(work)
            finally:
                self._lock.release()

        return await self.journal.finish(alone(), self.journal.deadline)

    async def check_all(self) -> None:
        """Open what has variants, for its guardrail, and what cannot be served, to log why."""
        try:
            for name in await self.journal.show(self._not_plain):
                with suppress(Broken, NotFound):  # it is logged, or was dropped just now
                    await self.experiment(name)
        except (Busy, Unavailable) as error:
            log.warning("experiments are opened when they are asked for: %s", error)

    def _not_plain(self) -> list[str]:
        """All but those that have visits of their own, and can be served."""
        found = self.journal.store.read(counts=False)
        for name, stored in list(found.items()):
            with suppress(Exception):
                check_served(Settings.from_json(stored.settings), stored.arms)
                del found[name]
        return list(found)

    def _opened(self, name: str) -> Experiment:
        self.used[name] = time.monotonic()
        if name not in self.experiments or self.experiments[name].dropped:
            stored = find(self.journal.store, name)
            try:
                found = Experiment.open(
                    name, self.journal, compiled=self.compiled, webhook=self.webhook,
                    branch=self._branch,
                )  # fmt: skip
            except (Busy, NotFound, Unavailable):
                raise
            except Exception as error:  # whatever it is, others are served
                raise self._trouble(name, stored, error) from error
            self.experiments[name] = found
            self.resting.discard(name)
            self.broken.pop(name, None)
        return self.experiments[name]

    def _branch(self, name: str) -> Branch:
        try:
            return self._opened(name).branch
        except NotFound:
            raise InputError(f"its variant {name!r} is missing") from None

    def _trouble(self, name: str, stored: Stored | None, error: Exception) -> Broken:
        reason = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        if isinstance(error, UNREADABLE):
            reason = f"its settings cannot be read ({reason})"
        reason = " ".join(reason.split())[:LONGEST_REASON].rstrip(".: ")
        self.broken[name] = Trouble(reason, stored)
        log.warning(
            "experiment %r is not served: %s", name, reason,
            exc_info=None if isinstance(error, InputError) else error,
        )  # fmt: skip
        return _broken(name, reason)


def _broken(name: str, reason: str) -> Broken:
    return Broken(
        f"experiment {name!r} cannot be served: {reason} (give it other settings, or drop it)"
    )


class UnavailableStore:
    """Stands in for a store that cannot be opened yet: whatever is asked of it is `Unavailable`."""

    writer, shared, deadline = "", False, math.inf

    def __getattr__(self, name: str) -> Any:
        def unavailable(*args: Any, **options: Any) -> Any:
            raise Unavailable("the store could not be opened yet")

        return unavailable

    def close(self) -> None: ...


def unavailable() -> Journal:
    """A journal for the time until there is one."""
    store: Any = UnavailableStore()
    return Journal(store, upkeep=False)
