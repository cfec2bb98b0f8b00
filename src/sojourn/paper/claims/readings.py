"""What words of the paper are taken to mean: round marks and thresholds, the same for all."""

from typing import NamedTuple

from ..measures.growth import DOUBLED
from ..trial import VISITS
from ..verdicts import Verdict

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


class Interpretation(NamedTuple):
    """Words of the paper, what they are taken to mean, and what else they might mean."""

    words: str
    taken: str
    instead: str


READINGS = (
    Interpretation(
        "outperforms",
        f"less regret at K = {VISITS:,}, compared run by run: the 95 % interval of the difference "
        "is below 0",
        "less at every K, or less by a margin: the tables of values show where curves cross, and "
        "each row gives the difference as a share",
    ),
    Interpretation(
        "significantly",
        "as above, in the statistician's sense; the share in brackets says how much",
        "by a large factor",
    ),
    Interpretation(
        "order-wise lower",
        f"regret more than {TENFOLD:g} times lower at K = {VISITS:,}, and a ratio that grows from "
        f"K = {MIDDLE:,} on; both are shown",
        "a ratio that grows, however large it is: a row of its own each",
    ),
    Interpretation(
        "go towards the bounds",
        f"regret / log K is nearer to the slope of the bound at K = {VISITS:,} than at "
        f"K = {MIDDLE:,}",
        'nearer in slope, since "only the slopes matter": a row of its own each. A curve that '
        "crosses its bound can be nearer on the other side: each row gives both distances with "
        "their signs",
    ),
    Interpretation(
        "slopes converge",
        f"the slope over the last decade of visits ({MIDDLE:,} to {VISITS:,}) is nearer to the "
        "bound's than that over the decade before",
        "the slope is within the interval of the bound's",
    ),
    Interpretation(
        "grows at most like the bound",
        f"the slope of regret against log K from K = {MIDDLE:,} to {VISITS:,} is at most the "
        "bound's (for lower bounds: at least). Theorems are about K → ∞: a slope on the other side "
        f"is “{Verdict.NOT_YET.value}”; “{Verdict.NOT_CONFIRMED.value}” is one that also was "
        f"multiplied by {DOUBLED:g} or more since the decade before (for lower bounds: divided), "
        "which is not like log K",
        "theorems stay true whatever the slope is here",
    ),
    Interpretation(
        "slightly better",
        "better; the share in brackets says how slightly",
        "better by at most some share",
    ),
    Interpretation(
        "bounded by a constant",
        f"from K = {MIDDLE:,} to {VISITS:,} regret in state 0 grows by less than "
        f"{100 * SETTLED:g} %, that in state 1 by more; and it is below the constant of the proof",
        "below the constant of the proof alone, which is enormous: a row of its own",
    ),
    Interpretation(
        "as c1 (c0) increases",
        "every neighbouring pair of the values here, c1 = 0.25, 0.5, 0.75, 1 and "
        "c0 = -1, -0.5, 0, 0.5, 1",
        "the first and the last value only, or values beyond (c1 = 1.5): a row of its own each",
    ),
    Interpretation(
        "half-widths at most",
        "of regret from raw rewards over 10⁷ runs, as the paper's numbers are",
        "of the estimates here, which sum gaps and need far fewer runs: a row of its own each, not "
        "decided by a quick run, which asks for no half-width",
    ),
    Interpretation(
        "nearly tight for large n",
        f"at n = 64 the upper bound exceeds the lower bound by less than {100 * NEARLY:g} %",
        "another n or share",
    ),
)
"""Fixed by us, not by the paper."""
