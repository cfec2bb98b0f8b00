"""The report as Markdown: claims with verdicts, tables, the picture."""

from sojourn.paper.verdicts import Report
from sojourn.show.tables import Table

from ..beyond.outcomes import Outcomes
from ..beyond.page import NOT_RUN, short
from ..beyond.problems import PRIOR as COMMON_PRIOR
from ..beyond.summaries import spread
from .claims import LEARNED, OURS, RANDOM
from .outcomes import ByArmOutcome, worse_than
from .problems import DRAWS, PRIOR

PAGE = """# Items that drive people away: which policy

Made by `{command}` (sojourn {version}, seed {seed}, precision “{precision}”); the same command
with the same seed gives the same numbers. Intervals are 95 %. Policies of one problem met the
same users in every run, so that ratios of regrets are much sharper than the regrets.

In the paper leaving depends on the state and the reward. Here it may depend on the arm as well: an
item may be liked and still end visits. Policies that go for the mean (**KL-UCB**, **IMED**,
**Learned IMED**) meet those that look at the whole visit (**Visit IMED**, **Visit Thompson**; they
estimate from every step how much arms differ in leaving, and play for what a visit is worth),
**Q-learning**, which assumes least, and choosing at random (**Uniform**). See also [the
model](model.md#items-that-drive-people-away); [a feed with clickbait](case-feed.md), from its log
to a decision; [beyond the paper](beyond.md), the study this one follows.

## Claims

{summary} A claim is confirmed if all its intervals are wholly on the claimed side, not confirmed if
one is wholly on the other side, and otherwise not decidable at this precision.

{verdicts}

## Clickbait

Three arms of mean .8, .6, .4; q .15, .08, .12, .06, visits begin in state 0, and the first arm adds
2 to the log odds of leaving (mild: mean .65, and half a log unit). The best rule always plays the
second arm.

{clickbait}

## The paper's settings

Leaving does not depend on the arm: what does it cost not to assume it? Regret after 4,000 visits,
and that of the others as a multiple of {learned}'s.

{paper}

## Where the best arm is not optimal

D < 0 in a state, so that the arm of highest mean is wrong there. A policy that looks at the whole
visit finds out if it is told to (`follow_improper`); by default it does not show people what they
like least to make them stay. Regret after 5,000 visits.

{improper}

## Early visits

Ten arms of means .75 to .3, q .5, .1, .1, .05: regret over that of KL-UCB after so many visits.

{early}

## Problems drawn at random

**{draws} problems in which leaving does not depend on the arm** (those of the other study), 2,000
visits. {common_prior}

{random}

**{draws} problems in which it does**, 2,000 visits. {prior}

{by_arm}

![Every policy on the problems drawn at random](figures/by-arm.png)

Each dot is a problem; what is beyond the axis is drawn at its end.

## What was chosen, what was tried, what is out of reach

**The default of a live experiment is Visit IMED.** Visit Thompson is as good, and ahead in the
first visits; but its choices have no known probabilities, which replay needs, and a step of it
takes longer, because every choice is a draw.

**Signs are not followed by default**, because that is to show people what they like least. It has a
price where leaving is drawn at random: with `follow_improper` the same {draws} problems had 0.467
of Learned IMED's regret, and 1.0% of them surely more than choosing at random (an earlier run of
this study, in which it was the default); the worst ratio was 23.

**How it works.** Two accounts of what was seen compete: arms differ in their means only, or also in
who leaves after them (an effect of the arm and small deviations of its own in every state, in log
odds, with a strength that what was seen decides). The evidence between the two integrates the
common table out; where it is left at its best value the first account wins too easily, and one run
in seven never got out of mild clickbait. What speaks against an account is added to what speaks
against an arm, in nats, so that the logarithm of the pulls overcomes it.

**The prior** (`faith`, 4.5 nats for the first account) is the price: on B after 4,000 visits 2.5
nats have 1.5 times Learned IMED's regret and 4.5 nats the same; with clickbait 4 nats have about
twice the regret of 2.5. Thinking only when all steps have grown by a share had a third more regret
with clickbait than thinking also when an arm's pulls have. (Figures of this section are from 100 to
400 runs of variants that were dropped: they are not part of the study.)

**Out of reach here:** mild clickbait is found out late. An effect of half a log unit shows after
hundreds of departures, so that some 2,000 of 25,000 rewards are lost before. Leaving that depends
on the person or on the step of the visit is not looked at.
"""


def to_page(report: Report[Outcomes]) -> str:
    """The whole page; its picture is in the folder `figures` beside it."""
    found = report.findings
    return PAGE.format(
        **report.facts,
        verdicts=report.verdicts().markdown(),
        learned=LEARNED,
        clickbait=_clickbait(_outcomes(found, "clickbait")),
        paper=_multiples(_outcomes(found, "paper"), LEARNED),
        improper=_regrets(_outcomes(found, "improper")),
        early=_early(_outcomes(found, "early")),
        draws=DRAWS,
        common_prior=COMMON_PRIOR,
        prior=PRIOR,
        random=_drawn(_outcomes(found, "random")),
        by_arm=_drawn(_outcomes(found, "by arm")),
    )


def _outcomes(findings: Outcomes, group: str) -> list[ByArmOutcome]:
    return [o for o in findings.of(group, OURS) if isinstance(o, ByArmOutcome)]


def _clickbait(outcomes: list[ByArmOutcome]) -> str:
    if not outcomes:
        return NOT_RUN
    heads = ["policy"]
    for o in outcomes:
        heads += [f"{o.trial.problem}: regret", "share of the optimum from visit 1,000 on"]
    rows = []
    for label in outcomes[0].labels:
        row = [label]
        for o in outcomes:
            row += [str(o.regret(label)), short(o.late_share(label))]
        rows.append(row)
    return Table(heads, rows).markdown()


def _regrets(outcomes: list[ByArmOutcome]) -> str:
    if not outcomes:
        return NOT_RUN
    rows = [[label, *(str(o.regret(label)) for o in outcomes)] for label in outcomes[0].labels]
    return Table(["policy", *(o.trial.problem for o in outcomes)], rows).markdown()


def _multiples(outcomes: list[ByArmOutcome], base: str) -> str:
    if not outcomes:
        return NOT_RUN
    rows = [[f"{base}: regret", *(str(o.regret(base)) for o in outcomes)]]
    others = [label for label in outcomes[0].labels if label != base]
    rows += [[label, *(short(o.ratio(label, base)) for o in outcomes)] for label in others]
    return Table(["policy", *(o.trial.problem for o in outcomes)], rows).markdown()


def _early(outcomes: list[ByArmOutcome]) -> str:
    if not outcomes:
        return NOT_RUN
    (o,) = outcomes
    base = o.path[o.labels.index("KL-UCB")]
    rows = [["KL-UCB: regret", *(f"{x:.1f}" for x in base)]]
    for label, path in zip(o.labels, o.path, strict=True):
        if label != "KL-UCB":
            rows.append([label, *(f"{x:.2f}" for x in path / base)])
    return Table(["policy", *(f"{k} visits" for k in o.visits)], rows).markdown()


def _drawn(outcomes: list[ByArmOutcome]) -> str:
    if len(outcomes) < 2:
        return NOT_RUN
    rows = []
    for label in outcomes[0].labels:
        others = [_spread(outcomes, label, other) for other in (LEARNED, RANDOM)]
        lost = "" if label == RANDOM else str(worse_than(outcomes, label, RANDOM))
        worst = max(o.ratio(label, LEARNED).value for o in outcomes)
        rows.append([label, *others, f"{worst:.2f}", lost])
    heads = (
        "policy", f"regret / {LEARNED}'s, geometric mean", f"regret / {RANDOM}'s",
        f"greatest / {LEARNED}'s", f"share of problems surely worse than {RANDOM}",
    )  # fmt: skip
    return Table(heads, rows).markdown()


def _spread(outcomes: list[ByArmOutcome], label: str, other: str) -> str:
    if label == other:
        return "1"
    return str(spread(list(outcomes), label, other).typical)
