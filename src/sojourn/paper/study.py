"""A study: run its trials, keep and draw the results, check its claims, write its report.

The output folder has `chunks.db`, the finished work that another call takes up; what the study
keeps of its results, from which everything else is made; `figures/`, the report and `claims.json`.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from .. import validation
from ..extras import require
from ..show.plain import to_json
from ..show.progress import Now, Show
from ..simulation import Progress
from ..validation import InputError
from .trials import QUICK, Trial
from .verdicts import Claim, Findings, Report, check

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

STORE, PICTURES, CLAIMS_FILE = "chunks.db", "figures", "claims.json"
SUFFIXES = (".svg", ".png")
DRAWING = "drawing"
DRAW_SECONDS = 0.4
"""Approximate time to draw one figure."""
TRUST = 0.1
"""Expected times weigh as much as measured ones when this share of all work is done."""


class Meter:
    """Turns the progress of one piece of work into that of everything.

    `weights` are the expected seconds of each piece, in order. The time left is estimated from them
    at first, and from the time spent as work proceeds.
    """

    def __init__(self, weights: Mapping[str, float], progress: Show | None) -> None:
        self._weights, self._total = weights, sum(weights.values()) or 1.0
        self._ends = dict(zip(weights, accumulate(weights.values()), strict=True))
        self._progress = progress
        self._start = time.monotonic()

    def show(self, work: str, part: float, compiling: str | None = None) -> None:
        """Report that this part of this piece is done, or the policy that is being compiled."""
        done = self._ends[work] - self._weights[work] * (1.0 - part)
        trust = TRUST * self._total
        pace = (time.monotonic() - self._start + trust) / (done + trust)
        if self._progress is not None:
            detail = f"compiling {compiling}, once per machine" if compiling else ""
            left = None if compiling else pace * (self._total - done)
            self._progress(Now(work, done / self._total, detail, left))

    def within(self, work: str) -> Callable[[Progress], None]:

        def show(now: Progress) -> None:
            self.show(work, now.done / now.total if now.total > 0.0 else 0.0, now.compiling)

        return show


class Made(NamedTuple):
    """The settings that results were made with."""

    precision: str
    seed: int

    @property
    def quick(self) -> bool:
        return self.precision == QUICK


@dataclass(frozen=True)
class Study(Generic[Findings]):
    """Trials, the claims checked on their findings, and the functions that keep and report them."""

    trials: Sequence[Trial]
    claims: Sequence[Claim[Findings]]
    figures: Mapping[str, Callable[[Findings], "Picture"]]
    precise: str
    """The name of the precision that is not quick."""
    keep: Callable[[Path, Iterable[tuple[Trial, Any]], Made], None]
    """Saves the results of trials, which come one by one as they are finished."""
    load: Callable[[Path, Sequence[Trial], Made], tuple[Findings, Made]]
    """The kept results and their settings: the given ones, unless the files say otherwise."""
    command: Callable[[Made], str]
    """The command that gives the same numbers."""
    files: Callable[[Report[Findings], Path], dict[str, str]]
    """The text of every file of the report; the path is the folder of the figures."""
    page: Callable[[Report[Findings]], str]
    """The page for the documentation; it refers to pictures in the folder `figures`."""

    def conduct(
        self,
        *,
        out: str | Path,
        precision: str = QUICK,
        seed: int = 0,
        redraw: bool = False,
        page: str | Path | None = None,
        workers: int | None = None,
        progress: Show | None = None,
    ) -> Report[Findings]:
        """Run all trials, draw the figures, check the claims, and write the report to `out`.

        With `redraw` no trial runs: the kept results are drawn and checked again. With a `page` the
        documentation's page is written there too, its pictures in the folder `figures` beside it.
        """
        require("a report", "plot", "matplotlib", "jinja2")
        validation.one_of("precision", precision, (QUICK, self.precise))
        validation.whole("seed", seed, 0, 2**63 - 1)
        if workers is not None:
            validation.whole("workers", workers, 1)
        folder = _folder("out", Path(out), PICTURES)
        if page is not None:
            _folder("page", Path(page).parent, PICTURES)
        made = Made(precision, seed)
        trials = [] if redraw else [t for t in self.trials if not t.left_out(made.quick)]
        efforts = {trial.name: trial.effort(made.quick) for trial in trials}
        meter = Meter({**efforts, DRAWING: DRAW_SECONDS * len(self.figures)}, progress)
        if not redraw:
            self.keep(folder, _run(trials, made, folder / STORE, workers, meter), made)
        findings, made = self.load(folder, self.trials, made)
        self._draw(findings, folder / PICTURES, meter)
        checked = [check(claim, findings) for claim in self.claims]
        report = Report(
            findings, checked, self.command(made), made.seed, made.precision, [*self.figures]
        )
        self._write(report, folder, None if page is None else Path(page))
        return report

    def _draw(self, findings: Findings, folder: Path, meter: Meter) -> None:
        from ..show.curves import write

        for number, (name, draw) in enumerate(self.figures.items()):
            meter.show(DRAWING, number / len(self.figures))
            picture = draw(findings)
            for suffix in SUFFIXES:
                write(picture, folder / f"{name}{suffix}")
        meter.show(DRAWING, 1.0)

    def _write(self, report: Report[Findings], folder: Path, page: Path | None) -> None:
        files = self.files(report, folder / PICTURES)
        files[CLAIMS_FILE] = to_json([found.to_dict() for found in report.checked]) + "\n"
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        if page is not None:
            text = self.page(report)
            page.write_text(text, encoding="utf-8")
            for name in re.findall(rf"\({PICTURES}/([^)]+)\)", text):
                copyfile(folder / PICTURES / name, page.parent / PICTURES / name)


def _run(
    trials: Iterable[Trial], made: Made, store: Path, workers: int | None, meter: Meter
) -> Iterator[tuple[Trial, Any]]:
    for trial in trials:
        meter.show(trial.name, 0.0)
        how = {"store": store, "workers": workers, "progress": meter.within(trial.name)}
        yield trial, trial.run(quick=made.quick, seed=made.seed, **how)


def _folder(name: str, path: Path, *parts: str) -> Path:
    """The folder, with these in it; made if it does not exist."""
    try:
        for part in (path, *(path / part for part in parts)):
            part.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            f"{name} = {str(path)!r} is not allowed: it must be a folder that can be created and "
            f"written ({reason})"
        ) from None
    return path
