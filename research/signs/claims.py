"""What is claimed of following signs, checked on the outcomes."""

from collections.abc import Mapping
from dataclasses import dataclass

from sojourn.paper.verdicts import Claim, Measure, Measured
from sojourn.stats.intervals import Interval

from ..beyond.outcomes import Outcomes
from .trials import FOLLOWED, IMPROPER, LEARNED, PROPER

LOSS = 0.01
MOST: Mapping[str, float] = {"ASSISTments 2015": 60.0, "three arms": 25.0}
"""Regret after 5,000 visits that is aimed at."""


@dataclass(frozen=True)
class Small(Measure[Outcomes]):
    """Regret at the end where D < 0 somewhere."""

    def measure(self, findings: Outcomes) -> list[Measured]:
        found = findings.of(IMPROPER, FOLLOWED)
        return [
            Measured(o.trial.problem, o.regret(FOLLOWED), MOST[o.trial.problem], above=False)
            for o in found
        ]


@dataclass(frozen=True)
class Harmless(Measure[Outcomes]):
    """On how many other problems regret is surely more than 1 % above that without the option."""

    def measure(self, findings: Outcomes) -> list[Measured]:
        there = findings.of(PROPER, FOLLOWED, LEARNED)
        worse = sum(o.ratio(FOLLOWED, LEARNED).low > 1.0 + LOSS for o in there)
        what = f"of {len(there)} problems"
        return [Measured(what, Interval.exact(float(worse)), 0.0, above=False)] if there else []


def _claim(text: str, measure: Measure[Outcomes], note: str = "") -> Claim[Outcomes]:
    return Claim(text, "", text, (measure,), note)


CLAIMS: tuple[Claim[Outcomes], ...] = (
    _claim(
        "Where D < 0 in a state, following it has a regret below 60 (five arms with the numbers of "
        "ASSISTments 2015) and below 25 (three arms) after 5,000 visits.",
        Small(),
    ),
    _claim(
        f"Where it is nowhere, no problem loses more than {LOSS:.0%} by the option.",
        Harmless(),
        "beyond noise: the whole interval of the ratio is above",
    ),
)
