"""The study of the horizon: conducted like the others, with single runs looked at."""

from collections.abc import Sequence
from typing import ClassVar, Unpack

from sojourn.paper.study import How
from sojourn.paper.trials import Trial
from sojourn.paper.verdicts import Report

from ..beyond.outcomes import Outcomes, TrialOutcome
from ..beyond.study import FULL, REPORT as REPORT, Beyond
from .claims import CLAIMS
from .draw import draw_horizon
from .outcomes import HorizonOutcome
from .page import to_page
from .trials import TRIALS


def study(*, trials: Sequence[Trial] = TRIALS, **how: Unpack[How]) -> Report[Outcomes]:
    """Simulate all trials, draw the picture, check the claims, and write report.md.

    `how` are the arguments of `Study.conduct`.
    """
    return HorizonStudy(trials, CLAIMS, {"horizon": draw_horizon}, FULL).conduct(**how)


class HorizonStudy(Beyond):
    """Regrets, slopes and worst runs of every trial, in one file."""

    name: ClassVar[str] = "horizon"
    outcome: ClassVar[type[TrialOutcome]] = HorizonOutcome

    def page(self, report: Report[Outcomes]) -> str:
        return to_page(report)
