"""Verdicts: of a measurement, of a claim, and of a claim beside its variants."""

from dataclasses import replace
from math import inf, nan

import pytest
from made_up import made_up

from sojourn.paper.measures.regret import COMPARED, less
from sojourn.paper.verdicts import Checked, Claim, Measured, Report, Verdict, check, hinges, overall
from sojourn.stats.intervals import Interval

CONFIRMED, NOT_YET, NOT_CONFIRMED, UNDECIDED = Verdict


@pytest.mark.parametrize(
    ("low", "high", "above", "verdict"),
    [
        (1.0, 2.0, True, CONFIRMED),
        (1.0, 2.0, False, NOT_CONFIRMED),
        (-2.0, -1.0, True, NOT_CONFIRMED),
        (-2.0, -1.0, False, CONFIRMED),
        (-1.0, 1.0, True, UNDECIDED),
        (-1.0, 1.0, False, UNDECIDED),
        (0.0, 1.0, True, UNDECIDED),
        (0.0, 0.0, True, CONFIRMED),
        (0.0, 0.0, False, CONFIRMED),
        (nan, 1.0, True, UNDECIDED),
        (-inf, inf, True, UNDECIDED),
    ],
)
def test_a_verdict_needs_the_whole_interval(
    low: float, high: float, above: bool, verdict: Verdict
) -> None:
    assert Measured("x", Interval((low + high) / 2, low, high), 0.0, above).verdict is verdict


def test_a_claim_is_as_good_as_its_worst_measurement() -> None:
    yes = Measured("x", Interval(1.0, 0.5, 1.5), 0.0, above=True)
    no, perhaps = yes._replace(above=False), yes._replace(threshold=1.0)
    assert overall([yes, yes]) is CONFIRMED
    assert overall([yes, perhaps]) is UNDECIDED
    assert overall([yes, perhaps, no]) is NOT_CONFIRMED
    assert overall([]) is UNDECIDED
    not_yet = no._replace(otherwise=NOT_YET)
    assert overall([yes, perhaps, not_yet]) is NOT_YET
    assert overall([not_yet, no]) is NOT_CONFIRMED


def test_only_the_other_side_is_what_a_measurement_says_it_is() -> None:
    on_it = Measured("x", Interval(1.0, 0.5, 1.5), 0.0, True, "x is not", NOT_YET)
    assert on_it.verdict is CONFIRMED
    assert on_it._replace(threshold=1.0).verdict is UNDECIDED
    assert on_it._replace(threshold=2.0).verdict is NOT_YET
    claim = Claim("x", "Section 0", "x is.", (less("x", "a", "b"),))
    found = Checked(claim, [on_it, on_it._replace(threshold=2.0)], NOT_YET)
    assert found.contrary == ["x is not"] == found.to_dict()["contrary"]


def test_counts_speak_of_not_yet_only_where_it_occurs() -> None:
    claim = Claim("x", "Section 0", "x is.", (less("x", "a", "b"),))
    report = Report({}, [Checked(claim, [], verdict) for verdict in Verdict], "", 0, "quick")
    assert report.summary == (
        "4 claims: 1 confirmed, 1 not yet (asymptotic), 1 not confirmed, "
        "1 not decidable at this precision."
    )
    assert "not yet" not in replace(report, checked=report.checked[:1]).summary
    assert replace(report, checked=report.checked[:1]).summary.startswith("1 claim: 1 confirmed, ")
    assert list(report.kinds) == [COMPARED]


def test_check_evaluates_a_claim() -> None:
    claim = Claim("x", "Section 0", "a is less than b.", (less("x", "a", "b"),))
    found = check(claim, {"x": made_up({"a": 1.0, "b": 2.0}, 0.1, 0.1)})
    assert found.verdict is CONFIRMED and found.to_dict()["measurements"][0]["threshold"] == 0.0


def test_a_claim_hinges_on_a_choice_only_if_both_ways_are_decided() -> None:
    tables = {"x": made_up({"a": 1.0, "b": 2.0, "c": 1.0}, 0.1, 0.1)}
    claims = [
        Claim("base", "Section 0", "", (less("x", "a", "b"),)),
        Claim("same", "Section 0", "", (less("x", "c", "b"),), choice="same", of="base"),
        Claim("open", "Section 0", "", (less("x", "a", "c"),), choice="open", of="base"),
        Claim("turned", "Section 0", "", (less("x", "b", "a"),), choice="turned", of="base"),
    ]
    found = hinges([check(claim, tables) for claim in claims])
    assert {name: [c.claim.name for c in others] for name, others in found.items()} == {
        "base": ["turned"]
    }
