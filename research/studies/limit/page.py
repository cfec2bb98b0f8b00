"""The tables and pictures of the page: policies as multiples of the least Bayes regret."""

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from ...study import table
from .claims import EXACT, HEADLINE, KNOWING, PAPER, PRICED
from .trials import LimitOutcome, Limits

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

NANOSECONDS = 90
TIMES = "T = 120 takes half a second, 200 three and 400 half a minute with two arms and two states"
MEMORY = "44 MB for T = 200, 5.4 GB for T = 1,000"

WIDTH = 98
"""Of a line of text."""

PER_TABLE = 4
"""Cases side by side in one table."""


def tables(findings: Limits) -> dict[str, Any]:
    """What the template of the page is filled with."""
    return {
        "headline": _headline(findings),
        "sentence": _in_a_sentence(findings),
        "nanoseconds": NANOSECONDS,
        "times": TIMES,
        "memory": MEMORY,
        "cases": _cases(findings),
        "multiples": _multiples(findings),
        "each": _each(findings),
    }


def _headline(found: Limits) -> str:
    """What the policies of the short table are told, and how far they are from the limit."""
    rows = [
        [label, told, f"{found.typical(label).value:.2f}", f"{found.worst(label):.2f}"]
        for label, told in HEADLINE.items()
        if found.of(label)
    ]
    rows.append(["the optimum", "the user, the prior, how many visits", "1", "1"])
    heads = ["policy", "is told", "regret / the least there can be", "worst of the cases"]
    return table(heads, rows, left=range(2))


def _in_a_sentence(found: Limits) -> str:
    """The headline in a sentence, if those it is about have played."""
    about = (PAPER, PRICED, KNOWING, EXACT)
    if not all(found.of(label) for label in about):
        return "The policies of the headline were not all run."
    over = {label: found.typical(label).value - 1.0 for label in about}
    return fill(
        f"In geometric mean the paper's best policy has {over[PAPER]:.0%} more regret than there "
        f"has to be. {PRICED}, which is told nothing, has {over[PRICED]:.0%} more, and "
        f"{over[KNOWING]:.0%} if it is told how many visits there will be. The exact index, which "
        f"is told what the optimum is told, reaches it ({over[EXACT]:+.0%}). These are 3 to 60 "
        "visits; [over thousands](horizon.md) the order is another one.",
        WIDTH, break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _cases(found: Limits) -> str:
    rows = [
        [o.case, f"{o.low:.4f} to {o.high:.4f}", f"{o.told:.2f}", f"{o.runs:,}"]
        for o in found.every
    ]
    heads = ["case", "least Bayes regret", "reward with the means known", "runs"]
    return table(heads, rows)


def _multiples(found: Limits) -> str:
    rows = []
    for label in found.labels:
        some = "" if found.everywhere(label) else f" ({len(found.of(label))} cases)"
        rows.append([label + some, str(found.typical(label)), f"{found.worst(label):.2f}"])
    return table(["policy", "geometric mean of its multiples", "greatest"], rows)


def _each(found: Limits) -> str:
    tables = []
    for begin in range(0, len(found.every), PER_TABLE):
        some = found.every[begin : begin + PER_TABLE]
        rows = [[label, *(_cell(o, label) for o in some)] for label in found.labels]
        tables.append(table(["policy", *(o.case for o in some)], rows))
    return "\n\n".join(tables)


def _cell(outcome: LimitOutcome, label: str) -> str:
    return str(outcome.multiple(label)) if label in outcome.regrets else "-"


DPI, TEXT = 160, 8.0
RED, GREY = "#c00000", "#8a8a8a"
TICKS = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)


def draw_limit(findings: Limits) -> "Picture":
    """Every policy."""
    return draw_multiples(findings, findings.labels)


def draw_headline(findings: Limits) -> "Picture":
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
