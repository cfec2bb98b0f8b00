"""The same seed gives the runs that were recorded: two policies here, all by `same_bits.py`."""

import json
from pathlib import Path

import pytest
from same_bits import PROBLEMS, SEEDS, records

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


def test_the_record_has_every_policy_and_both_seeds() -> None:
    import sojourn as sj

    names = {key.split()[2].partition("(")[0] for key in RECORDED}
    assert names == {cls.__name__ for cls in sj.policies.ALL}
    assert {int(key.split()[1]) for key in RECORDED} == set(SEEDS)
