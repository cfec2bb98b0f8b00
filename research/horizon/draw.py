"""The picture: regret over visits on a logarithmic scale, a panel for each problem."""

from math import log
from typing import TYPE_CHECKING

from sojourn.stats.intervals import Z95

from ..beyond.outcomes import Outcomes
from .claims import outcomes_of
from .trials import GROWTH, LEARNED, PAPER, PLAIN, PRICED

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

DPI, TEXT, WIDTH = 160, 8.0, 2.3
COLOURS = {PAPER: "#8a8a8a", PLAIN: "#1f77b4", LEARNED: "#2b7a3d", PRICED: "#c00000"}
BOUND = "#444444"


def draw_horizon(findings: Outcomes) -> "Picture":
    """Straight lines are growth with log K; dotted, the slope below which nobody can stay."""
    from matplotlib.figure import Figure

    outcomes = outcomes_of(findings, GROWTH)
    size = (max(WIDTH * len(outcomes), WIDTH), 2.7)
    picture = Figure(figsize=size, dpi=DPI, layout="constrained")
    for ax, o in zip(picture.subplots(1, len(outcomes), squeeze=False)[0], outcomes, strict=True):
        for label, path in o.paths.items():
            style = {"color": COLOURS.get(label), "linewidth": 1.2, "markersize": 3.0}
            ax.errorbar(o.visits, path.mean, Z95 * path.error, fmt="o-", label=label, **style)
        begin, end = o.visits[0], o.visits[-1]
        base = min(path.mean[0] for path in o.paths.values())
        rise = (base, base + o.facts["least"] * log(end / begin))
        ax.plot((begin, end), rise, ":", color=BOUND, linewidth=1.0, label="slope of the bound")
        ax.set_xscale("log")
        ax.set_ylim(bottom=0.0)
        ax.tick_params(labelsize=TEXT)
        ax.set_title(o.trial.problem, fontsize=TEXT + 1)
        ax.set_xlabel("visits", fontsize=TEXT)
        ax.spines[["top", "right"]].set_visible(False)
    if outcomes:
        picture.axes[0].set_ylabel("regret", fontsize=TEXT)
        lines, names = picture.axes[0].get_legend_handles_labels()
        below = {"loc": "outside lower center", "ncols": len(names)}
        picture.legend(lines, names, fontsize=TEXT, frameon=False, **below)
    return picture
