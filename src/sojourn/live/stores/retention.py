"""How SQL stores let go: of dropped experiments, erased users, archived visits, old minutes."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from math import ceil
from typing import Any, ClassVar

from ..errors import Conflict, NotFound
from ..records import HOUR, Counts, Edit, Event, Part, Row
from ..who import ACTING
from .base import Run
from .tables import EVENT, KEEP_ARCHIVED, TABLES, VISIT, chart, names, start_of, thin

AT_ONCE = 20_000  # rows that one transaction deletes of a dropped experiment
OF_EXPERIMENT = ("arm", "counter", "minute", "archived", "part", "group", "trend", "look")


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
            found = run('SELECT COUNT(*) FROM sojourn_visit WHERE "user" = ?', (user,))
            run(
                "UPDATE sojourn_event SET \"user\" = NULL WHERE step = 0 AND kind = 'open' AND "
                "(experiment, visit) IN "
                '(SELECT experiment, id FROM sojourn_visit WHERE "user" = ?)',
                (user,),
            )
            run('UPDATE sojourn_visit SET "user" = NULL WHERE "user" = ?', (user,))
            self._edit(run, "", "erased a user", f"{found[0][0]} visits")
        return int(found[0][0])

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

    def archive(self, part: Part, rows: Sequence[Row], sums: Counts) -> bool:
        among, ids = self._among([row.id for row in rows])
        of_visits = part.experiment, ids
        query = f"SELECT id, version FROM sojourn_visit WHERE experiment = ? AND id {among}"
        with self._writing() as run:
            found = dict(run(query + self.locking, of_visits))
            if found != {row.id: row.version for row in rows}:
                return False
            run(f"DELETE FROM sojourn_event WHERE experiment = ? AND visit {among}", of_visits)
            run(f"DELETE FROM sojourn_visit WHERE experiment = ? AND id {among}", of_visits)
            added = [(part.experiment, *key, n) for key, n in sums.items()]
            self._insert(run, "sojourn_archived", added, KEEP_ARCHIVED)
            self._insert(run, "sojourn_part", [part])
        return True

    def parts(self, experiment: str | None = None) -> list[Part]:
        where, given = ("WHERE experiment = ?", [experiment]) if experiment else ("", [])
        query = (
            f"SELECT {names(TABLES['sojourn_part'])} FROM sojourn_part {where} ORDER BY day, file"
        )
        with self._reading() as run:
            return [Part(*row) for row in run(query, given)]

    def replace_part(self, old: Part, new: Part) -> None:
        with self._writing() as run:
            run("DELETE FROM sojourn_part WHERE file = ?", (old.file,))
            self._insert(run, "sojourn_part", [new])

    def fold_minutes(self, before: float) -> None:
        old = f"start < ? AND start <> {start_of(HOUR, 'start')}"
        into_hours = {
            "sojourn_minute": chart(start_of(HOUR, "start"), "sojourn_minute", old),
            "sojourn_trend": thin(old),
        }
        with self._writing() as run:
            for table, add_up in into_hours.items():
                # whoever does the same at this moment is waited for, and has left nothing to add
                run(f"SELECT 1 FROM {table} WHERE {old}{self.locking}", (before,))
                run(add_up, (before,))
                run(f"DELETE FROM {table} WHERE {old}", (before,))
