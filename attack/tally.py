"""What became of the calls of a scenario, the table of all scenarios, and the verdict."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

DEADLINE = 20.0
"""Seconds after which a call without an answer counts as unanswered."""


@dataclass
class Tally:
    """The figures of one scenario; threads add to them."""

    scenario: str
    seconds: float = 0.0
    calls: int = 0
    acknowledged: int = 0
    lost: int = 0
    doubled: int = 0
    refused: int = 0
    wrong: int = 0
    unanswered: int = 0
    slowest: float = 0.0
    fell: list[str] = field(default_factory=list)
    note: str = ""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._up: float | None = None

    def up(self, is_up: bool = True) -> None:
        """Note that the service is ready, or no longer: before that nobody can expect an answer."""
        self._up = time.monotonic() if is_up else None

    def answered(self, status: int | None, seconds: float, what: str) -> None:
        """Note a call: its status, None if no answer came, after so many seconds."""
        with self._lock:
            self.calls += 1
            since = time.monotonic() - self._up if self._up is not None else 0.0
            seconds = min(seconds, since)
            if seconds >= DEADLINE:
                self.unanswered += 1
                self._note(f"{'no ' if status is None else ''}answer after {seconds:.0f} s: {what}")
            if status is not None:
                self.slowest = max(self.slowest, seconds)
            self.refused += status == 503
            if status is not None and status >= 500 and status != 503:
                self.wrong += 1
                self._note(f"{status}: {what}")

    def expect(self, good: bool, otherwise: str) -> None:
        """Note that something fell, unless it is `good`."""
        if not good:
            with self._lock:
                self._note(otherwise)

    def _note(self, sentence: str) -> None:
        if sentence not in self.fell:
            self.fell.append(sentence)

    @property
    def stands(self) -> bool:
        """Whether nothing fell."""
        return not (self.lost or self.doubled or self.wrong or self.unanswered or self.fell)


COLUMNS = ("calls", "refused", "acknowledged", "lost", "doubled", "wrong", "unanswered")
MOST_SENTENCES = 8


def table(tallies: Sequence[Tally]) -> str:
    """One line for each scenario and one for all; below, what fell in which."""
    total = Tally("all")
    for tally in tallies:
        for name in ("seconds", *COLUMNS):
            setattr(total, name, getattr(total, name) + getattr(tally, name))
        total.slowest = max(total.slowest, tally.slowest)
        total.fell += tally.fell
    header = ("scenario", "seconds", *COLUMNS, "slowest s", "verdict", "")
    lines = [header] + [
        (
            each.scenario, f"{each.seconds:.0f}", *(f"{getattr(each, name):,}" for name in COLUMNS),
            f"{each.slowest:.1f}", "stands" if each.stands else "FELL", each.note,
        )
        for each in (*tallies, total)
    ]  # fmt: skip
    widths = [max(len(line[n]) for line in lines) for n in range(len(header))]
    words = (0, len(header) - 2, len(header) - 1)  # columns of words; the others are of figures
    made = [
        "  ".join(
            cell.ljust(width) if n in words else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    rule = "-" * max(map(len, made))
    made = [made[0], rule, *made[1:-1], rule, made[-1]]
    for tally in tallies:
        made += [f"{tally.scenario}: {sentence}" for sentence in tally.fell[:MOST_SENTENCES]]
        if len(tally.fell) > MOST_SENTENCES:
            made.append(f"{tally.scenario}: and {len(tally.fell) - MOST_SENTENCES} more")
    return "\n".join(made)


def stands(tallies: Sequence[Tally]) -> bool:
    """Whether there was something, and nothing of it fell."""
    return bool(tallies) and all(tally.stands for tally in tallies)
