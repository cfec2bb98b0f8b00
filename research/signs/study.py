"""The study of signs: conducted like the others."""

from collections.abc import Sequence
from typing import ClassVar, Unpack

from sojourn.paper.study import How
from sojourn.paper.trials import Trial
from sojourn.paper.verdicts import Report

from ..beyond.outcomes import Outcomes
from ..beyond.study import FULL, REPORT as REPORT
from ..by_arm.study import ByArmStudy
from .claims import CLAIMS
from .page import to_page
from .trials import TRIALS


def study(*, trials: Sequence[Trial] = TRIALS, **how: Unpack[How]) -> Report[Outcomes]:
    """Simulate all trials, check the claims, and write report.md.

    `how` are the arguments of `Study.conduct`.
    """
    return SignsStudy(trials, CLAIMS, {}, FULL).conduct(**how)


class SignsStudy(ByArmStudy):
    """Regrets at the checkpoints of every trial, in one file."""

    name: ClassVar[str] = "signs"

    def page(self, report: Report[Outcomes]) -> str:
        return to_page(report)
