"""Real logs, from the command line: exact counts, ratios, cases and warnings.

Nothing of the logs is in this repository. They are looked for in ../shared/data, or where the
variable SOJOURN_DATA says.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sojourn.cli.main import main

DATA = Path(os.environ.get("SOJOURN_DATA", Path(__file__).parents[3] / "shared" / "data"))
WITHOUT = "the real logs are not here: set SOJOURN_DATA to their folder"

pytestmark = pytest.mark.skipif(not (DATA / "fitted_aggregates.json").exists(), reason=WITHOUT)

COUNTS = {
    "oulad_assessments": ("2275/18790", "908/14933", "1420/16990", "2458/74816"),
    "ednet_small": ("955/10201", "967/13336", "1058/13572", "2102/29748"),
    "movielens_latest_small": ("1377/32390", "702/15893", "723/16121", "1108/29287"),
    "robomission_2017": ("163/470", "28/355", "425/789", "220/3488"),
}

VERDICTS = {
    "oulad_assessments": ("holds", (1.07, 1.01, 1.13), "undecided"),
    "ednet_small": ("holds up to noise", (1.13, 1.02, 1.24), "normal"),
    "movielens_latest_small": ("undecided", (0.89, 0.79, 1.00), "undecided"),
    "robomission_2017": ("rejected", (0.68, 0.56, 0.82), "undecided"),
}
"""Assumption 1; D(0) / D(1) with the interval of a bootstrap over users; case with controls."""

WARNINGS = {
    "oulad_assessments": {"confounding", "arms apart", "repeating rewards", "users differ"},
    "ednet_small": {
        "few users decide",
        "step number",
        "spikes",
        "repeating rewards",
        "users differ",
    },
    "movielens_latest_small": {
        "few users decide",
        "step number",
        "repeating rewards",
        "users differ",
    },
    "robomission_2017": {"reverse causation", "confounding", "repeating rewards", "users differ"},
}


def fitted(capsys: pytest.CaptureFixture[str], name: str, *options: str) -> dict[str, Any]:
    assert main(["fit", str(DATA / f"{name}.csv.gz"), "--json", *options]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("name", COUNTS)
def test_counts_ratio_case_and_warnings(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = fitted(capsys, name)
    cells = [f"{row['left']}/{row['steps']}" for row in found["leave"][2:]]
    assert cells == list(COUNTS[name])
    verdict, ratio, case = VERDICTS[name]
    assert found["assumption_1"]["verdict"] == verdict
    mine = found["mistake_cost"]["ratio"]
    assert mine["value"] == pytest.approx(ratio[0], abs=0.005)
    # A bootstrap's ends are themselves known to a few hundredths only.
    assert [mine["low"], mine["high"]] == pytest.approx(ratio[1:], abs=0.02)
    assert found["case"] == case
    assert {w["name"] for w in found["diagnostics"]} == WARNINGS[name]


SENSITIVITY = [
    ("movielens_latest_small", "movielens:like=5", ["--reward", "value", "--try-threshold", "5"]),
    ("movielens_latest_small", "movielens:gap=600", ["--try-gap", "10min"]),
    ("ednet_small", "ednet:gap=3600", ["--try-gap", "1h"]),
    ("robomission_2017", "robomission:gap=600", ["--duration", "value", "--try-gap", "600"]),
    ("oulad_assessments", "oulad:thr=60", ["--reward", "value", "--try-threshold", "60"]),
]


@pytest.mark.parametrize(("name", "key", "options"), SENSITIVITY, ids=[s[1] for s in SENSITIVITY])
def test_other_definitions(
    name: str, key: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    expected = json.loads((DATA / "fitted_aggregates.json").read_text())[key]
    threshold = ["--threshold", "4"] if "--try-threshold" in options else []
    found = fitted(capsys, name, "--no-ema", "--log-end", "never", *threshold, *options)
    (row,) = found["sensitivity"]
    assert row["visits"] == expected["visits"]
    n, k = ([x for row in expected[c] for x in row] for c in ("n", "k"))
    assert [row["counts"][c] for c in ("00", "01", "10", "11")] == [
        [int(a), int(b)] for a, b in zip(k, n, strict=True)
    ]
    # The mean of the best arm is drawn towards those of the others, by what may be luck.
    assert row["costs"]["ratio"]["value"] == pytest.approx(expected["ratio"], rel=0.01)
