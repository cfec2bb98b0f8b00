"""What the declared figures show, as numbers: drawn and tabulated alike."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...show import style
from ...show.style import Look, look
from ...users import LogLeave
from .figures import Curves, Figure, GapCurves, Graph, LeaveCurves, Split, Versus
from .results import LabelledResult, Results, lower_slope, upper_slope
from .settings import moving_average_problem

Array = NDArray[np.float64]


class Line(NamedTuple):
    """A curve with its 95 % band, or a bound line (no band)."""

    label: str
    look: Look
    x: Array
    y: Array
    low: Array | None = None
    high: Array | None = None
    runs: int | None = None
    reached: bool = True
    """Whether it has the precision asked for."""


class Drawn(NamedTuple):
    """All lines of a figure and what its axes are."""

    lines: list[Line]
    x: str
    y: str
    log_x: bool = False
    log_y: bool = False
    named_at: float | None = None
    """Where on the x axis lines are named; at their ends unless given."""


def lines(figure: Figure, results: Results) -> Drawn:
    """All lines of a figure, from results."""
    panel = figure.panel
    if isinstance(panel, Graph):
        raise ValueError("a graph has no lines")
    return LINES[type(panel)](panel, results)


def _curves(panel: Curves, results: Results) -> Drawn:
    found: list[Line] = []
    for number, (name, label) in enumerate(panel.shown()):
        trial = results[name]
        p = trial[label]
        seen = _seen(trial, panel)
        x = trial.result.checkpoints[seen].astype(float)
        scale = np.log(x) if panel.per_log else np.ones(x.size)
        regret = trial.result.regret
        mean, low, high = (a[p, seen] / scale for a in (regret.mean, regret.low, regret.high))
        runs = trial.result.runs[p]
        reached = trial.result.reached[p]
        found.append(Line(label, look(label, number), x, mean, low, high, runs, reached))
    return Drawn(
        found + _bounds(panel, results),
        "visits K",
        "regret / log K" if panel.per_log else "regret",
        panel.log_visits,
        panel.log_regret,
    )


def _seen(trial: LabelledResult, panel: Curves) -> NDArray[np.bool_]:
    return trial.result.checkpoints >= panel.since


def _bounds(panel: Curves, results: Results) -> list[Line]:
    """Bound lines: slope times log K from K = 1, or the slope itself; one line for equal ones."""
    first = results[panel.trials[0]]
    least = lower_slope(first.problem) if panel.lower else None
    found, lowest = [], ["LB"]
    for number, (name, label) in enumerate(panel.shown()):
        if label not in panel.bounds:
            continue
        trial = results[name]
        slope = upper_slope(trial.result.policies[trial[label]], trial.problem)
        if slope is not None and slope == least:
            lowest.append(f"UB {short(label)}")
        elif slope is not None:
            dotted = Look(look(label, number).colour, ":", style.BOUND)
            found.append(_bound(f"UB {short(label)}", dotted, slope, trial, panel))
    if least is not None:
        grey = Look(style.GREY, (0.0, style.LOWER_DASHES), style.BOUND)
        found.append(_bound(" = ".join(lowest), grey, least, first, panel))
    return found


def _bound(label: str, how: Look, slope: float, trial: LabelledResult, panel: Curves) -> Line:
    x = trial.result.checkpoints[_seen(trial, panel)].astype(float)
    return Line(label, how, x, slope * (np.ones(x.size) if panel.per_log else np.log(x)))


def short(label: str) -> str:
    """A policy's label without what follows a comma."""
    return label.partition(",")[0]


def _split(panel: Split, results: Results) -> Drawn:
    trial = results[panel.trial]
    x = trial.result.checkpoints.astype(float)
    levels = trial.result.regret_by_level
    found = []
    for label in panel.labels:
        p, base = trial[label], look(label, 0)
        for level in range(levels.mean.shape[-1]):
            dashes = style.SHORT if level == 0 else style.SOLID
            mean, low, high = (a[p, :, level] for a in (levels.mean, levels.low, levels.high))
            name = f"{label}, state {level}"
            runs = trial.result.runs[p]
            found.append(Line(name, Look(base.colour, dashes), x, mean, low, high, runs))
    return Drawn(found, "visits K", "regret", log_x=True)


def _versus(panel: Versus, results: Results) -> Drawn:
    found = []
    for trial_name, choice in zip(panel.trials, panel.names, strict=True):
        trial = results[trial_name]
        x, regret = trial.result.checkpoints.astype(float), trial.result.regret
        first = trial_name == panel.trials[0]
        for label in panel.labels:
            p = trial[label]
            dashes = style.SOLID if first else style.SHORT
            found.append(
                Line(
                    f"{label}, {choice}",
                    Look(look(label, 0).colour, dashes),
                    x,
                    regret.mean[p],
                    regret.low[p],
                    regret.high[p],
                    trial.result.runs[p],
                )
            )
    return Drawn(found, "visits K", "regret", log_x=True)


def _leave_curves(panel: LeaveCurves, results: Results) -> Drawn:
    x = np.linspace(0.0, 1.0, panel.points)
    found = []
    for number, c6 in enumerate(panel.c6s):
        leave = LogLeave(c6=c6)
        y = np.array([leave.probability(s) for s in x])
        found.append(Line(f"c6 = {c6:g}", look("", number), x, y))
    return Drawn(found, "state s", "probability to leave q(s)", named_at=panel.named_at)


def _gap_curves(panel: GapCurves, results: Results) -> Drawn:
    x = np.linspace(0.0, 1.0, panel.points)
    found = []
    for number, c6 in enumerate(panel.c6s):
        problem = moving_average_problem(panel.mean, panel.other, panel.theta, c6)
        y = np.array([problem.mistake_cost(s) for s in x])
        found.append(Line(f"c6 = {c6:g}", look("", number), x, y))
    return Drawn(found, "state s", "cost of a mistake D(s)", named_at=panel.named_at)


LINES: Mapping[type, Callable[[Any, Results], Drawn]] = {
    Curves: _curves,
    Split: _split,
    Versus: _versus,
    LeaveCurves: _leave_curves,
    GapCurves: _gap_curves,
}
