"""What the new policies must show, checked on the outcomes."""

from dataclasses import dataclass

from ...stats.intervals import Interval
from ..claims import Claim, Measure, Measured
from .outcomes import Outcomes
from .rosters import FAMILIES, Family

NEAR, HARM = 1.10, 1.05
"""The largest ratio of the regret of learned optimism to that of the better fixed case, and to that
of the same explorer without a gate."""


@dataclass(frozen=True)
class Apart(Measure[Outcomes]):
    """The interval of one policy is wholly below that of the other, on settings of the paper."""

    one: str
    other: str
    problems: tuple[str, ...]

    def measure(self, findings: Outcomes) -> list[Measured]:
        found = []
        for outcome in findings.of("paper", self.one, self.other):
            if outcome.trial.problem in self.problems:
                low, high = outcome.regret(self.one), outcome.regret(self.other)
                between = Interval(high.value - low.value, high.low - low.high, high.high - low.low)
                what = f"{outcome.trial.problem}: {self.other} {high} less {self.one} {low}"
                found.append(Measured(what, between, 0.0, above=True))
        return found


@dataclass(frozen=True)
class NearBetterCase(Measure[Outcomes]):
    """Learned optimism is near the better fixed case, on the paper's settings and the opposite."""

    family: Family

    def measure(self, findings: Outcomes) -> list[Measured]:
        learned = self.family.learned
        places = findings.of("paper", learned) + [
            o for o in findings.of("opposite", learned) if o.trial.problem == "opposite"
        ]
        found = []
        for outcome in places:
            best = outcome.best(self.family.fixed)
            what = f"{outcome.trial.problem}: {learned} / {best}"
            found.append(Measured(what, outcome.ratio(learned, best), NEAR, above=False))
        return found


@dataclass(frozen=True)
class Harmless(Measure[Outcomes]):
    """Learned optimism costs little where there is nothing to learn."""

    family: Family

    def measure(self, findings: Outcomes) -> list[Measured]:
        learned, plain = self.family.learned, self.family.plain
        return [
            Measured(
                f"{outcome.trial.problem}: {learned} / {plain}",
                outcome.ratio(learned, plain),
                HARM,
                above=False,
            )
            for group in ("near-neutral", "logs")
            for outcome in findings.of(group, learned, plain)
        ]


def _claim(text: str, measure: Measure[Outcomes]) -> Claim[Outcomes]:
    return Claim(text, "", text, (measure,))


CLAIMS: tuple[Claim[Outcomes], ...] = (
    *(
        _claim(
            f"{safe} is below KL-ULCB on A, B, C and D, with intervals that do not overlap.",
            Apart(safe, "KL-ULCB", ("A", "B", "C", "D")),
        )
        for safe in ("Safe IMED", "Safe Thompson")
    ),
    *(
        _claim(
            f"{family.learned} is within {NEAR - 1:.0%} of the better fixed case on every setting "
            "of the paper and on the opposite instance.",
            NearBetterCase(family),
        )
        for family in FAMILIES
    ),
    *(
        _claim(
            f"{family.learned} is never more than {HARM - 1:.0%} above {family.plain} on "
            "near-neutral problems and on those fitted to logs.",
            Harmless(family),
        )
        for family in FAMILIES
    ),
)
