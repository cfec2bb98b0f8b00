"""What a process has in memory of an experiment, and how it stays what the store has.

Memory runs ahead of the store by what is queued. Visits have versions (an optimistic lock): when
the store rejects a change because another process updated the visit first, the counts of that
change are subtracted from the policy's memory, and the change is made again from the visit as it
is. When the store fails, memory is loaded again (`reload`).
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from .errors import Conflict, Ended, LiveError, NotFound, Unavailable
from .journal import Journal, Steps
from .learner import Learner
from .records import Arm, Change, Counts, News, Row
from .settings import Settings
from .stores.base import loaded
from .turn import Turn
from .visit import Choice
from .writer import Ticket

CACHE = 100_000  # visits kept in memory; others are read from the store when they are needed
NOTED = 50  # decisions that `Experiment.recent` keeps
TRIES = 50


class Known(NamedTuple):
    """A visit as this process knows it; with the ticket of its last change, if made here."""

    row: Row
    ticket: Ticket | None


class Tried(NamedTuple):
    """What came of an attempt at a visit: an answer or an error, resting on what was `known`.

    With a ticket if something was changed; if memory was `stale`, nothing was done.
    """

    known: Known
    answer: Any = None
    error: LiveError | None = None
    ticket: Ticket | None = None
    stale: bool = False


Act = Callable[[Row], tuple[Any, Turn | None]]
"""Looks at a visit; the answer, and the turn if there is something to change."""

Look = Callable[[str], Steps[Known]]
Make = Callable[[Settings], Learner]


class Replica:
    """One experiment in one process: arms, what the policy has learned, visits seen lately."""

    def __init__(self, name: str, settings: Settings, journal: Journal, make: Make) -> None:
        self.name, self.settings, self.journal = name, settings, journal
        self._make, self._text = make, settings.to_json()
        self.learner = make(settings)
        self.lock = threading.RLock()
        self.arms: list[Arm] = []
        self.visits: OrderedDict[str, Known] = OrderedDict()
        self.others: Counts = {}
        self.writer_name = ""
        self.generation, self.loads = -1, 0
        self.conflicts = 0
        self.noted: deque[Choice] = deque(maxlen=NOTED)
        self._rejected: deque[tuple[int, Change]] = deque()
        self._dirty = False

    def stale(self) -> bool:
        """Whether memory may hold what the store does not."""
        return self._dirty or self.generation != self.journal.writer.generation

    def reload(self) -> None:
        """Load memory from the store again, once all that is queued is written."""
        store = self.journal.store
        text, _ = loaded(store, self.name)
        made = self._learner_for(text)  # which may compile: not while others wait
        with self.lock:
            self.journal.writer.barrier().wait()
            self._dirty = True  # until all of it is done
            generation = self.journal.writer.generation
            text, self.arms = loaded(store, self.name)
            own, others = store.counts(self.name)
            earlier = self.learner.memory if self.loads else None
            if text != self._text:
                if made is None or made[0].to_json() != text:
                    made = self._learner_for(text)
                assert made is not None
                (self.settings, self.learner), self._text, earlier = made, text, None
            learner = self.learner
            learner.forget(self.arms)
            if learner.from_counters:
                learner.absorb(own)
                learner.absorb(others)
                learner.conclude(earlier)
            else:
                counts, events = store.history(self.name)
                learner.absorb(counts)
                learner.replay(events)
            self.others, self.writer_name = others, store.writer
            self.visits.clear()
            self._rejected.clear()
            self._dirty = False
            self.generation, self.loads = generation, self.loads + 1

    def _learner_for(self, text: str) -> tuple[Settings, Learner] | None:
        """A learner for settings that are not those in use."""
        if text == self._text:
            return None
        settings = Settings.from_json(text)
        return settings, self._make(settings)

    def refresh(self, news: News | None = None) -> None:
        """Add what other processes have counted; reload if they changed settings or arms."""
        store, loads = self.journal.store, self.loads
        if store.shared and news is None:
            news = store.news([self.name]).get(self.name)
        known = self._text, self.arms, self.writer_name
        if self.stale() or (store.shared and (news is None or news[:3] != known)):
            self.reload()
            return
        if news is None:
            return
        others = news.others
        with self.lock:
            if loads == self.loads and self.learner.from_counters:
                more = {k: n - self.others.get(k, 0.0) for k, n in others.items()}
                self.learner.absorb({key: n for key, n in more.items() if n})
                self.learner.conclude()
                self.others = others

    def _remember(self, row: Row, ticket: Ticket) -> None:
        self.visits[row.id] = Known(row, ticket)
        self.visits.move_to_end(row.id)
        if len(self.visits) > CACHE:
            self.visits.popitem(last=False)

    def _retract_rejected(self) -> None:
        """Undo in memory the changes that the store rejected (optimistic-lock conflicts)."""
        while self._rejected:
            loads, change = self._rejected.popleft()
            if loads == self.loads:
                self.conflicts += 1
                if not self.learner.retract(change.counts):
                    self._dirty = True
                self.visits.pop(change.row.id, None)

    def _known(self, visit: str) -> Known | None:
        with self.lock:
            self._retract_rejected()
            return self.visits.get(visit)

    def fetch(self, visit: str) -> Row:
        """The visit as the store has it."""
        row = self.journal.store.visit(self.name, visit)
        if row is None:
            raise NotFound(f"there is no visit {visit!r} in {self.name!r}")
        self._know_arm(row.arm)
        return row

    def _know_arm(self, position: int | None) -> None:
        """Load again if another process has just added an arm."""
        if position is not None and position >= len(self.arms):
            self.reload()

    def looking(self, visit: str) -> Steps[Known]:
        """The visit from memory, else from the store."""
        if self.stale():
            yield self.reload
        known = self._known(visit)
        if known is None:
            return Known((yield partial(self.fetch, visit)), None)
        return known

    def _attempt(self, visit: str, act: Act, look: Look | None = None) -> Steps[Any]:
        """Let `act` turn the visit and wait for the commit; retry after a conflict."""
        for _ in range(TRIES):
            known = yield from (look or self.looking)(visit)
            tried = self._try(known, act)
            if tried.ticket is not None:
                if (yield tried.ticket):
                    return tried.answer
            elif not tried.stale and (yield from self._is_current(tried.known)):
                if tried.error is not None:
                    raise tried.error
                return tried.answer
        raise crowded(visit)

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
        """One turn, without waiting for its commit."""
        writer = self.journal.writer
        writer.reserve()
        place = True
        try:
            with self.lock:
                self._retract_rejected()
                if self.stale():
                    return Tried(known, stale=True)
                known = self.visits.get(known.row.id, known)
                answer, turn = act(known.row)
                if turn is None:
                    return Tried(known, answer)
                change = turn.change()
                place = False
                rejected = partial(self._rejected.append, (self.loads, change))
                ticket = writer.submit(change, self.generation, rejected)
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

    def _turn(self, row: Row) -> Turn:
        return Turn(row, self.settings, self.learner)


def crowded(visit: str) -> Conflict:
    """The error when all retries met a conflict."""
    return Conflict(f"visit {visit!r} was changed by other processes {TRIES} times in a row")
