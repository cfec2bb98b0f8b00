"""The report as Markdown."""

from sojourn.paper.verdicts import Report
from sojourn.show.tables import Table

from ..beyond.outcomes import Outcomes
from ..beyond.page import NOT_RUN, short
from ..beyond.summaries import spread
from ..by_arm.outcomes import ByArmOutcome
from .claims import LOSS
from .trials import FOLLOWED, IMPROPER, LEARNED, PROPER

PAGE = """# Users whom a success drives away

In some logs people leave when they got what they came for. If that goes so far that a success
costs more than it is worth, D(s) < 0 in a state, then the best rule shows the arm of *least* mean
there, and every policy that goes for the greatest mean loses a share of every visit, for ever.
With `follow_improper` learned policies, and those for the whole visit, estimate the sign of D(s)
and follow it. It is off unless asked for, because it shows people what they like least: look first
whether the reward says what you mean.

{improper}

Regret up to so many visits. **ASSISTments 2015**: five arms of means .90 to .48, with the leave
frequencies of that log (.133, .017, .106, .436); **three arms**: .8, .7, .6 with q .1, .05, .1,
.6. Visit IMED, the default of live experiments, has the option too, on in this table.

Made by `{command}` (sojourn {version}, seed {seed}, precision “{precision}”); the same command with
the same seed gives the same numbers. Intervals are 95 %.

## Claims

{summary} A claim is confirmed if all its intervals are wholly on the claimed side, not confirmed if
one is wholly on the other side, and otherwise not decidable at this precision.

{verdicts}

## What the option costs where it is not needed

{count} problems with D >= 0 everywhere, those of [beyond the paper](beyond.md), 2,000 visits:
regret with the option over that without it. Runs in which no sign was ever taken for negative are
the same, step by step.

{proper}

The problems that lost most, by the lower end of the interval:

{worst}

## How it decides

D(s) is estimated from departures by state and reward, as for [learned
prices](ideas/learned-prices.md), and so is its standard error. A sign is followed where D(s) is
below 0 by more than 0.7 standard errors, or sqrt(2 log(t / 200)) after t steps if that is more.
Departures show the sign of a state whatever is played there, so that a wrong conclusion is found
out; so it may be drawn early, but later on with a chance of about 200 / t only, whose cost is of
order log t. With 1.5 standard errors throughout, five arms had 71 ± 6 and three 22 ± 1 (256
runs); the problems that lost most were the same.

There is no proof that regret is of order log K here. What speaks for it: departures are seen in
every state that is visited, whatever is shown, so that signs are learned for sure; with the signs
known, IMED plays for the greatest mean in some states and for the least in others, each with its
own evidence.

See also: [learned prices](ideas/learned-prices.md), where D comes from; [fit and decide](logs.md),
which warns of such users in a log; [which policy](policies.md) to take.
"""

SHOWN = 5
"""Problems in the table of losses."""


def to_page(report: Report[Outcomes]) -> str:
    """The whole page."""
    found = report.findings
    proper = [o for o in found.of(PROPER, FOLLOWED, LEARNED) if isinstance(o, ByArmOutcome)]
    improper = [o for o in found.of(IMPROPER, FOLLOWED) if isinstance(o, ByArmOutcome)]
    return PAGE.format(
        **report.facts,
        verdicts=report.verdicts().markdown(),
        count=len(proper),
        improper=_improper(improper),
        proper=_proper(proper),
        worst=_worst(proper),
    )


def _improper(outcomes: list[ByArmOutcome]) -> str:
    if not outcomes:
        return NOT_RUN
    heads = ["policy"]
    for o in outcomes:
        heads += [f"{o.trial.problem}: {o.visits[0]:,}", f"{o.visits[-1]:,}"]
    rows = []
    for label in outcomes[0].labels:
        cells = []
        for o in outcomes:
            cells += [f"{o.path[o.labels.index(label), 0]:,.0f}", str(o.regret(label))]
        rows.append([label, *cells])
    return Table(heads, rows).markdown()


def _proper(outcomes: list[ByArmOutcome]) -> str:
    if len(outcomes) < 2:
        return NOT_RUN
    ratios = [o.ratio(FOLLOWED, LEARNED) for o in outcomes]
    rows = [
        ["geometric mean of the ratios", str(spread(list(outcomes), FOLLOWED, LEARNED).typical)],
        ["problems where it changed no run", str(sum(r.low == r.high == 1.0 for r in ratios))],
        [f"loss surely below {LOSS:.0%}", str(sum(r.high < 1.0 + LOSS for r in ratios))],
        [f"loss surely above {LOSS:.0%}", str(sum(r.low > 1.0 + LOSS for r in ratios))],
    ]
    return Table(["", "problems"], rows).markdown()


def _worst(outcomes: list[ByArmOutcome]) -> str:
    by_low = sorted(outcomes, key=lambda o: -o.ratio(FOLLOWED, LEARNED).low)[:SHOWN]
    rows = [
        [o.trial.problem, f"{o.facts['arms']:.0f}", f"{o.facts['length']:.1f}",
         str(o.regret(LEARNED)), short(o.ratio(FOLLOWED, LEARNED))]
        for o in by_low
    ]  # fmt: skip
    heads = ["problem", "arms", "steps a visit", f"{LEARNED}: regret", "with the option"]
    return Table(heads, rows).markdown() if rows else NOT_RUN
