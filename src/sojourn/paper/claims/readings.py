"""What words of the paper are taken to mean: round marks and thresholds, the same for all.

They are ours, not the paper's; `templates/page.md` explains them.
"""

from ..measures.growth import DOUBLED as DOUBLED
from ..trials import VISITS as VISITS

PAPER_RUNS = 1e7
TENFOLD = 10.0
SETTLED = 0.05
NEARLY = 0.05
AGREE = 1e-3
ROUNDING = 1e-9
EARLY, MIDDLE = VISITS // 100, VISITS // 10
DECADES = (EARLY, MIDDLE, VISITS)
"""Two decades of visits that end with the last one."""

FIRST_ARM, THEOREMS_C, SIMULATIONS_C = "ties to the first arm", "c = 4", "c = 0"
SLOPES_ONLY = "slopes instead of regret / log K"
GROWTH_ONLY, ENDS_ONLY = "any ratio that grows", "first and last value only"

TOWARDS = (
    f"Taken to mean: regret / log K is nearer to its bound at K = {VISITS:,} than at "
    f"K = {MIDDLE:,}. The bounds leave out terms of lower order, so the curves need not be near "
    "them yet."
)
SLOPES = (
    f"Taken to mean: the slope of regret against log K from K = {MIDDLE:,} to {VISITS:,} is nearer "
    f"to the bound's than the slope from {EARLY:,} to {MIDDLE:,}."
)
ORDER_WISE = (
    f"Taken to mean: more than {TENFOLD:g} times the regret at K = {VISITS:,}, and a ratio that "
    f"grows with K (from K = {MIDDLE:,} on)."
)
ALREADY = f"already from K = {MIDDLE:,} to {VISITS:,}"
AT_LAST = (
    "What is proved is about K → ∞: a slope on the wrong side at finite K, where terms of lower "
    "order still count, does not contradict it."
)
Q_OPEN = (
    "The paper does not say whether Q depends on the step of the visit, nor gives p; here Q "
    "depends on the state only and p = 0.05."
)
