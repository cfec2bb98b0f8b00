"""Dropping, erasing, archiving: what goes, what stays, and what `verify` says of it."""

import itertools
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import postgres
import psycopg
import pyarrow.parquet as pq
import pytest
from crashes import wait_until

import sojourn as sj
from sojourn.live import (
    Conflict,
    Experiment,
    Journal,
    MemoryStore,
    NotFound,
    PostgresStore,
    SqliteStore,
    Store,
    Unavailable,
    archiving,
    conformance,
    export,
    verify,
)
from sojourn.live.archiving import Archived, archive, erase_archived, events_in
from sojourn.live.stores import retention, tables

numbers = itertools.count()
Open = Callable[[], Store]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres.server() as url:
        yield url


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    if request.param == "memory":
        return MemoryStore
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
            visit.step(float((number + step) % 2))
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
        before = news.counts(), news.timeline(0.0, 60.0), news.memory.pulls.tolist()
        assert verify(store, "news/..") == {}
        kept = list(store.history("news/..")[1])
        done = archive(store, "news/..", news.now() + 1.0, tmp_path)
        assert done == Archived(20, len(kept) - 2, 1)
        play(news, 3, first=20)
        assert archive(store, "news/..", news.now() + 1.0, tmp_path).visits == 3
        moved = list(itertools.chain(*events_in(store, "news/..", tmp_path)))
        assert {e for e in moved if e.visit in {f"v{n}" for n in range(20)}} == {
            e for e in kept if not e.visit.startswith("open")
        }
        assert {event.visit for event in store.history("news/..")[1]} == {"open0", "open20"}
        assert verify(store, "news/..", tmp_path) == {}
        news.reload()
        assert sum(news.memory.pulls) > sum(before[2])
        assert news.counts()["open", 0, 0, 0] == 25
        assert sum(bucket.visits for bucket in news.timeline(0.0, 60.0)) == 23
        with pytest.raises(NotFound):
            news.get("v0").reward(1)
        folders = {path.parent.parent.name for path in tmp_path.rglob("*.parquet")}
        assert folders == {"news%2F%2E%2E"}


def test_old_visits_only_and_day_by_day(tmp_path: Path) -> None:
    now = 86_400.0 * 20_000 + 10.0
    store = MemoryStore(lambda: now)
    with Journal(store, upkeep=False) as journal:
        news = Experiment("news", ["a"], sj.policies.FixedArm(0), store=journal, compiled=False)
        for day in range(3):
            now += 86_400.0 * (day > 0)
            news.visit(id=f"v{day}").end()
        assert archive(store, "news", now - 1.0, tmp_path) == Archived(2, 4, 2)
        assert [part.day for part in store.parts()] == ["2024-10-04", "2024-10-05"]
        assert store.visit("news", "v2") is not None


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
        assert sorted(part.visits for part in store.parts()) == [1, 1, 2, 3]
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
            patch.setattr(type(journal.store), "archive", lambda *given: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                archive(journal.store, "news", news.now() + 1.0, tmp_path)
        assert verify(journal.store, "news") == {} and journal.store.parts() == []
        assert len(list(tmp_path.rglob("*.parquet"))) == 1
        monkeypatch.setattr(archiving, "LEFT_OVER", -1.0)
        assert archive(journal.store, "news", news.now() + 1.0, tmp_path).visits == 4
        assert len(list(tmp_path.rglob("*.parquet"))) == 1


def test_verify_notices_files_that_are_not_the_ones(tmp_path: Path) -> None:
    with Journal(MemoryStore(), upkeep=False) as journal:
        news = Experiment("news", ["a"], sj.policies.UCB(), store=journal, compiled=False)
        play(news, 3)
        archive(journal.store, "news", news.now() + 1.0, tmp_path)
        (part,) = journal.store.parts()
        events = archiving.read(tmp_path, part)
        other = archiving.write(events[:-2], tmp_path, part)
        journal.store.replace_part(part, other)
        wrong = verify(journal.store, "news", tmp_path)
        assert wrong["archived: left by end", 0, 0, 0] == (3.0, 2.0)
        (tmp_path / other.file).write_bytes(b"x")
        with pytest.raises(ValueError, match="is not the file that was written"):
            verify(journal.store, "news", tmp_path)
        (tmp_path / other.file).unlink()
        with pytest.raises(ValueError, match=r"is missing: is .* the folder of the archive"):
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
        assert store.erase("anna-1-secret") == 1
        assert erase_archived(store, "anna-1-secret", tmp_path / "old") == 2
        news.get("w").end(1)  # this process had the id in memory
        assert news.counts()["pulls", 0, 1, 0] == counts["pulls", 0, 1, 0] + 1
        assert verify(store, "news", tmp_path / "old") == {}
        export(store, "news", tmp_path / "steps.csv")
    for file in (f for f in tmp_path.rglob("*") if f.is_file()):
        assert b"anna-1-secret" not in file.read_bytes(), file
    assert b"anna-0-secret" in path.read_bytes()
    edits = [edit for edit in SqliteStore(path, reading=True).edits(9) if "erased" in edit.what]
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

        def erase(user: int) -> None:
            for _ in range(40):
                news.journal.store.erase(f"u{user}")

        with ThreadPoolExecutor(6) as pool:
            work = [pool.submit(do, user) for user in range(3) for do in (play, erase)]
        assert [done.exception() for done in work] == [None] * 6
        assert news.counts()["pulls", 0, 1, 0] == 120
        assert verify(news.journal.store, "news") == {}


def test_a_dropped_experiment_is_gone_and_its_name_free(
    open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "AT_ONCE", 3)  # many small transactions
    with Journal(open_store(), upkeep=False) as journal:
        news = Experiment("news", ["a"], sj.policies.UCB(), store=journal, compiled=False)
        other = Experiment("other", ["a"], sj.policies.UCB(), store=journal, compiled=False)
        play(news, 5)
        play(other, 5)
        counts = other.counts()
        journal.store.drop("news")
        for call in (lambda: news.get("open0").end(), lambda: news.visit().choose()):
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


AFTER_THREE = ("DROP TABLE sojourn_group", "ALTER TABLE sojourn_visit DROP COLUMN epoch")
AFTER_FOUR = (
    "DROP TABLE sojourn_trend",
    "DROP TABLE sojourn_look",
    "ALTER TABLE sojourn_event DROP COLUMN would",
    "ALTER TABLE sojourn_event DROP COLUMN candidates",
)
"""What takes back the migrations to the fourth and the fifth version."""


def test_tables_of_the_first_version_get_their_charts(tmp_path: Path) -> None:
    path = tmp_path / "live.db"
    with Experiment(
        "news", ["a"], sj.policies.UCB(), store=f"sqlite:///{path}", compiled=False
    ) as news:
        play(news, 6)
        chart = news.timeline(0.0, 60.0)
    with sqlite3.connect(path) as db:
        for table in ("minute", "archived", "part", "edit", "dropped"):
            db.execute(f"DROP TABLE sojourn_{table}")
        for statement in (*AFTER_THREE, *AFTER_FOUR):
            db.execute(statement)
        for index in ("ended", "late"):
            db.execute(f"DROP INDEX sojourn_{index}")
        db.execute("PRAGMA user_version = 1")
    db.close()
    store = SqliteStore(path)
    assert store.timeline("news", 0.0, 60.0) == chart and verify(store, "news") == {}
    assert len(tables.MIGRATIONS) == 5
    store.close()


def as_of_the_second_version(store: Store) -> None:
    """Departures of all arms together, in the counters and in the sums of the archive."""
    with store._writing() as run:  # type: ignore[attr-defined]
        for table, by in (("counter", "writer, "), ("archived", "")):
            run(
                f"INSERT INTO sojourn_{table} SELECT experiment, {by} 'gone', j, k, 0, SUM(n) FROM "
                f"sojourn_{table} WHERE what = 'left' GROUP BY experiment, {by} j, k"
            )
            run(f"DELETE FROM sojourn_{table} WHERE what IN ('seen', 'left')")
        for statement in (*AFTER_THREE, *AFTER_FOUR):
            run(statement)
    becomes(store, 2)


def becomes(store: Store, version: int) -> None:
    """Say that the tables are of this version, and close them."""
    with store._writing() as run:  # type: ignore[attr-defined]
        if isinstance(store, SqliteStore):
            run(f"PRAGMA user_version = {version}")
        else:
            run(f"UPDATE sojourn_schema SET version = {version}")
    store.close()


@pytest.mark.parametrize("open_store", ["sqlite", "postgres"], indirect=True)
def test_tables_of_the_second_version_get_departures_by_arm(
    open_store: Open, tmp_path: Path
) -> None:
    """Those of archived visits stay together; of all arms together there are as many as before."""
    store, given = open_store(), {"policy": sj.policies.LearnedUCB(bins=3), "compiled": False}
    news = Experiment("news", ["a", "b", "c"], store=Journal(store, upkeep=False), **given)  # type: ignore[arg-type]
    play(news, 20)
    archive(store, "news", store.now() + 1.0, tmp_path / "archive")
    archived = {key: n for key, n in news.counts().items() if key[0] in ("seen", "left")}
    play(news, 20, first=20)
    before, memory = news.counts(), news.memory
    store.save("broken", "{")
    as_of_the_second_version(store)

    with Journal(open_store(), upkeep=False) as journal:
        again = Experiment("news", store=journal, **given)  # type: ignore[arg-type]
        after = again.counts()
        wanted = {key: n - archived.get(key, 0.0) for key, n in before.items()}
        for (what, _, j, k), n in archived.items():
            wanted[what, -1, j, k] = wanted.get((what, -1, j, k), 0.0) + n
        assert after == {key: n for key, n in wanted.items() if n}
        assert again.memory.left[-1].sum() == sum(
            n for key, n in archived.items() if key[0] == "left"
        )
        for name in ("seen", "left"):
            sums = [getattr(each, name).sum(axis=0).tolist() for each in (memory, again.memory)]
            assert sums[0] == sums[1]
        play(again, 10, first=40)
        archive(journal.store, "news", journal.store.now() + 1.0, tmp_path / "archive")
        assert verify(journal.store, "news", tmp_path / "archive") == {}
        with journal.store._writing() as run:  # type: ignore[attr-defined]
            run("UPDATE sojourn_archived SET n = n + 1 WHERE what = 'left' AND i = -1 AND j = 2")
        wrong = verify(journal.store, "news", tmp_path / "archive")
        assert {key[0] for key in wrong if not key[0].startswith("over time: ")} == {
            "left", "archived: left"
        }  # fmt: skip


@pytest.mark.parametrize("open_store", ["sqlite", "postgres"], indirect=True)
def test_tables_of_the_fourth_version_go_on(open_store: Open, tmp_path: Path) -> None:
    """What was counted has no time, what is counted from now on has; old files stay readable."""
    store, folder = open_store(), tmp_path / "archive"
    given = {"policy": sj.policies.UCB(), "compiled": False}
    news = Experiment("news", ["a", "b"], store=Journal(store, upkeep=False), **given)  # type: ignore[arg-type]
    play(news, 8)
    archive(store, "news", store.now() + 1.0, folder)
    (part,) = store.parts()
    file = pq.read_table(folder / part.file, partitioning=None)
    pq.write_table(file.drop_columns(["would", "candidates"]), folder / part.file)
    store.replace_part(part, part._replace(digest=archiving._digest(folder / part.file)))
    play(news, 4, first=8)
    with store._writing() as run:  # type: ignore[attr-defined]
        for statement in AFTER_FOUR:
            run(statement)
    becomes(store, 4)

    with Journal(open_store(), upkeep=False) as journal:
        again = Experiment("news", store=journal, **given)  # type: ignore[arg-type]
        known = journal.store.trends("news", 0.0, 300.0)
        untimed = sum(trend.pulls for trend in known)
        assert [trend[:2] for trend in known] == [(0.0, -3), (0.0, -2), (0.0, 0), (0.0, 1)]
        assert untimed == sum(again.memory.pulls)
        assert verify(journal.store, "news", folder) == {}
        play(again, 3, first=12)
        moved = list(itertools.chain(*events_in(journal.store, "news", folder)))
        assert {(event.would, event.candidates) for event in moved} == {(None, None)}
        assert archive(journal.store, "news", journal.store.now() + 1.0, folder).visits == 7
        assert verify(journal.store, "news", folder) == {}
        timed = journal.store.trends("news", 300.0, 300.0)
        assert sum(trend.pulls for trend in timed) == sum(again.memory.pulls) - untimed > 0
        with journal.store._writing() as run:  # type: ignore[attr-defined]
            run("UPDATE sojourn_trend SET good_left = good_left + 1 WHERE start = 0 AND arm = 0")
        assert {key[:2] for key in verify(journal.store, "news")} == {("over time: good_left", 0)}


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
    assert store.append([late]) == [False] and store.visit("e", "v") is None
    store.close()


def test_two_processes_that_thin_at_the_same_moment_count_once(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one begins before the first has committed, and finds nothing left to add."""
    url = postgres.database(server, f"kept{next(numbers)}")
    with Journal(PostgresStore(url), upkeep=False) as journal:
        news = Experiment("news", ["a", "b"], sj.policies.UCB(), store=journal, compiled=False)
        play(news, 6)
        with journal.store._writing() as run:  # type: ignore[attr-defined]
            for table in ("minute", "trend"):  # so that no bucket begins with its hour
                run(f"UPDATE sojourn_{table} SET start = FLOOR(start / 3600) * 3600 + 300")
        before = news.timeline(0.0, 1e12), journal.store.trends("news", 0.0, 1e12)
        other = PostgresStore(url)
        writing, began = other._writing, threading.Event()

        @contextmanager
        def slow() -> Iterator[Any]:
            with writing() as run:
                yield run
                began.set()
                time.sleep(0.5)  # the rows are deleted, and nothing is committed

        monkeypatch.setattr(other, "_writing", slow)
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(other.fold_minutes, 1e12)
            assert began.wait(10.0)
            journal.store.fold_minutes(1e12)
            first.result()
        assert (news.timeline(0.0, 1e12), journal.store.trends("news", 0.0, 1e12)) == before
        assert verify(journal.store, "news") == {}
        other.close()


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
