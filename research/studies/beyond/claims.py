"""What the new policies must show, checked on the outcomes."""

from dataclasses import dataclass

from sojourn.paper.verdicts import Claim, Measure, Measured
from sojourn.stats.intervals import Interval

from ...outcomes import Outcomes
from ...study import TypicalRatio, claim
from .outcomes import BeyondOutcome, comparable
from .trials import ENGAGEMENT, FAMILIES, LEARNED, PRICED, Family

Findings = Outcomes[BeyondOutcome]

NEAR, HARM = 1.10, 1.05
"""The largest ratio of the regret of learned optimism to that of the better fixed case, and to that
of the same explorer without a gate."""

MEANT, GAIN, FEW, WORSE = 0.82, 0.70, 4, 1.20
"""Of the engagement index and of the priced index, beside Learned IMED: the greatest geometric mean
of ratios on random problems, on how many of all problems they may have more regret, and how much
more."""


@dataclass(frozen=True)
class Apart(Measure[Findings]):
    """The interval of one policy is wholly below that of the other, on settings of these names."""

    one: str
    other: str
    problems: tuple[str, ...]

    def measure(self, findings: Findings) -> list[Measured]:
        found = []
        there = [
            o for group in ("paper", "opposite") for o in findings.of(group, self.one, self.other)
        ]
        for outcome in there:
            if outcome.trial.problem in self.problems:
                low, high = outcome.regret(self.one), outcome.regret(self.other)
                between = Interval(high.value - low.value, high.low - low.high, high.high - low.low)
                what = f"{outcome.trial.problem}: {self.other} {high} less {self.one} {low}"
                found.append(Measured(what, between, 0.0, above=True))
        return found


@dataclass(frozen=True)
class NearBetterCase(Measure[Findings]):
    """Learned optimism is near the better fixed case, on the paper's settings and the opposite."""

    family: Family

    def measure(self, findings: Findings) -> list[Measured]:
        learned, fixed = self.family.learned, self.family.fixed
        opposite = findings.of("opposite", learned, beside=fixed)
        places = findings.of("paper", learned, beside=fixed) + [
            o for o in opposite if o.trial.problem == "opposite"
        ]
        found = []
        for outcome in places:
            best = outcome.best(fixed)
            what = f"{outcome.trial.problem}: {learned} / {best}"
            found.append(Measured(what, outcome.ratio(learned, best), NEAR, above=False))
        return found


@dataclass(frozen=True)
class Harmless(Measure[Findings]):
    """Learned optimism costs little where there is nothing to learn."""

    family: Family

    def measure(self, findings: Findings) -> list[Measured]:
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


@dataclass(frozen=True)
class SeldomWorse(Measure[Findings]):
    """One policy has more regret than another on few problems, and on none by much."""

    one: str
    other: str

    def measure(self, findings: Findings) -> list[Measured]:
        there = [o for o in comparable(findings) if self.one in o and self.other in o]
        if len(there) < 2:
            return []
        ratios = {o.trial.problem: o.ratio(self.one, self.other) for o in there}
        more = Interval.exact(float(sum(r.low > 1.0 for r in ratios.values())))
        worst = max(ratios, key=lambda name: ratios[name].low)
        return [
            Measured(f"problems with significantly more, of {len(there)}", more, FEW, above=False),
            Measured(f"the worst beyond noise, {worst}", ratios[worst], WORSE, above=False),
        ]


def _told_nothing(label: str, gain: float) -> list[Claim[Findings]]:
    """What an index that is told nothing must show beside Learned IMED."""
    return [
        claim(
            f"{label} has at most {gain:.2f} of the regret of {LEARNED} on random problems "
            "(geometric mean).",
            TypicalRatio("random", label, LEARNED, gain, named=True),
        ),
        claim(
            f"{label} has significantly more regret than {LEARNED} on at most {FEW} problems, and "
            f"on none by more than {WORSE - 1:.0%}.",
            SeldomWorse(label, LEARNED),
        ),
        claim(
            f"{label} is below {LEARNED} on A, B, C, D and opposite, with intervals that do not "
            "overlap.",
            Apart(label, LEARNED, ("A", "B", "C", "D", "opposite")),
        ),
    ]


CLAIMS: tuple[Claim[Findings], ...] = (
    *_told_nothing(ENGAGEMENT, MEANT),
    *(
        claim(
            f"{ENGAGEMENT} has at most {most:g} of the regret of {other} {where} (geometric mean).",
            TypicalRatio(group, ENGAGEMENT, other, most, named=True),
        )
        for group, other, most, where in (
            ("by state", LEARNED, 1.0, "where rewards depend on the state"),
            ("catalogues", "IMED", 0.5, "in catalogues"),
        )
    ),
    *_told_nothing(PRICED, GAIN),
    *(
        claim(
            f"{gated} is below KL-ULCB on A, B, C and D, with intervals that do not overlap.",
            Apart(gated, "KL-ULCB", ("A", "B", "C", "D")),
        )
        for gated in ("Gated IMED", "Gated Thompson")
    ),
    *(
        claim(
            f"{family.learned} is within {NEAR - 1:.0%} of the better fixed case on every setting "
            "of the paper and on the opposite instance.",
            NearBetterCase(family),
        )
        for family in FAMILIES
    ),
    *(
        claim(
            f"{family.learned} is never more than {HARM - 1:.0%} above {family.plain} on "
            "near-neutral problems and on those fitted to logs.",
            Harmless(family),
        )
        for family in FAMILIES
    ),
)
