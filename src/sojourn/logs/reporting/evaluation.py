"""An evaluation for the terminal."""

from math import inf
from typing import TYPE_CHECKING

from ...show.tables import Part, Table
from ...stats.intervals import Interval
from .screen import cells, paragraph, reading_lines

if TYPE_CHECKING:
    from ..evaluating.estimate import Estimate
    from ..evaluating.evaluate import Evaluation


def parts(found: "Evaluation") -> list[Part]:
    """The policy, the log, a table of the estimates, and visits that the log cuts short."""
    worth = "" if found.effective is None else f", worth {found.effective:,.1f} of this policy"
    until = "" if found.max_steps is None else f"; the first {found.max_steps} steps of a visit"
    interval = f"{100 * found.confidence:g} % interval"
    headings = ("method", "reward per visit", interval, "steps per visit", interval)
    rows = [
        (method, *_cells(reward), *_cells(found.length[method]))
        for method, reward in found.reward.items()
    ]
    lines: list[Part] = [f"{found.policy!r}"]
    lines += map(paragraph, [found.reading.name, *reading_lines(found.reading)])
    if found.arms != tuple(range(len(found.arms))):
        numbers = (f"{number} = {arm}" for number, arm in enumerate(found.arms))
        lines.append(paragraph(f"arms: {', '.join(numbers)}"))
    lines += [
        f"{found.visits:,} visits of {found.users:,} users{worth}{until}",
        Table(headings, rows),
        *map(paragraph, found.diagnostics),
    ]
    if found.cut and found.effective is not None:
        lines.append(
            f"{found.cut:,} visits are cut short by the log: PDIS and SN-PDIS count them as far as "
            "they go"
        )
    return lines


def _cells(estimate: "Estimate") -> tuple[str, str]:
    if estimate.high == inf:
        return f"{estimate.mean:.4f}", f"{estimate.low:.4f} or more" if estimate.low else "unknown"
    return cells(Interval(estimate.mean, estimate.low, estimate.high), ".4f")
