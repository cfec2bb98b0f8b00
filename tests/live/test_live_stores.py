"""The stores: one conformance suite over all of them, and what each one promises besides."""

import ast
import itertools
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import postgres
import pytest
from asgi import client
from plugins import install

import sojourn as sj
from sojourn import InputError
from sojourn.live import (
    Ask,
    Experiment,
    Journal,
    PostgresStore,
    SqliteStore,
    Unavailable,
    backup,
    conformance,
    open_store,
    store_class,
    verify,
)
from sojourn.live.records import fold
from sojourn.live.stores import STORES, tables
from sojourn.live.stores.base import find_visit, save
from sojourn.live.stores.sqlite import Steady
from sojourn.policies import Policy
from sojourn.service.options import Options

numbers = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with postgres.server() as url:
        yield url


@pytest.fixture
def database(server: str) -> str:
    """A database of one's own."""
    return postgres.database(server, f"live{next(numbers)}")


@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
class TestConformance:
    def test_memory(self, check: Callable[..., None]) -> None:
        check(SqliteStore.in_memory, durable=False)

    def test_sqlite(self, check: Callable[..., None], tmp_path: Path) -> None:
        check(lambda: SqliteStore(tmp_path / "live.db"))

    def test_postgres(self, check: Callable[..., None], database: str) -> None:
        check(lambda: PostgresStore(database))


class Wished(SqliteStore):
    """A store of a package that is installed beside this one."""

    @classmethod
    def open(cls, url: str, **how: Any) -> Any:
        return cls.in_memory()


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if that package had an entry point for wish://..."""
    install(monkeypatch, STORES, "wish", f"{__name__}:Wished")


def test_a_package_adds_a_store_by_its_scheme(installed: None) -> None:
    assert store_class("wish://anything") is Wished
    with Experiment(
        "news", ["a"], sj.policies.UCB(), store="wish://x", compiled=False
    ) as experiment:
        assert isinstance(experiment.journal.store, Wished)
    with client(store="wish://x") as http:  # what `sojourn serve --store wish://x` serves
        assert http.put("/v1/experiments/news", json={"arms": ["a"]}).status_code == 201
        assert isinstance(http.app.state.catalog.journal.store, Wished)
    for url in ("wash://x", ""):
        with pytest.raises(ValueError, match="is not allowed: it must be memory://, sqlite:///"):
            open_store(url)


def test_a_store_of_a_package_may_be_shared_by_workers(
    installed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="--workers 2 needs a store that several processes"):
        Options(store="wish://x", workers=2)
    monkeypatch.setattr(Wished, "shared", True)
    assert Options(store="wish://x", workers=2).workers == 2


def test_the_modules_of_databases_are_imported_when_they_are_used() -> None:
    code = "import sys; from sojourn.live import Experiment; "
    code += "Experiment('e', ['a'], store='memory://', compiled=False).close(); "
    code += "print([m for m in sys.modules if 'stores.' in m or m == 'psycopg'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = ["base", "pool", "sql", "sqlite", "tables"]
    assert sorted(ast.literal_eval(done.stdout)) == [f"sojourn.live.stores.{n}" for n in names]


def test_a_copy_of_a_file_is_what_was_there(tmp_path: Path) -> None:
    url, saved = f"sqlite:///{tmp_path}/live.db", tmp_path / "saved.db"
    with pytest.raises(ValueError, match="there is no file"):
        backup(url, saved)
    with Experiment(
        "news", ["a"], sj.policies.FixedArm(0), store=url, compiled=False
    ) as experiment:
        experiment.visit(id="v").choose()
        backup(url, saved)
        experiment.get("v").end(1)
    store = open_store(f"sqlite:///{saved}")
    row = find_visit(store, "news", "v")
    assert row is not None
    assert (row.status, row.pending) == ("open", 1)
    store.close()
    for url, sentence in {"memory://": "ends with its process", "postgres://x": "pg_dump"}.items():
        with pytest.raises(ValueError, match=sentence):
            backup(url, saved)


def test_one_process_per_file(tmp_path: Path) -> None:
    path = tmp_path / "live.db"
    store = SqliteStore(path)
    with pytest.raises(ValueError, match=r"live.db is in use by another process: a SQLite file"):
        SqliteStore(path)
    store.close()
    SqliteStore(path).close()


def test_files_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE x (y)")
    db.close()
    with pytest.raises(ValueError, match="is a database of something else"):
        SqliteStore(path)
    (tmp_path / "text.db").write_text("hello " * 1000)
    with pytest.raises(Unavailable, match="is not a store, or it is damaged"):
        SqliteStore(tmp_path / "text.db")
    with pytest.raises(ValueError, match="cannot be opened"):
        SqliteStore(tmp_path / "missing" / "live.db")


def test_sqlite_is_durable(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "live.db")
    (mode,) = store._writer.execute("PRAGMA journal_mode").fetchone()
    (level,) = store._writer.execute("PRAGMA synchronous").fetchone()
    assert (mode, level) == ("wal", 2)
    store.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.parametrize("version", [tables.VERSION - 1, tables.VERSION + 1])
def test_tables_of_another_version_are_refused(
    kind: str, version: int, tmp_path: Path, database: str
) -> None:
    def opened(**how: Any) -> Any:
        if kind == "sqlite":
            return SqliteStore(tmp_path / "live.db", **how)
        return PostgresStore(database, **how)

    store = opened()
    with store._writing() as run:
        sqlite = f"PRAGMA user_version = {version}"
        run(sqlite if kind == "sqlite" else f"UPDATE sojourn_schema SET version = {version}")
    store.close()
    what = "use a newer one" if version > tables.VERSION else "with the older one, and start a new"
    for read_only in (False, True):
        with pytest.raises(InputError, match=f"are of version {version}, and this .*: .*{what}"):
            opened(read_only=read_only)


def test_time_does_not_jump(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A wall clock that is set ahead or back ends no visit early, and none too late."""
    wall = 5e9
    monkeypatch.setattr("time.time", lambda: wall)
    clock = Steady()
    wall += 1e6
    assert 5e9 <= clock() < 5e9 + 60
    store = SqliteStore(tmp_path / "live.db")
    save(store, "e", "{}")
    store.append([conformance.change(None, wait=30.0)])
    for wall in (6e9, 1e9):  # noqa: B007
        assert store.visits("e", expired=True)[1] == []
    store.close()
    again = SqliteStore(tmp_path / "live.db")  # the clock was set back: time goes on from there
    assert again.visits("e", expired=True)[1] == []
    again.append([conformance.change(None, "w", wait=-1.0)])
    assert [row.id for row in again.visits("e", expired=True)[1]] == ["w"]
    again.close()


def test_processes_learn_from_one_another(database: str) -> None:
    """Two journals on one database serve the same visits, and count each step once."""
    with Journal(database, upkeep=False) as one, Journal(database, upkeep=False) as two:
        experiments = [
            Experiment(
                "news", ["a", "b"], sj.policies.LearnedUCB(), store=journal, seed=1, compiled=False
            )
            for journal in (one, two)
        ]
        experiments[0].add_arms("c")
        experiments[1].refresh()
        assert experiments[1].arms == ("a", "b", "c")
        ids = [experiments[0].visit(id=f"v{n}").id for n in range(4)]
        for step in range(12):
            for number, visit in enumerate(ids):
                experiments[(step + number) % 2].get(visit).decide(
                    Ask(reward=float(number % 2) if step else None)
                )
        for visit in ids:
            assert experiments[0].get(visit).end(1)
            assert not experiments[1].get(visit).end(1)
        for experiment in experiments:
            experiment.refresh()
            memory = experiment.memory
            assert memory.clock[0] == memory.pulls.sum() == 48
            assert memory.moves.sum() == 48 and memory.left.sum() == 4
        counts, events = conformance.all_of(one.store, "news")
        assert counts == fold(events, 4)
        assert experiments[0].branch.conflicts + experiments[1].branch.conflicts > 0


def test_what_was_lost_is_taken_back(database: str) -> None:
    """The policy forgets a step that another process has decided before: memory is the store's."""
    with Journal(database, upkeep=False) as one, Journal(database, upkeep=False) as two:
        policy = sj.policies.LearnedUCB(bins=2)
        first, second = (
            Experiment("news", ["a", "b", "c"], policy, store=journal, compiled=False, seed=2)
            for journal in (one, two)
        )
        for visit in ("v", "w"):
            first.visit(id=visit)
            second.get(visit).choose()
            first.get(visit).choose(1)
            second.get(visit).choose(0)
            first.get(visit).end(1)
            assert not second.get(visit).end(1)
        assert first.branch.conflicts > 0 and second.branch.conflicts > 0
        assert first.branch.operations.loads == second.branch.operations.loads == 1
        for experiment in (first, second):
            experiment.refresh()
            learner = experiment.branch.operations.learner
            seen = [*map(list, learner.memory[:5]), list(learner.issued), list(learner.resolved)]
            waiting = set(learner.waiting)
            experiment._reload()
            after = [*map(list, learner.memory[:5]), list(learner.issued), list(learner.resolved)]
            assert repr(seen) == repr(after) and waiting == learner.waiting
            assert learner.memory.clock[0] == 6


@pytest.mark.parametrize(
    "policy", [sj.policies.QLearning(), sj.policies.LearnedIMED()], ids=lambda p: type(p).__name__
)
def test_memory_after_conflicts_is_that_of_a_fresh_start(database: str, policy: Policy) -> None:
    """Counters are subtracted; what learns by events is replayed. Rewards are any number."""
    with Journal(database, upkeep=False) as one, Journal(database, upkeep=False) as two:
        graded: dict[str, Any] = {"reward_threshold": 0.5, "compiled": False, "seed": 2}
        first, second = (
            Experiment("news", ["a", "b"], policy, store=journal, **graded)
            for journal in (one, two)
        )
        for number in range(6):
            visit = first.visit(id=f"v{number}").id
            for step in range(4):
                first.get(visit).decide(Ask(reward=0.25 * step if step else None))
                second.get(visit).decide(Ask(reward=0.5))
            first.get(visit).end()
        assert first.branch.conflicts > 0
        loads = first.branch.operations.loads
        first.visit().end()
        first.refresh()
        kept = [array.copy() for array in first.memory]
        first._reload()
        for name, before, after in zip(first.memory._fields, kept, first.memory, strict=True):
            np.testing.assert_allclose(before, after, rtol=1e-12, err_msg=name)
        assert (loads == 1) == (type(policy).__name__ == "LearnedIMED")


def test_a_visit_shows_an_arm_that_another_process_has_just_added(database: str) -> None:
    with Journal(database, upkeep=False) as one, Journal(database, upkeep=False) as two:
        first, second = (
            Experiment("news", ["a"], sj.policies.UCB(), store=journal, compiled=False)
            for journal in (one, two)
        )
        first.add_arms("b")
        visit = first.visit(id="v")
        visit.choose()
        assert visit.decide(Ask(reward=1, request="r", step=2)).arm == "b"
        assert second.get("v").info().pending_arm == "b"
        assert second.get("v").decide(Ask(request="r", step=2)).arm == "b"


def test_a_sweep_meets_an_arm_that_another_process_has_just_added(database: str) -> None:
    with Journal(database, upkeep=False) as one, Journal(database, upkeep=False) as two:
        first, second = (
            Experiment(
                "news", ["a"], sj.policies.UCB(), store=journal, reward_wait=0.01, compiled=False
            )
            for journal in (one, two)
        )
        first.add_arms("b")
        visit = first.visit(id="v")
        visit.choose()
        assert visit.decide(Ask(reward=1, request="r")).arm == "b"
        time.sleep(0.02)
        swept = second.sweep() + second.sweep()
        assert second.get("v").decide(Ask(request="r")).arm == "b"
        assert swept == 1 and second.arms == ("a", "b")


def test_settings_reach_other_processes(database: str) -> None:
    with Journal(database, upkeep=False) as one, Journal(database, upkeep=False) as two:
        first = Experiment("news", ["a", "b"], sj.policies.FixedArm(0), store=one, compiled=False)
        Experiment(
            "news", ["a", "b"], sj.policies.FixedArm(1), store=two, idle_timeout=60, compiled=False
        )
        assert first.visit().choose() == "a"
        first.refresh()
        assert first.visit().choose() == "b" and first.settings.idle_timeout == 60


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_reading_beside_a_server(kind: str, tmp_path: Path, database: str) -> None:
    url = f"sqlite:///{tmp_path}/live.db" if kind == "sqlite" else database
    if kind == "sqlite":
        with pytest.raises(ValueError, match="there is no file"):
            open_store(url, read_only=True)
    else:
        with pytest.raises(ValueError, match="this database has no tables of Sojourn yet"):
            open_store(url, read_only=True)
    with Experiment(
        "news", ["a"], sj.policies.FixedArm(0), store=url, compiled=False
    ) as experiment:
        experiment.visit(id="v").choose()
        store = open_store(url, read_only=True)
        assert list(store.read()) == ["news"] and find_visit(store, "news", "v") is not None
        assert verify(store, "news") == {}
        experiment.get("v").end(1)
        stored = store.read()["news"]
        counts = stored.others if kind == "postgres" else stored.own
        assert counts["left by end", 0, 0, 0] == 1
        with pytest.raises(Unavailable):
            save(store, "other", "{}")
        store.close()


def test_racing_for_a_visit(database: str) -> None:
    """Threads of two processes' worth: every request is answered once, and the same."""
    with Journal(database, upkeep=False) as one, Journal(database, upkeep=False) as two:
        experiments = [
            Experiment("news", ["a", "b"], sj.policies.Uniform(), store=journal, compiled=False)
            for journal in (one, two)
        ]
        experiments[0].visit(id="v")
        answers: dict[str, set[Any]] = {}

        def play(experiment: Experiment) -> None:
            for number in range(15):
                decision = experiment.get("v").decide(Ask(request=f"r{number}"))
                answers.setdefault(f"r{number}", set()).add((decision.step, decision.arm))
                barrier.wait()

        barrier = threading.Barrier(4)
        threads = [threading.Thread(target=play, args=(b,)) for b in experiments * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [len(a) for a in answers.values()] == [1] * 15
        counts, events = conformance.all_of(one.store, "news")
        assert counts == fold(events, 2)
        assert sum(n for key, n in counts.items() if key[0] == "issued") == 15


def test_a_repeated_request_waits_for_the_first(database: str) -> None:
    """What it would repeat is on its way, and loses against another process: nobody may see it."""
    with Journal(database, upkeep=False) as one, Journal(database, upkeep=False) as two:
        first = Experiment("news", ["a", "b"], sj.policies.FixedArm(0), store=one, compiled=False)
        second = Experiment("news", ["a", "b"], sj.policies.FixedArm(1), store=two, compiled=False)
        first.visit(id="v")
        second.get("v").info()
        append, go = two.writer._append, threading.Event()

        def slow(changes: Any) -> Any:
            go.wait()
            return append(changes)

        two.writer._append = slow
        with ThreadPoolExecutor(2) as pool:
            losing = pool.submit(second.get("v").decide, Ask(request="r"))
            while "v" not in second.branch.operations.visits:
                time.sleep(0.001)
            assert second.branch.operations.visits["v"].row.arm == 1
            repeated = pool.submit(second.get("v").decide, Ask(request="r"))
            assert first.get("v").decide(Ask(request="r")).arm == "a"
            go.set()
            assert {losing.result().arm, repeated.result().arm} == {"a"}
