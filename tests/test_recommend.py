"""Recommendations: the rule, the words, the command."""

import json
import warnings

import pytest

from sojourn import ByArm, Ema, Problem, TwoState, recommend
from sojourn.cli.main import main
from sojourn.paper import SETTINGS
from sojourn.policies import DEFAULT, FixedArm, LearnedIMED, Policy, Uniform
from sojourn.recommendation import ALWAYS, Recommendation, _in_words, candidates, choose
from sojourn.registry import described
from sojourn.rewards import Beta
from sojourn.stats.intervals import Interval
from sojourn.theory import AssumptionWarning
from sojourn.users import Levels, LogLeave

ASSISTMENTS_2015 = Problem([0.9, 0.7, 0.5], TwoState(0.133, 0.0169, 0.1064, 0.4361))
FIRST = DEFAULT(departures=False)
ROUGH = {"visits": 100, "precision": "50%"}
DEFAULT_NAME = "Engagement index"
SAFE = [DEFAULT_NAME, "KL-UCB", "IMED"]


@pytest.mark.parametrize(
    ("regrets", "tails", "certain", "chosen", "words"),
    [
        ((50, 90, 49.5, 45), (9, 9, 9, 9), False, 0, "Gated IMED would be better than Engagement"),
        ((50, 90, 49.5, 45), (9, 9, 9, 9), True, 3, "Gated IMED gains 5.0 ± 1.0 rewards more than"),
        ((50, 90, 49.5, 45), (9, 9, 9, 10), True, 0, "but its rare bad runs are worse"),
        ((50, 90, 40, 45), (9, 9, 9, 9), False, 2, "IMED gains 10.0 ± 1.0 rewards more than"),
        ((50, 90, 40, 45), (9, 9, 10, 9), False, 0, "but its rare bad runs are worse"),
        ((50, 90, 40, 45), (9, 9, 10, 9), True, 3, "and its rare bad runs are no worse"),
        ((50, 50, 48.9, 48.9), (9, 9, 9, 9), True, 0, "no candidate is significantly better"),
    ],
)
def test_the_rule(
    regrets: tuple[float, ...], tails: tuple[float, ...], certain: bool, chosen: int, words: str
) -> None:
    """In the last case each difference alone would be significant, and both together are not."""
    names = [*SAFE, "Gated IMED"]
    less = {n: Interval.around(r - 50.0, 1.0) for n, r in zip(names, regrets, strict=True)}
    less[DEFAULT_NAME] = Interval.exact(0.0)
    by_name = dict(zip(names, map(float, tails), strict=True))
    name, why = choose(less, by_name, names if certain else SAFE)
    assert name == names[chosen] and words in why


def titles(problem: Problem) -> dict[str, Policy]:
    return {policy.label: policy for some in candidates(problem) for policy in some}


def test_candidates_are_of_the_right_case() -> None:
    normal, opposite = titles(SETTINGS["A"]), titles(SETTINGS["opposite"])
    assert described(normal["KL-ULCB"])[1]["c0"] == -1.0
    assert described(opposite["Gated IMED, opposite"])[1]["c0"] == 1.0
    assert "CONT-KL-ULCB" in titles(SETTINGS["ema-100"])
    improper = candidates(ASSISTMENTS_2015)[0]
    assert improper[0] == DEFAULT(departures=False)
    assert improper[-1] == DEFAULT(departures=False, follow_improper=True)
    neutral = Problem([0.6, 0.5], TwoState(0.2, 0.2, 0.2, 0.2))
    assert [type(policy) for policy in candidates(neutral)[0]] == list(ALWAYS)
    assert candidates(neutral)[1] == []


def test_a_recommendation() -> None:
    advice = recommend(SETTINGS["B"], **ROUGH)  # type: ignore[arg-type]
    assert isinstance(advice, Recommendation)
    assert advice.policy == FIRST and advice.case == "normal"
    assert advice.reason.startswith("A mistake costs 2.19 times as much in the worst state")
    assert advice.gain.low < advice.gain.value < advice.gain.high
    lost = advice.regrets["KL-UCB"].value - advice.regrets[advice.name].value
    assert advice.gain.value == pytest.approx(lost)
    paired = advice.gain.high - advice.gain.low
    assert paired < advice.regrets["KL-UCB"].high - advice.regrets["KL-UCB"].low + paired / 2
    text = str(advice)
    assert (
        text.startswith("Run Engagement index.\nExpected gain over")
        and f"{100 * advice.tail:.3g} % quantile" in text
    )
    assert list(advice.regrets) == list(advice.tails)
    ranked = [regret.value for regret in advice.regrets.values()]
    assert (
        ranked == sorted(ranked) and advice.tails[advice.name] > advice.regrets[advice.name].value
    )
    assert (
        all(f"  {name} " in text for name in advice.tied)
        and text.count("tied") == len(advice.tied) + 1
    )
    assert text.endswith(f"In Python: {advice.policy!r}")
    assert json.loads(json.dumps(advice.to_dict()))["policy"]["name"] == "EngagementIndex"
    assert recommend(SETTINGS["B"], **ROUGH) == advice  # type: ignore[arg-type]


def test_gain_grows_significant_with_visits() -> None:
    advice = recommend(SETTINGS["B"], visits=3_000, precision="10%", certain=True)
    assert advice.gain.low > 0.0
    assert advice.name in (next(iter(advice.regrets)), DEFAULT_NAME)


def test_what_is_there_now_comes_first() -> None:
    advice = recommend(SETTINGS["B"], incumbent=Uniform(), **ROUGH)  # type: ignore[arg-type]
    assert advice.policy == FIRST and not advice.keeps
    lost = advice.regrets["Uniform"].value - advice.regrets[advice.name].value
    assert advice.over_incumbent is not None and advice.over_incumbent.value == pytest.approx(lost)
    assert advice.rewards is not None
    everything = SETTINGS["B"].value() * 100
    assert advice.rewards == pytest.approx(everything - advice.regrets["Uniform"].value)
    head, _, rest = str(advice).partition("Expected gain over KL-UCB")
    assert "Expected gain over the current recommender (Uniform) in 100 visits" in head and rest
    assert json.loads(json.dumps(advice.to_dict()))["incumbent"]["label"] == "Uniform"


@pytest.mark.parametrize("incumbent", [FixedArm(0), FIRST])
def test_what_is_good_is_kept(incumbent: Policy) -> None:
    advice = recommend(SETTINGS["B"], incumbent=incumbent, **ROUGH)  # type: ignore[arg-type]
    assert advice.keeps and advice.policy == incumbent
    assert (
        str(advice).startswith(f"Keep {advice.name}.")
        and "the current recommender" in advice.reason
    )


def test_moving_averages() -> None:
    problem = Problem([0.6, 0.4], Ema(theta=0.5, leave=LogLeave(c6=100)))
    advice = recommend(problem, visits=30, precision="50%")
    assert "DISC-KL-ULCB" in advice.regrets and advice.policy == FIRST


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
    assert "Empirical IMED" in titles(SHARES)
    assert "Visit IMED" in titles(CLICKBAIT) and candidates(CLICKBAIT)[0][0] == DEFAULT()


def test_who_learns_from_departures_is_told_which_rewards_are_good() -> None:
    user = Levels(TwoState(0.15, 0.08, 0.12, 0.06), thresholds=[0.7])
    told = titles(Problem(rewards=[Beta(3, 2), 0.5], user=user))
    assert told["Learned IMED, threshold=0.7"] == LearnedIMED(threshold=0.7)
    assert LearnedIMED.for_problem(Problem([0.6, 0.5], user)) == LearnedIMED()
    assert "Empirical IMED" in told


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


def test_the_paper_s_warnings_are_not_repeated() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        advice = recommend(SETTINGS["opposite"], **ROUGH)  # type: ignore[arg-type]
    assert advice.case == "opposite"
