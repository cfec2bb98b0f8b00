"""The paper's assumptions, cases, slopes and constants, on its own settings and outside them."""

import json
import warnings
from dataclasses import FrozenInstanceError, dataclass
from math import e, exp, log
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sojourn import Ema, Problem, TwoState, User, theory
from sojourn.problem_files import SETTINGS
from sojourn.theory.regret import kl_slope
from sojourn.users import LogLeave, Space, StaysFirst

A, B, OPPOSITE = SETTINGS["A"], SETTINGS["B"], SETTINGS["opposite"]
NORMAL = ["ULCB", "KL-ULCB", "lower bound"]
REVERSED = ["ULCB, opposite", "KL-ULCB, opposite", "lower bound, opposite"]
COMPARED = ["UCB", "KL-UCB"]

chance = st.floats(0.0, 1.0)


def slopes(problem, n=4):
    return {b.name: b.slope for b in theory.bounds(problem, n)}


def failing(problem, n=4):
    return {c.name for c in theory.assumptions(problem, n) if not c.holds}


@dataclass(frozen=True, repr=False)
class Thirds(User):
    """Three states: 0, 1 or 2 of the last rewards were good, roughly."""

    space: ClassVar[Space] = Space(states=3)

    def next_state(self, state: float, reward: float) -> float:
        return min(state + 1.0, 2.0) if reward > 0.0 else max(state - 1.0, 0.0)

    def leave_probability(self, state: float, reward: float, arm: int) -> float:
        return 0.4 - 0.1 * state - 0.1 * reward

    def experience(self, state: float) -> float:
        return state / 2.0


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("A", {"UCB": 500, "ULCB": 50, "KL-UCB": 225.210, "KL-ULCB": 22.520997}),
        ("B", {"UCB": 28.3048, "ULCB": 12.908243, "KL-UCB": 12.749056, "KL-ULCB": 5.814130}),
        ("C", {"UCB": 7.8125, "ULCB": 6.25, "KL-UCB": 4.258652, "KL-ULCB": 3.406922}),
        ("D", {"UCB": 625, "ULCB": 62.5, "KL-UCB": 303.514577, "KL-ULCB": 30.351458}),
        ("ema-1000", {"DISC-ULCB": 55.1164, "DISC-KL-ULCB": 24.8255}),
        ("ema-100", {"DISC-ULCB": 54.2350, "DISC-KL-ULCB": 24.4285}),
        ("ema-low", {"DISC-ULCB": 6.3799, "DISC-KL-ULCB": 3.4777}),
    ],
)
def test_slopes_of_the_paper(name, expected):
    found = slopes(SETTINGS[name])
    for bound, slope in expected.items():
        assert found[bound] == pytest.approx(slope, rel=3e-6, abs=6e-5)
    if "KL-ULCB" in found:
        assert found["lower bound"] == found["KL-ULCB"]
        assert all(found[bound] is None for bound in REVERSED)


@pytest.mark.parametrize("name", ["ema-1000", "ema-100", "ema-low"])
def test_slopes_of_a_moving_average_by_hand(name):
    problem = SETTINGS[name]
    best, other = problem.means
    kl = other * log(other / best) + (1 - other) * log((1 - other) / (1 - best))
    found = slopes(problem)
    assert found["lower bound"] == pytest.approx(problem.gap(1, 1) / kl)
    assert found["KL-UCB"] == pytest.approx(problem.gap(0, 1) / kl)
    assert found["UCB"] == pytest.approx(problem.gap(0, 1) / 0.02)
    for n in (2, 3, 10):
        top = problem.gap((n - 1) / n, 1)
        assert slopes(problem, n)["DISC-KL-ULCB"] == pytest.approx(top / kl)
        assert slopes(problem, n)["DISC-ULCB"] == pytest.approx(top / 0.02)


def test_opposite_case():
    kl = 0.5 * log(0.5 / 0.6) + 0.5 * log(0.5 / 0.4)
    found = slopes(OPPOSITE)
    assert theory.case(OPPOSITE) == "opposite"
    assert found["ULCB, opposite"] == pytest.approx(0.154153 / 0.02, rel=1e-5)
    assert found["KL-ULCB, opposite"] == pytest.approx(0.154153 / kl, rel=1e-5)
    assert found["lower bound, opposite"] == found["KL-ULCB, opposite"]
    assert found["UCB"] == pytest.approx(0.237780 / 0.02, rel=1e-5)
    assert found["KL-UCB"] == pytest.approx(0.237780 / kl, rel=1e-5)
    assert all(found[bound] is None for bound in NORMAL)
    numbers = {b.theorem: b for b in theory.bounds(OPPOSITE)}
    assert numbers["Theorem 1"].reason == (
        "does not apply, because D(0) >= D(1) fails (D(0) = 1.54153, D(1) = 2.3778)"
    )
    assert {f"Theorem {i}" for i in (1, 2, 3, 5, 6, 7)} < set(numbers)


@pytest.mark.parametrize(
    ("means", "constant"),
    [
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9], 7.516516),
        ([0.01, 0.02, 0.3, 0.4, 0.5, 0.6, 0.795, 0.8, 0.805], 101.045122),
    ],
)
def test_lai_and_robbins(means, constant):
    """Users who always leave at once are the ordinary bandit: D = 1."""
    problem = Problem(means, TwoState(1, 1, 1, 1))
    assert kl_slope(problem, 1.0) == pytest.approx(constant, abs=6e-7)
    assert slopes(problem)["KL-UCB"] == pytest.approx(constant, abs=6e-7)
    assert theory.case(problem) == "neutral"


def test_the_order_of_the_arms_does_not_matter():
    shuffled = Problem([0.5, 0.9, 0.8], A.user)
    assert slopes(shuffled) == pytest.approx(slopes(SETTINGS["D"]))


@given(means=st.lists(st.floats(0.05, 0.9), min_size=2, max_size=4, unique=True),
       q=st.lists(st.floats(0.05, 0.95), min_size=4, max_size=4))  # fmt: skip
def test_one_case_always_applies_under_assumption_1(means, q):
    """Assumption 1 gives D > 0; the best slope is the matching lower bound; Lemma 2 is sound."""
    q11, q10, q01, q00 = sorted(q)
    problem = Problem(means, TwoState(q00, q01, q10, q11))
    assert theory.case(problem) in ("normal", "opposite", "neutral")
    assert not failing(problem) - {"one best arm"}
    found = {name: s for name, s in slopes(problem).items() if s is not None}
    lower = min(found.get("lower bound", np.inf), found.get("lower bound, opposite", np.inf))
    assert lower < np.inf
    assert all(lower <= slope * (1 + 1e-9) for slope in found.values())
    assert theory.gap_condition(problem).holds or not theory.sufficient_condition(problem).holds


def test_neutral_users_have_both_theorems():
    problem = Problem([0.9, 0.8], TwoState(0.2, 0.2, 0.2, 0.2))
    found = slopes(problem)
    assert theory.case(problem) == "neutral"
    assert found["ULCB"] == pytest.approx(found["ULCB, opposite"]) == pytest.approx(5.0)


def test_gap_condition_and_lemma_2():
    condition = theory.gap_condition(A)
    assert (condition.left, condition.right) == pytest.approx((100, 10))
    assert condition.holds
    assert not theory.gap_condition(OPPOSITE).holds
    assert theory.mistake_costs(B) == pytest.approx({0: 5.66096, 1: 2.58165}, abs=1e-5)

    for problem, left, right in ((A, 0, 0), (B, 1 / 6, 0.25), (OPPOSITE, 0.38 / 0.05, 0.6 / 0.98)):
        lemma = theory.sufficient_condition(problem)
        assert (lemma.left, lemma.right) == pytest.approx((left, right))
        assert lemma.holds == (left <= right)


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (Problem([0.9, 0.8], TwoState(0.5, 0.2, 0.5, 0.1)), "q10 = q00 = 0.5"),
        (Problem([0.9, 0.8], TwoState(1, 1, 1, 1)), "q11 = 1"),
        (Problem([0.0, 0.0], TwoState(0.5, 0.2, 0.2, 0.1)), "the best mean is 0"),
        (Problem([0.9, 0.8], TwoState(0.5, 0.2, 0.6, 0.1)), "Assumption 1 fails"),
        (SETTINGS["ema-100"], "users with two states"),
    ],
)
def test_lemma_2_says_why_it_does_not_apply(problem, reason):
    lemma = theory.sufficient_condition(problem)
    assert not lemma.holds
    assert lemma.left is lemma.right is None
    assert lemma.reason.startswith("does not apply, because ")
    assert reason in lemma.reason


@pytest.mark.parametrize("name", ["A", "B", "C", "D", "opposite"])
def test_two_state_settings_meet_all_assumptions(name):
    assert failing(SETTINGS[name]) == set()
    assert len(theory.assumptions(SETTINGS[name])) == 13


@pytest.mark.parametrize(
    ("means", "q", "names"),
    [
        ([0.9, 0.8], (0.5, 0.6, 0.4, 0.3), {"q00 >= q01"}),
        ([0.9, 0.8], (0.5, 0.4, 0.6, 0.3), {"q00 >= q10"}),
        ([0.9, 0.8], (0.5, 0.2, 0.4, 0.3), {"q01 >= q11"}),
        ([0.9, 0.8], (0.5, 0.4, 0.2, 0.3), {"q10 >= q11"}),
        ([0.9, 0.8], (0.2, 0.2, 0.2, 0.3), {"q00 >= q11", "q01 >= q11", "q10 >= q11"}),
        ([0.9, 0.8], (0.0, 0.2, 0.2, 0.2), {"q00 >= q01", "q00 >= q10", "q00 >= q11", "q00 > 0"}),
        ([1.0, 0.8], (0.5, 0.2, 0.2, 0.1), {"best mean < 1"}),
        ([0.9, 0.9, 0.1], (0.5, 0.2, 0.2, 0.1), {"one best arm"}),
        ([0.9, 0.0], (0.5, 0.2, 0.2, 0.1), {"all means > 0"}),
        ([0.9, 0.8], (1.0, 1.0, 1.0, 0.5), {"q01 < 1"}),
        ([0.9, 0.8], (1.0, 1.0, 1.0, 1.0), {"q01 < 1", "q11 < 1"}),
    ],
)
def test_each_assumption_can_fail(means, q, names):
    problem = Problem(means, TwoState(*q))
    assert failing(problem) == names
    assert failing(Problem(means, StaysFirst(TwoState(*q)))) == names
    by_name = {b.name: b for b in theory.bounds(problem)}
    for name in NORMAL + REVERSED:
        assert by_name[name].slope is None
        assert by_name[name].reason.startswith("does not apply, because ")
        assert all(f"{broken} fails" in by_name[name].reason for broken in names)
    comparable = "one best arm" not in names
    assert all((by_name[name].slope is not None) == comparable for name in COMPARED)


def test_users_who_leave_after_success_make_an_improper_problem():
    """Fitted to ASSISTments 2015; there D(1) < 0."""
    problem = Problem([0.9046, 0.4810], TwoState(0.1330, 0.0169, 0.1064, 0.4361))
    assert theory.case(problem) == "improper"
    assert "best arm optimal in every state" in failing(problem)
    assert set(slopes(problem).values()) == {None}


def test_moving_averages_of_the_paper_break_assumption_2_at_one_point():
    for name in ("ema-1000", "ema-100", "ema-low"):
        (check,) = [c for c in theory.assumptions(SETTINGS[name]) if not c.holds]
        assert check.name == "q > 0 everywhere"
        assert "except at s = 1" in check.detail
        assert theory.case(SETTINGS[name]) == "normal"
        assert None not in slopes(SETTINGS[name]).values()


def ema(leave, theta=0.5, means=(0.9, 0.8)):
    return Problem(means, Ema(theta=theta, leave=leave))


def test_assumption_2():
    assert failing(ema(lambda s: 0.1 + 0.4 * (1 - s) ** 2)) == set()
    assert failing(ema(lambda s: 0.2)) == set()
    assert theory.case(ema(lambda s: 0.2)) == "neutral"
    grows = ema(lambda s: 0.3 + 0.1 * s)
    assert "q nonincreasing" in failing(grows)
    assert slopes(grows)["DISC-ULCB"] is None
    assert slopes(grows)["UCB"] > 0
    hidden = ema(lambda s: 0.3 + 0.1 * (s > 1e-7) * (s < 1e-6))
    assert "q nonincreasing" in failing(hidden)  # the grid looks closely near 0
    assert "q > 0 everywhere" in failing(ema(lambda s: max(0.0, 0.5 - s)))


def test_leaving_for_certain_matters_only_in_the_top_bin():
    problem = ema(lambda s: 1.0 - 0.9 * max(0.0, 2.0 * s - 1.0) ** 6)
    assert "q < 1 on [0.5, 1]" in failing(problem, n=2)
    assert not any(name.startswith("q < 1") for name in failing(problem, n=4))


@pytest.mark.parametrize(("c6", "case"), [(1, "opposite"), (4, "mixed"), (5, "normal")])
def test_cases_of_a_moving_average(c6, case):
    problem = ema(LogLeave(c6=c6))
    assert theory.case(problem) == case
    condition = theory.monotone_gap(problem)
    assert condition == theory.gap_condition(problem)
    assert condition.holds == (case == "normal") == (slopes(problem)["DISC-ULCB"] is not None)
    assert (condition.reason is None) == condition.holds
    assert ("gap nonincreasing" in failing(problem)) == (not condition.holds)


def test_the_conjecture():
    rows = theory.conjecture()
    assert min(row.c6 for row in rows) == 5
    assert all(row.holds and row.rise == pytest.approx(0, abs=1e-9) for row in rows)


def test_where_the_conjecture_fails():
    below, above = theory.conjecture([4.79, 4.80])
    assert not below.holds
    assert above.holds
    assert below.rise > 0
    assert below.low < below.high == 1.0
    (row,) = theory.conjecture([50], theta=0.3)
    assert not row.holds
    assert row.rise == pytest.approx(0.0437, abs=1e-4)
    assert all(row.holds for row in theory.conjecture([5, 1000], mean=0.3))


def scan(good, low, high):
    """The first t from which on all are good, by looking at every one."""
    t = np.arange(low, high)
    bad = np.flatnonzero(~good(t))
    return low if bad.size == 0 else int(t[bad[-1]]) + 1


@pytest.mark.parametrize(
    ("problem", "eta", "gamma"),
    [(A, None, None), (B, 0.1, 0.02), (SETTINGS["C"], None, 0.01), (SETTINGS["D"], 0.3, 0.04),
     (Problem([0.9, 0.05], B.user), None, 0.1), (Problem([0.6, 0.9, 0.1], B.user), 0.01, 0.2)],
)  # fmt: skip
def test_lemmas_3_and_4_by_exhaustion(problem, eta, gamma):
    three, four = theory.lemma3(problem, eta, gamma), theory.lemma4(problem, eta, gamma)
    q, arms = problem.user, problem.arms
    means = sorted(problem.means)
    delta = means[-1] - means[-2]
    p_min = means[0] * min(1 - q.q01, 1 - q.q11)
    eta = p_min / 2 if eta is None else eta
    gamma = delta / 2 if gamma is None else gamma
    assert (three.p_min, three.eta, three.gamma) == pytest.approx((p_min, eta, gamma))

    def budget(t):
        return np.log(t) + 4 * np.log(np.log(t))

    def good_1(t):
        pulls = (p_min - eta) * (t - 1) / (arms - 1)
        root = np.sqrt(budget(t) / np.where(pulls > 2, pulls - 2, np.nan))
        return (pulls / 2 >= 2) & (root <= delta - gamma)

    def good_2(t):
        return delta >= 2 * np.sqrt(budget(t) / ((p_min - eta) * (t - 1)))

    assert three.T1 == scan(good_1, 3, 2_000_000)
    assert four.T2 == scan(good_2, three.T1, 2_000_000)

    c2 = (p_min - eta) / (2 * (arms - 1))
    c3 = (4 + e) / log(2) * log(2 / c2) + e / log(2)
    assert (three.c2, three.c3) == pytest.approx((c2, c3))
    t = three.T1 + 7
    expected = (
        (arms - 1) / (2 * gamma**2 * exp(2 * gamma**2 * c2 * (t - 1) - 4 * gamma**2))
        + c3 / (c2 * (t - 1) * log(c2 * (t - 1)) ** 2)
        + exp(-(eta**2) * (t - 1) / 2)
    )
    assert three.bound(t) == pytest.approx(expected)
    T2 = four.T2
    c4 = (
        T2
        + (arms - 1) * exp(4 * gamma**2 - 2 * gamma**2 * c2 * (T2 - 2)) / (4 * gamma**4 * c2)
        + c3 / (c2 * log(c2 * (T2 - 2)))
        + 2 / eta**2 * exp(-(eta**2) * (T2 - 2) / 2)
        + 12 * e / log(T2 - 1)
    )
    assert four.c4 == pytest.approx(c4)
    assert four.regret == pytest.approx(c4 * sum(problem.gaps()[0]))


def test_lemma_4_bounds_what_lemma_3_sums_to():
    """c4 covers T2 steps and the sum of all later probabilities, as its proof says."""
    three, four = theory.lemma3(A), theory.lemma4(A)
    later = sum(
        three.bound(t) + 12 * e / (t * log(t) ** 2) for t in range(four.T2, four.T2 + 100_000)
    )
    assert four.T2 + later < four.c4


def test_lemmas_refuse_what_they_do_not_cover():
    three = theory.lemma3(A)
    with pytest.raises(ValueError, match=f"at least {three.T1}$"):
        three.bound(three.T1 - 1)
    assert three.bound(three.T1) > 0
    for bad in (0, 0.8, -1):
        with pytest.raises(ValueError, match=r"eta .* strictly between 0 and 0.8"):
            theory.lemma3(A, eta=bad)
    with pytest.raises(ValueError, match="gamma"):
        theory.lemma4(A, gamma=0.2)
    for problem in (OPPOSITE, SETTINGS["ema-100"], Problem([0.9, 0.9], B.user)):
        with pytest.raises(theory.DoesNotApply, match="the lemma does not apply, because "):
            theory.lemma3(problem)
        with pytest.raises(theory.DoesNotApply):
            theory.lemma4(problem)
    with pytest.raises(theory.DoesNotApply, match="infinitely many"):
        theory.mistake_costs(SETTINGS["ema-100"])


@pytest.mark.parametrize("start", [0, 1, {0: 0.5, 1: 0.5}])
def test_first_step_has_gaps_of_its_own(start):
    q = TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.02, start=start)
    base, problem = Problem([0.9, 0.8], q), Problem([0.9, 0.8], StaysFirst(q))
    first = 1 + base.value(1) - base.value(0)
    at_0, at_1 = theory.mistake_costs(problem).values()
    assert (at_0, at_1) == pytest.approx(tuple(theory.mistake_costs(base).values()))
    assert at_1 > first  # in this instance
    found = slopes(problem)
    assert found["ULCB"] == pytest.approx(at_1 * 0.1 / 0.02)
    assert found["lower bound"] == pytest.approx(found["KL-ULCB"] * first / at_1)
    assert theory.bounds(problem)[0].theorem == "Theorem 1, carried over"
    assert theory.case(problem) == theory.case(base) == "normal"


def test_first_step_of_a_moving_average():
    shy = Problem([0.9, 0.8], StaysFirst(SETTINGS["ema-100"].user))
    first = shy.mistake_cost(-2)
    found, base = slopes(shy), slopes(SETTINGS["ema-100"])
    costlier = max(first, shy.mistake_cost(0.75)) / shy.mistake_cost(0.75)
    assert found["DISC-ULCB"] == pytest.approx(base["DISC-ULCB"] * costlier)
    assert found["lower bound"] == pytest.approx(base["lower bound"] * min(first, 10) / 10)


def test_other_users_get_what_can_be_said():
    problem = Problem([0.7, 0.5], Thirds())
    assert failing(problem) == {"two states or a moving average"}
    assert list(slopes(problem)) == COMPARED
    assert set(theory.mistake_costs(problem)) == {0, 1, 2}
    assert theory.case(problem) in ("normal", "opposite", "mixed")
    assert "Thirds" in str(theory.summary(problem))


def test_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for problem in (A, B, OPPOSITE, ema(lambda s: 0.1 + 0.4 * (1 - s) ** 2)):
            theory.warn_about(problem)
    with pytest.warns(theory.AssumptionWarning) as caught:
        theory.warn_about(Problem([0.9, 0.9], TwoState(0.5, 0.6, 0.4, 0.3)))
    assert len(caught) == 1
    assert str(caught[0].message) == (
        "outside the paper's assumptions: q00 >= q01 fails (q00 = 0.5, q01 = 0.6); "
        "one best arm fails (best means 0.9 and 0.9)"
    )
    with pytest.warns(theory.AssumptionWarning, match="except at s = 1"):
        theory.warn_about(SETTINGS["ema-100"])


@pytest.mark.parametrize("name", list(SETTINGS))
def test_summary_is_readable_and_json(name):
    problem = SETTINGS[name]
    summary = theory.summary(problem)
    text = str(summary)
    for bound in summary.bounds:
        assert bound.name in text
        assert bound.reason is None or bound.reason in text
    assert f"case: {theory.case(problem)}" in text
    loaded = json.loads(json.dumps(summary.to_dict(), allow_nan=False))
    assert loaded["case"] == summary.case
    assert loaded["values"]["1"] == problem.value(1)
    assert loaded["mistake_costs"]["0"] == problem.mistake_cost(0)
    assert loaded["reward"]["std"] == problem.reward.std
    assert [b["slope"] for b in loaded["bounds"]] == [b.slope for b in summary.bounds]
    assert {type(c["holds"]) for c in loaded["assumptions"]} == {bool}


def test_results_are_plain_and_frozen():
    for record in (*theory.bounds(A), *theory.assumptions(A), theory.gap_condition(A)):
        with pytest.raises(FrozenInstanceError):
            record.name = "other"
    assert {type(b.slope) for b in theory.bounds(A)} == {float, type(None)}
    with pytest.raises(ValueError, match="n = 1 is not allowed"):
        theory.bounds(SETTINGS["ema-100"], n=1)
    with pytest.raises(ValueError, match="points"):
        theory.monotone_gap(SETTINGS["ema-100"], points=1)
