"""The log as a whole: verify finds what is wrong, and export is what `sojourn fit` reads."""

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import sojourn as sj
from sojourn.live import Experiment, Journal, NotFound, SqliteStore, export, verify
from sojourn.live.exporting import ExportRow, lines
from sojourn.live.records import DECIDE, RESOLVE, Arm, Event

STEPS = [
    # user, visit, step, arm, reward, left, censored
    ("u", "gone", 1, "a", 1, 0, 0),
    ("u", "gone", 2, "b", 0, 1, 0),
    ("open", "open", 1, "a", 1, 0, 0),
    ("open", "open", 2, "a", 1, 0, 1),
    ("waits", "waits", 1, "a", 0.5, 0, 1),
]


@pytest.fixture
def experiment() -> Experiment:
    clock = iter(range(100_000))
    journal = Journal(SqliteStore.in_memory(lambda: float(next(clock))), upkeep=False)
    experiment = Experiment(
        "news", ["a", "b"], sj.policies.UCB(), reward_threshold=0.5, store=journal, compiled=False
    )
    gone = experiment.visit(user="u", id="gone")
    assert [gone.choose(), gone.choose(1)] == ["a", "b"]
    gone.end()
    stays = experiment.visit(id="open")
    assert [stays.choose(), stays.choose(1)] == ["a", "a"]
    stays.reward(1)
    waits = experiment.visit(id="waits")
    waits.choose()
    waits.choose(0.5)  # the next step is pending: it is in no file yet
    experiment.visit(id="nothing").end()
    return experiment


def test_csv(experiment: Experiment, tmp_path: Path) -> None:
    path = tmp_path / "steps.csv"
    assert export(experiment.journal.store, "news", path) == len(STEPS)
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(ExportRow._fields)
    kinds = (str, str, int, str, float, int, int)
    read = [tuple(k(v) for k, v in zip(kinds, row.values(), strict=False)) for row in rows]
    assert sorted(read) == sorted(STEPS)
    times = {(row["visit"], row["step"]): float(row["t"]) for row in rows}
    assert times["gone", "1"] < times["gone", "2"] < times["open", "1"]


def test_parquet_is_the_same(
    experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sojourn.live.exporting.PART", 2)
    path = tmp_path / "steps.parquet"
    assert export(experiment.journal.store, "news", path) == len(STEPS)
    rows = pq.read_table(path).to_pylist()
    assert sorted(tuple(row.values())[:7] for row in rows) == sorted(STEPS)
    assert {row["propensity"] for row in rows} <= {None, 1.0}


def test_what_the_policy_would_have_shown_and_who_was_eligible_is_exported() -> None:
    arms = [Arm(0, "a"), Arm(1, 'b "x", c')]
    decided = Event("news", "v", 1, DECIDE, arm=0, state=0.0, shadow_arm=1, candidates="0,1")
    resolved = Event("news", "v", 1, RESOLVE, arm=0, state=0.0, reward=1.0, after=1.0)
    (line,) = lines([decided, resolved], arms, {})
    assert (line.arm, line.shadow_arm) == ("a", 'b "x", c')
    assert line.candidates is not None and json.loads(line.candidates) == ["a", 'b "x", c']
    (line,) = lines([decided._replace(shadow_arm=None, candidates=None), resolved], arms, {})
    assert (line.shadow_arm, line.candidates) == (None, None)


def test_verify_finds_what_is_wrong(experiment: Experiment) -> None:
    store = experiment.journal.store
    assert verify(store, "news") == {}
    assert isinstance(store, SqliteStore)
    with store._writing() as run:
        run("UPDATE sojourn_counter SET n = n + 1 WHERE what = 'pulls' AND i = 0 AND j = 1")
    ((key, (counted, folded)),) = verify(store, "news").items()
    assert key == ("pulls", 0, 1, 0) and counted == folded + 1
    with pytest.raises(NotFound, match="there is no experiment 'other'"):
        verify(store, "other")


def test_counts_of_one_experiment_start_another(experiment: Experiment) -> None:
    """A warm start from what was counted elsewhere gives the same means."""
    memory = experiment.memory
    pairs = zip(memory.pulls.tolist(), memory.successes.tolist(), strict=True)
    other = Experiment(
        "fresh", ["a", "b"], sj.policies.UCB(), store=experiment.journal, compiled=False
    )
    other.warm_start(dict(zip(experiment.arms, pairs, strict=True)))
    for one, two in zip(memory, other.memory, strict=True):
        assert one.tolist() == two.tolist()
