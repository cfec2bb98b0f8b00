"""The study of signs: its problems, its claims, its page."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from kept_outcomes import save

import sojourn as sj
from research.outcomes import Outcomes, PathOutcome
from research.studies.signs import CLAIMS, FOLLOWED, IMPROPER, LEARNED, PROPER, STUDY, TRIALS
from sojourn.paper.trials import Trial
from sojourn.paper.verdicts import Report, Verdict, check

WRONG = [trial for trial in TRIALS if trial.group == IMPROPER]
RIGHT = [trial for trial in TRIALS if trial.group == PROPER]


def test_two_problems_are_improper_and_232_are_not() -> None:
    assert [sj.theory.case(trial.make()) for trial in WRONG] == ["improper"] * 2
    assert len(RIGHT) == len({trial.name for trial in RIGHT}) == 232
    assert all(trial.make().best_arm_is_optimal for trial in RIGHT[:32:4])
    assert all(trial.labels == (LEARNED, FOLLOWED) for trial in RIGHT)


def made(trial: Trial, regret: float, followed: float, error: float = 0.01) -> PathOutcome:
    mean = np.array([followed if x == FOLLOWED else regret for x in trial.labels])
    path = np.stack([mean / 2.0, mean], axis=1)
    facts = {"arms": 3.0, "length": 4.0, "value": 2.0}
    covariance = error**2 * np.eye(mean.size)
    own = (trial, trial.labels, 64, mean, covariance, facts)
    return PathOutcome(*own, (500, 2_000), path, np.zeros(mean.size))


def outcomes(small: float, ratio: float) -> Outcomes[PathOutcome]:
    proper = [made(trial, 100.0, 100.0 * ratio) for trial in RIGHT[:3]]
    return Outcomes([*(made(trial, 4_000.0, small) for trial in WRONG), *proper])


def test_claims_follow_the_numbers() -> None:
    def verdicts(found: Outcomes[PathOutcome]) -> list[Verdict]:
        return [check(claim, found).verdict for claim in CLAIMS]

    assert verdicts(outcomes(20.0, 1.005)) == [Verdict.CONFIRMED] * 2
    assert verdicts(outcomes(30.0, 1.02)) == [Verdict.NOT_CONFIRMED] * 2


def test_the_page_tells_losses_apart() -> None:
    found = outcomes(20.0, 1.02)
    page = STUDY.page(Report(found, [check(c, found) for c in CLAIMS], "command", 0, "quick"))
    assert f"| {FOLLOWED} | 10 |" in page
    assert (
        "| loss significantly above 1% | 3 |" in page
        and "| loss significantly below 1% | 0 |" in page
    )
    assert "Not run." in STUDY.page(Report(Outcomes([]), [], "command", 0, "quick"))


def test_a_study_is_kept_and_redrawn_by_the_command(tmp_path: Path, run: Any) -> None:
    found = outcomes(20.0, 1.0)
    save(found.every, tmp_path)
    done = run("signs", "--redraw", "--out", str(tmp_path), "--json")
    assert done.code == 0
    assert [claim["verdict"] for claim in json.loads(done.out)] == ["confirmed"] * 2
    report = STUDY.conduct(out=tmp_path, redraw=True)
    assert report.findings.every[0].labels == WRONG[0].labels
