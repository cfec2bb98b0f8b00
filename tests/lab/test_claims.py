"""Verdicts: of a measurement, of a claim, and of a claim beside its variants."""

from math import inf, nan

import pytest
from made_up import made_up

from sojourn.lab.claims import Claim, Measured, Verdict, check, hinges, overall
from sojourn.lab.paper.measures.regret import Less
from sojourn.stats.intervals import Interval

CONFIRMED, NOT_CONFIRMED, UNDECIDED = Verdict


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


def test_check_evaluates_a_claim() -> None:
    claim = Claim("x", "Section 0", "a is less than b.", (Less("x", "a", "b"),))
    found = check(claim, {"x": made_up({"a": 1.0, "b": 2.0}, 0.1, 0.1)})
    assert found.verdict is CONFIRMED and found.to_dict()["measurements"][0]["threshold"] == 0.0


def test_a_claim_hinges_on_a_choice_only_if_both_ways_are_decided() -> None:
    tables = {"x": made_up({"a": 1.0, "b": 2.0, "c": 1.0}, 0.1, 0.1)}
    claims = [
        Claim("base", "Section 0", "", (Less("x", "a", "b"),)),
        Claim("same", "Section 0", "", (Less("x", "c", "b"),), choice="same", of="base"),
        Claim("open", "Section 0", "", (Less("x", "a", "c"),), choice="open", of="base"),
        Claim("turned", "Section 0", "", (Less("x", "b", "a"),), choice="turned", of="base"),
    ]
    found = hinges([check(claim, tables) for claim in claims])
    assert {name: [c.claim.name for c in others] for name, others in found.items()} == {
        "base": ["turned"]
    }
