"""What is claimed of changes, checked on the outcomes."""

from dataclasses import dataclass

from sojourn.paper.verdicts import Claim, Measure, Measured

from ..beyond.outcomes import Outcomes
from .trials import DETECTOR, MOVING, PLAIN, STILL

LOSS = 0.03
"""What the detector may cost where nothing changes."""


@dataclass(frozen=True)
class Ratio(Measure[Outcomes]):
    """Regret of the detector over that of the policy within it, on every problem of a group."""

    group: str
    most: float

    def measure(self, findings: Outcomes) -> list[Measured]:
        one, other = DETECTOR.label, PLAIN.label
        return [
            Measured(o.trial.problem, o.ratio(one, other), self.most, above=False)
            for o in findings.of(self.group, one, other)
        ]


def _claim(text: str, measure: Measure[Outcomes]) -> Claim[Outcomes]:
    return Claim(text, "", text, (measure,))


CLAIMS: tuple[Claim[Outcomes], ...] = (
    _claim(
        f"Where nothing changes, the detector costs at most {LOSS:.0%} of the regret (settings B, "
        "opposite, A and ema-1000, 20,000 visits).",
        Ratio(STILL, 1.0 + LOSS),
    ),
    _claim(
        "Where something changes, it leaves less regret than the policy has without it.",
        Ratio(MOVING, 1.0),
    ),
)
