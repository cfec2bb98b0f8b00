"""What the dashboard shows of an experiment at one moment, made once however many watch."""

import asyncio
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from ...live import Bucket, Choice, Experiment
from ..insight import Insight, Reason, insight, reason
from .render import render
from .view import ARMS, SPANS, View

FRESH = 1.0
"""Seconds for which a snapshot is good."""
PATIENT = 60.0
"""The charts are read anew after this part of the width of a point, at least."""
RECENT = 12
"""Decisions that are listed."""

PANELS = {
    "case": "div", "totals": "dl", "series": "div", "points": "tbody", "summary": "p",
    "arms": "tbody", "found": "p", "exploration": "tbody", "lost": "p", "leaving": "tbody",
    "rewards": "dl", "recent": "ol",
}  # fmt: skip
"""The parts of the page that change, and the element that holds each."""


class Sums(NamedTuple):
    """What was read for the charts, and when."""

    at: float
    since: float
    buckets: list[Bucket]


class Decided(NamedTuple):
    """A recent decision and its reason."""

    choice: Choice
    reason: Reason


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The numbers of an experiment, and the parts of its page made from them."""

    name: str
    span: str
    since: float
    insight: Insight
    recent: list[Decided]
    _made: dict[View, dict[str, str]] = field(default_factory=dict)

    def panels(self, view: View) -> dict[str, str]:
        """The parts of the page by name, as HTML."""
        if view not in self._made:
            listed = self.insight.arms.page(view.search, view.page, ARMS)
            context = {"at": self, "seen": self.insight, "listed": listed, "view": view}
            self._made[view] = {
                name: render(f"panels/{name}.html", span=SPANS[self.span], **context)
                for name in PANELS
            }
        return self._made[view]


class Snapshots:
    """Snapshots by experiment and span; each is made at most once a second."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str | None], tuple[float, Snapshot]] = {}
        self._locks: defaultdict[tuple[str, str | None], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._sums: dict[tuple[str, str], Sums] = {}
        self._began: dict[str, float] = {}

    async def get(self, experiment: Experiment, span: str | None) -> Snapshot:
        """The experiment as it is now, or was less than a second ago."""
        key = experiment.name, span
        async with self._locks[key]:
            kept = self._kept.get(key)
            if kept is None or time.monotonic() - kept[0] >= FRESH:
                snapshot = await asyncio.to_thread(self._take, experiment, span)
                kept = self._kept[key] = time.monotonic(), snapshot
            return kept[1]

    def _take(self, experiment: Experiment, span: str | None) -> Snapshot:
        """Read the store and work out the numbers."""
        now = experiment.now()
        span = span or self._fitting(experiment, now)
        seen = insight(
            experiment.settings, experiment.all_arms, experiment.counts(),
            self._timeline(experiment, span, now), now=now, width=SPANS[span].width,
        )  # fmt: skip
        choices = experiment.recent()[:RECENT]
        recent = [Decided(choice, reason(choice, experiment.policy)) for choice in choices]
        return Snapshot(experiment.name, span, since(span, now), seen, recent)

    def _timeline(self, experiment: Experiment, span: str, now: float) -> list[Bucket]:
        """What the charts show. Long spans have many visits to sum, and change little."""
        start = since(span, now)
        sums = self._sums.get((experiment.name, span))
        if sums is None or sums.since != start or now - sums.at >= SPANS[span].width / PATIENT:
            buckets = experiment.timeline(start, SPANS[span].width)
            sums = self._sums[experiment.name, span] = Sums(now, start, buckets)
        return sums.buckets

    def _fitting(self, experiment: Experiment, now: float) -> str:
        """The shortest span that shows all that an experiment has."""
        longest = SPANS["1w"]
        if experiment.name not in self._began:
            buckets = experiment.timeline(now - longest.seconds, longest.width)
            if not buckets:
                return "10m"
            self._began[experiment.name] = experiment.timeline(buckets[0].start, 60.0)[0].start
        age = now - self._began[experiment.name]
        return next((name for name, span in SPANS.items() if age <= span.seconds), "1w")


def since(span: str, now: float) -> float:
    """Where the charts begin: at a whole number of points."""
    seconds, width = SPANS[span].seconds, SPANS[span].width
    return (now - seconds) // width * width + width
