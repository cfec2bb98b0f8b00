"""The paper's figures, declared in `figures.toml`: what each one shows, of which trials."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..show.plain import from_toml
from .trials import TRIALS


@dataclass(frozen=True, kw_only=True)
class Panel:
    """The content of a picture, drawn from the results of these trials."""

    trials: tuple[str, ...] = ()

    marks: ClassVar[tuple[float, ...]] = (200.0, 2_000.0, 20_000.0)
    """Where the table beside the figure reads off its curves: visits, or states."""


@dataclass(frozen=True, kw_only=True)
class Curves(Panel):
    """Regret against visits, from one or more trials on one problem.

    `per_log` divides by log K; `bounds` are the policies whose upper bound is drawn, and `lower`
    draws the lower bound. `labels` picks policies, all unless given. With `since` the picture
    begins at that number of visits.
    """

    labels: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()
    lower: bool = False
    per_log: bool = False
    log_regret: bool = False
    log_visits: bool = True
    since: int = 1

    def shown(self) -> list[tuple[str, str]]:
        """(trial, label) of every curve."""
        return [
            (trial, label)
            for trial in self.trials
            for label in TRIALS[trial].labels
            if not self.labels or label in self.labels
        ]


@dataclass(frozen=True, kw_only=True)
class Split(Panel):
    """Regret by the state in which it arose, for some policies of one trial."""

    labels: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Versus(Panel):
    """Regret of the same policies in two trials that differ in one choice."""

    names: tuple[str, str]
    labels: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class LeaveCurves(Panel):
    """q(s) = 1 - log(c6 s + 1) / log(c6 + 1); curves are named at the state `named_at`."""

    c6s: tuple[float, ...]
    named_at: float

    marks = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, kw_only=True)
class GapCurves(LeaveCurves):
    """The mistake cost D(s) with those leave curves, for arms of mean `mean` and `other`."""

    mean: float
    other: float
    theta: float


@dataclass(frozen=True, kw_only=True)
class Graph(Panel):
    """States, and the probabilities of going from one to another when an arm is pulled."""

    problem: str


PANELS: Mapping[str, type[Panel]] = {
    "curves": Curves,
    "split": Split,
    "versus": Versus,
    "leave_curves": LeaveCurves,
    "gap_curves": GapCurves,
    "graph": Graph,
}


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One picture: its title, where it is in the paper, a word about it, and what is in it."""

    title: str
    section: str
    caption: str
    panel: Panel
    main: bool = False
    """Whether the documentation shows it."""


def _read(phrases: Mapping[str, str], caption: str, **declared: Any) -> Figure:
    (kind,) = declared.keys() & PANELS.keys()
    given = declared.pop(kind).items()
    panel = PANELS[kind](**{k: tuple(v) if isinstance(v, list) else v for k, v in given})
    return Figure(caption=caption.format(**phrases), panel=panel, **declared)


_DECLARED = from_toml(__package__, "figures.toml")
_PHRASES = _DECLARED.pop("phrases")

FIGURES: dict[str, Figure] = {name: _read(_PHRASES, **how) for name, how in _DECLARED.items()}

FIRST = "intro"
"""The paper's first figure of results, with which reports begin."""
