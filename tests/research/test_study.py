"""A study is one value: groups of trials, claims, and a page that needs no template of its own."""

from functools import partial
from pathlib import Path

import pytest

from research.outcomes import Outcomes, PathOutcome
from research.study import Group, Ratio, claim, study, trials_of
from sojourn.paper.trials import by_label
from sojourn.paper.verdicts import Verdict
from sojourn.policies import FixedArm, Uniform
from sojourn.problem_files import SETTINGS

pytest.importorskip("matplotlib")

GROUP = Group(
    "few", {name: partial(SETTINGS.__getitem__, name) for name in ("B", "C")},
    by_label(Uniform(), FixedArm(arm=0)), (10, 40), (16, 64), first=1,
)  # fmt: skip
BEST, RANDOM = FixedArm(arm=0).label, Uniform().label


def test_a_group_has_a_trial_for_each_problem() -> None:
    first, second = trials_of(GROUP)
    assert (first.name, first.group, first.visits, first.checkpoints) == ("B", "few", 40, (10, 40))
    assert first.quick == 16 and second.left_out(quick=True) and not second.left_out(quick=False)
    assert first.make() == SETTINGS["B"]


def test_a_study_of_one_module_has_a_page(tmp_path: Path) -> None:
    made = study("few", trials_of(GROUP), [claim("It pays.", Ratio("few", BEST, RANDOM, 1.0))])
    report = made.conduct(out=tmp_path)
    (found,) = report.checked
    assert found.verdict is Verdict.CONFIRMED and [m.what for m in found.measured] == ["B"]
    page = (tmp_path / "report.md").read_text()
    assert page.startswith("# few\n") and "| It pays. |" in page and report.summary in page
    assert "`python -m research few --precision quick`" in page
    outcomes: Outcomes[PathOutcome] = report.findings
    assert outcomes.every[0].regret(BEST).value == 0.0
    again = made.conduct(out=tmp_path, redraw=True)
    assert again.findings.every[0].to_dict() == outcomes.every[0].to_dict()
