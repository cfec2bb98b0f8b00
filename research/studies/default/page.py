"""The tables and the picture of the page: goals, the frontier, and problem by problem."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sojourn.paper.verdicts import Checked, Verdict, check
from sojourn.policies import EngagementIndex
from sojourn.stats.intervals import Interval

from ...outcomes import spread
from ...study import NOT_RUN, regrets, short, table
from . import trials
from .rows import CLAIMS, Findings, worse
from .singles import SinglesOutcome
from .trials import (
    ADDED,
    BOTH,
    CATALOGUES,
    DECIDING,
    INFLATED,
    KL,
    LEARNED,
    OFF,
    ON,
    OTHERS,
    SIMULATING,
    STATES_CROSSING,
    STATES_SAME,
    TAILS,
    VISIT,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SHOWN = 12
"""Of the random problems: those on which the default does worst."""


def tables(findings: Findings) -> dict[str, Any]:
    """What the template of the page is filled with."""
    checked = [check(claim, findings) for claim in CLAIMS]
    plain = findings.of("plain", OFF)
    drawn = [o for o in plain if o.trial.problem.startswith("random")]
    return {
        "trials": trials,
        "goals": goals(checked),
        "frontier": "\n\n".join(_tails(o) for o in findings.of(TAILS)) or NOT_RUN,
        "named": regrets([o for o in plain if o not in drawn]),
        "drawn": _ratios(drawn, LEARNED, OFF, ON),
        "worst": _worst(drawn),
        "by_arm": _ratios(findings.of("by arm"), VISIT, OFF, LEARNED),
        "clickbait": regrets(findings.of("clickbait")),
        "same": _wrong(findings.of(STATES_SAME)),
        "crossing": _wrong(findings.of(STATES_CROSSING)),
        "graded": regrets(findings.of("graded")),
        "catalogues": "\n\n".join(
            f"{name}:\n\n{_catalogues(findings.of(f'500 arms, {name}'))}" for name in CATALOGUES
        ),
        "added": _added(findings.of(ADDED)),
        "users": _users(findings.of("other users")),
        "times": _times([*findings.of(DECIDING), *findings.of(SIMULATING)]),
    }


def status(found: Checked) -> str:
    """Whether a goal is met, in words; within noise if an interval has the goal in it."""
    if not found.measured:
        return NOT_RUN
    if found.verdict is Verdict.UNDECIDED:
        sides = [m.interval.value >= m.threshold if m.above else m.interval.value <= m.threshold
                 for m in found.measured]  # fmt: skip
        return "met, within noise" if all(sides) else "missed, within noise"
    return "met" if found.verdict is Verdict.CONFIRMED else "missed"


def goals(checked: Sequence[Checked]) -> str:
    """A row for each goal."""
    rows = [
        [c.claim.text, "\n".join(f"{m.what}: {_number(m.interval)}" for m in c.measured), status(c)]
        for c in checked
    ]
    return table(["figure and goal", "measured, 95 % interval", ""], rows, left=range(3))


def _number(interval: Interval) -> str:
    return f"{interval.value:.3g}" if interval.low == interval.high else str(interval)


def _tails(o: SinglesOutcome) -> str:
    rows = []
    for label in o.labels:
        single = o.single(label)
        last = ["", ""]
        if single.rare:
            last = [_thousands(single.rare[-1]), str(single.over[-1])]
        rows.append(
            [label, str(o.regret(label)), short(o.ratio(label, LEARNED)), *last, f"{single.wrong}"]
        )
    heads = [
        f"{o.trial.problem}, {o.visits[-1]:,} visits, {o.runs:,} runs", "mean",
        f"/ {LEARNED}'s", "99.9 % quantile", f"/ {LEARNED}'s", "mostly a wrong arm",
    ]  # fmt: skip
    return table(heads, rows)


def _thousands(interval: Interval) -> str:
    return f"{interval.value:,.0f} ({interval.low:,.0f} to {interval.high:,.0f})"


def _ratios(outcomes: Sequence[SinglesOutcome], base: str, *labels: str) -> str:
    """Geometric means over a group, and how many problems are worse after Holm."""
    if len(outcomes) < 2:
        return NOT_RUN
    rows = []
    for label in labels:
        found = spread(outcomes, label, base)
        top = max(outcomes, key=lambda o: o.ratio(label, base).low)
        rows.append(
            [label, str(found.typical), f"{found.better}", f"{found.worse}",
             f"{len(worse(outcomes, label, base))}",
             f"{short(top.ratio(label, base))} ({top.trial.problem})"]
        )  # fmt: skip
    heads = [
        f"{len(outcomes)} problems", f"regret / {base}'s, geometric mean", "less on", "more on",
        "more on, after Holm", "the worst beyond noise",
    ]  # fmt: skip
    return table(heads, rows)


def _worst(outcomes: Sequence[SinglesOutcome]) -> str:
    by_low = sorted(outcomes, key=lambda o: -o.ratio(ON, LEARNED).low)[:SHOWN]
    rows = [
        [o.trial.problem, f"{o.facts['arms']:.0f}", f"{o.facts['length']:.1f}",
         str(o.regret(LEARNED)), *(short(o.ratio(x, LEARNED)) for x in BOTH)]
        for o in by_low
    ]  # fmt: skip
    return table(["problem", "arms", "steps per visit", f"{LEARNED}: regret", *BOTH], rows)


def _wrong(outcomes: Sequence[SinglesOutcome]) -> str:
    """Regret, and the runs that lock in."""
    rows = [
        [o.trial.problem, f"{o.runs}",
         *(f"{o.regret(x)} ({o.single(x).wrong})" for x in o.labels)]
        for o in outcomes
    ]  # fmt: skip
    heads = ["problem", "runs", *(outcomes[0].labels if outcomes else ())]
    return table(heads, rows)


def _catalogues(outcomes: Sequence[SinglesOutcome]) -> str:
    rows = [
        [o.trial.problem.rpartition(" ")[2],
         *(f"{o.regret(x)} ({o.single(x).unseen:.0f})" for x in o.labels)]
        for o in outcomes
    ]  # fmt: skip
    return table(["draw", *(outcomes[0].labels if outcomes else ())], rows)


def _added(outcomes: Sequence[SinglesOutcome]) -> str:
    rows = [
        [o.trial.problem, *(f"{o.regret(x).value:.2f}" for x in o.labels)] for o in outcomes
    ]  # fmt: skip
    return table(["arms before and added", *(outcomes[0].labels if outcomes else ())], rows)


def _users(outcomes: Sequence[SinglesOutcome]) -> str:
    rows = [
        [o.trial.problem, f"{o.runs}", str(o.regret(LEARNED)),
         *(short(o.ratio(x, LEARNED)) for x in BOTH)]
        for o in outcomes
    ]  # fmt: skip
    return table(["problem", "runs", f"{LEARNED}: regret", *BOTH], rows)


def _times(outcomes: Sequence[SinglesOutcome]) -> str:
    rows = [
        [o.trial.name, o.labels[0], f"{o.regret(o.labels[0]).value:,.0f}",
         *(short(o.ratio(x, o.labels[0])) for x in BOTH)]
        for o in outcomes
    ]  # fmt: skip
    return table(["", "beside", "nanoseconds", *BOTH], rows)


DPI, TEXT = 160, 8.0
RED, GREY = "#c00000", "#8a8a8a"
MARKS = {ON: "o", LEARNED: "s", **dict(zip((KL, *OTHERS), "D^vP", strict=True))}
OFFSET = (-4.0, -3.0)


def draw_frontier(findings: Findings) -> "Picture":
    """Mean regret against the 99.9 % quantile; a line joins the default's, by inflation."""
    from matplotlib.figure import Figure

    there = [o for o in findings.of(TAILS, *INFLATED) if o.single(OFF).rare]
    size = (max(3.2 * len(there), 3.2), 3.2)
    picture = Figure(figsize=size, dpi=DPI, layout="constrained")
    every = picture.subplots(1, max(len(there), 1), squeeze=False)[0]
    for ax, o in zip(every, there, strict=False):
        _panel(ax, o)
    if there:
        every[0].set_ylabel("99.9 % quantile", fontsize=TEXT)
        lines, names = every[0].get_legend_handles_labels()
        below = {"loc": "outside lower center", "ncols": len(names)}
        picture.legend(lines, names, fontsize=TEXT, frameon=False, **below)
    return picture


def _panel(ax: Any, o: SinglesOutcome) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    budgets = {OFF: EngagementIndex().inflation, **INFLATED}
    budgets = dict(sorted(budgets.items(), key=lambda item: item[1]))
    _points(ax, o, list(budgets), RED, "o-", f"{OFF}, by inflation")
    for label, b in budgets.items():
        at = (o.regret(label).value, o.single(label).rare[-1].value)
        ax.annotate(
            f"{b:g}", at, OFFSET, textcoords="offset points", fontsize=TEXT - 2, color=RED,
            ha="right",
        )  # fmt: skip
    for label, marker in MARKS.items():
        _points(ax, o, [label], RED if label == ON else GREY, marker, label.split(", ")[-1])
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.yaxis.set_minor_locator(NullLocator())
    ax.margins(0.15, 0.1)
    ax.set_title(f"{o.trial.problem}, {o.visits[-1]:,} visits", fontsize=TEXT + 1)
    ax.set_xlabel("mean regret", fontsize=TEXT)
    ax.tick_params(labelsize=TEXT - 1, which="both")
    ax.spines[["top", "right"]].set_visible(False)


def _points(
    ax: Any, o: SinglesOutcome, labels: Sequence[str], colour: str, how: str, name: str
) -> None:
    """Points, and the intervals of their quantiles."""
    x, rare = [o.regret(label).value for label in labels], [o.single(y).rare[-1] for y in labels]
    ax.vlines(x, [r.low for r in rare], [r.high for r in rare], color=colour, alpha=0.3)
    filled = colour if name != "account on" else "none"
    ax.plot(
        x, [r.value for r in rare], how, color=colour, markersize=4.0, linewidth=1.2, label=name,
        markerfacecolor=filled,
    )  # fmt: skip
