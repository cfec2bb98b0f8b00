"""The study of drift: its problems, its claims, its page."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_outcomes import save

import sojourn as sj
from research.outcomes import Outcomes, PathOutcome
from research.studies.drift import (
    CLAIMS,
    DETECTOR,
    EXPLORING,
    MOVING,
    PLAIN,
    PROBLEMS,
    STILL,
    STUDY,
    TRIALS,
    VISITS,
)
from sojourn.paper.trials import Trial
from sojourn.paper.verdicts import Report, Verdict, check
from sojourn.simulation.chunks import chunk


def test_the_best_arm_changes_and_the_users_do_not() -> None:
    for problem in PROBLEMS.values():
        assert len({phase.problem.best_arm for phase in problem.phases}) > 1
        assert {phase.problem.user for phase in problem.phases} == {sj.paper.SETTINGS["B"].user}
        assert problem.phases[-1].after < VISITS
    still = [trial.problem for trial in TRIALS if trial.group == STILL]
    assert still == ["B", "opposite", "A", "ema-1000"]


def made(trial: Trial, ratio: float) -> PathOutcome:
    mean = np.array([100.0 * ratio if x == DETECTOR.label else 100.0 for x in trial.labels])
    facts = {"arms": 3.0, "length": 4.0, "value": 2.0}
    own = (trial, trial.labels, 64, mean, 1e-4 * np.eye(mean.size), facts)
    return PathOutcome(*own, (500, 2_000), np.stack([mean, mean], axis=1), np.zeros(mean.size))


def outcomes(moving: float, still: float) -> Outcomes[PathOutcome]:
    ratios = {MOVING: moving, STILL: still}
    return Outcomes([made(trial, ratios[trial.group]) for trial in TRIALS])


@pytest.mark.parametrize(
    ("moving", "still", "verdict"),
    [(0.5, 1.01, Verdict.CONFIRMED), (1.1, 1.05, Verdict.NOT_CONFIRMED)],
)
def test_claims_follow_the_numbers(moving: float, still: float, verdict: Verdict) -> None:
    found = outcomes(moving, still)
    assert [check(claim, found).verdict for claim in CLAIMS] == [verdict] * 2


def test_the_page_has_every_policy() -> None:
    found = outcomes(0.5, 1.01)
    page = STUDY.page(Report(found, [check(c, found) for c in CLAIMS], "command", 0, "quick"))
    assert page.count(f"| {EXPLORING.label} |") == 2
    assert f"| {DETECTOR.label} | 50.000 ± 0.020 |" in page
    assert "Not run." in STUDY.page(Report(Outcomes([]), [], "command", 0, "quick"))


def test_a_study_is_kept_and_redrawn_by_the_command(tmp_path: Path, run: Any) -> None:
    found = outcomes(0.5, 1.01)
    save(found.every, tmp_path)
    done = run("drift", "--redraw", "--out", str(tmp_path), "--json")
    assert done.code == 0
    assert [claim["verdict"] for claim in json.loads(done.out)] == ["confirmed"] * 2
    assert STUDY.conduct(out=tmp_path, redraw=True).findings.every[0].trial is TRIALS[0]


def test_a_trial_is_played_on_the_problem_that_changes() -> None:
    """Its regret is that of a chunk of runs."""
    name, trial = "one change", TRIALS[0]
    how = {"visits": 60, "runs": 4, "checkpoints": [60]}
    result = trial.play(trial.make(), [sj.policies.KLULCB()], **how)
    assert result.problem == PROBLEMS[name]
    rows = chunk(PROBLEMS[name], sj.policies.KLULCB(), 0, 0, 4, np.array([60]))
    assert result.regret.mean[0, -1] == pytest.approx(rows[:, -1, 0].mean(), rel=1e-12)
    assert PLAIN.label in trial.labels
