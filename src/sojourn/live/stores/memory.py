"""A store that forgets when the process ends."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Self

from ..records import LEAVE, Arm, Bucket, Change, Counts, Event, Key, News, Row
from .base import answers, chains, merged
from .clock import Steady


class MemoryStore:
    """Everything in dictionaries: for tests and first steps, and the upper bound in benchmarks.

    >>> MemoryStore().experiments()
    []
    """

    writer = "memory"
    shared: ClassVar[bool] = False

    @classmethod
    def open(cls, url: str, *, reading: bool = False) -> Self:
        return cls()

    @classmethod
    def backup(cls, url: str, target: Path) -> None:
        raise ValueError("backup is for SQLite files: memory:// ends with its process")

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self._clock, self._lock = clock or Steady(), threading.Lock()
        self._settings: dict[str, tuple[str, list[Arm]]] = {}
        self._visits: dict[tuple[str, str], Row] = {}
        self._events: dict[str, list[Event]] = defaultdict(list)
        self._index: dict[tuple[str, str, int, str], Event] = {}
        self._counts: dict[str, dict[Key, float]] = defaultdict(lambda: defaultdict(float))

    def experiments(self) -> list[str]:
        return sorted(self._settings)

    def load(self, experiment: str) -> tuple[str, list[Arm]] | None:
        return self._settings.get(experiment)

    def save(self, experiment: str, settings: str, arms: Sequence[Arm] = ()) -> None:
        with self._lock:
            known = self._settings.get(experiment, ("", []))[1]
            self._settings[experiment] = settings, merged(known, arms)

    def append(self, changes: Sequence[Change]) -> list[bool]:
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
                        self._counts[row.experiment][name] += amount
        return answers(found, applied)

    def visit(self, experiment: str, visit: str) -> Row | None:
        return self._visits.get((experiment, visit))

    def overdue(self, experiment: str, idle: float, limit: int) -> list[tuple[Row, bool]]:
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
        return self._index.get((experiment, visit, step, kind))

    def counts(self, experiment: str) -> tuple[Counts, Counts]:
        with self._lock:
            return dict(self._counts[experiment]), {}

    def news(self, experiments: Sequence[str]) -> dict[str, News]:
        return {}  # asked of shared stores only

    def history(self, experiment: str) -> tuple[Counts, Iterator[Event]]:
        with self._lock:
            return dict(self._counts[experiment]), iter(list(self._events[experiment]))

    def timeline(self, experiment: str, since: float, width: float) -> list[Bucket]:
        sums: dict[int, list[float]] = defaultdict(lambda: [0.0] * 5)
        for event in reversed(self._events[experiment]):
            if event.at < since:
                break
            if event.kind == LEAVE and event.reward is not None:
                numbers = 1.0, event.step, event.step**2, event.reward, event.reward**2
                total = sums[int((event.at - since) // width)]
                total[:] = [a + b for a, b in zip(total, numbers, strict=True)]
        return [Bucket(since + width * i, int(n), *rest) for i, (n, *rest) in sorted(sums.items())]

    def now(self) -> float:
        return self._clock()

    def close(self) -> None: ...
