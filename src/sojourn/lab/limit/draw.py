"""The picture: every policy as a multiple of the least Bayes regret."""

from typing import TYPE_CHECKING

import numpy as np

from .outcomes import Limits

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

DPI, TEXT = 160, 8.0
RED, GREY = "#c00000", "#8a8a8a"
TICKS = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0)


def draw_limit(findings: Limits) -> "Picture":
    """A dot for each case, a row for each policy; red: the geometric mean."""
    from matplotlib.figure import Figure

    labels = findings.labels
    picture = Figure(figsize=(7.0, 1.2 + 0.2 * len(labels)), dpi=DPI, layout="constrained")
    ax = picture.subplots()
    for row, label in enumerate(labels):
        at = [o.multiple(label).value for o in findings.of(label)]
        ax.plot(
            np.clip(at, TICKS[0] / 1.1, TICKS[-1] * 1.1), [row] * len(at), "o",
            color=GREY, markersize=3.0, linestyle="none", markeredgewidth=0,
        )  # fmt: skip
        ax.vlines(findings.typical(label), row - 0.4, row + 0.4, color=RED, linewidth=1.5)
    ax.set_xscale("log")
    ax.set_xticks(TICKS, [f"{t:g}" for t in TICKS], fontsize=TEXT)
    ax.set_xlim(TICKS[0] / 1.15, TICKS[-1] * 1.15)
    ax.minorticks_off()
    ax.axvline(1.0, color="#444444", linewidth=0.8)
    ax.set_yticks(range(len(labels)), labels, fontsize=TEXT)
    ax.invert_yaxis()
    ax.set_xlabel("Bayes regret / the least there can be; red: geometric mean", fontsize=TEXT)
    ax.spines[["top", "right"]].set_visible(False)
    return picture
