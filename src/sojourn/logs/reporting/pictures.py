"""The pictures of a report, each with its table: drawn in ink that follows the page's colours."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

from ...recommendation import BASELINE
from ...show import style
from ...stats.clusters import share_interval
from ..fitting.diagnosis import Interval
from ..fitting.model import Fit
from ..fitting.totals import CELLS, LONGEST

if TYPE_CHECKING:
    from ..deciding.decision import Decision

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
"""Steps that a point of the hazard needs to be shown."""
MOST_BARS = 60
MOST_ROWS = 20
"""Of a table; the JSON has all."""

Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG text, with a title, what it shows in words, and its numbers as a table."""

    name: str
    title: str
    alt: str
    svg: str
    heads: Sequence[str]
    rows: Rows


def pictures(fit: Fit, decision: "Decision") -> tuple[Picture, ...]:
    """All pictures that this fit and this decision have something for.

    >>> from .decision import decide
    >>> fit = Fit.from_counts(n=[[470, 355], [789, 3488]], k=[[163, 28], [425, 220]],
    ...                       means=[0.794, 0.178], visits=1200)
    >>> [p.name for p in pictures(fit, decide(fit, visits=40, draws=4, runs=4))]
    ['leave', 'costs', 'gain']
    """
    return tuple(_pictures(fit, decision))


def _pictures(fit: Fit, decision: "Decision") -> Iterator[Picture]:
    yield _leave(fit)
    if fit.ema is not None:
        yield _average(fit)
    if fit.totals is not None:
        yield _hazard(fit)
        yield _lengths(fit)
    yield _costs(fit)
    if decision.outcomes:
        yield _gain(decision)


def _leave(fit: Fit) -> Picture:
    cells = [(c, n) for c, n in zip(CELLS, CELL_NAMES, strict=True) if fit.counts[c][1]]
    found = [fit.leave[c] for c, _ in cells]
    rows = [
        (name, f"{fit.counts[c][0]:,}", f"{fit.counts[c][1]:,}", *_cells(fit.leave[c], ".4f"))
        for c, name in cells
    ]
    svg = _ranges("leave", [n for _, n in cells], found, "chance to leave, with 95 % interval", 0)
    return Picture(
        "leave",
        "Who leaves, by the last two rewards",
        "Chance to leave by previous reward and reward: "
        + "; ".join(f"{n}: {i.value:.3f}" for (_, n), i in zip(cells, found, strict=True)),
        svg,
        ("rewards", "left", "steps", "q", "95 %"),
        rows,
    )


def _average(fit: Fit) -> Picture:
    ema = fit.ema
    assert ema is not None
    picture, axes = _canvas("moving average of rewards", "chance to leave")
    axes.fill_between(ema.state, ema.low, ema.high, color=BLUE, alpha=style.BAND, linewidth=0)
    axes.plot(ema.curve.states, ema.curve.q, color=BLUE, linewidth=style.LINE)
    axes.plot(ema.state, ema.left / ema.n, "o", color=ORANGE, markersize=2.5)
    axes.set_xlim(0, 1)
    axes.set_ylim(bottom=0)
    each = zip(ema.state, ema.n, ema.left / ema.n, ema.low, ema.high, strict=True)
    rows = [
        (f"{s:.3f}", f"{n:,.0f}", *_cells(Interval(q, low, high), ".4f"))
        for s, n, q, low, high in each
    ]
    return Picture(
        "average",
        f"Who leaves, by the moving average of rewards (theta {ema.theta:g})",
        f"Chance to leave against the moving average, from {ema.curve.q[0]:.3f} in the worst state "
        f"to {ema.curve.q[-1]:.3f} in the best; dots are counts, the line the falling curve, the "
        "band 95 % intervals of the counts",
        _svg("average", picture),
        ("state", "steps", "q", "95 %"),
        rows,
    )


def _hazard(fit: Fit) -> Picture:
    assert fit.totals is not None
    n, k = fit.totals.hazard
    shown = [i for i in range(min(LONGEST - 1, MOST_BARS)) if n[i] >= ENOUGH] or [0]
    q = [k[i] / max(n[i], 1.0) for i in shown]
    ends = [
        share_interval(k[i], n[i], p * (1.0 - p) / max(n[i], 1.0))
        for i, p in zip(shown, q, strict=True)
    ]
    low, high = np.array(ends).T
    steps = [i + 1 for i in shown]
    picture, axes = _canvas("step of the visit", "chance to leave after it")
    axes.fill_between(steps, low, high, color=BLUE, alpha=style.BAND, linewidth=0)
    axes.plot(steps, q, ".-", color=BLUE, linewidth=style.LINE, markersize=3)
    axes.set_ylim(bottom=0)
    axes.locator_params(axis="x", integer=True)
    rows = [
        (str(s), f"{n[s - 1]:,.0f}", f"{k[s - 1]:,.0f}", *_cells(Interval(p, a, b), ".4f"))
        for s, p, (a, b) in zip(steps, q, ends, strict=True)
    ]
    return Picture(
        "hazard",
        "Who leaves, by step",
        f"Chance to leave after step {steps[0]} to {steps[-1]}: {q[0]:.3f} at first, {q[-1]:.3f} "
        "at last; the band is 95 % if steps were independent",
        _svg("hazard", picture),
        ("step", "seen", "left", "chance", "95 %"),
        _first(rows),
    )


def _lengths(fit: Fit) -> Picture:
    assert fit.totals is not None
    lengths = fit.totals.lengths
    share = np.cumsum(lengths.sum(axis=1)) / lengths.sum()
    last = min(int(np.searchsorted(share, 0.995)) + 1, MOST_BARS)
    left, cut = lengths[:last, 0], lengths[:last, 1]
    picture, axes = _canvas("steps of the visit", "visits")
    axes.bar(range(1, last + 1), left, color=BLUE, label="left")
    axes.locator_params(axis="x", integer=True)
    if cut.any():
        axes.bar(range(1, last + 1), cut, bottom=left, color=ORANGE, label="censored")
        axes.legend(
            frameon=False, ncols=2, labelcolor=INK, fontsize=style.TEXT,
            loc="lower right", bbox_to_anchor=(1.0, 0.98), borderpad=0.0,
        )  # fmt: skip
    rows = [
        (str(i + 1), f"{a:,}", f"{b:,}") for i, (a, b) in enumerate(zip(left, cut, strict=True))
    ]
    return Picture(
        "lengths",
        "How long visits are",
        f"Visits by length up to {last} steps: {int(lengths[:, 0].sum()):,} ended with a departure "
        f"and {fit.totals.censored:,} were censored; half have at most "
        f"{int(np.searchsorted(share, 0.5)) + 1} steps",
        _svg("lengths", picture),
        ("steps", "left", "censored"),
        _first(rows),
    )


def _costs(fit: Fit) -> Picture:
    costs = fit.costs
    named = {"D(0), after a 0": costs.d0, "D(1), after a 1": costs.d1}
    rows = [(name, *_cells(d, ".3f")) for name, d in named.items()]
    if costs.ratio is not None:
        rows.append(("D(0) / D(1)", *_cells(costs.ratio, ".3f")))
    return Picture(
        "costs",
        "What a mistake costs",
        f"Cost of a wrong pull per unit of mean: D(0) = {costs.d0}, D(1) = {costs.d1}",
        _ranges("costs", list(named), list(named.values()), "rewards lost, per unit of mean"),
        ("state", "cost", "95 %"),
        rows,
    )


def _gain(decision: "Decision") -> Picture:
    shown = [o for o in decision.outcomes if o.name != BASELINE]
    found = [Interval(*o.gain) for o in shown]
    rows = [
        (o.name, f"{o.reward.value:.4g}", *_cells(g, "+.3g"), *_cells(Interval(*o.longer), "+.3g"))
        for o, g in zip(shown, found, strict=True)
    ]
    svg = _ranges("gain", [o.name for o in shown], found, f"reward a visit more than {BASELINE}", 0)
    return Picture(
        "gain",
        f"What to expect over {decision.visits:,} visits",
        f"Expected reward per visit over {BASELINE}: "
        + "; ".join(f"{o.name} {g.value:+.3g}" for o, g in zip(shown, found, strict=True)),
        svg,
        ("policy", "reward a visit", f"over {BASELINE}", "95 %", "steps longer", "95 %"),
        rows,
    )


def _cells(interval: Interval, form: str) -> tuple[str, str]:
    return f"{interval.value:{form}}", f"{interval.low:{form}} to {interval.high:{form}}"


def _first(rows: Rows) -> Rows:
    """So many, and how many more there are."""
    rest = len(rows) - MOST_ROWS
    return rows if rest <= 0 else [*rows[:MOST_ROWS], (f"{rest} more",)]


def _ranges(
    name: str,
    labels: Sequence[str],
    found: Sequence[Interval],
    what: str,
    mark: float | None = None,
) -> str:
    """Intervals beside each other, the first on top."""
    picture, axes = _canvas(what, "", letters=max(map(len, labels)))
    for row, interval in enumerate(found):
        axes.plot([interval.low, interval.high], [row, row], color=BLUE, linewidth=2 * style.LINE)
        axes.plot(interval.value, row, "o", color=ORANGE, markersize=4)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    if mark is not None:
        axes.axvline(mark, color=INK, linewidth=style.THIN)
    return _svg(name, picture)


def _canvas(across: str, up: str, letters: int = 0) -> tuple[Any, Any]:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    width = style.COLUMN[0]
    left = max(style.LEFT, (letters * style.LETTER * style.TEXT + 14) / style.POINTS)
    with rc_context(SETTINGS):
        picture = Figure(figsize=style.COLUMN)
        frame = (left / width, 0.16, 1 - (left + 0.08) / width, 0.78)
        axes = picture.add_axes(frame, facecolor="none")
    picture.patch.set_visible(False)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.spines[["top", "right"]].set_visible(False)
    axes.locator_params(axis="x", nbins=style.TICKS)
    axes.grid(color=FAINT, linewidth=style.THIN)
    axes.set_axisbelow(True)
    return picture, axes


def _svg(name: str, picture: Any) -> str:
    """The drawing as an element of the page, with names of its own and the page's colours."""
    from matplotlib import rc_context

    out = StringIO()
    with rc_context(SETTINGS):
        picture.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r'(id="|url\(#|href="#)', rf"\1{name}-", text)
    for stand_in, colour in COLOURS.items():
        text = text.replace(stand_in, colour)
    return text.strip()
