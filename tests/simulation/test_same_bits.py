"""The same seed gives the runs that were recorded: two policies here, all by `same_bits.py`."""

import json
from pathlib import Path

import pytest
import same_bits
from same_bits import PROBLEMS, SEEDS, main, recorded, records

import sojourn as sj

RECORDED = json.loads((Path(__file__).parent / "same_bits.json").read_text())


FEW = dict.fromkeys(PROBLEMS, ("ULCB", "LearnedIMED")) | {"ema-1000": ("ContULCB", "LearnedIMED")}
"""Those whose loops other tests compile too; the script compares all."""


@pytest.mark.parametrize("problem", PROBLEMS)
def test_runs_are_those_recorded(problem: str) -> None:
    """Every pull and reward; regret but for the last bits of a linear solver on another machine."""
    found = dict(records([problem], only=FEW[problem]))
    assert len(found) == len(SEEDS) * (len(FEW[problem]) + 1)  # one of them has an opposite
    for key, bits in found.items():
        assert bits["counts"] == RECORDED[key]["counts"], key
        ours, theirs = ([float.fromhex(x) for x in b["regret"]] for b in (bits, RECORDED[key]))
        assert ours == pytest.approx(theirs, rel=1e-9), key


def by_run(key: str) -> str:
    return " ".join(key.split()[:2])


def test_the_record_is_of_policies_that_there_are_on_every_problem_with_both_seeds() -> None:
    there = {cls.__name__ for cls in sj.policies.ALL}
    names = recorded(RECORDED)
    assert names <= there, "a policy is gone: so are its records"
    runs = {f"{problem} {seed}" for problem in PROBLEMS for seed in SEEDS}
    assert {by_run(key) for key in RECORDED} == runs
    for run in runs:
        assert recorded(key for key in RECORDED if by_run(key) == run) == names


@pytest.mark.release
def test_a_release_has_a_record_of_every_policy() -> None:
    """From then on its bits are promised; `same_bits.py add` records what is new."""
    assert recorded(RECORDED) == {cls.__name__ for cls in sj.policies.ALL}


def test_add_records_only_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def measured(only: set[str] | None) -> dict[str, str]:
        asked.append(only)
        return {"A 0 Uniform()": "new"}

    monkeypatch.setattr(same_bits, "records", measured)
    file = tmp_path / "bits.json"
    known = {key: "old" for key in RECORDED if recorded([key]) != {"Uniform"}}
    file.write_text(json.dumps(known))
    assert main("compare", str(file)) == 1
    assert "no record: A 0 Uniform()" in capsys.readouterr().out
    assert main("add", str(file)) == 0
    assert json.loads(file.read_text()) == known | {"A 0 Uniform()": "new"}
    assert asked == [None, {cls.__name__ for cls in sj.policies.ALL} - recorded(known)]
