"""The table of goals: what the default has to show, each a claim with its measurements."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sojourn.paper.verdicts import Claim, Measure, Measured
from sojourn.stats.effects import holm
from sojourn.stats.intervals import Z95, Interval, share

from ...outcomes import Outcomes, spread
from ...study import Ratio, TypicalRatio, claim
from .singles import SinglesOutcome
from .trials import (
    ADDED,
    BOTH,
    CATALOGUES,
    DECIDING,
    EMPIRICAL,
    KL,
    LEARNED,
    MANY,
    OFF,
    ON,
    PLAIN_IMED,
    SIMULATING,
    STATES_CROSSING,
    STATES_SAME,
    TAILS,
    VISIT,
)

Findings = Outcomes[SinglesOutcome]

LEVEL = 0.05
"""Of tests of many problems at once (Holm)."""


def worse(outcomes: Sequence[SinglesOutcome], one: str, other: str) -> list[SinglesOutcome]:
    """The problems on which one policy has significantly more regret, after Holm."""
    scores = []
    for o in outcomes:
        ratio = o.ratio(one, other)
        error = (ratio.high - ratio.low) / 2.0 / Z95
        scores.append((ratio.value - 1.0) / error if error > 0.0 else 0.0)
    found = holm(np.array(scores), LEVEL) & (np.array(scores) > 0.0)
    return [o for o, is_worse in zip(outcomes, found, strict=True) if is_worse]


@dataclass(frozen=True)
class Worse(Measure[Findings]):
    """On what share of the problems of a group it has significantly more regret."""

    group: str
    one: str
    other: str
    most: float = 0.0

    def measure(self, findings: Findings) -> list[Measured]:
        there = findings.of(self.group, self.one, self.other)
        if not there:
            return []
        found = worse(there, self.one, self.other)
        names = f": {', '.join(o.trial.problem for o in found)}" if found else ""
        what = f"{len(found)} of {len(there)} problems significantly worse{names}; share"
        part = Interval.exact(len(found) / len(there))
        return [Measured(what, part, self.most, above=False)]


@dataclass(frozen=True)
class Tail(Measure[Findings]):
    """The 99.9 % quantile over that of Learned IMED: the lower end of its interval."""

    most: float = 1.5

    def measure(self, findings: Findings) -> list[Measured]:
        found = []
        for o in findings.of(TAILS, OFF):
            for visits, over in zip(o.visits, o.single(OFF).over, strict=False):
                if visits != o.visits[-2]:
                    what = f"{o.trial.problem}, {visits:,} visits: {over}, lower end"
                    low = Interval.exact(over.low)
                    found.append(Measured(what, low, self.most, above=False))
        return found


@dataclass(frozen=True)
class Wrong(Measure[Findings]):
    """Runs that end with a wrong arm, less those of KL-UCB; both counts are about Poisson."""

    def measure(self, findings: Findings) -> list[Measured]:
        found = []
        for o in findings.of(TAILS, OFF, KL):
            ours, theirs, learned = (o.single(x).wrong for x in (OFF, KL, LEARNED))
            what = (
                f"{o.trial.problem}: {ours:,} of {o.runs:,} runs ({KL} {theirs:,}, {LEARNED} "
                f"{learned:,}), difference"
            )
            half = Z95 * float(ours + theirs) ** 0.5
            found.append(Measured(what, Interval.around(float(ours - theirs), half), 0.0, False))
        return found


@dataclass(frozen=True)
class Locked(Measure[Findings]):
    """The share of runs that end with a wrong arm where rewards depend on the state."""

    group: str
    most: float

    def measure(self, findings: Findings) -> list[Measured]:
        found = []
        for o in findings.of(self.group, OFF):
            counts = {label: o.single(label).wrong for label in o.labels}
            part = share(counts[OFF], o.runs)
            assert part is not None
            others = ", ".join(f"{x} {n}" for x, n in counts.items() if x != OFF)
            if self.most == 0.0:
                part = Interval.exact(part.value)
            what = f"{o.trial.problem}: {counts[OFF]} of {o.runs} runs ({others}), share"
            found.append(Measured(what, part, self.most, above=False))
        return found


@dataclass(frozen=True)
class Worst(Measure[Findings]):
    """The problem of a group whose interval begins highest."""

    group: str
    one: str
    other: str
    most: float

    def measure(self, findings: Findings) -> list[Measured]:
        there = findings.of(self.group, self.one, self.other)
        if not there:
            return []
        worst = max(there, key=lambda o: o.ratio(self.one, self.other).low)
        ratio = worst.ratio(self.one, self.other)
        return [Measured(f"the worst, {worst.trial.problem}", ratio, self.most, above=False)]


@dataclass(frozen=True)
class NotForced(Measure[Findings]):
    """Arms of catalogues that at least half of the runs never showed: some, if none is forced."""

    def measure(self, findings: Findings) -> list[Measured]:
        found = []
        for name in CATALOGUES:
            there = findings.of(f"500 arms, {name}", OFF)
            if there:
                least = min(o.single(OFF).unseen for o in there)
                found.append(
                    Measured(f"{name}: arms never shown", Interval.exact(least), 0.5, above=True)
                )
        return found


@dataclass(frozen=True)
class Kept(Measure[Findings]):
    """Reward per visit after arms were added, over that before, by old arms and distribution."""

    least: float = 0.95

    def measure(self, findings: Findings) -> list[Measured]:
        every = findings.of(ADDED)
        kinds = dict.fromkeys(o.trial.problem.rpartition(",")[0] for o in every)
        found = []
        for label in BOTH:
            for kind in kinds:
                there = [o for o in every if o.trial.problem.startswith(f"{kind},")]
                if len(there) > 1:
                    ratio = spread(there, f"{label}: after", f"{label}: before").typical
                    found.append(Measured(f"{label}, {kind}", ratio, self.least, above=True))
        return found


@dataclass(frozen=True)
class Slow(Measure[Findings]):
    """Milliseconds of a decision among the most arms."""

    most: float = 3.0

    def measure(self, findings: Findings) -> list[Measured]:
        return [
            Measured(f"{o.trial.problem}, {x}, ms", Interval.exact(1e-6 * o.regret(x).value),
                     self.most, above=False)
            for o in findings.of(DECIDING, ON)
            for x in BOTH
            if o.trial.problem.startswith(f"{MANY:,}")
        ]  # fmt: skip


CLAIMS: tuple[Claim[Findings], ...] = (
    claim(
        f"Plain problems, account off: at most 0.82 of {LEARNED}'s regret (geometric mean).",
        TypicalRatio("plain", OFF, LEARNED, 0.82),
    ),
    claim("The same: significantly worse on none.", Worse("plain", OFF, LEARNED)),
    claim("The same, account on: at most 0.92.", TypicalRatio("plain", ON, LEARNED, 0.92)),
    claim(
        "The same, account on: significantly worse on at most 2 %.",
        Worse("plain", ON, LEARNED, 0.02),
    ),
    claim(f"99.9 % quantile: at most 1.5 of {LEARNED}'s.", Tail()),
    claim(f"Runs whose last quarter is mostly a wrong arm: no more than {KL}.", Wrong()),
    claim(
        f"Clickbait and its mild form: at most 1.05 of {VISIT}'s regret.",
        Ratio("clickbait", OFF, VISIT, 1.05),
    ),
    claim(
        f"Random problems by arm: at most 1.05 of {VISIT}'s.",
        TypicalRatio("by arm", OFF, VISIT, 1.05),
    ),
    claim(
        "Rewards depend on the state, same order of arms: no run locks in.",
        Locked(STATES_SAME, 0.0),
    ),
    claim(
        "The best arm differs by state: at most 1 % of runs lock in.", Locked(STATES_CROSSING, 0.01)
    ),
    claim(
        f"Graded rewards: at most 0.7 of {EMPIRICAL}'s regret.",
        TypicalRatio("graded", OFF, EMPIRICAL, 0.7),
    ),
    claim(f"Graded rewards: nowhere above {EMPIRICAL}.", Worst("graded", OFF, EMPIRICAL, 1.0)),
    *(
        claim(
            f"500 arms, {name}: at most 0.5 of {PLAIN_IMED}'s regret.",
            TypicalRatio(f"500 arms, {name}", OFF, PLAIN_IMED, 0.5),
        )
        for name in CATALOGUES
    ),
    claim("No arm is forced: most runs never show some of them.", NotForced()),
    claim("500 arms added: reward per visit falls by at most 5 %.", Kept()),
    *(
        claim(
            f"Moving averages, chains, users who stay first, many bins ({x}): not significantly "
            f"worse than {LEARNED}.",
            Worse("other users", x, LEARNED),
        )
        for x in BOTH
    ),
    *(
        claim(
            f"A decision, compiled ({x}): at most 1.2 of {VISIT}'s time.",
            Ratio(DECIDING, x, VISIT, 1.2),
        )
        for x in BOTH
    ),
    claim(f"A decision among {MANY:,} arms: at most 3 ms.", Slow()),
    claim(
        f"Simulation: at most 2.5 of {PLAIN_IMED}'s time per step.",
        Ratio(SIMULATING, OFF, PLAIN_IMED, 2.5),
    ),
)
