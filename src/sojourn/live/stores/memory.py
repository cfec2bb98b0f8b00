"""A store that forgets when the process ends."""

import math
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Self

from ...validation import InputError
from .. import records
from ..errors import NotFound
from ..groups import Group, added_by, ended_in
from ..records import Arm, Bucket, Change, Counts, Edit, Event, Key, Ledger, Look, News, Part, Row
from ..trends import Trend, as_counts, bucket_of, by_arm
from ..who import ACTING
from .base import answers, chains, edit_of, merged
from .clock import Steady


class MemoryStore:
    """Everything in dictionaries: for tests and first steps, and the upper bound in benchmarks.

    >>> MemoryStore().experiments()
    []
    """

    writer = "memory"
    shared: ClassVar[bool] = False
    deadline = math.inf

    @classmethod
    def open(cls, url: str, *, reading: bool = False) -> Self:
        return cls()

    @classmethod
    def backup(cls, url: str, target: Path) -> None:
        raise InputError("backup is for SQLite files: memory:// ends with its process")

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self._clock, self._lock = clock or Steady(), threading.Lock()
        self._settings: dict[str, tuple[str, list[Arm]]] = {}
        self._visits: dict[tuple[str, str], Row] = {}
        self._events: dict[str, list[Event]] = defaultdict(list)
        self._index: dict[tuple[str, str, int, str], Event] = {}
        self._counts: dict[str, dict[Key, float]] = defaultdict(lambda: defaultdict(float))
        self._minutes: dict[str, dict[float, Bucket]] = defaultdict(dict)
        self._groups: dict[str, dict[tuple[int, int], Group]] = defaultdict(dict)
        self._trends: dict[str, dict[tuple[float, int], Trend]] = defaultdict(dict)
        self._looks: dict[str, dict[tuple[str, str, int], Look]] = defaultdict(dict)
        self._archived: dict[str, Counts] = defaultdict(dict)
        self._parts: list[Part] = []
        self._edits: list[Edit] = []

    def experiments(self) -> list[str]:
        return sorted(self._settings)

    def load(self, experiment: str) -> tuple[str, list[Arm]] | None:
        return self._settings.get(experiment)

    def save(self, experiment: str, settings: str, arms: Sequence[Arm] = ()) -> None:
        with self._lock:
            found = self._settings.get(experiment)
            edit = edit_of(found, settings, arms)
            if edit is not None:
                self._edit(experiment, *edit)
            self._settings[experiment] = settings, merged(found[1] if found else (), arms)

    def exchange(self, experiment: str, before: str, after: str) -> bool:
        with self._lock:
            text, arms = self._settings.get(experiment, ("", []))
            if experiment not in self._settings or text != before:
                return False
            edit = edit_of((before, ()), after, ())
            if edit is not None:
                self._edit(experiment, *edit)
            self._settings[experiment] = after, arms
        return True

    def _edit(self, experiment: str, what: str, detail: str) -> None:
        self._edits.append(Edit(self._clock(), ACTING.get(), experiment, what, detail))

    def edits(self, limit: int, experiment: str | None = None) -> list[Edit]:
        found = [edit for edit in self._edits if experiment in (None, edit.experiment)]
        return found[::-1][:limit]

    def drop(self, experiment: str) -> None:
        with self._lock:
            if self._settings.pop(experiment, None) is None:
                raise NotFound(f"there is no experiment {experiment!r} in the store")
            tables = (
                self._events, self._counts, self._minutes, self._groups, self._trends, self._looks,
                self._archived,
            )  # fmt: skip
            for table in tables:
                table.pop(experiment, None)
            self._visits = {k: row for k, row in self._visits.items() if k[0] != experiment}
            self._index = {k: event for k, event in self._index.items() if k[0] != experiment}
            self._parts = [part for part in self._parts if part.experiment != experiment]
            self._edit(experiment, "dropped", "")

    def erase(self, user: str) -> int:
        with self._lock:
            keys = {key for key, row in self._visits.items() if row.user == user}
            for key in keys:
                self._visits[key] = self._visits[key]._replace(user=None)
            for experiment in {experiment for experiment, _ in keys}:
                events = self._events[experiment]
                for place, event in enumerate(events):
                    if event.kind == records.OPEN and (experiment, event.visit) in keys:
                        events[place] = erased = event._replace(user=None)
                        self._index[experiment, event.visit, event.step, event.kind] = erased
            self._edit("", "erased a user", f"{len(keys)} visits")
        return len(keys)

    def append(self, changes: Sequence[Change]) -> list[bool]:
        joined, found = chains(changes, self._clock())
        applied = set()
        with self._lock:
            for row, events, counts in joined:
                key = row.experiment, row.id
                before = self._visits.get(key)
                base = 0 if before is None else before.version
                if row.experiment in self._settings and row.base == base:
                    applied.add(key)
                    self._visits[key] = row if before is None else row._replace(user=before.user)
                    for event in events:
                        kept = event._replace(writer=self.writer)
                        self._events[row.experiment].append(kept)
                        self._index[row.experiment, row.id, event.step, event.kind] = kept
                        if event.kind == records.LEAVE:
                            ended = records.visit_of(event)
                            self._chart(row.experiment, ended.within(records.MINUTE))
                    for name, amount in counts:
                        self._counts[row.experiment][name] += amount
                    for trend in by_arm(counts, bucket_of(row.touched)).values():
                        self._trend(row.experiment, trend)
                    group = added_by(row, events)
                    if group is not None:
                        known = self._groups[row.experiment]
                        place = group.epoch, group.number
                        known[place] = known[place].plus(group) if place in known else group
        return answers(found, applied)

    def _chart(self, experiment: str, more: Bucket) -> None:
        minutes = self._minutes[experiment]
        known = minutes.get(more.start)
        minutes[more.start] = more if known is None else known.plus(more)

    def _trend(self, experiment: str, more: Trend) -> None:
        trends, place = self._trends[experiment], (more.start, more.arm)
        known = trends.get(place)
        trends[place] = more if known is None else known.plus(more)

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

    def groups(self, experiment: str) -> list[Group]:
        with self._lock:
            return [group for _, group in sorted(self._groups[experiment].items())]

    def news(self, experiments: Sequence[str]) -> dict[str, News]:
        return {}  # asked of shared stores only

    def history(self, experiment: str) -> tuple[Counts, Iterator[Event]]:
        with self._lock:
            return dict(self._counts[experiment]), iter(list(self._events[experiment]))

    def latest(self, experiment: str, limit: int) -> list[Event]:
        with self._lock:
            return self._events[experiment][-limit:]

    def ledger(self, experiment: str) -> tuple[Ledger, Iterator[Event]]:
        rows: dict[str, tuple[int, int, float]] = {}
        with self._lock:
            visits = [row for (name, _), row in self._visits.items() if name == experiment]
            for row in visits:
                n, steps, gained = rows.get(row.status, (0, 0, 0.0))
                rows[row.status] = n + 1, steps + row.step, gained + row.gained
            over = [row for row in visits if row.epoch and row.status != "open"]
            steps, gained = sum(row.step for row in over), sum(row.gained for row in over)
            assigned = float(len(over)), float(steps), float(gained)
            charted = records.NO_VISITS
            for bucket in self._minutes[experiment].values():
                charted = charted.plus(bucket)
            events = list(self._events[experiment])
            counts, archived = dict(self._counts[experiment]), dict(self._archived[experiment])
            grouped = ended_in(self._groups[experiment].values())
            trends = as_counts(self._trends[experiment].values())
        late = records.late_in(events)
        ledger = Ledger(counts, archived, rows, charted, late, grouped, assigned, trends)
        return ledger, iter(events)

    def timeline(self, experiment: str, since: float, width: float) -> list[Bucket]:
        with self._lock:
            if since % records.MINUTE == 0.0 == width % records.MINUTE:
                found = list(self._minutes[experiment].values())
            else:
                left = [event for event in self._events[experiment] if event.kind == records.LEAVE]
                found = [records.visit_of(event) for event in left]
        sums: dict[int, Bucket] = {}
        for bucket in found:
            if bucket.start >= since:
                i = int((bucket.start - since) // width)
                start = records.NO_VISITS._replace(start=since + width * i)
                sums[i] = sums.get(i, start).plus(bucket)
        return [bucket for _, bucket in sorted(sums.items())]

    def trends(self, experiment: str, since: float, width: float) -> list[Trend]:
        with self._lock:
            found = list(self._trends[experiment].values())
        sums: dict[tuple[float, int], Trend] = {}
        for trend in found:
            if trend.start >= since:
                start = since + width * ((trend.start - since) // width)
                nothing = Trend(start, trend.arm)
                sums[start, trend.arm] = sums.get((start, trend.arm), nothing).plus(trend)
        return [sums[place] for place in sorted(sums)]

    def add_looks(self, experiment: str, looks: Sequence[Look]) -> None:
        with self._lock:
            for look in looks:
                place = look.variant, look.metric, look.rank
                self._looks[experiment].setdefault(place, look)

    def looks(self, experiment: str) -> list[Look]:
        with self._lock:
            return sorted(self._looks[experiment].values(), key=lambda look: look[:3])

    def ended(self, experiment: str, before: float, limit: int) -> list[Row]:
        with self._lock:
            rows = [
                row
                for row in self._visits.values()
                if row.experiment == experiment and row.status != "open" and row.touched < before
            ]
        return sorted(rows, key=lambda row: row.touched)[:limit]

    def events_of(self, experiment: str, visits: Sequence[str]) -> list[Event]:
        wanted = set(visits)
        with self._lock:
            return [event for event in self._events[experiment] if event.visit in wanted]

    def archive(self, part: Part, rows: Sequence[Row], sums: Counts) -> bool:
        name, ids = part.experiment, {row.id for row in rows}
        with self._lock:
            if any(self._visits.get((name, row.id)) != row for row in rows):
                return False
            gone = [event for event in self._events[name] if event.visit in ids]
            for event in gone:
                del self._index[name, event.visit, event.step, event.kind]
            self._events[name] = [event for event in self._events[name] if event.visit not in ids]
            for row in rows:
                del self._visits[name, row.id]
            self._archived[name] = records.added(self._archived[name], sums)
            self._parts.append(part)
        return True

    def parts(self, experiment: str | None = None) -> list[Part]:
        found = [part for part in self._parts if experiment in (None, part.experiment)]
        return sorted(found, key=lambda part: (part.day, part.file))

    def replace_part(self, old: Part, new: Part) -> None:
        with self._lock:
            self._parts = [part for part in self._parts if part != old] + [new]

    def fold_minutes(self, before: float) -> None:
        with self._lock:
            for experiment, minutes in self._minutes.items():
                for start in [start for start in minutes if start < before]:
                    self._chart(experiment, minutes.pop(start).within(records.HOUR))
            for experiment, trends in self._trends.items():
                for place in [place for place in trends if place[0] < before]:
                    trend = trends.pop(place)
                    hour = bucket_of(trend.start, records.HOUR)
                    self._trend(experiment, trend._replace(start=hour))

    def shrink(self) -> None: ...

    def now(self) -> float:
        return self._clock()

    def probe(self) -> None: ...

    def close(self) -> None: ...
