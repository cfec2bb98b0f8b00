"""The study: who plays what, what is claimed, and where it is kept."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar, Unpack

from sojourn.paper.study import How
from sojourn.paper.trials import Environment, Roster, Trial, by_label
from sojourn.paper.verdicts import Report
from sojourn.policies import IMED, KLUCB, LearnedIMED, QLearning, Uniform, VisitIMED, VisitThompson
from sojourn.problem import Problem

from ..beyond.outcomes import Outcomes, TrialOutcome
from ..beyond.study import FULL, REPORT as REPORT, Beyond
from .claims import CLAIMS
from .draw import draw_by_arm
from .outcomes import ByArmOutcome
from .page import to_page
from .problems import PROBLEMS

ROSTER = by_label(
    Uniform(), KLUCB(), IMED(), LearnedIMED(), QLearning(), VisitThompson(), VisitIMED()
)
IMPROPER: Roster = {
    **ROSTER,
    **by_label(VisitThompson(follow_improper=True), VisitIMED(follow_improper=True)),
}
"""Where the best arm is not optimal: with those that follow the sign of D, too."""

AMOUNTS: Mapping[str, tuple[tuple[int, ...], int, int]] = {
    "clickbait": ((1_000, 4_000), 256, 32),
    "paper": ((1_000, 4_000), 128, 16),
    "improper": ((1_000, 5_000), 128, 16),
    "early": ((10, 20, 50, 100, 200), 2_000, 200),
    "random": ((2_000,), 12, 4),
    "by arm": ((2_000,), 12, 4),
}
"""Checkpoints and runs, full and quick, of each group."""

FIRST = 20
"""Problems of a prior that a quick look has."""


def _environment(make: Callable[[], Problem]) -> Environment:
    return Environment.of(make())


def _trials() -> list[Trial]:
    found = []
    for group, (checkpoints, runs, quick) in AMOUNTS.items():
        for i, (name, make) in enumerate(PROBLEMS[group].items()):
            drawn = group in ("random", "by arm")
            found.append(
                Trial(
                    name, name, partial(_environment, make),
                    IMPROPER if group == "improper" else ROSTER,
                    0 if drawn and i >= FIRST else quick, runs,
                    visits=checkpoints[-1], checkpoints=checkpoints, group=group, roster="main",
                    nanoseconds=80.0,
                )
            )  # fmt: skip
    return found


TRIALS: tuple[Trial, ...] = tuple(_trials())


def study(*, trials: Sequence[Trial] = TRIALS, **how: Unpack[How]) -> Report[Outcomes]:
    """Simulate all trials, draw the picture, check the claims, and write report.md.

    `how` are the arguments of `Study.conduct`.
    """
    return ByArmStudy(trials, CLAIMS, {"by-arm": draw_by_arm}, FULL).conduct(**how)


class ByArmStudy(Beyond):
    """Regrets at the checkpoints of every trial, in one file."""

    name: ClassVar[str] = "by-arm"
    outcome: ClassVar[type[TrialOutcome]] = ByArmOutcome

    def page(self, report: Report[Outcomes]) -> str:
        return to_page(report)
