"""What the stores in databases share: their queries, and deleting.

The text is the same for SQLite and PostgreSQL, but for the placeholder and how many rows are
inserted at once.
"""

import secrets
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import astuple, replace
from itertools import groupby
from math import ceil
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple

from ...validation import InputError
from .. import records
from ..errors import Busy, Conflict, NotFound, Unavailable
from ..monitor.trends import Trend, as_counts
from ..records import MINUTE, Arm, Bucket, Counts, Edit, Event, Ledger, Part, Row, Snapshot
from ..rollout.groups import Group
from . import tables
from .base import LEASE, Names, R, Stored, Upkeep
from .pool import closed_on_error
from .tables import EVENT, VISIT, names, start_of, sums_of, values_of

Run = Callable[..., list[Any]]  # of a database: run(sql, parameters) -> rows

PAUSE = 0.05  # seconds between two attempts to take the lease
AT_ONCE = 20_000  # rows that one transaction deletes of a dropped experiment
OF_EXPERIMENT = ("arm", "counter", "minute", "archived", "group", "trend", "snapshot")
OPEN = "FROM sojourn_visit WHERE experiment = name AND status = 'open'"
SEEN_LAST = (
    f"(SELECT MAX(at) FROM (SELECT MAX(deadline) AS at {OPEN} UNION ALL "
    "SELECT MAX(touched) FROM sojourn_visit WHERE experiment = name AND status <> 'open') AS seen)"
)
HISTORY = f"SELECT {names(EVENT)} FROM sojourn_event WHERE experiment = ? ORDER BY seq"


class ReadView(NamedTuple):
    """A connection that sees the store as it was at one moment; `stream` does not hold all rows."""

    run: Run
    stream: Callable[[str, Sequence[Any]], Iterable[Any]]
    close: Callable[[], None]


def events_of(rows: Iterable[Any], close: Callable[[], None]) -> Iterator[Event]:
    """The events of a query, which is closed at the end."""
    try:
        for row in rows:
            yield Event(*row)
    finally:
        close()


class SqlStore(ABC):
    """A store in a database; a subclass has connections, transactions and a clock."""

    writer: str
    """The owner of this process's counter rows; no two processes have the same at a time."""
    deadline: float
    read_only: bool
    clock: ClassVar[str]
    """SQL for the time of the store."""
    serial: ClassVar[str]
    """The type of a column that numbers the rows."""
    begin: ClassVar[str]
    """SQL that begins a transaction which sees one moment."""
    locking: ClassVar[str] = ""
    """SQL after a query whose rows must not change until the transaction ends."""
    grace: ClassVar[float] = 0.0
    """Seconds for which another process may still write to an experiment that was dropped."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Run]:
        """A transaction on the connection that writes."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Run]:
        """A connection that reads."""

    @abstractmethod
    def _view(self) -> ReadView:
        """A new connection, in a transaction that sees one moment."""

    @abstractmethod
    def _insert(self, run: Run, table: str, rows: Sequence[Any]) -> int | None:
        """Insert rows, or change those that have the same keys (`tables.KEEP`)."""

    @abstractmethod
    def _among(self, values: Sequence[Any]) -> tuple[str, Any]:
        """SQL after a column that says that it has one of these values, and its parameter."""

    @abstractmethod
    def _probe(self) -> None:
        """Raise `Unavailable` if nothing can be written."""

    @abstractmethod
    def _shrink(self) -> None:
        """Give the space of deleted rows back to the disk."""

    def _overwrite(self) -> None:  # noqa: B027
        """Leave no copy of what was deleted, where that can be helped."""

    def _rewrite(self) -> None:  # noqa: B027
        """Leave no copy of rows that were moved, where that can be helped."""

    def _check_schema(self, run: Run, version: int) -> None:
        """Make the tables if there are none; refuse those of another version."""
        if version == 0 and self.read_only:
            raise InputError("this database has no tables of Sojourn yet: serve the store first")
        if version not in (0, tables.VERSION):
            advice = "export what you need with the older one, and start a new store"
            raise InputError(
                f"the tables are of version {version}, and this version of sojourn has "
                f"{tables.VERSION}: {'use a newer one' if version > tables.VERSION else advice}"
            )
        for statement in tables.SCHEMA if version == 0 else ():
            statement = statement.replace("{serial}", f'"seq" {self.serial}')
            run(statement.replace("{id}", secrets.token_hex(8)))

    def _now(self, run: Run) -> float:
        return float(run(f"SELECT {self.clock}")[0][0])

    def _where(self, wanted: Mapping[str, Any]) -> tuple[str, list[Any]]:
        """A condition that columns have a value, or one of several (None: any); its parameters."""
        conditions, given = ["true"], []
        for column, value in wanted.items():
            if isinstance(value, str | int):
                conditions.append(f"{column} = ?")
                given.append(value)
            elif value is not None:
                among, values = self._among(list(value))
                conditions.append(f"{column} {among}")
                given.append(values)
        return f"WHERE {' AND '.join(conditions)}", given

    def ping(self, *, write: bool = False) -> float:
        if write:
            self._probe()
        with self._reading() as run:
            run("SELECT 1 FROM sojourn_store")
            return self._now(run)

    @contextmanager
    def _at_once(self) -> Iterator[Run]:
        """A connection that reads, in a transaction that sees one moment."""
        with self._reading() as run:
            run(self.begin)
            try:
                yield run
            finally:
                run("COMMIT")

    def read(
        self,
        names: Names = None,
        *,
        counts: bool = True,
        overdue: bool = False,
        latest: int | None = None,
    ) -> dict[str, Stored]:
        arms: defaultdict[str, list[Arm]] = defaultdict(list)
        own: defaultdict[str, Counts] = defaultdict(dict)
        others: defaultdict[str, Counts] = defaultdict(dict)
        with self._at_once() as run:
            writer = self.writer
            if overdue or latest is not None:
                names = self._selected(run, names, overdue, latest)
            named, _ = self._where({"name": names})
            where, given = self._where({"experiment": names})
            query = "SELECT name, settings, version FROM sojourn_experiment"
            found = run(f"{query} {named} ORDER BY name", given)
            query = "SELECT experiment, position, name, retired, pulls, successes FROM sojourn_arm "
            for name, *arm in run(f"{query} {where} ORDER BY position", given):
                arms[name].append(Arm(*arm))
            if counts:
                query = "SELECT experiment, writer = ?, what, i, j, k, SUM(n) FROM sojourn_counter "
                query += f"{where} GROUP BY 1, 2, what, i, j, k"
                for name, mine, what, i, j, k, n in run(query, [writer, *given]):
                    (own if mine else others)[name][what, i, j, k] = n
        return {
            name: Stored(text, tuple(arms[name]), version, writer, own[name], others[name])
            for name, text, version in found
        }

    def _selected(self, run: Run, names: Names, overdue: bool, latest: int | None) -> list[str]:
        """The names to read, by a look into an index for each experiment."""
        where, given = self._where({"name": names})
        query = f"SELECT name FROM sojourn_experiment {where}"
        if overdue:
            query += f" AND EXISTS (SELECT 1 {OPEN} AND deadline <= {self.clock})"
        if latest is not None:
            query += f" ORDER BY COALESCE({SEEN_LAST}, 0) DESC, name LIMIT {latest:d}"
        return [name for (name,) in run(query, given)]

    def compare_and_swap(
        self,
        name: str,
        before: Stored | None,
        settings: str,
        arms: Sequence[Arm],
        note: Edit | None,
    ) -> bool:
        query = "SELECT version FROM sojourn_experiment WHERE name = ?"
        with self._writing() as run:
            found = run(query + self.locking, (name,))
            if found != ([] if before is None else [(before.version,)]):
                return False
            if before is None:
                if (wait := self._bury(run, name)) > 0.0:
                    raise Conflict(
                        f"experiment {name!r} was dropped: its name is free again in {ceil(wait)} s"
                    )
                insert = "INSERT INTO sojourn_experiment VALUES (?, ?, ?) ON CONFLICT DO NOTHING "
                # a version above all that an experiment of this name had
                if not run(insert + "RETURNING 1", (name, settings, int(1000.0 * self._now(run)))):
                    return False
            else:
                update = "UPDATE sojourn_experiment SET settings = ?, version = ? WHERE name = ?"
                run(update, (settings, before.version + 1, name))
            self._insert(run, "sojourn_arm", [(name, *arm) for arm in arms])
            if note is not None:
                self._note(run, note)
        return True

    def _note(self, run: Run, edit: Edit) -> None:
        self._insert(run, "sojourn_edit", [astuple(replace(edit, at=self._now(run)))])

    def visits(
        self,
        name: str,
        *,
        ids: Names = None,
        expired: bool = False,
        ended_before: float | None = None,
        limit: int = 1000,
    ) -> tuple[float, list[Row]]:
        where, given = self._where({"experiment": name, "id": ids})
        order = "id"
        if expired:
            where, order = f"{where} AND status = 'open' AND deadline <= {self.clock}", "deadline"
        if ended_before is not None:
            where, order = f"{where} AND status <> 'open' AND touched < ?", "touched"
            where += f" AND until <= {self.clock}"
            given.append(ended_before)
        query = f"SELECT {self.clock}, {names(VISIT, 'v.')} FROM (SELECT 1) AS one LEFT JOIN "
        query += f"(SELECT * FROM sojourn_visit {where} ORDER BY {order} LIMIT ?) AS v "
        with self._reading() as run:
            found = run(f"{query} ON true ORDER BY v.{order}", [*given, limit])
        return found[0][0], [Row(*row) for _, *row in found if row[0] is not None]

    def events(
        self,
        name: str,
        *,
        visits: Names = None,
        step: int | None = None,
        kind: str | None = None,
        last: int | None = None,
    ) -> list[Event]:
        # The last ones by seq from its end, not by the index of experiments, which would sort all.
        experiment = "experiment" if last is None else "experiment || ''"
        where, given = self._where({experiment: name, "visit": visits, "step": step, "kind": kind})
        query = f"SELECT {names(EVENT)} FROM sojourn_event {where} ORDER BY seq"
        with self._reading() as run:
            if last is None:
                return [Event(*row) for row in run(query, given)]
            found = run(f"{query} DESC LIMIT ?", [*given, last])
        return [Event(*row) for row in reversed(found)]

    def audit_state(self, name: str, *sums: str) -> tuple[Ledger, Iterator[Event]]:
        view = self._view()
        asked = {}
        with closed_on_error(view):
            if not view.run("SELECT 1 FROM sojourn_experiment WHERE name = ?", (name,)):
                raise NotFound(f"there is no experiment {name!r} in the store")
            for field in sums:
                query, made = LEDGER[field]
                asked[field] = made(view.run(query, (name,)))
            rows = view.stream(HISTORY, (name,))
        return Ledger(**asked), events_of(rows, view.close)

    def series(
        self,
        of: type[R],
        name: Names,
        *,
        since: float = 0.0,
        width: float | None = None,
        limit: int | None = None,
    ) -> list[R]:
        with self._reading() as run:
            if of is Bucket or of is Trend:
                assert width is not None
                rows = self._over_time(run, of, name, since, width)
            elif of is Group:
                where, given = self._where({"experiment": name})
                query = COMPARED.format(where=where, clock=self.clock)
                rows = run(query, given + given)
            else:
                query, order = LISTED[of]
                where, given = self._where({"experiment": name})
                if limit is not None:
                    order += " LIMIT ?"
                    given.append(limit)
                rows = run(f"{query} {where} {order}", given)
        return [of(*row) for row in rows]

    def _over_time(
        self, run: Run, of: type[Any], name: Names, since: float, width: float
    ) -> list[Any]:
        at, (sums, places) = "start", SPANS[of]
        if of is Bucket and not since % MINUTE == 0.0 == width % MINUTE:
            at, sums = "at", f"{tables.ENDED} FROM sojourn_event WHERE kind = 'leave'"
        query = f"SELECT CAST(FLOOR(({at} - ?) / ?) AS {tables.WHOLE}), {sums} "
        query += f"AND experiment = ? AND {at} >= ? GROUP BY {places} ORDER BY {places}"
        found = run(query, (since, width, name, since))
        return [(since + width * i, int(n), *map(float, rest)) for i, n, *rest in found]

    def note(self, name: str, snapshots: Sequence[Snapshot]) -> None:
        with self._writing() as run:
            rows = [(name, *astuple(snapshot)) for snapshot in snapshots]
            self._insert(run, "sojourn_snapshot", rows)

    def drop(self, experiment: str) -> None:
        with self._writing() as run:
            if not run("SELECT name FROM sojourn_experiment WHERE name = ?", (experiment,)):
                raise NotFound(f"there is no experiment {experiment!r} in the store")
            run("DELETE FROM sojourn_experiment WHERE name = ?", (experiment,))
            for table in OF_EXPERIMENT:
                run(f"DELETE FROM sojourn_{table} WHERE experiment = ?", (experiment,))
            run("UPDATE sojourn_part SET experiment = '' WHERE experiment = ?", (experiment,))
            run(f"INSERT INTO sojourn_dropped VALUES (?, {self.clock})", (experiment,))
            self._note(run, Edit(0.0, records.AUDIT_ACTOR.get(), experiment, "dropped", ""))
        self._purge()

    def _purge(self) -> None:
        """Delete what is left of dropped experiments, some rows at a time; it may be repeated."""
        with self._reading() as run:
            dropped = run("SELECT name FROM sojourn_dropped")
        for (name,) in dropped:
            for table, key in (("event", "seq"), ("visit", "id")):
                while self._purged(name, f"sojourn_{table}", key):
                    pass
            with self._writing() as run:
                self._bury(run, name)

    def _purged(self, name: str, table: str, key: str) -> int:
        query = f"SELECT {key} FROM {table} WHERE experiment = ? LIMIT {AT_ONCE}"
        with self._writing() as run:
            among, values = self._among([found for (found,) in run(query, (name,))])
            run(f"DELETE FROM {table} WHERE experiment = ? AND {key} {among}", (name, values))
            return len(run(f"SELECT 1 FROM {table} WHERE experiment = ? LIMIT 1", (name,)))

    def _bury(self, run: Run, name: str) -> float:
        """Seconds until the name of a dropped experiment is free; at 0 nothing is left of it."""
        query = f"SELECT at + {self.grace} - {self.clock} FROM sojourn_dropped WHERE name = ?"
        dropped = run(query, (name,))
        wait = float(dropped[0][0]) if dropped else 0.0
        if dropped and wait <= 0.0:
            for table in ("sojourn_event", "sojourn_visit"):
                run(f"DELETE FROM {table} WHERE experiment = ?", (name,))
            run("DELETE FROM sojourn_dropped WHERE name = ?", (name,))
        return wait

    def erase(self, user: str) -> int:
        # Visits first: those that open meanwhile keep the id in all their rows, or in none.
        visits = 'UPDATE sojourn_visit SET "user" = NULL, version = version + 1 WHERE "user" = ? '
        opened = "UPDATE sojourn_event SET \"user\" = NULL WHERE step = 0 AND kind = 'open' AND "
        listed = f"INSERT INTO sojourn_erasing VALUES (?, {self.clock}) ON CONFLICT DO NOTHING"
        with self._writing() as run:
            found = sorted(run(visits + "RETURNING experiment, id", (user,)))
            for name, rows in groupby(found, itemgetter(0)):
                among, ids = self._among([visit for _, visit in rows])
                run(f"{opened} experiment = ? AND visit {among}", (name, ids))
            run(listed, (user,))
            done = "erased a user", f"{len(found)} visits"
            self._note(run, Edit(0.0, records.AUDIT_ACTOR.get(), "", *done))
        return len(found)

    @contextmanager
    def upkeep(self, *, wait: float = 10.0, lease: float = LEASE) -> Iterator[Upkeep]:
        end, token = time.monotonic() + wait, secrets.token_hex(8)
        take = f"UPDATE sojourn_lease SET token = ?, until = {self.clock} + ? "
        take += f"WHERE until < {self.clock} RETURNING 1"

        def taken() -> bool:
            with self._writing() as run:
                return bool(run(take, (token, lease)))

        while not taken():
            if time.monotonic() >= end:
                raise Busy("another call is archiving or erasing now: try again later")
            time.sleep(min(PAUSE, max(0.0, end - time.monotonic())))
        with self._reading() as run:
            ((store,),) = run("SELECT id FROM sojourn_store")
        try:
            yield SqlUpkeep(self, store, token, lease)
        finally:
            with suppress(Unavailable), self._writing() as run:  # else it ends by itself
                run("UPDATE sojourn_lease SET token = NULL, until = 0 WHERE token = ?", (token,))
            with suppress(Unavailable):
                self._overwrite()


SPANS = {
    Bucket: (f"{sums_of(values_of('sojourn_minute'))} FROM sojourn_minute WHERE true", "1"),
    Trend: (f"arm, {sums_of(values_of('sojourn_trend'))} FROM sojourn_trend WHERE true", "1, 2"),
}
"""Sums over time: what is read beside the bucket, and the columns that rows are grouped by."""

COMPARED = f"""
WITH recent AS MATERIALIZED (
    SELECT * FROM sojourn_visit {{where}} AND epoch > 0 AND until > {{clock}}
), counted AS (
    SELECT {names(tables.columns(Group))} FROM sojourn_group {{where}} UNION ALL
    SELECT experiment, epoch, "group", 0, -1, -step, -gained, -CAST(status = 'left' AS INTEGER)
    FROM recent WHERE until >= (SELECT MIN(until) FROM recent WHERE status = 'open')
)
SELECT experiment, epoch, number, {sums_of(values_of("sojourn_group"))} FROM counted
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""
"""The sums of groups without the visits from the oldest one on that is open and in its window."""

LISTED: dict[type[Any], tuple[str, str]] = {
    Snapshot: (
        f"SELECT {names(tables.columns(Snapshot))} FROM sojourn_snapshot",
        "ORDER BY at, variant, metric",
    ),
    Edit: (f"SELECT {names(tables.columns(Edit))} FROM sojourn_edit", "ORDER BY seq DESC"),
    Part: (f"SELECT {names(tables.columns(Part))} FROM sojourn_part", "ORDER BY day, file"),
}
"""Tables of records: a query, and what follows its condition."""


def _counted(rows: list[Any]) -> Counts:
    return {(what, i, j, k): n for what, i, j, k, n in rows}


def _numbers(rows: list[Any]) -> tuple[float, ...]:
    return tuple(float(n or 0.0) for n in rows[0])


def _bucket(rows: list[Any]) -> Bucket:
    visits, *sums = _numbers(rows)
    return Bucket(0.0, int(visits), *sums)


OF = " WHERE experiment = ? "
KEYED = "SELECT what, i, j, k, SUM(n) FROM {} WHERE experiment = ? GROUP BY what, i, j, k"
LEDGER: dict[str, tuple[str, Callable[[list[Any]], Any]]] = {
    "counts": (KEYED.format("sojourn_counter"), _counted),
    "archived": (KEYED.format("sojourn_archived"), _counted),
    "rows": (
        f"SELECT status, COUNT(*), SUM(step), SUM(gained) FROM sojourn_visit{OF}GROUP BY status",
        lambda rows: {status: (n, int(steps), gained) for status, n, steps, gained in rows},
    ),
    "charted": (f"SELECT {sums_of(values_of('sojourn_minute'))} FROM sojourn_minute{OF}", _bucket),
    "late": (
        f"SELECT visit, step, reward FROM sojourn_event{OF}AND kind = 'late' AND cause = 'reward'",
        lambda rows: {(visit, step): reward for visit, step, reward in rows},
    ),
    "grouped": (f"SELECT SUM(visits), SUM(steps), SUM(reward) FROM sojourn_group{OF}", _numbers),
    "assigned": (
        "SELECT SUM(CAST(kind = 'open' AS INTEGER)), SUM(CAST(kind = 'decide' AS INTEGER)), "
        "SUM(CASE WHEN e.arm IS NULL OR kind = 'decide' THEN 0 ELSE "
        "CASE kind WHEN 'retract' THEN -e.reward ELSE e.reward END END) "
        "FROM sojourn_event e JOIN sojourn_visit v "
        "ON v.experiment = e.experiment AND v.id = e.visit "
        "WHERE e.experiment = ? AND v.epoch > 0 AND e.at <= v.until",
        _numbers,
    ),
    "trends": (
        f"SELECT arm, {sums_of(values_of('sojourn_trend'))} FROM sojourn_trend{OF}GROUP BY arm",
        lambda rows: as_counts(Trend(0.0, *row) for row in rows),
    ),
    "parts": (OF.join(LISTED[Part]), lambda rows: [Part(*row) for row in rows]),
}
"""The fields of a `Ledger`: a query, and what is made of its rows."""


class SqlUpkeep:
    """See `base.Upkeep`: every transaction renews the lease, or is rolled back."""

    def __init__(self, store: SqlStore, id: str, token: str, lease: float) -> None:
        self._store, self.store_id, self._token, self._lease = store, id, token, lease

    @contextmanager
    def _writing(self) -> Iterator[Run]:
        until = f"{self._store.clock} + ?"
        renew = f"UPDATE sojourn_lease SET until = {until} WHERE token = ? RETURNING 1"
        with self._store._writing() as run:
            if len(run(renew, (self._lease, self._token))) != 1:
                raise Conflict("the lease has passed to another call: nothing was done")
            yield run

    def archive(self, part: Part, rows: Sequence[Row], sums: Counts) -> bool:
        store = self._store
        among, ids = store._among([row.id for row in rows])
        of_visits = part.experiment, ids
        there = f"SELECT 1 FROM sojourn_experiment WHERE name = ?{store.locking}"
        query = f"SELECT id, version FROM sojourn_visit WHERE experiment = ? AND id {among}"
        with self._writing() as run:
            if not run(there, (part.experiment,)):  # dropped, and not all of its rows are gone yet
                return False
            found = dict(run(query + store.locking, of_visits))
            if found != {row.id: row.version for row in rows}:
                return False
            run(f"DELETE FROM sojourn_event WHERE experiment = ? AND visit {among}", of_visits)
            run(f"DELETE FROM sojourn_visit WHERE experiment = ? AND id {among}", of_visits)
            added = [(part.experiment, *key, n) for key, n in sums.items()]
            store._insert(run, "sojourn_archived", added)
            store._insert(run, "sojourn_part", [part])
        return True

    def replace(self, old: Part, new: Part | None) -> None:
        listed = "WHERE file = ? AND digest = ? RETURNING 1"
        with self._writing() as run:
            if new is None:
                done = run(f"DELETE FROM sojourn_part {listed}", (old.file, old.digest))
            else:
                taken = ", ".join(f'"{column}" = ?' for column in Part._fields[1:])
                query = f"UPDATE sojourn_part SET {taken} {listed}"
                done = run(query, (*new[1:], old.file, old.digest))
            if len(done) != 1:
                raise Conflict(f"{old.file} is not in the archive any more: nothing was done")

    def erasing(self) -> list[str]:
        with self._writing() as run:
            return [user for (user,) in run('SELECT "user" FROM sojourn_erasing ORDER BY at')]

    def erased(self, users: Collection[str]) -> None:
        self._store._rewrite()
        among, given = self._store._among(list(users))
        with self._writing() as run:
            run(f'DELETE FROM sojourn_erasing WHERE "user" {among}', (given,))

    def compact(self, before: float, *, shrink: bool = False) -> None:
        old = f"start < ? AND start <> {start_of(records.HOUR, 'start')}"
        with self._writing() as run:
            for table in ("sojourn_minute", "sojourn_trend"):
                # rows that others add to at this moment are waited for
                run(f"SELECT 1 FROM {table} WHERE {old}{self._store.locking}", (before,))
                run(tables.to_hours(table, old), (before,))
                run(f"DELETE FROM {table} WHERE {old}", (before,))
        if shrink:
            self._store._shrink()
