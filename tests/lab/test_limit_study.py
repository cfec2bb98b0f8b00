"""The study of the limit: its roster, its arithmetic, its page."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from sojourn.lab.claims import Verdict, check
from sojourn.lab.limit.claims import CLAIMS
from sojourn.lab.limit.outcomes import LimitOutcome, Limits
from sojourn.lab.limit.page import to_page
from sojourn.lab.limit.study import study
from sojourn.lab.limit.trials import CASES, TRIALS, Case, LimitTrial, roster, title_of
from sojourn.lab.report import Report
from sojourn.stats.intervals import Interval
from sojourn.values.finite import FiniteUser
from sojourn.values.prior import check_finite, priors_of

SMALL = Case("B, 2 visits", CASES[0].make, 2, 12)


def trial(**policies: Any) -> LimitTrial:
    environment = TRIALS[0].make
    return LimitTrial(SMALL.name, "B", environment, policies, 20, 20, visits=2, case=SMALL)


EVERY = [title_of(cls) for cls in (*sj.POLICIES.values(), *sj.policies.TOLD.values())]


def test_every_policy_of_the_registry_plays() -> None:
    for each in TRIALS[:1] + TRIALS[4:5]:
        assert set(each.players()) == set(roster(each.case)) == set(EVERY)
    exact = TRIALS[4].players()["Exact index"]
    assert exact == sj.ExactIndex(CASES[4].user, visits=5)


def test_cases_are_a_dozen_that_have_a_limit() -> None:
    assert len({case.name for case in CASES}) == len(CASES) == 12
    for case in CASES:
        check_finite(FiniteUser.of(case.user), priors_of(case.prior, case.arms))
        assert sj.theory.bayes_memory(
            case.user, arms=case.arms, prior=case.prior, visits=case.visits, fixed=case.fixed,
            pulls=case.pulls, plan=True,
        ) < 4e8  # fmt: skip


@dataclass(frozen=True)
class Told(sj.Uniform):
    """A policy that has to know the number of visits."""

    visits: float = 1.0


def test_who_does_not_fit_is_left_out_and_who_has_to_know_the_horizon_is_told_it() -> None:
    def refuse(problem: sj.Problem) -> sj.Policy:
        raise ValueError

    found = trial(One=Told(), Other=refuse, Third=lambda problem: sj.FixedArm(arm=5)).players()
    assert found == {"One": Told(visits=2)}


def made(multiple: float, **others: float) -> LimitOutcome:
    multiples = dict.fromkeys(EVERY, multiple) | others
    regrets = {x: Interval.around(4.0 * m, 0.01) for x, m in multiples.items()}
    return LimitOutcome("case", 3.9, 4.0, 50.0, 100, regrets)


def test_claims_follow_the_numbers() -> None:
    def verdicts(outcome: LimitOutcome) -> list[Verdict]:
        return [check(claim, Limits([outcome])).verdict for claim in CLAIMS]

    assert verdicts(made(1.5, **{"Exact index": 1.05})) == [Verdict.CONFIRMED] * 4
    wrong = made(1.5, **{"UCB": 0.8, "Learned IMED": 3.0, "KL-ULCB": 1.05, "Exact index": 1.2})
    assert verdicts(wrong) == [Verdict.NOT_CONFIRMED] * 4


def test_policies_are_sorted_and_those_that_miss_cases_come_last() -> None:
    one, other = made(2.0, UCB=1.0, IMED=1.5), made(2.0, UCB=4.0, IMED=1.5)
    some = LimitOutcome(
        "c", 1.0, 1.0, 2.0, 9, {k: v for k, v in other.regrets.items() if k != "IMED"}
    )
    assert Limits([one, other]).labels[0] == "IMED"
    assert Limits([one, other]).typical("UCB") == pytest.approx(2.0)
    assert Limits([one, other]).worst("UCB") == pytest.approx(4.0)
    assert Limits([one, some]).labels[-1] == "IMED"


def test_the_page_has_a_row_for_everybody() -> None:
    findings = Limits([made(1.5, **{"Exact index": 1.05})])
    report = Report(findings, [check(claim, findings) for claim in CLAIMS], "command", 0, "quick")
    page = to_page(report)
    assert "4 confirmed" in page
    for title in EVERY:
        assert page.count(f"| {title} |") == 2


def test_a_study_is_kept_goes_on_and_is_redrawn(tmp_path: Path) -> None:
    one = trial(**{"Uniform": sj.Uniform(), "KL-ULCB": sj.FixedArm()})
    report = study(trials=[one], out=tmp_path)
    found = report.findings.every[0]
    assert found.low < found.high and set(found.regrets) == {"Uniform", "KL-ULCB"}
    kept = tmp_path / "trials" / "B, 2 visits.json"
    data = json.loads(kept.read_text())
    data["found"]["told"] = 123.0  # taken from there, as nothing is run again
    kept.write_text(json.dumps(data))
    assert study(trials=[one], out=tmp_path).findings.every[0].told == 123.0
    assert study(trials=[one], out=tmp_path, seed=1).findings.every[0].told == found.told
    again = study(trials=[one], out=tmp_path, redraw=True)
    assert again.seed == 1 and (tmp_path / "figures" / "limit.png").exists()


def test_the_command_prints_verdicts_as_json(tmp_path: Path, run: Any) -> None:
    data = {"seed": 0, "quick": True, "outcomes": [made(1.5, **{"Exact index": 1.05}).to_dict()]}
    (tmp_path / "outcomes.json").write_text(json.dumps(data))
    page = tmp_path / "docs" / "limit.md"
    done = run("study", "limit", "--redraw", "--out", str(tmp_path), "--page", str(page), "--json")
    assert done.code == 0
    assert [found["verdict"] for found in json.loads(done.out)] == ["confirmed"] * len(CLAIMS)
    assert "sojourn study limit --precision quick" in page.read_text()
    assert (page.parent / "figures" / "limit.png").exists()
