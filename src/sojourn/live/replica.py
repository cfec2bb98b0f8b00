"""The state of an experiment in the memory of a process, kept in step with the store.

Memory runs ahead of the store by what is queued. Visits have versions (an optimistic lock): when
the store rejects a change because another process updated the visit first, the counts of that
change are subtracted from the policy's memory, and the change is made again from the visit as it
is. When the store fails, or its arms change, memory is loaded again (`reload`).

The event loop takes the lock of a replica, so nothing that waits for the store happens under it.
A reload reads the store between two commits, which cuts the changes of this process in two: those
before are in the store or were rejected, those after are noted from then on. It makes new memory
from what it read, and then, under the lock, adds the changes after the cut and takes it into use.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from copy import copy
from functools import partial
from typing import Any, NamedTuple

from .answers import Choice
from .errors import Conflict, Ended, LiveError, NotFound, Unavailable
from .executors import Call, late
from .journal import Journal, Steps
from .learner import Learner, counted_by, more
from .records import Arm, Change, Counts, Event, Row
from .settings import Settings
from .stores.base import Stored, find_visit, loaded
from .transition import Transition
from .writer import Ticket

CACHE = 20_000  # visits kept in memory; others are read from the store when they are needed
ENDED = 5_000  # of them over, for late calls; more than may be queued, so all dropped are written
NOTED = 50  # decisions that `Experiment.recent` keeps
TRIES = 50


class Known(NamedTuple):
    """A visit as this process knows it; with the ticket of its last change, if made here."""

    row: Row
    ticket: Ticket | None


class Tried(NamedTuple):
    """The result of an attempt at a visit: an answer or an error, based on what was `known`.

    With a ticket if something was changed; if memory was `stale`, nothing was done.
    """

    known: Known
    answer: Any = None
    error: LiveError | None = None
    ticket: Ticket | None = None
    stale: bool = False


class Read(NamedTuple):
    """The content of the store at the cut; `history` for policies that learn more than counts."""

    stored: Stored
    shared: Counts
    history: tuple[Counts, Iterator[Event]] | None
    generation: int


Act = Callable[[Row], tuple[Any, Transition | None]]
"""Looks at a visit; the answer, and the transition if there is something to change."""

Make = Callable[[Settings], Learner]


class Replica:
    """One experiment in one process: arms, what the policy has learned, visits seen lately."""

    def __init__(
        self,
        name: str,
        settings: Settings,
        journal: Journal,
        make: Make,
        explores: Callable[[], bool] = lambda: True,
    ) -> None:
        self.name, self.settings, self.journal = name, settings, journal
        self.explores = explores
        self._make, self._text = make, settings.to_json()
        self.learner = make(settings)
        self.lock = threading.RLock()
        self.arms: Sequence[Arm] = ()
        self.positions: dict[str, int] = {}
        self.visits: OrderedDict[str, Known] = OrderedDict()
        self._over: deque[str] = deque()
        self.others: Counts = {}  # of other processes
        self.shared: Counts = {}  # of other experiments that it learns from
        self.writer_name, self.version = "", 0
        self.generation, self.loads = -1, 0
        self.conflicts = 0
        self.noted: deque[Choice] = deque(maxlen=NOTED)
        self._made, self._first = 0, 0  # changes so far, and the first one after the last cut
        self._since: dict[int, Change] | None = None  # changes after the cut of a reload
        self._rejected: deque[tuple[int, Change]] = deque()
        self._dirty = False
        self._reloading = threading.Lock()  # held for long: never taken in an event loop
        self._load: Call | None = None
        self._load_lock = threading.Lock()

    def stale(self) -> bool:
        """Whether memory may hold what the store does not."""
        return self._dirty or self.generation != self.journal.writer.generation

    def loading(self) -> Call:
        """A reload in a thread: one for all calls that find memory stale."""
        reload = partial(self.reload, if_stale=True)
        with self._load_lock:
            if self._load is None or self._load.done:
                self._load = self.journal.loading.submit(reload, shared=True)
            return self._load

    def reload(self, *, if_stale: bool = False) -> None:
        """Load memory from the store again; calls go on meanwhile unless it is stale."""
        if not self._reloading.acquire(timeout=self.journal.deadline):
            raise late()
        try:
            if if_stale and not self.stale():
                return
            for _ in range(TRIES):
                if self._reloaded():
                    return
            raise Unavailable("the store failed, or settings changed, whenever they were read")
        except BaseException:
            self._dirty = True  # there is something to load
            raise
        finally:
            with self.lock:
                self._since = None
            self._reloading.release()

    def _reloaded(self) -> bool:
        """One attempt; False if the store failed or the settings changed meanwhile."""
        text = loaded(self.journal.store, self.name).settings
        settings, fresh = self._learner_for(text)  # which may compile
        with self.lock:
            self._since, first = {}, self._made
            cut = self.journal.writer.ask(partial(self._read, settings, fresh.from_counters))
        read: Read = cut.wait(self.journal.deadline)
        stored = read.stored
        fresh.forget(stored.arms)
        with ExitStack() as locked:
            if read.history is None:
                fresh.absorb(stored.own)
                fresh.absorb(stored.others)
                fresh.absorb(read.shared)
                locked.enter_context(self.lock)
                self._retract_rejected()
            else:
                fresh.absorb(read.history[0])
                fresh.replay(self._caught_up(read.history[1], locked))
            if (stored.settings, read.generation) != (text, self.journal.writer.generation):
                return False
            for change in self._since.values():
                fresh.absorb(change.counts)
            self._use(settings, fresh, read, first)
            return True

    def _learner_for(self, text: str) -> tuple[Settings, Learner]:
        """A learner to fill, with the coins of the one in use if the settings are the same."""
        if text == self._text:
            return self.settings, copy(self.learner)
        settings = Settings.from_json(text)
        return settings, self._make(settings)

    def _read(self, settings: Settings, from_counters: bool) -> Read:
        """Read the store, in the writer's thread.

        If its connection was lost, it connects first: then what the lost one may still commit is
        counted either now or, because it has another name, as another process's.
        """
        store, writer = self.journal.store, self.journal.writer
        store.append(())
        stored = store.read([self.name]).get(self.name)
        if stored is None:
            raise NotFound(f"there is no experiment {self.name!r} in the store")
        shared = counted_by(store, settings.learns_from, stored.arms)
        history = None
        if not from_counters:
            ledger, events = store.audit_state(self.name, "counts")
            history = ledger.counts, events
        return Read(stored, shared, history, writer.generation)

    def _caught_up(self, events: Iterator[Event], locked: ExitStack) -> Iterator[Event]:
        """The events of the store; then, from here on under the lock, those after the cut."""
        yield from events
        locked.enter_context(self.lock)
        self._retract_rejected()
        assert self._since is not None
        for change in self._since.values():
            yield from change.events

    def _use(self, settings: Settings, fresh: Learner, read: Read, first: int) -> None:
        """Take new memory into use."""
        stored = read.stored
        same = stored.settings == self._text
        if same:
            fresh.begun = self.learner.begun
        if fresh.from_counters:
            fresh.conclude(self.learner if same and self.loads else None)
        if read.generation != self.generation:
            self.visits.clear()  # it may hold what was never written
        self.settings, self.learner, self._text = settings, fresh, stored.settings
        self.arms, self.version = stored.arms, stored.version
        self.positions = {arm.name: arm.position for arm in stored.arms}
        self.others, self.shared = stored.others, read.shared
        self.writer_name, self.generation = stored.writer, read.generation
        self._first, self._since, self._dirty = first, None, False
        self.loads += 1

    def refresh(self, stored: Stored | None = None) -> None:
        """Add what other processes have counted, and experiments that this one learns from.

        Reload if other processes changed settings or arms. What was read before the last change
        that this process knows is left alone.
        """
        store, loads = self.journal.store, self.loads
        arms, shares = self.arms, self.settings.learns_from
        if store.shared and stored is None:
            stored = store.read([self.name]).get(self.name)
        if stored is not None and stored.version < self.version:
            return
        known = self.version, self.writer_name
        changed = store.shared and (stored is None or (stored.version, stored.writer) != known)
        if changed or self.stale():
            self.reload(if_stale=not changed)
            return
        if stored is None and not shares:
            return
        others = self.others if stored is None else stored.others
        shared = counted_by(store, shares, arms)
        with self.lock:
            if loads == self.loads and self.learner.from_counters:
                self.learner.absorb(more(others, self.others))
                self.learner.absorb(more(shared, self.shared))
                self.learner.conclude()
                self.others, self.shared = others, shared

    def _remember(self, row: Row, ticket: Ticket) -> None:
        self.visits[row.id] = Known(row, ticket)
        self.visits.move_to_end(row.id)
        if len(self.visits) > CACHE:
            self.visits.popitem(last=False)
        if row.status != "open":
            self._over.append(row.id)
            if len(self._over) > ENDED:
                self.visits.pop(self._over.popleft(), None)

    def _retract_rejected(self) -> None:
        """Undo in memory the changes that the store rejected (optimistic-lock conflicts)."""
        while self._rejected:
            number, change = self._rejected.popleft()
            if number >= self._first:
                self.conflicts += 1
                if not self.learner.retract(change.counts):
                    self._dirty = True
            if self._since is not None:
                self._since.pop(number, None)
            self.visits.pop(change.row.id, None)

    def known(self, visit: str) -> Known | None:
        """The visit as this process has it in memory, if it has."""
        with self.lock:
            self._retract_rejected()
            return self.visits.get(visit)

    def fetch(self, visit: str) -> Row:
        """The visit as the store has it."""
        row = find_visit(self.journal.store, self.name, visit)
        if row is None:
            raise NotFound(f"there is no visit {visit!r} in {self.name!r}")
        self._know_arm(row.arm)
        return row

    def _know_arm(self, position: int | None) -> None:
        """Load again if another process has just added an arm."""
        if position is not None and position >= len(self.arms):
            self.reload()

    def _stored(self, visit: str, *, opens: bool) -> Steps[Known]:
        """The visit as the store has it; a new one if it may be opened."""
        try:
            return Known((yield partial(self.fetch, visit)), None)
        except NotFound:
            if not opens:
                raise
            yield partial(loaded, self.journal.store, self.name)  # which may have been dropped
            return self._new(visit)

    def _new(self, visit: str) -> Known:
        return Known(Row(self.name, visit), None)

    def _attempt(
        self, visit: str, act: Act, *, opens: bool = False, guess: bool = False
    ) -> Steps[Any]:
        """Let `act` transition the visit and wait for the commit; retry after a conflict.

        With `opens`, one that the store does not have is new. A `guess` that it is new saves a
        read of the store; if that is wrong, there is a conflict. A new one that the store rejects,
        and does not have, is another variant's: `NotFound`.
        """
        for _ in range(TRIES):
            if self.stale():
                yield self.loading()
            known = self.known(visit)
            guess = guess and known is None
            if known is None:
                known = self._new(visit) if guess else (yield from self._stored(visit, opens=opens))
            tried = self._try(known, act)
            if tried.ticket is not None:
                if (yield tried.ticket):
                    return tried.answer
                opens = False
            elif not (guess or tried.stale) and (yield from self._is_current(tried.known)):
                if tried.error is not None:
                    raise tried.error
                return tried.answer
            guess = guess and tried.stale
        raise Conflict(f"visit {visit!r} was changed by other processes {TRIES} times in a row")

    def _is_current(self, known: Known) -> Steps[bool]:
        """Whether a visit that was only read is committed, and no other process has changed it."""
        if known.ticket is None:
            return True
        if not (yield known.ticket):
            return False
        if not self.journal.store.shared:
            return True
        row = yield partial(self.fetch, known.row.id)
        if row.version == known.row.version:
            return True
        self._forget(known)
        return False

    def _forget(self, known: Known) -> None:
        with self.lock:
            if self.visits.get(known.row.id) is known:
                del self.visits[known.row.id]

    def _try(self, known: Known, act: Act) -> Tried:
        """One transition, without waiting for its commit."""
        writer = self.journal.writer
        writer.reserve()
        place = True
        try:
            with self.lock:
                self._retract_rejected()
                if self.stale():
                    return Tried(known, stale=True)
                known = self.visits.get(known.row.id, known)
                if (known.row.arm or 0) >= len(self.arms):
                    self._dirty = True  # another process has just added this arm
                    return Tried(known, stale=True)
                answer, transition = act(known.row)
                if transition is None:
                    return Tried(known, answer)
                change = transition.change()
                place = False
                rejected = partial(self._rejected.append, (self._made, change))
                ticket = writer.submit(change, self.generation, rejected)
                if self._since is not None:
                    self._since[self._made] = change
                self._made += 1
                self._remember(change.row, ticket)
                return Tried(known, answer, ticket=ticket)
        except (Conflict, NotFound, Ended) as error:
            return Tried(known, error=error)
        except Unavailable:
            raise
        except Exception:
            self._dirty = True  # the policy may have absorbed half of it
            raise
        finally:
            if place:
                writer.release()

    def _transition(self, row: Row) -> Transition:
        return Transition(row, self.settings, self.learner, exploring=self.explores())
