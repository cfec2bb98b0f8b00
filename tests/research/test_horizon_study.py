"""The study of the horizon: its roster, its arithmetic, its page."""

import json
from dataclasses import replace
from math import log
from pathlib import Path as Folder
from typing import Any

import numpy as np
import pytest
from kept_outcomes import save

import sojourn as sj
from research.outcomes import Outcomes
from research.runs import RunsTrial, run_regrets
from research.studies.horizon import STUDY
from research.studies.horizon.claims import CLAIMS
from research.studies.horizon.trials import (
    EXACT,
    GROWTH,
    INFORMED,
    KNOWING,
    PRICED,
    PROBLEMS,
    TAILS,
    TENFOLD,
    TENTH,
    TRIALS,
    HorizonOutcome,
    Path,
    informed,
)
from sojourn.paper.trials import Trial
from sojourn.paper.verdicts import Report, Verdict, check


def test_every_problem_has_growth_tails_and_told_horizons() -> None:
    assert len({trial.name for trial in TRIALS}) == len(TRIALS)
    for name in PROBLEMS:
        own = [trial for trial in TRIALS if trial.problem == name]
        assert [trial.group for trial in own[:4]] == [GROWTH, TAILS, INFORMED, INFORMED]
        assert own[0].checkpoints == (1_000, 10_000, 100_000, 1_000_000)
        assert own[1].runs == 10_000 and PRICED in own[1].labels


def test_who_is_told_a_horizon_is_told_that_of_the_trial() -> None:
    (trial,) = (t for t in TRIALS if t.name == "B, told, 1,000 visits")
    policies = dict(zip(trial.labels, trial.build(PROBLEMS["B"]()), strict=True))
    numbers = {x: policies[x].visits for x in (PRICED, KNOWING, EXACT, TENTH, TENFOLD)}  # type: ignore[attr-defined]
    assert list(numbers.values()) == [0, 1_000, 1_000, 100, 10_000]
    assert set(informed(5)) == {KNOWING, EXACT, TENTH, TENFOLD}


def test_the_papers_policy_is_told_the_case() -> None:
    (trial,) = (t for t in TRIALS if t.name.startswith("opposite, growth"))
    assert trial.build(PROBLEMS["opposite"]())[0] == sj.policies.KLULCB().opposite()
    assert trial.build(PROBLEMS["five arms"]())[0] == sj.policies.KLULCB()


SMALL = RunsTrial(
    "B, small", "B", PROBLEMS["B"],
    {"Uniform": sj.policies.Uniform(), "Fixed arm": sj.policies.FixedArm(arm=1)}, 40, 40,
    visits=100, checkpoints=(10, 100), group=GROWTH,
)  # fmt: skip


def test_paths_are_those_of_single_runs(tmp_path: Folder) -> None:
    found = SMALL.run(quick=True, seed=0, store=tmp_path / "chunks.db")
    uniform = found.regrets[0]
    assert uniform.shape == (40, 2)
    assert uniform.mean(axis=0) == pytest.approx(found.result.regret.mean[0])
    assert uniform.std(axis=0, ddof=1) / 40**0.5 == pytest.approx(found.result.regret.std_error[0])
    outcome = HorizonOutcome.of(SMALL, found)
    slopes = (uniform[:, 1] - uniform[:, 0]) / log(10.0)
    assert outcome.slope("Uniform", 10).value == pytest.approx(slopes.mean())
    assert outcome.paths["Uniform"].worst[1] == uniform[:, 1].max()
    assert outcome.paths["Uniform"].median[1] == np.median(uniform[:, 1])
    apart = found.result.difference(0, 1).std_error[-1]
    assert (
        outcome.covariance[0, 0] + outcome.covariance[1, 1] - 2 * outcome.covariance[0, 1]
    ) == pytest.approx(apart**2)
    again = HorizonOutcome.from_dict(SMALL, json.loads(json.dumps(outcome.to_dict())))
    assert again.to_dict() == outcome.to_dict()


def test_runs_that_a_store_does_not_have_are_an_error(tmp_path: Folder) -> None:
    how: dict[str, Any] = {"visits": 5, "runs": 4}
    result = sj.simulate(PROBLEMS["B"](), [sj.policies.Uniform()], **how, store=tmp_path / "one.db")
    with pytest.raises(ValueError, match=r"other\.db does not have the runs of Uniform\(\)"):
        run_regrets(result, tmp_path / "other.db")


def made(trial: Trial, steep: float = 1.0, worst: float = 3.0, **multiples: float) -> Any:
    """An outcome in which everybody has the same path, but for multiples by label."""
    visits, regrets = np.array(trial.checkpoints), {}
    least = {"A": 22.5, "B": 4.0, "C": 1.0, "opposite": 7.6, "five arms": 41.7}[trial.problem]
    noise = np.random.default_rng(0).normal(0.0, 0.01, (50, 1))
    for label in trial.labels:
        mean = least * (10.0 + steep * np.log(visits / visits[0]))
        regrets[label] = multiples.get(label, 1.0) * (mean + noise * least)
        regrets[label][0, -1] = worst * regrets[label][1:, -1].mean()
    last = np.array([r[:, -1] for r in regrets.values()])
    return HorizonOutcome(
        trial, trial.labels, 50, last.mean(axis=1), np.cov(last) / 50.0,
        {"arms": 2.0, "length": 4.0, "least": least}, tuple(trial.checkpoints),  # type: ignore[arg-type]
        {x: Path.of(r, visits) for x, r in regrets.items()},
    )  # fmt: skip


def findings(**how: float) -> Outcomes[HorizonOutcome]:
    return Outcomes([made(trial, **how) for trial in TRIALS])


def test_claims_follow_the_numbers() -> None:
    def verdicts(outcomes: Outcomes[HorizonOutcome]) -> list[Verdict]:
        return [check(claim, outcomes).verdict for claim in CLAIMS]

    assert verdicts(findings(worst=1.0, **{PRICED: 0.9})) == [Verdict.CONFIRMED] * 6
    wrong = verdicts(findings(steep=2.0, worst=1.0, **{PRICED: 1.4}))
    assert wrong == [Verdict.NOT_CONFIRMED] * 4 + [Verdict.CONFIRMED] * 2
    assert verdicts(findings(worst=20.0))[4:] == [Verdict.NOT_CONFIRMED] * 2


def test_the_page_has_a_row_for_everybody() -> None:
    found = findings(worst=1.0, **{PRICED: 0.9})
    report = Report(found, [check(claim, found) for claim in CLAIMS], "command", 0, "quick")
    page = STUDY.page(report)
    assert "6 confirmed" in page and "Not run." not in page
    for problem in PROBLEMS:
        assert page.count(f"| {problem} | Priced index | 50 |") == 1
        assert page.count(f"| {problem} | 1,000 | 50 |") == 1
    assert "Not run." in STUDY.page(Report(Outcomes([]), [], "command", 0, "quick"))


def test_a_study_is_kept_and_redrawn_by_the_command(tmp_path: Folder, run: Any) -> None:
    report = replace(STUDY, trials=[SMALL]).conduct(out=tmp_path)
    assert report.findings.every[0].runs == 40
    assert (tmp_path / "figures" / "horizon.png").exists()
    found = findings(worst=1.0, **{PRICED: 0.9})
    save(found.every, tmp_path, seed=3)
    page = tmp_path / "docs" / "horizon.md"
    done = run("horizon", "--redraw", "--out", str(tmp_path), "--page", str(page), "--json")
    assert done.code == 0
    assert [claim["verdict"] for claim in json.loads(done.out)] == ["confirmed"] * len(CLAIMS)
    assert "python -m research horizon --precision quick --seed 3" in page.read_text()
