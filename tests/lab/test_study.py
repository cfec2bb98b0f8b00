"""The study: users outside the model, ratios with intervals, claims, the report, the command."""

import json
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sojourn import KLULCB, Problem, SafeIMED, TwoState, simulate, theory
from sojourn.cli.main import main as cli
from sojourn.lab.beyond import beyond, conclusions, running
from sojourn.lab.beyond.claims import CLAIMS, check, harmless, near_better_case
from sojourn.lab.beyond.crowds import Layered
from sojourn.lab.beyond.outcomes import Findings, Outcome, from_dict, outcome_of
from sojourn.lab.beyond.problems import (
    DIFFERENT,
    DRAWS,
    EVEN,
    LOGS,
    PROBLEMS,
    cost_ratio,
    random_problems,
)
from sojourn.lab.beyond.rosters import FAMILIES, ROSTERS
from sojourn.lab.beyond.summaries import POLICIES, spread, worst
from sojourn.lab.beyond.tastes import Tastes, TastesJob, simulate_tastes
from sojourn.lab.beyond.trials import TRIALS, Trial
from sojourn.lab.claims import Verdict
from sojourn.simulation.chunks import chunk
from sojourn.stats.intervals import Interval

pytest.importorskip("matplotlib")

ROWS = [(0.5, 0.1, 0.1, 0.05)] * 3 + [(0.2, 0.1, 0.6, 0.02)] * 3
CROWD = Layered.kinds(ROWS, EVEN)
SIGMAS = 4.5


def made_up(
    regrets: Mapping[str, float],
    problem: str = "A",
    group: str = "paper",
    roster: str = "main",
    spread: float = 1.0,
    ratio: float = 2.0,
) -> Outcome:
    """An outcome with these regrets, whose estimates have this standard error and no covariance."""
    trial = Trial(group, problem, roster, 100, 64)
    size = len(regrets)
    facts = {"cost_ratio": ratio, "arms": 2.0, "length": 9.0}
    mean = np.array(list(regrets.values()))
    return Outcome(trial, tuple(regrets), 64, mean, np.eye(size) * spread**2, facts)


def everybody(**changed: float) -> dict[str, float]:
    """Regrets of the whole main roster: 100, but for those changed."""
    names = {
        label.replace(" ", "_").replace("-", "_").replace(",", ""): label for label in POLICIES
    }
    return {label: changed.get(name, 100.0) for name, label in names.items()}


def study_of(**changed: float) -> Findings:
    """Made-up findings with two problems in every group."""
    groups = list(PROBLEMS)
    return Findings(
        [
            made_up(everybody(**changed), problem, group, ratio=ratio)
            for group in groups
            for problem, ratio in zip(list(PROBLEMS[group])[:2], (0.5, 2.0), strict=True)
        ]
    )


def test_one_layer_is_a_two_state_user() -> None:
    q = (0.5, 0.1, 0.2, 0.05)
    plain, layered = (
        Problem([0.8, 0.6], TwoState(*q)),
        Problem([0.8, 0.6], Layered.steps([q] * DIFFERENT)),
    )
    for s in range(2):
        for arm in range(2):
            assert layered.gap(s, arm) == pytest.approx(plain.gap(s, arm), rel=1e-12)
    assert layered.length.mean == pytest.approx(plain.length.mean, rel=1e-12)
    one = chunk(plain, SafeIMED(), 1, 0, 3, np.array([50]))
    other = chunk(layered, SafeIMED(), 1, 0, 3, np.array([50]))
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_steps_move_through_the_layers() -> None:
    user = Layered.steps([(0.1, 0.1, 0.1, 0.1), (0.2, 0.2, 0.2, 0.2), (0.3, 0.3, 0.3, 0.3)])
    state, chances = user.begin(0.999), []
    for _ in range(4):
        chances.append(user.leave_probability(state, 1.0))
        state = user.next_state(state, 1.0)
    assert chances == [0.1, 0.2, 0.3, 0.3]
    # Leaving does not depend on rewards: the survival function, by hand.
    length = 1 + 0.9 + 0.9 * 0.8 / 0.3
    assert Problem([0.6, 0.5], user).length.mean == pytest.approx(length)


def test_kinds_have_the_average_of_their_values() -> None:
    value = np.mean([Problem([0.8, 0.6], TwoState(*q)).value() for q in ROWS])
    assert Problem([0.8, 0.6], CROWD).value() == pytest.approx(value)


def test_layers_are_checked() -> None:
    with pytest.raises(ValueError) as refusal:
        Layered.steps([(0.1, 0.1, 0.1, 1.1)])
    assert str(refusal.value) == (
        "rows[0].q11 = 1.1 is not allowed: it must be a number from 0 to 1"
    )


def test_equal_tastes_are_the_kernels_problem(tmp_path: Path) -> None:
    """With the same means for everybody it is a problem that `simulate` plays, with leases."""
    means = (0.8, 0.7, 0.6)
    tastes = Tastes((means,) * DIFFERENT, CROWD)
    policies = [SafeIMED()]
    mine = simulate_tastes(tastes, policies, visits=60, runs=5, seed=3, store=tmp_path / "c.db")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", theory.AssumptionWarning)
        other = simulate(
            Problem(means, CROWD), policies, visits=60, runs=5, seed=3, checkpoints=[60]
        )
    for a, b in zip(mine.moments, other.moments, strict=True):
        np.testing.assert_allclose(a.mean, b.mean, rtol=1e-9)
        np.testing.assert_allclose(a.squares, b.squares, rtol=1e-6, atol=1e-9)


def test_regret_of_tastes_is_the_reward_lost(tmp_path: Path) -> None:
    """Against always the best arm, whose value is known, with means that differ by person."""
    rows = ((0.8, 0.6),) * 4 + ((0.4, 0.7),) * 2
    tastes = Tastes(rows, CROWD)
    chances = np.array(CROWD.start.chances)
    starts = np.array(CROWD.start.states, int)
    best = float(chances @ tastes.worth[tastes.best_arm][starts])
    found = simulate_tastes(tastes, [SafeIMED()], visits=40, runs=600, store=tmp_path / "c.db")
    lost = 40 * best - found.reward.mean[0, -1]
    error = np.hypot(found.reward.std_error[0, -1], found.regret.std_error[0, -1])
    assert abs(lost - found.regret.mean[0, -1]) < SIGMAS * error
    assert found.regret.mean[0, -1] > SIGMAS * found.regret.std_error[0, -1]


def test_tastes_are_kept_in_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tastes = Tastes(((0.8, 0.6),) * DIFFERENT, CROWD)
    how = {"visits": 20, "runs": 4, "store": tmp_path / "c.db"}
    first = simulate_tastes(tastes, [SafeIMED()], **how)  # type: ignore[arg-type]

    def no_work(*_: object) -> None:
        raise AssertionError("computed again")

    monkeypatch.setattr(TastesJob, "compute", no_work)
    again = simulate_tastes(tastes, [SafeIMED()], **how)  # type: ignore[arg-type]
    assert (again.moments[0].mean == first.moments[0].mean).all()


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
    assert all(trial.make() is not None for trial in TRIALS if trial.group != "random")
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
        problem = make()
        improper = isinstance(problem, Problem) and theory.case(problem) == "improper"
        assert improper == name.startswith("best arm is not optimal")


def test_families_are_on_their_rosters() -> None:
    for roster, families in FAMILIES.items():
        for family in families:
            assert {family.plain, family.learned, *family.fixed} <= set(ROSTERS[roster])


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
    trial = Trial("paper", "B", "caution", 30, 8)
    result = running.run_trial(trial, 8, store=tmp_path / "c.db")
    outcome = outcome_of(trial, result)
    for p, one in enumerate(outcome.labels):
        assert outcome.regret(one).value == result.regret.mean[p, -1]
        for q, other in enumerate(outcome.labels):
            if p != q:
                found, expected = outcome.difference(one, other), result.difference(p, q)
                assert found.value == pytest.approx(float(expected.mean[-1]))
                assert found.high - found.value == pytest.approx(float(expected.half_width[-1]))
    again = from_dict(trial, json.loads(json.dumps(outcome.to_dict())))
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
    family = FAMILIES["main"][2]
    regrets = {"IMED": 150.0, "Safe IMED": 100.0, "Safe IMED, opposite": 300.0}
    findings = Findings([made_up({**regrets, "Learned IMED": learned}, spread=spread)])
    (measured,) = near_better_case(family)(findings)
    assert measured.verdict is verdict
    assert measured.what == "A: Learned IMED / Safe IMED"


def test_harmless_looks_at_neutral_problems_and_logs_only() -> None:
    family = FAMILIES["main"][2]
    regrets = {"IMED": 100.0, "Learned IMED": 120.0}
    places = (("A", "paper"), ("neutral", "near-neutral"), ("OULAD", "logs"))
    findings = Findings([made_up(regrets, *place) for place in places])
    measured = harmless(family)(findings)
    assert [m.what.partition(":")[0] for m in measured] == ["neutral", "OULAD"]
    assert all(m.verdict is Verdict.NOT_CONFIRMED for m in measured)


def test_intervals_that_touch_are_not_apart() -> None:
    claim = CLAIMS[0]
    for below, verdict in ((90.0, Verdict.CONFIRMED), (97.0, Verdict.UNDECIDED)):
        regrets = {"Safe IMED": below, "KL-ULCB": 100.0}
        findings = Findings([made_up(regrets, problem) for problem in "ABCD"])
        checked = check(claim, findings)
        assert checked.verdict is verdict and len(checked.measured) == 4


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
    good = "\n".join(
        conclusions.conclude(study_of(IMED=60.0, Learned_IMED=50.0, Learned_IMED_mean=55.0))
    )
    assert "IMED instead of KL-UCB, with no gate at all: 40 % less" in good
    assert "The smallest worst case is that of Learned IMED" in good
    bad = "\n".join(
        conclusions.conclude(study_of(IMED=60.0, Learned_IMED=90.0, Learned_IMED_mean=90.0))
    )
    assert "The smallest worst case is that of IMED" in bad
    assert "50 % more" in bad
    assert "but not every risk" in bad and "without the bet" in good


def test_of_takes_the_outcome_of_most_runs() -> None:
    regrets = {"IMED": 1.0, "KL-UCB": 2.0}
    few, many = made_up(regrets), replace(made_up(regrets, roster="confidence"), runs=128)
    assert Findings([few, many]).of("paper", "IMED") == [many]


TINY = (
    Trial("paper", "B", "caution", 40, 6, 4),
    Trial("paper", "C", "caution", 40, 6, 4),
    Trial("violations", "people differ in q", "caution", 40, 6),
)


def test_a_study_is_resumed_redrawn_and_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    how = {"precision": "full", "trials": TINY}
    one = beyond.study(out=tmp_path / "a", progress=lambda now: seen.append(now.work), **how)  # type: ignore[arg-type]
    assert [o.runs for o in one.findings.outcomes] == [6, 6, 6]
    assert seen and seen[-1] == TINY[-1].name
    beyond.study(out=tmp_path / "b", page=tmp_path / "docs" / "x.md", **how)  # type: ignore[arg-type]
    for name in ("outcomes.json", "claims.json", "report.md", "figures/beyond-where.svg"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert (tmp_path / "docs" / "figures" / "beyond-worst.png").exists()

    def no_work(*_: object, **__: object) -> None:
        raise AssertionError("computed again")

    monkeypatch.setattr("sojourn.simulation.work.chunk", no_work)
    beyond.study(out=tmp_path / "a", **how)  # type: ignore[arg-type]
    monkeypatch.setattr(running, "run_trial", no_work)
    again = beyond.study(out=tmp_path / "a", redraw=True, **how)  # type: ignore[arg-type]
    assert again.command == "sojourn study beyond --precision full"


def test_the_page_has_everything(tmp_path: Path) -> None:
    findings = study_of(IMED=60.0, Learned_IMED=50.0, Safe_IMED=70.0)
    running.save(findings, tmp_path, seed=3, quick=False)
    trials = [o.trial for o in findings.outcomes]
    beyond.study(out=tmp_path, redraw=True, trials=trials)
    page = (tmp_path / "report.md").read_text()
    assert "`sojourn study beyond --precision full --seed 3`" in page
    assert "{" not in page
    for words in ("Fitted to real logs", "Worst cases", "KL-UCB+", "0.600", "Not run."):
        assert words in page
    for name in ("beyond-where", "beyond-worst"):
        assert (tmp_path / "figures" / f"{name}.svg").stat().st_size > 5_000


def test_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    findings = study_of(IMED=60.0, Learned_IMED=50.0)
    running.save(findings, tmp_path, seed=0, quick=True)
    assert cli.main(["study", "beyond", "--redraw", "--out", str(tmp_path)]) == 0
    assert "Report:" in capsys.readouterr().out
    assert cli.main(["study", "beyond", "--redraw", "--out", str(tmp_path), "--json"]) == 0
    claims = json.loads(capsys.readouterr().out)
    assert len(claims) == len(CLAIMS)

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "run_trial", stop)
    assert cli.main(["study", "beyond", "--out", str(tmp_path)]) == 130
    assert capsys.readouterr().err == "note: stopped; the same command goes on from here\n"


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
    assert cli.main(["study", "beyond", "--out", str(tmp_path), *arguments]) == 2
    assert capsys.readouterr().err.rstrip().endswith(sentence)


def test_out_must_be_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert cli.main(["study", "beyond", "--out", str(tmp_path / "file")]) == 2
    assert "cannot be used as a folder (file exists)" in capsys.readouterr().err


def test_policies_are_those_of_the_labels() -> None:
    assert ROSTERS["main"]["KL-ULCB, opposite"] == KLULCB().opposite()
    assert ROSTERS["caution"]["Safe IMED, mean"] == SafeIMED(c0=0)
