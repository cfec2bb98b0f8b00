"""The archive: events of visits that ended long ago, in Parquet files by day.

A file has whole visits: `experiment/day=2026-11-16/<token>.parquet`, by the day on which they were
last touched (UTC), a line for each event. Only the holder of the store's lease writes files
(`Store.upkeep`). A file is written and synced first; then the visits and their events are deleted
from the store, in one transaction that adds their sums to those of the archive and lists the file.
A file that is not listed was left by a process that died before that; its visits are still in the
store.
"""

import hashlib
import logging
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints
from urllib.parse import quote

from ..engine.calls import calls_for
from ..extras import require
from ..validation import InputError
from .errors import Busy, Conflict, Damaged, NotFound
from .files import sync
from .records import GROUPED, PERSONAL, Counts, Event, Part, Row, sums_of
from .rollout.groups import added_by
from .settings import Settings, split_of
from .stores.base import Store, Upkeep, one_of_its_own

DAY = 86_400.0
VISITS, STEPS = 5_000, 50_000
"""Most visits of one file, and steps after which there is another one: while they are deleted other
calls wait, and they are in memory together."""
TRIES = 5
CHARTS = 8 * DAY  # how long minutes of the timeline stay: charts look back a week

OF_STORE = b"sojourn.store"
"""The key in the metadata of a file under which it has the id of its store."""

log = logging.getLogger("sojourn.live")


class Archived(NamedTuple):
    """Numbers of what was moved to the archive."""

    visits: int = 0
    events: int = 0
    files: int = 0


@dataclass(frozen=True, slots=True)
class Erased:
    """The number of visits of a user; `archived` is None if the archive is still to be rewritten.

    >>> Erased(visits=2, archived=0)
    Erased(visits=2, archived=0)
    """

    visits: int
    archived: int | None


def archive(
    store: Store,
    experiment: str,
    before: float,
    folder: str | Path,
    tell: Callable[[Archived], None] = lambda done: None,
) -> Archived:
    """Move visits that ended and were last touched `before` a time to files in a folder.

    Counters stay, and so does everything that a policy has learned. Users who are being erased are
    erased from the archive as well. `tell` is called after each file. It may be interrupted at any
    time and repeated. InputError if the policy learns from the events themselves, `Busy` if another
    call is archiving or erasing.

    >>> import tempfile
    >>> from sojourn.live import Experiment
    >>> with Experiment("news", ["a", "b"], compiled=False) as news:
    ...     ended = [news.visit().end() for _ in range(3)]
    ...     with tempfile.TemporaryDirectory() as folder:
    ...         archive(news.journal.store, "news", news.now() + 1.0, folder)
    Archived(visits=3, events=6, files=1)
    """
    settings = one_of_its_own(store, experiment).settings
    policy = Settings.from_json(settings).policy
    if not calls_for(policy, compiled=False).counts:
        raise InputError(
            f"experiment {experiment!r} cannot be archived: {type(policy).__name__} learns from "
            "the events themselves, at each start"
        )
    folder, split, done, tries = Path(folder), split_of(settings), Archived(), TRIES
    with store.upkeep() as upkeep:
        _sweep(store, upkeep, folder)
        finish_erasing(store, upkeep, folder)
        while tries and (rows := store.visits(experiment, ended_before=before, limit=VISITS)[1]):
            day, rows = _first_part(rows)
            events = store.events(experiment, visits=[row.id for row in rows])
            part = Part(experiment, day, "", len(rows), len(events), "")
            part = write(events, folder, part, upkeep.store_id)
            sums = {**sums_of(events, *split), **_grouped(rows, events)}
            tries -= 1  # visits may change all the time: the next call archives them
            if _listed(folder, part, partial(upkeep.archive, part, rows, sums)):
                done = Archived(done.visits + len(rows), done.events + len(events), done.files + 1)
                tries = TRIES
                finish_erasing(store, upkeep, folder)
                tell(done)
        upkeep.compact(store.ping() - CHARTS)
    return done


def _listed(folder: Path, part: Part, take: Callable[[], bool | None]) -> bool:
    """Whether the store has listed a file that was written; if it has not, the file goes."""
    try:
        done = take() is not False
    except Conflict:  # the lease has passed to another call
        (folder / part.file).unlink(missing_ok=True)
        raise
    if not done:
        (folder / part.file).unlink(missing_ok=True)
    return done


def _grouped(rows: Sequence[Row], events: Sequence[Event]) -> Counts:
    """What these visits have added to the sums of their groups."""
    of = {row.id: row for row in rows}
    added = [added_by(of[e.visit], [e]) for e in events if e.at <= of[e.visit].until]
    sums = [(each.visits, each.steps, each.reward) for each in added if each is not None]
    return {(GROUPED, i, 0, 0): sum(column) for i, column in enumerate(zip(*sums, strict=True))}


def _first_part(rows: Sequence[Row]) -> tuple[str, list[Row]]:
    """The day of the first visit, and the visits of that day that go into one file with it."""
    day, same = next(
        groupby(rows, lambda row: f"{datetime.fromtimestamp(row.touched, UTC):%Y-%m-%d}")
    )
    part, steps = [], 0
    for row in same:
        part.append(row)
        steps += row.step
        if steps >= STEPS:
            break
    return day, part


def folder_of(experiment: str) -> str:
    """The folder of an experiment: its name as in an address, and never `.` or `..`."""
    return quote(experiment, safe="").replace(".", "%2E")


def write(events: Sequence[Event], folder: Path, part: Part, store_id: str) -> Part:
    """Write events to a new file, durable when this returns; the part with its name and digest.

    A part that has a file gets one of the same origin.
    """
    pa, pq = pyarrow()
    token = secrets.token_hex(8)
    if part.file:
        file = Path(part.file).with_name(f"{origin(part)}.{token}.parquet")
    else:
        file = Path(folder_of(part.experiment)) / f"day={part.day}" / f"{token}.parquet"
    target = folder / file
    folder.mkdir(parents=True, exist_ok=True)
    for place in (target.parent.parent, target.parent):
        place.mkdir(mode=0o700, exist_ok=True)
    columns = zip(*events, strict=True) if events else [[] for _ in Event._fields]
    schema = schema_of(pa, Event).with_metadata({OF_STORE: store_id.encode()})
    table = pa.table(dict(zip(Event._fields, map(list, columns), strict=True)), schema=schema)
    unfinished = target.with_name(f"{store_id}-{token}.partial")
    try:
        pq.write_table(table, unfinished, compression="zstd")
        sync(unfinished)
        digest = hashlib.sha256(unfinished.read_bytes()).hexdigest()
        unfinished.replace(target)
        for place in (target.parent, target.parent.parent, folder):
            sync(place)
    except FileNotFoundError:
        raise Conflict(f"{unfinished} was deleted by another call: nothing was done") from None
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    return part._replace(file=file.as_posix(), digest=digest)


def origin(part: Part) -> str:
    """The prefix of a file's name, which a replacement of the file keeps.

    >>> origin(Part("news", "2026-11-16", "news/day=2026-11-16/0f.9c.parquet", 1, 2, ""))
    '0f'
    """
    return part.file.rpartition("/")[2].partition(".")[0]


def read(folder: Path, part: Part) -> list[Event]:
    """The events of a file; `Damaged` if it is missing, or not what was written."""
    pa, pq = pyarrow()
    path = folder / part.file
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise Damaged(f"{path} is missing: is {folder} the folder of the archive?") from None
    if hashlib.sha256(data).hexdigest() != part.digest:
        raise Damaged(f"{path} is not the file that was written: its SHA-256 differs")
    columns = pq.read_table(pa.BufferReader(data)).to_pydict()
    return [Event(*row) for row in zip(*(columns[name] for name in Event._fields), strict=True)]


def events_in(store: Store, parts: Sequence[Part], folder: str | Path) -> Iterator[list[Event]]:
    """The archived events, file by file, also of files that are replaced meanwhile."""
    for part in parts:
        yield _read_latest(store, Path(folder), part)


def _read_latest(store: Store, folder: Path, part: Part) -> list[Event]:
    while True:
        try:
            return read(folder, part)
        except Damaged:
            now = {origin(each): each for each in store.series(Part, None)}
            if origin(part) not in now:
                raise NotFound(f"{part.experiment!r} was dropped, with its archive") from None
            if now[origin(part)] == part:
                raise
            part = now[origin(part)]


def erase(
    store: Store, user: str, folder: str | Path | None = None, *, wait: float = 10.0
) -> Erased:
    """Erase a user's id from the store, and from the archive in this folder.

    The visits stay, without a user. The archive is rewritten under the lease. `archived` is None if
    another call still has the lease after `wait` seconds, or if the folder of an archive is not
    given; the next call that has both continues.

    >>> from sojourn.live import open_store
    >>> erase(open_store("memory://"), "u1")
    Erased(visits=0, archived=0)
    """
    visits = store.erase(user)
    try:
        with store.upkeep(wait=wait) as upkeep:
            done = finish_erasing(store, upkeep, folder)
    except (Busy, Conflict):  # another call has the lease, or has taken it
        return Erased(visits, None)
    return Erased(visits, None if done is None else done.get(user, 0))


def finish_erasing(
    store: Store, upkeep: Upkeep, folder: str | Path | None
) -> dict[str, int] | None:
    """Rewrite the files that have users who are being erased; the number of visits of each user.

    None if there is an archive and its folder is not known: then nothing was done.
    """
    if not (users := upkeep.erasing()):
        return {}
    parts = store.series(Part, None)
    if folder is None and parts:
        return None
    visits = dict.fromkeys(users, 0)
    for part in parts:
        try:
            found = _rewrite(upkeep, Path(folder or ""), part, visits.keys())
        except (Damaged, FileNotFoundError):
            upkeep.erasing()  # `Conflict` if another call has the lease, and has replaced the file
            raise
        for user, n in found.items():
            visits[user] += n
    if folder is not None:
        _sweep(store, upkeep, Path(folder))
    upkeep.erased(users)
    return visits


def _rewrite(upkeep: Upkeep, folder: Path, part: Part, users: Collection[str]) -> Counter[str]:
    """Rewrite a file without the ids of these users; the number of visits of each."""
    _, pq = pyarrow()
    path = folder / part.file
    if not path.is_file():
        raise Damaged(f"{path} is missing: is {folder} the folder of the archive?")
    ids = pq.read_table(path, columns=["user"], partitioning=None)["user"].to_pylist()
    found = Counter(user for user in ids if user in users)
    if found:
        events = read(folder, part)
        erased: dict[str, Any] = dict.fromkeys(PERSONAL)
        kept = [e._replace(**erased) if e.user in users else e for e in events]
        new = write(kept, folder, part, upkeep.store_id)
        _listed(folder, new, partial(upkeep.replace, part, new))
        path.unlink(missing_ok=True)
    return found


def drop_archived(store: Store, experiment: str, folder: str | Path) -> int:
    """Delete the files of dropped experiments of this name; how many there were.

    >>> from sojourn.live import open_store
    >>> drop_archived(open_store("memory://"), "shorts", "archive")
    0
    """
    parts = dropped_parts(store, experiment)
    if parts:
        with store.upkeep() as upkeep:
            for part in parts:
                upkeep.replace(part, None)
                (Path(folder) / part.file).unlink(missing_ok=True)
    return len(parts)


def dropped_parts(store: Store, experiment: str) -> list[Part]:
    """The files of dropped experiments of this name, which stay in the archive."""
    place = f"{folder_of(experiment)}/"
    return [part for part in store.series(Part, "") if part.file.startswith(place)]


def _sweep(store: Store, upkeep: Upkeep, folder: Path) -> None:
    """Delete what dead processes have left: files of this store that are not listed.

    All others are reported and left as they are: this may be the wrong folder.
    """
    found = sorted(folder.glob("*/day=*/*"))
    upkeep.erasing()  # it still has the lease: no other call can list a file that was found
    known = {part.file for part in store.series(Part, None)}
    left = [path for path in found if path.relative_to(folder).as_posix() not in known]
    foreign = [path for path in left if _store_of(path) != upkeep.store_id]
    for path in set(left).difference(foreign):
        path.unlink(missing_ok=True)
    if foreign:
        log.warning(
            "archive: %d files that are not of this store are left as they are, such as %s",
            len(foreign), foreign[0],
        )  # fmt: skip


def _store_of(path: Path) -> str:
    """The id of the store that has written a file; empty if it does not say."""
    if path.suffix == ".partial":
        return path.name.partition("-")[0]
    _, pq = pyarrow()
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (OSError, ValueError):  # no Parquet, or gone meanwhile
        return ""
    return str(metadata.get(OF_STORE, b"").decode(errors="replace"))


def schema_of(pa: Any, record: Any) -> Any:
    """The columns of a table of records, by the types of their fields."""
    kinds = {str: pa.string(), int: pa.int64(), bool: pa.bool_(), float: pa.float64()}
    hints = get_type_hints(record).items()
    return pa.schema([(name, kinds[(get_args(hint) or (hint,))[0]]) for name, hint in hints])


def pyarrow() -> tuple[Any, Any]:
    """The package that reads and writes Parquet."""
    require("Parquet", "serve", "pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pa, pq
