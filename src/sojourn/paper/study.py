"""Conduct a study: run its trials, keep what they found, draw it, check its claims, report.

In the output folder: `chunks.db`, finished work that another call takes up; what the study keeps of
its results, from which everything else is made; `figures/`, the report and `claims.json`.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING, Generic, NamedTuple, Required, TypedDict

from .. import validation
from ..extras import require
from ..show.plain import to_json
from ..simulation import Result
from ..validation import InputError
from .reports import Report
from .trial import QUICK, Trial
from .verdicts import Claim, Findings, check
from .work import DRAWING, Meter, Overall

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

STORE, PICTURES, CLAIMS_FILE = "chunks.db", "figures", "claims.json"
SUFFIXES = (".svg", ".png")
DRAW_SECONDS = 0.4
"""For one figure, approximately."""


class Made(NamedTuple):
    """What results were made with."""

    precision: str
    seed: int

    @property
    def quick(self) -> bool:
        return self.precision == QUICK


class How(TypedDict, total=False):
    """The arguments of `Study.conduct`."""

    precision: str
    seed: int
    out: Required[str | Path]
    redraw: bool
    page: str | Path | None
    workers: int | None
    progress: Callable[[Overall], None] | None


@dataclass(frozen=True)
class Study(ABC, Generic[Findings]):
    """Trials, the claims that are checked on what they find, and the figures drawn of it."""

    trials: Sequence[Trial]
    claims: Sequence[Claim[Findings]]
    figures: Mapping[str, Callable[[Findings], "Picture"]]
    precise: str
    """The name of the precision that is not quick."""

    @abstractmethod
    def keep(self, folder: Path, results: Iterable[tuple[Trial, Result]], made: Made) -> None:
        """Save results, which come one by one as they are finished."""

    @abstractmethod
    def load(self, folder: Path, made: Made) -> tuple[Findings, Made]:
        """What was kept, and what it was made with: `made`, unless the files say otherwise."""

    @abstractmethod
    def command(self, made: Made) -> str:
        """What to type for the same numbers."""

    @abstractmethod
    def files(self, report: Report[Findings], pictures: Path) -> dict[str, str]:
        """The text of every file of the report; `pictures` is the folder of the figures."""

    @abstractmethod
    def page(self, report: Report[Findings]) -> str:
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
        progress: Callable[[Overall], None] | None = None,
    ) -> Report[Findings]:
        """Run all trials, draw the figures, check the claims, and write the report to `out`.

        With `redraw` nothing is run: what was kept is drawn and checked again. With a `page` the
        documentation's page is written there too, its pictures in the folder `figures` beside it.
        """
        self._check_arguments(precision, seed, workers)
        folder = _folder("out", Path(out), PICTURES)
        if page is not None:
            _folder("page", Path(page).parent, PICTURES)
        made = Made(precision, seed)
        trials = [] if redraw else [t for t in self.trials if not t.left_out(made.quick)]
        efforts = {trial.name: trial.effort(made.quick) for trial in trials}
        meter = Meter({**efforts, DRAWING: DRAW_SECONDS * len(self.figures)}, progress)
        if not redraw:
            self.keep(folder, _run(trials, made, folder / STORE, workers, meter), made)
        findings, made = self.load(folder, made)
        self._draw(findings, folder / PICTURES, meter)
        checked = [check(claim, findings) for claim in self.claims]
        report = Report(
            findings, checked, self.command(made), made.seed, made.precision, [*self.figures]
        )
        self._write(report, folder, None if page is None else Path(page))
        return report

    def _check_arguments(self, precision: str, seed: int, workers: int | None) -> None:
        require("a report", "plot", "matplotlib", "jinja2")
        validation.one_of("precision", precision, (QUICK, self.precise))
        validation.whole("seed", seed, 0, 2**63 - 1)
        if workers is not None:
            validation.whole("workers", workers, 1)

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
) -> Iterator[tuple[Trial, Result]]:
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
            f"{name} = {str(path)!r} is not allowed: it must be a folder that can be made and "
            f"written ({reason})"
        ) from None
    return path
