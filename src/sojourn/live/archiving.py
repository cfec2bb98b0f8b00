"""The archive: events of visits that ended long ago, in Parquet files by day.

A file has whole visits: `experiment/day=2026-11-16/<token>.parquet`, by the day on which they were
last touched (UTC), a line for each event. It is written and synced first; then the visits and their
events are deleted from the store, in one transaction that adds their sums to those of the archive
and notes the file. A file that is not noted was left by a process that died in between, and its
visits are still in the store.
"""

import hashlib
import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints
from urllib.parse import quote

from ..engine.calls import calls_for
from ..extras import require
from ..validation import InputError
from .records import GROUPED, Counts, Event, Part, Row, sums_of
from .settings import Settings, split_of
from .stores.base import Store, one_of_its_own

DAY = 86_400.0
VISITS, STEPS = 5_000, 50_000
"""Most visits of one file, and steps after which there is another one: while they are deleted other
calls wait, and they are in memory together."""
TRIES = 5
LEFT_OVER = 3600.0  # seconds after which a file that is not noted was left by a dead process
CHARTS = 8 * DAY  # how long minutes of the timeline stay: charts look back a week


class Archived(NamedTuple):
    """What was moved to the archive."""

    visits: int = 0
    events: int = 0
    files: int = 0


def archive(
    store: Store,
    experiment: str,
    before: float,
    folder: str | Path,
    tell: Callable[[Archived], None] = lambda done: None,
) -> Archived:
    """Move the visits that ended and were last touched before that time to files in a folder.

    Counters stay, and so does all that a policy has learned. `tell` is called after each file. It
    may be interrupted at any time and done again. InputError if the policy learns from the events
    themselves.

    >>> import tempfile
    >>> from sojourn.live import Experiment
    >>> with Experiment("news", ["a", "b"], compiled=False) as news:
    ...     ended = [news.visit().end() for _ in range(3)]
    ...     with tempfile.TemporaryDirectory() as folder:
    ...         archive(news.journal.store, "news", news.now() + 1.0, folder)
    Archived(visits=3, events=6, files=1)
    """
    settings = _settings(store, experiment)
    folder, split, done = Path(folder), split_of(settings), Archived()
    _clean_up(store, experiment, folder)
    tries = TRIES
    while rows := store.ended(experiment, before, VISITS):
        day, rows = _first_part(rows)
        events = store.events_of(experiment, [row.id for row in rows])
        part = write(events, folder, Part(experiment, day, "", len(rows), len(events), ""))
        sums = {**sums_of(events, *split), **_grouped(rows)}
        if store.archive(part, rows, sums):
            done = Archived(done.visits + len(rows), done.events + len(events), done.files + 1)
            tries = TRIES
            tell(done)
            continue
        (folder / part.file).unlink()
        tries -= 1
        if tries == 0:
            break  # another process is archiving
    store.fold_minutes(store.now() - CHARTS)
    return done


def _grouped(rows: Sequence[Row]) -> Counts:
    """The sums over the rows that were assigned, which are those of their groups."""
    sums = [(1.0, float(row.step), row.gained) for row in rows if row.epoch]
    return {(GROUPED, i, 0, 0): sum(column) for i, column in enumerate(zip(*sums, strict=True))}


def _settings(store: Store, experiment: str) -> str:
    text, _ = one_of_its_own(store, experiment)
    policy = Settings.from_json(text).policy
    if not calls_for(policy, compiled=False).counts:
        raise InputError(
            f"experiment {experiment!r} cannot be archived: {type(policy).__name__} learns from "
            "the events themselves, at each start"
        )
    return text


def _first_part(rows: Sequence[Row]) -> tuple[str, list[Row]]:
    """The day of the first visit, and the visits of that day that go into one file with it."""
    day, same = next(groupby(rows, _day))
    part, steps = [], 0
    for row in same:
        part.append(row)
        steps += row.step
        if steps >= STEPS:
            break
    return day, part


def _day(row: Row) -> str:
    return f"{datetime.fromtimestamp(row.touched, UTC):%Y-%m-%d}"


def folder_of(experiment: str) -> str:
    """The folder of an experiment: its name as in an address, and never `.` or `..`."""
    return quote(experiment, safe="").replace(".", "%2E")


def write(events: Sequence[Event], folder: Path, part: Part) -> Part:
    """Write events to a new file, durable when this returns; the part with its name and digest."""
    pa, pq = pyarrow()
    file = Path(folder_of(part.experiment)) / f"day={part.day}" / f"{secrets.token_hex(8)}.parquet"
    target = folder / file
    folder.mkdir(parents=True, exist_ok=True)
    for place in (target.parent.parent, target.parent):
        place.mkdir(mode=0o700, exist_ok=True)
    columns = zip(*events, strict=True) if events else [[] for _ in Event._fields]
    table = pa.table(
        dict(zip(Event._fields, map(list, columns), strict=True)), schema=schema_of(pa, Event)
    )
    partial = target.with_suffix(".partial")
    try:
        pq.write_table(table, partial, compression="zstd")
        _sync(partial)
        partial.replace(target)
        for place in (target.parent, target.parent.parent, folder):
            _sync(place)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return part._replace(file=file.as_posix(), digest=_digest(target))


def read(folder: Path, part: Part) -> list[Event]:
    """The events of a file; InputError if it is missing, or not what was written."""
    _, pq = pyarrow()
    path = folder / part.file
    if not path.is_file():
        raise InputError(f"{path} is missing: is {folder} the folder of the archive?")
    if _digest(path) != part.digest:
        raise InputError(f"{path} is not the file that was written: its SHA-256 is another one")
    table = pq.read_table(path, partitioning=None)
    columns = table.to_pydict()
    for name, value in Event._field_defaults.items():  # which older files do not have
        columns.setdefault(name, [value] * table.num_rows)
    return [Event(*row) for row in zip(*(columns[name] for name in Event._fields), strict=True)]


def events_in(store: Store, experiment: str, folder: str | Path) -> Iterator[list[Event]]:
    """The archived events of an experiment, file by file."""
    for part in store.parts(experiment):
        yield read(Path(folder), part)


def erase_archived(store: Store, user: str, folder: str | Path) -> int:
    """Forget the id of a user in the archive; in how many visits it was.

    >>> from sojourn.live import MemoryStore
    >>> erase_archived(MemoryStore(), "u1", "archive")  # nothing was moved there
    0
    """
    folder, visits = Path(folder), 0
    for part in store.parts():
        events = read(folder, part)
        found = sum(event.user == user for event in events)
        if found:
            kept = [e._replace(user=None) if e.user == user else e for e in events]
            store.replace_part(part, write(kept, folder, part))
            (folder / part.file).unlink()
            visits += found
    return visits


def drop_archived(experiment: str, folder: str | Path) -> None:
    """Delete the files of an experiment that was dropped, if there are any.

    >>> drop_archived("shorts", "archive")
    """
    import shutil

    shutil.rmtree(Path(folder) / folder_of(experiment), ignore_errors=True)


def _clean_up(store: Store, experiment: str, folder: Path) -> None:
    known = {part.file for part in store.parts(experiment)}
    for path in (folder / folder_of(experiment)).glob("day=*/*"):
        old = time.time() - path.stat().st_mtime > LEFT_OVER
        if old and path.relative_to(folder).as_posix() not in known:
            path.unlink(missing_ok=True)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def schema_of(pa: Any, record: Any) -> Any:
    """The columns of a table of records, by the types of their fields."""
    kinds = {str: pa.string(), int: pa.int64(), bool: pa.bool_(), float: pa.float64()}
    hints = get_type_hints(record).items()
    return pa.schema([(name, kinds[(get_args(hint) or (hint,))[0]]) for name, hint in hints])


def pyarrow() -> tuple[Any, Any]:
    """What reads and writes Parquet."""
    require("Parquet", "serve", "pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pa, pq
