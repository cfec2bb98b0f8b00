"""Advice for the terminal."""

from typing import TYPE_CHECKING

from ...show.tables import Table
from ...stats.intervals import Interval
from .screen import limits, paragraph

if TYPE_CHECKING:
    from ..deciding.advice import Advice


def text(advice: "Advice") -> str:
    """The verdict, the reason and a table of what to expect."""
    parts = [paragraph(f"decision: {advice.verdict}")]
    if advice.outcomes:
        parts += [paragraph(advice.reason), _expected(advice)]
    if advice.visits < advice.asked:
        parts.append(
            paragraph(
                f"Simulated: the first {advice.visits:,} of {advice.asked:,} visits. Later ones "
                "gain less each, because by then every policy has learned most there is to learn."
            )
        )
    return "\n\n".join(parts)


def _expected(advice: "Advice") -> str:
    rows = [
        (
            f"{'*' if o.policy == advice.policy else ' '} {o.name}",
            f"{o.regret.value:,.0f}",
            *_cells(o.gain),
            *_cells(o.longer),
        )
        for o in advice.outcomes
    ]
    table = Table(("policy", "regret", "reward", "95 %", "steps", "95 %"), rows)
    base = advice.outcomes[0]
    return (
        f"{table.text()}\n"
        f"Regret over all visits; reward and steps per visit, beyond the {base.reward.value:.4g} "
        f"and {base.length.value:.4g} of {base.name}.\n"
        f"{advice.visits:,} visits, {advice.arms} arms, {advice.model} user; {advice.draws} draws "
        f"around the fit, {advice.runs} runs on each, seed {advice.seed}."
    )


def _cells(interval: Interval) -> tuple[str, str]:
    """A signed number and its range; nothing for the baseline itself."""
    if interval.low == interval.high == 0.0:
        return "", ""
    return f"{interval.value:+.2g}", limits(interval, "+.2g")
