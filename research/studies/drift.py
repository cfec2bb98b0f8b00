"""The study of drift: arms that change, and what readiness for that costs if none does."""

from collections.abc import Mapping, Sequence
from functools import partial

from sojourn.paper.trials import Trial, by_label
from sojourn.policies import (
    KLULCB,
    Discounted,
    EngagementIndex,
    LearnedIMED,
    Restarting,
    VisitIMED,
    Windowed,
)
from sojourn.problem import Problem
from sojourn.problem_files import SETTINGS

from ..outcomes import Outcomes, PathOutcome
from ..study import Group, Ratio, claim, regrets, short, study, table, trials_of

VISITS = 5_000


def _arms(*means: float) -> Problem:
    return Problem(means, SETTINGS["B"].user)


PROBLEMS: Mapping[str, Problem] = {
    "one change": Problem.changing([(0, _arms(0.6, 0.5, 0.3)), (2_500, _arms(0.4, 0.5, 0.7))]),
    "four changes": Problem.changing(
        [
            (0, _arms(0.6, 0.5, 0.3)),
            (1_000, _arms(0.4, 0.5, 0.3)),
            (2_000, _arms(0.4, 0.5, 0.7)),
            (3_000, _arms(0.6, 0.5, 0.3)),
            (4_000, _arms(0.6, 0.75, 0.3)),
        ]
    ),
    "gradual": Problem.drifting(
        _arms(0.7, 0.5, 0.3), _arms(0.3, 0.5, 0.7), begin=1_250, end=3_750, steps=40
    ),
}
"""Three nonstationary problems: users of setting B; each of three arms is the best for a while."""

PLAIN, DETECTOR = LearnedIMED(), Restarting(LearnedIMED())
EXPLORING = Restarting(LearnedIMED(), explore=0.01)
FADING, WINDOW = Discounted(LearnedIMED(), half_life=2_000), Windowed(LearnedIMED(), window=4_000)

EVERYONE = by_label(
    PLAIN, KLULCB(), VisitIMED(), EngagementIndex(),
    DETECTOR, Restarting(LearnedIMED(), local=True), EXPLORING, Restarting(KLULCB()),
    FADING, WINDOW,
)  # fmt: skip
FORGETFUL = by_label(PLAIN, DETECTOR, EXPLORING, FADING, WINDOW)

MOVING, STILL = "moving", "still"
"""The groups: something changes, and nothing does."""


def _still(runs: tuple[int, int], *names: str) -> Group:
    problems = {name: partial(SETTINGS.__getitem__, name) for name in names}
    return Group(STILL, problems, FORGETFUL, (2_000, 20_000), runs, nanoseconds=150.0)


TRIALS: tuple[Trial, ...] = trials_of(
    Group(
        MOVING, {name: partial(PROBLEMS.__getitem__, name) for name in PROBLEMS}, EVERYONE,
        (VISITS // 2, VISITS), (16, 400), nanoseconds=150.0,
    ),
    _still((16, 200), "B", "opposite"),
    _still((2, 12), "A", "ema-1000"),
)  # fmt: skip

LOSS = 0.03
"""What the detector may cost where nothing changes."""

CLAIMS = (
    claim(
        f"Where nothing changes, the detector costs at most {LOSS:.0%} of the regret (settings B, "
        "opposite, A and ema-1000, 20,000 visits).",
        Ratio(STILL, DETECTOR.label, PLAIN.label, 1.0 + LOSS),
    ),
    claim(
        "Where something changes, it leaves less regret than the policy has without it.",
        Ratio(MOVING, DETECTOR.label, PLAIN.label, 1.0),
    ),
)


def tables(findings: Outcomes[PathOutcome]) -> dict[str, str]:
    """Regret where something changes, and where nothing does."""
    return {
        "moving": regrets(findings.of(MOVING, PLAIN.label)),
        "still": _multiples(findings.of(STILL, PLAIN.label)),
    }


def _multiples(outcomes: Sequence[PathOutcome]) -> str:
    """Regret, and as a multiple of that of the policy within."""
    rows = []
    for label in FORGETFUL if outcomes else ():
        row = [label]
        for o in outcomes:
            times = "" if label == PLAIN.label else short(o.ratio(label, PLAIN.label))
            row += [str(o.regret(label)), times]
        rows.append(row)
    heads = [head for o in outcomes for head in (f"{o.trial.problem}: regret", "times")]
    return table(["policy", *heads], rows)


STUDY = study("drift", TRIALS, CLAIMS, tables)
