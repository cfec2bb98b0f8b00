"""What operators do with a store: verify, export, back up, restore, warm-start."""

import asyncio
import csv
import json
import re
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import sqrt
from pathlib import Path

import numpy as np
import pandas as pd
import postgres
import psycopg
import pyarrow.parquet as pq
import pytest

import sojourn as sj
from sojourn.cli.main import main
from sojourn.live import Ask, Experiment, Journal, Opening, open_store, verify
from sojourn.logs import evaluate

HERE = Path(__file__).parents[1] / "support"
TOLERANCE = 4.5  # standard errors
B = sj.paper.SETTINGS["B"]
Keys = set[tuple[str, int, str]]
"""What names an event: visit, step, kind."""

MIXED = sj.policies.EpsilonMixture(sj.policies.ULCB.for_problem(B), epsilon=0.3)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres.server() as url:
        yield url


def test_the_tests_that_the_page_names_are_there() -> None:
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    tests = {path.name: path.read_text() for path in HERE.parent.glob("*/test_*.py")}
    named = re.findall(r"`(test_\w+\.py)::(\w+)`", page)
    assert len(named) > 10
    for file, test in named:
        assert f"def {test}(" in tests[file], (file, test)


def serve_users(experiment: Experiment, problem: sj.Problem, visits: int, seed: int) -> None:
    """Simulated users, 32 at a time."""
    rng = np.random.default_rng(seed)
    numbers = iter(range(visits))

    async def stay() -> None:
        for number in numbers:
            state, reward = 1.0, None
            while True:
                opening = Opening(user=f"u{number % 400}", state=state) if reward is None else None
                decision = await experiment.adecide(
                    f"v{number}", Ask(reward=reward, opening=opening)
                )
                mean = problem.means[experiment.arms.index(decision.arm)]
                reward = float(rng.random() < mean)
                if rng.random() < problem.user.leave_probability(state, reward, 0):
                    await experiment.get(f"v{number}").aend(reward)
                    break
                state = problem.user.next_state(state, reward)

    async def all_of_them() -> None:
        await asyncio.gather(*(stay() for _ in range(32)))

    asyncio.run(all_of_them())


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite store in which users of setting B were served by a randomised policy."""
    path = tmp_path_factory.mktemp("served") / "live.db"
    with Experiment(
        "shorts", ["good", "less"], MIXED, B.user, store=f"sqlite:///{path}", seed=1, compiled=False
    ) as experiment:
        serve_users(experiment, B, visits=1500, seed=2)
    return path


def test_verify(
    served: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert main(["store", "verify", str(served)]) == 0
    assert capsys.readouterr().out == "1 experiment: all sums agree with the events\n"
    assert main(["store", "verify", f"sqlite:///{served}", "shorts", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"experiments": ["shorts"], "wrong": []}
    monkeypatch.setenv("SOJOURN_STORE", str(served))
    for words in ([], ["shorts"]):
        assert main(["store", "verify", *words]) == 0
    capsys.readouterr()
    assert main(["store", "verify", "others"]) == 1
    assert "there is no experiment 'others'" in capsys.readouterr().err

    broken = tmp_path / "broken.db"
    assert main(["store", "backup", str(broken)]) == 0
    with sqlite3.connect(broken) as db:
        db.execute("UPDATE sojourn_counter SET n = n + 2 WHERE what = 'pulls' AND i = 1 AND j = 0")
    db.close()
    capsys.readouterr()
    assert main(["store", "verify", str(broken)]) == 1
    heading, line = capsys.readouterr().out.splitlines()
    assert heading.split() == ["experiment", "counter", "counted", "by", "events"]
    counted, events = (int(word.replace(",", "")) for word in line.split()[-2:])
    assert "pulls (1, 0, 0)" in line and counted == events + 2
    assert main(["store", "verify", str(broken), "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["wrong"]
    assert found["counter"] == ["pulls", 1, 0, 0] and found["counted"] == counted


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["store", "verify"], "STORE is missing: give an address or a file, or set SOJOURN_STORE"),
        (["store", "verify", "missing.db"], "there is no file missing.db"),
        (
            ["store", "export", "x.db", "shorts"],
            "expected STORE, EXPERIMENT, FILE, but got 2 arguments",
        ),
        (["store", "export", "{served}", "shorts", "steps.txt"], "it must end in .csv or .parquet"),
        (["store", "backup", "{served}", "{served}"], "it exists already, give a new name"),
        (
            ["store", "backup", "postgresql://me:secret@host/db", "x.dump"],
            "use pg_dump --format=custom",
        ),
        (
            ["store", "warm-start", "{served}", "shorts", "counts.txt"],
            "it must end in .csv or .json",
        ),
        (["store", "warm-start", "{served}", "shorts", "counts.csv"], "counts.csv cannot be read"),
        (["store", "verify", "mysql://host"], "store = 'mysql://...' is not allowed"),
    ],
    ids=lambda value: value[1] if isinstance(value, list) else "",
)
def test_mistakes_get_one_sentence(
    words: list[str], sentence: str, served: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.delenv("SOJOURN_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    assert main([word.format(served=served) for word in words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ") and sentence in line and "secret" not in line


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_an_export_is_fitted_without_any_option(
    suffix: str, served: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The leave probabilities and means of setting B are found again."""
    file = tmp_path / f"steps{suffix}"
    assert main(["store", "export", str(served), "shorts", str(file), "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    found = sj.fit(file, ema=False)
    assert found.visits == 1500 and found.users == 400
    assert sum(n for _, n in found.counts.values()) == steps
    for cell, (left, n) in found.counts.items():
        state, reward = 1.0 if cell.startswith("first") else float(cell[-2]), float(cell[-1])
        q = B.user.leave_probability(state, reward, 0)
        assert n > 50 and abs(left / n - q) < TOLERANCE * sqrt(q * (1 - q) / n)
    for arm, mean in zip(("good", "less"), B.means, strict=True):
        (seen,) = (a for a in found.arms if a.name == arm)
        error = sqrt(mean * (1 - mean) / seen.pulls)
        assert abs(seen.successes / seen.pulls - mean) < TOLERANCE * error
    assert main(["fit", str(file), "--no-ema", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["case"] == found.case


def test_propensities_are_exported_and_evaluated(served: Path, tmp_path: Path) -> None:
    """A visit with the better arm only is worth what theory says, seen from the mixture's log."""
    file = tmp_path / "steps.parquet"
    assert main(["store", "export", str(served), "shorts", str(file)]) == 0
    log = pq.read_table(file).to_pandas()
    assert set(log["propensity"].round(12)) <= {0.85, 0.15, 0.5, 1.0}
    likely, rare = ((log["propensity"].round(12) == chance).sum() for chance in (0.85, 0.15))
    error = sqrt(0.85 * 0.15 / (likely + rare))
    assert abs(likely / (likely + rare) - 0.85) < TOLERANCE * error
    found = evaluate(log, sj.policies.FixedArm(0), max_steps=6)
    short = truth_up_to(max_steps=6)
    for method in ("PDIS", "DR"):
        estimate = found.reward[method]
        assert estimate.std_error < 0.1 * short
        assert abs(estimate.mean - short) < TOLERANCE * estimate.std_error


def truth_up_to(max_steps: int) -> float:
    """The reward of the first steps of a visit if only the better arm is shown."""
    mean, user = B.means[0], B.user
    here, total = {1.0: 1.0}, 0.0
    for _ in range(max_steps):
        after: dict[float, float] = {}
        for state, chance in here.items():
            total += chance * mean
            for reward, p in ((1.0, mean), (0.0, 1 - mean)):
                stays = 1 - user.leave_probability(state, reward, 0)
                then = user.next_state(state, reward)
                after[then] = after.get(then, 0.0) + chance * p * stays
        here = after
    return total


@contextmanager
def under_load(url: str, name: str) -> Iterator[Callable[[int], Keys]]:
    """A process that serves visits all the time; wait for what it says is done, so many calls."""
    command = [sys.executable, str(HERE / "live_load.py"), url, name]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:

        def wait(lines: int) -> Keys:
            assert process.stdout is not None
            said = [process.stdout.readline().decode().split() for _ in range(lines)]
            return {(visit, int(step), kind) for kind, visit, step, _ in said}

        try:
            yield wait
        finally:
            process.kill()


def goes_on(url: str) -> None:
    """Every visit can be gone on with, also by its last request, and all adds up."""
    assert verify_all(url) == {}
    with Journal(url, upkeep=False) as journal:
        experiment = Experiment.open("load", journal, compiled=False)
        open_visits = [e.visit for e in journal.store.events("load") if e.kind == "open"]
        left = {e.visit for e in journal.store.events("load") if e.kind == "leave"}
        for visit in set(open_visits) - left:
            experiment.decide(visit, Ask(request="on"))
            assert experiment.get(visit).end(1)
        assert experiment.visit(id="new").choose() in experiment.arms
    assert verify_all(url) == {}


def verify_all(url: str) -> dict[str, object]:
    store = open_store(url, read_only=True)
    found = {name: wrong for name in list(store.read()) if (wrong := verify(store, name))}
    store.close()
    return found


def keys(url: str) -> Keys:
    store = open_store(url, read_only=True)
    found = {(e.visit, e.step, e.kind) for e in store.events("load")}
    store.close()
    return found


def test_backup_of_sqlite_under_load(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    live, saved = tmp_path / "live.db", tmp_path / "saved.db"
    with under_load(f"sqlite:///{live}", "a") as wait:
        said = wait(300)
        assert main(["store", "backup", str(live), str(saved)]) == 0
        before = keys(f"sqlite:///{saved}")
        wait(300)
    assert "bytes" in capsys.readouterr().out
    after = keys(f"sqlite:///{live}")
    assert said <= before < after
    assert main(["store", "verify", str(live)]) == main(["store", "verify", str(saved)]) == 0
    for name in ("live.db", "live.db-wal", "live.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    saved.rename(live)
    goes_on(f"sqlite:///{live}")


def test_dump_of_postgres_under_load(server: str, tmp_path: Path) -> None:
    """pg_dump takes one moment of a database that is being written to."""
    with psycopg.connect(server) as db:
        (folder,) = db.execute("SHOW data_directory").fetchone() or ("",)
    options = shlex.split((Path(folder) / "postmaster.opts").read_text())
    programs = Path(options[0]).parent
    live, back = postgres.database(server, "live"), postgres.database(server, "restored")
    dump = tmp_path / "live.dump"

    def run(program: str, *words: object) -> None:
        subprocess.run([str(programs / program), *map(str, words)], check=True)

    with under_load(live, "a") as wait, under_load(live, "b") as wait_too:
        said = wait(200) | wait_too(50)
        run("pg_dump", "--format=custom", f"--file={dump}", live)
        wait(200)
    run("pg_restore", f"--dbname={back}", dump)
    assert said <= keys(back) < keys(live)
    goes_on(back)


def test_warm_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    live = tmp_path / "live.db"
    url = f"sqlite:///{live}"
    counts, same = tmp_path / "counts.csv", tmp_path / "counts.json"
    with counts.open("w", newline="") as file:
        csv.writer(file).writerows([("arm", "pulls", "successes"), ("a", 10, 4), ("b, c", 2.5, 0)])
    same.write_text(json.dumps({"arms": {"a": {"pulls": 10, "successes": 4}}}))
    with Experiment("news", ["a", "b, c"], sj.policies.UCB(), store=url, compiled=False):
        assert main(["store", "warm-start", str(live), "news", str(counts)]) == 2
        assert (
            "a server is using the file: use PUT /v1/experiments/news/prior"
            in capsys.readouterr().err
        )
    assert main(["store", "warm-start", str(live), "news", str(counts), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["arms"] == {"a": [10, 4], "b, c": [2.5, 0]}
    with Experiment.open("news", url, compiled=False) as experiment:
        memory = experiment.memory
        assert memory.pulls.tolist() == [10, 2.5] and memory.successes.tolist() == [4, 0]
    assert main(["store", "warm-start", url, "news", str(same)]) == 0
    for text, sentence in (
        ('{"a": [1, 2]}', "counts.json is not allowed: it must have an arm"),
        ('{"a": {"pulls": 1, "successes": 2}}', "successes of 'a' = 2 is not allowed"),
        ('{"x": {"pulls": 1, "successes": 1}}', "there is no arm 'x' in 'news'"),
    ):
        same.write_text(text)
        capsys.readouterr()
        code = 1 if "no arm" in sentence else 2
        assert main(["store", "warm-start", url, "news", str(same)]) == code
        assert sentence in capsys.readouterr().err


def test_warm_start_of_postgres_that_is_being_served(server: str, tmp_path: Path) -> None:
    url = postgres.database(server, "warm")
    counts = tmp_path / "counts.csv"
    pd.DataFrame({"arm": ["a"], "pulls": [30], "successes": [20]}).to_csv(counts, index=False)
    with Journal(url, upkeep=False) as journal:
        experiment = Experiment(
            "news", ["a", "b"], sj.policies.UCB(), store=journal, compiled=False
        )
        assert main(["store", "warm-start", url, "news", str(counts)]) == 0
        experiment.refresh()
        assert experiment.memory.pulls.tolist() == [30, 0]
