"""Reproduce the paper: run its trials, draw its figures, check its claims, report.

What is kept in the folder: `results/`, one file for each trial.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Unpack

from ..simulation import Result
from ..validation import InputError
from .bars import verdict_bars
from .claims import CLAIMS, claims_about
from .draw import draw
from .figures import FIGURES, Figure
from .report import to_html, to_markdown, to_page
from .reports import Report
from .results import LabelledResult, Results
from .study import PICTURES, How, Made, Study
from .trial import QUICK, Trial
from .trials import TRIALS

PAPER = "paper"
"""The precision that has the paper's half-widths."""


def reproduce(
    names: Iterable[str] = (), *, trials: Mapping[str, Trial] = TRIALS, **how: Unpack[How]
) -> Report[Results]:
    """Run what the named figures need (all unless named), draw them, check the claims, report.

    `how` are the arguments of `Study.conduct`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     report = reproduce(["transitions"], out=folder)
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['claims.json', 'figures', 'report.html', 'report.md', 'results']
    """
    return Reproduction.of(list(names), trials).conduct(**how)


@dataclass(frozen=True)
class Reproduction(Study[Results]):
    """The named figures, or all, with the trials they need and the claims that go with them."""

    names: list[str]
    shown: Mapping[str, Figure]

    @classmethod
    def of(cls, names: list[str], trials: Mapping[str, Trial]) -> "Reproduction":
        """What there is to do for these figures; for all of them also all claims are checked."""
        for name in names:
            if name not in FIGURES:
                raise InputError(f"there is no figure {name!r}: there are {', '.join(FIGURES)}")
        shown = {name: f for name, f in FIGURES.items() if not names or name in names}
        wanted = {trial for figure in shown.values() for trial in figure.panel.trials}
        if not names:
            wanted.update(trial for claim in CLAIMS for trial in claim.trials)
        return cls(
            trials=[trial for name, trial in trials.items() if name in wanted],
            claims=claims_about(wanted, shown),
            figures={name: partial(draw, figure) for name, figure in shown.items()},
            precise=PAPER,
            names=names,
            shown=shown,
        )

    def keep(self, folder: Path, results: Iterable[tuple[Trial, Result]], made: Made) -> None:
        _path(folder, "").parent.mkdir(exist_ok=True)
        for trial, result in results:
            result.save(_path(folder, trial.name))

    def load(self, folder: Path, made: Made) -> tuple[Results, Made]:
        """The results, and what they say about themselves: kept ones may be others than asked."""
        found = {trial.name: _load(_path(folder, trial.name), trial) for trial in self.trials}
        if found:
            results = [labelled.result for labelled in found.values()]
            quick = any(result.precision is None for result in results)
            made = Made(QUICK if quick else PAPER, min(result.seed for result in results))
        return found, made

    def command(self, made: Made) -> str:
        how = "--quick" if made.quick else f"--precision {made.precision}"
        seed = [f"--seed {made.seed}"] if made.seed else []
        return " ".join(["sojourn reproduce", *self.names, how, *seed])

    def files(self, report: Report[Results], pictures: Path) -> dict[str, str]:
        return {
            "report.md": to_markdown(report, self.shown),
            "report.html": to_html(report, self.shown, pictures),
            f"{PICTURES}/verdicts.svg": verdict_bars(report) + "\n",
        }

    def page(self, report: Report[Results]) -> str:
        return to_page(report, self.shown)


def _path(folder: Path, name: str) -> Path:
    return folder / "results" / f"{name}.csv.gz"


def _load(path: Path, trial: Trial) -> LabelledResult:
    if not path.exists():
        raise InputError(f"{path} does not exist: run without redrawing first")
    problem = trial.make().problem
    return LabelledResult(
        Result.load(path, problem=problem, policies=trial.build(problem)), trial.labels
    )
