"""Progress of a study as a whole, and an estimate of the time left."""

import time
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import NamedTuple

from ..simulation import Progress

DRAWING = "drawing"
TRUST = 0.1
"""Expected times weigh as much as measured ones when this share of everything is done."""


class Overall(NamedTuple):
    """What is being done, the share of everything done so far, and the estimated seconds left."""

    work: str
    share: float
    left: float
    compiling: str | None = None  # the policy, if one is being compiled


class Meter:
    """Turns the progress of one piece of work into that of everything.

    `weights` are the expected seconds of each piece, in order. The time left is estimated from them
    at first, and from the time really spent as work proceeds.

    >>> seen = []
    >>> meter = Meter({"A": 3.0, "drawing": 1.0}, seen.append)
    >>> meter.show("A", 0.5); meter.show("drawing", 1.0)
    >>> [(now.work, now.share) for now in seen]
    [('A', 0.375), ('drawing', 1.0)]
    """

    def __init__(
        self, weights: Mapping[str, float], progress: Callable[[Overall], None] | None
    ) -> None:
        self._weights, self._total = weights, sum(weights.values()) or 1.0
        self._ends = dict(zip(weights, accumulate(weights.values()), strict=True))
        self._progress = progress
        self._start = time.monotonic()

    def show(self, work: str, part: float, compiling: str | None = None) -> None:
        """Report that this part of that work is done, and all that comes before it."""
        done = self._ends[work] - self._weights[work] * (1.0 - part)
        trust = TRUST * self._total
        pace = (time.monotonic() - self._start + trust) / (done + trust)
        if self._progress is not None:
            left = pace * (self._total - done)
            self._progress(Overall(work, done / self._total, left, compiling))

    def within(self, work: str) -> Callable[[Progress], None]:

        def show(now: Progress) -> None:
            self.show(work, now.done / now.total if now.total > 0.0 else 0.0, now.compiling)

        return show
