"""The tables of the SQL stores, for SQLite and PostgreSQL alike."""

from collections.abc import Iterable, Sequence
from typing import Any, get_args, get_type_hints

from ..monitor.trends import Trend
from ..records import HOUR, MINUTE, Arm, Bucket, Edit, Event, Part, Row, Snapshot
from ..rollout.groups import Group

VERSION = 7
"""The version of these tables: whatever changes them raises it, and older stores are refused."""

TEXT, WHOLE, REAL = "TEXT", "BIGINT", "DOUBLE PRECISION"
KINDS = {str: TEXT, int: WHOLE, float: REAL}


def columns(record: Any) -> dict[str, str]:
    """The columns of a table: the fields of a record, in their order, with their SQL types."""
    hints = get_type_hints(record).items()
    return {name: KINDS[(get_args(hint) or (hint,))[0]] for name, hint in hints}


VISIT, EVENT = columns(Row), columns(Event)
OWNED = {"experiment": TEXT, "writer": TEXT}
SUMS = {"what": TEXT, "i": WHOLE, "j": WHOLE, "k": WHOLE, "n": REAL}
TABLES = {
    "sojourn_visit": VISIT,
    "sojourn_event": EVENT,
    "sojourn_counter": OWNED | SUMS,
    "sojourn_arm": {"experiment": TEXT, **columns(Arm)},
    "sojourn_minute": OWNED | columns(Bucket),
    "sojourn_archived": {"experiment": TEXT, **SUMS},
    "sojourn_part": columns(Part),
    "sojourn_edit": columns(Edit),
    "sojourn_group": OWNED | columns(Group),
    "sojourn_trend": OWNED | columns(Trend),
    "sojourn_snapshot": {"experiment": TEXT, **columns(Snapshot)},
}
KEYS = {
    "sojourn_visit": ("experiment", "id"),
    "sojourn_counter": ("experiment", "writer", "what", "i", "j", "k"),
    "sojourn_arm": ("experiment", "name"),
    "sojourn_minute": ("experiment", "start", "writer"),
    "sojourn_archived": ("experiment", "what", "i", "j", "k"),
    "sojourn_part": ("file",),
    "sojourn_group": ("experiment", "writer", "epoch", "number"),
    "sojourn_trend": ("experiment", "start", "arm", "writer"),
    "sojourn_snapshot": ("experiment", "variant", "metric", "rank"),
}
"""The primary keys; the rows of other tables are numbered."""


def names(columns: Iterable[str], prefix: str = "") -> str:
    """Columns as a list for SQL."""
    return ", ".join(f'{prefix}"{column}"' for column in columns)


def values_of(table: str) -> list[str]:
    """The columns that are not in the key: in a table of sums, the sums."""
    return [column for column in TABLES[table] if column not in KEYS[table]]


def sums_of(columns: Iterable[str]) -> str:
    """The sums of columns as a list for SQL."""
    return ", ".join(f'SUM("{column}")' for column in columns)


def _replace(table: str, value: str = 'excluded."{0}"') -> str:
    """What a new row does to one that has the same key."""
    changed = (column for column in values_of(table) if column != "until")  # which is set once
    taken = ", ".join(f'"{column}" = {value.format(column)}' for column in changed)
    return f"ON CONFLICT ({names(KEYS[table])}) DO UPDATE SET {taken}"


def _add(table: str) -> str:
    return _replace(table, f'{table}."{{0}}" + excluded."{{0}}"')


KEEP = {
    "sojourn_visit": f"{_replace('sojourn_visit')} WHERE sojourn_visit.version = excluded.base",
    "sojourn_arm": _replace("sojourn_arm"),
    "sojourn_snapshot": f"ON CONFLICT ({names(KEYS['sojourn_snapshot'])}) DO NOTHING",
    "sojourn_counter": _add("sojourn_counter"),
    "sojourn_archived": _add("sojourn_archived"),
    "sojourn_minute": _add("sojourn_minute"),
    "sojourn_group": _add("sojourn_group"),
    "sojourn_trend": _add("sojourn_trend"),
}
"""What follows an insert: how new rows meet those that have the same keys."""


def add_up(table: str, key: Sequence[str], sums: str, rows: str) -> str:
    """SQL that adds up rows by key, which is in the order of the columns, into a table of sums."""
    places = ", ".join(str(i + 1) for i in range(len(key)))
    return (
        f"INSERT INTO {table} ({names(TABLES[table])}) SELECT {', '.join(key)}, {sums} "
        f"FROM {rows} GROUP BY {places} {KEEP[table]}"
    )


def start_of(stretch: float, time: str) -> str:
    """The start of the interval, of this many seconds, that a time, in SQL, falls into."""
    return f"FLOOR({time} / {stretch}) * {stretch}"


ENDED = "COUNT(*), SUM(step), SUM(step * step), SUM(reward), SUM(reward * reward)"
"""The sums of a `Bucket` over the last events of visits."""


def chart(events: str) -> str:
    """SQL that adds the visits that end in a table of events to the timeline."""
    key = "experiment", "writer", start_of(MINUTE, "at")
    return add_up("sojourn_minute", key, ENDED, f"{events} WHERE kind = 'leave'")


def to_hours(table: str, which: str) -> str:
    """SQL that adds rows over time, of all writers together, to the hours they are in."""
    instead = {"writer": "''", "start": start_of(HOUR, "start")}
    key = [instead.get(column, column) for column in TABLES[table] if column in KEYS[table]]
    return add_up(table, key, sums_of(values_of(table)), f"{table} WHERE {which}")


WHOLE_NAME = "rtrim(experiment, replace(experiment, ':', ''))"
"""SQL for the name of an experiment up to its last colon: the same for all variants of one."""


def _table(name: str, constraint: str = "") -> str:
    """SQL that makes a table."""
    parts = [f'"{column}" {kind}' for column, kind in TABLES[name].items()]
    if name in KEYS:
        parts.append(f"PRIMARY KEY ({names(KEYS[name])})")
    else:
        parts.insert(0, "{serial}")
    return f"CREATE TABLE {name} ({', '.join(parts)}{constraint})"


SCHEMA = (
    'CREATE TABLE sojourn_experiment ("name" TEXT PRIMARY KEY, "settings" TEXT NOT NULL, '
    f'"version" {WHOLE} NOT NULL)',
    *(_table(name) for name in TABLES if name != "sojourn_event"),
    _table("sojourn_event", ', UNIQUE ("experiment", "visit", "step", "kind")'),
    """CREATE INDEX sojourn_deadline ON sojourn_visit ("experiment", "deadline") """
    "WHERE status = 'open'",
    """CREATE INDEX sojourn_ended ON sojourn_visit ("experiment", "touched") """
    "WHERE status <> 'open'",
    """CREATE INDEX sojourn_until ON sojourn_visit ("experiment", "until") WHERE epoch > 0""",
    f'CREATE UNIQUE INDEX sojourn_once ON sojourn_visit ({WHOLE_NAME}, "id") WHERE epoch > 0',
    """CREATE INDEX sojourn_left ON sojourn_event ("experiment", "at") WHERE kind = 'leave'""",
    """CREATE INDEX sojourn_late ON sojourn_event ("experiment") WHERE kind = 'late'""",
    f'CREATE TABLE sojourn_dropped ("name" TEXT PRIMARY KEY, "at" {REAL} NOT NULL)',
    f'CREATE TABLE sojourn_erasing ("user" TEXT PRIMARY KEY, "at" {REAL} NOT NULL)',
    f'CREATE TABLE sojourn_lease ("name" TEXT PRIMARY KEY, "token" TEXT, "until" {REAL} NOT NULL)',
    "INSERT INTO sojourn_lease VALUES ('upkeep', NULL, 0)",
    'CREATE TABLE sojourn_store ("id" TEXT NOT NULL)',
    "INSERT INTO sojourn_store VALUES ('{id}')",
)
"""The statements that make the tables of an empty store."""
