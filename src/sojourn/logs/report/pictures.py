"""The pictures of a report, each with its table: drawn in the colours of the page."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO
from typing import Any

import numpy as np

from ...show import style
from ...show.tables import Table
from ...stats.clusters import share_interval
from ...stats.intervals import Interval
from ..deciding.advice import Advice
from ..model.costs import bracketed
from ..model.ema import EmaFit
from ..model.fitted import Fit
from ..model.totals import CELLS, LONGEST, Totals
from .text import arms_table, cells, gains_table, leave_table

INK, BLUE, ORANGE, FAINT = "#010101", "#010102", "#010103", "#010104"
COLOURS = {INK: "currentColor", BLUE: "var(--blue)", ORANGE: "var(--orange)", FAINT: "var(--faint)"}
"""Stand-ins in the drawing, and what the page has in their place."""

SETTINGS = {
    **style.SETTINGS,
    "svg.fonttype": "none",
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor"), INK),
    **dict.fromkeys(("xtick.color", "ytick.color"), INK),
}

CELL_NAMES = ("first, 0", "first, 1", "0, then 0", "0, then 1", "1, then 0", "1, then 1")
ENOUGH = 30
"""Steps that a point of the hazard needs."""
MOST_BARS, MOST_ROWS, MOST_ARMS = 60, 20, 12
"""Rows of a table and arms of a drawing; the JSON has all."""

Rows = Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG, with a title, what it shows in words, and its numbers as a table."""

    name: str
    title: str
    alt: str
    drawing: Any
    table: Table

    @property
    def svg(self) -> str:
        """An element of the page; its ids begin with the name, its colours are the page's."""
        from matplotlib import rc_context

        out = StringIO()
        with rc_context(SETTINGS):
            self.drawing.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        text = out.getvalue()
        text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.S)
        text = re.sub(r'(id="|url\(#|href="#)', rf"\1{self.name}-", text)
        for stand_in, colour in COLOURS.items():
            text = text.replace(stand_in, colour)
        return text.strip().replace("<svg", f'<svg role="img" aria-label="{escape(self.alt)}"', 1)


def pictures(fit: Fit, advice: Advice) -> Iterator[Picture]:
    """All pictures that apply to this fit and this advice."""
    yield _leave(fit)
    if fit.ema is not None and fit.ema.believed:
        yield _average(fit.ema)
    if fit.totals is not None:
        yield _hazard(fit.totals)
        yield _lengths(fit.totals)
    if fit.effects:
        yield _arms(fit)
    yield _costs(fit)
    if advice.outcomes:
        yield _gain(advice)


def _leave(fit: Fit) -> Picture:
    named = zip(CELLS, CELL_NAMES, strict=True)
    found = {name: fit.leave[cell] for cell, name in named if fit.counts[cell][1]}
    return Picture(
        "leave",
        "Who leaves, by the last two rewards",
        "Chance to leave by previous reward and reward: "
        + "; ".join(f"{name}: {q.value:.3f}" for name, q in found.items()),
        _ranges(found, "chance to leave, 95 % interval", 0),
        leave_table(fit),
    )


def _average(ema: EmaFit) -> Picture:
    drawing, axes = _canvas("moving average of rewards", "chance to leave")
    axes.fill_between(ema.state, ema.low, ema.high, color=BLUE, alpha=style.BAND, linewidth=0)
    axes.plot(ema.curve.states, ema.curve.q, color=BLUE, linewidth=style.LINE)
    axes.plot(ema.state, ema.left / ema.n, "o", color=ORANGE, markersize=2.5)
    axes.set_xlim(0, 1)
    axes.set_ylim(bottom=0)
    each = zip(ema.state, ema.n, ema.curve.q, ema.low, ema.high, strict=True)
    rows = [
        (f"{s:.3f}", f"{n:,.0f}", *cells(Interval(q, low, high), ".4f"))
        for s, n, q, low, high in each
    ]
    return Picture(
        "average",
        f"Who leaves, by the moving average of rewards (theta {ema.theta:g})",
        f"Chance to leave against the moving average, from {ema.curve.q[0]:.3f} in the worst state "
        f"to {ema.curve.q[-1]:.3f} in the best, at equal step numbers; dots are plain counts, the "
        "line is the falling curve, the band its 95 % intervals",
        drawing,
        Table(("state", "steps", "q", "95 %"), rows),
    )


def _hazard(totals: Totals) -> Picture:
    n, k = totals.hazard
    shown = [i for i in range(min(LONGEST - 1, MOST_BARS)) if n[i] >= ENOUGH] or [0]
    found = []
    for left, seen in zip(k[shown], np.maximum(n[shown], 1.0), strict=True):
        share = left / seen  # of steps that are taken for independent
        found.append(Interval(share, *share_interval(left, seen, share * (1.0 - share) / seen)))
    steps, (q, low, high) = [i + 1 for i in shown], zip(*found, strict=True)
    drawing, axes = _canvas("step of the visit", "chance to leave after it")
    axes.fill_between(steps, low, high, color=BLUE, alpha=style.BAND, linewidth=0)
    axes.plot(steps, q, ".-", color=BLUE, linewidth=style.LINE, markersize=3)
    axes.set_ylim(bottom=0)
    axes.locator_params(axis="x", integer=True)
    rows = [
        (str(i + 1), f"{n[i]:,.0f}", f"{k[i]:,.0f}", *cells(own, ".4f"))
        for i, own in zip(shown, found, strict=True)
    ]
    return Picture(
        "hazard",
        "Who leaves, by step",
        f"Chance to leave after step {steps[0]} to {steps[-1]}: {q[0]:.3f} at first, "
        f"{q[-1]:.3f} at last; the band is 95 % if steps were independent",
        drawing,
        Table(("step", "seen", "left", "chance", "95 %"), _first(rows)),
    )


def _lengths(totals: Totals) -> Picture:
    lengths = totals.lengths
    share = np.cumsum(lengths.sum(axis=1)) / lengths.sum()
    last = min(int(np.searchsorted(share, 0.995)) + 1, MOST_BARS)
    left, cut = lengths[:last, 0], lengths[:last, 1]
    drawing, axes = _canvas("steps of the visit", "visits")
    axes.bar(range(1, last + 1), left, color=BLUE, label="left")
    axes.locator_params(axis="x", integer=True)
    if cut.any():
        axes.bar(range(1, last + 1), cut, bottom=left, color=ORANGE, label="censored")
        axes.legend(
            frameon=False, ncols=2, labelcolor=INK, fontsize=style.TEXT,
            loc="lower right", bbox_to_anchor=(1.0, 0.98), borderpad=0.0,
        )  # fmt: skip
    rows = [(str(i), f"{a:,}", f"{b:,}") for i, (a, b) in enumerate(zip(left, cut, strict=True), 1)]
    return Picture(
        "lengths",
        "How long visits are",
        f"Visits by length up to {last} steps: {int(lengths[:, 0].sum()):,} ended with a departure "
        f"and {totals.censored:,} were censored; half have at most "
        f"{int(np.searchsorted(share, 0.5)) + 1} steps",
        drawing,
        Table(("steps", "left", "censored"), _first(rows)),
    )


def _arms(fit: Fit) -> Picture:
    ranked = sorted(fit.effects, key=lambda effect: -effect.worth.value)
    shown = {effect.name: effect.worth for effect in ranked[:MOST_ARMS]}
    return Picture(
        "arms",
        "What a visit of one item alone is worth",
        f"Rewards of a visit that shows one item alone: {ranked[0].name} "
        f"{bracketed(ranked[0].worth)}, down to {ranked[-1].name} {bracketed(ranked[-1].worth)}; "
        "leave is how many times as often people leave after it as after the average item, with "
        "the same rewards (* significantly not 1)",
        _ranges(shown, "rewards per visit, 95 % interval"),
        arms_table(fit),
    )


def _costs(fit: Fit) -> Picture:
    every = {"as counted": fit.costs, **{c.name: c.costs for c in fit.adjusted}}
    ratios = {name: costs.ratio for name, costs in every.items() if costs.ratio is not None}
    rows = []
    for name, costs in every.items():
        shown = [costs.d0, costs.d1] + ([costs.ratio] if costs.ratio else [])
        rows.append((name, *(cell for number in shown for cell in cells(number, ".3f"))))
    counted = fit.costs
    drawing = (
        _ranges(ratios, "cost after a 0, beside that after a 1", 1.0)
        if ratios
        else _ranges({"after a 0": counted.d0, "after a 1": counted.d1}, "rewards lost", 0.0)
    )
    return Picture(
        "costs",
        "When a mistake costs more",
        "Rewards lost by a mistake, per unit of mean: "
        f"{bracketed(counted.d0)} after a 0 and {bracketed(counted.d1)} after a 1 as counted; "
        "the other rows hold something equal",
        drawing,
        Table(("", "after a 0", "95 %", "after a 1", "95 %", "ratio", "95 %"), rows),
    )


def _gain(advice: Advice) -> Picture:
    base, found = advice.incumbent, advice.outcomes
    return Picture(
        "gain",
        f"What to expect over {advice.visits:,} visits",
        f"Expected reward per visit over {base.name}: "
        + "; ".join(f"{o.name} {o.gain.value:+.3g}" for o in found)
        + "; in the table * is advised, and - may lose",
        _ranges({o.name: o.gain for o in found}, f"reward per visit more than {base.name}", 0),
        gains_table(advice),
    )


def _first(rows: Rows) -> Rows:
    """The first of them, and how many more there are."""
    rest = len(rows) - MOST_ROWS
    return rows if rest <= 0 else [*rows[:MOST_ROWS], (f"{rest} more",)]


def _ranges(found: Mapping[str, Interval], what: str, mark: float | None = None) -> Any:
    """Intervals below each other, the first on top."""
    drawing, axes = _canvas(what, "", letters=max(map(len, found)))
    for row, interval in enumerate(found.values()):
        axes.plot([interval.low, interval.high], [row, row], color=BLUE, linewidth=2 * style.LINE)
        axes.plot(interval.value, row, "o", color=ORANGE, markersize=4)
    axes.set_yticks(range(len(found)), list(found))
    axes.set_ylim(len(found) - 0.5, -0.5)
    if mark is not None:
        axes.axvline(mark, color=INK, linewidth=style.THIN)
    return drawing


def _canvas(across: str, up: str, letters: int = 0) -> tuple[Any, Any]:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    width = style.COLUMN[0]
    left = max(style.LEFT, (letters * style.LETTER * style.TEXT + 14) / style.POINTS)
    with rc_context(SETTINGS):
        drawing = Figure(figsize=style.COLUMN)
        frame = (left / width, 0.16, 1 - (left + 0.08) / width, 0.78)
        axes = drawing.add_axes(frame, facecolor="none")
    drawing.patch.set_visible(False)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.spines[["top", "right"]].set_visible(False)
    axes.locator_params(axis="x", nbins=style.TICKS)
    axes.grid(color=FAINT, linewidth=style.THIN)
    axes.set_axisbelow(True)
    return drawing, axes
