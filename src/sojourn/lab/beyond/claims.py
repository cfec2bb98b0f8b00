"""What the new policies must show, checked on the findings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...stats.intervals import Interval
from ..claims import Measured, Verdict, overall
from .outcomes import Findings, Outcome
from .rosters import FAMILIES, Family

NEAR, HARM = 1.10, 1.05
"""Regret of learned optimism: at most so many times that of the better fixed case, and of the same
explorer without a gate."""

Measure = Callable[[Findings], list[Measured]]


@dataclass(frozen=True)
class Claim:
    """A sentence and what would bear it out."""

    text: str
    measure: Measure


class Checked(NamedTuple):
    """A claim, its measurements and the verdict."""

    claim: Claim
    measured: list[Measured]
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """In plain types, for JSON."""
        return {
            "claim": self.claim.text,
            "verdict": self.verdict.value,
            "measurements": [
                {
                    "what": m.what,
                    **m.interval._asdict(),
                    "claimed": "above" if m.above else "below",
                    "threshold": m.threshold,
                    "verdict": m.verdict.value,
                }
                for m in self.measured
            ],
        }


def check(claim: Claim, findings: Findings) -> Checked:
    """Measure a claim."""
    measured = claim.measure(findings)
    return Checked(claim, measured, overall(measured))


def families() -> list[Family]:
    """Every explorer once; on moving averages its fixed cases go by other names."""
    return [*FAMILIES["main"], *FAMILIES["sampling"]]


def apart(one: str, other: str, problems: Sequence[str]) -> Measure:
    """That the interval of one is wholly below that of the other, on settings of the paper."""

    def measure(findings: Findings) -> list[Measured]:
        found = []
        for outcome in findings.of("paper", one, other):
            if outcome.trial.problem in problems:
                low, high = outcome.regret(one), outcome.regret(other)
                between = Interval(high.value - low.value, high.low - low.high, high.high - low.low)
                what = f"{outcome.trial.problem}: {other} {high} less {one} {low}"
                found.append(Measured(what, between, 0.0, above=True))
        return found

    return measure


def near_better_case(family: Family) -> Measure:
    """That learned optimism is near the better fixed case, on the paper's settings and opposite."""

    def measure(findings: Findings) -> list[Measured]:
        places = findings.of("paper", family.learned) + [
            o for o in findings.of("opposite", family.learned) if o.trial.problem == "opposite"
        ]
        found = []
        for outcome in places:
            cases = _fixed(outcome, family.learned)
            best = outcome.best(cases)
            ratio = outcome.ratio(family.learned, best)
            what = f"{outcome.trial.problem}: {family.learned} / {best}"
            found.append(Measured(what, ratio, NEAR, above=False))
        return found

    return measure


def _fixed(outcome: Outcome, learned: str) -> tuple[str, ...]:
    """The fixed cases that go with a learned policy, as this outcome has them."""
    every = [f for group in FAMILIES.values() for f in group if f.learned == learned]
    known = [f.fixed for f in every if any(label in outcome for label in f.fixed)]
    return tuple(label for label in known[0] if label in outcome)


def harmless(family: Family) -> Measure:
    """That learned optimism costs little where there is nothing to learn."""

    def measure(findings: Findings) -> list[Measured]:
        return [
            Measured(
                f"{outcome.trial.problem}: {family.learned} / {family.plain}",
                outcome.ratio(family.learned, family.plain),
                HARM,
                above=False,
            )
            for group in ("near-neutral", "logs")
            for outcome in findings.of(group, family.learned, family.plain)
        ]

    return measure


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "Safe IMED is below KL-ULCB on A, B, C and D, with intervals that do not overlap.",
        apart("Safe IMED", "KL-ULCB", ("A", "B", "C", "D")),
    ),
    Claim(
        "Safe Thompson is below KL-ULCB on A, B, C and D, with intervals that do not overlap.",
        apart("Safe Thompson", "KL-ULCB", ("A", "B", "C", "D")),
    ),
    *(
        Claim(
            f"{family.learned} is within {NEAR - 1:.0%} of the better fixed case on every setting "
            "of the paper and on the opposite instance.",
            near_better_case(family),
        )
        for family in families()
    ),
    *(
        Claim(
            f"{family.learned} is never more than {HARM - 1:.0%} above {family.plain} on "
            "near-neutral problems and on those fitted to logs.",
            harmless(family),
        )
        for family in families()
    ),
)
