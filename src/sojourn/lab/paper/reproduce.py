"""Run the declared experiments, keep their results, and make the report of them.

In the output folder: `chunks.db`, finished work that another call takes up; `results/`, one file
for each experiment, from which everything else is made; `figures/`, `report.html`, `report.md` and
`claims.json`.
"""

import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ... import checks
from ...simulation import PrecisionWarning, Progress, Result, StoreWarning, simulate
from ...theory import AssumptionWarning
from ...version import __version__
from ..progress import DRAWING, Meter, Overall
from .claims import CLAIMS, check, claims_about
from .draw import draw, write
from .experiments import DRAW_SECONDS, EXPERIMENTS, Experiment
from .figures import FIGURES, Figure
from .page import write_page
from .report import Report, write_report
from .settings import SETTINGS
from .tables import Table

QUICK, PAPER = "quick", "paper"
STORE, RESULTS, PICTURES, CLAIMS_FILE = "chunks.db", "results", "figures", "claims.json"


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
    page: str | Path | None = None,
    workers: int | None = None,
    progress: Callable[[Overall], None] | None = None,
    figures: Mapping[str, Figure] = FIGURES,
    experiments: Mapping[str, Experiment] = EXPERIMENTS,
) -> Report:
    """Run what the named figures need (all unless named), draw them, check the claims, report.

    With `redraw` nothing is run: saved results are drawn and checked again. With a `page` the
    documentation's page is written there too, its figures in the folder `figures` beside it.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     report = reproduce(["transitions"], out=folder)
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['claims.json', 'figures', 'report.html', 'report.md', 'results']
    """
    if find_spec("matplotlib") is None:
        raise ValueError("the figures need matplotlib: pip install 'sojourn[plot]'")
    checks.one_of("precision", precision, (QUICK, PAPER))
    checks.whole("seed", seed, 0, 2**63 - 1)
    if workers is not None:
        checks.whole("workers", workers, 1)
    names = list(names)
    chosen = _choose(names, figures)
    needed = _needed(chosen, whole=not names)
    folder = _folder("out", Path(out), RESULTS, PICTURES)
    if page is not None:
        _folder("page", Path(page).parent)
    weights = {} if redraw else {n: experiments[n].effort(precision == QUICK) for n in needed}
    meter = Meter({**weights, DRAWING: DRAW_SECONDS * len(chosen)}, progress)
    for name in weights:
        meter.show(name, 0.0)
        result = run(
            experiments[name],
            precision=precision,
            seed=seed,
            store=folder / STORE,
            workers=workers,
            progress=meter.within(name),
        )
        result.save(_path(folder, name))
    tables = {name: _load(name, experiments[name], folder) for name in needed}
    for number, (name, figure) in enumerate(chosen.items()):
        meter.show(DRAWING, number / len(chosen))
        write(draw(figure, tables), folder / PICTURES, name)
    meter.show(DRAWING, 1.0)
    report = _report(names, chosen, tables, precision, seed)
    write_report(report, folder, PICTURES)
    claims = [found.to_dict() for found in report.checked]
    text = json.dumps(claims, indent=2, ensure_ascii=False)
    (folder / CLAIMS_FILE).write_text(text + "\n", encoding="utf-8")
    if page is not None:
        write_page(report, Path(page), folder / PICTURES)
    return report


def _report(
    names: list[str],
    chosen: Mapping[str, Figure],
    tables: Mapping[str, Table],
    precision: str,
    seed: int,
) -> Report:
    """Check the claims. What results were made with is in them: redrawn ones may be others."""
    results = [table.result for table in tables.values()]
    if results:
        seed = min(result.seed for result in results)
        precision = QUICK if any(result.precision is None for result in results) else PAPER
    how = "--quick" if precision == QUICK else f"--precision {precision}"
    command = ["sojourn reproduce", *names, how, *([f"--seed {seed}"] if seed else [])]
    checked = [check(claim, tables) for claim in claims_about(tables, chosen)]
    return Report(chosen, tables, checked, " ".join(command), seed, precision, __version__)


def _folder(name: str, path: Path, *parts: str) -> Path:
    """The folder, with these in it; made if it does not exist."""
    try:
        for part in (path, *(path / part for part in parts)):
            part.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ValueError(
            f"{name} = {str(path)!r} is not allowed: it must be a folder that can be made and "
            f"written ({reason})"
        ) from None
    return path


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


def _path(folder: Path, name: str) -> Path:
    return folder / RESULTS / f"{name}.csv.gz"


def _load(name: str, experiment: Experiment, folder: Path) -> Table:
    path = _path(folder, name)
    if not path.exists():
        raise ValueError(f"{path} does not exist: run without redrawing first")
    problem = SETTINGS[experiment.problem]
    result = Result.load(path, problem=problem, policies=experiment.build(problem))
    return Table(result, experiment.labels)
