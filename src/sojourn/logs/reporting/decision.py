"""A decision for the terminal."""

from io import StringIO
from textwrap import fill
from typing import TYPE_CHECKING

from rich.console import Console

from ...stats.intervals import Interval
from .screen import WIDTH, _table

if TYPE_CHECKING:
    from ..deciding.decision import Decision


def text(decision: "Decision") -> str:
    """The verdict, the reason and a table of what to expect."""
    parts = [fill(f"decision: {decision.verdict}", WIDTH)]
    if decision.outcomes:
        parts += [fill(decision.reason, WIDTH), _expected(decision)]
    if decision.visits < decision.asked:
        parts.append(
            fill(
                f"Simulated are the first {decision.visits:,} of {decision.asked:,} visits: later "
                "ones gain less each, because by then every policy has learned most there is.",
                WIDTH,
            )
        )
    return "\n\n".join(parts)


def _expected(decision: "Decision") -> str:
    table = _table("policy", "regret", "reward", "95 %", "steps", "95 %")
    for o in decision.outcomes:
        name = ("* " if o.name == decision.name else "  ") + o.name
        table.add_row(name, f"{o.regret.value:,.0f}", *two(o.gain), *two(o.longer))
    out = StringIO()
    console = Console(file=out, width=WIDTH, highlight=False, markup=False, emoji=False)
    console.print(table)
    base = decision.outcomes[0]
    notes = (
        f"Regret over all visits; reward and steps a visit, beyond the {base.reward.value:.4g} and "
        f"{base.length.value:.4g} of {base.name}.\n"
        f"{decision.visits:,} visits, {decision.arms} arms, {decision.model} user; "
        f"{decision.draws} draws around the fit, {decision.runs} runs on each, seed "
        f"{decision.seed}."
    )
    rows = [line.rstrip() for line in out.getvalue().rstrip().splitlines()]
    return "\n".join([*rows, notes])


def two(interval: Interval) -> tuple[str, str]:
    """A signed number and its range, each for a cell."""
    if interval.low == interval.high == 0.0:
        return "", ""
    return f"{interval.value:+.2g}", f"{interval.low:+.2g} to {interval.high:+.2g}"
