"""Run the study, draw it, check its claims, report."""

import json
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from shutil import copyfile

from ... import checks
from ...version import __version__
from ..progress import Overall
from .claims import CLAIMS, check
from .draw import write_pictures
from .page import Report, to_page
from .running import load, run_all
from .trials import TRIALS, Trial

QUICK, FULL = "quick", "full"
PICTURES, REPORT, CLAIMS_FILE = "figures", "report.md", "claims.json"


def study(
    *,
    precision: str = QUICK,
    seed: int = 0,
    out: str | Path = "study",
    redraw: bool = False,
    page: str | Path | None = None,
    workers: int | None = None,
    progress: Callable[[Overall], None] | None = None,
    trials: Iterable[Trial] = TRIALS,
) -> Report:
    """Simulate all trials, draw the pictures, check the claims, and write report.md to `out`.

    With `redraw` nothing is simulated: what was found before is drawn and checked again. `page` is
    where to write the report a second time, its pictures in the folder `figures` beside it.
    """
    if find_spec("matplotlib") is None:
        raise ValueError("the pictures need matplotlib: pip install 'sojourn[plot]'")
    checks.one_of("precision", precision, (QUICK, FULL))
    seed = checks.whole("seed", seed, 0, 2**63 - 1)
    if workers is not None:
        workers = checks.whole("workers", workers, 1)
    folder, trials = _folder(out), tuple(trials)
    if redraw:
        findings, seed, quick = load(folder, trials)
    else:
        quick = precision == QUICK
        findings = run_all(
            trials, quick=quick, seed=seed, folder=folder, workers=workers, progress=progress
        )
    level = QUICK if quick else FULL
    report = Report(
        findings,
        [check(claim, findings) for claim in CLAIMS],
        f"sojourn study beyond --precision {level}" + (f" --seed {seed}" if seed else ""),
        seed,
        level,
        __version__,
    )
    _write(report, folder, None if page is None else Path(page))
    return report


def _folder(out: str | Path) -> Path:
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ValueError(f"out = {str(out)!r} cannot be used as a folder ({reason})") from None
    return folder


def _write(report: Report, folder: Path, page: Path | None) -> None:
    pictures = write_pictures(report.findings, folder / PICTURES)
    (folder / REPORT).write_text(to_page(report, PICTURES), encoding="utf-8")
    claims = json.dumps([found.to_dict() for found in report.checked], indent=2, ensure_ascii=False)
    (folder / CLAIMS_FILE).write_text(claims + "\n", encoding="utf-8")
    if page is not None:
        beside = page.parent / PICTURES
        beside.mkdir(parents=True, exist_ok=True)
        for picture in pictures:
            copyfile(picture, beside / picture.name)
        page.write_text(to_page(report, PICTURES), encoding="utf-8")
