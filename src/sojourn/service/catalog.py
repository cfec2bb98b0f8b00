"""The experiments that a process serves: found in the store, opened once, created and changed."""

import asyncio
import json
import logging
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ..engine.calls import calls_for
from ..live import Branch, Broken, Busy, Experiment, Journal, NotFound, Settings, Unavailable
from ..live.enrolment import Given, children_in, drop_with_variants, enrol, enrol_variants
from ..live.executors import late
from ..live.learner import Learner
from ..live.rollout.allocation import names_of, whole_of
from ..live.stores.base import Stored, find
from ..policies import Policy
from ..validation import InputError
from .auth.keys import Key

log = logging.getLogger("sojourn.service")

LONGEST_REASON = 500
UNREADABLE = (json.JSONDecodeError, KeyError, TypeError, AttributeError)
COMPILING = 120.0  # seconds that a change may take beyond the deadline, for each policy

T = TypeVar("T")


class Trouble(NamedTuple):
    """Why an experiment is not served, with its settings and arms in the store then."""

    reason: str
    stored: Stored | None


class Catalog:
    """The experiments of one journal, each opened once. Blocking work runs in threads.

    One that cannot be opened is `broken`: calls of it raise `Broken`, until its settings change.
    `tell` is called with the name of an experiment and the outcome of a reward; `webhook` is the
    address that is called when a guardrail acts.
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
        self.broken: dict[str, Trouble] = {}
        self.stopping = asyncio.Event()
        self._lock, self._compiling = asyncio.Lock(), asyncio.Lock()

    async def names(self) -> list[str]:
        return list(await self.journal.show(partial(self.journal.store.read, counts=False)))

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

    async def _found(self, name: str) -> Experiment:
        found = self.experiments.get(name)
        if found is not None and not found.dropped:
            return found
        load = partial(find, self.journal.store, name)
        stored = await self.journal.show(load, self.journal.reading)
        trouble = self.broken.get(name)
        if stored is None:
            self.broken.pop(name, None)
            raise NotFound(f"there is no experiment {name!r}")
        if trouble is not None and trouble.stored == stored:
            raise _broken(name, trouble.reason)
        for child in children_in(stored.settings, name).values():  # which may have to be compiled
            with suppress(NotFound):
                await self._found(child)

        policies: list[Policy] = []
        with suppress(Exception):  # the attempt to open it says what is wrong
            policies = [Settings.from_json(stored.settings).policy]
        return await self.changing(lambda: self._opened(name), policies)

    async def make(
        self, name: str, arms: Sequence[str], settings: Settings, *, compiled: bool = True
    ) -> tuple[Experiment, bool]:
        """An experiment with these settings, and whether it is new."""
        compiled = compiled and self.compiled
        make = partial(Learner, seed=0, compiled=compiled)

        def work() -> tuple[Experiment, bool]:
            new = enrol(self.journal.store, name, settings, arms, make)
            self._reload(name)
            return self._opened(name, compiled), new

        return await self.changing(work, [settings.policy] if compiled else [])

    async def make_divided(self, name: str, given: Given) -> tuple[Experiment, bool]:
        """An experiment with these variants, and whether it is new."""
        make = partial(Learner, seed=0, compiled=self.compiled)

        def work() -> tuple[Experiment, bool]:
            variants, new = enrol_variants(self.journal.store, name, given, make)
            for each in (*names_of(name, tuple(variants)).values(), name):
                self._reload(each)
            return self._opened(name), new

        policies = [each.policy for each in given.variants if each.policy is not None]
        return await self.changing(work, policies)

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
                found = self.experiments.pop(each, None)
                if found is not None:
                    found._leave()
                self.broken.pop(each, None)

        dropped: list[str] = []
        await self.changing(work)
        return dropped

    async def changing(self, work: Callable[[], T], policies: Sequence[Policy] = ()) -> T:
        """Change experiments in a thread: one call at a time, and not cancelled halfway.

        Their policies are compiled before, so that changes of other experiments do not wait for
        that. The wait for its turn has the deadline, and so has what the store is asked for; all of
        it together if there is nothing to compile.
        """
        if not self.compiled:
            policies = ()

        async def alone() -> T:
            for policy in policies:
                async with self._compiling:
                    await asyncio.to_thread(_compile, policy)
            try:
                async with asyncio.timeout(self.journal.deadline):
                    await self._lock.acquire()
            except TimeoutError:
                raise late() from None
            try:
                return await asyncio.to_thread(work)
            finally:
                self._lock.release()

        return await self.journal.finish(alone(), self.journal.deadline + COMPILING * len(policies))

    async def open_all(self) -> None:
        """Open what the store has; of what cannot be served, now or at all, a warning is logged."""
        for name in await self.names():
            try:
                await self.experiment(name)
            except (Broken, NotFound):
                pass  # it is logged, or was dropped just now
            except (Busy, Unavailable) as error:
                log.warning("experiment %r is opened when it is asked for: %s", name, error)

    def _opened(self, name: str, compiled: bool = True) -> Experiment:
        if name not in self.experiments or self.experiments[name].dropped:
            stored = find(self.journal.store, name)
            compiled = compiled and self.compiled
            try:
                found = Experiment.open(
                    name, self.journal, compiled=compiled, webhook=self.webhook,
                    branch=self._branch,
                )  # fmt: skip
            except (Busy, NotFound, Unavailable):
                raise
            except Exception as error:  # whatever it is, others are served
                raise self._trouble(name, stored, error) from error
            self.experiments[name] = found
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


def _compile(policy: Policy) -> None:
    with suppress(Exception):  # the attempt to use it says what is wrong
        calls_for(policy, compiled=True)


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
