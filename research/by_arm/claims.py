"""What a policy that assumes nothing of leaving must show, checked on the outcomes."""

from dataclasses import dataclass

from sojourn.paper.verdicts import Claim, Measure, Measured
from sojourn.policies import LearnedIMED, Uniform, VisitIMED

from ..beyond.outcomes import Outcomes
from ..beyond.summaries import spread
from .outcomes import ByArmOutcome, worse_than

OURS, LEARNED, RANDOM = VisitIMED().label, LearnedIMED().label, Uniform().label
FOLLOWING = VisitIMED(follow_improper=True).label

SHARE, NEAR, TYPICAL, SELDOM = 0.9, 1.25, 1.15, 0.05


@dataclass(frozen=True)
class Late(Measure[Outcomes]):
    """Reward after the first checkpoint, as a share of the optimum."""

    def measure(self, findings: Outcomes) -> list[Measured]:
        found = [o for o in findings.of("clickbait", OURS) if isinstance(o, ByArmOutcome)]
        return [Measured(o.trial.problem, o.late_share(OURS), SHARE, above=True) for o in found]


@dataclass(frozen=True)
class Near(Measure[Outcomes]):
    """Regret over that of learned optimism, on the paper's settings."""

    def measure(self, findings: Outcomes) -> list[Measured]:
        return [
            Measured(o.trial.problem, o.ratio(OURS, LEARNED), NEAR, above=False)
            for o in findings.of("paper", OURS, LEARNED)
        ]


@dataclass(frozen=True)
class Typical(Measure[Outcomes]):
    """The same over problems drawn at random: the geometric mean."""

    group: str
    most: float

    def measure(self, findings: Outcomes) -> list[Measured]:
        there = findings.of(self.group, OURS, LEARNED)
        if len(there) < 2:
            return []
        ratio = spread(there, OURS, LEARNED).typical
        return [Measured(f"{len(there)} problems", ratio, self.most, above=False)]


@dataclass(frozen=True)
class Seldom(Measure[Outcomes]):
    """On how many problems drawn at random it surely has more regret than choosing at random."""

    def measure(self, findings: Outcomes) -> list[Measured]:
        there = findings.of("by arm", OURS, RANDOM)
        if not there:
            return []
        return [
            Measured(f"{len(there)} problems", worse_than(there, OURS, RANDOM), SELDOM, above=False)
        ]


@dataclass(frozen=True)
class Improper(Measure[Outcomes]):
    """Where the best arm is not optimal: regret over that of learned optimism."""

    def measure(self, findings: Outcomes) -> list[Measured]:
        return [
            Measured(o.trial.problem, o.ratio(FOLLOWING, LEARNED), 0.1, above=False)
            for o in findings.of("improper", FOLLOWING, LEARNED)
        ]


def _claim(text: str, measure: Measure[Outcomes]) -> Claim[Outcomes]:
    return Claim(text, "", text, (measure,))


CLAIMS: tuple[Claim[Outcomes], ...] = (
    _claim(
        f"{OURS} earns at least {SHARE:.0%} of the optimal reward per visit from visit 1,000 on, "
        "with clickbait and with its mild form.",
        Late(),
    ),
    _claim(f"On A, B, C, D and opposite its regret is at most {NEAR} of {LEARNED}'s.", Near()),
    _claim(
        f"Over the random problems in which leaving does not depend on the arm it is at most "
        f"{TYPICAL} of {LEARNED}'s in geometric mean.",
        Typical("random", TYPICAL),
    ),
    _claim(
        f"Over those in which it does, it is below {LEARNED}'s in geometric mean.",
        Typical("by arm", 1.0),
    ),
    _claim(
        f"There it is surely above that of choosing at random on at most {SELDOM:.0%} of problems.",
        Seldom(),
    ),
    _claim(
        f"Where the best arm is not optimal (D < 0), with `follow_improper` it is at most a tenth "
        f"of {LEARNED}'s.",
        Improper(),
    ),
)
