"""Problems that the paper excludes: every part of the theory says so, and why."""

import pytest

import sojourn as sj
from sojourn import theory

TWO = sj.TwoState(0.15, 0.08, 0.12, 0.06)
CLICKBAIT = sj.Problem([0.8, 0.6, 0.4], sj.ByArm.odds(TWO, [2, 0, 0]))
SHARES = sj.Problem(
    rewards=[sj.rewards.Beta(2, 5), 0.4], user=sj.users.Levels(TWO, thresholds=[0.5])
)
BOTH = sj.Problem(
    rewards=[sj.rewards.Empirical([0.3, 0.9]), 0.4],
    user=sj.users.StaysFirst(sj.users.Levels(sj.ByArm.odds(TWO, [1, 0]), thresholds=[0.5])),
)
AVERAGE = sj.Problem(
    rewards=[sj.rewards.Empirical([0.6]), 0.4],
    user=sj.Ema(theta=0.5, leave=sj.users.LogLeave(c6=100)),
)
WHY = {
    CLICKBAIT: "leaving depends on the arm",
    SHARES: "rewards are graded",
    BOTH: "leaving depends on the arm",
    AVERAGE: "rewards are graded",
}
problems = pytest.mark.parametrize("problem", WHY, ids=lambda problem: "")


@problems
def test_no_bound_applies_and_the_reason_is_said(problem: sj.Problem) -> None:
    why = f"does not apply, because {WHY[problem]}"
    for bound in theory.bounds(problem):
        assert (bound.slope, bound.reason) == (None, why)
    for condition in (theory.gap_condition(problem), theory.sufficient_condition(problem)):
        assert (condition.left, condition.holds, condition.reason) == (None, False, why)
    with pytest.raises(theory.DoesNotApply, match=f"a table of mistake costs {why}"):
        theory.mistake_costs(problem)
    with pytest.raises(theory.DoesNotApply, match=f"the lemma {why}"):
        theory.lemma3(problem)
    with pytest.raises(ValueError, match="mistake_cost does not apply"):
        problem.mistake_cost(1)


def test_the_bounds_that_do_not_apply_are_those_of_the_model() -> None:
    names = [bound.name for bound in theory.bounds(CLICKBAIT)]
    assert names == [bound.name for bound in theory.bounds(sj.paper.SETTINGS["A"])]
    names = [bound.name for bound in theory.bounds(AVERAGE)]
    assert names == [bound.name for bound in theory.bounds(sj.paper.SETTINGS["ema-100"])]


@problems
def test_case_and_assumptions(problem: sj.Problem) -> None:
    assert theory.case(problem) == ("by arm" if "arm" in WHY[problem] else "graded")
    first, second, *_ = theory.assumptions(problem)
    assert first.name == "leaving is the same after every arm"
    assert second.name == "rewards are 0 or 1"
    assert (first.holds, second.holds) == (not problem.by_arm, not problem.graded)
    with pytest.warns(theory.AssumptionWarning, match=f"fails .{WHY[problem]}"):
        theory.warn_about(problem)


def test_levels_alone_change_nothing() -> None:
    """With rewards of 0 and 1 a threshold makes no difference, and the paper applies."""
    plain, levels = (
        sj.Problem([0.9, 0.8], u) for u in (TWO, sj.users.Levels(TWO, thresholds=[0.5]))
    )
    assert theory.case(levels) == theory.case(plain)
    slopes = [[bound.slope for bound in theory.bounds(problem)] for problem in (plain, levels)]
    assert slopes[0] == slopes[1]
    assert slopes[0][0] is not None or slopes[0][3] is not None


PRINTED = """\
means 0.8, 0.6, 0.4; ByArm.odds(TwoState(q00=0.15, q01=0.08, q10=0.12, q11=0.06), [2.0, 0.0, 0.0])
case: by arm

state       V*  best arm
0      6.34309         1
1      6.49718         1
V*: the reward that the rest of a visit is expected to bring if every choice is right

best visit     mean       sd
reward      6.49718  6.56183
length      10.8286  10.2223

assumptions that fail
  leaving is the same after every arm: leaving depends on the arm
  best arm optimal in every state: in state 0 arm 1 is better by 1.82799

no bound of the paper on the regret applies, because leaving depends on the arm"""


def test_summary_in_print() -> None:
    assert str(theory.summary(CLICKBAIT)) == PRINTED
    shown = str(theory.summary(SHARES))
    assert shown.startswith("rewards Beta(a=2.0, b=5.0), Bernoulli(mean=0.4); Levels(TwoState(")
    assert "  rewards are 0 or 1: rewards are graded" in shown
    assert shown.endswith(
        "\nno bound of the paper on the regret applies, because rewards are graded"
    )
    assert len(str(theory.summary(BOTH)).splitlines()) < 20


@problems
def test_summary_as_data(problem: sj.Problem) -> None:
    found = theory.summary(problem).to_dict()
    assert found["mistake_costs"] == {}
    assert {float(s): v for s, v in found["values"].items()} == {
        s: pytest.approx(problem.value(s))
        for s in ((0, 0.25, 0.5, 0.75, 1) if problem is AVERAGE else (0, 1))
    }
    assert {float(s): a for s, a in found["best_arms"].items()}[1.0] == problem.rule(1)
    assert ("rewards" in found) == problem.graded
    if problem is SHARES:
        assert found["rewards"] == ["Beta(a=2.0, b=5.0)", "Bernoulli(mean=0.4)"]
