"""Draw a result: regret against visits with bands, named at their ends; bounds if asked for."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .. import validation
from ..extras import require
from ..show import style
from ..show.style import Line, Look, Plot
from ..stats.moments import Array, Estimate
from ..validation import InputError
from .tables import bound_for, lower_bounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .result import Result

Labels = Mapping[str | int, str] | Sequence[str] | None

SPREAD = 30.0
"""From this ratio of the greatest to the smallest regret on, the axis of regret is logarithmic."""


def plot(
    result: "Result",
    path: str | Path | None,
    *,
    bounds: bool = False,
    per_log: bool = False,
    ax: "Axes | None" = None,
    size: style.Size | None = None,
    labels: Labels = None,
) -> "Figure":
    """The figure of `Result.plot`."""
    require("a plot", "plot", "matplotlib")
    from ..show import curves

    names, inches = _names(result, labels), _size(size, ax)
    visits, regret = _regret(result, per_log)
    lines = list(_lines(result, names, visits, regret, bounds, per_log))
    ends = [float(line.y[-1]) for line in lines if line.y[-1] > 0.0]
    drawn = Plot(
        lines=lines,
        x="visits K" + (" (bounds: slope times log K)" if bounds else ""),
        y="regret / log K" if per_log else "regret",
        log_x=True,
        log_y=bool(ends) and max(ends) > SPREAD * min(ends),
        bottom=min(0.0, float(np.nanmin(regret.low))),
    )
    if ax is None:
        figure = curves.draw(drawn, inches)
    else:
        curves.draw_on(ax, drawn)
        figure = ax.figure.figure  # the whole one, if the axes are in a part of it
    if path is not None:
        _write(figure, Path(path))
    return figure


def _names(result: "Result", labels: Labels) -> list[str]:
    """What each curve is called: its policy's label, unless another name is given for it."""
    if labels is None:
        return result.labels
    if isinstance(labels, Mapping):
        given = {result.index(policy): str(name) for policy, name in labels.items()}
        return [given.get(p, label) for p, label in enumerate(result.labels)]
    if isinstance(labels, str) or len(labels) != len(result.policies):
        raise InputError(
            f"labels = {labels!r} is not allowed: give a name for each of the "
            f"{len(result.policies)} policies, or a dictionary of those to change"
        )
    return [str(name) for name in labels]


def _size(size: style.Size | None, ax: "Axes | None") -> style.Size:
    if size is None:
        return style.COLUMN
    if ax is not None:
        raise InputError("give either ax, whose figure has a size, or size, not both")
    if not isinstance(size, Sequence) or len(size) != 2:
        raise InputError(
            f"size = {size!r} is not allowed: it must be the width and height in inches"
        )
    width, height = (validation.number("size", inches, 1, 100) for inches in size)
    return width, height


def _lines(
    result: "Result",
    names: Sequence[str],
    visits: Array,
    regret: Estimate,
    bounds: bool,
    per_log: bool,
) -> Iterator[Line]:
    """A line for each policy, followed by its bound, and the lower bounds."""
    later = visits[visits >= 2]  # log K is 0 at K = 1, which a logarithmic axis does not have
    scale = np.ones(later.size) if per_log else np.log(later)
    looks = style.looks(result.labels)
    bounds = bounds and later.size > 0
    for p, (label, look) in enumerate(zip(names, looks, strict=True)):
        low, high = regret.low[p], regret.high[p]
        yield Line(label=label, look=look, x=visits, y=regret.mean[p], low=low, high=high)
        bound = bound_for(result.policies[p], result.problem) if bounds else None
        if bound is not None and bound.slope is not None:
            dotted = Look(look.colour, ":", style.BOUND)
            yield Line(label=f"{label} bound", look=dotted, x=later, y=bound.slope * scale)
    for bound in lower_bounds(result.problem) if bounds else []:
        grey = Look(style.GREY, (0.0, style.LOWER_DASHES), style.BOUND)
        yield Line(label=bound.name, look=grey, x=later, y=(bound.slope or 0.0) * scale)


def _regret(result: "Result", per_log: bool) -> tuple[Array, Estimate]:
    """Visits and regret, or regret over log K from K = 2 on."""
    visits, regret = result.checkpoints.astype(float), result.regret
    if not per_log or visits[-1] < 2:
        return visits, regret
    shown = visits >= 2
    scale = np.log(visits[shown])
    mean, std_error = (array[:, shown] / scale for array in regret)
    return visits[shown], Estimate(mean, std_error)


def _write(figure: "Figure", path: Path) -> None:
    from ..show import curves

    try:
        curves.write(figure, path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"{path}: cannot be written ({reason})") from None
    except ValueError as error:
        raise InputError(f"{path}: cannot be written ({error})") from None
