"""Draw the declared figures from saved results, never from a running simulation."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...show import style
from ...simulation.plot import spread
from .figures import Figure, Graph
from .graph import draw_graph
from .lines import Drawn, Line, lines
from .results import Results
from .settings import SETTINGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def draw(figure: Figure, results: Results) -> "Picture":
    """The picture of a figure; `results` has one for each of its trials."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Picture

    with rc_context(style.SETTINGS):
        picture = Picture(figsize=style.COLUMN, dpi=style.DPI)
        if isinstance(figure.panel, Graph):
            draw_graph(picture.add_axes(style.WHOLE), SETTINGS[figure.panel.problem])
        else:
            _draw_lines(picture.add_axes(style.frame()), lines(figure, results))
        picture.text(
            style.TITLE_AT, 1 - style.TITLE_AT, figure.title,
            ha="left", va="top", fontweight="bold",
        )  # fmt: skip
    return picture


def _draw_lines(axes: Any, drawn: Drawn) -> None:
    for line in drawn.lines:
        axes.plot(
            line.x, line.y,
            linestyle=line.look.dashes, color=line.look.colour, linewidth=line.look.width,
        )  # fmt: skip
        if line.low is not None:
            axes.fill_between(
                line.x, line.low, line.high,
                color=line.look.colour, alpha=style.BAND, linewidth=0,
            )  # fmt: skip
    _scales(axes, drawn)
    axes.set_xlabel(drawn.x)
    axes.figure.text(style.TITLE_AT, style.ABOVE_AXES, drawn.y, ha="left", va="bottom")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(width=style.THIN, which="both")
    if drawn.named_at is None:
        axes.set_position(style.frame(max(len(line.label) for line in drawn.lines)))
        _name(axes, drawn.lines)
    else:
        _name_on_the_way(axes, drawn.lines, drawn.named_at)


def _scales(axes: Any, drawn: Drawn) -> None:
    """Linear or logarithmic, with plain numbers: powers would be set by a slow formula printer."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    if drawn.log_x:
        axes.set_xscale("log")
    if drawn.log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    if not drawn.log_x:
        axes.locator_params(axis="x", nbins=style.TICKS)
    axes.set_xlim(min(line.x[0] for line in drawn.lines), max(line.x[-1] for line in drawn.lines))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axis.set_minor_locator(NullLocator())


def _name(axes: Any, drawn: Sequence[Line]) -> None:
    """Write each name where its line ends, moved up or down where names would overlap."""
    points = axes.get_position().height * style.COLUMN[1] * style.POINTS
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
