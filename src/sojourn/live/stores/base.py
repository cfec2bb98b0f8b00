"""What a store must offer; `sojourn.live.conformance` checks it."""

import json
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

from ...validation import InputError
from .. import records
from ..errors import Conflict, NotFound
from ..monitor.trends import Trend
from ..records import Arm, Bucket, Change, Counts, Edit, Event, Key, Ledger, Part, Row, Snapshot
from ..rollout.groups import Group

PAST = "epochs"  # of settings: what was before, which the audit log has
LEASE = 60.0
"""Seconds after which a holder of the lease that has done nothing counts as dead."""
TRIES = 50

Names = Collection[str] | None  # None: all
R = TypeVar("R", Bucket, Trend, Group, Snapshot, Edit, Part)


class Stored(NamedTuple):
    """An experiment as the store has it at one moment.

    `version` rises with every change of settings or arms. `own` are the counters of this process,
    which is the `writer`, and `others` the sums of those of all others.
    """

    settings: str
    arms: tuple[Arm, ...]
    version: int
    writer: str
    own: Counts
    others: Counts


class Store(Protocol):
    """Keeps experiments, visits, events and counters. Methods may be called from any thread.

    A method that cannot do its work raises `Unavailable`; after that the store may be tried again.
    """

    shared: ClassVar[bool]
    """Whether other processes may write at the same time."""

    @classmethod
    def open(cls, url: str, *, read_only: bool = False, deadline: float = math.inf) -> Self:
        """The store at an address. After `deadline` seconds its methods raise `Unavailable`."""

    def close(self) -> None: ...

    def ping(self, *, write: bool = False) -> float:
        """The time, in seconds since 1970, by the clock that changes are stamped with.

        `Unavailable` if the store cannot be read or, with `write`, written.
        """

    def read(
        self,
        names: Names = None,
        *,
        counts: bool = True,
        overdue: bool = False,
        latest: int | None = None,
    ) -> dict[str, Stored]:
        """Experiments of these names, from one snapshot; arms by position.

        Without `counts` there are no counters. Only those that have visits past their deadline, if
        `overdue`; only so many of the `latest` signs of life, open visits before ended ones.
        """

    def compare_and_swap(
        self,
        name: str,
        before: Stored | None,
        settings: str,
        arms: Sequence[Arm],
        note: Edit | None,
    ) -> bool:
        """Change an experiment if it is still as it was `before` (None: it was not there).

        Settings are replaced; `arms` has those that are new or different. `note` goes to the audit
        log in the same transaction, with the time of the store. While others may still be writing,
        the name of a dropped experiment is not free: `Conflict`.
        """

    def append(self, changes: Sequence[Change]) -> list[bool]:
        """Apply changes in one transaction, durable when this returns; say which were applied.

        A change is applied if its visit is at the version `row.base` (0: there is no such visit)
        and there is such an experiment; its events and counts are kept with it or not at all.
        Changes may build on one another. A visit that ends is added to its minute of the timeline,
        what is counted of arms to their trends, at `row.touched`, and what `groups.added_by` says
        to its group until `row.until`, which stays what it was when the visit was opened. Variants
        of one experiment have no two assigned visits of the same id: the first one stays.
        """

    def visits(
        self,
        name: str,
        *,
        ids: Names = None,
        expired: bool = False,
        ended_before: float | None = None,
        limit: int = 1000,
    ) -> tuple[float, list[Row]]:
        """The time of the store, and visits: of these ids, past their deadline, or that have ended.

        Those past their deadline come by deadline; those that ended, and were last touched before a
        time, by when they were touched. Those whose window is not over are not among the latter.
        """

    def events(
        self,
        name: str,
        *,
        visits: Names = None,
        step: int | None = None,
        kind: str | None = None,
        last: int | None = None,
    ) -> list[Event]:
        """Events that are not archived, in order: of visits, a step, a kind; the `last` ones."""

    def audit_state(self, name: str, *sums: str) -> tuple[Ledger, Iterator[Event]]:
        """The fields of a `Ledger` that are asked for, and all events, from one snapshot.

        The events are those that are not archived; of each visit they are in order. `NotFound` if
        there is no such experiment.
        """

    def series(
        self,
        of: type[R],
        name: Names,
        *,
        since: float = 0.0,
        width: float | None = None,
        limit: int | None = None,
    ) -> list[R]:
        """The series of an experiment over time; of all if `name` is None (`Edit`, `Part`).

        - `Bucket`: visits that ended from `since` on, in buckets of `width` seconds; none is empty.
          If both are whole minutes it is made of sums by the minute, else of events that are not
          archived.
        - `Trend`: sums by arm, likewise; exact where both are multiples of `trends.SPAN`, or of
          what the sums were compacted to.
        - `Group`: sums over assigned visits (`Row.epoch`) by epoch and group of users, of several
          experiments from one snapshot. Visits count that were opened before the oldest one of them
          all that is open and within its window.
        - `Snapshot`: what comparisons said.
        - `Edit`: the audit log, the latest first, the first `limit` lines.
        - `Part`: the files of the archive, by day. Those of dropped experiments are of the one
          named "". Another call may replace a file at any time: then list them again.
        """

    def note(self, name: str, snapshots: Sequence[Snapshot]) -> None:
        """Keep snapshots of a comparison; of each variant, metric and rank only the first."""

    def drop(self, name: str) -> None:
        """Delete an experiment and all its data, or raise `NotFound`; archived files stay.

        Changes of its visits that are still on their way are rejected.
        """

    def erase(self, user: str) -> int:
        """Erase a user's id from all visits and events; the number of visits. Sums stay.

        Each of these visits gets a new version, so a process that has read the old one can neither
        change nor archive it. The user is then listed in `Upkeep.erasing`, and the next holder of
        the lease, which is not waited for here, rewrites the archive (`archiving.erase`).
        """

    def upkeep(
        self, *, wait: float = 10.0, lease: float = LEASE
    ) -> AbstractContextManager["Upkeep"]:
        """Take the lease, which one call has at a time, across threads, processes and machines.

        `Busy` if another call still has it after `wait` seconds. A holder that has done nothing for
        `lease` seconds may be replaced; its later calls are refused.
        """


class Upkeep(Protocol):
    """Operations that need the lease: see `Store.upkeep`.

    Every method is one transaction, which renews the lease; `Conflict` if it has passed to another
    call, and then nothing was done. Only the holder writes files of the archive.
    """

    store_id: str
    """A random word that identifies this store: its files carry it."""

    def archive(self, part: Part, rows: Sequence[Row], sums: Counts) -> bool:
        """Delete visits with their events, which `part` has; or none if one has changed (False).

        Counters stay. `sums` are added to those of the archive, in the same transaction. False as
        well if the experiment was dropped.
        """

    def replace(self, old: Part, new: Part | None) -> None:
        """Replace a file of the archive by another one, or by none.

        `Conflict` unless exactly the `old` one, with its digest, is listed.
        """

    def erasing(self) -> list[str]:
        """The users whose ids may still be in files of the archive."""

    def erased(self, users: Collection[str]) -> None:
        """Record that the ids of users are in no file any more."""

    def compact(self, before: float, *, shrink: bool = False) -> None:
        """Add up the minutes of the timeline, and trends, before that time to hours.

        With `shrink` the space of deleted rows is given back to the disk; other calls may wait.
        """


def find(store: Store, name: str) -> Stored | None:
    """An experiment without its counters, or None."""
    return store.read([name], counts=False).get(name)


def loaded(store: Store, name: str) -> Stored:
    """`find`, of an experiment that must be there."""
    found = find(store, name)
    if found is None:
        raise NotFound(f"there is no experiment {name!r} in the store")
    return found


def counters(store: Store, name: str) -> Counts:
    """The counters of an experiment, of all processes; none if there is no such experiment."""
    found = store.read([name]).get(name)
    return {} if found is None else records.added(found.own, found.others)


def find_visit(store: Store, name: str, visit: str) -> Row | None:
    """A visit of an experiment, if the store has it."""
    return next(iter(store.visits(name, ids=[visit])[1]), None)


def find_event(store: Store, name: str, visit: str, step: int, kind: str) -> Event | None:
    """An event of a visit, if it is in the store."""
    return next(iter(store.events(name, visits=[visit], step=step, kind=kind)), None)


def one_of_its_own(store: Store, name: str) -> Stored:
    """`loaded` of an experiment that has visits of its own, rather than variants that have them."""
    found = loaded(store, name)
    if has_variants(found.settings):
        variant = f"{name}:{plain_settings(found.settings)['variants'][0]}"
        raise InputError(f"experiment {name!r} has variants: name one of them, such as {variant!r}")
    return found


def all_of_their_own(store: Store) -> list[str]:
    """The experiments that have visits of their own."""
    found = store.read(counts=False).items()
    return [name for name, known in found if not has_variants(known.settings)]


def swap(
    store: Store, name: str, before: Stored | None, settings: str, arms: Sequence[Arm] = ()
) -> bool:
    """Change an experiment if it is still as it was: of several processes one wins."""
    known = () if before is None else before.arms
    new = [arm for arm in merged(known, arms) if arm not in known]
    if before is not None and settings == before.settings and not new:
        return True
    edit = edit_of(None if before is None else (before.settings, known), settings, new)
    note = None if edit is None else Edit(0.0, records.AUDIT_ACTOR.get(), name, *edit)
    return store.compare_and_swap(name, before, settings, new, note)


def save(store: Store, name: str, settings: str, arms: Sequence[Arm] = ()) -> None:
    """Make or change an experiment, also if others change it meanwhile.

    Known arms keep their positions, new ones get the next ones. What is different is a line of the
    audit log, by `records.AUDIT_ACTOR`; if nothing is, nothing is written.
    """
    for _ in range(TRIES):
        if swap(store, name, find(store, name), settings, arms):
            return
    raise Conflict(f"experiment {name!r} was changed by others {TRIES} times in a row")


class Linked(NamedTuple):
    """Changes of one visit that build on one another: applied together or not at all."""

    row: Row
    events: list[Event]
    counts: list[tuple[Key, float]]


def chains(changes: Sequence[Change], now: float) -> tuple[list[Linked], list[Linked | None]]:
    """Changes joined by visit, and the chain of every change (None: it builds on nothing here)."""
    latest: dict[tuple[str, str], Linked] = {}
    found: list[Linked | None] = []
    for change in changes:
        touched = now if change.touch else change.row.touched
        deadline, until = touched + change.wait, now + change.row.until
        row = change.row._replace(touched=touched, deadline=deadline, until=until)
        key = row.experiment, row.id
        before = latest.get(key)
        if before is not None and before.row.version != row.base:
            found.append(None)
            continue
        if before is None:
            chain = Linked(row, [], [])
        else:
            chain = before._replace(row=row._replace(base=before.row.base))
        chain.events.extend(event._replace(at=now) for event in change.events)
        chain.counts.extend(change.counts.items())
        latest[key] = chain
        found.append(chain)
    return list(latest.values()), found


def merged(known: Iterable[Arm], given: Iterable[Arm]) -> list[Arm]:
    """The arms after those `given` were saved: known ones in their places, new ones at the end."""
    arms = {arm.name: arm for arm in known}
    for arm in given:
        position = arms[arm.name].position if arm.name in arms else len(arms)
        arms[arm.name] = arm._replace(position=position)
    return list(arms.values())


def edit_of(
    before: tuple[str, Iterable[Arm]] | None, settings: str, arms: Iterable[Arm]
) -> tuple[str, str] | None:
    """The change of a save for the audit log: a word and the details as JSON; None: no change.

    >>> edit_of(("{}", [Arm(0, "a")]), "{}", [Arm(0, "a", retired=1), Arm(0, "b")])
    ('changed', '{"arms": {"a": {"retired": 1}, "b": {}}}')
    """
    text, known = before or ("{}", ())
    was, now = plain_settings(text), plain_settings(settings)
    found = {name: now[name] for name in now if was.get(name) != now[name] and name != PAST}
    arms_before = {arm.name: arm for arm in known}
    changed = {}
    for arm in arms:
        old = arms_before.get(arm.name, Arm(0, arm.name))
        given = arm._asdict().items() - old._replace(position=arm.position)._asdict().items()
        if given or arm.name not in arms_before:
            changed[arm.name] = dict(sorted(given))
    if changed:
        found["arms"] = changed
    if before is not None and not found:
        return None
    return ("changed" if before else "created"), json.dumps(found)


def plain_settings(settings: str) -> dict[str, Any]:
    """Settings as data; empty if they are damaged."""
    try:
        found = json.loads(settings)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def has_variants(settings: str) -> bool:
    """Whether these are settings of an experiment with variants: see `plan`."""
    return "variants" in plain_settings(settings)


def answers(found: Iterable[Linked | None], applied: set[tuple[str, str]]) -> list[bool]:
    """Which changes were applied, by which visits were written."""
    return [c is not None and (c.row.experiment, c.row.id) in applied for c in found]
