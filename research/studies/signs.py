"""The study of signs: users who leave after a success, and what following that costs elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sojourn.paper.trials import Trial, by_label
from sojourn.paper.verdicts import Measure, Measured
from sojourn.policies import KLUCB, EngagementIndex, LearnedIMED, VisitIMED
from sojourn.stats.intervals import Interval

from ..outcomes import Outcomes, PathOutcome, spread
from ..problems import PROBLEMS
from ..study import NOT_RUN, Group, claim, short, study, table, trials_of

AS_USUAL, FOLLOWING = LearnedIMED(), LearnedIMED(follow_improper=True)
LEARNED, FOLLOWED = AS_USUAL.label, FOLLOWING.label

IMPROPER, PROPER = "improper", "proper"
"""The groups: D < 0 in a state, and nowhere."""

WRONG = {
    "three arms": "best arm is not optimal",
    "ASSISTments 2015": "best arm is not optimal (ASSISTments 2015)",
}
"""The problems with D < 0, and what the study beyond the paper calls them."""

FIRST = 20
"""Problems drawn at random that a quick study has."""

RIGHT = {
    group: {name: make for name, make in problems.items() if name not in WRONG.values()}
    for group, problems in PROBLEMS.items()
    if group not in ("by state", "catalogues")
}

TRIALS: tuple[Trial, ...] = trials_of(
    Group(
        IMPROPER, {name: PROBLEMS["violations"][theirs] for name, theirs in WRONG.items()},
        by_label(
            KLUCB(), AS_USUAL, FOLLOWING, VisitIMED(follow_improper=True),
            EngagementIndex(follow_improper=True),
        ),
        (500, 5_000), (16, 1_024), nanoseconds=150.0,
    ),
    *(
        Group(
            PROPER, problems, by_label(AS_USUAL, FOLLOWING), (500, 2_000), (4, 40),
            first=FIRST if group == "random" else None, nanoseconds=60.0,
        )
        for group, problems in RIGHT.items()
    ),
)  # fmt: skip

LOSS = 0.01
MOST: Mapping[str, float] = {"ASSISTments 2015": 60.0, "three arms": 25.0}
"""Regret after 5,000 visits that is aimed at."""


@dataclass(frozen=True)
class Small(Measure[Outcomes[PathOutcome]]):
    """Regret at the end where D < 0 somewhere."""

    def measure(self, findings: Outcomes[PathOutcome]) -> list[Measured]:
        return [
            Measured(o.trial.problem, o.regret(FOLLOWED), MOST[o.trial.problem], above=False)
            for o in findings.of(IMPROPER, FOLLOWED)
        ]


@dataclass(frozen=True)
class Harmless(Measure[Outcomes[PathOutcome]]):
    """On how many other problems regret is significantly more than 1 % above that without it."""

    def measure(self, findings: Outcomes[PathOutcome]) -> list[Measured]:
        there = findings.of(PROPER, FOLLOWED, LEARNED)
        worse = sum(o.ratio(FOLLOWED, LEARNED).low > 1.0 + LOSS for o in there)
        what = f"of {len(there)} problems"
        return [Measured(what, Interval.exact(float(worse)), 0.0, above=False)] if there else []


CLAIMS = (
    claim(
        "Where D < 0 in a state, following it has a regret below 60 (five arms with the numbers of "
        "ASSISTments 2015) and below 25 (three arms) after 5,000 visits.",
        Small(),
    ),
    claim(
        f"Where it is nowhere, no problem loses more than {LOSS:.0%} by the option.",
        Harmless(),
        "beyond noise: the whole interval of the ratio is above",
    ),
)

SHOWN = 5
"""Problems in the table of losses."""


def tables(findings: Outcomes[PathOutcome]) -> dict[str, str]:
    """Regret where a success ends visits, and what the option costs elsewhere."""
    proper = findings.of(PROPER, FOLLOWED, LEARNED)
    return {
        "count": str(len(proper)),
        "improper": _improper(findings.of(IMPROPER, FOLLOWED)),
        "proper": _proper(proper),
        "worst": _worst(proper),
    }


def _improper(outcomes: Sequence[PathOutcome]) -> str:
    heads, rows = ["policy"], []
    for o in outcomes:
        heads += [f"{o.trial.problem}: {o.visits[0]:,}", f"{o.visits[-1]:,}"]
    for label in outcomes[0].labels if outcomes else ():
        row = [label]
        for o in outcomes:
            row += [f"{o.path[o.labels.index(label), 0]:,.0f}", str(o.regret(label))]
        rows.append(row)
    return table(heads, rows)


def _proper(outcomes: Sequence[PathOutcome]) -> str:
    if len(outcomes) < 2:
        return NOT_RUN
    ratios = [o.ratio(FOLLOWED, LEARNED) for o in outcomes]
    rows = [
        ["geometric mean of the ratios", str(spread(outcomes, FOLLOWED, LEARNED).typical)],
        ["problems where it changed no run", str(sum(r.low == r.high == 1.0 for r in ratios))],
        [f"loss significantly below {LOSS:.0%}", str(sum(r.high < 1.0 + LOSS for r in ratios))],
        [f"loss significantly above {LOSS:.0%}", str(sum(r.low > 1.0 + LOSS for r in ratios))],
    ]
    return table(["", "problems"], rows)


def _worst(outcomes: Sequence[PathOutcome]) -> str:
    by_low = sorted(outcomes, key=lambda o: -o.ratio(FOLLOWED, LEARNED).low)[:SHOWN]
    rows = [
        [o.trial.problem, f"{o.facts['arms']:.0f}", f"{o.facts['length']:.1f}",
         str(o.regret(LEARNED)), short(o.ratio(FOLLOWED, LEARNED))]
        for o in by_low
    ]  # fmt: skip
    heads = ["problem", "arms", "steps per visit", f"{LEARNED}: regret", "with the option"]
    return table(heads, rows)


STUDY = study("signs", TRIALS, CLAIMS, tables)
