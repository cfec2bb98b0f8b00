"""The command `sojourn fit`."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sojourn as sj
from sojourn.cli.main import main
from sojourn.logs.synthetic import synthetic_log

PROBLEM = sj.Problem([0.7, 0.5, 0.4], sj.TwoState(q00=0.3, q01=0.15, q10=0.2, q11=0.1))


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = synthetic_log(
        PROBLEM, sj.policies.Uniform(), visits=800, users=100, seed=1, max_steps=20
    )
    frame = pd.DataFrame(made)[["user", "visit", "step", "arm", "reward", "left", "censored"]]
    frame["stars"] = frame["reward"] * 3 + np.arange(len(frame)) % 3
    path = tmp_path_factory.mktemp("logs") / "events.csv.gz"
    frame.to_csv(path, index=False)
    return path


def test_one_screen(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", str(log)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("events.csv.gz: ")
    for words in (
        "columns guessed: visit = visit",
        "moving average",
        "after two of 1",
        "A mistake",
    ):
        assert words in shown
    for jargon in ("Assumption 1", "D(0)", "nats", "case:"):
        assert jargon not in shown
    assert len(shown.splitlines()) < 50
    assert max(map(len, shown.splitlines())) <= 100


def test_json_is_the_fit(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", str(log), "--visit", "visit", "--no-ema", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    fit = sj.fit(log, ema=False)
    assert [(r["left"], r["steps"]) for r in found["leave"]] == list(fit.counts.values())
    assert found["case"] == fit.case
    assert sum(found["visit_lengths"]["left"]) + sum(found["visit_lengths"]["censored"]) == 800
    assert found["log"]["censored_visits"] == sum(found["visit_lengths"]["censored"])


def test_other_thresholds_are_a_table(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--reward", "stars", "--threshold", "3", "--no-ema"]
    assert main(["fit", str(log), *options, "--try-threshold", "2", "--try-threshold", "4"]) == 0
    table = capsys.readouterr().out.splitlines()[-3:]
    assert [line.split()[0] for line in table] == ["with", "threshold", "threshold"]


def test_arms_from_a_file(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arms = tmp_path / "arms.csv"
    arms.write_text("item,arm\n0,good\n1,rest\n2,rest\n")
    assert main(["fit", str(log), "--arms", str(arms), "--no-ema", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["arm"] for row in found["arms"]] == ["good", "rest"]
    arms.write_text("thing,arm\n0,good\n")
    assert main(["fit", str(log), "--arms", str(arms)]) == 2
    assert "it must be a .csv file with columns item and arm" in capsys.readouterr().err


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "--help"]) == 0
    assert "Example: sojourn fit events.parquet" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csv"], "nowhere.csv cannot be read: there is no such file"),
        (["LOG", "--arm", "genre"], "arm = 'genre' is not a column: there are user, visit"),
        (["LOG", "--reward", "stars"], "if the reward is graded, give threshold"),
        (["LOG", "--gap", "soon"], "gap = 'soon' is not allowed"),
        (["LOG", "--bad", "drop"], "bad = 'drop' is not allowed"),
    ],
)
def test_mistakes(
    arguments: list[str], message: str, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", *(str(log) if a == "LOG" else a for a in arguments)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert message in told.err
    assert told.err.count("\n") == 1


def test_the_benchmark_measures_a_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    from benchmarks import logs

    path = tmp_path / "events.parquet"
    logs.write(path, 3_000)
    found = {way: logs.once(path, way)["events"] for way in logs.WAYS}
    assert set(found.values()) == {len(pd.read_parquet(path))}, found
