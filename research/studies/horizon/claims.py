"""What the study claims of growth, tails and not knowing the horizon, checked on the outcomes."""

from dataclasses import dataclass

from sojourn.paper.verdicts import Claim, Measure, Measured
from sojourn.stats.intervals import Interval

from ...outcomes import Outcomes
from ...study import claim
from .trials import GROWTH, INFORMED, KNOWING, LEARNED, PRICED, TAILS, TO, HorizonOutcome

Findings = Outcomes[HorizonOutcome]

STEEP, COSTLY, HEAVY = 1.5, 1.25, 10.0


@dataclass(frozen=True)
class Slope(Measure[Findings]):
    """The slope of a policy over the last factor of ten, as a multiple of the least there is."""

    policy: str

    def measure(self, findings: Findings) -> list[Measured]:
        found = []
        for o in findings.played(GROWTH, self.policy):
            slope, least = o.slope(self.policy, o.visits[-2]), o.facts["least"]
            multiple = Interval(*(x / least for x in slope))
            found.append(Measured(o.trial.problem, multiple, STEEP, above=False))
        return found


@dataclass(frozen=True)
class EndRatio(Measure[Findings]):
    """Regret at the end of one policy over that of another, in every trial of a group."""

    group: str
    policy: str
    other: str
    most: float

    def measure(self, findings: Findings) -> list[Measured]:
        return [
            Measured(
                f"{o.trial.problem}, {o.trial.visits:,} visits", o.ratio(self.policy, self.other),
                self.most, above=False,
            )
            for o in findings.played(self.group, self.policy, self.other)
        ]  # fmt: skip


@dataclass(frozen=True)
class Worst(Measure[Findings]):
    """The worst run of a policy over its mean."""

    policy: str

    def measure(self, findings: Findings) -> list[Measured]:
        found = []
        for o in findings.played(TAILS, self.policy):
            path = o.paths[self.policy]
            worst = Interval.exact(float(path.worst[-1] / path.mean[-1]))
            found.append(Measured(f"{o.trial.problem}, {o.runs:,} runs", worst, HEAVY, above=False))
        return found


CLAIMS: tuple[Claim[Findings], ...] = (
    *(
        claim(
            f"From {TO[-2]:,} to {TO[-1]:,} visits regret of {label} grows at most {STEEP} times "
            "as fast as the lower bound.",
            Slope(label),
            "the slope over log K; what the bound says is about K → ∞" if label == PRICED else "",
        )
        for label in (PRICED, LEARNED)
    ),
    claim(
        f"In the trials of many runs {PRICED}, told nothing, has less regret than {LEARNED}.",
        EndRatio(TAILS, PRICED, LEARNED, 1.0),
    ),
    claim(
        f"Not to know the number of visits costs {PRICED} at most {COSTLY - 1:.0%}.",
        EndRatio(INFORMED, PRICED, KNOWING, COSTLY),
    ),
    claim(f"The worst run of {PRICED} has at most {HEAVY:g} times its mean regret.", Worst(PRICED)),
    claim(
        f"The worst run of {LEARNED} has at most {HEAVY:g} times its mean regret.", Worst(LEARNED)
    ),
)
