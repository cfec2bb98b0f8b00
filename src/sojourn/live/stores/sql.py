"""What the SQL stores have in common: tables, migrations and queries.

The text is the same for SQLite and PostgreSQL, but for the placeholder and how many rows are
inserted at once.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, get_args, get_type_hints

from ..records import Arm, Bucket, Change, Counts, Event, Key, News, Row
from .base import answers, chains, merged

TEXT, WHOLE, REAL = "TEXT", "BIGINT", "DOUBLE PRECISION"

KINDS = {str: TEXT, int: WHOLE, float: REAL}


def columns(record: Any) -> dict[str, str]:
    """The columns of a table: the fields of a record, in their order, with their SQL types."""
    hints = get_type_hints(record).items()
    return {name: KINDS[(get_args(hint) or (hint,))[0]] for name, hint in hints}


VISIT, EVENT = columns(Row), columns(Event)
COUNTER = {
    "experiment": TEXT, "writer": TEXT, "what": TEXT, "i": WHOLE, "j": WHOLE, "k": WHOLE, "n": REAL,
}  # fmt: skip
ARM = {"experiment": TEXT, **columns(Arm)}
TABLES = {
    "sojourn_visit": VISIT, "sojourn_event": EVENT, "sojourn_counter": COUNTER, "sojourn_arm": ARM,
}  # fmt: skip


def names(table: dict[str, str], prefix: str = "") -> str:
    """The columns of a table as a list for SQL."""
    return ", ".join(f'{prefix}"{column}"' for column in table)


COUNTER_KEY = names({column: kind for column, kind in COUNTER.items() if column != "n"})


def _table(name: str, *extra: str) -> str:
    typed = [f'"{column}" {kind}' for column, kind in TABLES[name].items()]
    return f"CREATE TABLE {name} ({', '.join([*extra[1:], *typed, extra[0]])})"


MIGRATIONS: list[tuple[str, ...]] = [
    (
        'CREATE TABLE sojourn_experiment ("name" TEXT PRIMARY KEY, "settings" TEXT NOT NULL)',
        _table("sojourn_arm", 'PRIMARY KEY ("experiment", "name")'),
        _table("sojourn_visit", 'PRIMARY KEY ("experiment", "id")'),
        'CREATE INDEX sojourn_deadline ON sojourn_visit ("experiment", "deadline") '
        "WHERE status = 'open'",
        _table("sojourn_event", 'UNIQUE ("experiment", "visit", "step", "kind")', "{serial}"),
        """CREATE INDEX sojourn_left ON sojourn_event ("experiment", "at") WHERE kind = 'leave'""",
        _table("sojourn_counter", f"PRIMARY KEY ({COUNTER_KEY})"),
    )
]
"""The statements that lead from each version of the tables to the next."""

KEEP_VISIT = (
    'ON CONFLICT ("experiment", "id") DO UPDATE SET '
    + ", ".join(f'"{c}" = excluded."{c}"' for c in VISIT if c not in ("experiment", "id"))
    + " WHERE sojourn_visit.version = excluded.base"
)
KEEP_COUNTER = f"ON CONFLICT ({COUNTER_KEY}) DO UPDATE SET n = sojourn_counter.n + excluded.n"
KEEP_ARM = (
    'ON CONFLICT ("experiment", "name") DO UPDATE SET '
    "retired = excluded.retired, pulls = excluded.pulls, successes = excluded.successes"
)

HISTORY = f"SELECT {names(EVENT)} FROM sojourn_event WHERE experiment = ? ORDER BY seq"

Run = Callable[..., list[Any]]  # run(sql, parameters) -> rows


def events(rows: Iterable[Any], close: Callable[[], None]) -> Iterator[Event]:
    """The events of a query, which is closed at the end."""
    try:
        for row in rows:
            yield Event(*row)
    finally:
        close()


class SqlStore(ABC):
    """A store in a database; a subclass has connections, transactions and a clock."""

    writer: str
    reading: bool
    serial: str

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Run]:
        """A transaction on the connection that writes."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Run]:
        """A connection to read with."""

    @abstractmethod
    def _now(self, run: Run) -> float:
        """The time, the same for all who use this database."""

    @abstractmethod
    def _insert(self, run: Run, table: str, rows: Sequence[Any], tail: str = "") -> list[bool]:
        """Insert rows or update them; which of them were."""

    @abstractmethod
    def history(self, experiment: str) -> tuple[Counts, Iterator[Event]]:
        """The sum of all counters, and all events, from one snapshot."""

    def _migrate(self, run: Run, version: int) -> int:
        """Migrate the tables; their version then."""
        if version > len(MIGRATIONS):
            raise ValueError(
                f"the tables are of version {version}, and this version of sojourn knows those up "
                f"to {len(MIGRATIONS)}: use a newer one"
            )
        if version < len(MIGRATIONS) and self.reading:
            raise ValueError(
                f"the tables are of version {version}, and this version of sojourn brings them to "
                f"{len(MIGRATIONS)} when it serves them: until then they cannot be read"
            )
        for statements in MIGRATIONS[version:]:
            for statement in statements:
                run(statement.replace("{serial}", f'"seq" {self.serial}'))
        return len(MIGRATIONS)

    def experiments(self) -> list[str]:
        with self._reading() as run:
            return [name for (name,) in run("SELECT name FROM sojourn_experiment ORDER BY name")]

    def load(self, experiment: str) -> tuple[str, list[Arm]] | None:
        with self._reading() as run:
            found = run("SELECT settings FROM sojourn_experiment WHERE name = ?", (experiment,))
            return (found[0][0], self._arms(run, experiment)) if found else None

    def _arms(self, run: Run, experiment: str) -> list[Arm]:
        query = "SELECT position, name, retired, pulls, successes FROM sojourn_arm "
        query += "WHERE experiment = ? ORDER BY position"
        return [Arm(*row) for row in run(query, (experiment,))]

    def save(self, experiment: str, settings: str, arms: Sequence[Arm] = ()) -> None:
        """Make or change an experiment; its row is locked, so that positions are given out once."""
        with self._writing() as run:
            run(
                "INSERT INTO sojourn_experiment VALUES (?, ?) "
                "ON CONFLICT (name) DO UPDATE SET settings = excluded.settings",
                (experiment, settings),
            )
            wanted = {arm.name for arm in arms}
            after = merged(self._arms(run, experiment), arms)
            rows = [(experiment, *arm) for arm in after if arm.name in wanted]
            self._insert(run, "sojourn_arm", rows, KEEP_ARM)

    def append(self, changes: Sequence[Change]) -> list[bool]:
        """Apply changes: visits first; then the events and counts of those that went in."""
        with self._writing() as run:
            joined, found = chains(changes, self._now(run))
            joined.sort(key=lambda chain: chain.row[:2])  # two processes cannot lock crosswise
            done = self._insert(run, "sojourn_visit", [c.row for c in joined], KEEP_VISIT)
            kept = [chain for chain, applied in zip(joined, done, strict=True) if applied]
            events = [e._replace(writer=self.writer) for chain in kept for e in chain.events]
            self._insert(run, "sojourn_event", events)
            total: defaultdict[tuple[str, Key], float] = defaultdict(float)
            for chain in kept:
                for key, amount in chain.counts:
                    total[chain.row.experiment, key] += amount
            rows = [(name, self.writer, *key, n) for (name, key), n in sorted(total.items())]
            self._insert(run, "sojourn_counter", rows, KEEP_COUNTER)
        return answers(found, {chain.row[:2] for chain in kept})

    def visit(self, experiment: str, visit: str) -> Row | None:
        query = f"SELECT {names(VISIT)} FROM sojourn_visit WHERE experiment = ? AND id = ?"
        with self._reading() as run:
            found = run(query, (experiment, visit))
        return Row(*found[0]) if found else None

    def overdue(self, experiment: str, idle: float, limit: int) -> list[tuple[Row, bool]]:
        query = f"SELECT {names(VISIT)} FROM sojourn_visit WHERE experiment = ? "
        query += "AND status = 'open' AND deadline <= ? ORDER BY deadline LIMIT ?"
        with self._reading() as run:
            now = self._now(run)
            rows = [Row(*row) for row in run(query, (experiment, now, limit))]
        return [(row, row.touched + idle <= now) for row in rows]

    def timeline(self, experiment: str, since: float, width: float) -> list[Bucket]:
        stretch = f"CAST(FLOOR((at - ?) / ?) AS {WHOLE})"
        query = f"SELECT {stretch}, COUNT(*), SUM(step), SUM(step * step), SUM(reward), "
        query += "SUM(reward * reward) FROM sojourn_event WHERE experiment = ? AND kind = 'leave' "
        query += "AND at >= ? GROUP BY 1 ORDER BY 1"
        with self._reading() as run:
            rows = run(query, (since, width, experiment, since))
        return [Bucket(since + width * i, n, *map(float, sums)) for i, n, *sums in rows]

    def now(self) -> float:
        with self._reading() as run:
            return self._now(run)

    def event(self, experiment: str, visit: str, step: int, kind: str) -> Event | None:
        query = f"SELECT {names(EVENT)} FROM sojourn_event "
        query += "WHERE experiment = ? AND visit = ? AND step = ? AND kind = ?"
        with self._reading() as run:
            found = run(query, (experiment, visit, step, kind))
        return Event(*found[0]) if found else None

    def counts(self, experiment: str) -> tuple[Counts, Counts]:
        with self._reading() as run:
            return self._counts(run, experiment)

    def news(self, experiments: Sequence[str]) -> dict[str, News]:
        """Four queries, however many experiments there are."""
        marks = ", ".join("?" * len(experiments)) or "NULL"
        with self._reading() as run:
            writer = self.writer
            query = f"SELECT name, settings FROM sojourn_experiment WHERE name IN ({marks})"
            found = {n: News(text, [], writer, {}) for n, text in run(query, list(experiments))}
            query = "SELECT experiment, position, name, retired, pulls, successes FROM sojourn_arm "
            query += f"WHERE experiment IN ({marks}) ORDER BY position"
            for name, *arm in run(query, list(experiments)):
                found[name].arms.append(Arm(*arm))
            query = "SELECT experiment, what, i, j, k, SUM(n) FROM sojourn_counter "
            query += f"WHERE experiment IN ({marks}) AND writer <> ? "
            query += "GROUP BY experiment, what, i, j, k"
            for name, what, i, j, k, n in run(query, [*experiments, writer]):
                found[name].others[what, i, j, k] = n
            query = "SELECT DISTINCT experiment FROM sojourn_visit WHERE status = 'open' "
            query += f"AND experiment IN ({marks}) AND deadline <= ?"
            for (name,) in run(query, [*experiments, self._now(run)]):
                found[name] = found[name]._replace(overdue=True)
        return found

    def _counts(self, run: Run, experiment: str) -> tuple[Counts, Counts]:
        query = "SELECT writer = ?, what, i, j, k, SUM(n) FROM sojourn_counter "
        query += "WHERE experiment = ? GROUP BY 1, what, i, j, k"
        own: Counts = {}
        others: Counts = {}
        for mine, what, i, j, k, n in run(query, (self.writer, experiment)):
            (own if mine else others)[what, i, j, k] = n
        return own, others
