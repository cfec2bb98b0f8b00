"""The study: who plays what, what is claimed, and where it is kept."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Unpack

from sojourn.paper.study import How, Made, Study
from sojourn.paper.trials import QUICK, Trial
from sojourn.paper.verdicts import Report
from sojourn.validation import InputError

from .claims import CLAIMS
from .draw import draw_limit, draw_story
from .outcomes import LimitOutcome, Limits
from .page import to_page
from .trials import TRIALS

FULL = "full"
REPORT, OUTCOMES = "report.md", "outcomes.json"


def study(*, trials: Sequence[Trial] = TRIALS, **how: Unpack[How]) -> Report[Limits]:
    """Find the optimum of every case, play all policies, check the claims, and write report.md.

    `how` are the arguments of `Study.conduct`.
    """
    figures = {"limit-story": draw_story, "limit": draw_limit}
    return LimitStudy(trials, CLAIMS, figures, FULL).conduct(**how)


class LimitStudy(Study[Limits]):
    """Regrets of every case, in one file."""

    def keep(self, folder: Path, results: Iterable[tuple[Trial, Any]], made: Made) -> None:
        found = [LimitOutcome.from_dict(trial.name, data).to_dict() for trial, data in results]
        data = {"seed": made.seed, "quick": made.quick, "outcomes": found}
        (folder / OUTCOMES).write_text(json.dumps(data) + "\n", encoding="utf-8")

    def load(self, folder: Path, made: Made) -> tuple[Limits, Made]:
        path = folder / OUTCOMES
        if not path.exists():
            raise InputError(f"{path} does not exist: run without redrawing first")
        data = json.loads(path.read_text(encoding="utf-8"))
        found = [LimitOutcome.from_dict(row["case"], row) for row in data["outcomes"]]
        return Limits(found), Made(QUICK if data["quick"] else FULL, int(data["seed"]))

    def command(self, made: Made) -> str:
        seed = f" --seed {made.seed}" if made.seed else ""
        return f"python -m research limit --precision {made.precision}{seed}"

    def files(self, report: Report[Limits], pictures: Path) -> dict[str, str]:
        return {REPORT: self.page(report)}

    def page(self, report: Report[Limits]) -> str:
        return to_page(report)
