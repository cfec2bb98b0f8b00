"""The picture: every policy on the problems drawn at random, with and without leaving by arm."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..beyond.outcomes import Outcomes
from .claims import LEARNED, RANDOM

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

DPI, TEXT = 160, 8.0
RED, GREY = "#c00000", "#8a8a8a"
PANELS = (
    ("random", LEARNED, "leaving does not depend on the arm"),
    ("by arm", RANDOM, "leaving depends on the arm"),
)
TICKS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def draw_by_arm(findings: Outcomes) -> "Picture":
    """Regret over that of a yardstick: a dot for each problem, a row for each policy."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(9.0, 3.6), dpi=DPI, layout="constrained")
    for ax, (group, other, title) in zip(picture.subplots(1, 2), PANELS, strict=True):
        outcomes = findings.of(group, other)
        labels = [x for x in outcomes[0].labels if x != other] if outcomes else []
        jitter = np.random.default_rng(0)
        for row, label in enumerate(labels):
            _row(ax, row, [o.ratio(label, other).value for o in outcomes], jitter)
        ax.set_xscale("log")
        ax.set_xticks(TICKS, [f"{t:g}" for t in TICKS], fontsize=TEXT)
        ax.set_xlim(TICKS[0] / 2.0, TICKS[-1] * 2.0)
        ax.minorticks_off()
        ax.axvline(1.0, color="#444444", linewidth=0.8)
        ax.set_yticks(range(len(labels)), labels, fontsize=TEXT)
        ax.invert_yaxis()
        ax.set_title(title, fontsize=TEXT + 1)
        ax.set_xlabel(f"regret / regret of {other}; red: geometric mean", fontsize=TEXT)
        ax.spines[["top", "right"]].set_visible(False)
    return picture


def _row(ax: Any, row: int, ratios: list[float], jitter: np.random.Generator) -> None:
    at = np.clip(ratios, TICKS[0] / 1.8, TICKS[-1] * 1.8)
    y = row + jitter.uniform(-0.25, 0.25, at.size)
    ax.plot(at, y, "o", color=GREY, markersize=2.0, linestyle="none", markeredgewidth=0)
    middle = float(np.exp(np.mean(np.log(ratios))))
    ax.vlines(middle, row - 0.4, row + 0.4, color=RED, linewidth=1.5)
