"""A replay for the terminal."""

from math import inf
from typing import TYPE_CHECKING

from ...show.tables import Part, Table
from ...stats.intervals import Interval
from .screen import cells, paragraph, reading_lines

if TYPE_CHECKING:
    from ..replaying.estimate import ReplayEstimate
    from ..replaying.replay import Replay


def parts(replay: "Replay") -> list[Part]:
    """What was replayed, a table of the estimates, and visits that the log cuts short."""
    worth = "" if replay.effective is None else f", worth {replay.effective:,.1f} of this policy"
    until = "" if replay.horizon is None else f"; the first {replay.horizon} steps of a visit"
    interval = f"{100 * replay.confidence:g} % interval"
    headings = ("method", "reward per visit", interval, "steps per visit", interval)
    rows = [
        (method, *_cells(reward), *_cells(replay.length[method]))
        for method, reward in replay.reward.items()
    ]
    lines: list[Part] = [f"{replay.policy!r}"]
    if replay.reading is not None:
        lines += map(paragraph, [replay.reading.name, *reading_lines(replay.reading)])
    if replay.arms != tuple(range(len(replay.arms))):
        numbers = (f"{number} = {arm}" for number, arm in enumerate(replay.arms))
        lines.append(paragraph(f"arms: {', '.join(numbers)}"))
    lines += [
        f"{replay.visits:,} visits of {replay.users:,} users{worth}{until}",
        Table(headings, rows),
        *map(paragraph, replay.doubts),
    ]
    if replay.cut and replay.effective is not None:
        lines.append(
            f"{replay.cut:,} visits are cut short by the log: weighted and normalised count them "
            "as far as they go"
        )
    return lines


def _cells(estimate: "ReplayEstimate") -> tuple[str, str]:
    if estimate.high == inf:
        return f"{estimate.mean:.4f}", f"{estimate.low:.4f} or more" if estimate.low else "unknown"
    return cells(Interval(estimate.mean, estimate.low, estimate.high), ".4f")
