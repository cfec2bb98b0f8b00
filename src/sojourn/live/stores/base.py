"""What a store must offer; `sojourn.live.conformance` checks it."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from ...validation import InputError
from ..errors import NotFound
from ..groups import Group
from ..records import Arm, Bucket, Change, Counts, Edit, Event, Key, Ledger, Look, News, Part, Row
from ..trends import Trend

PAST = "epochs"  # of settings: what was before, which the audit log has

LEASE = 60.0
"""Seconds after which a holder of the lease that has done nothing is thought to be dead."""

Run = Callable[..., list[Any]]  # of a database: run(sql, parameters) -> rows


class Store(Protocol):
    """Keeps experiments, visits, events and counters. Methods may be called from any thread.

    A method that cannot do its work raises `Unavailable`; after that the store may be tried again.
    """

    writer: str
    """The owner of this process's counter rows; no two processes have the same at a time."""

    shared: ClassVar[bool]
    """Whether other processes may write at the same time."""

    deadline: float
    """Seconds after which a method gives up with `Unavailable`, if it can; set by the journal."""

    @classmethod
    def open(cls, url: str, *, reading: bool = False) -> Self:
        """The store at an address; with `reading`, nothing can be written."""

    def experiments(self) -> list[str]: ...

    def load(self, experiment: str) -> tuple[str, list[Arm]] | None:
        """The settings and the arms of an experiment, in their order, or None."""

    def save(self, experiment: str, settings: str, arms: Sequence[Arm] = ()) -> None:
        """Make or change an experiment.

        Arms are found by name: known ones are changed, new ones get the next positions, whatever
        position they come with; those not given stay as they are. What is different is an `Edit`
        of the audit log, by `who.ACTING`.
        """

    def exchange(self, experiment: str, before: str, after: str) -> bool:
        """Replace the settings if they are still those `before`: of several processes one wins.

        What is different is an `Edit`, as in `save`.
        """

    def edits(self, limit: int, experiment: str | None = None) -> list[Edit]:
        """The audit log, the latest first."""

    def drop(self, experiment: str) -> None:
        """Delete an experiment with all it has, or raise `NotFound`; what is archived stays there.

        Changes of its visits that are still on their way are rejected. If others may be writing,
        its name is not free at once: `save` raises `Conflict` until it is.
        """

    def erase(self, user: str) -> int:
        """Forget the id of a user in all visits and events; how many visits. Sums stay.

        It is the first phase: it does not wait for the lease. Each such visit gets another version,
        so that whoever has read it before can neither change nor archive it, and the user is listed
        for `Upkeep.erasing`. The archive is for the holder of the lease: see `archiving.erase`.
        """

    def upkeep(
        self, *, wait: float = 10.0, lease: float = LEASE
    ) -> AbstractContextManager["Upkeep"]:
        """Take the lease, which one call has at a time, of all threads, processes and machines.

        `Busy` if another one still has it after `wait` seconds. A holder of which nothing was heard
        for `lease` seconds may be replaced; what it does then is refused.
        """

    def append(self, changes: Sequence[Change]) -> list[bool]:
        """Apply changes in one transaction, durable when this returns; say which were applied.

        A change is applied if its visit is at the version `row.base` (0: there is no such visit)
        and there is such an experiment; its events and counts are kept with it or not at all.
        Changes may build on one another. A visit that ends is added to its minute of the timeline,
        and what is counted of arms to their trends, at `row.touched`.
        """

    def probe(self) -> None:
        """Raise `Unavailable` if nothing can be written, to see whether a failure has passed."""

    def visit(self, experiment: str, visit: str) -> Row | None: ...

    def overdue(self, experiment: str, idle: float, limit: int) -> list[tuple[Row, bool]]:
        """Open visits past their deadline, each with whether it was idle for `idle` seconds."""

    def event(self, experiment: str, visit: str, step: int, kind: str) -> Event | None: ...

    def counts(self, experiment: str) -> tuple[Counts, Counts]:
        """The counters of this writer, and the sum of those of all others."""

    def groups(self, experiment: str) -> list[Group]:
        """Sums over assigned visits (`Row.epoch`) by epoch and group of users, in that order.

        `append` adds what `groups.added_by` says in its transaction; archiving changes nothing.
        """

    def news(self, experiments: Sequence[str]) -> dict[str, News]:
        """What other processes have changed: asked of stores that are `shared`."""

    def history(self, experiment: str) -> tuple[Counts, Iterator[Event]]:
        """The sum of all counters, and all events that are not archived, from one snapshot.

        The events of each visit are in order.
        """

    def latest(self, experiment: str, limit: int) -> list[Event]:
        """The latest so many events that are not archived, the oldest first."""

    def ledger(self, experiment: str) -> tuple[Ledger, Iterator[Event]]:
        """All sums and, as in `history`, all events that are not archived, from one snapshot."""

    def timeline(self, experiment: str, since: float, width: float) -> list[Bucket]:
        """Visits that ended from `since` on, in buckets of `width` seconds; none is empty.

        If both are whole minutes it is made of sums by the minute, however many visits there were;
        else of events that are not archived.
        """

    def trends(self, experiment: str, since: float, width: float) -> list[Trend]:
        """Sums by arm from `since` on, in buckets of `width` seconds, by time; none is empty.

        They are exact where `since` and `width` are multiples of those that are kept: `trends.SPAN`
        at first. What was counted before there were such sums is at time 0.
        """

    def add_looks(self, experiment: str, looks: Sequence[Look]) -> None:
        """Keep what a comparison said; of each variant, metric and rank the first."""

    def looks(self, experiment: str) -> list[Look]:
        """What comparisons said, in the order of time."""

    def ended(self, experiment: str, before: float, limit: int) -> list[Row]:
        """Visits that ended and were last touched before that time, the oldest first."""

    def events_of(self, experiment: str, visits: Sequence[str]) -> list[Event]:
        """All events of these visits, each visit's in order."""

    def parts(self, experiment: str | None = None) -> list[Part]:
        """The files of the archive, by day; those of dropped experiments are of that named ''."""

    def now(self) -> float:
        """The time, in seconds since 1970, by the clock that changes are stamped with."""

    def close(self) -> None: ...


class Upkeep(Protocol):
    """What only the holder of the lease may do: see `Store.upkeep`.

    Every method is one transaction, which renews the lease; `Conflict` if it has passed to another
    call, and then nothing was done. Only the holder writes files of the archive.
    """

    store_id: str
    """A random word that this store alone has: its files carry it."""

    def archive(self, part: Part, rows: Sequence[Row], sums: Counts) -> bool:
        """Delete visits with their events, which `part` has; False: one has changed, so none is.

        Counters stay. `sums` are added to those of the archive, in the same transaction.
        """

    def replace(self, old: Part, new: Part | None) -> None:
        """Another file takes the place of one of the archive, or none does.

        `Conflict` unless exactly the `old` one, with its digest, is listed.
        """

    def erasing(self) -> list[str]:
        """The users whose ids may still be in files of the archive."""

    def erased(self, user: str) -> None:
        """The id of a user is in no file any more."""

    def compact(self, before: float, *, shrink: bool = False) -> None:
        """Add up the minutes of the timeline, and trends, before that time to hours.

        With `shrink` the room of what was deleted goes back to the disk; others may have to wait.
        """


def loaded(store: Store, experiment: str) -> tuple[str, list[Arm]]:
    """`Store.load` of an experiment that must be there."""
    found = store.load(experiment)
    if found is None:
        raise NotFound(f"there is no experiment {experiment!r} in the store")
    return found


def one_of_its_own(store: Store, experiment: str) -> tuple[str, list[Arm]]:
    """`loaded` of an experiment that has visits of its own, rather than variants that have them."""
    text, arms = loaded(store, experiment)
    if has_variants(text):
        variant = f"{experiment}:{plain_settings(text)['variants'][0]}"
        raise InputError(
            f"experiment {experiment!r} has variants: name one of them, such as {variant!r}"
        )
    return text, arms


def all_of_their_own(store: Store) -> list[str]:
    """The experiments that have visits of their own."""
    found = {name: store.load(name) for name in store.experiments()}
    return [name for name, known in found.items() if known and not has_variants(known[0])]


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
        row = change.stamped(now)
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
    """What saving changes, for the audit log: a word and the details as JSON; None: nothing.

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
    """Settings as data; of damaged ones nothing is known."""
    try:
        found = json.loads(settings)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def has_variants(settings: str) -> bool:
    """Whether these are settings of an experiment with variants: see `plan`."""
    return "variants" in plain_settings(settings)


def answers(found: Iterable[Linked | None], applied: set[tuple[str, str]]) -> list[bool]:
    """Which changes were applied, from which visits were."""
    return [c is not None and (c.row.experiment, c.row.id) in applied for c in found]
