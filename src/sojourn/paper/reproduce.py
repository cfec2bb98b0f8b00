"""Reproduce the paper: run its trials, draw its figures, check its claims, report.

What is kept in the folder: `results/`, one file for each trial.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from ..simulation import Result
from ..validation import InputError
from .claims import CLAIMS, claims_about
from .drawing import draw, verdict_bars
from .figures import FIGURES, Figure
from .report import to_html, to_markdown, to_page
from .results import LabelledResult, Results
from .study import PICTURES, Made, Study
from .trials import QUICK, TRIALS, Trial
from .verdicts import Report

PAPER = "paper"
"""The precision that has the paper's half-widths."""


def reproduction(names: Sequence[str], trials: Mapping[str, Trial] = TRIALS) -> Study[Results]:
    """The named figures, with their trials and claims; without names all figures and all claims."""
    for name in names:
        if name not in FIGURES:
            raise InputError(f"there is no figure {name!r}: there are {', '.join(FIGURES)}")
    shown = {name: f for name, f in FIGURES.items() if not names or name in names}
    wanted = {trial for figure in shown.values() for trial in figure.panel.trials}
    if not names:
        wanted.update(trial for claim in CLAIMS for trial in claim.trials)
    return Study(
        trials=[trial for name, trial in trials.items() if name in wanted],
        claims=claims_about(wanted, shown),
        figures={name: partial(draw, figure) for name, figure in shown.items()},
        precise=PAPER,
        keep=_keep,
        load=_load,
        command=partial(_command, names),
        files=partial(_files, shown),
        page=partial(to_page, figures=shown),
    )


def _keep(folder: Path, results: Iterable[tuple[Trial, Result]], made: Made) -> None:
    _path(folder, "").parent.mkdir(exist_ok=True)
    for trial, result in results:
        result.save(_path(folder, trial.name))


def _load(folder: Path, trials: Sequence[Trial], made: Made) -> tuple[Results, Made]:
    """The results, and how they were made by their files: kept ones may differ from this call."""
    found = {}
    for trial in trials:
        path, problem = _path(folder, trial.name), trial.make()
        if not path.exists():
            raise InputError(f"{path} does not exist: run without redrawing first")
        result = Result.load(path, problem=problem, policies=trial.build(problem))
        found[trial.name] = LabelledResult(result, trial.labels)
    if found:
        results = [labelled.result for labelled in found.values()]
        quick = any(result.precision is None for result in results)
        made = Made(QUICK if quick else PAPER, min(result.seed for result in results))
    return found, made


def _path(folder: Path, name: str) -> Path:
    return folder / "results" / f"{name}.csv.gz"


def _command(names: Sequence[str], made: Made) -> str:
    how = "--quick" if made.quick else f"--precision {made.precision}"
    seed = [f"--seed {made.seed}"] if made.seed else []
    return " ".join(["sojourn reproduce", *names, how, *seed])


def _files(shown: Mapping[str, Figure], report: Report[Results], pictures: Path) -> dict[str, str]:
    return {
        "report.md": to_markdown(report, shown),
        "report.html": to_html(report, shown, pictures),
        f"{PICTURES}/verdicts.svg": verdict_bars(report) + "\n",
    }
