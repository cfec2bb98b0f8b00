"""A store that forgets when the process ends."""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

from ..records import Arm, Change, Counts, Event, Key, Row
from .base import answers, chains, merged


class MemoryStore:
    """Everything in dictionaries: for tests, first steps, and as the ceiling of what is possible.

    >>> MemoryStore().experiments()
    []
    """

    writer = "memory"
    shared = False

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._settings: dict[str, tuple[str, list[Arm]]] = {}
        self._visits: dict[tuple[str, str], Row] = {}
        self._events: dict[str, list[Event]] = defaultdict(list)
        self._index: dict[tuple[str, str, int, str], Event] = {}
        self._counts: dict[str, Counter[Key]] = defaultdict(Counter)

    def experiments(self) -> list[str]:
        """The names of all experiments."""
        return sorted(self._settings)

    def load(self, experiment: str) -> tuple[str, list[Arm]] | None:
        """The settings and the arms of an experiment."""
        return self._settings.get(experiment)

    def save(self, experiment: str, settings: str, arms: Sequence[Arm] = ()) -> None:
        """Make or change an experiment."""
        with self._lock:
            known = self._settings.get(experiment, ("", []))[1]
            self._settings[experiment] = settings, merged(known, arms)

    def append(self, changes: Sequence[Change]) -> list[bool]:
        """Apply changes."""
        joined, found = chains(changes, self._clock())
        applied = set()
        with self._lock:
            for row, events, counts in joined:
                key = row.experiment, row.id
                if row.base == (self._visits[key].version if key in self._visits else 0):
                    applied.add(key)
                    self._visits[key] = row
                    for event in events:
                        kept = event._replace(writer=self.writer)
                        self._events[row.experiment].append(kept)
                        self._index[row.experiment, row.id, event.step, event.kind] = kept
                    for name, amount in counts:
                        self._counts[row.experiment][name] += amount  # type: ignore[assignment]
        return answers(found, applied)

    def visit(self, experiment: str, visit: str) -> Row | None:
        """A visit, or None."""
        return self._visits.get((experiment, visit))

    def overdue(self, experiment: str, idle: float, limit: int) -> list[tuple[Row, bool]]:
        """Open visits past their deadline."""
        now = self._clock()
        with self._lock:
            late = [
                row
                for row in self._visits.values()
                if row.experiment == experiment and row.status == "open" and row.deadline <= now
            ]
        late.sort(key=lambda row: row.deadline)
        return [(row, row.touched + idle <= now) for row in late[:limit]]

    def event(self, experiment: str, visit: str, step: int, kind: str) -> Event | None:
        """One event, or None."""
        return self._index.get((experiment, visit, step, kind))

    def counts(self, experiment: str) -> tuple[Counts, Counts]:
        """The counters; there are no others."""
        with self._lock:
            return dict(self._counts[experiment]), {}

    def history(self, experiment: str) -> tuple[Counts, Iterator[Event]]:
        """The counters and all events."""
        with self._lock:
            return dict(self._counts[experiment]), iter(list(self._events[experiment]))

    def close(self) -> None:
        """Nothing to let go of."""
