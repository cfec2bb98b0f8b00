"""Dropping, erasing, archiving: what goes, what stays, and what `verify` says of it."""

import asyncio
import itertools
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import postgres
import psycopg
import pytest
from crashes import wait_until

import sojourn as sj
from sojourn.live import (
    Ask,
    Conflict,
    Damaged,
    Edit,
    Experiment,
    Journal,
    NotFound,
    Opening,
    Part,
    PostgresStore,
    SqliteStore,
    Store,
    Unavailable,
    archiving,
    backup,
    conformance,
    export,
    files,
    open_store as open_at,
    verify,
)
from sojourn.live.archiving import (
    Archived,
    Erased,
    archive,
    drop_archived,
    erase,
    events_in,
    finish_erasing,
)
from sojourn.live.stores import sql
from sojourn.live.stores.base import find_visit
from sojourn.service.routes import operations

numbers = itertools.count()
Open = Callable[[], Store]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres.server() as url:
        yield url


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    if request.param == "memory":
        return SqliteStore.in_memory
    if request.param == "sqlite":
        return lambda: SqliteStore(tmp_path / "live.db")
    url = postgres.database(request.getfixturevalue("server"), f"kept{next(numbers)}")
    return lambda: PostgresStore(url)


def play(experiment: Experiment, visits: int, first: int = 0) -> None:
    """Visits of one to three steps, with late rewards and one that stays open."""
    for number in range(first, first + visits):
        visit = experiment.visit(user=f"u{number % 3}", id=f"v{number}")
        visit.choose()
        for step in range(number % 3):
            visit.choose(float((number + step) % 2))
        if number % 4 == 0:
            visit.reward(1)
            visit.choose()
            visit.end()
            visit.reward(1)
        else:
            visit.end(1)
    experiment.visit(id=f"open{first}").choose()


def test_what_is_archived_is_all_there(open_store: Open, tmp_path: Path) -> None:
    """Counters, charts and what was learned stay; events are in the files; sums add up."""
    with Journal(open_store(), upkeep=False) as journal:
        store = journal.store
        options = {"store": journal, "compiled": False, "late_horizon": 3600.0}
        news = Experiment("news/..", ["a", "b"], sj.policies.LearnedUCB(), **options)  # type: ignore[arg-type]
        play(news, 20)
        before = news.counts(), news.branch.timeline(0.0, 60.0), news.memory.pulls.tolist()
        assert verify(store, "news/..") == {}
        kept = store.events("news/..")
        done = archive(store, "news/..", news.now() + 1.0, tmp_path)
        assert done == Archived(20, len(kept) - 2, 1)
        play(news, 3, first=20)
        assert archive(store, "news/..", news.now() + 1.0, tmp_path).visits == 3
        moved = list(itertools.chain(*events_in(store, store.series(Part, "news/.."), tmp_path)))
        assert {e for e in moved if e.visit in {f"v{n}" for n in range(20)}} == {
            e for e in kept if not e.visit.startswith("open")
        }
        assert {event.visit for event in store.events("news/..")} == {"open0", "open20"}
        assert verify(store, "news/..", tmp_path) == {}
        news._reload()
        assert sum(news.memory.pulls) > sum(before[2])
        assert news.counts()["open", 0, 0, 0] == 25
        assert sum(bucket.visits for bucket in news.branch.timeline(0.0, 60.0)) == 23
        with pytest.raises(NotFound):
            news.get("v0").reward(1)
        folders = {path.parent.parent.name for path in tmp_path.rglob("*.parquet")}
        assert folders == {"news%2F%2E%2E"}


def test_old_visits_only_and_day_by_day(tmp_path: Path) -> None:
    now = 86_400.0 * 20_000 + 10.0
    store = SqliteStore.in_memory(lambda: now)
    with Journal(store, upkeep=False) as journal:
        news = Experiment("news", ["a"], sj.policies.FixedArm(0), store=journal, compiled=False)
        for day in range(3):
            now += 86_400.0 * (day > 0)
            news.visit(id=f"v{day}").end()
        assert archive(store, "news", now - 1.0, tmp_path) == Archived(2, 4, 2)
        assert [part.day for part in store.series(Part, None)] == ["2024-10-04", "2024-10-05"]
        assert find_visit(store, "news", "v2") is not None


def test_files_are_of_bounded_size_and_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archiving, "STEPS", 6)
    with Experiment("news", ["a"], sj.policies.FixedArm(0), compiled=False) as news:
        store = news.journal.store
        for number in range(7):
            visit = news.visit(id=f"v{number}")
            for _ in range(number + 1):
                visit.choose()
            visit.end()
        assert archive(store, "news", news.now() + 1.0, tmp_path) == Archived(7, 70, 4)
        assert sorted(part.visits for part in store.series(Part, None)) == [1, 1, 2, 3]
        assert verify(store, "news", tmp_path) == {}
    folders = [path for path in (tmp_path / "news").rglob("*") if path.is_dir()]
    assert {path.stat().st_mode & 0o777 for path in [tmp_path / "news", *folders]} == {0o700}


def test_a_visit_that_changes_meanwhile_is_not_lost(
    open_store: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the file and the deletion a late reward arrives: the file is thrown away."""
    with Journal(open_store(), upkeep=False) as journal:
        news = Experiment("news", ["a"], sj.policies.UCB(), store=journal, compiled=False)
        visit = news.visit(id="v")
        visit.choose()
        visit.end()
        write, calls = archiving.write, []

        def interrupted(*given: object) -> object:
            part = write(*given)  # type: ignore[arg-type]
            if not calls:
                assert visit.reward(1) == "late"
            calls.append(part)
            return part

        monkeypatch.setattr(archiving, "write", interrupted)
        assert archive(journal.store, "news", news.now() + 1.0, tmp_path) == Archived(1, 5, 1)
        assert len(calls) == 2 and len(list(tmp_path.rglob("*.parquet"))) == 1
        assert verify(journal.store, "news", tmp_path) == {}


def test_a_death_between_file_and_deletion_leaves_all_in_the_store(
    open_store: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal(open_store(), upkeep=False) as journal:
        news = Experiment("news", ["a"], sj.policies.UCB(), store=journal, compiled=False)
        play(news, 4)
        with monkeypatch.context() as patch:
            patch.setattr(sql.SqlUpkeep, "archive", lambda *given: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                archive(journal.store, "news", news.now() + 1.0, tmp_path)
        assert verify(journal.store, "news") == {} and journal.store.series(Part, None) == []
        assert len(list(tmp_path.rglob("*.parquet"))) == 1
        assert archive(journal.store, "news", news.now() + 1.0, tmp_path).visits == 4
        assert len(list(tmp_path.rglob("*.parquet"))) == 1


def test_verify_notices_files_that_are_not_the_ones(tmp_path: Path) -> None:
    with Journal(SqliteStore.in_memory(), upkeep=False) as journal:
        news = Experiment("news", ["a"], sj.policies.UCB(), store=journal, compiled=False)
        play(news, 3)
        archive(journal.store, "news", news.now() + 1.0, tmp_path)
        (part,) = journal.store.series(Part, None)
        events = archiving.read(tmp_path, part)
        with journal.store.upkeep() as upkeep:
            other = archiving.write(events[:-2], tmp_path, part, upkeep.store_id)
            upkeep.replace(part, other)
        wrong = verify(journal.store, "news", tmp_path)
        assert wrong["archived: left by end", 0, 0, 0] == (3.0, 2.0)
        (tmp_path / other.file).write_bytes(b"x")
        with pytest.raises(Damaged, match="is not the file that was written"):
            verify(journal.store, "news", tmp_path)
        (tmp_path / other.file).unlink()
        with pytest.raises(Damaged, match=r"is missing: is .* the folder of the archive"):
            verify(journal.store, "news", tmp_path)


@pytest.mark.parametrize(
    ("statement", "wrong"),
    [
        ("DELETE FROM sojourn_visit", {"visits open", "visits ended"}),
        ("DELETE FROM sojourn_visit WHERE id = 'v11'", {"visits ended"}),
        (
            "UPDATE sojourn_visit SET status = 'open' WHERE id = 'v11'",
            {"visits open", "visits ended"},
        ),
        ("UPDATE sojourn_visit SET step = step + 1 WHERE id = 'v11'", {"steps of visits"}),
        ("UPDATE sojourn_visit SET gained = 0.0", {"rewards of visits"}),
        ("DELETE FROM sojourn_minute", {"charted"}),
        ("UPDATE sojourn_archived SET n = n + 1 WHERE what = 'open'", {"open"}),
    ],
)
def test_verify_looks_at_rows_charts_and_archived_sums(
    tmp_path: Path, statement: str, wrong: set[str]
) -> None:
    path = tmp_path / "live.db"
    with Experiment(
        "news", ["a"], sj.policies.UCB(), store=f"sqlite:///{path}", compiled=False
    ) as news:
        play(news, 2)
        archive(news.journal.store, "news", news.now() + 1.0, tmp_path)
        play(news, 4, first=10)
    with sqlite3.connect(path) as db:
        db.execute(statement)
    db.close()
    store = SqliteStore(path)
    found = {what for what, *_ in verify(store, "news")}
    store.close()
    assert wrong <= found and found <= wrong | {"steps of visits", "rewards of visits"}


def test_an_erased_user_is_nowhere(tmp_path: Path) -> None:
    """Neither in the store and its files on disk, nor in the archive; all sums stay."""
    path = tmp_path / "live.db"
    with Experiment(
        "news", ["a"], sj.policies.UCB(), store=f"sqlite:///{path}", compiled=False
    ) as news:
        store = news.journal.store
        for number in range(4):
            visit = news.visit(user=f"anna-{number % 2}-secret", id=f"v{number}")
            visit.choose()
            visit.end(1)
        archive(store, "news", news.now() + 1.0, tmp_path / "old")
        news.visit(user="anna-1-secret", id="w").choose()
        news.visit(user="anna-0-secret", id="x").choose()
        counts = news.counts()
        assert erase(store, "anna-1-secret", tmp_path / "old") == Erased(1, 2)
        news.get("w").end(1)  # this process had the id in memory
        assert news.counts()["pulls", 0, 1, 0] == counts["pulls", 0, 1, 0] + 1
        assert verify(store, "news", tmp_path / "old") == {}
        export(store, "news", tmp_path / "steps.csv")
    for file in (f for f in tmp_path.rglob("*") if f.is_file()):
        assert b"anna-1-secret" not in file.read_bytes(), file
    assert b"anna-0-secret" in path.read_bytes()
    edits = SqliteStore(path, read_only=True).series(Edit, None)
    edits = [edit for edit in edits if "erased" in edit.what]
    assert [edit.detail for edit in edits] == ["1 visits"]


def test_users_are_erased_while_others_are_served(tmp_path: Path) -> None:
    """The writer's connection is not used at the same time, and nobody fails."""
    with Experiment(
        "news", ["a"], sj.policies.UCB(), store=f"sqlite:///{tmp_path / 'live.db'}", compiled=False
    ) as news:

        def play(user: int) -> None:
            for _ in range(40):
                visit = news.visit(user=f"u{user}")
                visit.choose()
                visit.end(1)

        def forget(user: int) -> None:
            for _ in range(40):
                erase(news.journal.store, f"u{user}")

        with ThreadPoolExecutor(6) as pool:
            work = [pool.submit(do, user) for user in range(3) for do in (play, forget)]
        assert [done.exception() for done in work] == [None] * 6
        assert news.counts()["pulls", 0, 1, 0] == 120
        assert verify(news.journal.store, "news") == {}


def test_a_dropped_experiment_is_gone_and_its_name_free(
    open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql, "AT_ONCE", 3)  # many small transactions
    with Journal(open_store(), upkeep=False) as journal:
        news = Experiment("news", ["a"], sj.policies.UCB(), store=journal, compiled=False)
        other = Experiment("other", ["a"], sj.policies.UCB(), store=journal, compiled=False)
        play(news, 5)
        play(other, 5)
        counts = other.counts()
        journal.store.drop("news")
        opening = Ask(opening=Opening())
        gone = news.get("open0").end, news.visit, partial(news.decide, "new", opening)
        for call in gone:
            with pytest.raises(NotFound):
                call()
        assert other.counts() == counts and verify(journal.store, "other") == {}
        if journal.store.shared:
            with pytest.raises(
                Conflict, match=r"'news' was dropped: its name is free again in \d+ s"
            ):
                Experiment("news", ["a"], sj.policies.UCB(), store=journal, compiled=False)
            monkeypatch.setattr(PostgresStore, "grace", 0.0)
        again = Experiment("news", ["b"], sj.policies.UCB(), store=journal, compiled=False)
        assert again.arms == ("b",) and again.counts() == {}
        assert again.visit(id="v1").choose() == "b"
        assert verify(journal.store, "news") == {}


def test_what_a_death_left_of_a_dropped_experiment_goes_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "live.db"
    with Experiment(
        "news", ["a"], sj.policies.UCB(), store=f"sqlite:///{path}", compiled=False
    ) as news:
        play(news, 3)
        with monkeypatch.context() as patch:
            patch.setattr(SqliteStore, "_purge", lambda store: None)
            news.journal.store.drop("news")
    store = SqliteStore(path)
    with store._reading() as run:
        assert run("SELECT COUNT(*) FROM sojourn_event") == [(0,)]
        assert run("SELECT COUNT(*) FROM sojourn_dropped") == [(0,)]
    store.close()


def test_a_policy_that_learns_from_events_is_not_archived(tmp_path: Path) -> None:
    with (
        Experiment("news", ["a"], sj.policies.QLearning(), compiled=False) as news,
        pytest.raises(ValueError, match="'news' cannot be archived: QLearning learns from the"),
    ):
        archive(news.journal.store, "news", 1e12, tmp_path)


def test_a_change_that_races_with_the_deletion_of_its_visit(server: str) -> None:
    """It saw the visit, waited for the deletion, and must not make the visit anew."""
    url = postgres.database(server, f"kept{next(numbers)}")
    store = conformance.with_experiment(lambda: PostgresStore(url))
    first = conformance.change(None)
    assert store.append([first]) == [True]
    late = conformance.change(first.row, step=1)
    with ThreadPoolExecutor(1) as pool, psycopg.connect(url) as other:
        other.execute("DELETE FROM sojourn_visit")
        waiting = pool.submit(store.append, [late])
        with psycopg.connect(url, autocommit=True) as looking:
            query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            wait_until(lambda: looking.execute(query).fetchone() == (1,))
        other.commit()
        with pytest.raises(Unavailable):
            waiting.result()
    assert store.append([late]) == [False] and find_visit(store, "e", "v") is None
    store.close()


class World(NamedTuple):
    """Where an archive runs beside ten erasures."""

    address: str
    folder: Path


ERASED = [f"gone-{number}" for number in range(10)]
OTHERS = [f"kept-{number}" for number in range(6)]


@pytest.fixture(params=["sqlite", "postgres"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    """1,600 visits of sixteen users that have ended, and an archive of a part of them."""
    url = f"sqlite:///{tmp_path / 'live.db'}"
    if request.param == "postgres":
        url = postgres.database(request.getfixturevalue("server"), f"kept{next(numbers)}")
    with Journal(url, upkeep=False) as journal:
        news = Experiment("news", ["a"], sj.policies.FixedArm(0), store=journal, compiled=False)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(partial(visited, news), [ERASED + OTHERS] * 50))
            archive(journal.store, "news", 1e12, tmp_path / "archive")
            list(pool.map(partial(visited, news), [ERASED + OTHERS] * 50))
    return World(url, tmp_path / "archive")


def visited(news: Experiment, users: list[str]) -> None:
    for user in users:
        visit = news.visit(user=user)
        visit.choose()
        visit.end(1)


def check_world(world: World) -> None:
    """No erased id is anywhere, no visit is lost or there twice, and no file is left over."""
    store = open_at(world.address)
    with store.upkeep() as upkeep:
        assert upkeep.erasing() == []
    parts = store.series(Part, "news")
    moved = list(itertools.chain(*events_in(store, parts, world.folder)))
    events = [*moved, *store.events("news")]
    opened = Counter(event.user for event in events if event.kind == "open")
    assert opened == {None: 1000, **dict.fromkeys(OTHERS, 100)}
    assert len({(event.visit, event.step, event.kind) for event in events}) == len(events) == 6400
    assert len({event.visit for event in events}) == 1600 == sum(part.visits for part in parts)
    files = {path.relative_to(world.folder).as_posix() for path in world.folder.rglob("*.p*")}
    assert files == {part.file for part in parts}
    assert verify(store, "news", world.folder) == {}
    store.close()


@pytest.mark.parametrize("steps", [archiving.STEPS, 60])
def test_ten_erasures_beside_an_archive_in_threads(
    world: World, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archiving, "STEPS", steps)
    store = open_at(world.address)
    with ThreadPoolExecutor(11) as pool:
        moving = pool.submit(archive, store, "news", 1e12, world.folder)
        erasing = [pool.submit(erase, store, user, world.folder) for user in ERASED]
        assert moving.result().visits == 800
        assert [done.result().visits for done in erasing] <= [100] * 10
    store.close()
    check_world(world)


def test_ten_erasures_beside_an_archive_in_processes(world: World) -> None:
    """Three processes erase at once. The file of SQLite serves one at a time: they take turns."""
    code = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from sojourn.live import InUse, archive, archiving, erase, open_store
from sojourn.live.stores.base import find_visit
from sojourn.service.routes import operations
url, folder, users = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
archiving.STEPS, store = 60, None
while store is None:
    try:
        store = open_store(url)
    except InUse:
        time.sleep(0.02)
if users:
    with ThreadPoolExecutor(len(users)) as pool:
        list(pool.map(lambda user: erase(store, user, folder), users))
else:
    assert archive(store, "news", 1e12, folder).visits == 800
store.close()
"""
    words = [sys.executable, "-c", code, world.address, str(world.folder)]
    running = [subprocess.Popen([*words, *ERASED[n::3]]) for n in range(3)]
    running.append(subprocess.Popen(words))
    assert [process.wait(300) for process in running] == [0] * 4
    store = open_at(world.address)
    with store.upkeep() as upkeep:
        finish_erasing(store, upkeep, world.folder)
    store.close()
    check_world(world)


def test_a_visit_that_opens_beside_an_erasure_keeps_its_user_or_loses_it(server: str) -> None:
    """Its first event has the id if its row has: else no later erasure would find it."""
    url = postgres.database(server, f"kept{next(numbers)}")
    with Journal(url, upkeep=False) as journal, Journal(url, upkeep=False) as others:
        news, same = (
            Experiment("news", ["a"], sj.policies.UCB(), store=each, compiled=False)
            for each in (journal, others)
        )
        news.visit("u", "v0").choose()
        store: Any = journal.store
        writing, opened = store._writing, itertools.count(1)

        @contextmanager
        def interrupted() -> Iterator[Any]:
            with writing() as run:

                def slow(*query: Any) -> Any:
                    same.visit("u", f"v{next(opened)}").choose()
                    return run(*query)

                yield slow

        store._writing = interrupted
        store.erase("u")
        store._writing = writing
        kept = {row.id for row in store.visits("news", limit=99)[1] if row.user == "u"}
        opens = {event.visit for event in store.events("news") if event.user == "u"}
        assert kept == opens != set() and "v0" not in kept
        store.erase("u")
        assert {event.user for event in store.events("news")} == {None}


def test_rows_that_sqlite_has_moved_leave_no_copy(tmp_path: Path) -> None:
    """Rows that grow are moved to other pages, and `secure_delete` does not see the old copies."""
    path, draw = tmp_path / "live.db", random.Random(2)
    store = SqliteStore(path)
    users = [f"user-{number:04d}-secret" for number in range(600)]
    insert = (
        "INSERT INTO sojourn_visit (experiment, id, version, \"user\") VALUES ('news', ?, 1, ?)"
    )
    grow = "UPDATE sojourn_visit SET step = step + 1, request = ? WHERE id = ?"
    with store._writing() as run:
        for number in range(6000):
            run(insert, (f"{number}", users[number % 600]))
            for _ in range(2):
                other = max(0, number - int(draw.expovariate(0.02)))
                run(grow, (f"{draw.getrandbits(128):032x}", f"{other}"))
    for user in users[::3]:
        store.erase(user)
    with store.upkeep() as upkeep:
        finish_erasing(store, upkeep, None)
    raw = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert [user for user in users[::3] if user.encode() in raw] == []
    assert users[1].encode() in raw
    store.close()


def test_the_write_ahead_log_of_a_killed_process_is_emptied_at_the_next_start(
    tmp_path: Path,
) -> None:
    with Experiment(
        "news", ["a"], store=f"sqlite:///{tmp_path / 'live.db'}", compiled=False
    ) as news:
        news.visit("anna-secret").choose()
        (tmp_path / "killed").mkdir()
        for file in tmp_path.glob("live.db*"):
            shutil.copy(file, tmp_path / "killed")
    log = tmp_path / "killed" / "live.db-wal"
    assert b"anna-secret" in log.read_bytes()
    store = SqliteStore(tmp_path / "killed" / "live.db")
    assert log.stat().st_size == 0
    store.close()


def test_a_file_that_a_killed_erasure_has_left_goes_before_the_next_one_is_done(
    open_store: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was killed when the new file was listed, and the old one was still there."""
    with Journal(open_store(), upkeep=False) as journal:
        news = Experiment("news", ["a"], sj.policies.UCB(), store=journal, compiled=False)
        play(news, 6)
        store = journal.store
        archive(store, "news", news.now() + 1.0, tmp_path)
        with monkeypatch.context() as patch:
            patch.setattr(Path, "unlink", lambda *given, **how: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                erase(store, "u1", tmp_path)
        assert len(list(tmp_path.rglob("*.parquet"))) == 2
        assert erase(store, "u2", tmp_path) == Erased(0, 2)
        (file,) = tmp_path.rglob("*.parquet")
        assert file.relative_to(tmp_path).as_posix() == store.series(Part, None)[0].file
        assert verify(store, "news", tmp_path) == {}


def test_a_sweep_that_was_paused_deletes_no_file_of_the_next_holder(
    open_store: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal(open_store(), upkeep=False) as journal:
        news = Experiment("news", ["a"], sj.policies.UCB(), store=journal, compiled=False)
        play(news, 6)
        store, paused = journal.store, []
        series = store.series

        def slow(*given: Any) -> Any:
            found = series(*given)
            if not paused:
                paused.append(time.sleep(0.2))
                assert archive(store, "news", news.now() + 1.0, tmp_path).visits == 6
            return found

        monkeypatch.setattr(store, "series", slow)
        with store.upkeep(lease=0.05) as upkeep:
            archiving._sweep(store, upkeep, tmp_path)
            with pytest.raises(Conflict):
                archiving._sweep(store, upkeep, tmp_path)
        assert verify(store, "news", tmp_path) == {}


def test_an_experiment_that_is_dropped_while_it_is_archived_or_swept(
    open_store: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """Nothing is listed of it, and nobody is told of a failure."""
    with Journal(open_store(), upkeep=False) as journal:
        news = Experiment("news", ["a"], sj.policies.UCB(), store=journal, compiled=False)
        play(news, 6)
        store, write = journal.store, archiving.write

        def interrupted(*given: Any) -> Part:
            if "news" in store.read():
                store.drop("news")
            return write(*given)

        with monkeypatch.context() as patch:  # its rows are deleted some at a time
            patch.setattr(type(store), "_purge", lambda store: None)
            patch.setattr(archiving, "write", interrupted)
            assert archive(store, "news", 1e12, tmp_path) == Archived()
        assert store.series(Part, None) == [] == list(tmp_path.rglob("*.parquet"))
        news.operations._dirty = True
        journal._look_after(news.branch, None, True)
        assert news.dropped and not caplog.records
        for look in (verify, partial(export, path=tmp_path / "steps.csv")):
            with pytest.raises(NotFound, match="there is no experiment 'news'"):
                look(store, "news")
        asyncio.run(operations._archive(store, "news", 1e12, tmp_path))
        assert not caplog.records


def test_an_archive_that_is_dropped_while_it_is_read(tmp_path: Path) -> None:
    """Not the folder is wrong: that is said only where files are listed and missing."""
    with Journal(SqliteStore.in_memory(), upkeep=False) as journal:
        news = Experiment("news", ["a"], sj.policies.UCB(), store=journal, compiled=False)
        play(news, 6)
        store = journal.store
        archive(store, "news", news.now() + 1.0, tmp_path)
        parts = store.series(Part, "news")
        news.drop()
        assert len(list(events_in(store, parts, tmp_path))) == 1
        drop_archived(store, "news", tmp_path)
        with pytest.raises(NotFound, match="'news' was dropped, with its archive"):
            list(events_in(store, parts, tmp_path))


def test_a_backup_deletes_what_a_killed_one_has_left(tmp_path: Path) -> None:
    with Experiment(
        "news", ["a"], store=f"sqlite:///{tmp_path / 'live.db'}", compiled=False
    ) as news:
        left, running = tmp_path / ".sojourn-1.part", tmp_path / ".sojourn-2.part"
        for file in (left, running, tmp_path / ".sojourn-1.part-journal"):
            file.write_text("u1")
            os.utime(file, (0.0, 0.0))
        with running.open() as held:
            assert files.locked(held.fileno())
            backup(f"sqlite:///{tmp_path / 'live.db'}", tmp_path / "copy.db")
        assert {file.name for file in tmp_path.glob(".*")} == {running.name}
        assert (tmp_path / "copy.db").is_file() and news.visit().choose() == "a"


def test_a_file_of_another_store_is_reported_and_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A wrong folder of the archive loses nothing."""
    pages = []
    for name in ("one", "two"):
        with Experiment("news", ["a"], sj.policies.UCB(), compiled=False) as news:
            play(news, 3)
            archive(news.journal.store, "news", news.now() + 1.0, tmp_path / name)
            pages.append(sorted((tmp_path / name).rglob("*.parquet")))
            if name == "two":
                own, plain = tmp_path / "one" / "news", pages[0][0].with_name("notes.txt")
                plain.write_text("mine")
                left = write_left_over(news.journal.store, tmp_path / "one")
                play(news, 3, first=3)
                archive(news.journal.store, "news", news.now() + 1.0, tmp_path / "one")
                assert not any(path.exists() for path in left)
                assert plain.exists() and pages[0][0].exists() and len(list(own.rglob("*.*"))) == 3
                with pytest.raises(Damaged, match=r"is missing: is .* the folder of the archive"):
                    erase(news.journal.store, "u1", tmp_path / "one")
                news.drop()
                drop_archived(news.journal.store, "news", tmp_path / "one")
                assert plain.exists() and pages[0][0].exists() and len(list(own.rglob("*.*"))) == 2
    assert "archive: 2 files that are not of this store are left as they are" in caplog.text


def write_left_over(store: Store, folder: Path) -> list[Path]:
    """What a process of this store leaves when it is killed while it writes a file, and after."""
    with store.upkeep() as upkeep:
        part = archiving.write(
            [], folder, Part("news", "2026-11-16", "", 0, 0, ""), upkeep.store_id
        )
        unfinished = (folder / part.file).with_name(f"{upkeep.store_id}-0f.partial")
    unfinished.write_bytes(b"PAR1")
    return [folder / part.file, unfinished]


def test_an_erasure_waits_for_the_lease_and_the_next_holder_goes_on(
    open_store: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal(open_store(), upkeep=False) as journal:
        news = Experiment("news", ["a"], sj.policies.UCB(), store=journal, compiled=False)
        play(news, 6)
        store = journal.store
        archive(store, "news", news.now() + 1.0, tmp_path)
        assert erase(store, "u1") == Erased(0, None)  # whose folder is not known
        with store.upkeep():
            assert erase(store, "u2", tmp_path, wait=0.1) == Erased(0, None)
        with monkeypatch.context() as patch:
            patch.setattr(sql.SqlUpkeep, "replace", lambda *given: 1 / 0)
            with pytest.raises(ZeroDivisionError):  # a death that leaves a file
                archive(store, "news", news.now() + 1.0, tmp_path)
        assert len(list(tmp_path.rglob("*.parquet"))) == 2
        assert archive(store, "news", news.now() + 1.0, tmp_path) == Archived()
        (part,) = store.series(Part, None)
        users = {event.user for event in archiving.read(tmp_path, part)}
        assert users == {"u0", None} and len(list(tmp_path.rglob("*.parquet"))) == 1
        assert verify(store, "news", tmp_path) == {}


def test_the_archive_of_a_dropped_experiment(open_store: Open, tmp_path: Path) -> None:
    """It stays, users are erased from it, and it goes when that is asked for."""
    with Journal(open_store(), upkeep=False) as journal:
        store = journal.store
        news = Experiment("news", ["a"], sj.policies.UCB(), store=journal, compiled=False)
        other = Experiment("other", ["a"], sj.policies.UCB(), store=journal, compiled=False)
        for each in (news, other):
            play(each, 6)
            archive(store, each.name, each.now() + 1.0, tmp_path)
        news.drop()
        assert erase(store, "u1", tmp_path) == Erased(0, 4)
        (part,) = store.series(Part, "")
        assert {event.user for event in archiving.read(tmp_path, part)} == {"u0", "u2", None}
        assert drop_archived(store, "news", tmp_path) == 1 == len(store.series(Part, None))
        assert len(list(tmp_path.rglob("*.parquet"))) == 1
        assert verify(store, "other", tmp_path) == {}


def test_archiving_under_load(open_store: Open, tmp_path: Path) -> None:
    """Visits go on while others are archived: nothing is lost, nothing counted twice."""
    with Journal(open_store()) as journal:
        news = Experiment("news", ["a", "b"], sj.policies.UCB(), store=journal, compiled=False)
        stop = threading.Event()

        def load(number: int) -> None:
            while not stop.is_set():
                with suppress(NotFound, Unavailable):  # a late reward, and the visit is archived
                    play(news, 5, first=next(numbers) * 1000)

        threads = [threading.Thread(target=load, args=(n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        moved = sum(archive(journal.store, "news", 1e12, tmp_path).visits for _ in range(5))
        stop.set()
        for thread in threads:
            thread.join()
        moved += archive(journal.store, "news", 1e12, tmp_path).visits
        counts = news.counts()
        assert moved == counts["left by end", 0, 0, 0] > 0
        assert verify(journal.store, "news", tmp_path) == {}
