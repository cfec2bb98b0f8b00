"""The store: nothing finished is lost, nothing is computed twice, nothing foreign is used."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from results import assert_same

import sojourn as sj
from sojourn.engine.streams import Stream
from sojourn.paper import SETTINGS
from sojourn.policies.base import Counts, Policy
from sojourn.simulation import Interrupted, Progress, Result, StoreWarning
from sojourn.simulation.chunks import Job, machine_digest
from sojourn.simulation.store import ChunkStore

POLICIES = [sj.policies.UCB(), sj.policies.Uniform()]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of eight runs, so that small simulations have many."""
    monkeypatch.setattr("sojourn.simulation.precision.CHUNK_STEPS", 0.0)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int]]:
    """What was computed rather than taken from a store: policy, first run, runs."""
    seen: list[tuple[str, int, int]] = []
    usual = Job.compute

    def compute(self: Job, first: int, runs: int, *rest: Any) -> Any:
        seen.append((type(self.policy).__name__, first, runs))
        return usual(self, first, runs, *rest)

    monkeypatch.setattr(Job, "compute", compute)
    return seen


def simulate(**more: Any) -> Result:
    return sj.simulate(SETTINGS["B"], POLICIES, **{"visits": 30, "runs": 64, "seed": 5, **more})


def test_a_second_time_nothing_is_computed(store: Path, computed: list[Any]) -> None:
    first = simulate(store=store)
    assert len(computed) == 16
    assert_same(simulate(store=store), first)
    assert len(computed) == 16
    assert_same(simulate(), first)


def test_more_runs_and_other_policies_use_what_is_there(store: Path, computed: list[Any]) -> None:
    simulate(store=store)
    computed.clear()
    more = simulate(store=store, runs=84)
    assert sorted(computed) == [
        (name, *span) for name in ("UCB", "Uniform") for span in ((64, 8), (72, 8), (80, 4))
    ]
    assert_same(more, simulate(runs=84))
    computed.clear()
    three = sj.simulate(
        SETTINGS["B"], [sj.policies.ULCB(), *POLICIES], visits=30, runs=64, seed=5, store=store
    )
    assert {name for name, *_ in computed} == {"ULCB"}
    np.testing.assert_array_equal(
        three.difference("UCB", "Uniform").std_error, simulate().difference(0, 1).std_error
    )


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 6},
        {"visits": 31},
        {"checkpoints": [7]},
        {"problem": SETTINGS["C"]},
        {"problem": sj.Problem([0.9, 0.8 + 1e-15], SETTINGS["B"].user)},
        {"policies": [sj.policies.UCB(c=4.0)]},
        {"policies": [sj.policies.ULCB()]},
    ],
    ids=str,
)
def test_what_is_different_is_computed(
    store: Path, computed: list[Any], other: dict[str, Any]
) -> None:
    usual = {"problem": SETTINGS["B"], "policies": [sj.policies.UCB()], "visits": 30, "runs": 8}
    sj.simulate(**usual, store=store)
    sj.simulate(**{**usual, **other}, store=store)
    assert len(computed) == 2


def test_an_interrupted_run_goes_on_to_the_same_bits(store: Path, computed: list[Any]) -> None:
    seen: list[Progress] = []

    def stop_once(progress: Progress) -> None:
        if sum(progress.runs) >= 48 and not seen:
            seen.append(progress)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted, match="run the same again with the store"):
        simulate(store=store, precision="3%", runs=None, progress=stop_once)
    assert 6 <= len(computed) < 32
    computed.clear()
    resumed = simulate(store=store, precision="3%", runs=None)
    done = sum(resumed.runs) // 8
    assert done - 32 < len(computed) <= done - 6 + 4  # a few may be begun that are not needed
    assert_same(resumed, simulate(precision="3%", runs=None))


KILLED = """
import sys
from pathlib import Path
import sojourn as sj
from sojourn.simulation import precision
precision.CHUNK_STEPS = 0.0
policies = [sj.policies.UCB(), sj.policies.Uniform()]
sj.simulate(
    sj.paper.SETTINGS["B"], policies, visits=30, runs=10_000_000, seed=5, workers=2,
    store=sys.argv[1], progress=lambda p: print(*p.runs, flush=True),
)
"""


def test_killed_in_the_middle_nothing_finished_is_lost(store: Path, computed: list[Any]) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(store)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            runs = [int(word) for word in line.split()]
            if min(runs) >= 400:
                break
        time.sleep(0.05)  # at some point of the next chunks
        os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL

    resumed = simulate(store=store, runs=800)
    kept = [runs // 8 for runs in runs]
    assert len(computed) <= 200 - sum(kept)
    assert_same(resumed, simulate(runs=800))
    with sqlite3.connect(store) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_two_processes_may_share_a_store(store: Path) -> None:
    with ChunkStore(store) as one, ChunkStore(store) as other:
        job = Job(SETTINGS["B"], sj.policies.UCB(), 0, np.array([10]))
        for each in (one, other):
            each.enter(job)
            each.put(job, 0, job.compute(0, 8))
        found = other.get(job, 0, 8)
        assert found is not None
        np.testing.assert_array_equal(found.regret, job.compute(0, 8).regret)
        assert one.get(job, 8, 8) is one.get(job, 0, 16) is None


def test_chunks_of_other_code_are_not_used_and_that_is_said(
    store: Path, computed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments: dict[str, Any] = {"visits": 30, "runs": 8, "store": store}
    with monkeypatch.context() as patch:
        patch.setattr("sojourn.simulation.chunks.machine_digest", lambda: "other code")
        sj.simulate(SETTINGS["B"], [sj.policies.UCB()], **arguments)
    with pytest.warns(StoreWarning, match=r"has chunks of UCB\(.* computed by other code"):
        sj.simulate(SETTINGS["B"], [sj.policies.UCB()], **arguments)
    assert len(computed) == 2
    with sqlite3.connect(store) as database:
        assert database.execute("SELECT count(DISTINCT key) FROM chunks").fetchone() == (2,)


@dataclass(frozen=True)
class Own(Policy):
    """Somebody's own policy."""

    def choose(self, memory: Counts, state: float, rng: Stream) -> int:
        return 0


def test_the_key_changes_with_the_code_of_one_s_own_classes() -> None:
    @dataclass(frozen=True)
    class Other(Policy):
        def choose(self, memory: Counts, state: float, rng: Stream) -> int:
            return 1

    Other.__module__, Other.__qualname__ = Own.__module__, Own.__qualname__
    grid = np.array([10])
    keys = {Job(SETTINGS["B"], policy, 0, grid).key for policy in (Own(), Own(), Other())}
    assert len(keys) == 2
    curves = [lambda s: 0.5 - 0.25 * s, lambda s: 0.5 - 0.125 * s]
    problems = [sj.Problem([0.9, 0.8], sj.Ema(0.5, curve)) for curve in [*curves, curves[0]]]
    keys = {Job(problem, sj.policies.UCB(), 0, grid).key for problem in problems}
    assert len(keys) == 2


def test_the_key_is_the_same_in_another_process() -> None:
    code = (
        "import numpy as np, sojourn as sj; from sojourn.simulation.chunks import Job\n"
        "print(Job(sj.paper.SETTINGS['ema-100'], sj.policies.ContKLULCB(), 1, np.array([10])).key)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    mine = Job(SETTINGS["ema-100"], sj.policies.ContKLULCB(), 1, np.array([10]))
    assert done.stdout.strip() == mine.key


def test_the_key_covers_the_engine_and_what_makes_a_chunk_of_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def key() -> str:
        machine_digest.cache_clear()
        return Job(SETTINGS["B"], sj.policies.UCB(), 0, np.array([9])).key

    before = key()
    assert before == key()
    for part, other in (("moments", sys.modules[__name__]), ("__file__", __file__)):
        with monkeypatch.context() as patch:
            patch.setattr(f"sojourn.simulation.chunks.{part}", other)
            assert key() != before, part
    with monkeypatch.context() as patch:
        patch.setattr("sojourn.simulation.chunks.engine_digest", lambda: "an edited engine")
        assert key() != before
    assert key() == before


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda p: p.write_text("not a database, but long enough to be read as one" * 20),
         "is not a store, or it is damaged (file is not a database)"),
        (lambda p: _sql(p, "CREATE TABLE t (x)"), "is not a store of chunks"),
        (lambda p: (_empty(p), _sql(p, "PRAGMA user_version = 2")),
         "is not a store of chunks, or of another format than 1"),
        (lambda p: (_full(p), _sql(p, "UPDATE chunks SET data = substr(data, 1, 90)")),
         "is not a store, or it is damaged (Error -5 while decompressing"),
        (lambda p: p.mkdir(), "the store cannot be used (unable to open database file)"),
    ],
)  # fmt: skip
def test_files_that_are_no_stores(store: Path, make: Any, sentence: str) -> None:
    make(store)
    with pytest.raises(ValueError) as refusal:
        simulate(store=store, runs=8)
    assert str(refusal.value).replace(":", "").startswith(f"{store} {sentence}")


def _sql(path: Path, statement: str) -> None:
    database = sqlite3.connect(path)
    with database:
        database.execute(statement)
    database.close()


def _empty(path: Path) -> None:
    with ChunkStore(path):
        pass


def _full(path: Path) -> None:
    simulate(store=path, runs=8)
