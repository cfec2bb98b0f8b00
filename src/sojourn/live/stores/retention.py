"""How SQL stores let go: of dropped experiments, erased users, archived visits, old minutes."""

import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from math import ceil
from typing import Any, ClassVar

from ..errors import Busy, Conflict, NotFound, Unavailable
from ..records import HOUR, Counts, Edit, Event, Part, Row
from ..who import ACTING
from .base import LEASE, Run, Upkeep
from .tables import EVENT, KEEP_ARCHIVED, TABLES, VISIT, chart, names, start_of, thin

PAUSE = 0.05  # seconds between two attempts to take the lease
AT_ONCE = 20_000  # rows that one transaction deletes of a dropped experiment
OF_EXPERIMENT = ("arm", "counter", "minute", "archived", "group", "trend", "look")


class Retention(ABC):
    """The half of a store in a database that deletes; a subclass has transactions and a clock."""

    grace: ClassVar[float] = 0.0
    """Seconds for which another process may still write to an experiment that was dropped."""

    locking: ClassVar[str] = ""
    """What follows a query whose rows nobody may change until the transaction ends."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Run]:
        """A transaction on the connection that writes."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Run]:
        """A connection that reads."""

    @abstractmethod
    def _now(self, run: Run) -> float: ...

    @abstractmethod
    def _insert(self, run: Run, table: str, rows: Sequence[Any], tail: str = "") -> list[bool]:
        """Insert rows or update them; which of them were."""

    @abstractmethod
    def _among(self, values: Sequence[Any]) -> tuple[str, Any]:
        """SQL after a column that says that it has one of these values, and its parameter."""

    def edits(self, limit: int, experiment: str | None = None) -> list[Edit]:
        where, given = ("WHERE experiment = ?", [experiment]) if experiment else ("", [])
        query = f"SELECT {names(TABLES['sojourn_edit'])} FROM sojourn_edit {where} "
        with self._reading() as run:
            return [
                Edit(*row) for row in run(f"{query} ORDER BY seq DESC LIMIT ?", [*given, limit])
            ]

    def _edit(self, run: Run, experiment: str, what: str, detail: str) -> None:
        edit = Edit(self._now(run), ACTING.get(), experiment, what, detail)
        self._insert(run, "sojourn_edit", [edit])

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

    def ended(self, experiment: str, before: float, limit: int) -> list[Row]:
        query = f"SELECT {names(VISIT)} FROM sojourn_visit WHERE experiment = ? "
        query += "AND status <> 'open' AND touched < ? ORDER BY touched LIMIT ?"
        with self._reading() as run:
            return [Row(*row) for row in run(query, (experiment, before, limit))]

    def events_of(self, experiment: str, visits: Sequence[str]) -> list[Event]:
        among, ids = self._among(visits)
        query = f"SELECT {names(EVENT)} FROM sojourn_event WHERE experiment = ? "
        query += f"AND visit {among} ORDER BY seq"
        with self._reading() as run:
            return [Event(*row) for row in run(query, (experiment, ids))]

    def parts(self, experiment: str | None = None) -> list[Part]:
        with self._reading() as run:
            return self._parts(run, experiment)

    def _parts(self, run: Run, experiment: str | None) -> list[Part]:
        where, given = ("", []) if experiment is None else ("WHERE experiment = ?", [experiment])
        columns = names(TABLES["sojourn_part"])
        query = f"SELECT {columns} FROM sojourn_part {where} ORDER BY day, file"
        return [Part(*row) for row in run(query, given)]

    @abstractmethod
    def _shrink(self) -> None:
        """Give the room of what was deleted back to the disk."""

    def _overwrite(self) -> None:  # noqa: B027
        """Leave no copy of what was deleted, where that can be helped."""


class SqlUpkeep:
    """See `base.Upkeep`: every transaction renews the lease, or is rolled back."""

    def __init__(self, store: Retention, id: str, token: str, lease: float) -> None:
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
