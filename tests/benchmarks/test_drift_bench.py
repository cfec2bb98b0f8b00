"""The job that other packages get where arms change."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.drift import CHANGES, interval, table, task_of
from research.studies.drift import PROBLEMS


def test_the_task_is_the_problem_of_the_study() -> None:
    task = json.loads(json.dumps(task_of(PROBLEMS["four changes"], 4, 100, 2)))
    assert [phase["after"] for phase in task["phases"]] == [0, 1_000, 2_000, 3_000, 4_000]
    assert task["leave"] == [[0.8, 0.2], [0.2, 0.1]]
    assert task["phases"][4]["means"] == [0.6, 0.75, 0.3]
    assert task["phases"][4]["gaps"][1][1] == 0.0 < task["phases"][4]["gaps"][1][0]
    assert 300 < task["steps"] < 700
    assert CHANGES == {
        name: len(problem.phases) - 1 if name != "gradual" else 1
        for name, problem in PROBLEMS.items()
    }


def test_the_table_has_a_column_for_each_problem() -> None:
    found = interval([9.0, 10.0, 11.0])
    assert (found.value, found.high > 11.0) == (10.0, True)
    assert "| SW-UCB | 10.0 ± 1.1 |" in table({"one change": {"SW-UCB": found}}).markdown()
