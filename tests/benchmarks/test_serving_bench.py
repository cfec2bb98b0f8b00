"""The benchmark of serving and the study of processes: that they do what they are said to do."""

import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import postgres
import psycopg
import pytest

import sojourn as sj
from sojourn.live import open_store, verify
from sojourn.live.stores.base import counters

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks/ is no part of the package

from benchmarks import deciding, idle, naive, processes, serving
from benchmarks.load import EXPERIMENT, STEPS, in_threads
from benchmarks.plans import QUICK

TOLERANCE = 4.5  # standard errors


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres.server() as url:
        yield url


def totals(run) -> tuple[float, ...]:  # type: ignore[no-untyped-def]
    """Rewards by events, by counters, visits that ended, and their steps."""
    queries = (
        "SELECT sum(reward) FROM event WHERE kind = 'resolve'",
        "SELECT sum(successes) FROM counter",
        "SELECT count(*) FROM event WHERE kind = 'leave'",
        "SELECT sum(pulls) FROM counter",
    )
    return tuple(float(run(query).fetchone()[0]) for query in queries)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_the_usual_design_is_right_though_slow(kind: str, tmp_path: Path, server: str) -> None:
    url = f"sqlite:///{tmp_path / 'naive.db'}" if kind == "sqlite" else server
    made = naive.at(url)
    row = in_threads(made, 0.2)
    made.close()
    db = sqlite3.connect(tmp_path / "naive.db") if kind == "sqlite" else psycopg.connect(server)
    by_events, by_counters, visits, pulls = totals(db.execute)
    db.close()
    assert by_events == by_counters > 0
    assert visits > 0 and pulls == STEPS * visits
    assert 0 < row["p50"] <= row["p99"] and row["steps"] > 0


def test_the_load_in_process_is_kept(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'live.db'}"
    row = serving.experiment_in_process(url, 0.2)
    store = open_store(url)
    counts = counters(store, EXPERIMENT)
    pulls = sum(n for key, n in counts.items() if key[0] == "pulls")
    assert pulls == STEPS * counts["left by end", 0, 0, 0] > 0
    assert verify(store, EXPERIMENT) == {} and row["steps"] > 0
    store.close()


def test_the_load_over_http(tmp_path: Path) -> None:
    """Against the usual design, which needs no part of the service."""
    path = tmp_path / "naive.db"
    row = serving.over_http(serving.THEIRS, f"sqlite:///{path}", 0.2)
    db = sqlite3.connect(path)
    by_events, by_counters, visits, pulls = totals(db.execute)
    db.close()
    assert by_events == by_counters and pulls == STEPS * visits > 0 and row["p99"] > 0


def test_the_disk_is_used(tmp_path: Path) -> None:
    with postgres.server(serving.DURABLE) as url, psycopg.connect(url) as db:
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            assert db.execute(f"SHOW {name}").fetchone() == ("on",)


def test_verdicts() -> None:
    """Ratios are taken within rounds, of which the first does not count."""
    speeds = {
        serving.CEILING: (1.0, 1000.0, 100.0, 10.0),
        "SQLite": (9.0, 700.0, 50.0, 8.0),
        f"SQLite, {serving.USUAL}": (7.0, 100.0, 10.0, 1.0),
    }
    rounds = {
        ("here", name): [{"steps": x, "p50": 1.0, "p99": x} for x in found]
        for name, found in speeds.items()
    }
    rows = serving.rows(rounds)
    assert [(r["steps"], r["of_ceiling"], r["times_naive"]) for r in rows] == [
        (100.0, 1.0, None), (50.0, 0.7, 7.0), (10.0, 0.1, None),
    ]  # fmt: skip
    assert [serving.verdict(row) for row in rows] == ["", "reached", ""]
    slow = rows[1] | {"of_ceiling": 0.5, "times_naive": 4.0}
    assert serving.verdict(slow) == "goal: 60% of the ceiling, 5 times"
    assert "SQLite" in serving.table(rows).markdown()


def test_decisions_are_timed_on_arms_that_were_pulled() -> None:
    plan = replace(QUICK, rounds=1, deciding_arms=(10,), decisions=200.0)
    (row,) = deciding.measure(plan)
    assert set(row["ns"]) == {type(policy).__name__ for policy in deciding.POLICIES}
    assert all(ns > 0.0 for ns in row["ns"].values())
    assert deciding.learner(sj.policies.ULCB(), 10).memory.pulls.min() >= 1.0
    assert deciding.table([row]).rows[0][0] == "10"


def test_two_processes_share_visits_and_learn_together() -> None:
    """Nothing is lost or counted twice, and regret is between the simulator's and none learned."""
    study = processes.Study(
        visits=25, experiments=8, side_by_side=4, simulated=2000, compiled=False
    )
    found = processes.measure(study, workers=(2,))
    run = found["played"][2]
    assert run["wrong"] == 0 and run["steps"] > 8 * study.visits and run["conflicts"] > 0
    regret = run["regret"]
    error = regret.std(ddof=1) / np.sqrt(len(regret))
    simulated, half = found["simulator"]
    blind = sj.simulate(
        study.problem, [sj.policies.Uniform()], visits=study.visits, runs=2000, seed=1
    )
    assert simulated - half - TOLERANCE * error < regret.mean()
    assert regret.mean() < blind.regret.mean[0, -1] + TOLERANCE * error
    first, *_, last = processes.rows(found)
    assert first["ratio"] is None and last["processes"] == "simulator"
    assert "simulator" in processes.table(found).text()


def test_ratios_have_intervals() -> None:
    """Those of pairs, which are narrow where the pairs agree."""
    rng = np.random.default_rng(1)

    def sample() -> tuple[float, float]:
        luck = rng.normal(0.0, 1.0, 100)
        pair = [mean + luck + rng.normal(0.0, 0.3, 100) for mean in (10.0, 8.0)]
        return processes.ratio(*pair)

    found = np.array([sample() for _ in range(1000)])
    inside = np.abs(found[:, 0] - 1.25) < found[:, 1]
    assert abs(inside.mean() - 0.95) < TOLERANCE * np.sqrt(0.95 * 0.05 / 1000)
    assert found[:, 1].mean() < 0.02


def test_idle_experiments_are_compared_with_none() -> None:
    """A small store of each kind, and the figures that have goals."""
    study = idle.Study(
        experiments=3, seconds=0.3, rounds=1, warm_up=0.1, pause=0.0, quiet=0.1, stores=("SQLite",)
    )
    with serving.places() as where:
        (rounds,) = idle.rows(study, where).values()
    assert idle.table(rounds).keys() == idle.GOALS.keys()
    assert all(value >= 0.0 for value in idle.table(rounds).values())
