"""Draw the declared figures from saved results, never from a running simulation."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..problem import Problem
from ..simulation.plot import spread
from ..users import Ema, LogLeave
from . import style
from .figures import Curves, Figure, GapCurves, Graph, LeaveCurves, Split, Versus
from .graph import draw_graph
from .measures import Table, Tables, lower_slope, upper_slope
from .settings import SETTINGS
from .style import Look, look

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

Array = NDArray[np.float64]
POINTS = 72
"""In an inch."""
SUFFIXES = (".svg", ".png")


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


def draw(figure: Figure, tables: Tables) -> "Picture":
    """The picture of a figure; `tables` has a result for each of its experiments."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Picture

    settings = {
        "font.size": style.TEXT,
        "axes.linewidth": style.THIN,
        "svg.hashsalt": "sojourn",
        "font.family": "DejaVu Sans",
    }
    with rc_context(settings):
        picture = Picture(figsize=style.COLUMN, dpi=style.DPI, layout="constrained")
        axes = picture.add_subplot()
        if isinstance(figure.panel, Graph):
            draw_graph(axes, SETTINGS[figure.panel.problem])
        else:
            _draw_lines(axes, lines(figure, tables))
        axes.set_title(figure.title, fontsize=style.TEXT, loc="left")
        picture.draw_without_rendering()
        picture.set_layout_engine("none")  # it is laid out: need not be for each file again
    return picture


def write(picture: "Picture", folder: Path, name: str) -> list[Path]:
    """Write the picture as SVG and PNG, without the time of writing: same result, same bytes."""
    from matplotlib import rc_context

    paths = [folder / f"{name}{suffix}" for suffix in SUFFIXES]
    with rc_context({"svg.hashsalt": "sojourn"}):
        for path in paths:
            meta = {"Date": None} if path.suffix == ".svg" else {"Software": None}
            picture.savefig(path, metadata=meta)
    return paths


def lines(figure: Figure, tables: Tables) -> Drawn:
    """What a figure shows, as numbers: drawn and tabulated alike."""
    panel = figure.panel
    if isinstance(panel, Graph):
        raise ValueError("a graph has no lines")
    return LINES[type(panel)](panel, tables)


def _curves(panel: Curves, tables: Tables) -> Drawn:
    found: list[Line] = []
    for number, (experiment, label) in enumerate(panel.shown()):
        table = tables[experiment]
        p = table[label]
        seen = _seen(table, panel)
        x = table.result.checkpoints[seen].astype(float)
        scale = np.log(x) if panel.per_log else np.ones(x.size)
        regret = table.result.regret
        mean, low, high = (a[p, seen] / scale for a in (regret.mean, regret.low, regret.high))
        runs = table.result.runs[p]
        reached = table.result.reached[p]
        found.append(Line(label, look(label, number), x, mean, low, high, runs, reached))
    return Drawn(
        found + _bounds(panel, tables),
        "visits K",
        "regret / log K" if panel.per_log else "regret",
        panel.log_visits,
        panel.log_regret,
    )


def _seen(table: Table, panel: Curves) -> NDArray[np.bool_]:
    return table.result.checkpoints >= panel.since


def _bounds(panel: Curves, tables: Tables) -> list[Line]:
    """Bound lines: slope times log K from K = 1, or the slope itself."""
    found = []
    for number, (experiment, label) in enumerate(panel.shown()):
        table = tables[experiment]
        slope = upper_slope(table.result.policies[table[label]], table.problem)
        if label in panel.bounds and slope is not None:
            dotted = Look(look(label, number).colour, ":", style.BOUND)
            found.append(_bound(f"UB {short(label)}", dotted, slope, table, panel))
    table = tables[panel.experiments[0]]
    least = lower_slope(table.problem)
    if panel.lower and least is not None:
        grey = Look(style.GREY, (0.0, style.LOWER_DASHES), style.BOUND)
        found.append(_bound("LB", grey, least, table, panel))
    return found


def _bound(label: str, how: Look, slope: float, table: Table, panel: Curves) -> Line:
    x = table.result.checkpoints[_seen(table, panel)].astype(float)
    return Line(label, how, x, slope * (np.ones(x.size) if panel.per_log else np.log(x)))


def short(label: str) -> str:
    """A policy's label without what follows a comma."""
    return label.partition(",")[0]


def _split(panel: Split, tables: Tables) -> Drawn:
    table = tables[panel.experiment]
    x = table.result.checkpoints.astype(float)
    levels = table.result.regret_by_level
    found = []
    for label in panel.labels:
        p, base = table[label], look(label, 0)
        for level in range(levels.mean.shape[-1]):
            dashes = style.SHORT if level == 0 else style.SOLID
            mean, low, high = (a[p, :, level] for a in (levels.mean, levels.low, levels.high))
            name = f"{label}, state {level}"
            runs = table.result.runs[p]
            found.append(Line(name, Look(base.colour, dashes), x, mean, low, high, runs))
    return Drawn(found, "visits K", "regret", log_x=True)


def _versus(panel: Versus, tables: Tables) -> Drawn:
    found = []
    for experiment, name in zip(panel.experiments, panel.names, strict=True):
        table = tables[experiment]
        x, regret = table.result.checkpoints.astype(float), table.result.regret
        first = experiment == panel.experiments[0]
        for label in panel.labels:
            p = table[label]
            dashes = style.SOLID if first else style.SHORT
            found.append(
                Line(
                    f"{label}, {name}",
                    Look(look(label, 0).colour, dashes),
                    x,
                    regret.mean[p],
                    regret.low[p],
                    regret.high[p],
                    table.result.runs[p],
                )
            )
    return Drawn(found, "visits K", "regret", log_x=True)


def _leave_curves(panel: LeaveCurves, tables: Tables) -> Drawn:
    x = np.linspace(0.0, 1.0, panel.points)
    found = []
    for number, c6 in enumerate(panel.c6s):
        leave = LogLeave(c6=c6)
        y = np.array([leave.probability(s) for s in x])
        found.append(Line(f"c6 = {c6:g}", look("", number), x, y))
    return Drawn(found, "state s", "probability to leave q(s)", named_at=panel.named_at)


def _gap_curves(panel: GapCurves, tables: Tables) -> Drawn:
    x = np.linspace(0.0, 1.0, panel.points)
    found = []
    for number, c6 in enumerate(panel.c6s):
        user = Ema(theta=panel.theta, leave=LogLeave(c6=c6))
        problem = Problem([panel.mean, panel.other], user)
        y = np.array([problem.mistake_cost(s) for s in x])
        found.append(Line(f"c6 = {c6:g}", look("", number), x, y))
    return Drawn(found, "state s", "cost of a mistake D(s)", named_at=panel.named_at)


LINES: Mapping[type, Callable[[Any, Tables], Drawn]] = {
    Curves: _curves,
    Split: _split,
    Versus: _versus,
    LeaveCurves: _leave_curves,
    GapCurves: _gap_curves,
}


def _draw_lines(axes: Any, drawn: Drawn) -> None:
    for line in drawn.lines:
        axes.plot(
            line.x,
            line.y,
            linestyle=line.look.dashes,
            color=line.look.colour,
            linewidth=line.look.width,
        )
        if line.low is not None:
            axes.fill_between(
                line.x, line.low, line.high,
                color=line.look.colour, alpha=style.BAND, linewidth=0,
            )  # fmt: skip
    if drawn.log_x:
        axes.set_xscale("log")
    if drawn.log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlim(min(line.x[0] for line in drawn.lines), max(line.x[-1] for line in drawn.lines))
    axes.set_xlabel(drawn.x)
    axes.set_ylabel(drawn.y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(width=style.THIN, which="both")
    if drawn.named_at is None:
        _name(axes, drawn.lines)
    else:
        _name_on_the_way(axes, drawn.lines, drawn.named_at)


def _name(axes: Any, drawn: Sequence[Line]) -> None:
    """Write each name where its line ends, moved up or down where names would overlap."""
    picture = axes.figure
    picture.draw_without_rendering()
    points = axes.bbox.height / picture.dpi * POINTS
    to_axes = axes.transAxes.inverted()
    ends = [(line.x[-1], line.y[-1]) for line in drawn]
    wanted = [float(to_axes.transform(axes.transData.transform(end))[1]) for end in ends]
    places = spread(wanted, style.NAME_GAP * style.TEXT / points)
    for line, place in zip(drawn, places, strict=True):
        axes.annotate(
            line.label, (1, place), xycoords="axes fraction", xytext=(style.NAME_OFFSET, 0),
            textcoords="offset points", va="center", color=line.look.colour,
        )  # fmt: skip


def _name_on_the_way(axes: Any, drawn: Sequence[Line], x: float) -> None:
    """Write each name on its line, at x."""
    for line in drawn:
        axes.text(
            x, float(np.interp(x, line.x, line.y)), line.label, color=line.look.colour,
            ha="center", va="center", bbox=style.BOX,
        )  # fmt: skip
