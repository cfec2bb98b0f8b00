"""What words stand for: policies as they are printed, problems by name and by options."""

from inspect import signature
from typing import Any

import pytest

import sojourn as sj
from sojourn.cli.arguments import with_options
from sojourn.cli.problems import find_problem
from sojourn.policies import Policy
from sojourn.policy_names import find_policy
from sojourn.registry import described
from sojourn.simulation.tables import bound_for, labels

PROBLEM = sj.paper.SETTINGS["A"]


def variants(cls: type[Policy]) -> list[Policy]:
    """A policy as it is usual on the problem, its opposite, and with numbers changed."""
    usual: Any = cls.for_problem(PROBLEM)
    found = [usual]
    if hasattr(usual, "opposite"):
        found.append(usual.opposite())
    changes = {"c0": -0.25, "c": 4.0, "n": 8, "floor": -0.5, "epsilon": 0.25, "arm": 1, "H": 5.0}
    changed = {n: v for n, v in changes.items() if described(usual)[1].get(n, v) != v}
    return found + [cls.for_problem(PROBLEM, **{n: v}) for n, v in changed.items()]


@pytest.mark.parametrize("cls", sj.policies.ALL, ids=lambda cls: cls.__name__)
def test_every_label_can_be_typed_as_it_is_printed(cls: type[Policy]) -> None:
    policies = variants(cls)
    for policy, label in zip(policies, labels(policies, PROBLEM), strict=True):
        assert find_policy(label, PROBLEM) == policy
        assert find_policy(label.replace(", ", ":", 1), PROBLEM) == policy


@pytest.mark.parametrize("cls", sj.policies.ALL, ids=lambda cls: cls.__name__)
def test_names_go_in_any_case_with_and_without_hyphens(cls: type[Policy]) -> None:
    usual = cls.for_problem(PROBLEM)
    (label,) = labels([usual], PROBLEM)
    for name in (cls.__name__, cls.__name__.lower(), label.upper(), label.replace(" ", "-")):
        assert find_policy(name, PROBLEM) == usual


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("ULCB:c0=-0.5,c=4", sj.policies.ULCB(c0=-0.5, c=4)),
        ("KL-ULCB:opposite", sj.policies.KLULCB().opposite()),
        ("KL-ULCB, opposite", sj.policies.KLULCB().opposite()),
        ("Learned IMED, floor=-1", sj.policies.LearnedIMED(floor=-1)),
        ("learned-imed,floor=-1", sj.policies.LearnedIMED(floor=-1)),
        ("ulcb: c0=-2, opposite", sj.policies.ULCB(c0=1, c1=-2)),
        ("DISC-ULCB:n=8,random_ties=false", sj.policies.DiscULCB(n=8, random_ties=False)),
        ("UCBQLearning:H=5", sj.policies.UCBQLearning(H=5)),
        ("UCB Q-learning, H=5", sj.policies.UCBQLearning(H=5)),
        ("FixedArm", sj.policies.FixedArm(0)),
        ("EpsilonMixture:policy=UCB:c=4", sj.policies.EpsilonMixture(sj.policies.UCB(c=4))),
        (
            "Epsilon mixture, policy=UCB, epsilon=0.2",
            sj.policies.EpsilonMixture(sj.policies.UCB(), epsilon=0.2),
        ),
    ],
)
def test_policies_with_parameters(text: str, policy: Any) -> None:
    assert find_policy(text, PROBLEM) == policy


def test_who_has_to_know_the_user_is_told_where_there_is_something_to_tell() -> None:
    exact = sj.policies.ExactIndex(PROBLEM.user, visits=50, pulls=10)
    assert find_policy("Exact index, pulls=10", PROBLEM, {"visits": 50}) == exact
    assert find_policy("ExactIndex:visits=50,pulls=10", PROBLEM, {"visits": 7}) == exact
    with pytest.raises(ValueError, match=r"policy 'ExactIndex' is not known"):
        find_policy("ExactIndex", PROBLEM)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("ULCB", "ULCB"),
        ("ULCB:opposite", None),
        ("ULCB:c0=-0.5", None),
        ("KLUCB", "KL-UCB"),
        ("Uniform", None),
    ],
)
def test_bounds_belong_to_policies(text: str, bound: str | None) -> None:
    found = bound_for(find_policy(text, PROBLEM), PROBLEM)
    assert (found and found.name) == bound


def test_bound_in_the_opposite_case() -> None:
    problem = sj.paper.SETTINGS["opposite"]
    found = bound_for(find_policy("KLULCB:opposite", problem), problem)
    assert found is not None
    assert found.theorem == "Theorem 6"


def test_start_and_stays_first() -> None:
    user = sj.TwoState(0.8, 0.2, 0.2, 0.1, start={0: 0.25, 1: 0.75})
    problem = find_problem(
        None, means="0.9,0.8", q=["0.8,0.2,0.2,0.1"], start="0:0.25,1:0.75", stays_first=True
    )
    assert problem == sj.Problem([0.9, 0.8], sj.users.StaysFirst(user))


def test_moving_average_options() -> None:
    found = find_problem(None, means=".9,.8", theta=0.5, c6=1000)
    assert found == sj.paper.SETTINGS["ema-1000"]


STEPS = {"next": [[0, 1], [0, 2], [1, 2]], "leave": [[0.6, 0.1], [0.3, 0.05], [0.1, 0.02]]}
USERS = {
    "two-state: q00=.8 q01=.2 q10=.2 q11=1e-1": sj.TwoState(0.8, 0.2, 0.2, 0.1),
    "two-state: q00=1, q01=0, q10=0, q11=0, start=[[0, .25], [1, .75]]": sj.TwoState(
        1, 0, 0, 0, start={0: 0.25, 1: 0.75}
    ),
    "ema:theta = 0.5 c6 = 1_000 stays_first=true": sj.users.StaysFirst(
        sj.Ema(theta=0.5, leave=sj.users.LogLeave(c6=1000))
    ),
    "chain: next=[[0,1],[0,2],[1,2]] leave=[[.6,.1],[.3,.05],[.1,.02]]": sj.Chain(**STEPS),
    "chain: leave=[[.6,.1], [.3,.05], [.1,.02]] seen=[0,.2,1]\nnext=[[0,1], [0,2], [1,2]]": (
        sj.Chain(**STEPS, seen=[0, 0.2, 1])
    ),
    "chain: next=[[[.5,.5],1],[0,1]] leave=[[.5,.1],[.3,0]]": sj.Chain(
        next=[[[0.5, 0.5], 1], [0, 1]], leave=[[0.5, 0.1], [0.3, 0]]
    ),
}


@pytest.mark.parametrize("text", USERS)
def test_any_user_model_by_name_and_settings(text: str) -> None:
    assert find_problem(means=".9,.8", user=[text]) == sj.Problem([0.9, 0.8], USERS[text])


def test_a_start_of_zero_is_a_start() -> None:
    found = find_problem(means=".9,.8", q=[".8,.2,.2,.1"], start="0")
    assert found.user == sj.TwoState(0.8, 0.2, 0.2, 0.1, start=0)


def test_start_and_stays_first_go_with_any_user_model() -> None:
    text = "chain: next=[[0,1],[0,2],[1,2]] leave=[[.6,.1],[.3,.05],[.1,.02]]"
    found = find_problem(means=".9,.8", user=[text], start="0:.5,2:.5", stays_first=True)
    user = sj.Chain(**STEPS, start={0: 0.5, 2: 0.5})
    assert found == sj.Problem([0.9, 0.8], sj.users.StaysFirst(user))


TWO = sj.TwoState(0.5, 0.2, 0.3, 0.1)
GENERAL: dict[str, tuple[dict[str, Any], sj.Problem]] = {
    "odds": (
        {"means": ".9,.8", "q": [".5,.2,.3,.1"], "log_odds": "-2,0"},
        sj.Problem([0.9, 0.8], sj.ByArm.odds(TWO, [-2, 0])),
    ),
    "a user for each arm": (
        {"means": ".9,.8", "q": [".5,.2,.3,.1", ".6,.2,.3,.1"], "stays_first": True},
        sj.Problem(
            [0.9, 0.8], sj.users.StaysFirst(sj.ByArm([TWO, sj.TwoState(0.6, 0.2, 0.3, 0.1)]))
        ),
    ),
    "models for each arm": (
        {
            "means": ".9,.8",
            "user": [f"chain: next=[[0,1],[0,1]] leave=[[.5,.{a}],[.3,.1]]" for a in (2, 3)],
            "start": "0",
        },
        sj.Problem(
            [0.9, 0.8],
            sj.ByArm(
                [
                    sj.Chain(next=[[0, 1]] * 2, leave=[[0.5, a], [0.3, 0.1]], start=0)
                    for a in (0.2, 0.3)
                ]
            ),
        ),
    ),
    "graded rewards": (
        {
            "rewards": "beta:2,5  0:.2,.5:.3,1:.5 sample:.1,.7 .4",
            "q": [".5,.2,.3,.1"],
            "log_odds": "1,0,0,0",
            "thresholds": ".5",
        },
        sj.Problem(
            rewards=[
                sj.rewards.Beta(2, 5),
                sj.rewards.Discrete([0, 0.5, 1], [0.2, 0.3, 0.5]),
                sj.rewards.Empirical([0.1, 0.7]),
                0.4,
            ],
            user=sj.users.Levels(sj.ByArm.odds(TWO, [1, 0, 0, 0]), thresholds=[0.5]),
        ),
    ),
}


@pytest.mark.parametrize(("options", "problem"), GENERAL.values(), ids=GENERAL)
def test_leaving_by_arm_and_graded_rewards(options: Any, problem: sj.Problem) -> None:
    assert find_problem(**options) == problem


def test_options_of_a_function_become_those_of_a_command() -> None:
    def make(size: int = 1, colour: str = "red", *, unit: str = "") -> str:
        return f"{size}{unit} {colour}"

    @with_options("thing", make, unit="cm")
    def command(name: str, thing: str, loud: bool = False) -> None:
        shown.append((name, thing, loud))

    shown: list[tuple[str, str, bool]] = []
    command("a", loud=True)
    command(name="b", size=2, colour="blue")
    assert shown == [("a", "1cm red", True), ("b", "2cm blue", False)]
    assert list(signature(command).parameters) == ["name", "size", "colour", "loud"]
