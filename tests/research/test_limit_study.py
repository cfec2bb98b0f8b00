"""The study of the limit: its roster, its arithmetic, its page."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kept_outcomes import save

import sojourn as sj
from research.studies.limit import STUDY
from research.studies.limit.claims import CLAIMS, HEADLINE
from research.studies.limit.trials import (
    CASES,
    FOR_CHANGES,
    TRIALS,
    Case,
    LimitOutcome,
    Limits,
    LimitTrial,
    informed_title,
    roster,
    title_of,
)
from sojourn.paper.verdicts import Report, Verdict, check
from sojourn.stats.intervals import Interval
from sojourn.validation import InputError
from sojourn.values.finite import FiniteUser
from sojourn.values.prior import check_finite, priors_of

SMALL = Case("B, 2 visits", CASES[0].make, 2, 12)


def trial(**policies: Any) -> LimitTrial:
    return LimitTrial(SMALL.name, "B", TRIALS[0].make, policies, 20, 20, visits=2, case=SMALL)


def conduct(trial: LimitTrial, out: Path, **how: Any) -> Report[Limits]:
    return replace(STUDY, trials=[trial]).conduct(out=out, **how)


INFORMED = informed_title(sj.policies.PricedIndex)
EVERY = [
    *(
        title_of(cls)
        for cls in (*sj.policies.POLICIES.values(), *sj.policies.ORACLES.values())
        if cls not in FOR_CHANGES
    ),
    *(INFORMED, informed_title(sj.policies.UCBQLearning)),
]
BEST = {"Priced index": 1.1, INFORMED: 1.05, "Exact index": 1.05}


def test_every_policy_of_the_registry_plays() -> None:
    for each in TRIALS[:1] + TRIALS[4:5]:
        assert set(each.players()) == set(roster(each.case)) == set(EVERY)
    players = TRIALS[4].players()
    assert players["Exact index"] == sj.policies.ExactIndex(CASES[4].user, visits=5)
    assert players["Priced index"] == sj.policies.PricedIndex()
    assert players[INFORMED] == sj.policies.PricedIndex(visits=5)


def test_cases_are_a_dozen_that_have_a_limit() -> None:
    assert len({case.name for case in CASES}) == len(CASES) == 12
    for case in CASES:
        check_finite(FiniteUser.of(case.user), priors_of(case.prior, case.arms))
        assert sj.theory.bayes_memory(
            case.user, arms=case.arms, prior=case.prior, visits=case.visits, fixed=case.fixed,
            pulls=case.pulls, plan=True,
        ) < 4e8  # fmt: skip


def test_who_does_not_fit_is_left_out() -> None:
    def refuse(problem: sj.Problem) -> sj.Policy:
        raise InputError("does not apply")

    found = trial(
        One=sj.policies.Uniform(), Other=refuse, Third=lambda problem: sj.policies.FixedArm(arm=5)
    )
    assert found.players() == {"One": sj.policies.Uniform()}


def made(multiple: float, **others: float) -> LimitOutcome:
    multiples = dict.fromkeys(EVERY, multiple) | others
    regrets = {x: Interval.around(4.0 * m, 0.01) for x, m in multiples.items()}
    return LimitOutcome("case", 3.9, 4.0, 50.0, 100, regrets)


def test_claims_follow_the_numbers() -> None:
    def verdicts(outcome: LimitOutcome) -> list[Verdict]:
        return [check(claim, Limits([outcome])).verdict for claim in CLAIMS]

    assert verdicts(made(1.5, **BEST)) == [Verdict.CONFIRMED] * len(CLAIMS)
    wrong = made(1.5, **{"UCB": 0.8, "Learned IMED": 3.0, "KL-ULCB": 1.05, "Exact index": 1.2})
    assert verdicts(wrong) == [Verdict.NOT_CONFIRMED] * len(CLAIMS)


def test_policies_are_sorted_and_those_that_miss_cases_come_last() -> None:
    one, other = made(2.0, UCB=1.0, IMED=1.5), made(2.0, UCB=4.0, IMED=1.5)
    some = LimitOutcome(
        "c", 1.0, 1.0, 2.0, 9, {k: v for k, v in other.regrets.items() if k != "IMED"}
    )
    assert Limits([one, other]).labels[0] == "IMED"
    typical = Limits([one, other]).typical("UCB")
    assert typical.value == pytest.approx(2.0)
    assert typical.high == pytest.approx(2.0 * (1.0 + (0.01 / 4.0 + 0.01 / 16.0) / 2.0))
    assert Limits([one, other]).worst("UCB") == pytest.approx(4.0)
    assert Limits([one, some]).labels[-1] == "IMED"


def test_the_page_has_a_row_for_everybody() -> None:
    findings = Limits([made(1.5, **BEST)])
    report = Report(findings, [check(claim, findings) for claim in CLAIMS], "command", 0, "quick")
    page = STUDY.page(report)
    assert f"{len(CLAIMS)} confirmed" in page
    for title in EVERY:
        assert page.count(f"| {title} |") == 2 + (title in HEADLINE)
    assert "the paper's best policy has 50% more regret" in page
    assert "| Priced index | nothing | 1.10 | 1.10 |" in page


def test_a_study_is_kept_goes_on_and_is_redrawn(tmp_path: Path) -> None:
    one = trial(**{"Uniform": sj.policies.Uniform(), "KL-ULCB": sj.policies.FixedArm()})
    report = conduct(one, tmp_path)
    found = report.findings.every[0]
    assert found.low < found.high and set(found.regrets) == {"Uniform", "KL-ULCB"}
    kept = tmp_path / "trials" / "B, 2 visits.json"
    data = json.loads(kept.read_text())
    data["regrets"]["Uniform"]["value"] = 123.0  # taken from there, as it is not run again
    kept.write_text(json.dumps(data))
    more = trial(**{**one.policies, "Greedy": sj.policies.Greedy()})
    again = conduct(more, tmp_path).findings.every[0].regrets
    assert list(again) == ["Uniform", "KL-ULCB", "Greedy"] and again["Uniform"].value == 123.0
    assert again["KL-ULCB"] == found.regrets["KL-ULCB"] != again["Greedy"]
    other = trial(
        **{**one.policies, "Uniform": sj.policies.FixedArm()}
    )  # another policy of that name
    assert conduct(other, tmp_path).findings.every[0].regrets["Uniform"].value != 123.0
    assert conduct(one, tmp_path, seed=1).findings.every[0].told == found.told
    again = conduct(one, tmp_path, redraw=True)
    assert again.seed == 1 and (tmp_path / "figures" / "limit.png").exists()


def test_the_command_prints_verdicts_as_json(tmp_path: Path, run: Any) -> None:
    save([made(1.5, **BEST)], tmp_path)
    page = tmp_path / "docs" / "limit.md"
    done = run("limit", "--redraw", "--out", str(tmp_path), "--page", str(page), "--json")
    assert done.code == 0
    assert [found["verdict"] for found in json.loads(done.out)] == ["confirmed"] * len(CLAIMS)
    assert "python -m research limit --precision quick" in page.read_text()
    assert (page.parent / "figures" / "limit.png").exists()
