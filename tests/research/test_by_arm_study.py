"""The study of items that raise the exit rate: its problems, its arithmetic, its page."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_outcomes import save

import sojourn as sj
from research.outcomes import Outcomes, PathOutcome
from research.studies.by_arm import (
    CLAIMS,
    FOLLOWING,
    GROUPS,
    IMPROPER,
    LEARNED,
    OURS,
    RANDOM,
    ROSTER,
    STUDY,
    TRIALS,
    random_by_arm,
    worse_than,
)
from sojourn.paper.trials import Trial, by_label
from sojourn.paper.verdicts import Report, Verdict, check


def test_drawn_problems_keep_their_promises() -> None:
    drawn = random_by_arm(12)
    assert all(p.by_arm and 1.5 <= p.length.mean <= 60.0 for p in drawn)
    assert len({p.arms for p in drawn}) > 4
    spreads = [np.std(np.log(p.user.leaving.q / (1 - p.user.leaving.q)), axis=0) for p in drawn]
    assert min(s.max() for s in spreads) > 0.01 and max(s.max() for s in spreads) > 1.0
    assert not all(p.best_arm_is_optimal for p in drawn)


def test_every_problem_is_played_by_everybody() -> None:
    assert {t.group for t in TRIALS} == {group.name for group in GROUPS}
    assert len({t.name for t in TRIALS}) == len(TRIALS)
    for trial in TRIALS:
        assert trial.labels == tuple(IMPROPER if trial.group == "improper" else ROSTER)
    improper = [make() for make in GROUPS[2].problems.values()]
    assert [sj.theory.case(p) for p in improper] == ["improper", "improper"]


def made(
    name: str, regret: dict[str, float], error: float = 0.01, early: float = 0.5
) -> PathOutcome:
    """The outcome of a trial with these regrets at the end, and a share of them `early`."""
    trial = next(t for t in TRIALS if t.name == name)
    labels = trial.labels
    mean = np.array([regret.get(label, 100.0) for label in labels])
    covariance = np.diag((error * mean) ** 2)
    visits = trial.checkpoints
    path = np.outer(mean, np.linspace(early, 1.0, len(visits)) if len(visits) > 1 else [1.0])
    facts = {"arms": 3.0, "length": 10.0, "value": 5.0}
    return PathOutcome(trial, labels, 10, mean, covariance, facts, visits, path, error * mean)


def every(ours: float) -> Outcomes[PathOutcome]:
    regret = {OURS: ours, FOLLOWING: ours, LEARNED: 100.0, RANDOM: 200.0}
    names = [t.name for t in TRIALS if t.group not in ("random", "by arm")]
    names += [f"{group} {i}" for group in ("random", "by arm") for i in range(100)]
    return Outcomes([made(name, regret) for name in names])


def test_the_share_of_the_optimum_counts_late_visits_only() -> None:
    outcome = made("clickbait", {OURS: 3_000.0}, error=0.0, early=0.8)
    assert outcome.late_share(OURS).value == pytest.approx(1 - 0.2 * 3_000 / (3_000 * 5.0))


def test_who_is_surely_worse() -> None:
    outcomes = [
        made("by arm 0", {OURS: 201.0, RANDOM: 200.0}),
        made("by arm 1", {OURS: 300.0, RANDOM: 200.0}),
    ]
    assert worse_than(outcomes, OURS, RANDOM).value == 0.5


def test_claims_follow_the_numbers() -> None:
    verdicts = [check(claim, every(9.0)).verdict for claim in CLAIMS]
    assert verdicts == [Verdict.CONFIRMED] * len(CLAIMS)
    verdicts = [check(claim, every(30_000.0)).verdict for claim in CLAIMS]
    assert verdicts == [Verdict.NOT_CONFIRMED] * len(CLAIMS)


def test_the_page_has_a_row_for_everybody() -> None:
    findings = every(9.0)
    report = Report(findings, [check(claim, findings) for claim in CLAIMS], "command", 0, "quick")
    page = STUDY.page(report)
    assert "Not run." not in page and page.count(f"| {OURS} |") >= 6
    assert "6 confirmed" in page


@pytest.mark.filterwarnings("ignore::sojourn.theory.AssumptionWarning")
def test_a_study_is_kept_and_redrawn(tmp_path: Path) -> None:
    trial = Trial(
        "clickbait", "clickbait", GROUPS[0].problems["clickbait"],
        by_label(sj.policies.Uniform()), 4, 4, visits=20, checkpoints=(10, 20), group="clickbait",
        roster="main",
    )  # fmt: skip
    study = replace(STUDY, trials=[trial]).conduct
    report = study(out=tmp_path)
    assert {c.verdict for c in report.checked} == {Verdict.UNDECIDED}
    kept = json.loads((tmp_path / "outcomes.json").read_text())["outcomes"][0]
    assert kept["at"] == [10, 20] and kept["path"][0][0] < kept["path"][0][1]
    again = study(out=tmp_path, redraw=True)
    assert again.findings.every[0].to_dict() == report.findings.every[0].to_dict()
    assert (tmp_path / "figures" / "by-arm.png").exists()


def test_the_command_prints_verdicts_as_json(tmp_path: Path, run: Any) -> None:
    save(every(9.0).every, tmp_path)
    page = tmp_path / "docs" / "by-arm.md"
    done = run("by-arm", "--redraw", "--out", str(tmp_path), "--page", str(page), "--json")
    assert done.code == 0
    assert [found["verdict"] for found in json.loads(done.out)] == ["confirmed"] * len(CLAIMS)
    assert "python -m research by-arm --precision quick" in page.read_text()
    assert (page.parent / "figures" / "by-arm.png").exists()
