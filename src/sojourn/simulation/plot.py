"""Draw a result: regret against visits with bands, the paper's slopes, and names at the curves."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..stats.moments import Array, Estimate
from .bounds import bound_for, lower_bounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .result import Result

COLUMN = (3.5, 2.7)
"""Inches; the width of a column of a paper."""

STYLES = (
    ("#000000", "-"), ("#c44e00", "--"), ("#0067a5", "-"), ("#00916e", "--"),
    ("#a05195", "-."), ("#8c8c8c", "-"), ("#5b4a00", "-."), ("#d9a400", "--"),
)  # fmt: skip
"""Colours of different lightness, and dashes, so that curves differ in grey as well."""

GREY = "#666666"

SPREAD = 30.0
"""From this ratio of the greatest to the smallest regret on, the axis of regret is logarithmic."""

SMALL = 7.0
"""Points; the size of all text."""


def plot(
    result: "Result", path: str | Path | None, *, bounds: bool = True, per_log: bool = False
) -> "Figure":
    """The figure of `Result.plot`."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'sojourn[plot]'") from None

    visits, regret = _curves(result, per_log)
    later = visits >= 2
    scale: Array = np.ones(visits.size) if per_log else np.log(visits)
    with rc_context({"font.size": SMALL, "axes.linewidth": 0.6, "svg.hashsalt": "sojourn"}):
        figure = Figure(figsize=COLUMN, dpi=300, layout="constrained")
        axes = figure.add_subplot()
        ends = []
        for p, label in enumerate(result.labels):
            colour, dashes = STYLES[p % len(STYLES)]
            axes.plot(visits, regret.mean[p], dashes, color=colour, linewidth=1.1)
            axes.fill_between(
                visits, regret.low[p], regret.high[p], color=colour, alpha=0.2, linewidth=0
            )
            ends.append((label, colour, regret.mean[p, -1]))
            bound = bound_for(result.policies[p], result.problem) if bounds else None
            if bound is not None and bound.slope is not None:
                height = bound.slope * scale
                axes.plot(visits[later], height[later], ":", color=colour, linewidth=0.8)
                ends.append((f"{label} bound", colour, height[-1]))
        for bound in lower_bounds(result.problem) if bounds else []:
            height = (bound.slope or 0.0) * scale
            axes.plot(visits[later], height[later], color=GREY, linewidth=0.6, dashes=(8, 2, 1, 2))
            ends.append((bound.name, GREY, height[-1]))
        final = [height for _, _, height in ends if height > 0.0]
        if final and max(final) > SPREAD * min(final):
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=min(0.0, float(np.nanmin(regret.low))))
        axes.set_xscale("log")
        axes.set_xlim(visits[0], visits[-1])
        axes.set_xlabel("visits K" + (" (bounds: slope times log K)" if bounds else ""))
        axes.set_ylabel("regret / log K" if per_log else "regret")
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(width=0.6, which="both")
        _name_curves(axes, ends)
        if path is not None:
            _write(figure, Path(path))
    return figure


def _curves(result: "Result", per_log: bool) -> tuple[Array, Estimate]:
    """Visits and regret, or regret over log K from K = 2 on."""
    visits, regret = result.checkpoints.astype(float), result.regret
    if not per_log or visits[-1] < 2:
        return visits, regret
    shown = visits >= 2
    scale = np.log(visits[shown])
    mean, std_error = (array[:, shown] / scale for array in regret)
    return visits[shown], Estimate(mean, std_error)


def _name_curves(axes: Any, ends: Sequence[tuple[str, str, float]]) -> None:
    """Write each name where its curve ends, moved up or down where names would overlap."""
    figure = axes.figure
    figure.draw_without_rendering()
    height = axes.bbox.height / figure.dpi * 72.0 / (1.25 * SMALL)
    wanted = [
        axes.transAxes.inverted().transform(axes.transData.transform((1.0, max(y, 1e-12))))[1]
        for _, _, y in ends
    ]
    for (name, colour, _), place in zip(ends, spread(wanted, 1.0 / height), strict=True):
        axes.annotate(
            name, (1.0, place), xycoords="axes fraction", xytext=(3, 0),
            textcoords="offset points", va="center", color=colour,
        )  # fmt: skip


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Places in the same order, as near to the wanted ones as a gap between them allows.

    >>> spread([0.5, 0.5, 0.9], 0.1)
    [0.45, 0.55, 0.9]
    """
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


def _write(figure: "Figure", path: Path) -> None:
    try:
        figure.savefig(path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ValueError(f"{path}: cannot be written ({reason})") from None
    except ValueError as error:
        raise ValueError(f"{path}: cannot be written ({error})") from None
