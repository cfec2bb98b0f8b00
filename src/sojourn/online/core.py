"""What a process has in memory of an experiment, and how it stays what the store has.

Memory runs ahead of the store by what is queued. When the store fails, or when another process
changed a visit first, memory is made again from the store (`reload`), and what was going on is
tried again from there.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, NamedTuple

from ..users import User
from .errors import Conflict, Ended, LiveError, NotFound
from .journal import Journal
from .learner import Learner
from .records import Arm, Counts, Row
from .settings import Settings
from .turn import Turn
from .writer import Ticket

CACHE = 100_000
"""Visits kept in memory; others are read from the store when they are needed."""

TRIES = 50

Steps = Generator[Any, Any, Any]
STALE = object()
"""An answer within: memory must be made again."""


class Known(NamedTuple):
    """A visit as this process knows it; with the ticket of its last change, if made here."""

    row: Row
    ticket: Ticket | None


Act = Callable[[Row], tuple[Any, Turn | None]]
"""Looks at a visit; the answer, and the turn if there is something to change."""


class Core:
    """One experiment in one process: arms, what the policy has learned, visits seen lately."""

    def __init__(self, name: str, settings: Settings, journal: Journal, learner: Learner) -> None:
        self.name, self.settings, self.journal = name, settings, journal
        self.learner = learner
        self.lock = threading.RLock()
        self.arms: list[Arm] = []
        self.visits: OrderedDict[str, Known] = OrderedDict()
        self.others: Counts = {}
        self.writer_name = ""
        self.generation, self.loads = -1, 0
        self.conflicts = 0

    @property
    def user(self) -> User:
        """The user model."""
        return self.settings.user

    def stale(self) -> bool:
        """Whether memory may hold what the store does not."""
        return self.generation != self.journal.writer.generation

    def reload(self) -> None:
        """Make memory again from the store, once all that is queued is written."""
        store, learner = self.journal.store, self.learner
        with self.lock:
            self.journal.writer.barrier().wait()
            generation = self.journal.writer.generation
            loaded = store.load(self.name)
            if loaded is None:
                raise NotFound(f"there is no experiment {self.name!r}")
            own, others = store.counts(self.name)
            earlier = learner.memory if self.loads else None
            self.arms = loaded[1]
            learner.forget(self.arms)
            if learner.from_counters:
                learner.absorb(own)
                learner.absorb(others)
                learner.conclude(earlier)
            else:
                learner.replay(store.history(self.name)[1])
            self.others, self.writer_name = others, store.writer
            self.visits.clear()
            self.generation, self.loads = generation, self.loads + 1

    def refresh(self) -> None:
        """Add what other processes have counted since the last time, and see new arms."""
        store, loads = self.journal.store, self.loads
        loaded, (_, others) = store.load(self.name), store.counts(self.name)
        if self.stale() or store.writer != self.writer_name or (loaded or ("", []))[1] != self.arms:
            self.reload()
            return
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

    def _fetch(self, visit: str) -> Row:
        row = self.journal.store.visit(self.name, visit)
        if row is None:
            raise NotFound(f"there is no visit {visit!r} in {self.name!r}")
        return row

    def looking(self, visit: str) -> Steps:
        """The visit as it was when this process saw it last."""
        if self.stale():
            yield self.reload
        known = self.visits.get(visit)
        if known is None:
            return Known((yield partial(self._fetch, visit)), None)
        return known

    def fetching(self, visit: str) -> Steps:
        """The visit as the store has it."""
        return (yield partial(self._fetch, visit))

    def _attempt(self, visit: str, act: Act) -> Steps:
        """Let `act` turn the visit, and wait until that is durable; again if others came first."""
        for _ in range(TRIES):
            known = yield from self.looking(visit)
            answer, known, ticket = self._try(known, act)
            if ticket is not None:
                if (yield ticket):
                    return answer
                self.conflicts += 1
                yield self.reload
            elif answer is not STALE and (yield from self._stands(known)):
                if isinstance(answer, LiveError):
                    raise answer
                return answer
        raise Conflict(f"visit {visit!r} is changed by others all the time")

    def _stands(self, known: Known) -> Steps:
        """Whether what was answered without a change rests on what the store has."""
        if known.ticket is None:
            return True
        if not (yield known.ticket):
            yield self.reload
            return False
        if not self.journal.store.shared:
            return True
        row = yield partial(self._fetch, known.row.id)
        if row.version == known.row.version:
            return True
        self._forget(known)
        return False

    def _forget(self, known: Known) -> None:
        with self.lock:
            if self.visits.get(known.row.id) is known:
                del self.visits[known.row.id]

    def _try(self, known: Known, act: Act) -> tuple[Any, Known, Ticket | None]:
        """One turn: the answer or an error, what it rests on, and the ticket of what it changed."""
        writer = self.journal.writer
        writer.reserve()
        place = True
        try:
            with self.lock:
                if self.stale():
                    return STALE, known, None
                known = self.visits.get(known.row.id, known)
                answer, turn = act(known.row)
                if turn is None:
                    return answer, known, None
                change = turn.change()
                place = False
                ticket = writer.submit(change, self.generation)
                self._remember(change.row, ticket)
                return answer, known, ticket
        except (NotFound, Ended) as error:
            return error, known, None
        finally:
            if place:
                writer.release()

    def _turn(self, row: Row) -> Turn:
        return Turn(row, self.settings, self.learner)
