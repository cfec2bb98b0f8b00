"""Problem files: round trips, and one sentence for each mistake."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sojourn import ByArm, Chain, Ema, Problem, TwoState, User, paper, problem_files as files
from sojourn.rewards import Beta, Discrete, Empirical
from sojourn.users import USERS, Levels, LogLeave, StaysFirst

TOML = """
means = [0.9, 0.8]
[user]
model = "two-state"
q00 = 1.0
q01 = 0.0
q10 = 0.0
q11 = 0.0
start = 1
stays_first = false
"""

Q = {"q00": 1.0, "q01": 0.0, "q10": 0.0, "q11": 0.0}

chance = st.floats(0.0, 1.0)
likely = st.floats(0.01, 1.0)
starts = st.one_of(st.sampled_from([0.0, 1.0]), chance.map(lambda p: {0.0: p, 1.0: 1.0 - p}))
users: st.SearchStrategy[User] = st.one_of(
    st.builds(TwoState, likely, likely, likely, likely, start=starts),
    st.builds(
        Ema,
        st.sampled_from([0.25, 0.5]),
        st.sampled_from([LogLeave(100), LogLeave(1000.0)]),
        start=starts,
    ),
)
problems = st.builds(
    Problem,
    st.lists(st.floats(0.1, 0.9), min_size=2, max_size=4),
    st.one_of(users, st.builds(StaysFirst, users)),
)


@settings(deadline=None)
@given(problems)
def test_round_trip(problem: Problem) -> None:
    as_text = json.dumps(files.to_dict(problem))
    assert files.from_dict(json.loads(as_text)) == problem


TWO = TwoState(0.5, 0.2, 0.3, 0.1)
MANY = Chain(next=[[0, 0, 1], [0, [0.5, 0.5], 1]], leave=[[0.5, 0.4, 0.3], [0.3, 0.2, 0.1]])
EMA = Ema(theta=0.5, leave=LogLeave(100))
THREE_ARMS = (Beta(2, 5), Discrete([0, 0.5, 1], [0.2, 0.3, 0.5]), Empirical([0.3, 0.9, 0.3]))


def leaving_by_arm(user: User) -> list[User]:
    """A user of each kind: of all arms, with odds, and one for each arm."""
    return [user, ByArm.odds(user, [2, 0, -1]), ByArm([user, user, user])]


GENERAL: list[tuple[Any, User]] = [
    (THREE_ARMS, first(user))
    for first in (lambda user: user, StaysFirst)
    for user in [
        *(Levels(of, thresholds=[0.5]) for of in leaving_by_arm(TWO)),
        *(Levels(of, thresholds=[0.2, 0.8]) for of in leaving_by_arm(MANY)),
    ]
]
GENERAL += [((0.5, 0.4, 0.9), StaysFirst(of)) for of in leaving_by_arm(TWO)]
GENERAL += [((0.5, 0.4), Levels(TWO, thresholds=[0.5])), ((0.5, Beta(0.5, 0.5)), EMA)]
GENERAL += [((0.7, 0.4), ByArm([EMA, Ema(theta=0.5, leave=LogLeave(1000))]))]
GENERAL += [((0.7, 0.4), ByArm.odds(EMA, [1, 0]))]


@pytest.mark.parametrize(("rewards", "user"), GENERAL, ids=lambda x: "")
def test_leaving_by_arm_and_graded_rewards_round_trip(rewards: Any, user: User) -> None:
    problem = Problem(rewards=rewards, user=user)
    as_text = json.dumps(files.to_dict(problem))
    assert files.from_dict(json.loads(as_text)) == problem
    assert repr(files.from_dict(json.loads(as_text))) == repr(problem)


def test_leaving_by_arm_and_graded_rewards_in_toml(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(
        """
        rewards = [{beta = [2, 5]}, {values = [0, 0.5], chances = [0.5, 0.5]}, {sample = [1]}, 0.4]
        user = {model="two-state", q00=0.5, q01=0.2, q10=0.3, q11=0.1, thresholds=[0.5]}
        """
    )
    rewards = [Beta(2, 5), Discrete([0, 0.5], [0.5, 0.5]), Empirical([1]), 0.4]
    assert files.load(path) == Problem(rewards=rewards, user=Levels(TWO, thresholds=[0.5]))
    of_arm = TOML[TOML.index("[user]") :].replace("[user]", "[[user]]")
    path.write_text(f"means = [0.9, 0.8]\n{of_arm}\n{of_arm.replace('q10 = 0.0', 'q10 = 0.5')}")
    assert files.load(path).user == ByArm([TwoState(1, 0, 0, 0), TwoState(1, 0, 0.5, 0)])


@pytest.mark.parametrize("name", paper.SETTINGS)
def test_settings_round_trip(name: str) -> None:
    problem = paper.SETTINGS[name]
    assert files.from_dict(files.to_dict(problem)) == problem


def test_toml_and_json_agree(tmp_path: Path) -> None:
    toml, as_json = tmp_path / "a.toml", tmp_path / "a.json"
    toml.write_text(TOML)
    as_json.write_text(json.dumps(files.to_dict(paper.SETTINGS["A"])))
    assert files.load(toml) == files.load(str(as_json)) == paper.SETTINGS["A"]


def test_start_as_pairs(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(TOML.replace("start = 1", "start = [[0, 0.25], [1, 0.75]]"))
    assert files.load(path).user == TwoState(1, 0, 0, 0, start={0: 0.25, 1: 0.75})


def test_stays_first() -> None:
    problem = files.from_dict(_problem(stays_first=True))
    assert problem.user == StaysFirst(TwoState(1, 0, 0, 0))


def _problem(means: Any = (0.9, 0.8), **changes: Any) -> dict[str, Any]:
    return {"means": list(means), "user": {"model": "two-state", **Q, **changes}}


def _graded(reward: Any, **changes: Any) -> dict[str, Any]:
    return {"rewards": [0.5, reward], "user": _problem(**changes)["user"]}


def _by_arm(second: Any, **changes: Any) -> dict[str, Any]:
    first = _problem(**changes)["user"]
    return {"means": [0.9, 0.8], "user": [first, {**first, **second}]}


MODELS = ", ".join(name for name, cls in USERS.items() if hasattr(cls, "leave_probability"))
KINDS = (
    "give a mean, or beta = [a, b], or values with chances, or a sample, "
    "or a list of means by state"
)
GENERAL_MISTAKES: list[tuple[Any, str]] = [
    ({"user": _problem()["user"]}, "means is missing: a problem has means, rewards, user"),
    ({**_problem(), "rewards": []}, "rewards is not allowed beside means: give one of them"),
    (
        {**_graded(0.5), "rewards": {"beta": [2, 5]}},
        "rewards = {'beta': [2, 5]} is not allowed: it must be a list with an entry for each arm",
    ),
    (_graded("x"), f"rewards[1] = 'x' is not allowed: {KINDS}"),
    (_graded({"beta": 2}), f"rewards[1] = {{'beta': 2}} is not allowed: {KINDS}"),
    (_graded(1.5), "rewards[1] = 1.5 is not allowed: it must be a number from 0 to 1"),
    (
        _graded({"values": [0, 1], "chances": [0.5, 0.6]}),
        "rewards[1]: chances = [0.5, 0.6] is not allowed: there must be one for each of the 2 "
        "values, and they must add up to 1",
    ),
    (
        _graded({"sample": [3]}),
        "rewards[1]: sample[0] = 3 is not allowed: it must be a number from 0 to 1",
    ),
    (
        _graded({"beta": [2, 5]}),
        "user = TwoState(q00=1.0, q01=0.0, q10=0.0, q11=0.0) is not allowed: it takes rewards by 2 "
        "levels, so give their thresholds, as in Levels(user, thresholds=[0.5])",
    ),
    (
        _problem(thresholds=[0.2, 0.8]),
        "user.thresholds = [0.2, 0.8] is not allowed: this user has 2 levels, so give 1 above 0, "
        "in ascending order",
    ),
    (
        {"means": [0.9, 0.8], "user": {"model": "ema", "theta": 0.5, "c6": 9, "thresholds": [0.5]}},
        "user.thresholds is not known: an ema user has model, theta, c6, start, odds, stays_first",
    ),
    (
        _problem(odds=[1, "x"]),
        "user.odds[1] = 'x' is not allowed: it must be a number from -50 to 50",
    ),
    (_problem(odds=2), "user.odds = 2 is not allowed: give a list of numbers"),
    (_by_arm({"q00": 2}), "user[1].q00 = 2 is not allowed: it must be a number from 0 to 1"),
    (
        _by_arm({"odds": 2}),
        "user[1].odds is not known: a two-state user has model, q00, q01, q10, q11, start, "
        "thresholds, stays_first",
    ),
    (_by_arm({"stays_first": True}), "user[1].stays_first must be the same as user[0].stays_first"),
    (_by_arm({"thresholds": [0.5]}), "user[1].thresholds must be the same as user[0].thresholds"),
    (
        _by_arm({"start": 0}),
        "user[1] = TwoState(q00=1.0, q01=0.0, q10=0.0, q11=0.0, start=0) is not allowed: it must "
        "start and move as user[0] = TwoState(q00=1.0, q01=0.0, q10=0.0, q11=0.0) does, and differ "
        "in leaving only",
    ),
    ({"means": [0.9, 0.8], "user": []}, "user = [] is not allowed: give one per arm"),
    ({"means": [0.9, 0.8], "user": [3]}, "user[0] must be a table of keys and values, not 3"),
]

MISTAKES: list[tuple[Any, str]] = [
    ([], "a problem must be a table of keys and values, not []"),
    ({"means": [0.9, 0.8]}, "user is missing: a problem has means, rewards, user"),
    ({**_problem(), "mean": 1}, "mean is not known: a problem has means, rewards, user"),
    (
        {"means": "0.9", "user": {"model": "two-state", **Q}},
        "means = '0.9' is not allowed: it must be a list of numbers",
    ),
    (
        {"means": [0.9, 0.8], "user": 3},
        "user must be a table of keys and values, or one for each arm, not 3",
    ),
    ({"means": [0.9, 0.8], "user": Q}, f"user.model is missing: it must be one of {MODELS}"),
    (_problem(model="markov"), f"user.model = 'markov' is not allowed: it must be one of {MODELS}"),
    (
        _problem(q12=1),
        "user.q12 is not known: a two-state user has model, q00, q01, q10, q11, start, odds, "
        "thresholds, stays_first",
    ),
    (_problem(q00=1.5), "user.q00 = 1.5 is not allowed: it must be a number from 0 to 1"),
    (_problem(q00="x"), "user.q00 = 'x' is not allowed: it must be a number from 0 to 1"),
    (_problem(stays_first=1), "user.stays_first = 1 is not allowed: it must be true or false"),
    (
        _problem(start=[0, 1]),
        "user.start = [0, 1] is not allowed: "
        "it must be a state or a list of pairs [state, probability]",
    ),
    (
        _problem(start=[[0, 0.5], [0, 0.5]]),
        "user.start = [[0, 0.5], [0, 0.5]] is not allowed: it lists a state twice",
    ),
    (
        _problem(start=[["a", 1]]),
        "user.start = 'a' is not allowed: it must be a number of at least 0",
    ),
    (_problem(start=0.5), "user.start = 0.5 is not allowed: it must be a whole number from 0 to 1"),
    (_problem(means=[0.9]), "means = [0.9] is not allowed: give at least two arms"),
    (_problem(means=[0.9, "b"]), "means[1] = 'b' is not allowed: it must be a number from 0 to 1"),
]


EVERY_MISTAKE = MISTAKES + GENERAL_MISTAKES


@pytest.mark.parametrize(
    ("data", "sentence"), EVERY_MISTAKE, ids=lambda x: x if type(x) is str else ""
)
def test_mistakes(data: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        files.from_dict(data)


def test_never_ending_visits_are_refused() -> None:
    with pytest.raises(ValueError, match="every visit must end"):
        files.from_dict(_problem(q00=0))


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.yaml", "", "a problem file must end in .toml or .json"),
        ("a.toml", "means = [", "not valid TOML: "),
        ("a.json", "{", "not valid JSON: "),
        ("a.toml", TOML.replace("q00 = 1.0", "q00 = 7"), "user.q00 = 7 is not allowed"),
    ],
)
def test_errors_name_the_file(tmp_path: Path, name: str, text: str, sentence: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ValueError, match=f"^{re.escape(f'{path}: {sentence}')}") as error:
        files.load(path)
    assert "\n" not in str(error.value)


def test_missing_and_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no such file"):
        files.load(tmp_path / "none.toml")
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="not UTF-8"):
        files.load(binary)


def test_a_function_cannot_be_saved() -> None:
    problem = Problem([0.9, 0.8], Ema(theta=0.5, leave=lambda s: 0.3 - 0.2 * s))
    with pytest.raises(ValueError, match="of moving averages only those with LogLeave"):
        files.to_dict(problem)
