"""The theory of a problem: the paper's assumptions, cases and bounds, and the Bayes limit."""

from ..values.prior import DoesNotApply
from ..values.visit_index import IndexTable, visit_index
from .bayes import BayesOptimum, TooLarge, bayes_memory, bayes_optimum
from .gaps import (
    Condition,
    Conjecture,
    case,
    conjecture,
    gap_condition,
    mistake_costs,
    monotone_gap,
)
from .induction import Plan
from .one_armed import LowerBound, bayes_lower_bound
from .premises import AssumptionWarning, Check, assumptions, sufficient_condition, warn_about
from .regret import Bound, Lemma3, Lemma4, bounds, lemma3, lemma4
from .report import Summary, summary

__all__ = [
    "AssumptionWarning", "BayesOptimum", "Bound", "Check", "Condition", "Conjecture",
    "DoesNotApply", "IndexTable", "Lemma3", "Lemma4", "LowerBound", "Plan", "Summary", "TooLarge",
    "assumptions", "bayes_lower_bound", "bayes_memory", "bayes_optimum", "bounds", "case",
    "conjecture", "gap_condition", "lemma3", "lemma4", "mistake_costs", "monotone_gap",
    "sufficient_condition", "summary", "visit_index", "warn_about",
]  # fmt: skip
