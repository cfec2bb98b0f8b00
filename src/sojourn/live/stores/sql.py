"""What the stores in databases have in common: their queries, and how they let go.

The text is the same for SQLite and PostgreSQL, but for the placeholder and how many rows are
inserted at once.
"""

import secrets
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import astuple, replace
from math import ceil
from typing import Any, ClassVar, NamedTuple

from ...validation import InputError
from .. import records
from ..errors import Busy, Conflict, NotFound, Unavailable
from ..monitor.trends import Trend, as_counts
from ..records import (
    AUDIT_ACTOR,
    HOUR,
    Arm,
    Bucket,
    Counts,
    Edit,
    Event,
    Ledger,
    Part,
    Row,
    Snapshot,
)
from ..rollout.groups import Group
from . import tables
from .base import LEASE, R, Stored, Upkeep
from .tables import EVENT, KEEP_ARCHIVED, VISIT, chart, names, start_of, sums_of, thin

Run = Callable[..., list[Any]]  # of a database: run(sql, parameters) -> rows

PAUSE = 0.05  # seconds between two attempts to take the lease
AT_ONCE = 20_000  # rows that one transaction deletes of a dropped experiment
OF_EXPERIMENT = ("arm", "counter", "minute", "archived", "group", "trend", "snapshot")
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
    serial: ClassVar[str]
    """The type of a column that numbers the rows."""
    begin: ClassVar[str]
    """What begins a transaction that sees one moment."""
    locking: ClassVar[str] = ""
    """What follows a query whose rows nobody may change until the transaction ends."""
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
    def _time(self) -> tuple[str, list[Any]]:
        """SQL for the time of the store, and its parameters."""

    @abstractmethod
    def _insert(self, run: Run, table: str, rows: Sequence[Any], tail: str = "") -> list[bool]:
        """Insert rows or update them; which of them were."""

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

    def _check_schema(self, run: Run, version: int) -> None:
        """Make the tables if there are none; refuse those of another version."""
        if version == 0 and self.read_only:
            raise InputError("there are no tables of live visits here: serve the store first")
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
        sql, given = self._time()
        return float(run(f"SELECT {sql}", given)[0][0])

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
        self, names: Collection[str] | None = None, *, counts: bool = True
    ) -> dict[str, Stored]:
        known = "SELECT name, settings, version FROM sojourn_experiment"
        arms: defaultdict[str, list[Arm]] = defaultdict(list)
        own: defaultdict[str, Counts] = defaultdict(dict)
        others: defaultdict[str, Counts] = defaultdict(dict)
        late: set[str] = set()
        which, given = self._which("experiment", names)
        with self._at_once() as run:
            writer = self.writer
            found = run(f"{known} {which.replace('experiment', 'name')} ORDER BY name", given)
            query = "SELECT experiment, position, name, retired, pulls, successes FROM sojourn_arm "
            for name, *arm in run(f"{query} {which} ORDER BY position", given):
                arms[name].append(Arm(*arm))
            if counts:
                query = "SELECT experiment, writer = ?, what, i, j, k, SUM(n) FROM sojourn_counter "
                query += f"{which} GROUP BY 1, 2, what, i, j, k"
                for name, mine, what, i, j, k, n in run(query, [writer, *given]):
                    (own if mine else others)[name][what, i, j, k] = n
                clock, time = self._time()
                query = f"SELECT DISTINCT experiment FROM sojourn_visit {which or 'WHERE true'} "
                query += f"AND status = 'open' AND deadline <= {clock}"
                late = {name for (name,) in run(query, [*given, *time])}
        return {
            name: Stored(
                text, tuple(arms[name]), version, writer, own[name], others[name], name in late
            )
            for name, text, version in found
        }

    def _which(self, column: str, names: Collection[str] | None) -> tuple[str, list[Any]]:
        """A condition that a column has one of these names, and its parameters."""
        if names is None:
            return "", []
        among, given = self._among(list(names))
        return f"WHERE {column} {among}", [given]

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
            now, found = self._now(run), run(query + self.locking, (name,))
            if found != ([] if before is None else [(before.version,)]):
                return False
            if before is None:
                self._check_name_is_free(run, name)
                insert = "INSERT INTO sojourn_experiment VALUES (?, ?, ?) ON CONFLICT DO NOTHING "
                # a version above all that an experiment of this name had
                if not run(insert + "RETURNING 1", (name, settings, int(1000.0 * now))):
                    return False
            else:
                update = "UPDATE sojourn_experiment SET settings = ?, version = ? WHERE name = ?"
                run(update, (settings, before.version + 1, name))
            self._insert(run, "sojourn_arm", [(name, *arm) for arm in arms], tables.KEEP_ARM)
            if note is not None:
                self._insert(run, "sojourn_edit", [astuple(replace(note, at=now))])
        return True

    def visits(
        self,
        name: str,
        *,
        ids: Collection[str] | None = None,
        expired: bool = False,
        ended_before: float | None = None,
        limit: int = 1000,
    ) -> tuple[float, list[Row]]:
        clock, time = self._time()
        where, given, order = "experiment = ?", [*time, name], "id"
        if ids is not None:
            among, value = self._among(list(ids))
            where, given = f"{where} AND id {among}", [*given, value]
        if expired:
            where += f" AND status = 'open' AND deadline <= {clock}"
            given, order = [*given, *time], "deadline"
        if ended_before is not None:
            where += " AND status <> 'open' AND touched < ?"
            given, order = [*given, ended_before], "touched"
        query = f"SELECT {clock}, {names(VISIT, 'v.')} FROM (SELECT 1) AS one LEFT JOIN "
        query += f"(SELECT * FROM sojourn_visit WHERE {where} ORDER BY {order} LIMIT ?) AS v "
        with self._reading() as run:
            found = run(f"{query} ON true ORDER BY v.{order}", [*given, limit])
        return found[0][0], [Row(*row) for _, *row in found if row[0] is not None]

    def events(
        self,
        name: str,
        *,
        visits: Collection[str] | None = None,
        step: int | None = None,
        kind: str | None = None,
        last: int | None = None,
    ) -> list[Event]:
        given: list[Any] = [name]
        # The last ones by seq from its end, not by the index of experiments, which would sort all.
        where = "experiment = ?" if last is None else "experiment || '' = ?"
        if visits is not None:
            among, value = self._among(list(visits))
            where, given = f"{where} AND visit {among}", [*given, value]
        for column, value in (("step", step), ("kind", kind)):
            if value is not None:
                where, given = f"{where} AND {column} = ?", [*given, value]
        query = f"SELECT {names(EVENT)} FROM sojourn_event WHERE {where} ORDER BY seq"
        with self._reading() as run:
            if last is None:
                return [Event(*row) for row in run(query, given)]
            found = run(f"{query} DESC LIMIT ?", [*given, last])
        return [Event(*row) for row in reversed(found)]

    def audit_state(self, name: str, *sums: str) -> tuple[Ledger, Iterator[Event]]:
        view = self._view()
        try:
            asked = {field: LEDGER[field](self, view.run, name) for field in sums}
            rows = view.stream(HISTORY, (name,))
        except BaseException:
            view.close()
            raise
        return Ledger(**asked), events_of(rows, view.close)

    def _counts(self, run: Run, name: str) -> Counts:
        query = "SELECT what, i, j, k, SUM(n) FROM sojourn_counter WHERE experiment = ? "
        found = run(query + "GROUP BY what, i, j, k", (name,))
        return {(what, i, j, k): n for what, i, j, k, n in found}

    def _archived(self, run: Run, name: str) -> Counts:
        query = "SELECT what, i, j, k, n FROM sojourn_archived WHERE experiment = ?"
        return {(what, i, j, k): n for what, i, j, k, n in run(query, (name,))}

    def _rows(self, run: Run, name: str) -> dict[str, tuple[int, int, float]]:
        query = "SELECT status, COUNT(*), SUM(step), SUM(gained) FROM sojourn_visit "
        rows = run(query + "WHERE experiment = ? GROUP BY status", (name,))
        return {status: (n, int(steps), gained) for status, n, steps, gained in rows}

    def _late(self, run: Run, name: str) -> dict[tuple[str, int], float]:
        query = "SELECT visit, step, reward FROM sojourn_event WHERE experiment = ? AND kind = ? "
        found = run(query + "AND cause = ?", (name, records.LATE, records.REWARD))
        return {(visit, step): reward for visit, step, reward in found}

    def _charted(self, run: Run, name: str) -> Bucket:
        visits, *rest = self._sums(run, tables.CHARTED, "sojourn_minute WHERE true", name)
        return Bucket(0.0, int(visits), *rest)

    def _grouped(self, run: Run, name: str) -> records.Triple:
        sums = ("visits", "steps", "reward")
        one, two, three = self._sums(run, sums, "sojourn_group WHERE true", name)
        return one, two, three

    def _assigned(self, run: Run, name: str) -> records.Triple:
        over = "sojourn_visit WHERE epoch > 0 AND status <> 'open'"
        one, two, three = self._sums(run, ("1", "step", "gained"), over, name)
        return one, two, three

    def _sums(self, run: Run, columns: Iterable[str], rows: str, name: str) -> list[float]:
        sums = ", ".join(f"COALESCE(SUM({column}), 0)" for column in columns)
        (found,) = run(f"SELECT {sums} FROM {rows} AND experiment = ?", (name,))
        return [float(n) for n in found]

    def _over_time(self, run: Run, name: str) -> Counts:
        query = f"SELECT arm, {sums_of(tables.TRENDS)} FROM sojourn_trend "
        trends = run(query + "WHERE experiment = ? GROUP BY arm", (name,))
        return as_counts(Trend(0.0, *row) for row in trends)

    def series(
        self,
        of: type[R],
        name: str | None,
        *,
        since: float = 0.0,
        width: float | None = None,
        limit: int | None = None,
    ) -> list[R]:
        with self._reading() as run:
            if of is Bucket or of is Trend:
                assert width is not None
                rows = SPANS[of](self, run, name, since, width)
            else:
                rows = self._listed(run, of, name, limit)
        return [of(*row) for row in rows]

    def _listed(
        self, run: Run, of: type[Any], name: str | None, limit: int | None = None
    ) -> list[Any]:
        """All rows of a table that has a record in each."""
        listed = LISTED[of]
        which, given = self._which("experiment", None if name is None else [name])
        query = f"SELECT {listed.columns} FROM {listed.table} {which} {listed.order}"
        if limit is not None:
            query, given = f"{query} LIMIT ?", [*given, limit]
        return run(query, given)

    def _timeline(self, run: Run, name: str, since: float, width: float) -> list[Any]:
        sums: Sequence[str] = tables.CHARTED
        at, rows = "start", "sojourn_minute WHERE true"
        if not since % records.MINUTE == 0.0 == width % records.MINUTE:
            at, rows = "at", "sojourn_event WHERE kind = 'leave'"
            sums = "1", "step", "step * step", "reward", "reward * reward"
        bucket = f"CAST(FLOOR(({at} - ?) / ?) AS {tables.WHOLE})"
        query = f"SELECT {bucket}, {', '.join(f'SUM({each})' for each in sums)} FROM {rows} "
        query += f"AND experiment = ? AND {at} >= ? GROUP BY 1 ORDER BY 1"
        found = run(query, (since, width, name, since))
        return [(since + width * i, int(n), *map(float, rest)) for i, n, *rest in found]

    def _trends(self, run: Run, name: str, since: float, width: float) -> list[Any]:
        bucket = f"CAST(FLOOR((start - ?) / ?) AS {tables.WHOLE})"
        query = f"SELECT {bucket}, arm, {sums_of(tables.TRENDS)} FROM sojourn_trend "
        query += "WHERE experiment = ? AND start >= ? GROUP BY 1, 2 ORDER BY 1, 2"
        found = run(query, (since, width, name, since))
        return [(since + width * i, arm, *map(float, sums)) for i, arm, *sums in found]

    def note(self, name: str, snapshots: Sequence[Snapshot]) -> None:
        with self._writing() as run:
            rows = [(name, *astuple(snapshot)) for snapshot in snapshots]
            self._insert(run, "sojourn_snapshot", rows, tables.KEEP_SNAPSHOT)

    def _edit(self, run: Run, experiment: str, what: str, detail: str) -> None:
        edit = Edit(self._now(run), AUDIT_ACTOR.get(), experiment, what, detail)
        self._insert(run, "sojourn_edit", [astuple(edit)])

    def drop(self, experiment: str) -> None:
        with self._writing() as run:
            if not run("SELECT name FROM sojourn_experiment WHERE name = ?", (experiment,)):
                raise NotFound(f"there is no experiment {experiment!r} in the store")
            run("DELETE FROM sojourn_experiment WHERE name = ?", (experiment,))
            for table in OF_EXPERIMENT:
                run(f"DELETE FROM sojourn_{table} WHERE experiment = ?", (experiment,))
            run("UPDATE sojourn_part SET experiment = '' WHERE experiment = ?", (experiment,))
            run("INSERT INTO sojourn_dropped VALUES (?, ?)", (experiment, self._now(run)))
            self._edit(run, experiment, "dropped", "")
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
                if self._wait_for_name(run, name) <= 0.0:
                    self._bury(run, name)

    def _purged(self, name: str, table: str, key: str) -> int:
        query = f"SELECT {key} FROM {table} WHERE experiment = ? LIMIT {AT_ONCE}"
        with self._writing() as run:
            among, values = self._among([found for (found,) in run(query, (name,))])
            run(f"DELETE FROM {table} WHERE experiment = ? AND {key} {among}", (name, values))
            return len(run(f"SELECT 1 FROM {table} WHERE experiment = ? LIMIT 1", (name,)))

    def _wait_for_name(self, run: Run, name: str) -> float:
        """Seconds until the name of a dropped experiment is free."""
        found = run("SELECT at FROM sojourn_dropped WHERE name = ?", (name,))
        return found[0][0] + self.grace - self._now(run) if found else 0.0

    def _bury(self, run: Run, name: str) -> None:
        for table in ("sojourn_event", "sojourn_visit"):
            run(f"DELETE FROM {table} WHERE experiment = ?", (name,))
        run("DELETE FROM sojourn_dropped WHERE name = ?", (name,))

    def _check_name_is_free(self, run: Run, name: str) -> None:
        if run("SELECT at FROM sojourn_dropped WHERE name = ?", (name,)):
            wait = self._wait_for_name(run, name)
            if wait > 0.0:
                raise Conflict(
                    f"experiment {name!r} was dropped: its name is free again in {ceil(wait)} s"
                )
            self._bury(run, name)

    def erase(self, user: str) -> int:
        with self._writing() as run:
            whose = 'SELECT experiment, id FROM sojourn_visit WHERE "user" = ?'
            run(
                "UPDATE sojourn_event SET \"user\" = NULL WHERE step = 0 AND kind = 'open' "
                f"AND (experiment, visit) IN ({whose})",
                (user,),
            )
            found = run(
                'UPDATE sojourn_visit SET "user" = NULL, version = version + 1 WHERE "user" = ? '
                "RETURNING 1",
                (user,),
            )
            run(
                "INSERT INTO sojourn_erasing VALUES (?, ?) ON CONFLICT DO NOTHING",
                (user, self._now(run)),
            )
            self._edit(run, "", "erased a user", f"{len(found)} visits")
        return len(found)

    @contextmanager
    def upkeep(self, *, wait: float = 10.0, lease: float = LEASE) -> Iterator[Upkeep]:
        end, token = time.monotonic() + wait, secrets.token_hex(8)
        while not self._take(token, lease):
            if time.monotonic() >= end:
                raise Busy("another call archives or erases at this moment: try again later")
            time.sleep(min(PAUSE, max(0.0, end - time.monotonic())))
        with self._reading() as run:
            ((store,),) = run("SELECT id FROM sojourn_store")
        try:
            yield SqlUpkeep(self, store, token, lease)
        finally:
            with suppress(Unavailable), self._writing() as run:  # else it ends by itself
                run("UPDATE sojourn_lease SET token = NULL, until = 0 WHERE token = ?", (token,))

    def _take(self, token: str, lease: float) -> bool:
        take = "UPDATE sojourn_lease SET token = ?, until = ? WHERE until < ? RETURNING 1"
        with self._writing() as run:
            now = self._now(run)
            return len(run(take, (token, now + lease, now))) == 1


class Listed(NamedTuple):
    """A table of records: its columns, and what follows the condition in a query for all."""

    table: str
    columns: str
    order: str


LISTED = {
    Group: Listed(
        "sojourn_group", f"epoch, number, {sums_of(tables.GROUPED)}", "GROUP BY 1, 2 ORDER BY 1, 2"
    ),
    Snapshot: Listed(
        "sojourn_snapshot", names(tables.columns(Snapshot)), "ORDER BY at, variant, metric"
    ),
    Edit: Listed("sojourn_edit", names(tables.columns(Edit)), "ORDER BY seq DESC"),
    Part: Listed("sojourn_part", names(tables.columns(Part)), "ORDER BY day, file"),
}
SPANS: dict[type[Any], Callable[..., list[Any]]] = {
    Bucket: SqlStore._timeline,
    Trend: SqlStore._trends,
}
LEDGER: dict[str, Callable[[SqlStore, Run, str], Any]] = {
    "counts": SqlStore._counts,
    "archived": SqlStore._archived,
    "rows": SqlStore._rows,
    "charted": SqlStore._charted,
    "late": SqlStore._late,
    "grouped": SqlStore._grouped,
    "assigned": SqlStore._assigned,
    "trends": SqlStore._over_time,
    "parts": lambda store, run, name: [Part(*row) for row in store._listed(run, Part, name)],
}
"""How each field of a `Ledger` is read."""


class SqlUpkeep:
    """See `base.Upkeep`: every transaction renews the lease, or is rolled back."""

    def __init__(self, store: SqlStore, id: str, token: str, lease: float) -> None:
        self._store, self.store_id, self._token, self._lease = store, id, token, lease

    @contextmanager
    def _writing(self) -> Iterator[Run]:
        renew = "UPDATE sojourn_lease SET until = ? WHERE token = ? RETURNING 1"
        with self._store._writing() as run:
            until = self._store._now(run) + self._lease
            if len(run(renew, (until, self._token))) != 1:
                raise Conflict("the lease has passed to another call: nothing was done")
            yield run

    def archive(self, part: Part, rows: Sequence[Row], sums: Counts) -> bool:
        store = self._store
        among, ids = store._among([row.id for row in rows])
        of_visits = part.experiment, ids
        query = f"SELECT id, version FROM sojourn_visit WHERE experiment = ? AND id {among}"
        with self._writing() as run:
            found = dict(run(query + store.locking, of_visits))
            if found != {row.id: row.version for row in rows}:
                return False
            run(f"DELETE FROM sojourn_event WHERE experiment = ? AND visit {among}", of_visits)
            run(f"DELETE FROM sojourn_visit WHERE experiment = ? AND id {among}", of_visits)
            added = [(part.experiment, *key, n) for key, n in sums.items()]
            store._insert(run, "sojourn_archived", added, KEEP_ARCHIVED)
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

    def erased(self, user: str) -> None:
        with self._writing() as run:
            run('DELETE FROM sojourn_erasing WHERE "user" = ?', (user,))
        self._store._overwrite()

    def compact(self, before: float, *, shrink: bool = False) -> None:
        old = f"start < ? AND start <> {start_of(HOUR, 'start')}"
        into_hours = {
            "sojourn_minute": chart(start_of(HOUR, "start"), "sojourn_minute", old),
            "sojourn_trend": thin(old),
        }
        with self._writing() as run:
            for table, add_up in into_hours.items():
                # rows that others add to at this moment are waited for
                run(f"SELECT 1 FROM {table} WHERE {old}{self._store.locking}", (before,))
                run(add_up, (before,))
                run(f"DELETE FROM {table} WHERE {old}", (before,))
        if shrink:
            self._store._shrink()
