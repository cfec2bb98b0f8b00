"""The tables and the picture of the page: growth, tails, the price of not knowing the horizon."""

from math import log
from typing import TYPE_CHECKING

from sojourn.stats.intervals import Z95

from ...outcomes import Outcomes
from ...study import NOT_RUN, short, table
from .trials import (
    ENGAGEMENT,
    EXACT,
    GROWTH,
    INFORMED,
    KNOWING,
    LEARNED,
    PAPER,
    PLAIN,
    PRICED,
    RARE,
    TAILS,
    TENFOLD,
    TENTH,
    HorizonOutcome,
)  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

Findings = Outcomes[HorizonOutcome]

INFORMED_EXACT = (EXACT, TENTH, TENFOLD)


def tables(findings: Findings) -> dict[str, str]:
    """What the template of the page is filled with."""
    growth = findings.played(GROWTH)
    return {
        "headline": _headline(growth),
        "growth": _growth(growth),
        "tails": _tails(findings.played(TAILS)),
        "told": _told(findings.played(INFORMED)),
        "rare": f"one in {1 / RARE:,.0f}",
        "priced": PRICED,
    }


def _headline(outcomes: list[HorizonOutcome]) -> str:
    """Regret at the end: a row for each policy, a column for each problem."""
    if not outcomes:
        return NOT_RUN
    heads = [
        f"regret after {outcomes[0].visits[-1]:,} visits",
        *(o.trial.problem for o in outcomes),
    ]
    rows = [[x, *(str(o.regret(x)) for o in outcomes)] for x in outcomes[0].labels]
    return table(heads, rows)


def _growth(outcomes: list[HorizonOutcome]) -> str:
    if not outcomes:
        return NOT_RUN
    rows = []
    for o in outcomes:
        for label in o.labels:
            here = [str(o.at(label, k)) for k in o.visits]
            slope = str(o.slope(label, o.visits[-2]))
            rows.append([o.trial.problem, label, f"{o.runs:,}", *here, slope])
        least = f"{o.facts['least']:.1f}"
        rows.append([o.trial.problem, "lower bound", "", *("" for _ in o.visits), least])
    heads = ["problem", "policy", "runs", *(f"K = {k:,}" for k in outcomes[0].visits), "slope"]
    return table(heads, rows, left=range(2))


def _tails(outcomes: list[HorizonOutcome]) -> str:
    rows = []
    for o in outcomes:
        for label in o.labels:
            path = o.paths[label]
            tail = [f"{x[-1]:,.0f}" for x in (path.median, path.rare, path.worst)]
            where = f"{o.trial.problem}, {o.trial.visits:,} visits"
            rows.append([where, label, f"{o.runs:,}", str(o.regret(label)), *tail])
    heads = ["problem", "policy", "runs", "mean", "median", f"1 in {1 / RARE:,.0f}", "worst"]
    return table(heads, rows, left=range(2))


def _told(outcomes: list[HorizonOutcome]) -> str:
    rows = []
    for o in outcomes:
        own = [
            o.trial.problem, f"{o.trial.visits:,}", f"{o.runs:,}", str(o.regret(PRICED)),
            short(o.ratio(PRICED, KNOWING)),
        ]  # fmt: skip
        exact = [f"{o.regret(x)} ({o.paths[x].worst[-1]:,.0f})" for x in INFORMED_EXACT]
        rows.append([*own, *exact])
    heads = [
        "problem", "visits", "runs", PRICED, "over itself, told the visits",
        "exact index, told them", "a tenth of them", "ten times as many",
    ]  # fmt: skip
    return table(heads, rows)


DPI, TEXT, WIDTH = 160, 8.0, 2.3
COLOURS = {
    PAPER: "#8a8a8a",
    PLAIN: "#1f77b4",
    LEARNED: "#2b7a3d",
    PRICED: "#c00000",
    ENGAGEMENT: "#7b3294",
}
BOUND = "#444444"


def draw_horizon(findings: Findings) -> "Picture":
    """Straight lines are growth with log K; dotted, the slope below which nobody can stay."""
    from matplotlib.figure import Figure

    outcomes = findings.played(GROWTH)
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
