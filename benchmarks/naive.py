"""The usual design, to compare with: every request is a transaction of its own.

A request reads its visit and the counters, lets the same compiled policy choose, inserts its
events, updates the row of its visit and the counter of its arm, and commits; every thread has a
connection. The counter comes last, so that its row is locked for as short a time as can be, and
what optimism is learned from is kept in memory: both are in favour of this design.
"""

import sqlite3
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from sojourn.live import Settings
from sojourn.live.learner import Learner
from sojourn.live.records import Arm, Step, following
from sojourn.policies import LearnedIMED

from .load import ARMS

TABLES = (
    "CREATE TABLE event (visit TEXT, step BIGINT, kind TEXT, arm BIGINT, reward DOUBLE PRECISION, "
    "PRIMARY KEY (visit, step, kind))",
    "CREATE TABLE counter (arm BIGINT PRIMARY KEY, pulls BIGINT, successes DOUBLE PRECISION)",
    "CREATE TABLE visit (id TEXT PRIMARY KEY, step BIGINT, arm BIGINT, state DOUBLE PRECISION)",
    *(f"INSERT INTO counter VALUES ({arm}, 0, 0)" for arm in range(ARMS)),
)
SEEN = "SELECT step, arm, state FROM visit WHERE id = ?"
COUNTS = "SELECT arm, pulls, successes FROM counter"
EVENT = "INSERT INTO event VALUES (?, ?, ?, ?, ?)"
COUNT = "UPDATE counter SET pulls = pulls + 1, successes = successes + ? WHERE arm = ?"
OPEN = "INSERT INTO visit VALUES (?, 1, ?, 1)"
MOVE = "UPDATE visit SET step = ?, arm = ?, state = ? WHERE id = ?"
CLOSE = "UPDATE visit SET arm = NULL WHERE id = ?"

Run = Callable[[str, tuple[Any, ...]], Any]
SETTINGS = Settings(policy=LearnedIMED())


class Naive:
    """The policy behind a lock, and a connection for each thread."""

    def __init__(self, connect: Callable[[], Any], transaction: Callable[[Any], Any]) -> None:
        self._connect, self._transaction = connect, transaction
        self._own = threading.local()
        self._lock = threading.Lock()
        self.learner = Learner(SETTINGS, seed=1)
        self.learner.forget([Arm(n, str(n)) for n in range(ARMS)])
        self.connections: list[Any] = []
        db = connect()
        for statement in TABLES:
            with transaction(db) as run:
                run(statement, ())
        db.close()

    def _running(self) -> AbstractContextManager[Run]:
        if not hasattr(self._own, "db"):
            self._own.db = self._connect()
            self.connections.append(self._own.db)
        found: AbstractContextManager[Run] = self._transaction(self._own.db)
        return found

    def _choose(self, counts: list[tuple[int, float, float]], state: float, step: int) -> int:
        with self._lock:
            memory = self.learner.memory
            for arm, pulls, successes in counts:
                memory.pulls[arm], memory.successes[arm] = pulls, successes
            memory.clock[0] = memory.pulls.sum()
            return self.learner.choose(state, step)[0]

    def _follow(self, step: Step, *, left: bool) -> None:
        with self._lock:
            self.learner.absorb(dict(following(step, left, SETTINGS.bins)))
            self.learner.follow(step, left=left)

    def decide(self, visit: str, reward: float | None) -> int:
        """The reward of the last step, and the next arm."""
        with self._running() as run:
            step, last, before = (0, 0, 1.0) if reward is None else run(SEEN, (visit,)).fetchone()
            state = 1.0 if reward is None else reward
            arm = self._choose(run(COUNTS, ()).fetchall(), state, step + 1)
            run(EVENT, (visit, step + 1, "decide", arm, None))
            if reward is None:
                run(OPEN, (visit, arm))
            else:
                run(EVENT, (visit, step, "resolve", last, reward))
                run(MOVE, (step + 1, arm, state, visit))
                run(COUNT, (reward, last))
        if reward is not None:
            self._follow(Step(step, before, last, reward, state), left=False)
        return arm

    def end(self, visit: str, reward: float) -> None:
        """The last reward."""
        with self._running() as run:
            step, last, before = run(SEEN, (visit,)).fetchone()
            run(EVENT, (visit, step, "resolve", last, reward))
            run(EVENT, (visit, step, "leave", None, None))
            run(CLOSE, (visit,))
            run(COUNT, (reward, last))
        self._follow(Step(step, before, last, reward, reward), left=True)

    def close(self) -> None:
        """Close all connections; the threads are gone."""
        for db in self.connections:
            db.close()


def on_sqlite(path: str) -> Naive:
    """On a SQLite file: write-ahead log, full synchronisation, transactions that write at once."""

    def connect() -> sqlite3.Connection:
        db = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        return db

    @contextmanager
    def transaction(db: sqlite3.Connection) -> Any:
        db.execute("BEGIN IMMEDIATE")
        yield db.execute
        db.execute("COMMIT")

    return Naive(connect, transaction)


def on_postgres(url: str) -> Naive:
    """On PostgreSQL, as durable as its settings say."""
    import psycopg

    def connect() -> Any:
        return psycopg.connect(url, autocommit=True)

    @contextmanager
    def transaction(db: Any) -> Any:
        with db.transaction():
            yield lambda sql, values: db.execute(sql.replace("?", "%s"), values)

    return Naive(connect, transaction)


def at(url: str) -> Naive:
    """At sqlite:///file or postgresql://..."""
    scheme, _, rest = url.partition("://")
    return on_sqlite(str(Path(rest[1:]))) if scheme == "sqlite" else on_postgres(url)
