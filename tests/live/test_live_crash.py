"""Nothing acknowledged is lost and nothing counts twice, whoever is killed and whatever is full."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import postgres
import psycopg
import pytest
from crashes import check, kill_server, wait_until
from rows import row_of

import sojourn as sj
from sojourn.live import (
    Ask,
    Experiment,
    Journal,
    LiveError,
    Logged,
    Unavailable,
    open_store,
    verify,
)
from sojourn.live.rollout.allocation import hash_scores, unit_of, winner

HERE = Path(__file__).parents[1] / "support"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres.server() as url:
        yield url


def killed_in_mid_load(url: str, name: str, lines: int, *more: str) -> list[list[str]]:
    """What a process acknowledged before it was killed."""
    command = [sys.executable, str(HERE / "live_load.py"), url, name, *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(lines)]
        process.send_signal(signal.SIGKILL)
        said += process.stdout.readlines()
    return [line.decode().split() for line in said if line.endswith(b"\n") and line.strip()]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_kill_a_process_in_mid_load(kind: str, tmp_path: Path, server: str) -> None:
    url = f"sqlite:///{tmp_path / 'live.db'}" if kind == "sqlite" else server
    said: list[list[str]] = []
    for name in ("one", "two", "three"):
        said += killed_in_mid_load(url, name, 150)
        store = open_store(url)
        check(store, said)
        store.close()
    with Journal(url, upkeep=False) as journal:
        experiment = Experiment.open("load", journal, compiled=False)
        memory = experiment.memory
        assert memory.clock[0] == sum(n for k, n in experiment.counts().items() if k[0] == "pulls")
        done = {visit for what, visit, *_ in said if what == "leave"}
        cut = {visit for _, visit, *_ in said} - done
        left = [
            experiment.get(visit) for visit in cut if row_of(experiment.get(visit)).status == "open"
        ]
        assert [visit.decide().visit for visit in left] == [visit.id for visit in left]
        assert left  # visits of a killed process go on


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_kill_a_process_with_variants(kind: str, tmp_path: Path, server: str) -> None:
    """Visits stay where they were assigned, whoever goes on with them and whatever the shares."""
    url = f"sqlite:///{tmp_path / 'live.db'}"
    if kind == "postgres":
        url = postgres.database(server, "variants")
    said = killed_in_mid_load(url, "one", 150, "0.5")
    with Experiment.open("load", url, compiled=False) as split:
        opened = [visit for what, visit, *_ in said if what == "open"]
        homes = {visit: split.get(visit).info().variant for visit in opened}
        assert set(homes.values()) == {"old", "new"}
        for visit in opened:
            row = row_of(split.get(visit))
            unit = unit_of(visit, row.user)
            assert homes[visit] == winner(
                hash_scores("load", ("old", "new"), unit), split.allocation.shares
            )
        split.ramp({"new": 1.0})
    said += killed_in_mid_load(url, "two", 150, "0.5")
    with Experiment.open("load", url, compiled=False) as split:
        assert split.allocation.shares == {"old": 0.0, "new": 1.0}  # those of the store
        assert {visit: split.get(visit).info().variant for visit in opened} == homes
        left = [v for v in opened if split.get(v).info().status == "open"]
        for visit in left:  # visits of a killed process go on in their variants
            assert split.get(visit).decide(Ask(logged=Logged("b"))).variant == homes[visit]
        assert left
        new = [v for what, v, *_ in said if what == "open" and v.startswith("two")]
        assert new and {split.get(visit).info().variant for visit in new} == {"new"}
        check(split.journal.store, said, experiments=("load:old", "load:new"))


def test_two_processes_one_killed(server: str) -> None:
    """The survivor goes on, and a newcomer takes the place of the dead."""
    url = postgres.database(server, "pair")
    answers: dict[str, list[list[str]]] = {}

    def load(name: str, lines: int) -> None:
        answers[name] = killed_in_mid_load(url, name, lines)

    threads = [threading.Thread(target=load, args=a) for a in (("one", 80), ("two", 250))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = open_store(url)
    assert store.writer == "writer 0"
    check(store, answers["one"] + answers["two"])
    store.close()


def test_kill_the_database_in_mid_load() -> None:
    """Calls fail while it is away, go on when it is back, and lose nothing they were told."""
    with postgres.server() as url:
        with psycopg.connect(url) as db:
            (folder,) = db.execute("SHOW data_directory").fetchone() or ("",)
        said: list[list[str]] = []
        errors: list[str] = []
        stop = threading.Event()
        with Journal(url, upkeep=False) as journal:
            experiment = Experiment(
                "load", ["a", "b"], sj.policies.LearnedUCB(), store=journal, compiled=False
            )
            threads = [
                threading.Thread(target=persist, args=(experiment, f"v{n}", stop, said, errors))
                for n in range(3)
            ]
            for thread in threads:
                thread.start()
            wait_until(lambda: len(said) > 60)
            restart = kill_server(Path(folder))
            wait_until(lambda: len(errors) >= 3)
            restart()
            before = len(said)
            wait_until(lambda: len(said) > before + 60)
            stop.set()
            for thread in threads:
                thread.join()
            check(journal.store, said)
            decided = [line for line in said if line[0] == "decide"]
            counts = experiment.counts()
            assert sum(n for k, n in counts.items() if k[0] == "issued") == len(decided)
            experiment._reload()
            memory = experiment.memory
            assert memory.clock[0] == sum(n for k, n in counts.items() if k[0] == "pulls")
        assert "the database cannot be used" in "".join(errors)


def persist(
    experiment: Experiment,
    name: str,
    stop: threading.Event,
    said: list[list[str]],
    errors: list[str],
) -> None:
    """A client that repeats what was not acknowledged, with the same request."""

    def insist(call):  # type: ignore[no-untyped-def]
        while True:
            try:
                return call()
            except LiveError as error:
                errors.append(str(error))
                time.sleep(0.05)

    visit = insist(lambda: experiment.visit(id=name))
    said.append(["open", name, "0", "-"])
    step = 0
    while not stop.is_set():
        reward = None if step == 0 else float(step % 2)
        request = f"r{step}"
        decision = insist(lambda r=reward, q=request: visit.decide(Ask(reward=r, request=q)))
        if step:
            said.append(["resolve", name, str(step), str(reward)])
        step += 1
        assert decision.step == step
        said.append(["decide", name, str(step), decision.arm])


def test_a_full_disk(tmp_path: Path) -> None:
    """Calls fail with a sentence, nothing half-done is kept, and all goes on when there is room."""
    command = [sys.executable, str(HERE / "live_disk.py"), str(tmp_path / "live.db")]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    numbers, sentence = out.splitlines()
    done, failed, kept, after, clock = map(int, numbers.split())
    assert failed == 3 and kept == done + 1 and after == kept + 1 and clock == kept
    assert sentence.startswith("{} ") and "live.db cannot be used (" in sentence


def test_a_store_that_fails_loses_only_what_it_was_not_asked_twice(tmp_path: Path) -> None:
    """Whatever is queued behind a failed batch fails too, and memory is made again."""
    with Journal(f"sqlite:///{tmp_path / 'live.db'}", upkeep=False) as journal:
        experiment = Experiment(
            "load", ["a", "b"], sj.policies.LearnedUCB(), store=journal, compiled=False
        )
        visit = experiment.visit(id="v")
        first = visit.decide(Ask(request="r1"))
        original, broken = journal.writer._append, True

        def append(changes):  # type: ignore[no-untyped-def]
            if broken:
                raise OSError("no more")
            return original(changes)

        journal.writer._append = append
        for _ in range(2):
            with pytest.raises(Unavailable, match=r"the store failed \(OSError: no more\)"):
                visit.decide(Ask(reward=1, request="r2"))
        broken = False
        assert row_of(visit).step == 1
        second = visit.decide(Ask(reward=1, request="r2"))
        assert (first.step, second.step) == (1, 2)
        assert experiment.memory.clock[0] == 1
        assert verify(journal.store, "load") == {}
