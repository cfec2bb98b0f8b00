"""A fit on one screen, and as plain data."""

from dataclasses import asdict
from io import StringIO
from math import inf
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from ..fitting import diagnosis
from ..fitting.diagnosis import Interval
from ..fitting.doubts import gains
from ..fitting.totals import CELLS

if TYPE_CHECKING:
    from ..fitting.fit import Variant
    from ..fitting.model import Fit

WIDTH = 100
SHOWN = 6
"""Arms in the table; the JSON has all."""

CASES = {
    "normal": "a mistake costs more after a 0: explore after successes (KL-ULCB)",
    "opposite": "a mistake costs more after a success: explore after a 0 (KL-ULCB, opposite)",
    "undecided": "the data do not tell which state is dearer: ignore it, or let a policy learn it",
    "improper": "always the best arm is not optimal here: mend the reward before any policy",
}


def text(fit: "Fit") -> str:
    """The one-screen answer."""
    out = StringIO()
    console = Console(file=out, width=WIDTH, highlight=False, markup=False, emoji=False)
    for part in (_heading(fit), _leave(fit), _arms(fit), _model(fit), *_verdict(fit)):
        if part is not None:
            console.print(part)
            console.print()
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip().splitlines())


def _heading(fit: "Fit") -> str:
    reading = fit.reading
    totals = fit.totals
    parts = [f"{reading.name}:"]
    if totals is not None:
        steps = int(totals.steps.sum())
        parts.append(f"{steps:,} steps, {fit.visits:,} visits ({totals.censored:,} censored),")
        parts.append(f"{fit.users:,} users")
    lines = [" ".join(parts)]
    if reading.guessed:
        guesses = ", ".join(f"{role} = {column}" for role, column in reading.guessed.items())
        lines.append(f"columns guessed: {guesses}")
    if reading.bad:
        bad = ", ".join(f"{count:,} {kind}" for kind, count in reading.bad.items())
        lines.append(f"bad rows, not counted: {bad}")
    return "\n".join([*lines, *reading.notes])


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="right" if i else "left", no_wrap=True)
    return table


def _range(interval: Interval) -> str:
    return f"{interval.low:.4f} to {interval.high:.4f}"


def _leave(fit: "Fit") -> Table:
    table = _table("previous", "reward", "left", "steps", "q", "95 %")
    for cell, name in zip(CELLS, ("first 0", "first 1", "0 0", "0 1", "1 0", "1 1"), strict=True):
        left, steps = fit.counts[cell]
        if steps:
            q = fit.leave[cell]
            table.add_row(*name.split(), f"{left:,}", f"{steps:,}", f"{q.value:.4f}", _range(q))
    return table


def _model(fit: "Fit") -> str | None:
    if fit.ema is None or fit.totals is None:
        return None
    rewards = gains(fit.totals, first=False)["rewards"]
    return (
        f"moving average that fits best: theta {fit.ema.theta:g}, start {fit.ema.start:g}; leaving "
        f"from {fit.ema.curve.q[0]:.3g} in bad states to\n{fit.ema.curve.q[-1]:.3g} in good ones. "
        f"Predicts users held out by {fit.ema.gain:+.3g} nats per 1,000 steps, the table by "
        f"{rewards:+.3g}\n(steps after the first, over a constant chance to leave)"
    )


def _arms(fit: "Fit") -> Table | None:
    if fit.totals is None:
        return None
    table = _table("arm", "pulls", "mean", "95 %")
    ranked = sorted(fit.arms, key=lambda a: -a.mean.value)
    for arm in ranked[:SHOWN]:
        table.add_row(arm.name, f"{arm.pulls:,}", f"{arm.mean.value:.4f}", _range(arm.mean))
    if len(ranked) > SHOWN:
        table.add_row(
            f"... {len(ranked) - SHOWN} more, down to", "", f"{ranked[-1].mean.value:.4f}", ""
        )
    others = fit.totals.arms
    if others.others:
        mean = others.other_successes / others.other_pulls
        name = f"{others.others} rare (below {others.min_pulls:,})"
        table.add_row(name, f"{others.other_pulls:,}", f"{mean:.4f}", "")
    return table


def _verdict(fit: "Fit") -> list[str]:
    costs, pairs = fit.costs, fit.assumption_1
    unclear = [
        f"{p.name} {p.verdict} ({p.confidence:.0%} sure)" for p in pairs if p.verdict != "holds"
    ]
    lines = [
        f"Assumption 1 {diagnosis.overall(pairs)}" + (f": {', '.join(unclear)}" if unclear else "")
    ]
    ratio = f", ratio {costs.ratio}" if costs.ratio is not None else ""
    lines.append(f"cost of a mistake: D(0) = {costs.d0}, D(1) = {costs.d1}{ratio}")
    lines.append(f"case: {costs.case} - {CASES[costs.case]}")
    if costs.case == "undecided":
        lines.append(f"to decide it: {_times(costs.times_the_data, fit)}")
    warned = [f"warning: {doubt}" for doubt in fit.warnings]
    return ["\n".join(lines), *warned]


def _times(times: float, fit: "Fit") -> str:
    if times == inf or times > 1e4:
        return "no amount of such data would"
    users = f" (about {times * fit.users:,.0f} users)" if fit.users else ""
    return f"about {max(times, 1.0):.1f} times the data{users}, if the estimates are right"


def as_dict(fit: "Fit") -> dict[str, Any]:
    """Everything as plain data."""
    found: dict[str, Any] = {
        "log": {**asdict(fit.reading), "users": fit.users, "visits": fit.visits},
        "leave": [
            {"cell": c, "left": k, "steps": n, **_plain("q", fit.leave[c])}
            for c, (k, n) in fit.counts.items()
        ],
        "arms": [
            {"arm": a.name, "pulls": a.pulls, "successes": a.successes, **_plain("mean", a.mean)}
            for a in fit.arms
        ],
        **diagnosis.as_dict(fit.assumption_1, fit.costs),
        "ema": None if fit.ema is None else fit.ema.to_dict(),
        "warnings": [asdict(doubt) for doubt in fit.warnings],
    }
    if (totals := fit.totals) is not None:
        n, k = totals.hazard
        last = int(totals.steps.sum(axis=(0, 2, 3, 4)).nonzero()[0].max()) + 1
        arms = totals.arms
        found["log"] |= {"steps": int(totals.steps.sum()), "censored_visits": totals.censored}
        found["rare_arms"] = {
            "arms": arms.others,
            "pulls": arms.other_pulls,
            "min_pulls": arms.min_pulls,
        }
        found["hazard"] = {"steps": n[:last].tolist(), "left": k[:last].tolist()}
        found["visit_lengths"] = {
            "left": totals.lengths[:last, 0].tolist(),
            "censored": totals.lengths[:last, 1].tolist(),
        }
        found["gain_per_1000"] = {"all": gains(totals), "after_first": gains(totals, first=False)}
    return found


def _plain(name: str, interval: Interval) -> dict[str, float]:
    return {name: interval.value, "low": interval.low, "high": interval.high}


def variants_text(variants: "tuple[Variant, ...]") -> str:
    """The table of a sensitivity study."""
    table = _table("with", "visits", "left 00", "01", "10", "11", "D(0)/D(1)", "95 %", "case")
    for v in variants:
        cells = [f"{k:,}/{n:,}" for k, n in (v.counts[c] for c in CELLS[2:])]
        ratio = v.costs.ratio
        shown = (
            ("", "")
            if ratio is None
            else (f"{ratio.value:.3f}", f"{ratio.low:.3f} to {ratio.high:.3f}")
        )
        table.add_row(v.name, f"{v.visits:,}", *cells, *shown, v.costs.case)
    out = StringIO()
    Console(file=out, width=WIDTH + 40, highlight=False, markup=False).print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip().splitlines())


def variants_dict(variants: "tuple[Variant, ...]") -> list[dict[str, Any]]:
    """The same as plain data."""
    return [asdict(v) for v in variants]
