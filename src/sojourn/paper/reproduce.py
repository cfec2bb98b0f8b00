"""Run the declared experiments, keep their results, and make the report of them.

In the output folder: `chunks.db`, finished work that another call takes up; `results/`, one file
for each experiment, from which everything else is made; `figures/`, `report.html`, `report.md` and
`claims.json`.
"""

import json
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ..simulation import PrecisionWarning, Progress, Result, StoreWarning, simulate
from ..theory import AssumptionWarning
from ..version import __version__
from .claims import CLAIMS, check, claims_about
from .draw import draw, write
from .experiments import EXPERIMENTS, Experiment
from .figures import FIGURES, Figure
from .measures import Table
from .report import Report, write_report
from .settings import SETTINGS

QUICK, PAPER = "quick", "paper"
STORE, RESULTS, PICTURES, CLAIMS_FILE = "chunks.db", "results", "figures", "claims.json"


class Overall(NamedTuple):
    """How far a reproduction is: the experiment at work, the share done, seconds left."""

    experiment: str
    share: float
    left: float | None


def run(
    experiment: Experiment,
    *,
    precision: str = QUICK,
    seed: int = 0,
    store: str | Path | None = None,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Simulate what is declared: so many runs if quick, to the stated half-width if "paper"."""
    problem = SETTINGS[experiment.problem]
    how: dict[str, Any] = (
        {"runs": experiment.quick} if precision == QUICK else {"precision": experiment.paper}
    )
    with warnings.catch_warnings():
        # The report says in words what these warnings say; and old chunks are simply not used.
        for category in (AssumptionWarning, PrecisionWarning, StoreWarning):
            warnings.simplefilter("ignore", category)
        return simulate(
            problem,
            experiment.build(problem),
            visits=experiment.visits,
            checkpoints=experiment.checkpoints,
            seed=seed,
            store=store,
            workers=workers,
            progress=progress,
            **how,
        )


def reproduce(
    names: Iterable[str] = (),
    *,
    precision: str = QUICK,
    seed: int = 0,
    out: str | Path = "reproduction",
    redraw: bool = False,
    workers: int | None = None,
    progress: Callable[[Overall], None] | None = None,
    figures: Mapping[str, Figure] = FIGURES,
    experiments: Mapping[str, Experiment] = EXPERIMENTS,
) -> Report:
    """Run what the named figures need (all unless named), draw them, check the claims, report.

    With `redraw` nothing is run: saved results are drawn and checked again.
    """
    if find_spec("matplotlib") is None:
        raise ValueError("the figures need matplotlib: pip install 'sojourn[plot]'")
    if precision not in (QUICK, PAPER):
        raise ValueError(f"precision = {precision!r} is not allowed: it must be quick or paper")
    names = list(names)
    chosen = _choose(names, figures)
    needed = _needed(chosen, whole=not names)
    folder = Path(out)
    for part in (folder, folder / RESULTS, folder / PICTURES):
        part.mkdir(parents=True, exist_ok=True)
    if not redraw:
        _run_all(needed, experiments, precision, seed, folder, workers, progress)
    tables = {name: _load(name, experiments[name], folder) for name in needed}
    for name, figure in chosen.items():
        write(draw(figure, tables), folder / PICTURES, name)
    checked = [check(claim, tables) for claim in claims_about(needed, chosen)]
    seeds = {table.result.seed for table in tables.values()} or {seed}
    report = Report(
        chosen,
        tables,
        checked,
        _command(names, precision, seed),
        min(seeds),
        precision,
        __version__,
    )
    write_report(report, folder, PICTURES)
    claims = json.dumps([found.to_dict() for found in checked], indent=2, ensure_ascii=False)
    (folder / CLAIMS_FILE).write_text(claims + "\n", encoding="utf-8")
    return report


def _choose(names: list[str], figures: Mapping[str, Figure]) -> dict[str, Figure]:
    for name in names:
        if name not in figures:
            raise ValueError(f"there is no figure {name!r}: there are {', '.join(figures)}")
    return {name: figure for name, figure in figures.items() if not names or name in names}


def _needed(chosen: Mapping[str, Figure], whole: bool) -> list[str]:
    """Experiments of these figures and, if all is reproduced, of all claims; in declared order."""
    wanted = {e for figure in chosen.values() for e in figure.panel.experiments}
    if whole:
        wanted.update(e for claim in CLAIMS for e in claim.experiments)
    return [name for name in EXPERIMENTS if name in wanted]


def _run_all(
    needed: list[str],
    experiments: Mapping[str, Experiment],
    precision: str,
    seed: int,
    folder: Path,
    workers: int | None,
    progress: Callable[[Overall], None] | None,
) -> None:
    weights = {name: experiments[name].effort(precision == QUICK) for name in needed}
    total, done, start = sum(weights.values()) or 1.0, 0.0, time.monotonic()
    for name in needed:

        def show(now: Progress, name: str = name, done: float = done) -> None:
            part = now.done / now.total if now.total > 0.0 else 0.0
            share = (done + weights[name] * part) / total
            spent = time.monotonic() - start
            if progress is not None:
                progress(Overall(name, share, spent * (1.0 - share) / share if share else None))

        result = run(
            experiments[name],
            precision=precision,
            seed=seed,
            store=folder / STORE,
            workers=workers,
            progress=show,
        )
        result.save(_path(folder, name))
        done += weights[name]


def _path(folder: Path, name: str) -> Path:
    return folder / RESULTS / f"{name}.csv.gz"


def _load(name: str, experiment: Experiment, folder: Path) -> Table:
    path = _path(folder, name)
    if not path.exists():
        raise ValueError(f"{path} does not exist: run without redrawing first")
    problem = SETTINGS[experiment.problem]
    result = Result.load(path, problem=problem, policies=experiment.build(problem))
    return Table(result, experiment.labels)


def _command(names: list[str], precision: str, seed: int) -> str:
    how = "--quick" if precision == QUICK else f"--precision {precision}"
    return " ".join(["sojourn reproduce", *names, how, *([f"--seed {seed}"] if seed else [])])
