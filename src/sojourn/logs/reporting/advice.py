"""Advice for the terminal."""

from typing import TYPE_CHECKING

from ...show.tables import Table
from ...stats.intervals import Interval
from .screen import cells, paragraph

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
    marks = ("*" if o.policy == advice.policy else " " for o in advice.outcomes)
    rows = [
        (f"{mark} {o.name}", f"{o.regret.value:,.0f}", *_cells(o.gain), *_cells(o.longer))
        for mark, o in zip(marks, advice.outcomes, strict=True)
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
    return ("", "") if interval.low == interval.high == 0.0 else cells(interval, "+.2g")
