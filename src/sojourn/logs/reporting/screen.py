"""A fit on one screen."""

from math import expm1, inf
from textwrap import fill
from typing import TYPE_CHECKING

from ...policies import KLULCB
from ...show.tables import Table
from ...stats.intervals import Interval
from ..fitting.diagnosis import bracketed, overall
from ..fitting.ema import EmaFit
from ..fitting.totals import CELLS, Totals

if TYPE_CHECKING:
    from ..fitting.fit import Alternative
    from ..fitting.model import ArmFit, Fit

WIDTH = 100
SHOWN = 6
"""Arms in the table; the JSON has all."""

CASES = {
    "normal": f"a mistake costs more after a 0: explore after successes ({KLULCB().label})",
    "opposite": (
        f"a mistake costs more after a success: explore after a 0 ({KLULCB().opposite().label})"
    ),
    "undecided": (
        "the data do not show in which state a mistake costs more: run a policy that ignores the "
        "state or learns"
    ),
    "improper": (
        "always showing the best arm is not optimal here: fix the reward before running any policy"
    ),
}


def text(fit: "Fit") -> str:
    """The one-screen answer."""
    parts = [*_heading(fit), "", _leave(fit).text(), ""]
    if fit.totals is not None:
        parts += [_arms(fit, fit.totals).text(), ""]
        parts += [*_moving_average(fit.ema), ""] if fit.ema is not None else []
    parts += _verdict(fit)
    parts += [line for doubt in fit.warnings for line in ("", paragraph(f"warning: {doubt}"))]
    return "\n".join(parts)


def paragraph(words: str) -> str:
    """Lines of at most `WIDTH` characters, broken at spaces."""
    return fill(words, WIDTH, break_long_words=False, break_on_hyphens=False)


def cells(interval: Interval, form: str) -> tuple[str, str]:
    """The value, and both ends as in "0.1 to 0.2"."""
    return f"{interval.value:{form}}", f"{interval.low:{form}} to {interval.high:{form}}"


def alternatives_text(alternatives: "tuple[Alternative, ...]") -> str:
    """The table of a sensitivity study."""
    headings = ("with", "visits", "left 00", "01", "10", "11", "D(0)/D(1)", "95 %", "case")
    rows = []
    for a in alternatives:
        counts = [f"{k:,}/{n:,}" for k, n in (a.counts[c] for c in CELLS[2:])]
        ratio = a.costs.ratio
        shown = ("", "") if ratio is None else cells(ratio, ".3f")
        rows.append((a.name, f"{a.visits:,}", *counts, *shown, a.costs.case))
    return Table(headings, rows, left=(0,)).text()


def _heading(fit: "Fit") -> list[str]:
    reading, totals = fit.reading, fit.totals
    lines = [f"{reading.name}:"]
    if totals is not None:
        lines[0] += (
            f" {int(totals.steps.sum()):,} steps, {fit.visits:,} visits "
            f"({totals.censored:,} censored), {fit.users:,} users"
        )
    if reading.guessed:
        guesses = (f"{role} = {column}" for role, column in reading.guessed.items())
        lines.append(f"columns guessed: {', '.join(guesses)}")
    if reading.bad:
        bad = (f"{count:,} {kind}" for kind, count in reading.bad.items())
        lines.append(f"bad rows, not counted: {', '.join(bad)}")
    return [paragraph(line) for line in [*lines, *reading.notes]]


def _leave(fit: "Fit") -> Table:
    rows = []
    for cell, name in zip(CELLS, ("first 0", "first 1", "0 0", "0 1", "1 0", "1 1"), strict=True):
        left, steps = fit.counts[cell]
        if steps:
            numbers = (f"{left:,}", f"{steps:,}", *cells(fit.leave[cell], ".4f"))
            rows.append((*name.split(), *numbers))
    return Table(("previous", "reward", "left", "steps", "q", "95 %"), rows)


def _arms(fit: "Fit", totals: Totals) -> Table:
    ranked, others = sorted(fit.arms, key=lambda a: -a.mean.value), totals.arms
    graded = fit.threshold is not None

    def good(arm: "ArmFit") -> tuple[str, ...]:
        return (f"{arm.good:.4f}",) if graded else ()

    rows = [
        (arm.name, f"{arm.pulls:,}", *cells(arm.mean, ".4f"), *good(arm)) for arm in ranked[:SHOWN]
    ]
    if len(ranked) > SHOWN:
        more = f"... {len(ranked) - SHOWN} more, down to"
        rows.append((more, "", f"{ranked[-1].mean.value:.4f}", "", *good(ranked[-1])))
    if others.others:
        name = f"{others.others} rare (below {others.min_pulls:,})"
        mean = others.other_successes / others.other_pulls
        rows.append((name, f"{others.other_pulls:,}", f"{mean:.4f}", "", *[""] * graded))
    return Table(("arm", "pulls", "mean", "95 %", *["good"] * graded), rows)


def _moving_average(ema: EmaFit) -> list[str]:
    """What it says, or that it says nothing; likelihoods as per cent per step."""
    found, other = (100.0 * expm1(gain / 1000.0) for gain in (ema.gain, max(ema.shuffled)))
    how_much = (
        "it makes what held-out users did "
        f"{found:.2g} % likelier per step than the step number alone does, and rewards put in "
        f"random order do so by up to {other:.2g} %"
    )
    if not ema.believed:
        return [
            paragraph(
                "the moving average of the rewards of a visit is no better than a count of steps "
                f"at telling who leaves: {how_much}"
            )
        ]
    return [
        paragraph(
            f"moving average of the rewards of a visit, with weight {ema.theta:g} for the newest "
            f"and {ema.start:g} at first: at equal step numbers the chance to leave falls from "
            f"{ema.curve.q[0]:.3g} in the worst state to {ema.curve.q[-1]:.3g} in the best; "
            f"{how_much}"
        )
    ]


def _verdict(fit: "Fit") -> list[str]:
    costs = fit.costs
    unclear = [
        f"{i.name} {i.verdict} ({i.confidence:.0%} sure)"
        for i in fit.assumption_1
        if i.verdict != "holds"
    ]
    which = f": {', '.join(unclear)}" if unclear else ""
    ratio = f", ratio {bracketed(costs.ratio)}" if costs.ratio is not None else ""
    lines = [
        f"Assumption 1 {overall(fit.assumption_1)}{which}",
        f"cost of a mistake: D(0) = {bracketed(costs.d0)}, D(1) = {bracketed(costs.d1)}{ratio}",
        f"case: {costs.case} - {CASES[costs.case]}",
    ]
    if costs.case == "undecided":
        lines.append(f"to decide it: {_times(costs.times_the_data, fit.users)}")
    return [paragraph(line) for line in lines]


def _times(times: float, users: int) -> str:
    if times == inf or times > 1e4:
        return "no amount of such data would"
    people = f" (about {times * users:,.0f} users)" if users else ""
    return f"about {max(times, 1.0):.1f} times the data{people}, if the estimates are right"
