"""Checks that a store keeps the contract of `Store`, for authors of stores.

    from sojourn.live import conformance

    @pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
    def test_my_store(check, tmp_path):
        check(lambda: MyStore(tmp_path / "file"))

Each check is a function of a function that opens the store; opened again after `close`, a durable
store must have everything (`durable=False` leaves that out). No test framework is needed: what is
wrong raises AssertionError.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import wraps
from itertools import count

from . import records
from .errors import Busy, Conflict, NotFound
from .monitor.trends import Trend
from .records import ALL_SUMS, Arm, Bucket, Change, Counts, Edit, Event, Part, Row, Snapshot
from .rollout.groups import Group
from .stores.base import Store, find_visit, save, swap

Open = Callable[[], Store]
Body = Callable[[Store, Open, bool], None]

PART = Part("e", "2026-11-16", "a.parquet", 1, 1, "0" * 64)
CHECKS: list[Callable[..., None]] = []
"""All checks: each is called with a function that opens the store, and with `durable`."""

_versions = count(1)


def check(body: Body) -> Callable[..., None]:
    """A check of a store that is open and has the experiment of the changes."""

    @wraps(body)
    def run(open_store: Open, durable: bool = True) -> None:
        with closing(with_experiment(open_store)) as store:
            body(store, open_store, durable)

    CHECKS.append(run)
    return run


def with_experiment(open_store: Open) -> Store:
    """An open store that has the experiment of the changes."""
    store = open_store()
    save(store, "e", "{}", [Arm(0, "a")])
    return store


def reopened(store: Store, open_store: Open, durable: bool) -> Iterator[Store]:
    """The store as it is; and, if it is durable, once more as it is opened again."""
    yield store
    if durable:
        store.close()
        store = open_store()
        yield store
        store.close()


@contextmanager
def raises(error: type[Exception]) -> Iterator[None]:
    """AssertionError unless this error is raised."""
    try:
        yield
    except error:
        return
    raise AssertionError(f"{error.__name__} was not raised")


def change(
    row: Row | None, visit: str = "v", *, wait: float = 1000.0, touch: bool = True, step: int = 0
) -> Change:
    """A change of a visit that is new or was at `row`, with one event and two counts."""
    before = Row("e", visit, user="u", before=1.0, state=1.0) if row is None else row
    after = before._replace(base=before.version, version=next(_versions), step=step)
    kind = records.OPEN if row is None else records.DECIDE
    event = Event(
        "e", visit, step, kind, arm=step, state=0.5, request="r", propensity=0.25, shadow_arm=7,
        candidates="0,7",
    )  # fmt: skip
    counts = {("issued", step, 0, 0): 1.0, ("open", 0, 0, 0): 0.5}
    return Change(after, (event,), counts, touch, wait)


def ended(change: Change) -> Change:
    """The change, which ends the visit."""
    return change._replace(row=change.row._replace(status="left"))


def visit_in(store: Store, visit: str = "v", experiment: str = "e") -> Row:
    """A visit that the store has."""
    row = find_visit(store, experiment, visit)
    assert row is not None
    return row


def ended_in(store: Store, limit: int = 10) -> list[Row]:
    """The visits that have ended."""
    return store.visits("e", ended_before=store.ping() + 1.0, limit=limit)[1]


def charted(store: Store, since: float, width: float, name: str = "e") -> list[Bucket]:
    """The timeline."""
    return store.series(Bucket, name, since=since, width=width)


def trends(store: Store, since: float, width: float, name: str = "e") -> list[Trend]:
    """The sums by arm over time."""
    return store.series(Trend, name, since=since, width=width)


def counts_of(store: Store, experiment: str = "e") -> tuple[Counts, Counts]:
    """The counters of this writer, and the sums of those of all others."""
    found = store.read([experiment]).get(experiment)
    return (found.own, found.others) if found else ({}, {})


def all_of(store: Store, experiment: str = "e") -> tuple[Counts, list[Event]]:
    """The sums of all counters, and all events, from one snapshot."""
    ledger, events = store.audit_state(experiment, "counts")
    return ledger.counts, list(events)


@check
def experiments_and_arms(store: Store, open_store: Open, durable: bool) -> None:
    """Settings are replaced; arms keep their positions and are changed by name."""
    assert store.read()["e"][:2] == ("{}", (Arm(0, "a"),)) and store.read(["f"]) == {}
    save(store, "e", '{"x": 1}', [Arm(7, "a", 1, 3.0, 2.0), Arm(7, "c")])
    expected = '{"x": 1}', (Arm(0, "a", 1, 3.0, 2.0), Arm(1, "c"))
    save(store, "d", "{}", [Arm(0, "b"), Arm(0, "a")])
    for each in reopened(store, open_store, durable):
        assert list(each.read()) == ["d", "e"] and list(each.read(["e", "f"])) == ["e"]
        assert each.read()["e"][:2] == expected
        assert each.read()["d"][:2] == ("{}", (Arm(0, "b"), Arm(1, "a")))


@check
def changes_are_kept(store: Store, open_store: Open, durable: bool) -> None:
    """Rows, events and counts come back as they went in, also after closing."""
    first = change(None)
    second = change(first.row, step=1)
    assert store.append([first]) == [True]
    assert store.append([second]) == [True]
    for each in reopened(store, open_store, durable):
        row = visit_in(each)
        assert row[:-3] == second.row[:-3] and row.deadline == row.touched + 1000.0
        assert find_visit(each, "e", "w") is None and find_visit(each, "d", "v") is None
        total, events = all_of(each)
        assert total == {("issued", 0, 0, 0): 1, ("issued", 1, 0, 0): 1, ("open", 0, 0, 0): 1}
        kept = [event._replace(writer="", at=0.0) for event in events]
        assert kept == [*first.events, *second.events]
        latest = [event._replace(writer="", at=0.0) for event in each.events("e", last=1)]
        assert latest == list(second.events) and len(each.events("e", last=9)) == 2
        assert [event.step for event in each.events("e", visits=["v"], kind=records.DECIDE)] == [1]
        assert each.events("e", visits=["v"], step=1, kind=records.RESOLVE) == []
        assert each.events("e", visits=["w"]) == each.events("d") == []


@check
def a_version_is_changed_once(store: Store, open_store: Open, durable: bool) -> None:
    """Of two changes of one version the first wins; the other leaves no trace."""
    first = change(None)
    assert store.append([first, change(None)]) == [True, False]
    assert store.append([change(None)]) == [False]
    one, other = change(first.row, step=1), change(first.row, step=1)
    assert store.append([one]) == [True]
    assert store.append([other, change(None, "w")]) == [False, True]
    assert store.append([change(other.row, step=2)]) == [False]
    total, events = all_of(store)
    assert total["issued", 1, 0, 0] == 1 and total["open", 0, 0, 0] == 1.5
    assert len(events) == 3
    assert visit_in(store).version == one.row.version


@check
def changes_build_on_one_another(store: Store, open_store: Open, durable: bool) -> None:
    """Several changes of a visit in one batch go in together or not at all."""
    first = change(None)
    second = change(first.row, step=1)
    third = change(second.row, step=2)
    assert store.append([first, second, change(None, "w"), third]) == [True] * 4
    stale = change(third.row._replace(version=-5), step=3)
    assert store.append([stale, change(stale.row, step=4)]) == [False, False]
    total, events = all_of(store)
    assert [event.step for event in events if event.visit == "v"] == [0, 1, 2]
    assert sum(n for key, n in total.items() if key[0] == "issued") == 4
    assert store.append([]) == []


@check
def overdue_visits(store: Store, open_store: Open, durable: bool) -> None:
    """Deadlines count from the last sign of life, by the clock of the store."""
    save(store, "d", "{}", [Arm(0, "a")])
    assert not store.read(overdue=True)
    rows = {name: change(None, name, wait=wait) for name, wait in (("a", -5), ("b", -9), ("c", 99))}
    store.append(list(rows.values()))
    now, (b, a) = store.visits("e", expired=True)
    assert (a.id, b.id) == ("a", "b") and 0.0 <= now - a.touched < 60.0
    for names in (None, ["d", "e"]):
        assert list(store.read(names, counts=False, overdue=True)) == ["e"]
    assert not store.read(["d"], overdue=True)
    assert list(store.read(latest=1)) == ["e"] and list(store.read(latest=2)) == ["d", "e"]
    assert store.visits("e", expired=True, limit=1)[1] == [b]
    assert store.visits("d", expired=True)[1] == [] and len(store.visits("e")[1]) == 3
    left = change(a, "a", step=1)
    untouched = change(b, "b", touch=False, wait=500.0, step=1)
    assert store.append([left._replace(row=left.row._replace(status="left")), untouched])
    assert store.visits("e", expired=True)[1] == [] and not store.read(overdue=True)
    row = visit_in(store, "b")
    assert row.touched == b.touched and row.deadline == b.touched + 500.0


@check
def counters_add_up(store: Store, open_store: Open, durable: bool) -> None:
    """Counters are sums of what was applied; experiments do not mix; others are others."""
    for number in range(5):
        store.append([change(None, f"v{number}"), change(None, f"w{number}")])
    assert counts_of(store) == ({("issued", 0, 0, 0): 10.0, ("open", 0, 0, 0): 5.0}, {})
    assert counts_of(store, "d") == ({}, {})
    if store.shared:
        other = open_store()
        assert other.read()["e"].writer != store.read()["e"].writer
        other.append([change(None, "x")])
        assert counts_of(other)[1] == counts_of(store)[0]
        assert counts_of(store)[1] == {("issued", 0, 0, 0): 1.0, ("open", 0, 0, 0): 0.5}
        other.close()


@check
def visits_over_time(store: Store, open_store: Open, durable: bool) -> None:
    """Visits that ended are summed by stretches of time."""
    ends = {"v": (3, 2.0), "w": (5, 0.5)}
    for visit, (step, gained) in ends.items():
        first = change(None, visit)
        left = change(first.row, visit, step=step)
        event = left.events[0]._replace(kind=records.LEAVE, reward=gained)
        assert store.append([first, left._replace(events=(event,))]) == [True, True]
    since = store.ping() - 1000.0
    assert charted(store, since, 5000.0) == [Bucket(since, 2, 8.0, 34.0, 2.5, 4.25)]
    (bucket,) = charted(store, since - 5000.0, 5000.0)
    assert (bucket.start, bucket.visits) == (since, 2)
    assert charted(store, since + 2000.0, 1.0) == charted(store, since, 1.0, "d") == []
    minute = since // 60.0 * 60.0
    assert charted(store, minute, 6000.0) == [Bucket(minute, 2, 8.0, 34.0, 2.5, 4.25)]
    parts = charted(store, minute, 60.0)
    assert sum(part.visits for part in parts) == 2 and all(part.start % 60.0 == 0 for part in parts)
    with store.upkeep() as upkeep:
        upkeep.compact(since + 9000.0)
    (hour,) = charted(store, minute - 3600.0 * 2, 6e6)
    assert hour[1:] == (2, 8.0, 34.0, 2.5, 4.25)
    assert all(part.start % 3600.0 == 0 for part in charted(store, 0.0, 60.0))


def assigned(visit: str, epoch: int, window: float, of: str = "e") -> Change:
    """A new visit that is assigned to a variant."""
    first = change(None, visit)
    row = first.row._replace(experiment=of, epoch=epoch, group=7, until=window)
    return first._replace(row=row, events=(first.events[0]._replace(experiment=of),))


def stepped(first: Change, cause: str) -> Change:
    """The end of a visit after a step with the reward 2."""
    then = change(first.row, first.row.id, step=1)
    row = then.row._replace(status="left" if cause == records.END else "timed out", gained=2.0)
    (event,) = then.events
    gained = event._replace(kind=records.RESOLVE, reward=2.0)
    left = event._replace(kind=records.LEAVE, reward=2.0, arm=None, cause=cause)
    return then._replace(row=row, events=(event, gained, left))


@check
def groups_of_users(store: Store, open_store: Open, durable: bool) -> None:
    """Assigned visits are summed by epoch and group; those after the oldest open one wait."""
    plan = {"v": (1, 0.0), "w": (2, 1e6), "x": (2, 1e6), "y": (0, 0.0)}
    visits = {visit: assigned(visit, *how) for visit, how in plan.items()}
    for first in visits.values():
        assert store.append([first]) == [True]
    short, none = Group("e", 1, 7, 1, 1, 0, 0, 0), Group("e", 2, 7, 2, 0, 0, 0, 0)
    assert store.series(Group, "e") == [short, none] and store.series(Group, "d") == []
    for visit in ("x", "y", "v"):
        last = stepped(visits[visit], records.END)
        assert store.append([last, change(visits[visit].row, visit, step=4)]) == [True, False]
        assert store.series(Group, ["d", "e"]) == [short, none]  # v: after its window
    assert store.append([stepped(visits["w"], records.TIMEOUT)]) == [True]
    expected = [short, Group("e", 2, 7, 2, 2, 2, 4, 1)]
    assert store.series(Group, "e") == expected
    rows = [row for row in ended_in(store) if row.epoch]
    assert [row.id for row in rows] == ["v"]  # the windows of the others are not over
    with store.upkeep() as upkeep:
        assert upkeep.archive(PART, rows, {})
    assert store.series(Group, "e") == expected
    ledger, events = store.audit_state("e", *ALL_SUMS)
    assert len(list(events)) == 12
    assert ledger.grouped == (3.0, 2.0, 4.0) and ledger.assigned == (2.0, 2.0, 4.0)
    if store.shared:
        other = open_store()
        assert other.append([assigned("z", 2, 0.0)]) == [True]
        assert store.series(Group, "e")[1].opened == 3.0
        other.close()
    store.drop("e")
    assert store.series(Group, "e") == []


@check
def one_variant(store: Store, open_store: Open, durable: bool) -> None:
    """An assigned visit is in one variant of an experiment, also if two batches open it at once."""
    for name in ("s:a", "s:b", "t:a"):
        save(store, name, "{}", [Arm(0, "a")])
    stores = [store, open_store() if store.shared else store]
    with ThreadPoolExecutor(2) as pool:
        for n in range(20):
            batches = ([assigned(f"{n} {k}", 1, 0.0, f"s:{v}") for k in range(5)] for v in "ab")
            done = pool.map(lambda side, batch: side.append(batch), stores, batches)
            assert [sorted(both) for both in zip(*done, strict=True)] == [[False, True]] * 5
    assert store.append([assigned("0 0", 1, 0.0, "t:a")]) == [True]
    if store.shared:
        stores[1].close()


@check
def arms_over_time(store: Store, open_store: Open, durable: bool) -> None:
    """What is counted of an arm is summed by when its visit was touched, and thinned to hours."""
    first = change(None)
    counts = {("pulls", 2, 1, 0): 1.0, ("successes", 2, 1, 0): 0.5, ("seen", 0, 1, 1): 1.0,
              ("seen", 0, 0, 1): 1.0, ("left", 0, 0, 0): 1.0, ("moves", 0, 0, 1): 9.0}  # fmt: skip
    second = change(first.row, step=1)._replace(counts=counts)
    lost = change(first.row, step=1)._replace(counts=counts)
    assert store.append([first, second]) == [True, True] and store.append([lost]) == [False]
    day = store.ping() // 86_400.0 * 86_400.0
    expected = [
        Trend(day, -3, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0),
        Trend(day, -2, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0),
        Trend(day, 0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0),
        Trend(day, 2, 1.0, 0.5, 0.0, 0.0, 0.0, 0.0),
    ]
    assert trends(store, day, 2 * 86_400.0) == expected and trends(store, day, 300.0, "d") == []
    assert trends(store, day + 90_000.0, 300.0) == []
    (start,) = {trend.start for trend in trends(store, day, 300.0)}
    assert (start - day) % 300.0 == 0.0 and abs(start - store.ping()) < 900.0
    row = visit_in(store)
    later = change(row, step=2, touch=False)  # as of a visit that timed out: when it was seen last
    past = later.row._replace(touched=row.touched - 86_400.0)
    later = later._replace(row=past, counts={("pulls", 2, 1, 0): 4.0})
    assert store.append([later]) == [True]
    before, *rest = trends(store, day - 86_400.0, 86_400.0)
    assert before == Trend(day - 86_400.0, 2, 4.0) and len(rest) == 4
    for _ in range(2):
        with store.upkeep() as upkeep:
            upkeep.compact(day + 2 * 86_400.0)
        assert trends(store, day - 86_400.0, 86_400.0) == [before, *rest]
        assert all(trend.start % 3600.0 == 0 for trend in trends(store, 0.0, 300.0))
    ledger, events = store.audit_state("e", *ALL_SUMS)
    sums = ledger.trends
    assert len(list(events)) == 3
    assert sums["over time: pulls", 2, 0, 0] == 5.0 and sums["over time: good", 0, 0, 0] == 2.0
    store.drop("e")
    assert trends(store, 0.0, 300.0) == []


@check
def snapshots_are_kept_once(store: Store, open_store: Open, durable: bool) -> None:
    """Of each variant, metric and rank the first snapshot stays."""
    snapshots = [
        Snapshot(60.0 + rank, "new", "reward", rank, 100, 0.5, 0.25, 0.75) for rank in (2, 1)
    ]
    store.note("e", snapshots)
    store.note("e", [replace(snapshots[0], at=99.0), replace(snapshots[0], at=70.0, metric="left")])
    kept = [snapshots[1], snapshots[0], replace(snapshots[0], at=70.0, metric="left")]
    assert store.series(Snapshot, "e") == kept and store.series(Snapshot, "d") == []
    store.drop("e")
    assert store.series(Snapshot, "e") == []


@check
def settings_are_swapped_once(store: Store, open_store: Open, durable: bool) -> None:
    """Of several that change the same version one wins, and is in the audit log; versions rise."""
    before = store.read()["e"]
    with ThreadPoolExecutor(4) as pool:
        given = [f'{{"x": {n}}}' for n in range(4)]
        won = list(pool.map(lambda text: swap(store, "e", before, text), given))
        assert sum(won) == 1
        made = list(pool.map(lambda text: swap(store, "f", None, text), given))
        assert sum(made) == 1
    after = store.read()["e"]
    assert after[:2] == (given[won.index(True)], (Arm(0, "a"),)) and after.version > before.version
    assert not swap(store, "e", before, "{}", [Arm(0, "b")]) and store.read()["e"] == after
    assert not swap(store, "d", before, '{"x": 5}')
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: save(store, "e", "{}", [Arm(0, f"b{n}")]), range(4)))
    arms = store.read()["e"].arms
    assert [arm.position for arm in arms] == list(range(5)) and len({*arms}) == 5
    edits = store.series(Edit, "e")
    assert [edit.what for edit in edits] == [*["changed"] * 5, "created"]


@check
def dropped_experiments(store: Store, open_store: Open, durable: bool) -> None:
    """Nothing is left of them, late changes are rejected, others stay."""
    save(store, "d", "{}", [Arm(0, "b")])
    first = change(None)
    assert store.append([first]) == [True]
    store.drop("e")
    assert list(store.read()) == ["d"]
    assert store.append([change(first.row, step=1), change(None, "w")]) == [False, False]
    assert find_visit(store, "e", "v") is None and counts_of(store) == ({}, {})
    assert store.events("e") == []
    for name in ("e", "f"):
        for call in (store.drop, store.audit_state):
            with raises(NotFound):
                call(name)
    assert [edit.what for edit in store.series(Edit, "e")] == ["dropped", "created"]


@check
def erased_users(store: Store, open_store: Open, durable: bool) -> None:
    """Their id is nowhere, and a process that has read their visit before cannot change it."""
    first, other = change(None), change(None, "w")
    event = first.events[0]._replace(user="u")
    opened = other.events[0]._replace(user="x")
    other = other._replace(row=other.row._replace(user="x"), events=(opened,))
    assert store.append([first._replace(events=(event,)), other]) == [True, True]
    assert store.erase("u") == 1
    assert store.append([change(first.row, step=1)]) == [False]
    row = visit_in(store)
    assert row.user is None and row.group == first.row.group
    assert store.append([change(row, step=1)]) == [True]
    rows = [find_visit(store, "e", visit) for visit in ("v", "w")]
    assert [row and row.user for row in rows] == [None, "x"]
    assert [event.user for event in store.events("e")] == [None, "x", None]
    assert store.erase("u") == 0


@check
def erasing_goes_on(store: Store, open_store: Open, durable: bool) -> None:
    """Users who are being erased are listed until that is done, also after a crash."""
    store.erase("u")
    if durable:
        store.close()
        store = open_store()
    store.erase("w")
    store.erase("u")
    with store.upkeep() as upkeep:
        assert upkeep.erasing() == ["u", "w"]
        upkeep.erased(["u"])
    with store.upkeep() as upkeep:
        assert upkeep.erasing() == ["w"]
    store.close()


@check
def one_has_the_lease(store: Store, open_store: Open, durable: bool) -> None:
    """A second one is Busy; one that was replaced is refused, whatever it does."""
    other = open_store() if store.shared else store
    assert store.append([ended(change(None))]) == [True]
    with store.upkeep() as first:
        with raises(Busy), other.upkeep(wait=0.1):
            pass
        first.erasing()
    with other.upkeep() as first:
        assert first.archive(PART, ended_in(store), {})
    with store.upkeep(lease=0.05) as paused:
        time.sleep(0.2)
        with other.upkeep(wait=5.0) as second:
            assert second.store_id == paused.store_id
            for do in (
                lambda: paused.replace(PART, PART._replace(file="b")),
                lambda: paused.archive(PART._replace(file="b"), [], {}),
                lambda: paused.erased(["u"]),
                lambda: paused.compact(0.0),
            ):
                with raises(Conflict):
                    do()
            second.erasing()  # it still has the lease
    with store.upkeep(wait=0.0):
        pass
    assert store.series(Part, None) == [PART]
    if other is not store:
        other.close()


@check
def archived_visits(store: Store, open_store: Open, durable: bool) -> None:
    """Visits that ended leave the store with their events; their sums, and the counters, stay."""
    for each in (ended(change(None)), ended(change(None, "x")), change(None, "w")):
        assert store.append([each]) == [True]
    rows = ended_in(store)
    assert [row.id for row in rows] == ["v", "x"] and ended_in(store, 1) == rows[:1]
    assert store.visits("e", ended_before=store.ping() - 1e6)[1] == []
    assert [event.visit for event in store.events("e", visits=["v", "x"])] == ["v", "x"]
    part = PART
    stale = [rows[0], rows[1]._replace(version=-1)]
    with store.upkeep() as upkeep:
        assert not upkeep.archive(part, stale, {("open", 0, 0, 0): 1.0})
        assert store.series(Part, None) == [] and len(store.events("e")) == 3
        assert upkeep.archive(part, rows[:1], {("open", 0, 0, 0): 0.5})
        assert not upkeep.archive(part._replace(file="b"), rows[:1], {})
        assert upkeep.archive(part._replace(file="c"), rows[1:], {("open", 0, 0, 0): 0.5})
    assert [each.file for each in store.series(Part, "e")] == ["a.parquet", "c"]
    ledger, events = store.audit_state("e", *ALL_SUMS)
    assert [event.visit for event in events] == ["w"] and ledger.parts == store.series(Part, "e")
    assert ledger.archived == {("open", 0, 0, 0): 1.0} and ledger.counts["open", 0, 0, 0] == 1.5
    assert {status: n for status, (n, _, _) in ledger.rows.items()} == {"open": 1}
    assert store.append([change(rows[0], step=1)]) == [False]  # it does not come back
    with store.upkeep() as upkeep:
        newer = part._replace(file="b", digest="1" * 64)
        upkeep.replace(part, newer)
        for old in (part, newer._replace(digest=part.digest)):
            with raises(Conflict):
                upkeep.replace(old, part)
        assert [each.file for each in store.series(Part, None)] == ["b", "c"]
        store.drop("e")
        assert store.series(Part, "e") == []
        assert len(store.series(Part, "")) == 2  # from which users are still erased
        upkeep.replace(newer._replace(experiment=""), None)
        assert [each.file for each in store.series(Part, None)] == ["c"]


@check
def an_erased_visit_is_not_archived(store: Store, open_store: Open, durable: bool) -> None:
    """What was read of it before, with the id, does not go to the archive."""
    assert store.append([ended(change(None))]) == [True]
    rows = ended_in(store)
    with store.upkeep() as upkeep:
        assert store.erase("u") == 1  # which does not wait for the lease
        assert not upkeep.archive(PART, rows, {})
        assert upkeep.archive(PART, ended_in(store), {})


@check
def readiness(store: Store, open_store: Open, durable: bool) -> None:
    """A ping says whether something can be written, and leaves nothing behind; time goes on."""
    store.append([change(None)])
    assert 0.0 <= store.ping(write=True) <= store.ping()
    assert len(store.events("e")) == 1 and list(store.read()) == ["e"]


@check
def audit_log(store: Store, open_store: Open, durable: bool) -> None:
    """Changes are in the audit log; saving what is already there is none."""
    save(store, "e", "{}", [Arm(0, "a")])
    token = records.AUDIT_ACTOR.set("ann")
    try:
        save(store, "e", '{"x": 2}', [Arm(0, "a", 1), Arm(0, "b")])
    finally:
        records.AUDIT_ACTOR.reset(token)
    second, first = store.series(Edit, None)
    assert (first.actor, first.what, first.detail) == (
        "process", "created", '{"arms": {"a": {}}}'
    )  # fmt: skip
    assert (second.actor, second.experiment, second.what) == ("ann", "e", "changed")
    assert second.detail == '{"x": 2, "arms": {"a": {"retired": 1}, "b": {}}}'
    assert store.series(Edit, None, limit=1) == [second] and store.series(Edit, "d") == []
    store.close()


@check
def threads(store: Store, open_store: Open, durable: bool) -> None:
    """One thread writes while others read."""

    def read(_: int) -> bool:
        total, events = all_of(store)
        return total.get(("issued", 0, 0, 0), 0.0) == len(events) and list(store.read()) == ["e"]

    with ThreadPoolExecutor(4) as pool:
        reads = pool.map(read, range(20))
        for number in range(20):
            assert store.append([change(None, f"v{number}")]) == [True]
        assert all(reads)


@check
def odd_text(store: Store, open_store: Open, durable: bool) -> None:
    """Names are any printable text."""
    for name in ("?", "%s", "'; --", '"', "naïve ☃ 𝄞", "{serial}", " "):
        save(store, name, "{}", [Arm(0, name)])
        row = Row(name, name, version=1, user=name, request=name)
        opened = Event(name, name, 0, records.OPEN, user=name)
        late = Event(name, name, 1, records.LATE, reward=0.5)
        assert store.append([Change(row, (opened, late), {}, True, 1.0)]) == [True]
        kept = visit_in(store, name, name)
        assert (kept.user, kept.request, kept.reward) == (name, name, None)
        assert [e.user for e in store.events(name)] == [name, None]
    store.close()
