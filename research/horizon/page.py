"""The page: growth, tails, the price of not knowing the horizon, and what is proved."""

from sojourn.paper.verdicts import Report
from sojourn.show.tables import Table

from ..beyond.outcomes import Outcomes
from ..beyond.page import NOT_RUN, short
from .claims import outcomes_of
from .outcomes import RARE, HorizonOutcome
from .trials import EXACT, GROWTH, KNOWING, PRICED, TAILS, TENFOLD, TENTH, TOLD

PAGE = """# Safe at any horizon

Live, nobody knows how many visits there will be. Does a policy that explores little go on to
learn, or does it settle on the wrong arm for good? How bad is its worst run? And what would it
gain if it were told the number? Here regret is followed to a million visits on five problems: the
paper's **A**, **B** and **C**, **opposite** (mistakes are dearer after something good), and
**five arms** of means .7, .65, .6, .4, .3 with q .6, .3, .25, .05.

![Regret against visits, on a logarithmic scale](figures/horizon.png)

On this scale growth with log K is a straight line. Dotted: the slope of the lower bound, which no
policy that learns on every problem can stay below in the end (Theorems 3 and 7).

{headline}

Made by `{command}` (sojourn {version}, seed {seed}, precision “{precision}”); the same command with
the same seed gives the same numbers. Intervals are 95 %, from the spread of runs: where one run in
thousands goes wrong, they are too short. Policies of one trial met the same users.

## Claims

{summary} A claim is confirmed if all its intervals are wholly on the claimed side, not confirmed if
one is wholly on the other side, and otherwise not decidable at this precision.

{verdicts}

## Growth

Regret after K visits, and its slope over log K between the last two. The paper's KL-ULCB is told
which case the problem is.

{growth}

## Tails

Regret of single runs: the mean, the median, what {rare} of runs are above, and the worst. A
policy that drops the best arm pays for it in few runs, but dearly: look at the last column.

{tails}

## The price of not knowing

{priced} as it is, which needs no number; and told the number of visits. The exact index knows the
user as well, and has to be told a number: the right one, a tenth of it, or ten times as many. The
worst run is in brackets.

{told}

A horizon that is too short is the dangerous mistake: the exact index then commits to an arm for
good, in one run of hundreds, which the few runs of the longer trials do not show ([its
page](exact-index.md#measured) has more). Too long a one costs some exploring. {priced} without a
number lets its horizon grow with time.

## What is proved

{proved}

See also: [the priced index](index-policy.md), [the exact index](exact-index.md), and [how far
from the best possible](limit.md), the same question for few visits, where the best there can be
is known.
"""

PROVED = {
    "KL-ULCB": "proved, with the case known: Theorems 2 and 6 of the paper. They take c = 4 where "
    "c = 0 is played here",
    "IMED": "proved for n pulls of a bandit (Honda and Takemura, Non-asymptotic analysis of a new "
    "bandit algorithm for semi-bounded rewards, JMLR 16, 2015). It ignores states, so that regret "
    "is at most the largest gap times its wrong pulls: the slope is KL-UCB's, not the bound's",
    "Learned IMED": "not proved. Where mistakes are dear it plays the greatest empirical mean, and "
    "what is dear is an estimate",
    "Priced index": "not proved: see [its page](index-policy.md#what-is-not-proved)",
    "Exact index": "not proved; not true with one number for all K: beyond it the index commits. "
    "For Gaussian arms and a known horizon n the finite-horizon Gittins index has order log n "
    "(Lattimore, Regret analysis of the finite-horizon Gittins index strategy for multi-armed "
    "bandits, COLT 2016)",
    "AdaUCB": "proved for a load that is known and independent from step to step, with alpha > 1/2 "
    "(Wu, Guo and Liu, ICML 2018). The state of a visit depends on the step before",
}

TOLD_EXACT = (EXACT, TENTH, TENFOLD)


def to_page(report: Report[Outcomes]) -> str:
    """The whole page; its picture is in the folder `figures` beside it."""
    found = report.findings
    return PAGE.format(
        **report.facts,
        verdicts=report.verdicts().markdown(),
        headline=_headline(outcomes_of(found, GROWTH)),
        growth=_growth(outcomes_of(found, GROWTH)),
        tails=_tails(outcomes_of(found, TAILS)),
        told=_told(outcomes_of(found, TOLD)),
        rare=f"one in {1 / RARE:,.0f}",
        priced=PRICED,
        proved=Table(
            ["policy", "regret of order log K"], list(PROVED.items()), left=range(2)
        ).markdown(),
    )


def _headline(outcomes: list[HorizonOutcome]) -> str:
    """Regret at the end: a row for each policy, a column for each problem."""
    if not outcomes:
        return NOT_RUN
    heads = [
        f"regret after {outcomes[0].visits[-1]:,} visits",
        *(o.trial.problem for o in outcomes),
    ]
    rows = [[x, *(str(o.regret(x)) for o in outcomes)] for x in outcomes[0].labels]
    return Table(heads, rows).markdown()


def _growth(outcomes: list[HorizonOutcome]) -> str:
    if not outcomes:
        return NOT_RUN
    rows = []
    for o in outcomes:
        for label in o.labels:
            here = [str(o.at(label, k)) for k in o.visits]
            slope = str(o.slope(label, o.visits[-2]))
            rows.append([o.trial.problem, label, f"{o.runs:,}", *here, slope])
        least = f"{o.facts['least']:.1f}"
        rows.append([o.trial.problem, "lower bound", "", *("" for _ in o.visits), least])
    heads = ["problem", "policy", "runs", *(f"K = {k:,}" for k in outcomes[0].visits), "slope"]
    return Table(heads, rows, left=range(2)).markdown()


def _tails(outcomes: list[HorizonOutcome]) -> str:
    rows = []
    for o in outcomes:
        for label in o.labels:
            path = o.paths[label]
            tail = [f"{x[-1]:,.0f}" for x in (path.median, path.rare, path.worst)]
            where = f"{o.trial.problem}, {o.trial.visits:,} visits"
            rows.append([where, label, f"{o.runs:,}", str(o.regret(label)), *tail])
    heads = ["problem", "policy", "runs", "mean", "median", f"1 in {1 / RARE:,.0f}", "worst"]
    return Table(heads, rows, left=range(2)).markdown() if rows else NOT_RUN


def _told(outcomes: list[HorizonOutcome]) -> str:
    rows = []
    for o in outcomes:
        own = [
            o.trial.problem, f"{o.trial.visits:,}", f"{o.runs:,}", str(o.regret(PRICED)),
            short(o.ratio(PRICED, KNOWING)),
        ]  # fmt: skip
        exact = [f"{o.regret(x)} ({o.paths[x].worst[-1]:,.0f})" for x in TOLD_EXACT]
        rows.append([*own, *exact])
    heads = [
        "problem", "visits", "runs", PRICED, "over itself, told the visits",
        "exact index, told them", "a tenth of them", "ten times as many",
    ]  # fmt: skip
    return Table(heads, rows).markdown() if rows else NOT_RUN
