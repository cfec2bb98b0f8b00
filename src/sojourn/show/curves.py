"""Curves with bands, named where they end, drawn by Matplotlib in the one style of the package."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from . import style
from .style import Line, Plot


class Picture(Figure):
    """A figure that belongs to no window: `pyplot` neither knows it nor shows it twice.

    Everything that can be done with a figure can be done with this one. A notebook shows a figure
    only after `pyplot` was imported; this one brings its own picture. Files have fonts that
    publishers take, and the same bytes for the same numbers.
    """

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        """Save the figure with the fonts of the package."""
        with rc_context(style.SETTINGS):
            super().savefig(*args, **kwargs)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """The picture, and how large a notebook shows it: sharp on screens with small pixels."""
        drawn = BytesIO()
        self.savefig(drawn, format="png", dpi=style.DPI)
        width, height = (round(style.SCREEN * inches) for inches in self.get_size_inches())
        return drawn.getvalue(), {"width": width, "height": height}


def draw(plot: Plot, size: style.Size = style.COLUMN) -> Figure:
    """The picture of a plot, of this size or wider if its names need it."""
    letters = max(len(line.label) for line in plot.lines) if plot.named_at is None else 0
    with rc_context(style.SETTINGS):
        figure = Picture(figsize=style.size(letters, size), dpi=style.DPI)
        axes = figure.add_axes(style.frame(letters, size))
        _draw_lines(axes, plot)
        above_axes = 1 - (style.TOP - style.NAME_OFFSET / style.POINTS) / size[1]
        figure.text(style.TITLE_AT, above_axes, plot.y, ha="left", va="bottom")
        axes.tick_params(width=style.THIN, which="both")
        if plot.named_at is None:
            _name_ends(axes, plot.lines)
        else:
            _name_at(axes, plot.lines, plot.named_at)
        add_title(figure, plot.title)
    return figure


def draw_on(axes: Any, plot: Plot) -> None:
    """Draw a plot on given axes, in their style, with a legend in place of names at curves."""
    _draw_lines(axes, plot)
    axes.set_ylabel(plot.y)
    if plot.title:
        axes.set_title(plot.title)
    axes.legend(frameon=False)


def add_title(figure: Figure, title: str) -> None:
    """Write the title in the upper left corner."""
    at = style.TITLE_AT
    figure.text(at, 1 - at, title, ha="left", va="top", fontweight="bold")


def write(figure: Figure, path: Path) -> None:
    """Write a picture without the time of writing: same numbers, same bytes."""
    meta = {".svg": {"Date": None}, ".png": {"Software": None}, ".pdf": {"CreationDate": None}}
    with rc_context(style.SETTINGS):
        figure.savefig(path, metadata=meta.get(path.suffix))


def _draw_lines(axes: Any, plot: Plot) -> None:
    for line in plot.lines:
        x, (colour, dashes, width) = line.x, line.look
        axes.plot(x, line.y, linestyle=dashes, color=colour, linewidth=width, label=line.label)
        if line.low is not None:
            axes.fill_between(x, line.low, line.high, color=colour, alpha=style.BAND, linewidth=0)
    _set_scales(axes, plot)
    axes.set_xlabel(plot.x)
    axes.spines[["top", "right"]].set_visible(False)


def _set_scales(axes: Any, plot: Plot) -> None:
    """Linear or logarithmic, with plain numbers: powers would be set by a slow formula printer."""
    if plot.log_x:
        axes.set_xscale("log")
    else:
        axes.locator_params(axis="x", nbins=style.TICKS)
    if plot.log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=plot.bottom)
    axes.set_xlim(min(line.x[0] for line in plot.lines), max(line.x[-1] for line in plot.lines))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axis.set_minor_locator(NullLocator())


def _name_ends(axes: Any, lines: Sequence[Line]) -> None:
    """Write each label where its line ends, moved up or down where labels would overlap."""
    points = axes.get_position().height * axes.figure.get_figheight() * style.POINTS
    to_axes = axes.transAxes.inverted()
    ends = [axes.transData.transform((line.x[-1], line.y[-1])) for line in lines]
    wanted = [min(max(float(to_axes.transform(end)[1]), 0.0), 1.0) for end in ends]
    places = spread(wanted, style.NAME_GAP * style.TEXT / points)
    for line, place in zip(lines, places, strict=True):
        axes.annotate(
            line.label, (1, place), xycoords="axes fraction", xytext=(style.NAME_OFFSET, 0),
            textcoords="offset points", va="center", color=line.look.colour,
        )  # fmt: skip


def _name_at(axes: Any, lines: Sequence[Line], x: float) -> None:
    for line in lines:
        axes.text(
            x, float(np.interp(x, line.x, line.y)), line.label, color=line.look.colour,
            ha="center", va="center", bbox=style.BOX,
        )  # fmt: skip


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Places in the same order, as near to the wanted ones as a gap between them allows."""
    groups: list[tuple[float, list[int]]] = []
    for i in sorted(range(len(wanted)), key=lambda i: wanted[i]):
        groups.append((wanted[i], [i]))
        while len(groups) > 1:
            (below, lower), (above, upper) = groups[-2:]
            if above - below >= gap * (len(lower) + len(upper)) / 2:
                break
            both = lower + upper
            groups[-2:] = [((below * len(lower) + above * len(upper)) / len(both), both)]
    places = [0.0] * len(wanted)
    for centre, members in groups:
        for rank, i in enumerate(members):
            places[i] = centre + gap * (rank - (len(members) - 1) / 2)
    return places
