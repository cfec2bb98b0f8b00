"""Draw the declared figures and the verdicts, always from saved results."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..problem import Problem
from ..problem_files import SETTINGS
from ..show import style
from ..show.style import Line, Look, Plot, look
from ..show.tables import render_file
from ..stats.moments import Estimate
from ..users import Ema, LogLeave
from ..validation import InputError
from .figures import Curves, Figure, GapCurves, Graph, LeaveCurves, Split, Versus
from .results import LOWER, LabelledResult, Results
from .verdicts import Report, Verdict, count, in_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

POINTS = 401
"""Points of a curve over the states."""


def draw(figure: Figure, results: Results) -> "Picture":
    """The picture of a figure; `results` has one for each of its trials."""
    from ..show import curves

    if isinstance(figure.panel, Graph):
        return draw_graph(SETTINGS[figure.panel.problem], figure.title)
    return curves.draw(lines(figure, results))


@dataclass(frozen=True, eq=False, kw_only=True)
class PolicyLine(Line):
    """The curve of a policy: of how many runs, and whether it has the precision asked for."""

    runs: int
    reached: bool = True


def lines(figure: Figure, results: Results) -> Plot:
    """All lines of a figure, from results."""
    panel = figure.panel
    if isinstance(panel, Graph):
        raise InputError("a graph has no lines")
    return replace(LINES[type(panel)](panel, results), title=figure.title)


def _curves(panel: Curves, results: Results) -> Plot:
    found: list[Line] = []
    for number, (name, label) in enumerate(panel.shown()):
        trial = results[name]
        p, result = trial[label], trial.result
        seen = _seen(trial, panel)
        x = result.checkpoints[seen].astype(float)
        scale = np.log(x) if panel.per_log else np.ones(x.size)
        regret = result.regret
        mean, low, high = (a[p, seen] / scale for a in (regret.mean, regret.low, regret.high))
        found.append(
            PolicyLine(
                label=label, look=look(label, number), x=x, y=mean, low=low, high=high,
                runs=result.runs[p], reached=result.reached[p],
            )
        )  # fmt: skip
    return Plot(
        lines=[*found, *_bounds(panel, results)],
        x="visits K",
        y="regret / log K" if panel.per_log else "regret",
        log_x=panel.log_visits,
        log_y=panel.log_regret,
    )


def _seen(trial: LabelledResult, panel: Curves) -> NDArray[np.bool_]:
    return trial.result.checkpoints >= panel.since


def _bounds(panel: Curves, results: Results) -> Iterator[Line]:
    """Bound lines: slope times log K from K = 1, or the slope itself; one line for equal ones."""
    first = results[panel.trials[0]]
    least = first.bound(LOWER) if panel.lower else nan
    lowest = ["LB"]
    for number, (name, label) in enumerate(panel.shown()):
        trial, bound = results[name], f"UB {label.partition(',')[0]}"
        slope = trial.bound(label) if label in panel.bounds else nan
        if slope == least:
            lowest.append(bound)
        elif not isnan(slope):
            dotted = Look(look(label, number).colour, ":", style.BOUND)
            yield _bound(bound, dotted, slope, trial, panel)
    if not isnan(least):
        grey = Look(style.GREY, (0.0, style.LOWER_DASHES), style.BOUND)
        yield _bound(" = ".join(lowest), grey, least, first, panel)


def _bound(label: str, how: Look, slope: float, trial: LabelledResult, panel: Curves) -> Line:
    x = trial.result.checkpoints[_seen(trial, panel)].astype(float)
    y = slope * (np.ones(x.size) if panel.per_log else np.log(x))
    return Line(label=label, look=how, x=x, y=y)


def _split(panel: Split, results: Results) -> Plot:
    trial = results[panel.trials[0]]
    found = []
    for label in panel.labels:
        p, colour = trial[label], look(label, 0).colour
        for level in range(trial.problem.user.space.bins):
            how = Look(colour, style.SHORT if level == 0 else style.SOLID)
            place, regret = (p, slice(None), level), trial.result.regret_by_level
            found.append(_whole(f"{label}, state {level}", how, trial, regret, *place))
    return Plot(lines=found, x="visits K", y="regret", log_x=True)


def _versus(panel: Versus, results: Results) -> Plot:
    found = []
    for number, (name, choice) in enumerate(zip(panel.trials, panel.names, strict=True)):
        trial = results[name]
        for label in panel.labels:
            how = Look(look(label, 0).colour, style.SHORT if number else style.SOLID)
            found.append(
                _whole(f"{label}, {choice}", how, trial, trial.result.regret, trial[label])
            )
    return Plot(lines=found, x="visits K", y="regret", log_x=True)


def _whole(
    label: str, how: Look, trial: LabelledResult, estimate: Estimate, p: int, *place: Any
) -> PolicyLine:
    """A curve over all checkpoints."""
    x, runs = trial.result.checkpoints.astype(float), trial.result.runs[p]
    mean, low, high = (a[(p, *place)] for a in (estimate.mean, estimate.low, estimate.high))
    return PolicyLine(label=label, look=how, x=x, y=mean, low=low, high=high, runs=runs)


def _leave_curves(panel: LeaveCurves, results: Results) -> Plot:
    curves = [LogLeave(c6=c6).probability for c6 in panel.c6s]
    return _by_state(panel, "probability to leave q(s)", curves)


def _gap_curves(panel: GapCurves, results: Results) -> Plot:
    users = [Ema(theta=panel.theta, leave=LogLeave(c6=c6)) for c6 in panel.c6s]
    curves = [Problem([panel.mean, panel.other], user).mistake_cost for user in users]
    return _by_state(panel, "cost of a mistake D(s)", curves)


def _by_state(
    panel: LeaveCurves | GapCurves, what: str, curves: Sequence[Callable[[float], float]]
) -> Plot:
    x = np.linspace(0.0, 1.0, POINTS)
    found = [
        Line(label=f"c6 = {c6:g}", look=look("", number), x=x, y=np.array([curve(s) for s in x]))
        for number, (c6, curve) in enumerate(zip(panel.c6s, curves, strict=True))
    ]
    return Plot(lines=found, x="state s", y=what, named_at=panel.named_at)


LINES: Mapping[type, Callable[[Any, Results], Plot]] = {
    Curves: _curves,
    Split: _split,
    Versus: _versus,
    LeaveCurves: _leave_curves,
    GapCurves: _gap_curves,
}


class Edge(NamedTuple):
    """An arrow from one state to another: how it bends, where its text goes, and the text.

    An edge from a state to itself is a loop above it; the sign of its bend is its direction.
    """

    origin: int
    target: int
    bend: float
    x: float
    y: float
    text: str


STATES = {"0": (0.25, 0.58), "1": (0.75, 0.58), "g": (0.5, 0.1)}
"""Where states are drawn, by what is written in them."""
EDGES = (
    Edge(0, 1, -0.25, 0.5, 0.76, "μ (1 - q01)"),
    Edge(1, 0, -0.25, 0.5, 0.4, "(1 - μ)(1 - q10)"),
    Edge(0, 2, 0.2, 0.15, 0.24, "(1 - μ) q00 + μ q01"),
    Edge(1, 2, -0.2, 0.85, 0.24, "(1 - μ) q10 + μ q11"),
)
LOOPS = (Edge(0, 0, -1.0, 0.2, 0.93, "(1 - μ)(1 - q00)"), Edge(1, 1, 1.0, 0.8, 0.93, "μ (1 - q11)"))
RADIUS = 13.0
"""Radius of a state, in points."""
LOOP = (0.03, 0.07, 1.9)
"""Half the distance of a loop's ends, their height above the state, and the bend."""


def draw_graph(problem: Problem, title: str) -> "Picture":
    """States as circles, transitions as arrows with formula and the number for the best arm."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Picture

    from ..show.curves import add_title

    with rc_context(style.SETTINGS):
        picture = Picture(figsize=style.COLUMN, dpi=style.DPI)
        axes = picture.add_axes(style.WHOLE)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.axis("off")
        _draw_edges(axes, problem)
        circle: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": "black"}
        size: dict[str, Any] = {"markersize": 2 * RADIUS, "markeredgewidth": style.LINE}
        for name, (x, y) in STATES.items():
            axes.plot([x], [y], "o", **circle, **size)
            axes.text(x, y, name, ha="center", va="center")
        add_title(picture, title)
    return picture


def _draw_edges(axes: Any, problem: Problem) -> None:
    places = list(STATES.values())
    for edge in EDGES:
        _arrow(axes, places[edge.origin], places[edge.target], edge.bend, RADIUS)
    side, up, bend = LOOP
    for edge in LOOPS:
        x, y = places[edge.origin]
        ends = (x - edge.bend * side, y + up), (x + edge.bend * side, y + up)
        _arrow(axes, *ends, -edge.bend * bend, 0)
    matrix = problem.transition_matrix(problem.best_arm)
    for edge in (*EDGES, *LOOPS):
        number = f"{edge.text}\n= {matrix[edge.origin, edge.target]:.4g}"
        axes.text(edge.x, edge.y, number, ha="center", va="center")


def _arrow(
    axes: Any, start: tuple[float, float], end: tuple[float, float], bend: float, shrink: float
) -> None:
    from matplotlib.patches import FancyArrowPatch

    arrow = FancyArrowPatch(
        start, end, connectionstyle=f"arc3,rad={bend}", arrowstyle="-|>", color="black",
        mutation_scale=style.TEXT, linewidth=style.LINE, shrinkA=shrink, shrinkB=shrink,
    )  # fmt: skip
    axes.add_patch(arrow)


def verdict_bars(report: Report[Any]) -> str:
    """How many claims of each kind were confirmed, and how many were not: an SVG element."""
    kinds = {kind: count(found) for kind, found in report.kinds.items()}
    return render_file(
        __package__,
        "bars.svg",
        kinds=kinds,
        most=max((sum(counts.values()) for counts in kinds.values()), default=1),
        total=report.counts,
        label="; ".join(f"{kind}: {in_words(counts)}" for kind, counts in kinds.items()),
        verdicts=Verdict,
    ).rstrip()
