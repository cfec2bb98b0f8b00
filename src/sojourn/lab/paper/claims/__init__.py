"""What the paper says that a simulation or an exact computation can check, sentence by sentence."""

from collections.abc import Iterable

from . import choices, general, theorems, two_state
from .base import Checked, Claim, check, hinges
from .readings import READINGS

__all__ = ["CLAIMS", "READINGS", "Checked", "Claim", "check", "claims_about", "hinges"]

CLAIMS: tuple[Claim, ...] = (
    *theorems.MAIN_PART,
    *two_state.CLAIMS,
    *choices.CLAIMS,
    *general.CLAIMS,
    *two_state.COEFFICIENTS,
    *theorems.OPPOSITE,
)
"""In the order of the paper, except that rows of a kind stand together."""


def claims_about(experiments: Iterable[str], figures: Iterable[str]) -> list[Claim]:
    """The claims that these experiments suffice for, or that go with one of these figures."""
    there, shown = set(experiments), set(figures)
    return [
        claim
        for claim in CLAIMS
        if claim.figure in shown or (claim.experiments and there.issuperset(claim.experiments))
    ]
