"""The studies on made-up worlds: that they say what they found. What they found is in the docs."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from worlds import WORLDS

import sojourn as sj
from sojourn.logs.model.sample import Sample

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks/ is no part of the package

from benchmarks.worlds import advice_table, cases, main, percent, sample, span, told


def test_coverage_of_a_few_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.json"
    small = ["--visits", "400", "--users", "100", "--processes", "1", "--logs", "2"]
    rows = main(["coverage", *small, "--only", "clickbait", "--json", str(path)])
    assert json.loads(path.read_text()) == rows
    assert [row["told"][0] for row in rows] == [True, True]
    assert np.shape([row["worth"] for row in rows]) == (2, 3)
    assert capsys.readouterr().out.splitlines()[-1].startswith("| clickbait | 2 | 100.0 | ")


def test_samples_are_those_that_leave_the_engine() -> None:
    log = WORLDS["course"]().log(visits=60, users=20, seed=1)
    columns = {name: name for name in log if name not in ("time", "propensity")}
    theirs = sj.fit({c: log[c] for c in columns}, ema=False, **columns).sample
    ours = sample(log, 3)
    assert theirs is not None
    columns_of = ("user", "step", "previous", "reward", "end")

    def rows(found: Sample) -> list[list[tuple[int, ...]]]:
        """But for the user's number: those of each user, in any order."""
        by_user: dict[int, list[tuple[int, ...]]] = {}
        for user, *row in zip(*(getattr(found, c).tolist() for c in columns_of), strict=True):
            by_user.setdefault(user, []).append(tuple(row))
        return sorted(sorted(own) for own in by_user.values())

    assert rows(ours) == rows(theirs)


def test_tables_say_how_often_what_was_said() -> None:
    row = {"world": "normal", "log": 3.0, "best": 4.7, "ratio": 1.24, "counted": "normal"}
    ran = row | {"case": "normal", "advice": "IMED", "promised": [1.5, 1.2, 1.8], "worst": 0.4}
    rows = [ran | {"gained": 1.6}, ran | {"gained": 1.7}, row | {"case": "normal", "advice": None}]
    cells = advice_table([*rows, row | {"refused": "no"}]).rows[0]
    assert cells[5:7] == ["normal 3, refused 1", "IMED 2, keep 1, refused 1"]
    assert cells[7:] == ["+1.50", "+0.40", "+1.60 to +1.70"]
    assert (told(["a", "a"]), span([]), percent([True, None])) == ("a", "", "100.0")
    assert cases(["x", "x", "y"]) == "x 67, y 33"
