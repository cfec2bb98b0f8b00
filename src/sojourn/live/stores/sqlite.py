"""A store in one SQLite file, or in memory, for one process."""

import json
import logging
import math
import os
import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Self

from ...validation import InputError
from ..errors import Unavailable
from ..files import Lock, make_private, whole
from ..monitor.trends import PLACES, bucket_of, parts
from ..records import LEAVE, Change, Key, Row, visit_of
from ..rollout.groups import added_by
from . import not_allowed
from .base import answers, chains
from .pool import Pool, closed_on_error
from .sql import ReadView, Run, SqlStore
from .tables import KEEP, TABLES, VERSION, names

LARGEST = 32
"""Most rows of one statement; sizes are powers of two, so that few statements are prepared."""

SMALL = 64e6
"""Bytes of a file that is rewritten after an erasure: this takes about a second."""

SHORT = 0.5
"""Seconds that calls may wait while the write-ahead log is emptied."""

UNLESS_GONE = (
    "column3 = 0 OR EXISTS "
    "(SELECT 1 FROM sojourn_visit WHERE experiment = column1 AND id = column2)"
)
"""A change of a visit (its base is not 0) that is no longer there must not make it anew."""

BRING_BACK = (
    'UPDATE sojourn_visit SET "deadline" = "deadline" - ("touched" - ?1), "touched" = ?1, '
    '"until" = "until" - ("touched" - ?1) '
    "WHERE status = 'open' AND \"touched\" > ?1"
)
"""Visits touched in the future by a clock that was wrong: they would time out late."""

READERS = 8
"""Connections that read, opened when they are needed."""

APPLICATION = 0x534F4A4C  # "SOJL", in the header of the file

AHEAD = 3600.0
"""Seconds that the last event may be ahead of the wall clock and still be believed."""

log = logging.getLogger("sojourn.live")


class Steady:
    """Seconds since 1970 by the wall clock at the start, then by a clock that cannot be set.

    It begins no earlier than `latest`, the last time that was stored, so that a wall clock that was
    set back between two starts does not make time run backwards. If that is more than an hour ahead
    of the wall clock, the clock was wrong then, and is believed now: `jumped`.

    >>> import time
    >>> later = time.time() + 60
    >>> Steady(later)() >= later, Steady(later + 86_400)() >= later
    (True, False)
    """

    def __init__(self, latest: float = 0.0) -> None:
        now = time.time()
        self.jumped = latest > now + AHEAD
        self._offset = (now if self.jumped else max(now, latest)) - time.monotonic()

    def __call__(self) -> float:
        return self._offset + time.monotonic()


class SqliteStore(SqlStore):
    """A file in WAL mode with synchronous=FULL: one connection writes, a few others read.

    A second writing process is refused: with several writers on one file, calls wait for seconds.
    Any number may read at the same time (`read_only`).

    `in_memory` is a store that ends with its process: one connection, and no file.

    >>> SqliteStore.in_memory().read()
    {}
    """

    writer = "sqlite"
    shared: ClassVar[bool] = False
    serial: ClassVar[str] = "INTEGER PRIMARY KEY"
    begin: ClassVar[str] = "BEGIN"
    clock: ClassVar[str] = "sojourn_now()"

    @classmethod
    def open(cls, url: str, *, read_only: bool = False, deadline: float = math.inf) -> Self:
        scheme, _, rest = url.partition("://")
        if scheme == "memory":
            return cls.in_memory()
        if len(rest) < 2 or not rest.startswith("/") or rest == "/:memory:":
            raise not_allowed(url)
        return cls(rest[1:], read_only=read_only, deadline=deadline)

    @classmethod
    def in_memory(cls, clock: Callable[[], float] | None = None) -> Self:
        """A store in the memory of this process, for tests and first steps."""
        return cls(None, clock)

    def __init__(
        self,
        path: str | Path | None,
        clock: Callable[[], float] | None = None,
        *,
        read_only: bool = False,
        deadline: float = math.inf,
    ) -> None:
        self.path = None if path is None else Path(path)
        self.read_only, self.deadline = read_only, deadline
        if read_only and self.path is not None and not self.path.is_file():
            raise InputError(f"there is no file {self.path}")
        self._lock = threading.RLock()
        self._held = None if read_only or self.path is None else Lock(self.path)
        try:
            if self._held is not None and (made := make_private(self._held.database)) is not None:
                os.close(made)
            with self._clearly():
                self._writer = self._connect()
                with closed_on_error(self._writer):
                    self._prepare()
                    self._clock = clock or self._steady()
                    self._writer.create_function("sojourn_now", 0, self._clock)
            self._readers = Pool(self._connect_reader, READERS)
            if not read_only:
                self._purge()
        except BaseException:
            if self._held is not None:
                self._held.withdraw()
            raise

    def _steady(self) -> Steady:
        """The time goes on from the last event; visits from the future are brought back."""
        run = self._run(self._writer)
        latest = run('SELECT "at" FROM sojourn_event ORDER BY seq DESC LIMIT 1')
        clock = Steady(latest[0][0] if latest else 0.0)
        if clock.jumped and not self.read_only:
            now = clock()
            log.warning(
                "the last event in %s is %.1f hours ahead of the clock: the clock is right now, "
                "and visits of that time go on from now",
                self, (latest[0][0] - now) / 3600.0,
            )  # fmt: skip
            run(BRING_BACK, (now,))
        return clock

    def _connect(self, wait: float = 10.0) -> sqlite3.Connection:
        place = ":memory:" if self.path is None else self.path
        return sqlite3.connect(place, timeout=wait, isolation_level=None, check_same_thread=False)

    def _connect_reader(self) -> sqlite3.Connection:
        db = self._connect()
        db.execute("PRAGMA query_only = ON")
        db.create_function("sojourn_now", 0, self._clock)
        return db

    def _prepare(self) -> None:
        db = self._writer
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables and application != APPLICATION:
            raise InputError(f"{self} is a database of something else, not of live visits")
        if self.read_only:
            db.execute("PRAGMA query_only = ON")
            self._check_schema(self._run(db), version)
            return
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA secure_delete = ON")  # an erased id is overwritten
        with self._writing() as run:
            self._check_schema(run, version)
            run(f"PRAGMA application_id = {APPLICATION}")
            run(f"PRAGMA user_version = {VERSION}")
            run("UPDATE sojourn_lease SET token = NULL, until = 0")  # its holder is dead
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # which a killed process has left

    def _run(self, db: sqlite3.Connection) -> Run:
        return lambda sql, parameters=(): db.execute(sql, parameters).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[Run]:
        with self._lock, self._clearly():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._run(self._writer)
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    @contextmanager
    def _reading(self) -> Iterator[Run]:
        if self.path is None:
            with self._lock, self._clearly():
                yield self._run(self._writer)
        else:
            with self._clearly(), self._readers.one(self.deadline) as db:
                yield self._run(db)

    def append(self, changes: Sequence[Change]) -> list[bool]:
        """Apply changes: visits first; then the events and counts of those that went in."""
        with self._writing() as run:
            now = self._clock()
            joined, found = chains(changes, now)
            among, named = self._among(sorted({chain.row.experiment for chain in joined}))
            known = set(run(f"SELECT name FROM sojourn_experiment WHERE name {among}", (named,)))
            joined = [chain for chain in joined if (chain.row.experiment,) in known]
            done = self._insert_visits(run, [chain.row for chain in joined])
            kept = [chain for chain, applied in zip(joined, done, strict=True) if applied]
            late = self._past_window(run, now, [chain.row for chain in kept if chain.row.epoch])
            events = [e._replace(writer=self.writer) for chain in kept for e in chain.events]
            self._insert(run, "sojourn_event", events)
            total: defaultdict[tuple[str, Key], float] = defaultdict(float)
            trends: defaultdict[tuple[str, float, int], list[float]]
            trends = defaultdict(lambda: [0.0] * len(PLACES))
            for chain in kept:
                name, start = chain.row.experiment, bucket_of(chain.row.touched)
                for key, amount in chain.counts:
                    total[name, key] += amount
                    for arm, place in parts(key):
                        trends[name, start, arm][place] += amount
            sums: dict[str, list[tuple[str, tuple[Any, ...]]]] = {
                "sojourn_counter": [(name, (*key, n)) for (name, key), n in sorted(total.items())],
                "sojourn_trend": [(name, (*at, *sums)) for (name, *at), sums in trends.items()],
                "sojourn_minute": [
                    (event.experiment, visit_of(event)) for event in events if event.kind == LEAVE
                ],
                "sojourn_group": [
                    (chain.row.experiment, group[1:])
                    for chain in kept
                    if chain.row[:2] not in late
                    and (group := added_by(chain.row, chain.events)) is not None
                ],
            }
            for table, rows in sums.items():
                self._insert(run, table, [(name, self.writer, *row) for name, row in rows])
        return answers(found, {chain.row[:2] for chain in kept})

    def _insert_visits(self, run: Run, rows: Sequence[Row]) -> list[bool]:
        """Insert visits, or change those that are at the version before; which of them were."""
        if self._insert(run, "sojourn_visit", rows) == len(rows):
            return [True] * len(rows)
        query = "SELECT version FROM sojourn_visit WHERE experiment = ? AND id = ?"
        return [(row.version,) in run(query, row[:2]) for row in rows]

    def _past_window(self, run: Run, now: float, rows: Sequence[Row]) -> set[tuple[str, str]]:
        """Which of these visits earn what is not compared any more."""
        wanted = {"experiment": {row.experiment for row in rows}, "id": [row.id for row in rows]}
        where, given = self._where(wanted)
        query = f"SELECT experiment, id FROM sojourn_visit {where} AND until < ?"
        return set(run(query, [*given, now])) if rows else set()

    def _among(self, values: Sequence[Any]) -> tuple[str, Any]:
        return "IN (SELECT value FROM json_each(?))", json.dumps(values)

    def _insert(self, run: Run, table: str, rows: Sequence[Any]) -> int:
        """Many rows a statement: each one releases the GIL, and waits to get it back."""
        columns, done, changed = TABLES[table], 0, 0
        into, marks = f"INSERT INTO {table} ({names(columns)})", ", ".join("?" * len(columns))
        keep = KEEP.get(table, "")
        if table == "sojourn_visit":
            keep += " ON CONFLICT DO NOTHING"  # it is in another variant
        while done < len(rows):
            size = min(LARGEST, 1 << ((len(rows) - done).bit_length() - 1))
            given = f"VALUES {', '.join([f'({marks})'] * size)}"
            if table == "sojourn_visit":
                given = f"SELECT * FROM ({given}) WHERE {UNLESS_GONE}"
            values = [*chain(*rows[done : done + size])]
            changed += self._writer.execute(f"{into} {given} {keep}", values).rowcount
            done += size
        return changed

    def _view(self) -> ReadView:
        with self._clearly():
            db = self._connect()
            if self.path is None:
                with self._lock:
                    self._writer.backup(db)
            else:
                db.execute("BEGIN")
        return ReadView(self._run(db), db.execute, db.close)

    def _overwrite(self) -> None:
        """Empty the write-ahead log, which may wait until current readers are done."""
        if self.path is not None:
            with self._clearly(), closing(self._connect(SHORT)) as db:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _rewrite(self) -> None:
        """Rewrite the file if it is small: `secure_delete` misses copies that SQLite has moved."""
        if self.path is not None and self.path.stat().st_size <= SMALL:
            self._shrink()

    def _shrink(self) -> None:
        with self._lock, self._clearly():
            self._writer.execute("VACUUM")
        self._overwrite()

    def _probe(self) -> None:
        """Write the page that has the version, as it is."""
        with self._writing() as run:
            ((version,),) = run("PRAGMA user_version")
            run(f"PRAGMA user_version = {version}")

    def __str__(self) -> str:
        return "memory://" if self.path is None else str(self.path)

    def close(self) -> None:
        self._readers.close()
        self._writer.close()
        if self._held is not None:
            self._held.close()

    @contextmanager
    def _clearly(self) -> Iterator[None]:
        """Turn errors of SQLite into one sentence about the file."""
        try:
            yield
        except (sqlite3.OperationalError, sqlite3.ProgrammingError) as error:
            raise Unavailable(f"{self} cannot be used ({error})") from error
        except sqlite3.DatabaseError as error:
            raise Unavailable(f"{self} is not a store, or it is damaged ({error})") from error


def backup(url: str, target: Path) -> None:
    """A consistent copy of a file that another process may be writing to."""
    with closing(SqliteStore.open(url, read_only=True)) as store, whole(target) as part:
        try:
            with closing(sqlite3.connect(part)) as made:
                store._writer.backup(made)
                (answer,) = made.execute("PRAGMA quick_check").fetchone()
        except sqlite3.Error as error:
            raise InputError(f"{target} cannot be written ({error})") from error
        if answer != "ok":
            raise InputError(f"the copy in {target} is damaged ({answer})")
