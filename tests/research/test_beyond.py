"""The study beyond the paper: ratios with intervals, claims, the report, the command."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from kept_outcomes import save

from research.__main__ import main
from research.outcomes import Outcomes, spread
from research.problems import DRAWS, LOGS, PROBLEMS, cost_ratio, random_problems
from research.studies.beyond import STUDY, conclusions
from research.studies.beyond.claims import CLAIMS, GAIN, Harmless, NearBetterCase, SeldomWorse
from research.studies.beyond.outcomes import POLICIES, BeyondOutcome, comparable, worst
from research.studies.beyond.trials import (
    BOUND,
    ENGAGEMENT,
    FAMILIES,
    LEARNED,
    PRICED,
    ROSTERS,
    TRIALS,
    trial,
)
from research.study import TypicalRatio
from sojourn import theory
from sojourn.paper.trials import Trial
from sojourn.paper.verdicts import Report, Verdict, check
from sojourn.policies import KLULCB, GatedIMED, LearnedIMED, Policy
from sojourn.stats.intervals import Interval

pytest.importorskip("matplotlib")


def made_up(
    regrets: Mapping[str, float],
    problem: str = "A",
    group: str = "paper",
    roster: str = "main",
    spread: float = 1.0,
    ratio: float = 2.0,
) -> BeyondOutcome:
    """An outcome with these regrets, whose estimates have this standard error and no covariance."""
    size = len(regrets)
    facts = {"cost_ratio": ratio, "arms": 2.0, "length": 9.0}
    mean = np.array(list(regrets.values()))
    return BeyondOutcome(
        trial(group, problem, roster, 100, 64),
        tuple(regrets),
        64,
        mean,
        np.eye(size) * spread**2,
        facts,
    )


def findings_of(changed: Mapping[str, float]) -> Outcomes[BeyondOutcome]:
    """Two made-up outcomes in every group: regrets are 100, but for those changed."""
    regrets = {label: changed.get(label, 100.0) for label in POLICIES}
    return Outcomes(
        [
            made_up(regrets, problem, group, ratio=ratio)
            for group, problems in PROBLEMS.items()
            for problem, ratio in zip(list(problems)[:2], (0.5, 2.0), strict=True)
        ]
    )


def test_problems_of_the_study() -> None:
    assert len(PROBLEMS["random"]) == DRAWS >= 200
    drawn = random_problems()
    assert {2, 50} <= {problem.arms for problem in drawn}
    cases = [theory.case(problem) for problem in drawn]
    assert min(cases.count("normal"), cases.count("opposite")) >= 60
    assert max(problem.length.mean for problem in drawn) <= 60
    assert drawn[:5] == random_problems(5)
    for name, stated in (("nearly neutral, 1.06", 1.06), ("nearly neutral, 0.85", 0.85)):
        assert cost_ratio(PROBLEMS["near-neutral"][name]()) == pytest.approx(stated, abs=0.005)
    for name in PROBLEMS["opposite"]:
        assert cost_ratio(PROBLEMS["opposite"][name]()) < 1.0
    assert all(trial.make().arms >= 2 for trial in TRIALS if trial.group != "random")
    assert len({trial.name for trial in TRIALS}) == len(TRIALS)


@pytest.mark.parametrize(
    ("name", "ratio"),
    [("OULAD", 1.07), ("EdNet", 1.13), ("MovieLens", 0.89), ("RoboMission", 0.68)],
)
def test_fitted_problems_have_the_ratios_of_the_logs(name: str, ratio: float) -> None:
    assert cost_ratio(PROBLEMS["logs"][name]()) == pytest.approx(ratio, abs=0.006)
    assert len(PROBLEMS["logs"][name]().means) == 5
    assert name in LOGS


def test_improper_problems_are_improper() -> None:
    for name, make in PROBLEMS["violations"].items():
        improper = theory.case(make()) == "improper"
        assert improper == name.startswith("best arm is not optimal")


def test_families_are_on_their_rosters() -> None:
    for family in FAMILIES:
        rosters = [
            r for r in (ROSTERS[x] for x in ("main", "ema", "sampling")) if family.learned in r
        ]
        assert rosters and all(family.plain in roster for roster in rosters)
        assert all(set(family.fixed) & set(roster) for roster in rosters)
        assert set(family.fixed) <= {label for roster in rosters for label in roster}


def test_ratio_by_the_delta_method() -> None:
    """Against the spread of ratios of simulated means."""
    rng = np.random.default_rng(2)
    mean, covariance = np.array([30.0, 50.0]), np.array([[1.0, 0.8], [0.8, 2.0]])
    outcome = replace(made_up({"IMED": 30.0, "KL-UCB": 50.0}), mean=mean, covariance=covariance)
    ratio = outcome.ratio("IMED", "KL-UCB")
    draws = rng.multivariate_normal(mean, covariance, 200_000)
    assert ratio.value == 0.6
    expected = 1.96 * (draws[:, 0] / draws[:, 1]).std()
    assert (ratio.high - ratio.low) / 2 == pytest.approx(expected, rel=0.01)
    assert outcome.ratio("IMED", "IMED") == Interval.exact(1.0)


def test_outcome_of_a_result_has_its_differences(tmp_path: Path) -> None:
    declared = trial("paper", "B", "caution", 30, 8)
    result = declared.run(quick=False, store=tmp_path / "c.db")
    outcome = BeyondOutcome.of(declared, result)
    for p, one in enumerate(outcome.labels):
        assert outcome.regret(one).value == result.regret.mean[p, -1]
        for q, other in enumerate(outcome.labels):
            if p != q:
                found = outcome.combined({one: 1.0, other: -1.0})
                expected = result.difference(p, q)
                assert found.value == pytest.approx(float(expected.mean[-1]))
                assert found.high - found.value == pytest.approx(float(expected.half_width[-1]))
    again = BeyondOutcome.from_dict(declared, json.loads(json.dumps(outcome.to_dict())))
    assert again.labels == outcome.labels and (again.covariance == outcome.covariance).all()


@pytest.mark.parametrize(
    ("learned", "spread", "verdict"),
    [
        (105.0, 0.5, Verdict.CONFIRMED),
        (115.0, 0.5, Verdict.NOT_CONFIRMED),
        (109.0, 5.0, Verdict.UNDECIDED),
    ],
)
def test_near_the_better_case(learned: float, spread: float, verdict: Verdict) -> None:
    family = FAMILIES[2]
    regrets = {"IMED": 150.0, "Gated IMED": 100.0, "Gated IMED, opposite": 300.0}
    others = made_up({"KL-UCB": 50.0, BOUND: 50.0}, roster="published")  # has no fixed case
    findings = Outcomes([made_up({**regrets, BOUND: learned}, spread=spread), others])
    (measured,) = NearBetterCase(family).measure(findings)
    assert measured.verdict is verdict
    assert measured.what == f"A: {BOUND} / Gated IMED"


def test_harmless_looks_at_neutral_problems_and_logs_only() -> None:
    family = FAMILIES[2]
    regrets = {"IMED": 100.0, BOUND: 120.0}
    places = (("A", "paper"), ("neutral", "near-neutral"), ("OULAD", "logs"))
    findings = Outcomes([made_up(regrets, *place) for place in places])
    measured = Harmless(family).measure(findings)
    assert [m.what.partition(":")[0] for m in measured] == ["neutral", "OULAD"]
    assert all(m.verdict is Verdict.NOT_CONFIRMED for m in measured)


def test_intervals_that_touch_are_not_apart() -> None:
    claim = next(claim for claim in CLAIMS if claim.text.startswith("Gated IMED"))
    for below, verdict in ((90.0, Verdict.CONFIRMED), (97.0, Verdict.UNDECIDED)):
        regrets = {"Gated IMED": below, "KL-ULCB": 100.0}
        findings = Outcomes([made_up(regrets, problem) for problem in "ABCD"])
        checked = check(claim, findings)
        assert checked.verdict is verdict and len(checked.measured) == 4


def test_what_the_priced_index_must_show() -> None:
    ratios = (0.5, 0.8, 0.6, 1.3, 1.02)
    findings = Outcomes(
        [
            made_up({PRICED: 1_000 * r, LEARNED: 1_000.0}, f"random {i}", "random")
            for i, r in enumerate(ratios)
        ]
    )
    (gain,) = TypicalRatio("random", PRICED, LEARNED, GAIN).measure(findings)
    assert gain.interval.value == pytest.approx(np.prod(ratios) ** 0.2)
    many, worst = SeldomWorse(PRICED, LEARNED).measure(findings)
    assert many.interval.value == 2 and many.verdict is Verdict.CONFIRMED
    assert "random 3" in worst.what and worst.verdict is Verdict.NOT_CONFIRMED


def test_spread_and_worst_case() -> None:
    ratios = (0.5, 0.8, 2.0, 1.01)
    outcomes = [
        made_up({"IMED": 100 * r, "KL-UCB": 100.0, "UCB": 90.0}, f"random {i}", "random")
        for i, r in enumerate(ratios)
    ]
    found = spread(outcomes, "IMED", "KL-UCB")
    assert found.typical.value == pytest.approx(np.prod(ratios) ** 0.25)
    assert (found.better, found.worse, found.problems) == (2, 1, 4)
    most = worst(outcomes, "IMED", in_hindsight=True)
    assert (most.problem, most.versus) == ("random 2", "UCB")
    assert most.ratio.value == pytest.approx(200 / 90)


def test_conclusions_follow_the_numbers() -> None:
    good = "\n".join(conclusions.conclude(findings_of({"IMED": 60.0, BOUND: 50.0, LEARNED: 55.0})))
    assert "IMED instead of KL-UCB, with no gate at all: 40 % less" in good
    assert f"The smallest worst case is that of {BOUND}:" in good
    bad = "\n".join(conclusions.conclude(findings_of({"IMED": 60.0, BOUND: 90.0, LEARNED: 90.0})))
    assert "The smallest worst case is that of IMED" in bad
    assert "50 % more" in bad
    assert "but not every risk" in bad and "without the bet" in good


def test_where_rewards_depend_on_the_state_no_ratio_tells_the_cases_apart() -> None:
    facts = BeyondOutcome.facts_of(PROBLEMS["by state"]["same order, normal case"]())
    assert facts.keys() == {"arms", "length"}
    names = list(PROBLEMS["by state"])[:2]
    regrets = {label: 30.0 if label == ENGAGEMENT else 100.0 for label in POLICIES}
    made = [made_up(regrets, name, "by state") for name in names]
    findings = Outcomes([replace(o, facts=facts) for o in made])
    assert all(o.is_proper for o in comparable(findings)) and len(comparable(findings)) == 2
    assert "has these multiples" in "\n".join(conclusions.conclude(findings))
    report = Report(findings, [check(claim, findings) for claim in CLAIMS], "command", 0, "quick")
    assert "| D(0) / D(1) | by state | by state |" in STUDY.page(report)


def test_of_takes_the_outcome_of_most_runs() -> None:
    regrets = {"IMED": 1.0, "KL-UCB": 2.0}
    few, many = made_up(regrets), replace(made_up(regrets, roster="confidence"), runs=128)
    assert Outcomes([few, many]).of("paper", "IMED") == [many]


TINY = (
    trial("paper", "B", "caution", 40, 6, 4),
    trial("paper", "C", "caution", 40, 6, 4),
    trial("violations", "best arm is not optimal", "caution", 40, 6),
)
"""With two-state users, whose loops are compiled anyway; `test_crowds.py` plays hidden kinds."""


def test_a_study_is_resumed_redrawn_and_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    study, how = replace(STUDY, trials=TINY).conduct, {"precision": "full"}
    one = study(out=tmp_path / "a", progress=lambda now: seen.append(now.work), **how)  # type: ignore[arg-type]
    assert [o.runs for o in one.findings.every] == [6, 6, 6]
    assert seen and [*dict.fromkeys(seen)] == [*(trial.name for trial in TINY), "drawing"]
    study(out=tmp_path / "b", page=tmp_path / "docs" / "x.md", **how)  # type: ignore[arg-type]
    for name in ("outcomes.json", "claims.json", "report.md", "figures/beyond-where.svg"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert (tmp_path / "docs" / "figures" / "beyond-worst.png").exists()

    def no_work(*_: object, **__: object) -> None:
        raise AssertionError("computed again")

    monkeypatch.setattr("sojourn.simulation.chunks.chunk", no_work)
    study(out=tmp_path / "a", **how)  # type: ignore[arg-type]
    monkeypatch.setattr(Trial, "run", no_work)
    again = study(out=tmp_path / "a", redraw=True, **how)  # type: ignore[arg-type]
    assert again.command == "python -m research beyond --precision full"


def test_the_page_has_everything(tmp_path: Path) -> None:
    findings = findings_of({"IMED": 60.0, BOUND: 50.0, "Gated IMED": 70.0})
    save(findings.every, tmp_path, seed=3, quick=False)
    trials = [o.trial for o in findings.every]
    replace(STUDY, trials=trials).conduct(out=tmp_path, redraw=True)
    page = (tmp_path / "report.md").read_text()
    assert "`python -m research beyond --precision full --seed 3`" in page
    assert "{" not in page
    for words in ("Fitted to real logs", "Worst cases", "KL-UCB+", "0.600", "Not run."):
        assert words in page
    for name in ("beyond-where", "beyond-worst"):
        assert (tmp_path / "figures" / f"{name}.svg").stat().st_size > 5_000


def test_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    findings = findings_of({"IMED": 60.0, BOUND: 50.0})
    save(findings.every, tmp_path, seed=0, quick=True)
    assert main(["beyond", "--redraw", "--out", str(tmp_path)]) == 0
    assert "Report:" in capsys.readouterr().out
    assert main(["beyond", "--redraw", "--out", str(tmp_path), "--json"]) == 0
    claims = json.loads(capsys.readouterr().out)
    assert len(claims) == len(CLAIMS)

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Trial, "run", stop)
    assert main(["beyond", "--out", str(tmp_path)]) == 130
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == "note: stopped; the same command continues from here"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--quick", "--precision", "full"], "give either --quick or --precision full, not both"),
        (["--precision", "high"],
         "precision = 'high' is not allowed: it must be one of quick, full"),
        (["--seed", "-1"],
         "seed = -1 is not allowed: it must be a whole number from 0 to 9.22337e+18"),
        (["--workers", "0"], "workers = 0 is not allowed: it must be a whole number of at least 1"),
        (["--redraw"], "outcomes.json does not exist: run without redrawing first"),
    ],
)  # fmt: skip
def test_bad_arguments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert main(["beyond", "--out", str(tmp_path), *arguments]) == 2
    assert capsys.readouterr().err.rstrip().endswith(sentence)


def test_out_must_be_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["beyond", "--out", str(tmp_path / "file")]) == 2
    assert (
        "it must be a folder that can be created and written (file exists)"
        in capsys.readouterr().err
    )


def test_every_policy_goes_by_its_own_label() -> None:
    for name, roster in ROSTERS.items():
        for label, policy in roster.items():
            if name not in ("confidence", "headline") and isinstance(policy, Policy):
                assert label == policy.label
    assert ROSTERS["main"]["Learned IMED"] == LearnedIMED() == LearnedIMED(floor=0)
    assert ROSTERS["main"]["Learned IMED, floor=-1"] == LearnedIMED(floor=-1)
    wanted = LearnedIMED(floor=-1, confidence=1.5)
    assert ROSTERS["confidence"]["Learned IMED, floor=-1, confidence=1.5"] == wanted
    assert ROSTERS["main"]["KL-ULCB, opposite"] == KLULCB().opposite()
    assert ROSTERS["caution"]["Gated IMED, c0=0"] == GatedIMED(c0=0)


def test_outcomes_of_other_policies_are_refused(tmp_path: Path) -> None:
    """Labels of the first version named other policies."""
    save([made_up({"UCB": 1.0, "IMED": 2.0})], tmp_path, seed=0, quick=True)
    with pytest.raises(ValueError, match="has other policies than this version"):
        STUDY.conduct(out=tmp_path, redraw=True)
