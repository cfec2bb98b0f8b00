"""The command `sojourn evaluate`, and evaluation of logs that are read as `fit` reads them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import Run
from plain_logs import evaluated
from world import Log
from worlds import world

import sojourn as sj
from sojourn.logs import evaluate, learn

MADE = world((0.7, 0.4)).log(visits=1_200, users=300, seed=2)
"""Visits of a user are two hours apart at least, and their steps 20 seconds."""


@pytest.fixture
def log() -> Log:
    return {name: column.copy() for name, column in MADE.items()}


def events(log: Log) -> pd.DataFrame:
    """The same steps as an export of another program has them: no visits, rows in no order."""
    frame = pd.DataFrame(log).drop(columns=["visit", "step", "left"])
    frame = frame.rename(columns={"user": "uid", "time": "ts", "propensity": "p"})
    frame["stars"] = np.where(frame.pop("reward") == 1, 5, 2)
    frame["item"] = np.array(["dance", "news"])[frame.pop("arm")]
    return frame.sample(frac=1.0, random_state=0)


OPTIONS: dict[str, Any] = {
    "gap": "30min", "reward": "stars", "threshold": 4, "arm": "item", "propensity": "p",
    "log_end": "never",
}  # fmt: skip


def test_any_log_is_read_as_by_fit(log: Log, tmp_path: Path) -> None:
    """Gap, threshold, names of columns, shuffled rows: the same numbers as from plain columns."""
    plain = evaluated(log, sj.policies.FixedArm(0), max_steps=3)
    frame = events(log)
    frame.to_parquet(tmp_path / "events.parquet")
    for source in (frame, tmp_path / "events.parquet"):
        found = evaluate(source, sj.policies.FixedArm(0), max_steps=3, **OPTIONS)
        for of_plain, of_read in ((plain.reward, found.reward), (plain.length, found.length)):
            for method, estimate in of_plain.items():
                assert vars(of_read[method]) == pytest.approx(vars(estimate))
        assert (found.visits, found.users, found.steps) == (plain.visits, plain.users, plain.steps)
        assert found.arms == ("dance", "news") and found.reading is not None
        assert found.reading.guessed == {"user": "uid", "time": "ts"}
        assert "rewards of at least 4 count as 1, all others as 0" in found.reading.notes
        assert "arms: 0 = dance, 1 = news" in str(found)


def test_a_log_in_a_database(log: Log, tmp_path: Path) -> None:
    import duckdb

    frame = events(log)
    path = tmp_path / "logs.duckdb"
    with duckdb.connect(str(path)) as engine:
        engine.register("frame", frame)
        engine.execute("CREATE TABLE events AS SELECT * FROM frame")
    options = {**OPTIONS, "methods": ["DM", "PDIS"], "max_steps": 3}
    found = evaluate(f"duckdb://{path}", sj.policies.FixedArm(1), table="events", **options)
    assert found.reward == evaluate(frame, sj.policies.FixedArm(1), **options).reward


def test_items_become_arms_in_the_order_of_the_map(log: Log) -> None:
    frame = events(log)
    found = [
        evaluate(frame, sj.policies.FixedArm(1), **OPTIONS, arms=arms, methods=["DM"])
        for arms in ({"dance": "b", "news": "a"}, {"news": "b", "dance": "a"}, None)
    ]
    assert [f.arms for f in found] == [("b", "a"), ("b", "a"), ("dance", "news")]
    assert found[0].reward == found[2].reward
    assert (
        found[1].reward
        == evaluate(frame, sj.policies.FixedArm(0), **OPTIONS, methods=["DM"]).reward
    )


def test_a_visit_ends_before_a_step_that_is_not_known(log: Log) -> None:
    spoiled = log["reward"].astype(float)
    where = np.flatnonzero(log["step"] == 2)[:50]
    spoiled[where] = np.nan
    with pytest.raises(ValueError, match="50 bad rows of"):
        evaluate({**log, "reward": spoiled}, sj.policies.FixedArm(0), bad="refuse", max_steps=3)
    found = evaluate({**log, "reward": spoiled}, sj.policies.FixedArm(0), bad="skip", max_steps=3)
    assert found.cut == 50 and found.visits == 1_200 and found.reading is not None
    assert "50 visits are cut short before an incomplete step" in found.reading.notes


def test_propensities_that_are_missing_are_refused_or_end_visits(log: Log) -> None:
    log["propensity"][log["step"] == 3] = np.nan
    missing = int((log["step"] == 3).sum())
    with pytest.raises(ValueError, match=f"no propensity in {missing:,} of"):
        evaluate(log, sj.policies.FixedArm(0), bad="refuse", ties="keep", time="time")
    assert evaluate(log, sj.policies.FixedArm(0), bad="skip", time="time", max_steps=2).cut == 0


def test_a_policy_learns_from_any_log(log: Log) -> None:
    by_columns = learn(log, sj.policies.UCB())
    by_reading = learn(events(log), sj.policies.UCB(), **OPTIONS)
    assert by_columns.pulls.tolist() == by_reading.pulls.tolist()
    assert by_columns.successes.tolist() == by_reading.successes.tolist()


LINE = (
    "--reward", "stars", "--threshold", "4", "--arm", "item", "--gap", "30min", "--propensity", "p",
    "--log-end", "never",
)  # fmt: skip


def test_the_command_prints_what_python_returns(log: Log, tmp_path: Path, run: Run) -> None:
    path = tmp_path / "events.csv"
    events(log).to_csv(path, index=False)
    policies = ("-p", "FixedArm:arm=1", "-p", "Uniform")
    words = ("evaluate", str(path), *policies, *LINE, "--max-steps", "3")
    shown = run(*words)
    assert (shown.code, shown.err) == (0, "")
    expected = evaluate(path, sj.policies.FixedArm(1), max_steps=3, **OPTIONS)
    assert shown.out.startswith(f"{expected}\n\nUniform()\n")
    first, second = json.loads(run(*words, "--json").out)
    assert first == json.loads(json.dumps(expected.to_dict()))
    assert second["policy"] == "Uniform()" and first["reading"]["spec"]["gap"] == "30min"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-p", "FixedArm:arm=7"], "arm"),
        (["-p", "Magic"], "policy"),
        (["-p", "UCBQLearning"], "UCBQLearning needs H: give it as UCBQLearning:H="),
        (["-p", "Uniform", "--method", "magic"], "methods = 'magic' is not allowed: "),
        (["-p", "Uniform", "--gap", "soon"], "gap = 'soon' is not allowed: "),
        (["-p", "Uniform", "--propensity", "chance"], "propensity = 'chance' is not a column: "),
        ([], "--policy"),
    ],
)
def test_mistakes(words: list[str], message: str, log: Log, tmp_path: Path, run: Run) -> None:
    path = tmp_path / "events.csv"
    events(log).head(50).to_csv(path, index=False)
    line = LINE if "--gap" not in words and "--propensity" not in words else LINE[:6]
    told = run("evaluate", str(path), *line, *words)
    assert (told.code, told.out) == (2, "")
    assert message in told.err and told.err.count("\n") == 1
