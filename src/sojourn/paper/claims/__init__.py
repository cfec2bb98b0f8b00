"""What the paper says that a simulation or an exact computation can check, sentence by sentence."""

from collections.abc import Iterable

from ..results import Results
from ..verdicts import Claim
from . import general, theorems, two_state

CLAIMS: tuple[Claim[Results], ...] = (
    *theorems.MAIN_PART,
    *two_state.CLAIMS,
    *two_state.OPEN_CHOICES,
    *general.CLAIMS,
    *two_state.COEFFICIENTS,
    *theorems.OPPOSITE,
)
"""In the order of the paper, except that rows of a kind stand together."""


def claims_about(trials: Iterable[str], figures: Iterable[str]) -> list[Claim[Results]]:
    """The claims that these trials suffice for, or that go with one of these figures."""
    there, shown = set(trials), set(figures)
    return [
        claim
        for claim in CLAIMS
        if claim.figure in shown or (claim.trials and there.issuperset(claim.trials))
    ]
