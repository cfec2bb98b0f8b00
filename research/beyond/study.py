"""The study beyond the paper. What is kept in the folder: `outcomes.json`."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Unpack

from sojourn.paper.study import How, Made, Study
from sojourn.paper.trials import QUICK, Trial
from sojourn.paper.verdicts import Report
from sojourn.simulation import Result
from sojourn.validation import InputError

from .claims import CLAIMS
from .draw import draw_where, draw_worst
from .outcomes import Outcomes, TrialOutcome
from .page import to_page
from .trials import TRIALS

FULL = "full"
REPORT, OUTCOMES = "report.md", "outcomes.json"


def study(*, trials: Sequence[Trial] = TRIALS, **how: Unpack[How]) -> Report[Outcomes]:
    """Simulate all trials, draw the pictures, check the claims, and write report.md.

    `how` are the arguments of `Study.conduct`.
    """
    figures = {"beyond-where": draw_where, "beyond-worst": draw_worst}
    return Beyond(trials, CLAIMS, figures, FULL).conduct(**how)


class Beyond(Study[Outcomes]):
    """Regrets at the end of every trial, in one file."""

    name: ClassVar[str] = "beyond"
    outcome: ClassVar[type[TrialOutcome]] = TrialOutcome

    def keep(self, folder: Path, results: Iterable[tuple[Trial, Result]], made: Made) -> None:
        outcomes = [self.outcome.of(trial, result).to_dict() for trial, result in results]
        data = {"seed": made.seed, "quick": made.quick, "outcomes": outcomes}
        (folder / OUTCOMES).write_text(json.dumps(data) + "\n", encoding="utf-8")

    def load(self, folder: Path, made: Made) -> tuple[Outcomes, Made]:
        path = folder / OUTCOMES
        if not path.exists():
            raise InputError(f"{path} does not exist: run without redrawing first")
        data = json.loads(path.read_text(encoding="utf-8"))
        trials = {trial.name: trial for trial in self.trials}
        found = [
            self.outcome.from_dict(trials[row["trial"]], row)
            for row in data["outcomes"]
            if row["trial"] in trials
        ]
        if any(outcome.labels != outcome.trial.labels for outcome in found):
            raise InputError(f"{path} has other policies than this version: run without redrawing")
        return Outcomes(found), Made(QUICK if data["quick"] else FULL, int(data["seed"]))

    def command(self, made: Made) -> str:
        seed = f" --seed {made.seed}" if made.seed else ""
        return f"python -m research {self.name} --precision {made.precision}{seed}"

    def files(self, report: Report[Outcomes], pictures: Path) -> dict[str, str]:
        return {REPORT: self.page(report)}

    def page(self, report: Report[Outcomes]) -> str:
        return to_page(report)
