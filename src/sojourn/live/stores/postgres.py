"""A store in a PostgreSQL database, for any number of processes.

Its connections do not wait for ever, and behave the same on every server.
"""

import json
import math
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self

from ...extras import require
from ..errors import Unavailable
from ..monitor.trends import COUNTED, FOLLOWED, SPAN
from ..records import Change, Event
from ..rollout.groups import added_by
from . import tables
from .base import answers, chains
from .pool import Pool, closed_on_error
from .sql import ReadView, Run, SqlStore
from .tables import KEEP, KEYS, TABLES, add_up, names, sums_of, values_of

require("a store in PostgreSQL", "postgres", "psycopg")
import psycopg  # noqa: E402
from psycopg.conninfo import conninfo_to_dict  # noqa: E402

TCP = {
    "keepalives": 1, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}  # fmt: skip
"""Parameters of libpq, unless the address has others: a peer that is gone is noticed."""

CONNECT = 5.0
"""Seconds to connect, unless the deadline is shorter; psycopg takes 2 at least."""

PINNED = {
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "off",
    "idle_in_transaction_session_timeout": "60s",
}
"""Settings that a server, a database or a role may have otherwise."""


class Link(psycopg.Connection[Any]):
    """A connection with a deadline for every answer of the server, after which it is closed.

    The server has the deadline as well (`statement_timeout`), but one that hangs keeps none.
    """

    deadline = math.inf
    _told = math.inf

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **options: Any) -> Any:
        """The condition that psycopg waits for; it checks several times per second."""
        if self.deadline < math.inf:
            gen = self._limited(gen, time.monotonic() + self.deadline)
        return super().wait(gen, *args, **options)

    def _limited(self, gen: Generator[Any, Any, Any], end: float) -> Generator[Any, Any, Any]:
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() >= end:
                    self.close()
                    raise psycopg.OperationalError(f"no answer for {self.deadline:g} s")
                wanted = gen.send(ready)
        except StopIteration as done:
            return done.value

    def limit(self, deadline: float) -> None:
        """Change the deadline of what comes."""
        self.deadline = deadline
        if deadline != self._told:
            ms = 0 if deadline == math.inf else max(1, round(1000 * deadline))
            self.execute(
                "SELECT set_config('statement_timeout', %s, false), "
                "set_config('lock_timeout', %s, false)",
                (str(ms), str(ms)),
            )
            self._told = deadline


def connect(url: str, deadline: float, *, read_only: bool = False) -> Link:
    """A connection in autocommit mode."""
    given = conninfo_to_dict(url)
    wanted = {**TCP, "connect_timeout": math.ceil(min(CONNECT, deadline))}
    more: Any = {name: value for name, value in wanted.items() if name not in given}
    link = Link.connect(url, autocommit=True, **more)
    with closed_on_error(link):
        link.deadline = deadline
        pinned = {**PINNED, "default_transaction_read_only": "on" if read_only else "off"}
        calls = ", ".join(["set_config(%s, %s, false)"] * len(pinned))
        link.execute(f"SELECT {calls}", [word for pair in pinned.items() for word in pair])
        link.limit(deadline)
    return link


NAMESPACE = 0x534F4A4F
"""The first key of the advisory locks: (namespace, number) for the writer of that number."""

MIGRATING = -1
CLOCK = "extract(epoch FROM clock_timestamp())::float8"


def _records(columns: dict[str, str]) -> str:
    """The rows of a JSON parameter as a table."""
    kinds = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
    return f"json_to_recordset(%s::json) AS x({kinds})"


def _of_kept(columns: dict[str, str]) -> str:
    """Those rows of a JSON parameter whose changes were applied."""
    of_visits = _records({**columns, "visit": tables.TEXT})
    return f"{of_visits} JOIN kept ON kept.experiment = x.experiment AND kept.id = x.visit"


UNSTAMPED = 0.0  # a placeholder for the time of the batch, which the database fills in
STAMPED_VISIT = names(tables.VISIT, "x.").removesuffix('x."touched", x."deadline", x."until"') + (
    f"CASE WHEN x.touched = {UNSTAMPED} THEN now ELSE x.touched END, "
    f"CASE WHEN x.touched = {UNSTAMPED} THEN now ELSE 0 END + x.deadline, now + x.until"
)
STAMPED_EVENT = names(tables.EVENT, "x.").removesuffix('x."at"') + "now"
COUNTER, GROUP = TABLES["sojourn_counter"], TABLES["sojourn_group"]
GROUP_KEY = [f'x."{column}"' for column in KEYS["sojourn_group"]]
WITHIN_WINDOW = f"{_of_kept(GROUP)}, clock WHERE now <= kept.until"
SAME_WHOLE = f"{tables.WHOLE_NAME} = {tables.WHOLE_NAME.replace('experiment', 'x.experiment')}"
TREND_KEY = ["experiment", "writer", tables.start_of(SPAN, "touched"), "arm"]
TREND_SUMS = ", ".join(
    f"SUM(CASE WHEN what = '{what}' AND k = {k} THEN n ELSE 0 END)" for what, k in COUNTED
)
BY_ARM_OR_STATE = " UNION ALL ".join(
    f"SELECT *, {place} AS arm FROM amounts WHERE what IN ({', '.join(map(repr, sorted(whats)))})"
    for place, whats in (("i", {what for what, _ in COUNTED}), ("-2 - j", FOLLOWED))
)
"""Counters by what they are added to, as `trends.parts` says."""

APPEND = f"""
WITH clock AS MATERIALIZED (SELECT {CLOCK} AS now),
kept AS (
    INSERT INTO sojourn_visit ({names(tables.VISIT)})
    SELECT {STAMPED_VISIT} FROM {_records(tables.VISIT)}, clock
    WHERE EXISTS (SELECT FROM sojourn_experiment WHERE name = x.experiment) AND (x.base = 0 OR
        EXISTS (SELECT FROM sojourn_visit v WHERE v.experiment = x.experiment AND v.id = x.id))
        AND (x.base <> 0 OR x.epoch = 0 OR NOT EXISTS (
            SELECT FROM sojourn_visit v WHERE {SAME_WHOLE} AND v.id = x.id AND v.epoch > 0))
    {KEEP["sojourn_visit"]} RETURNING "experiment", "id", "base", "touched", "until",
        xmax = 0 AS made
),
logged AS (
    INSERT INTO sojourn_event ({names(tables.EVENT)})
    SELECT {STAMPED_EVENT} FROM {_of_kept({"n": "BIGINT", **tables.EVENT})}, clock
    ORDER BY x.n RETURNING *
),
charted AS ({tables.chart("logged")}),
amounts AS MATERIALIZED (SELECT {names(COUNTER, "x.")}, kept.touched FROM {_of_kept(COUNTER)}),
counted AS ({add_up("sojourn_counter", KEYS["sojourn_counter"], "SUM(n)", "amounts")}),
over_time AS (
    {add_up("sojourn_trend", TREND_KEY, TREND_SUMS, f"({BY_ARM_OR_STATE}) AS counted")}
),
grouped AS (
    {add_up("sojourn_group", GROUP_KEY, sums_of(values_of("sojourn_group")), WITHIN_WINDOW)}
)
SELECT "experiment", "id" FROM kept WHERE 1 / CASE WHEN made AND base <> 0 THEN 0 ELSE 1 END = 1
"""
"""Append a batch in one statement, which is one transaction and one round trip.

A change of a visit that another process archives or drops at this very moment would make it anew:
then the division fails, and the batch with it.
"""


SLOW = 10
"""Deadlines that an answer of a connection that reads the whole log may take."""

READERS = 8
"""Connections that read: as many as a journal has threads to read with, and one more."""


class PostgresStore(SqlStore):
    """One connection writes, a few others read; all are opened again after a failure.

    Writers are numbered. A process has the least number that is free, and keeps it by an advisory
    lock, which ends with the connection. So there are as many rows for each counter as there were
    processes at the same time, and none has two writers.
    """

    shared: ClassVar[bool] = True
    grace: ClassVar[float] = 60.0  # far longer than a statement may take
    locking: ClassVar[str] = " FOR UPDATE"
    serial: ClassVar[str] = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
    clock: ClassVar[str] = CLOCK
    begin: ClassVar[str] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

    @classmethod
    def open(cls, url: str, *, read_only: bool = False, deadline: float = math.inf) -> Self:
        return cls(url, read_only=read_only, deadline=deadline)

    def __init__(self, url: str, *, read_only: bool = False, deadline: float = math.inf) -> None:
        self.url, self.read_only, self.deadline = url, read_only, deadline
        self.writer = ""
        self._lock = threading.Lock()
        self._db: Any = None
        self._readers: Pool[Any] = Pool(self._connect, READERS)
        with self._reading() if read_only else self._writing():
            pass
        if not read_only:
            self._purge()

    def _connect(self, *, writes: bool = False) -> Any:
        db = connect(self.url, self.deadline, read_only=self.read_only)
        with closed_on_error(db):
            if self.read_only:
                self._see(db)
            elif writes:
                db.execute("SET synchronous_commit = on")
                self._prepare(db)
                self.writer = _writer(db)
        return db

    def _see(self, db: Any) -> None:
        """Check that the tables exist and have this version."""
        made = db.execute("SELECT to_regclass('sojourn_schema')").fetchone()[0]
        query = "SELECT max(version) FROM sojourn_schema"
        self._check_schema(_run(db), (made and db.execute(query).fetchone()[0]) or 0)

    def _prepare(self, db: Any) -> None:
        with db.transaction():
            db.execute("SELECT pg_advisory_xact_lock(%s, %s)", (NAMESPACE, MIGRATING))
            db.execute("CREATE TABLE IF NOT EXISTS sojourn_schema (version BIGINT NOT NULL)")
            found = db.execute("SELECT max(version) FROM sojourn_schema").fetchone()[0] or 0
            self._check_schema(_run(db), found)
            if not found:
                db.execute("INSERT INTO sojourn_schema VALUES (%s)", (tables.VERSION,))

    @contextmanager
    def _clearly(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            text = " ".join(str(error).split())
            raise Unavailable(f"the database cannot be used ({text})") from error

    @contextmanager
    def _writer_connection(self) -> Iterator[Any]:
        """The connection that writes, opened again if it was lost, and dropped if it fails."""
        if not self._lock.acquire(timeout=min(self.deadline, threading.TIMEOUT_MAX)):
            raise Unavailable("the connection that writes is in use")
        try:
            with self._clearly():
                try:
                    self._db = self._db or self._connect(writes=True)
                    self._db.limit(self.deadline)
                    yield self._db
                except psycopg.Error:
                    db, self._db = self._db, None
                    if db is not None:
                        db.close()
                    raise
        finally:
            self._lock.release()

    @contextmanager
    def _writing(self) -> Iterator[Run]:
        with self._writer_connection() as db, db.transaction():
            db.execute("SET LOCAL synchronous_commit = on")
            yield _run(db)

    @contextmanager
    def _reading(self) -> Iterator[Run]:
        with self._clearly(), self._readers.one(self.deadline) as db:
            db.limit(self.deadline)
            yield _run(db)

    def append(self, changes: Sequence[Change]) -> list[bool]:
        """One statement, so one round trip: each costs a wait for the GIL as well."""
        joined, found = chains(changes, UNSTAMPED)
        joined.sort(key=lambda chain: chain.row[1::-1])  # two processes cannot lock crosswise
        visits = [chain.row._asdict() for chain in joined]
        with self._writer_connection() as db:
            writer = self.writer
            events = [
                {"n": n, **event._asdict(), "writer": writer}
                for n, event in enumerate(e for chain in joined for e in chain.events)
            ]
            columns = (*COUNTER, "visit")
            counts = [
                dict(zip(columns, (c.row.experiment, writer, *key, n, c.row.id), strict=True))
                for c in joined
                for key, n in c.counts
            ]
            groups = [
                {**g._asdict(), "writer": writer, "visit": c.row.id}
                for c in joined
                if (g := added_by(c.row, c.events)) is not None
            ]
            parts = [json.dumps(part) for part in (visits, events, counts, groups)]
            applied = set(_appended(db, parts))
        return answers(found, applied)

    def _insert(self, run: Run, table: str, rows: Sequence[Any]) -> None:
        columns = TABLES[table]
        arrays = ", ".join(f"?::{kind}[]" for kind in columns.values())
        insert = f"INSERT INTO {table} ({names(columns)}) SELECT * FROM unnest({arrays}) "
        if rows:
            run(insert + KEEP.get(table, ""), [list(column) for column in zip(*rows, strict=True)])

    def _among(self, values: Sequence[Any]) -> tuple[str, Any]:
        return "= ANY(?)", list(values)

    def _view(self) -> ReadView:
        with self._clearly():
            db = self._connect()
            db.limit(SLOW * self.deadline)
            db.execute("SET idle_in_transaction_session_timeout = 0")
            db.autocommit = False
            db.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        rows = db.cursor(name="rows")  # on the server, which sends some at a time

        def stream(query: str, parameters: Sequence[Any]) -> Any:
            return rows.execute(query.replace("?", "%s"), parameters)

        def close() -> None:
            if not db.closed:
                rows.close()
            db.close()

        return ReadView(_run(db), stream, close)

    def _shrink(self) -> None:
        """Rewrite the large tables."""
        with self._writer_connection() as db:
            db.limit(math.inf)
            for table in ("sojourn_event", "sojourn_visit", "sojourn_erasing"):
                db.execute(f"VACUUM FULL {table}")

    def _probe(self) -> None:
        """Insert an event, which may need space on the disk, and roll back."""
        row = Event("", "", 0, "probe")._asdict()
        values = ", ".join("%s" for _ in row)
        insert = f"INSERT INTO sojourn_event ({names(tables.EVENT)}) VALUES ({values})"
        with self._writer_connection() as db, db.transaction(force_rollback=True):
            db.execute(insert, list(row.values()))

    def close(self) -> None:
        self._readers.close()
        if self._lock.acquire(timeout=0.1):  # else the writer hangs, and ends with the process
            try:
                db, self._db = self._db, None
                if db is not None:
                    db.close()
            finally:
                self._lock.release()


def _run(db: Any) -> Run:
    def run(query: str, parameters: Sequence[Any] = ()) -> list[Any]:
        cursor = db.execute(query.replace("?", "%s"), parameters)
        return cursor.fetchall() if cursor.description else []

    return run


def _appended(db: Any, parts: Sequence[str]) -> list[Any]:
    """The visits that were written; once more if others have just opened one in another variant."""
    while True:
        try:
            return list(db.execute(APPEND, parts, prepare=True).fetchall())
        except psycopg.errors.UniqueViolation as error:
            if error.diag.constraint_name != "sojourn_once":
                raise


def _writer(db: Any) -> str:
    """The least number that no other process has."""
    number = 0
    query = "SELECT pg_try_advisory_lock(%s, %s)"
    while not db.execute(query, (NAMESPACE, number)).fetchone()[0]:
        number += 1
    return f"writer {number}"
