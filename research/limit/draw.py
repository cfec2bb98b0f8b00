"""The pictures: policies as multiples of the least Bayes regret, a few and all."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .claims import HEADLINE
from .outcomes import Limits

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

DPI, TEXT = 160, 8.0
RED, GREY = "#c00000", "#8a8a8a"
TICKS = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)


def draw_limit(findings: Limits) -> "Picture":
    """Every policy."""
    return draw_multiples(findings, findings.labels)


def draw_story(findings: Limits) -> "Picture":
    """The policies of the headline."""
    there = [label for label in HEADLINE if findings.of(label)]
    return draw_multiples(findings, there)


def draw_multiples(findings: Limits, labels: Sequence[str]) -> "Picture":
    """A dot for each case, a row for each policy; red: the geometric mean."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(7.0, 0.8 + 0.2 * len(labels)), dpi=DPI, layout="constrained")
    ax = picture.subplots()
    every = [[o.multiple(label).value for o in findings.of(label)] for label in labels]
    ticks = [t for t in TICKS if t <= 1.5 * max((max(at) for at in every), default=1.0)]
    for row, (label, at) in enumerate(zip(labels, every, strict=True)):
        ax.plot(
            np.clip(at, ticks[0] / 1.1, ticks[-1] * 1.1), [row] * len(at), "o",
            color=GREY, markersize=3.0, linestyle="none", markeredgewidth=0,
        )  # fmt: skip
        ax.vlines(findings.typical(label).value, row - 0.4, row + 0.4, color=RED, linewidth=1.5)
    ax.set_xscale("log")
    ax.set_xticks(ticks, [f"{t:g}" for t in ticks], fontsize=TEXT)
    ax.set_xlim(ticks[0] / 1.15, ticks[-1] * 1.15)
    ax.minorticks_off()
    ax.axvline(1.0, color="#444444", linewidth=0.8)
    ax.set_yticks(range(len(labels)), labels, fontsize=TEXT)
    ax.invert_yaxis()
    ax.set_xlabel("Bayes regret / the least there can be; red: geometric mean", fontsize=TEXT)
    ax.spines[["top", "right"]].set_visible(False)
    return picture
