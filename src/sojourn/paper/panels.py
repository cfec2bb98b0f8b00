"""What a figure of the paper can show, as data."""

from dataclasses import dataclass

from .trials import TRIALS

VISIT_MARKS = (200.0, 2_000.0, 20_000.0)
STATE_MARKS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Where the tables beside figures read off their curves."""


@dataclass(frozen=True)
class Curves:
    """Regret against visits, from one or more trials on one problem.

    `per_log` divides by log K; `bounds` are the policies whose upper bound is drawn, and `lower`
    draws the lower bound. `labels` picks policies, all unless given. With `since` the picture
    begins at that number of visits.
    """

    trials: tuple[str, ...]
    labels: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()
    lower: bool = False
    per_log: bool = False
    log_regret: bool = False
    log_visits: bool = True
    since: int = 1
    marks: tuple[float, ...] = VISIT_MARKS

    def shown(self) -> list[tuple[str, str]]:
        """(trial, label) of every curve."""
        return [
            (trial, label)
            for trial in self.trials
            for label in TRIALS[trial].labels
            if not self.labels or label in self.labels
        ]


@dataclass(frozen=True)
class Split:
    """Regret by the state in which it arose, for some policies of one trial."""

    trial: str
    labels: tuple[str, ...]
    marks: tuple[float, ...] = VISIT_MARKS

    @property
    def trials(self) -> tuple[str, ...]:
        return (self.trial,)


@dataclass(frozen=True)
class Versus:
    """Regret of the same policies in two trials that differ in one choice."""

    trials: tuple[str, str]
    names: tuple[str, str]
    labels: tuple[str, ...]
    marks: tuple[float, ...] = VISIT_MARKS


@dataclass(frozen=True)
class LeaveCurves:
    """q(s) = 1 - log(c6 s + 1) / log(c6 + 1); curves are named at the state `named_at`."""

    c6s: tuple[float, ...]
    named_at: float
    marks: tuple[float, ...] = STATE_MARKS
    trials: tuple[str, ...] = ()


@dataclass(frozen=True)
class GapCurves:
    """The mistake cost D(s) with those leave curves, for arms of mean `mean` and `other`."""

    c6s: tuple[float, ...]
    mean: float
    other: float
    theta: float
    named_at: float
    marks: tuple[float, ...] = STATE_MARKS
    trials: tuple[str, ...] = ()


@dataclass(frozen=True)
class Graph:
    """States, and the probabilities of going from one to another when an arm is pulled."""

    problem: str
    trials: tuple[str, ...] = ()


Panel = Curves | Split | Versus | LeaveCurves | GapCurves | Graph
