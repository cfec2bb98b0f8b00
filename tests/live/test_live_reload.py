"""Memory is loaded again while calls go on: nothing waits for it, and nothing is missed."""

import asyncio
import logging
import random
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import postgres
import psycopg
import pytest

import sojourn as sj
from sojourn.live import (
    Ask,
    Busy,
    Conflict,
    Ended,
    Experiment,
    Journal,
    NotFound,
    SqliteStore,
    Unavailable,
    open_store,
    replica,
    verify,
)
from sojourn.live.executors import Executor
from sojourn.live.records import Event
from sojourn.live.stores.base import find_visit


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres.server() as url:
        yield url


def test_calls_go_on_while_the_log_is_replayed() -> None:
    """What happens meanwhile is learned as well, once."""
    store, started, go = SqliteStore.in_memory(), threading.Event(), threading.Event()
    with Journal(store, upkeep=False) as journal:
        experiment = Experiment(
            "news", ["a", "b"], sj.policies.QLearning(), store=journal, compiled=False
        )
        before = [experiment.visit(id=f"v{n}") for n in range(3)]
        for visit in before:
            visit.choose()
            visit.choose(1)
        audit_state = store.audit_state

        def slow(name: str, *sums: str) -> Any:
            ledger, events = audit_state(name, *sums)

            def waiting() -> Iterator[Event]:
                for event in events:
                    yield event
                    started.set()
                    assert go.wait(30)

            return ledger, waiting()

        store.audit_state = slow  # type: ignore[method-assign]
        with ThreadPoolExecutor(1) as pool:
            adding = pool.submit(experiment.add_arms, "c")
            assert started.wait(30)
            for visit in before:
                visit.choose(0)
                visit.reward(1)
                assert visit.end()
            experiment.visit(id="new").choose()
            assert not adding.done()
            go.set()
            adding.result(30)
        assert experiment.arms == ("a", "b", "c")
        found, learner = [array.copy() for array in experiment.memory], experiment.branch.operations
        issued, resolved = learner.learner.issued.copy(), learner.learner.resolved.copy()
        store.audit_state = audit_state  # type: ignore[method-assign]
        experiment._reload()
        for mine, fresh in zip(found, experiment.memory, strict=True):
            np.testing.assert_array_equal(mine, fresh)
        np.testing.assert_array_equal(issued, experiment.branch.operations.learner.issued)
        np.testing.assert_array_equal(resolved, experiment.branch.operations.learner.resolved)
        assert verify(store, "news") == {}


def test_the_event_loop_is_free_while_the_store_is_read() -> None:
    store, go, asked = SqliteStore.in_memory(), threading.Event(), threading.Event()
    with Journal(store, upkeep=False, deadline=0.5) as journal:
        experiment = Experiment(
            "news", ["a", "b"], sj.policies.UCB(), store=journal, compiled=False
        )
        experiment.visit(id="v").choose()
        read = store.read

        def hanging(names: Any, *, counts: bool = True) -> Any:
            if counts:
                asked.set()
                assert go.wait(30)
            return read(names, counts=counts)

        async def during() -> float:
            """The longest that the loop was kept from doing anything else."""
            worst, done = 0.0, asyncio.Event()

            async def watch() -> None:
                nonlocal worst
                while not done.is_set():
                    began = time.monotonic()
                    await asyncio.sleep(0.01)
                    worst = max(worst, time.monotonic() - began)

            watching = asyncio.ensure_future(watch())
            with pytest.raises(Unavailable, match="within the deadline"):
                await experiment.adecide("v", Ask(reward=1, request="r"))
            with pytest.raises(Unavailable, match="within the deadline"):
                await experiment.get("v").areward(1)
            done.set()
            await watching
            return worst

        store.read = hanging  # type: ignore[method-assign]
        with ThreadPoolExecutor(1) as pool:
            adding = pool.submit(experiment.add_arms, "c")
            assert asked.wait(30)
            assert asyncio.run(during()) < 5.0  # it used to last until the store answered
            go.set()
            with pytest.raises(Unavailable):
                adding.result(30)
        store.read = read  # type: ignore[method-assign]
        assert (
            experiment.decide("v", Ask(reward=1, request="r")).step == 2
        )  # it was written after all
        assert experiment.arms == ("a", "b", "c")
        pulls = sum(n for (what, *_), n in experiment.counts().items() if what == "pulls")
        assert experiment.memory.clock[0] == pulls  # 2 if the reward was written as well


def test_memory_is_right_after_reloads_in_mid_load(server: str) -> None:
    """Two processes' worth of calls for the same visits, and reloads all the time."""
    url = postgres.database(server, "reloads")
    done = threading.Event()

    def play(experiment: Experiment, seed: int) -> None:
        rng = np.random.default_rng(seed)
        while not done.is_set():
            visit = experiment.visit(id=f"v{rng.integers(4)}-{rng.integers(3)}")
            try:
                visit.decide(Ask(reward=float(rng.integers(2)) if rng.random() < 0.7 else None))
                if rng.random() < 0.05:
                    visit.end()
            except (Conflict, Ended, NotFound):
                pass

    with Journal(url, upkeep=False) as one, Journal(url, upkeep=False) as two:
        experiments = [
            Experiment("news", ["a", "b"], sj.policies.LearnedUCB(), store=journal, compiled=False)
            for journal in (one, two)
        ]
        with ThreadPoolExecutor(6) as pool:
            playing = [pool.submit(play, experiments[n % 2], n) for n in range(6)]
            for n in range(25):
                experiments[n % 2]._reload()
                experiments[1 - n % 2].refresh()
                if n % 8 == 0:
                    experiments[0].add_arms(f"x{n}")
            done.set()
            for each in playing:
                each.result(60)
        assert sum(e.branch.conflicts for e in experiments) > 0
        for experiment in experiments:
            experiment.visit(id="last")  # takes back what was rejected
            experiment.refresh()
            sums: defaultdict[str, float] = defaultdict(float)
            for (what, *_), n in experiment.counts().items():
                sums[what] += n
            memory = experiment.memory
            assert memory.clock[0] == memory.pulls.sum() == sums["pulls"] > 0
            assert memory.successes.sum() == sums["successes"]
            assert memory.moves.sum() == sums["moves"] and memory.left.sum() == sums["left"]
            assert experiment.branch.operations.learner.issued.sum() == sums["issued"]
        assert verify(one.store, "news") == {}


def test_memory_is_right_when_commits_fail_in_mid_load() -> None:
    """Batches are lost, or written though their answer is lost; arms come, go and are reloaded."""
    rng, done = random.Random(1), threading.Event()

    def play(experiment: Experiment, seed: int) -> None:
        rng = random.Random(seed)
        while not done.is_set():
            try:
                visit = experiment.visit(id=f"v{rng.randrange(200)}")
                visit.decide(Ask(reward=float(rng.randrange(2)) if rng.random() < 0.6 else None))
                if rng.random() < 0.1:
                    visit.end()
            except (Conflict, Ended, NotFound, Unavailable):
                pass

    with Journal(SqliteStore.in_memory(), upkeep=False) as journal:
        experiment = Experiment(
            "news", ["a", "b"], sj.policies.LearnedUCB(), store=journal, compiled=False
        )
        append = journal.writer._append

        def failing(changes: Any) -> Any:
            chance = rng.random()
            if chance < 0.05:
                raise Unavailable("lost")
            applied = append(changes)
            if chance < 0.1:
                raise Unavailable("written")
            return applied

        journal.writer._append = failing
        with ThreadPoolExecutor(4) as pool:
            playing = [pool.submit(play, experiment, seed) for seed in range(4)]
            for n in range(60):
                with suppress(Unavailable):
                    if n % 6 == 0:
                        experiment.add_arms(f"x{n % 4}")
                    elif n % 6 == 3 and len(experiment.arms) > 2:
                        experiment.retire_arms(experiment.arms[-1])
                    else:
                        experiment._reload()
                time.sleep(0.01)
            done.set()
            for each in playing:
                each.result(60)
        journal.writer._append = append
        experiment.visit(id="last")  # loads memory again if the last batch has failed
        assert journal.writer.generation > 0 and not experiment.branch.operations.stale()
        used = {arm.position for arm in experiment.all_arms if not arm.retired}
        sums: defaultdict[str, float] = defaultdict(float)
        for (what, i, *_), n in experiment.counts().items():
            sums[what] += n
            sums[f"{what} of arms in use"] += n * (i in used)
        memory = experiment.memory
        assert memory.clock[0] == sums["pulls"] > 0
        assert memory.pulls.sum() == sums["pulls of arms in use"]
        assert memory.successes.sum() == sums["successes of arms in use"]
        assert memory.moves.sum() == sums["moves"] and memory.left.sum() == sums["left"]
        learner = experiment.branch.operations.learner
        assert learner.issued.sum() == sums["issued of arms in use"]
        assert verify(journal.store, "news") == {}


def test_a_store_that_hangs_does_not_keep_a_journal_from_closing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store, go = SqliteStore.in_memory(), threading.Event()
    journal = Journal(store, upkeep=False, deadline=0.2)
    experiment = Experiment("news", ["a"], sj.policies.UCB(), store=journal, compiled=False)
    append = journal.writer._append
    journal.writer._append = lambda changes: [go.wait(30), *append(changes)][1:]
    for n in range(3):
        with pytest.raises(Unavailable, match="within the deadline"):
            experiment.visit(id=f"v{n}")
    began = time.monotonic()
    with caplog.at_level(logging.ERROR, "sojourn.live"):
        journal.close()
    assert time.monotonic() - began < 10
    assert "3 calls were not written" in caplog.text
    go.set()


def test_a_read_that_hangs_ends_by_the_deadline() -> None:
    store, go = SqliteStore.in_memory(), threading.Event()
    visits = store.visits
    with Journal(store, upkeep=False, deadline=0.2) as journal:
        experiment = Experiment("news", ["a"], sj.policies.UCB(), store=journal, compiled=False)
        store.visits = lambda name, **which: visits(name, **which) if go.wait(30) else None  # type: ignore[method-assign]
        began = time.monotonic()
        with pytest.raises(Unavailable, match="within the deadline"):
            experiment.get("v").info()
        with pytest.raises(Unavailable, match="within the deadline"):
            asyncio.run(experiment.get("v").ainfo())
        assert time.monotonic() - began < 10
        go.set()
        with pytest.raises(NotFound):
            experiment.get("v").info()


def test_visits_that_are_over_leave_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica, "ENDED", 5)
    with Experiment("news", ["a"], sj.policies.UCB(), compiled=False) as experiment:
        for n in range(30):
            visit = experiment.visit(id=f"v{n}")
            visit.choose()
            visit.end(1)
        assert list(experiment.branch.operations.visits) == [f"v{n}" for n in range(25, 30)]
        experiment.visit(id="open")
        assert experiment.get("v0").reward(1) == "same"


def test_an_executor_is_bounded() -> None:
    executor, go, ran = Executor("test", threads=1, limit=2), threading.Event(), []
    first = executor.submit(lambda: go.wait(30))
    second = executor.submit(lambda: ran.append("second"))
    with pytest.raises(Busy, match="2 calls wait"):
        executor.submit(lambda: None)
    with pytest.raises(Unavailable):
        second.wait(0.01)
    with pytest.raises(Unavailable):
        asyncio.run(first.arrive(0.01))
    go.set()
    assert first.wait(30) is True
    third = executor.submit(lambda: ran.append("third"), shared=True)
    third.wait(30)
    assert ran == ["third"]  # nobody waited for the second any more
    with pytest.raises(ZeroDivisionError):
        asyncio.run(executor.submit(lambda: 1 / 0).arrive(30))
    executor.close()
    with pytest.raises(Unavailable, match="closed"):
        executor.submit(lambda: None)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_slow_reader_keeps_nobody_waiting(kind: str, tmp_path: Path, server: str) -> None:
    url = f"sqlite:///{tmp_path}/live.db" if kind == "sqlite" else server
    store: Any = open_store(url)
    try:
        with store._reading(), ThreadPoolExecutor(1) as pool:
            assert pool.submit(find_visit, store, "other", "v").result(30) is None
        store.deadline = 0.1
        with ExitStack() as busy:
            for _ in range(8):
                busy.enter_context(store._reading())
            with pytest.raises(Unavailable, match="all 8 connections that read are in use"):
                find_visit(store, "other", "v")
        assert find_visit(store, "other", "v") is None
    finally:
        store.close()


def test_a_session_is_the_same_on_every_server(server: str) -> None:
    """Whatever the defaults of the database are, transactions are as the statements need them."""
    url = postgres.database(server, "strict")
    with psycopg.connect(url, autocommit=True) as db:
        for name, value in (("isolation", "serializable"), ("read_only", "on")):
            db.execute(f"ALTER DATABASE strict SET default_transaction_{name} = '{value}'")
    with Journal(url, upkeep=False, deadline=7) as journal:
        experiment = Experiment("news", ["a"], sj.policies.UCB(), store=journal, compiled=False)
        experiment.visit(id="v").choose()
        store: Any = journal.store
        with store._reading() as run:
            assert run("SHOW transaction_isolation") == [("read committed",)]
            assert run("SHOW statement_timeout") == [("7s",)]
            assert run("SHOW lock_timeout") == [("7s",)]
        with store._writing() as run:
            assert run("SHOW transaction_isolation") == [("read committed",)]
            assert run("SHOW statement_timeout") == [("7s",)]
            assert run("SHOW synchronous_commit") == [("on",)]
        assert verify(store, "news") == {}
