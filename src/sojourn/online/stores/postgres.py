"""A store in a PostgreSQL database, for any number of processes."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..errors import Unavailable
from ..records import Counts, Event
from .sql import EVENT, TABLES, Run, SqlStore, added, names

NAMESPACE = 0x534F4A4F
"""The first key of the advisory locks: (namespace, number) for the writer of that number."""

MIGRATING = -1
CLOCK = "extract(epoch FROM clock_timestamp())::float8"


class PostgresStore(SqlStore):
    """One connection writes, another one reads; both come back after a failure.

    Writers are numbered. A process has the least number that is free, and keeps it by an advisory
    lock, which ends with the connection. So there are as many rows for each counter as there were
    processes at the same time, and none has two writers.
    """

    shared = True
    serial = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise ValueError(
                "PostgreSQL needs the package psycopg: pip install 'sojourn[postgres]'"
            ) from None
        self._psycopg = psycopg
        self.url = url
        self.writer = ""
        self._locks = threading.Lock(), threading.Lock()
        self._connections: list[Any] = [None, None]
        with self._writing():
            pass

    def _connect(self) -> Any:
        return self._psycopg.connect(self.url, autocommit=True, connect_timeout=5)

    def _connection(self, which: int) -> Any:
        """The connection that writes (0) or reads (1), made anew if it was lost."""
        db = self._connections[which]
        if db is None:
            db = self._connect()
            if which == 0:
                try:
                    self._prepare(db)
                    self.writer = _writer(db)
                except BaseException:
                    db.close()
                    raise
            self._connections[which] = db
        return db

    def _prepare(self, db: Any) -> None:
        with db.transaction():
            db.execute("SELECT pg_advisory_xact_lock(%s, %s)", (NAMESPACE, MIGRATING))
            db.execute("CREATE TABLE IF NOT EXISTS sojourn_schema (version BIGINT NOT NULL)")
            found = db.execute("SELECT max(version) FROM sojourn_schema").fetchone()[0] or 0
            version = self._migrate(_run(db), found)
            if version != found:
                db.execute("DELETE FROM sojourn_schema")
                db.execute("INSERT INTO sojourn_schema VALUES (%s)", (version,))

    @contextmanager
    def _using(self, which: int) -> Iterator[Any]:
        """A connection; given up if the database fails."""
        with self._locks[which]:
            try:
                yield self._connection(which)
            except self._psycopg.Error as error:
                db, self._connections[which] = self._connections[which], None
                if db is not None:
                    db.close()
                text = " ".join(str(error).split())
                raise Unavailable(f"the database cannot be used ({text})") from error

    @contextmanager
    def _writing(self) -> Iterator[Run]:
        with self._using(0) as db, db.transaction():
            db.execute("SET LOCAL synchronous_commit = on")
            yield _run(db)

    @contextmanager
    def _reading(self) -> Iterator[Run]:
        with self._using(1) as db:
            yield _run(db)

    def _now(self, run: Run) -> float:
        return float(run(f"SELECT {CLOCK}")[0][0])

    def _insert(self, run: Run, table: str, rows: Sequence[Any], tail: str = "") -> list[bool]:
        if not rows:
            return []
        columns = TABLES[table]
        arrays = ", ".join(f"?::{kind}[]" for kind in columns.values())
        sql = f"INSERT INTO {table} ({names(columns)}) SELECT * FROM unnest({arrays}) {tail}"
        values = [list(column) for column in zip(*rows, strict=True)]
        if table != "sojourn_visit":
            run(sql, values)
            return []
        done = set(run(f'{sql} RETURNING "experiment", "id"', values))
        return [tuple(row[:2]) in done for row in rows]

    def history(self, experiment: str) -> tuple[Counts, Iterator[Event]]:
        """Both from one snapshot, read a part at a time."""
        psycopg = self._psycopg
        try:
            db = self._connect()
            db.autocommit = False
            db.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            counts = added(*self._counts(_run(db), experiment))
            rows = db.cursor(name="history")
            query = f"SELECT {names(EVENT)} FROM sojourn_event WHERE experiment = %s ORDER BY seq"
            rows.execute(query, (experiment,))
        except psycopg.Error as error:
            raise Unavailable(f"the database cannot be used ({error})") from error

        def read() -> Iterator[Event]:
            try:
                for row in rows:
                    yield Event(*row)
            finally:
                if not db.closed:
                    rows.close()
                db.close()

        return counts, read()

    def close(self) -> None:
        """Close the connections."""
        for which in (0, 1):
            with self._locks[which]:
                db, self._connections[which] = self._connections[which], None
                if db is not None:
                    db.close()


def _run(db: Any) -> Run:
    def run(sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        cursor = db.execute(sql.replace("?", "%s"), parameters)
        return cursor.fetchall() if cursor.description else []

    return run


def _writer(db: Any) -> str:
    """The least number that no other process has."""
    number = 0
    query = "SELECT pg_try_advisory_lock(%s, %s)"
    while not db.execute(query, (NAMESPACE, number)).fetchone()[0]:
        number += 1
    return f"writer {number}"
