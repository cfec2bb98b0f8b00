"""What the SQL stores have in common: their queries.

The text is the same for SQLite and PostgreSQL, but for the placeholder and how many rows are
inserted at once.
"""

import secrets
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from ...validation import InputError
from .. import groups, records
from ..groups import Group
from ..records import Arm, Bucket, Change, Counts, Event, Key, Ledger, Look, News, Row
from ..trends import PLACES, Trend, as_counts, bucket_of, parts
from . import tables
from .base import Linked, Run, answers, chains, edit_of, merged
from .retention import Retention
from .tables import EVENT, VISIT, names

T = TypeVar("T")

HISTORY = f"SELECT {names(EVENT)} FROM sojourn_event WHERE experiment = ? ORDER BY seq"


class Snapshot(NamedTuple):
    """A connection that sees the store as it was at one moment; `stream` does not hold all rows."""

    run: Run
    stream: Callable[[str, Sequence[Any]], Iterable[Any]]
    close: Callable[[], None]


def events(rows: Iterable[Any], close: Callable[[], None]) -> Iterator[Event]:
    """The events of a query, which is closed at the end."""
    try:
        for row in rows:
            yield Event(*row)
    finally:
        close()


class SqlStore(Retention):
    """A store in a database; a subclass has connections, transactions and a clock."""

    writer: str
    reading: bool
    serial: str

    @abstractmethod
    def _snapshot(self) -> Snapshot:
        """A new connection, in a transaction that sees one moment."""

    def _check_schema(self, run: Run, version: int) -> None:
        """Make the tables if there are none; refuse those of another version."""
        if version > tables.VERSION:
            raise InputError(
                f"the tables are of version {version}, and this version of sojourn has "
                f"{tables.VERSION}: use a newer one"
            )
        if 0 < version < tables.VERSION:
            raise InputError(
                f"the tables are of version {version}, and this version of sojourn has "
                f"{tables.VERSION}: export what you need with the older one, and start a new store"
            )
        if version == 0 and self.reading:
            raise InputError("there are no tables of live visits here: serve the store first")
        if version == 0:
            for statement in tables.SCHEMA:
                statement = statement.replace("{serial}", f'"seq" {self.serial}')
                run(statement.replace("{id}", secrets.token_hex(8)))

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
            self._check_name_is_free(run, experiment)
            found = run("SELECT settings FROM sojourn_experiment WHERE name = ?", (experiment,))
            run(
                "INSERT INTO sojourn_experiment VALUES (?, ?) "
                "ON CONFLICT (name) DO UPDATE SET settings = excluded.settings",
                (experiment, settings),
            )
            known, wanted = self._arms(run, experiment), {arm.name for arm in arms}
            edit = edit_of((found[0][0], known) if found else None, settings, arms)
            if edit is not None:
                self._edit(run, experiment, *edit)
            rows = [(experiment, *arm) for arm in merged(known, arms) if arm.name in wanted]
            self._insert(run, "sojourn_arm", rows, tables.KEEP_ARM)

    def exchange(self, experiment: str, before: str, after: str) -> bool:
        query = "SELECT settings FROM sojourn_experiment WHERE name = ?"
        with self._writing() as run:
            if run(query + self.locking, (experiment,)) != [(before,)]:
                return False
            run("UPDATE sojourn_experiment SET settings = ? WHERE name = ?", (after, experiment))
            edit = edit_of((before, ()), after, ())
            if edit is not None:
                self._edit(run, experiment, *edit)
        return True

    def append(self, changes: Sequence[Change]) -> list[bool]:
        """Apply changes: visits first; then the events and counts of those that went in."""
        with self._writing() as run:
            joined, found = chains(changes, self._now(run))
            among, named = self._among(sorted({chain.row.experiment for chain in joined}))
            known = set(run(f"SELECT name FROM sojourn_experiment WHERE name {among}", (named,)))
            joined = [chain for chain in joined if (chain.row.experiment,) in known]
            joined.sort(key=lambda chain: chain.row[:2])  # two processes cannot lock crosswise
            done = self._insert(run, "sojourn_visit", [c.row for c in joined], tables.KEEP_VISIT)
            kept = [chain for chain, applied in zip(joined, done, strict=True) if applied]
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
            rows = [(name, self.writer, *key, n) for (name, key), n in sorted(total.items())]
            self._insert(run, "sojourn_counter", rows, tables.KEEP_COUNTER)
            over_time = [
                (name, self.writer, start, arm, *sums)
                for (name, start, arm), sums in trends.items()
            ]
            self._insert(run, "sojourn_trend", over_time, tables.KEEP_TREND)
            minutes: dict[tuple[str, float], Bucket] = {}
            for event in events:
                if event.kind == records.LEAVE:
                    ended = records.visit_of(event).within(records.MINUTE)
                    minute = event.experiment, ended.start
                    minutes[minute] = minutes[minute].plus(ended) if minute in minutes else ended
            charted = [(name, self.writer, *bucket) for (name, _), bucket in minutes.items()]
            self._insert(run, "sojourn_minute", charted, tables.KEEP_MINUTE)
            self._insert(run, "sojourn_group", self._grouped(kept), tables.KEEP_GROUP)
        return answers(found, {chain.row[:2] for chain in kept})

    def _grouped(self, kept: Iterable[Linked]) -> list[tuple[Any, ...]]:
        """What changes add to groups, each group once."""
        found: defaultdict[str, list[Group]] = defaultdict(list)
        for chain in kept:
            group = groups.added_by(chain.row, chain.events)
            if group is not None:
                found[chain.row.experiment].append(group)
        return [
            (name, self.writer, *g) for name in sorted(found) for g in groups.joined(found[name])
        ]

    def groups(self, experiment: str) -> list[Group]:
        query = f"SELECT epoch, number, {tables.sums_of(tables.GROUPED)} FROM sojourn_group "
        query += "WHERE experiment = ? "
        with self._reading() as run:
            return [
                Group(*row) for row in run(query + "GROUP BY 1, 2 ORDER BY 1, 2", (experiment,))
            ]

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
        if since % records.MINUTE == 0.0 == width % records.MINUTE:
            at, rows, sums = "start", "sojourn_minute WHERE true", tables.CHARTED
        else:
            at, rows = "at", "sojourn_event WHERE kind = 'leave'"
            sums = "1", "step", "step * step", "reward", "reward * reward"
        bucket = f"CAST(FLOOR(({at} - ?) / ?) AS {tables.WHOLE})"
        query = f"SELECT {bucket}, {', '.join(f'SUM({each})' for each in sums)} FROM {rows} "
        query += f"AND experiment = ? AND {at} >= ? GROUP BY 1 ORDER BY 1"
        with self._reading() as run:
            found = run(query, (since, width, experiment, since))
        return [Bucket(since + width * i, int(n), *map(float, rest)) for i, n, *rest in found]

    def trends(self, experiment: str, since: float, width: float) -> list[Trend]:
        bucket = f"CAST(FLOOR((start - ?) / ?) AS {tables.WHOLE})"
        query = f"SELECT {bucket}, arm, {tables.sums_of(tables.TRENDS)} FROM sojourn_trend "
        query += "WHERE experiment = ? AND start >= ? GROUP BY 1, 2 ORDER BY 1, 2"
        with self._reading() as run:
            found = run(query, (since, width, experiment, since))
        return [Trend(since + width * i, arm, *map(float, sums)) for i, arm, *sums in found]

    def add_looks(self, experiment: str, looks: Sequence[Look]) -> None:
        with self._writing() as run:
            rows = [(experiment, *look) for look in looks]
            self._insert(run, "sojourn_look", rows, tables.KEEP_LOOK)

    def looks(self, experiment: str) -> list[Look]:
        query = f"SELECT {names(tables.columns(Look))} FROM sojourn_look WHERE experiment = ? "
        with self._reading() as run:
            found = run(query + "ORDER BY at, variant, metric", (experiment,))
        return [Look(*row) for row in found]

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

    def history(self, experiment: str) -> tuple[Counts, Iterator[Event]]:
        return self._with_events(
            experiment, lambda run: records.added(*self._counts(run, experiment))
        )

    def latest(self, experiment: str, limit: int) -> list[Event]:
        # By seq from its end, not by the index of experiments, which would sort all it has.
        query = HISTORY.replace("experiment = ?", "experiment || '' = ?")
        with self._reading() as run:
            found = run(f"{query} DESC LIMIT ?", (experiment, limit))
        return [Event(*row) for row in reversed(found)]

    def ledger(self, experiment: str) -> tuple[Ledger, Iterator[Event]]:
        return self._with_events(experiment, lambda run: self._ledger(run, experiment))

    def _with_events(self, experiment: str, read: Callable[[Run], T]) -> tuple[T, Iterator[Event]]:
        snapshot = self._snapshot()
        try:
            found = read(snapshot.run)
            rows = snapshot.stream(HISTORY, (experiment,))
        except BaseException:
            snapshot.close()
            raise
        return found, events(rows, snapshot.close)

    def _ledger(self, run: Run, experiment: str) -> Ledger:
        one = (experiment,)
        query = "SELECT what, i, j, k, n FROM sojourn_archived WHERE experiment = ?"
        archived = {(what, i, j, k): n for what, i, j, k, n in run(query, one)}
        query = "SELECT status, COUNT(*), SUM(step), SUM(gained) FROM sojourn_visit "
        rows = run(query + "WHERE experiment = ? GROUP BY status", one)
        sums = ", ".join(f"COALESCE(SUM({column}), 0)" for column in tables.CHARTED)
        (charted,) = run(f"SELECT {sums} FROM sojourn_minute WHERE experiment = ?", one)
        query = "SELECT visit, step, reward FROM sojourn_event WHERE experiment = ? AND kind = ? "
        late = run(query + "AND cause = ?", (experiment, records.LATE, records.REWARD))
        grouped = self._triple(run, "visits, steps, reward", "sojourn_group", "true", experiment)
        over = "epoch > 0 AND status <> 'open'"
        assigned = self._triple(run, "1, step, gained", "sojourn_visit", over, experiment)
        query = f"SELECT arm, {tables.sums_of(tables.TRENDS)} FROM sojourn_trend "
        trends = run(query + "WHERE experiment = ? GROUP BY arm", one)
        return Ledger(
            counts=records.added(*self._counts(run, experiment)),
            archived=archived,
            rows={status: (n, int(steps), gained) for status, n, steps, gained in rows},
            charted=Bucket(0.0, int(charted[0]), *map(float, charted[1:])),
            late={(visit, step): reward for visit, step, reward in late},
            grouped=grouped,
            assigned=assigned,
            trends=as_counts(Trend(0.0, *row) for row in trends),
            parts=self._parts(run, experiment),
        )

    def _triple(
        self, run: Run, columns: str, table: str, where: str, experiment: str
    ) -> records.Triple:
        """The sums of three columns."""
        sums = ", ".join(f"COALESCE(SUM({column}), 0)" for column in columns.split(", "))
        query = f"SELECT {sums} FROM {table} WHERE experiment = ? AND {where}"
        ((one, two, three),) = run(query, (experiment,))
        return float(one), float(two), float(three)

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
