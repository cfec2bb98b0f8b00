"""What the paper proves about a problem: assumptions, cases, slopes of the regret, constants."""

from .gaps import (
    Condition,
    Conjecture,
    case,
    conjecture,
    gap_condition,
    mistake_costs,
    monotone_gap,
)
from .lemmas import Lemma3, Lemma4, lemma3, lemma4
from .model import DoesNotApply
from .premises import AssumptionWarning, Check, assumptions, sufficient_condition, warn_about
from .report import Summary, summary
from .slopes import Bound, bounds

__all__ = [
    "AssumptionWarning", "Bound", "Check", "Condition", "Conjecture", "DoesNotApply", "Lemma3",
    "Lemma4", "Summary", "assumptions", "bounds", "case", "conjecture", "gap_condition", "lemma3",
    "lemma4", "mistake_costs", "monotone_gap", "sufficient_condition", "summary", "warn_about",
]  # fmt: skip
