"""Every measure, on results with known numbers or on exact problems."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from math import log
from typing import Any

import numpy as np
import pytest
from made_up import made_up

from sojourn import Problem, TwoState, theory
from sojourn.paper import SETTINGS
from sojourn.paper.measures.exact import (
    bound_ratio,
    example_gaps,
    gap_falls,
    gap_order,
    lemma_2,
    longest_visits,
    mistakes_cost,
    values_rise,
)
from sojourn.paper.measures.growth import (
    linear_pulls,
    settles,
    slope_below,
    slope_nears,
    towards,
    within_lemma_4,
)
from sojourn.paper.measures.regret import (
    agrees,
    less,
    more_wrong_pulls,
    optimal_width,
    own_width,
    raw_width,
    rising,
    times,
)
from sojourn.paper.results import LabelledResult
from sojourn.paper.verdicts import Verdict
from sojourn.stats.intervals import Interval

CONFIRMED, NOT_YET, NOT_CONFIRMED, UNDECIDED = Verdict
THREE = (200, 2000, 20000)


@pytest.mark.parametrize(
    ("one", "other", "pairs", "verdict"),
    [(1.0, 2.0, 0.1, CONFIRMED), (2.0, 1.0, 0.1, NOT_CONFIRMED), (1.0, 2.0, 10.0, UNDECIDED)],
)
def test_less_compares_run_by_run(one: float, other: float, pairs: float, verdict: Verdict) -> None:
    tables = {"x": made_up({"a": one, "b": other}, spread=1e6, pairs=pairs)}
    (found,) = less("x", "a", "b").measure(tables)
    assert found.verdict is verdict
    assert found.interval.value == pytest.approx((one - other) * log(20000))
    (turned,) = less("x", "b", "a").measure(tables)
    assert turned.interval.value == -found.interval.value
    (early,) = less("x", "a", "b", 200).measure(tables)
    assert early.interval.value == pytest.approx((one - other) * log(200))


def test_rising_looks_at_all_neighbours() -> None:
    tables = {"x": made_up({"a": 1.0, "b": 2.0, "c": 1.5}, spread=0.1, pairs=0.1)}
    measured = [m for pair in rising("x", "a", "b", "c") for m in pair.measure(tables)]
    assert [m.verdict for m in measured] == [CONFIRMED, NOT_CONFIRMED]


def test_times_needs_the_factor_and_growth() -> None:
    tables = {"x": made_up({"a": 1.0}, 0.01), "y": made_up({"q": 20.0}, 0.01)}
    more = times("x", "y", "a", "q", 10.0, 2000)
    tenfold, growing = more.measure(tables)
    assert more.trials == ("x", "y")
    assert tenfold.verdict is CONFIRMED
    assert growing.interval.value == pytest.approx(1.0) and growing.verdict is UNDECIDED


def test_wrong_pulls_are_those_of_other_arms() -> None:
    tables = {"x": made_up({"a": 1.0}, 0.01), "y": made_up({"b": 0.5}, 0.01)}
    (found,) = more_wrong_pulls("x", "y", "a", "b", 200).measure(tables)
    assert found.interval.value == pytest.approx(100.0)
    # Two levels, one wrong arm, two results: four half-widths.
    assert found.interval.high - 100.0 == pytest.approx(4 * 0.0196, rel=0.01)


def test_agreement_is_a_share_of_all_rewards() -> None:
    table = made_up({"a": 5.0}, spread=1.0)
    raw = float(table.result.raw_regret.mean[0, -1])
    for found in agrees("x", "a", 0.5).measure({"x": table}):
        share = (raw - 5.0 * log(20000)) / (20000 * SETTINGS["B"].value())
        assert found.interval.value == pytest.approx(share)


def test_towards_and_slopes_see_that_nothing_moves() -> None:
    tables = {"x": made_up({"a": 20.0}, 0.01)}
    (curve,) = towards("x", "a", 2000).measure(tables)
    (slope,) = slope_nears("x", "a", THREE).measure(tables)
    assert curve.interval.value == pytest.approx(0.0) and curve.verdict is UNDECIDED
    assert slope.interval.value == pytest.approx(0.0) and slope.verdict is UNDECIDED


@pytest.mark.parametrize(
    ("slope", "shift", "verdict"),
    [
        (14.0, 5.0, CONFIRMED),  # regret / log K is above 12.91 and falls
        (12.0, -5.0, CONFIRMED),  # below, and rises
        (16.0, -27.0, NOT_CONFIRMED),  # crosses with a steeper slope, and is nearer at the end
        (9.0, 33.0, NOT_CONFIRMED),  # crosses from above
        (16.0, -30.5, CONFIRMED),  # reaches the bound, as far as the interval tells
    ],
)
def test_a_curve_that_crosses_its_bound_does_not_go_towards_it(
    slope: float, shift: float, verdict: Verdict
) -> None:
    tables = {"x": made_up({"a": slope}, 0.3, growth=lambda k: np.log(k) + shift / slope)}
    (found,) = towards("x", "a", 2000).measure(tables)
    assert found.verdict is verdict


def test_a_curve_that_crossed_its_bound_counts_from_there() -> None:
    tables = {"x": made_up({"a": 16.0}, 0.01, growth=lambda k: np.log(k) - 1.7)}
    (found,) = towards("x", "a", 2000).measure(tables)
    bound = tables["x"].bound("a")
    early, late = (16.0 * (1.0 - 1.7 / log(k)) - bound for k in (2000, 20000))
    assert early < 0.0 < late < -early  # nearer in the end, on the other side
    assert found.interval.value == pytest.approx(late)
    assert found.what.endswith("change since it crossed the bound")
    assert "a crosses its bound 12.9 and moves away from it" in found.contrary


def test_a_slope_is_compared_with_the_policys_own_bound() -> None:
    tables = {"x": made_up({"a": 12.0}, 0.001)}
    (total,) = slope_below("x", "a", THREE).measure(tables)
    assert total.interval.value == pytest.approx(12.0)
    assert total.threshold == pytest.approx(12.908243, abs=1e-6)  # FACTS.md, setting B, ULCB
    assert total.verdict is CONFIRMED
    (least,) = slope_below("x", "a", THREE, "lower bound", above=True).measure(tables)
    assert least.threshold == pytest.approx(5.814130, abs=1e-6) and least.verdict is CONFIRMED
    (settled,) = slope_below("x", "a", THREE, level=0).measure(tables)
    assert settled.interval == Interval.exact(0.0)


@pytest.mark.parametrize(
    ("growth", "slope", "upper", "lower"),
    [
        (np.log, 20.0, NOT_YET, CONFIRMED),
        (np.log, 2.0, CONFIRMED, NOT_YET),
        (lambda k: k, 1.0, NOT_CONFIRMED, CONFIRMED),  # linear: the slope is multiplied by 10
        (lambda k: k**0.25, 30.0, NOT_YET, CONFIRMED),  # by 1.8: not told from log K
        (lambda k: k**0.35, 30.0, NOT_CONFIRMED, CONFIRMED),  # by 2.2
        (lambda k: -1.0 / k, 100.0, CONFIRMED, NOT_CONFIRMED),  # bounded: by 0.1
    ],
)
def test_a_bound_about_k_without_end_fails_only_if_regret_is_not_like_log_k(
    growth: Callable[[Any], Any], slope: float, upper: Verdict, lower: Verdict
) -> None:
    tables = {"x": made_up({"a": slope}, 1e-6, growth=growth)}
    (most,) = slope_below("x", "a", THREE).measure(tables)
    (least,) = slope_below("x", "a", THREE, "lower bound", above=True).measure(tables)
    assert (most.verdict, least.verdict) == (upper, lower)
    assert "a decade before" in most.contrary


def test_a_slope_needs_two_points() -> None:
    table = made_up({"a": 1.0}, 0.1, grid=(10, 20))
    assert np.isnan(table.slope("a", 2000, 20000)).all()


def test_settles_tells_the_states_apart() -> None:
    measured = settles("x", "a", 2000, 0.1).measure({"x": made_up({"a": 5.0}, 0.001)})
    assert [m.verdict for m in measured] == [CONFIRMED, CONFIRMED]
    assert [m.interval.value for m in measured] == pytest.approx([0.0, log(10) / (log(2000) - 1)])
    assert "in no run" in measured[0].what and "in no run" not in measured[1].what


def test_lemmas_3_and_4() -> None:
    tables = {"x": made_up({"a": 5.0}, 0.001)}
    for share in linear_pulls("x", "a", 2000).measure(tables):
        assert share.interval.value == pytest.approx(0.9)
        assert share.threshold == pytest.approx(0.8 * 0.8 / 2)  # p_min = 0.8 (1 - 0.2)
    (state_0,) = within_lemma_4("x", "a").measure(tables)
    assert state_0.interval.value == pytest.approx(5.0) and state_0.verdict is CONFIRMED


def test_widths() -> None:
    table = made_up({"a": 5.0}, spread=1.0)
    (own,) = own_width("x", 1.97).measure({"x": table})
    assert own.interval.value == pytest.approx(1.96, abs=0.001) and own.verdict is CONFIRMED
    (wide,) = own_width("x", 1.95).measure({"x": table})
    assert wide.verdict is UNDECIDED  # a fixed number of runs: no half-width was asked for
    asked = LabelledResult(replace(table.result, precision=1.95), table.labels)
    (wide,) = own_width("x", 1.95).measure({"x": asked})
    assert wide.verdict is NOT_CONFIRMED
    (raw,) = raw_width("x", ("a",), 1e4, 0.5).measure({"x": table})
    assert raw.interval.value == pytest.approx(0.196, abs=0.0001)


@pytest.mark.parametrize(
    ("setting", "width"),
    [("A", 8.721), ("B", 0.624), ("ema-1000", 4.427), ("ema-100", 3.090), ("ema-low", 0.117)],
)
def test_the_papers_half_widths_are_those_of_the_optimal_rule(setting: str, width: float) -> None:
    (found,) = optimal_width(setting, 20_000, 1e7, 1.0).measure({})
    assert found.interval.value == pytest.approx(width, rel=0.005)


def test_exact_gaps_and_values() -> None:
    assert [gap_order("A").measure({})[0].interval.value] == pytest.approx([10.0])
    (opposite,) = gap_order("opposite", opposite=True).measure({})
    assert opposite.interval.value == pytest.approx(0.154153 / 0.237780, rel=1e-5)
    assert opposite.verdict is CONFIRMED
    (cost,) = mistakes_cost("ema-1000").measure({})
    assert cost.interval.value == pytest.approx(10.0)  # D(1) = gap(1) / 0.1
    (step,) = values_rise("B").measure({})
    assert step.interval.value == pytest.approx(7.418351 - 6.368585, abs=1e-6)
    assert example_gaps("D", 1e-9).measure({})[0].verdict is CONFIRMED
    assert example_gaps("B", 1e-9).measure({})[0].verdict is NOT_CONFIRMED


def test_bounds_are_compared_by_slope() -> None:
    (found,) = bound_ratio("A", "ULCB", "UCB").measure({})
    assert found.interval.value == pytest.approx(50 / 500)
    (sharp,) = bound_ratio("opposite", "KL-ULCB, opposite", "lower bound, opposite").measure({})
    assert sharp.interval == Interval.exact(1.0) and sharp.verdict is CONFIRMED
    (four,) = bound_ratio("ema-100", "DISC-KL-ULCB", "lower bound", 1.05, n=4).measure({})
    assert four.interval.value == pytest.approx(1.084700, abs=1e-6)  # gap(.75) / gap(1)


def test_no_rule_keeps_users_longer_by_another_count() -> None:
    """The length of a visit by iteration, not by solving."""
    problem = SETTINGS["B"]
    lengths = {}
    for rule in product((0, 1), repeat=2):
        alive, steps = {1.0: 1.0}, 0.0
        while sum(alive.values()) > 1e-13:
            steps += sum(alive.values())
            later: dict[float, float] = {}
            for state, chance in alive.items():
                for onward, p in problem.transitions(state, rule[int(state)])[:2]:
                    assert onward is not None
                    later[onward] = later.get(onward, 0.0) + chance * p
            alive = later
        lengths[rule] = steps
    best = lengths.pop((0, 0))
    (found,) = longest_visits("B").measure({})
    assert found.interval.value == pytest.approx(max(lengths.values()) / best)


def test_lemma_2_counts_what_meets_its_condition() -> None:
    (found,) = lemma_2((0.0, 0.5, 1.0), means=(0.9,)).measure({})
    met = 0
    for q in product((0.0, 0.5, 1.0), repeat=4):
        q00, q01, q10, q11 = q
        falls = q00 >= q01 >= q11 and q00 >= q10 >= q11
        if falls and q00 > 0 and q11 < 1 and q00 != q10:
            if q10 == 1 or (q01 - q11) / (q00 - q10) > min(
                (1 - q01) / (1 - q11), (1 - q00) / (1 - q10)
            ):
                continue
            met += 1
            problem = Problem([0.9, 0.45], TwoState(q00=q00, q01=q01, q10=q10, q11=q11))
            assert problem.mistake_cost(0) >= problem.mistake_cost(1) - 1e-9
    assert f"among {met} problems" in found.what and found.verdict is CONFIRMED


def test_gaps_fall_where_the_scan_says_so() -> None:
    low, high = gap_falls((4.5, 5.0), mean=0.9, theta=0.5).measure({})
    assert low.interval.value == pytest.approx(theory.conjecture([4.5])[0].rise)
    assert [low.verdict, high.verdict] == [NOT_CONFIRMED, CONFIRMED]
