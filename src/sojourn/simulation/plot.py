"""Draw a result: regret against visits with bands, the paper's slopes, and names at the curves."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..extras import require
from ..show import curves, style
from ..show.curves import Line, Plot
from ..show.style import Look
from ..stats.moments import Array, Estimate
from .bounds import bound_for, lower_bounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .result import Result

SPREAD = 30.0
"""From this ratio of the greatest to the smallest regret on, the axis of regret is logarithmic."""


def plot(
    result: "Result", path: str | Path | None, *, bounds: bool = True, per_log: bool = False
) -> "Figure":
    """The figure of `Result.plot`."""
    require("a plot", "plot", "matplotlib")
    visits, regret = _regret(result, per_log)
    lines = list(_lines(result, visits, regret, bounds, per_log))
    ends = [float(line.y[-1]) for line in lines if line.y[-1] > 0.0]
    drawn = Plot(
        lines=lines,
        x="visits K" + (" (bounds: slope times log K)" if bounds else ""),
        y="regret / log K" if per_log else "regret",
        log_x=True,
        log_y=bool(ends) and max(ends) > SPREAD * min(ends),
        bottom=min(0.0, float(np.nanmin(regret.low))),
    )
    figure = curves.draw(drawn)
    if path is not None:
        _write(figure, Path(path))
    return figure


def _lines(
    result: "Result", visits: Array, regret: Estimate, bounds: bool, per_log: bool
) -> Iterator[Line]:
    """A line for each policy, followed by its bound, and the lower bounds."""
    later = visits[visits >= 2]  # log K is 0 at K = 1, which a logarithmic axis does not have
    scale = np.ones(later.size) if per_log else np.log(later)
    looks = style.looks(result.labels)
    bounds = bounds and later.size > 0
    for p, (label, look) in enumerate(zip(result.labels, looks, strict=True)):
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
    try:
        curves.write(figure, path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ValueError(f"{path}: cannot be written ({reason})") from None
    except ValueError as error:
        raise ValueError(f"{path}: cannot be written ({error})") from None
