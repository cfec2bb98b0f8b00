"""Recommendations: the rule, the words, the command."""

import json
import warnings

import pytest

from sojourn import ByArm, Ema, Problem, TwoState, recommend
from sojourn.cli.main import main
from sojourn.paper import SETTINGS
from sojourn.policies import IMED, KLUCB, FixedArm, LearnedIMED, Policy, PricedIndex, Uniform
from sojourn.recommendation import (
    BASELINE,
    CAVEATS,
    PLAIN,
    SURE,
    Recommendation,
    _in_words,
    candidates,
    choose,
)
from sojourn.registry import described
from sojourn.rewards import Beta
from sojourn.stats.intervals import Interval
from sojourn.theory import AssumptionWarning
from sojourn.users import Levels, LogLeave

ASSISTMENTS_2015 = Problem([0.9, 0.7, 0.5], TwoState(0.133, 0.0169, 0.1064, 0.4361))
NAMES = ["KL-UCB", "IMED", "Learned IMED", "Gated IMED"]
ROUGH = {"visits": 100, "precision": "50%"}


def beside(regrets: tuple[float, ...], half_width: float) -> dict[str, list[Interval]]:
    """Differences from the two policies that need no knowledge."""
    return {
        name: [
            Interval.around(r - regrets[NAMES.index(name)], half_width if n != name else 0.0)
            for n, r in zip(NAMES, regrets, strict=True)
        ]
        for name in ("Learned IMED", "IMED")
    }


@pytest.mark.parametrize(
    ("regrets", "half_width", "certain", "chosen", "words"),
    [
        ((90, 80, 50, 45), 7.0, True, "Learned IMED", "no candidate is significantly better"),
        ((90, 80, 50, 45), 1.0, True, "Gated IMED", "better than Learned IMED by 5.0 ± 1.0"),
        ((90, 80, 50, 45), 1.0, False, "Learned IMED", "would be better by 5.0 ± 1.0"),
        ((90, 40, 50, 45), 1.0, False, "IMED", "is better here than Learned IMED, and no"),
        ((90, 45, 50, 40), 1.0, True, "Gated IMED", "better than IMED by 5.0 ± 1.0"),
    ],
)
def test_the_rule(
    regrets: tuple[float, ...], half_width: float, certain: bool, chosen: str, words: str
) -> None:
    name, why = choose(NAMES, beside(regrets, half_width), SURE if certain else None)
    assert name == chosen and words in why


def test_candidates_are_of_the_right_case() -> None:
    normal, opposite = candidates(SETTINGS["A"]), candidates(SETTINGS["opposite"])
    assert described(normal["KL-ULCB"])[1]["c0"] == -1.0
    assert described(opposite["Gated IMED, opposite"])[1]["c0"] == 1.0
    assert "CONT-KL-ULCB" in candidates(SETTINGS["ema-100"])
    improper = candidates(ASSISTMENTS_2015)
    assert list(improper) == [
        "KL-UCB", "IMED", "Learned IMED", "Priced index", "Visit IMED, follow_improper=true"
    ]  # fmt: skip
    neutral = Problem([0.6, 0.5], TwoState(0.2, 0.2, 0.2, 0.2))
    assert list(candidates(neutral)) == ["KL-UCB", "IMED", "Learned IMED", "Priced index"]


def test_a_recommendation() -> None:
    advice = recommend(SETTINGS["B"], **ROUGH)  # type: ignore[arg-type]
    assert isinstance(advice, Recommendation)
    assert advice.policy == PricedIndex() and advice.case == "normal"
    assert advice.reason.startswith("A mistake costs 2.19 times as much in the worst state")
    assert advice.gain.low < advice.gain.value < advice.gain.high
    lost = advice.regrets["KL-UCB"].value - advice.regrets[advice.name].value
    assert advice.gain.value == pytest.approx(lost)
    paired = advice.gain.high - advice.gain.low
    assert paired < advice.regrets["KL-UCB"].high - advice.regrets["KL-UCB"].low + paired / 2
    text = str(advice)
    assert text.startswith("Run Priced index.\nExpected gain over") and "* Priced index" in text
    assert advice.reason.endswith(CAVEATS["Priced index"])
    assert text.endswith(f"In Python: {advice.policy!r}")
    assert json.loads(json.dumps(advice.to_dict()))["policy"]["name"] == "PricedIndex"
    assert recommend(SETTINGS["B"], **ROUGH) == advice  # type: ignore[arg-type]


def test_gain_grows_significant_with_visits() -> None:
    advice = recommend(SETTINGS["B"], visits=3_000, precision="10%", certain=True)
    assert advice.gain.low > 0.0
    assert advice.regrets[advice.name].value == min(r.value for r in advice.regrets.values())


def test_what_is_there_now_comes_first() -> None:
    advice = recommend(SETTINGS["B"], incumbent=Uniform(), **ROUGH)  # type: ignore[arg-type]
    assert advice.policy == PricedIndex() and not advice.keeps
    lost = advice.regrets["Uniform"].value - advice.regrets[advice.name].value
    assert advice.over_incumbent is not None and advice.over_incumbent.value == pytest.approx(lost)
    assert advice.rewards is not None
    everything = SETTINGS["B"].value() * 100
    assert advice.rewards == pytest.approx(everything - advice.regrets["Uniform"].value)
    head, _, rest = str(advice).partition("Expected gain over KL-UCB")
    assert "Expected gain over the current recommender (Uniform) in 100 visits" in head and rest
    assert json.loads(json.dumps(advice.to_dict()))["incumbent"]["label"] == "Uniform"


@pytest.mark.parametrize("incumbent", [FixedArm(0), PricedIndex()])
def test_what_is_good_is_kept(incumbent: Policy) -> None:
    advice = recommend(SETTINGS["B"], incumbent=incumbent, **ROUGH)  # type: ignore[arg-type]
    assert advice.keeps and advice.policy == incumbent
    assert (
        str(advice).startswith(f"Keep {incumbent.label}.")
        and "the current recommender" in advice.reason
    )


def test_moving_averages() -> None:
    problem = Problem([0.6, 0.4], Ema(theta=0.5, leave=LogLeave(c6=100)))
    advice = recommend(problem, visits=30, precision="50%")
    assert "DISC-KL-ULCB" in advice.regrets and advice.policy == PricedIndex()


CLICKBAIT = Problem([0.8, 0.6], ByArm.odds(TwoState(0.15, 0.08, 0.12, 0.06), [2, 0]))
MILD = Problem([0.8, 0.6], ByArm.odds(TwoState(0.15, 0.08, 0.12, 0.06), [-1, 0]))
SHARES = Problem(
    rewards=[Beta(3, 2), 0.5], user=Levels(TwoState(0.15, 0.08, 0.12, 0.06), thresholds=[0.5])
)


def test_words_outside_the_paper() -> None:
    assert _in_words(CLICKBAIT, "by arm").startswith(
        "Leaving depends on the arm, and in some state the arm of highest mean is not the one"
    )
    assert _in_words(MILD, "by arm").endswith("is best in every state all the same.")
    assert _in_words(SHARES, "graded").startswith("Rewards are graded, and the arm of highest")
    assert list(candidates(SHARES)) == [
        "KL-UCB", "IMED", "Learned IMED", "Priced index",
        "Empirical IMED", "Learned Empirical IMED", "Visit IMED",
    ]  # fmt: skip
    assert "Visit IMED" in candidates(CLICKBAIT)


def test_who_learns_from_departures_is_told_which_rewards_are_good() -> None:
    user = Levels(TwoState(0.15, 0.08, 0.12, 0.06), thresholds=[0.7])
    told = candidates(Problem(rewards=[Beta(3, 2), 0.5], user=user))
    assert told["Learned IMED, threshold=0.7"] == LearnedIMED(threshold=0.7)
    assert LearnedIMED.for_problem(Problem([0.6, 0.5], user)) == LearnedIMED()
    assert "Empirical IMED" in told


def test_one_that_needs_no_knowledge_and_is_best_is_taken() -> None:
    less = beside((90, 80, 70, 45), 1.0)
    less["Gated IMED"] = [Interval.around(r - 45.0, 1.0) for r in (90, 80, 70, 45)]
    name, why = choose(NAMES, less, None)
    assert name == "Gated IMED" and "best of those that need no knowledge of the problem" in why


def test_what_rare_runs_cost_is_said_whatever_the_parameters() -> None:
    name = "Priced index, threshold=0.7"
    less = {"Learned IMED": [Interval.exact(0.0), Interval.around(-9.0, 1.0)]}
    less[name] = [Interval.around(9.0, 1.0), Interval.exact(0.0)]
    assert choose(["Learned IMED", name], less, None)[1].endswith(CAVEATS["Priced index"])


def test_improper_problems_are_warned_about() -> None:
    with pytest.warns(AssumptionWarning, match="the best arm is not the one to play"):
        advice = recommend(ASSISTMENTS_2015, **ROUGH)  # type: ignore[arg-type]
    assert advice.case == "improper" and advice.reason.startswith("Beware: in some state")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"visits": 0}, "visits = 0 is not allowed: it must be a whole number of at least 1"),
        (
            {"incumbent": 3},
            "policy 3 is not allowed: it must be a policy such as UCB(), or the name of one",
        ),
        ({"certain": "yes"}, "certain = 'yes' is not allowed: it must be True or False"),
    ],
)
def test_bad_arguments(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError) as refusal:
        recommend(SETTINGS["B"], **arguments)  # type: ignore[arg-type]
    assert str(refusal.value) == sentence


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--visits", "100", "--precision", "50%"]
    assert main(["recommend", "B", *few]) == 0
    assert "Expected gain over KL-UCB in 100 visits" in capsys.readouterr().out
    assert main(["recommend", "B", *few, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["case"] == "normal"
    assert main(["recommend", "B", *few, "--incumbent", "Uniform"]) == 0
    assert "over the current recommender (Uniform)" in capsys.readouterr().out
    assert main(["recommend", "nowhere"]) == 2
    assert "problem 'nowhere' is not known" in capsys.readouterr().err


def test_the_policies_of_the_rule_are_candidates() -> None:
    """Also when the rule is told labels only, as by a decision on draws."""
    always = candidates(Problem([0.6, 0.5], TwoState(0.2, 0.2, 0.2, 0.2)))
    assert always[LearnedIMED().label] == LearnedIMED() and always[PLAIN] == IMED()
    assert always[BASELINE] == KLUCB()


def test_the_paper_s_warnings_are_not_repeated() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        advice = recommend(SETTINGS["opposite"], **ROUGH)  # type: ignore[arg-type]
    assert advice.case == "opposite"
