"""Pictures of the findings: where engagement-aware exploration pays and where it hurts."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...outcomes import Outcomes
from .outcomes import POLICIES, BeyondOutcome, comparable, worst
from .trials import BASELINE, BOUND, LEARNED

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

Findings = Outcomes[BeyondOutcome]

DPI = 160
TEXT = 8.0
RED = "#c00000"
X_RANGE = (0.02, 20.0)
Y_RANGE = (0.3, 4.0)
X_TICKS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
Y_TICKS = (0.4, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0)
"""Points outside are drawn at the edge."""


class Mark(NamedTuple):
    """How the problems of a group are drawn, and what the legend calls them."""

    colour: str
    marker: str
    size: float
    words: str
    alpha: float = 1.0
    """Opacity of the intervals."""


GROUPS: Mapping[str, Mark] = {
    "random": Mark("#9a9a9a", "o", 2.2, "drawn at random", 0.25),
    "by state": Mark("#e7298a", "P", 4.5, "rewards by state"),
    "catalogues": Mark("#a6761d", "X", 4.5, "catalogues"),
    "violations": Mark("#7b3294", "D", 4.0, "outside the model"),
    "near-neutral": Mark("#1a9850", "v", 4.5, "nearly neutral"),
    "logs": Mark("#d95f02", "^", 5.0, "fitted to logs"),
    "opposite": Mark("#2b83ba", "s", 4.5, "opposite case"),
    "paper": Mark("#111111", "o", 5.0, "the paper's"),
}
PANELS = (
    ("KL-ULCB", "KL-UCB", "KL-ULCB / KL-UCB: told to take the normal case"),
    ("Gated IMED", "IMED", "Gated IMED / IMED: told the same"),
    (BOUND, "IMED", f"{BOUND} / IMED: finds out by itself"),
    (LEARNED, "IMED", f"{LEARNED} / IMED: means in place of lower bounds"),
)


def draw_where(findings: Findings) -> "Picture":
    """Regret with a gate over regret without, against D(0) / D(1); one panel for each gate."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(9.0, 7.0), dpi=DPI, layout="constrained")
    axes = picture.subplots(2, 2, sharex=True, sharey=True)
    for ax, (one, other, title) in zip(axes.flat, PANELS, strict=True):
        for group, how in GROUPS.items():
            _points(ax, findings.of(group, one, other), one, other, how)
        _frame(ax, title)
    for ax in axes[:, 0]:
        ax.set_ylabel("regret with the gate / without", fontsize=TEXT)
    for ax in axes[1]:
        ax.set_xlabel("D(0) / D(1)   (opposite case | normal case)", fontsize=TEXT)
    _legend(picture, axes[0, 0])
    return picture


def _legend(picture: "Picture", ax: Any) -> None:
    handles, labels = ax.get_legend_handles_labels()
    picture.legend(
        handles, labels, loc="outside lower center", ncols=len(GROUPS), fontsize=TEXT, frameon=False
    )


def _points(ax: Any, outcomes: Sequence[BeyondOutcome], one: str, other: str, how: Mark) -> None:
    proper = [o for o in outcomes if o.facts.get("cost_ratio", 0.0) > 0.0]
    if not proper:
        return
    x = np.clip([o.facts["cost_ratio"] for o in proper], *X_RANGE)
    ratios = [o.ratio(one, other) for o in proper]
    y = np.clip([r.value for r in ratios], *Y_RANGE)
    ends = np.clip([(r.low, r.high) for r in ratios], *Y_RANGE).T
    ax.vlines(x, *ends, color=how.colour, linewidth=0.7, alpha=how.alpha)
    ax.plot(
        x, y, how.marker, color=how.colour, markersize=how.size, linestyle="none",
        label=how.words, markeredgewidth=0,
    )  # fmt: skip


def _frame(ax: Any, title: str) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(X_RANGE[0] * 0.9, X_RANGE[1] * 1.1)
    ax.set_ylim(Y_RANGE[0] * 0.95, Y_RANGE[1] * 1.05)
    ax.axhline(1.0, color="#444444", linewidth=0.8)
    ax.axvline(1.0, color="#444444", linewidth=0.8, linestyle=":")
    ax.set_xticks(X_TICKS, [f"{x:g}" for x in X_TICKS], fontsize=TEXT)
    ax.set_yticks(Y_TICKS, [f"{y:g}" for y in Y_TICKS], fontsize=TEXT)
    ax.minorticks_off()
    ax.set_title(title, fontsize=TEXT + 1)
    ax.text(0.98, 0.97, "hurts", transform=ax.transAxes, ha="right", va="top", fontsize=TEXT)
    ax.text(0.98, 0.03, "pays", transform=ax.transAxes, ha="right", va="bottom", fontsize=TEXT)
    ax.spines[["top", "right"]].set_visible(False)


def draw_worst(findings: Findings) -> "Picture":
    """Regret over KL-UCB's: every problem a dot, a row for each policy, the worst case marked."""
    from matplotlib.figure import Figure

    outcomes = comparable(findings)
    picture = Figure(figsize=(8.0, 4.4), dpi=DPI, layout="constrained")
    ax = picture.subplots()
    rows = [label for label in POLICIES if label != BASELINE]
    jitter = np.random.default_rng(0)
    for row, label in enumerate(rows):
        there = [o for o in outcomes if label in o and BASELINE in o]
        if there:
            _row(ax, row, label, there, jitter)
    ax.set_xscale("log")
    ticks = (0.2, 0.5, 1, 2, 5, 10)
    ax.set_xticks(ticks, [f"{t:g}" for t in ticks], fontsize=TEXT)
    ax.minorticks_off()
    ax.axvline(1.0, color="#444444", linewidth=0.8)
    ax.set_yticks(range(len(rows)), rows, fontsize=TEXT)
    ax.invert_yaxis()
    what = f"regret / regret of {BASELINE}; red: median, and interval of the worst case"
    ax.set_xlabel(what, fontsize=TEXT)
    _legend(picture, ax)
    ax.spines[["top", "right"]].set_visible(False)
    return picture


def _row(
    ax: Any, row: int, label: str, outcomes: list[BeyondOutcome], jitter: np.random.Generator
) -> None:
    """The ratios of one policy, their median, and the interval of the worst."""
    for group, how in GROUPS.items():
        x = [o.ratio(label, BASELINE).value for o in outcomes if o.trial.group == group]
        y = row + jitter.uniform(-0.25, 0.25, len(x))
        ax.plot(
            x, y, how.marker, color=how.colour, linestyle="none", markeredgewidth=0,
            markersize=0.8 * how.size, label=how.words if row == 0 else None,
        )  # fmt: skip
    middle = np.median([o.ratio(label, BASELINE).value for o in outcomes])
    ax.vlines(middle, row - 0.4, row + 0.4, color=RED, linewidth=1.5)
    most = worst(outcomes, label, in_hindsight=False).ratio
    ax.hlines(row, most.low, most.high, color=RED, linewidth=1.0)
