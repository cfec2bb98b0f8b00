"""The tables of the SQL stores, for SQLite and PostgreSQL alike."""

from collections.abc import Iterable
from typing import Any, get_args, get_type_hints

from ..monitor.trends import COUNTED, FOLLOWED, Trend
from ..records import HOUR, Arm, Bucket, Edit, Event, Part, Row, Snapshot
from ..rollout.groups import Group

TEXT, WHOLE, REAL = "TEXT", "BIGINT", "DOUBLE PRECISION"

KINDS = {str: TEXT, int: WHOLE, float: REAL}


def columns(record: Any) -> dict[str, str]:
    """The columns of a table: the fields of a record, in their order, with their SQL types."""
    hints = get_type_hints(record).items()
    return {name: KINDS[(get_args(hint) or (hint,))[0]] for name, hint in hints}


VISIT, EVENT = columns(Row), columns(Event)
SUMS = {"what": TEXT, "i": WHOLE, "j": WHOLE, "k": WHOLE, "n": REAL}
TABLES = {
    "sojourn_visit": VISIT,
    "sojourn_event": EVENT,
    "sojourn_counter": {"experiment": TEXT, "writer": TEXT, **SUMS},
    "sojourn_arm": {"experiment": TEXT, **columns(Arm)},
    "sojourn_minute": {"experiment": TEXT, "writer": TEXT, **columns(Bucket)},
    "sojourn_archived": {"experiment": TEXT, **SUMS},
    "sojourn_part": columns(Part),
    "sojourn_edit": columns(Edit),
    "sojourn_group": {"experiment": TEXT, "writer": TEXT, **columns(Group)},
    "sojourn_trend": {"experiment": TEXT, "writer": TEXT, **columns(Trend)},
    "sojourn_snapshot": {"experiment": TEXT, **columns(Snapshot)},
}
COUNTER = TABLES["sojourn_counter"]


def names(table: dict[str, str], prefix: str = "", leave_out: tuple[str, ...] = ()) -> str:
    """The columns of a table as a list for SQL."""
    return ", ".join(f'{prefix}"{column}"' for column in table if column not in leave_out)


COUNTER_KEY = names(COUNTER, leave_out=("n",))
ARCHIVED_KEY = names(TABLES["sojourn_archived"], leave_out=("n",))
MINUTE_KEY = names({"experiment": TEXT, "start": REAL, "writer": TEXT})
GROUP_KEY = names({"experiment": TEXT, "writer": TEXT, "epoch": WHOLE, "number": WHOLE})
TREND_KEY = names({"experiment": TEXT, "start": REAL, "arm": WHOLE, "writer": TEXT})
SNAPSHOT_KEY = names({"experiment": TEXT, "variant": TEXT, "metric": TEXT, "rank": WHOLE})
CHARTED = tuple(Bucket._fields[1:])
GROUPED = tuple(Group._fields[2:])
TRENDS = tuple(Trend._fields[2:])


def _table(name: str, constraint: str = "", first: str = "") -> str:
    """SQL that makes a table."""
    typed = [f'"{column}" {kind}' for column, kind in TABLES[name].items()]
    return f"CREATE TABLE {name} ({', '.join(filter(None, [first, *typed, constraint]))})"


def sums_of(columns: Iterable[str]) -> str:
    """The sums of columns as a list for SQL."""
    return ", ".join(f'SUM("{column}")' for column in columns)


def start_of(stretch: float, time: str) -> str:
    """When the stretch of so many seconds began that a time, in SQL, falls into."""
    return f"FLOOR({time} / {stretch}) * {stretch}"


def chart(start: str, rows: str, where: str) -> str:
    """SQL that adds rows of visits to the timeline, by where they start."""
    return (
        f"INSERT INTO sojourn_minute ({names(TABLES['sojourn_minute'])}) "
        f"SELECT experiment, writer, {start}, {sums_of(CHARTED)} FROM {rows} WHERE {where} "
        f"GROUP BY experiment, writer, {start} {KEEP_MINUTE}"
    )


KEEP_VISIT = (
    'ON CONFLICT ("experiment", "id") DO UPDATE SET '
    + ", ".join(f'"{c}" = excluded."{c}"' for c in VISIT if c not in ("experiment", "id"))
    + " WHERE sojourn_visit.version = excluded.base"
)

KEEP_COUNTER = f"ON CONFLICT ({COUNTER_KEY}) DO UPDATE SET n = sojourn_counter.n + excluded.n"
KEEP_ARCHIVED = f"ON CONFLICT ({ARCHIVED_KEY}) DO UPDATE SET n = sojourn_archived.n + excluded.n"
KEEP_MINUTE = f"ON CONFLICT ({MINUTE_KEY}) DO UPDATE SET " + ", ".join(
    f'"{c}" = sojourn_minute."{c}" + excluded."{c}"' for c in CHARTED
)
KEEP_GROUP = f"ON CONFLICT ({GROUP_KEY}) DO UPDATE SET " + ", ".join(
    f'"{c}" = sojourn_group."{c}" + excluded."{c}"' for c in GROUPED
)
KEEP_TREND = f"ON CONFLICT ({TREND_KEY}) DO UPDATE SET " + ", ".join(
    f'"{c}" = sojourn_trend."{c}" + excluded."{c}"' for c in TRENDS
)
KEEP_SNAPSHOT = f"ON CONFLICT ({SNAPSHOT_KEY}) DO NOTHING"
KEEP_ARM = (
    'ON CONFLICT ("experiment", "name") DO UPDATE SET '
    "retired = excluded.retired, pulls = excluded.pulls, successes = excluded.successes"
)


def trend(start: str, counters: str) -> str:
    """SQL that adds rows of counters to the sums by arm, or state, and time (`trends.parts`)."""
    sums = ", ".join(
        f"SUM(CASE WHEN what = '{what}' AND k = {k} THEN n ELSE 0 END)" for what, k in COUNTED
    )
    counted, followed = (_listed(some) for some in ({what for what, _ in COUNTED}, FOLLOWED))
    of_arms = f"SELECT *, i AS arm FROM {counters} WHERE what IN ({counted})"
    of_states = f"SELECT *, -2 - j AS arm FROM {counters} WHERE what IN ({followed})"
    return (
        f"INSERT INTO sojourn_trend ({names(TABLES['sojourn_trend'])}) "
        f"SELECT experiment, writer, {start}, arm, {sums} "
        f"FROM ({of_arms} UNION ALL {of_states}) AS counted WHERE true "
        f"GROUP BY 1, 2, 3, 4 {KEEP_TREND}"
    )


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"'{word}'" for word in sorted(words))


def thin(before: str) -> str:
    """SQL that adds the trends of all writers, where `before`, to the hours they are in."""
    return (
        f"INSERT INTO sojourn_trend ({names(TABLES['sojourn_trend'])}) "
        f"SELECT experiment, '', {start_of(HOUR, 'start')}, arm, {sums_of(TRENDS)} "
        "FROM sojourn_trend "
        f"WHERE {before} GROUP BY 1, 2, 3, 4 {KEEP_TREND}"
    )


def left(events: str) -> str:
    """The visits that end in a table of events, as rows of the timeline."""
    return (
        "(SELECT experiment, writer, at, 1 AS visits, step AS steps, step * step AS steps2, "
        f"reward, reward * reward AS reward2 FROM {events} WHERE kind = 'leave') AS ended"
    )


SCHEMA = (
    'CREATE TABLE sojourn_experiment ("name" TEXT PRIMARY KEY, "settings" TEXT NOT NULL, '
    f'"version" {WHOLE} NOT NULL)',
    _table("sojourn_arm", 'PRIMARY KEY ("experiment", "name")'),
    _table("sojourn_visit", 'PRIMARY KEY ("experiment", "id")'),
    'CREATE INDEX sojourn_deadline ON sojourn_visit ("experiment", "deadline") '
    "WHERE status = 'open'",
    """CREATE INDEX sojourn_ended ON sojourn_visit ("experiment", "touched") """
    "WHERE status <> 'open'",
    _table("sojourn_event", 'UNIQUE ("experiment", "visit", "step", "kind")', "{serial}"),
    """CREATE INDEX sojourn_left ON sojourn_event ("experiment", "at") WHERE kind = 'leave'""",
    """CREATE INDEX sojourn_late ON sojourn_event ("experiment") WHERE kind = 'late'""",
    _table("sojourn_counter", f"PRIMARY KEY ({COUNTER_KEY})"),
    _table("sojourn_minute", f"PRIMARY KEY ({MINUTE_KEY})"),
    _table("sojourn_group", f"PRIMARY KEY ({GROUP_KEY})"),
    _table("sojourn_trend", f"PRIMARY KEY ({TREND_KEY})"),
    _table("sojourn_snapshot", f"PRIMARY KEY ({SNAPSHOT_KEY})"),
    _table("sojourn_archived", f"PRIMARY KEY ({ARCHIVED_KEY})"),
    _table("sojourn_part", 'PRIMARY KEY ("file")'),
    _table("sojourn_edit", first="{serial}"),
    f'CREATE TABLE sojourn_dropped ("name" TEXT PRIMARY KEY, "at" {REAL} NOT NULL)',
    f'CREATE TABLE sojourn_erasing ("user" TEXT PRIMARY KEY, "at" {REAL} NOT NULL)',
    f'CREATE TABLE sojourn_lease ("name" TEXT PRIMARY KEY, "token" TEXT, "until" {REAL} NOT NULL)',
    "INSERT INTO sojourn_lease VALUES ('upkeep', NULL, 0)",
    'CREATE TABLE sojourn_store ("id" TEXT NOT NULL)',
    "INSERT INTO sojourn_store VALUES ('{id}')",
)
"""The statements that make the tables of an empty store."""

VERSION = 6
"""The version of these tables: whatever changes them raises it, and older stores are refused."""
