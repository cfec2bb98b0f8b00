"""What the dashboard shows of an experiment at one moment, computed once for all readers."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlencode

from ...live import (
    Allocation,
    Bucket,
    Choice,
    Comparison,
    Drift,
    Experiment,
    History,
    Settings,
    Shadow,
    drift,
    shadow,
)
from ...live.monitor.insight import Insight, insight_of
from ...live.monitor.shadow import MEASURES
from ...live.rollout.comparison import WORDS
from ...policies.reasons import Reason, explain
from ..routes.base import Cache
from .panels import PANELS, SHADOW, VARIANT_PANELS, RenderedPanels, render_panels

FRESH, CHANGES_FRESH = 1.0, 30.0  # seconds for which a snapshot, and what has changed, is reused
CHART_REFRESH = 1 / 60
"""Chart data are read again after this fraction of the time between two points."""
SHADOW_REFRESH = 50.0
"""A shadow is looked at again after so many times as long as it took: for a fiftieth of a core."""
RECENT = 12  # decisions listed
ARMS = 20  # rows on one page of arms
LONGEST_SEARCH = 200


class Span(NamedTuple):
    """A time span of the charts: its length, and the time between two points, in seconds."""

    words: str
    seconds: float
    width: float

    def since(self, now: float) -> float:
        """Where the charts begin: at a whole multiple of the width."""
        return (now - self.seconds) // self.width * self.width + self.width


SPANS = {
    "10m": Span("10 minutes", 600.0, 10.0),
    "1h": Span("hour", 3600.0, 60.0),
    "1d": Span("day", 86_400.0, 1_200.0),
    "1w": Span("week", 604_800.0, 7_200.0),
}


@dataclass(frozen=True)
class View:
    """The span of the charts, and which arms are listed.

    >>> View.of({"q": "dance", "page": "2"})
    View(span=None, search='dance', page=2)
    >>> View.of({"page": "x"}).query
    ''
    """

    span: str | None = None
    search: str = ""
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "View":
        """From the query of an address; invalid values are ignored."""
        span, page = query.get("span", ""), query.get("page", "")
        return cls(
            span if span in SPANS else None,
            query.get("q", "").strip()[:LONGEST_SEARCH],
            min(max(int(page), 1), 1_000_000) if page.isascii() and page.isdigit() else 1,
        )

    @property
    def query(self) -> str:
        """The query of an address that shows this view, with its question mark."""
        parts: dict[str, Any] = {"span": self.span, "q": self.search, "page": self.page}
        given = {k: v for k, v in parts.items() if v and (k, v) != ("page", 1)}
        return f"?{urlencode(given)}" if given else ""

    def but(self, **changes: Any) -> "View":
        return replace(self, **changes)


class ChartData(NamedTuple):
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
    """The numbers of an experiment, and its panels rendered from them."""

    name: str
    settings: Settings
    span: str
    since: float
    insight: Insight
    recent: list[Decided]
    drift: Drift
    shadow: Shadow | None
    """Where the caller decides."""
    _rendered: dict[View, RenderedPanels] = field(default_factory=dict)

    def rendered(self, view: View) -> RenderedPanels:
        """The panels for a view; rendered once."""
        if view not in self._rendered:
            shown = None if self.shadow is None else (PANELS[0], SHADOW, *PANELS[1:])
            self._rendered[view] = render_panels(
                shown,
                name=self.name,
                settings=self.settings,
                insight=self.insight,
                arms=self.insight.arms.page(view.search, view.page, ARMS),
                recent=self.recent,
                drift=self.drift,
                shadow=self.shadow,
                measures=MEASURES,
                view=view,
                span=SPANS[self.span],
                spans=SPANS,
                since=self.since,
            )
        return self._rendered[view]


@dataclass(frozen=True, eq=False)
class VariantsSnapshot:
    """The variants of an experiment compared, and the panels of its page."""

    name: str
    experiments: dict[str, str]
    allocation: Allocation
    comparison: Comparison
    history: History
    _rendered: list[RenderedPanels] = field(default_factory=list)

    def rendered(self, view: View) -> RenderedPanels:
        """The panels, which are the same for all views; rendered once."""
        if not self._rendered:
            panels = render_panels(
                VARIANT_PANELS,
                name=self.name,
                experiments=self.experiments,
                allocation=self.allocation,
                comparison=self.comparison,
                history=self.history,
                metrics=WORDS,
            )
            self._rendered.append(panels)
        return self._rendered[0]


class Snapshots:
    """Snapshots by experiment and span; each is taken at most once a second."""

    def __init__(self) -> None:
        self._reads: Cache[Snapshot] = Cache()
        self._compared: Cache[VariantsSnapshot] = Cache()
        self._drifts: Cache[Drift] = Cache()
        self._charts: dict[tuple[str, str], ChartData] = {}
        self._shadows: dict[str, tuple[float, Shadow]] = {}  # until when, and what
        self._began: dict[str, float] = {}

    async def shown(self, experiment: Experiment, span: str | None) -> Snapshot | VariantsSnapshot:
        """What the page of an experiment shows."""
        if experiment.allocation is not None:
            return await self.compared(experiment)
        return await self.get(experiment, span)

    async def compared(self, experiment: Experiment) -> VariantsSnapshot:
        """The variants of an experiment as they were at most `FRESH` seconds ago."""

        def take() -> VariantsSnapshot:
            names = {variant: branch.name for variant, branch in experiment.variants.items()}
            compared, over_time = experiment.compare(), experiment.history()
            allocation = experiment.allocation
            assert allocation is not None
            return VariantsSnapshot(experiment.name, names, allocation, compared, over_time)

        return await self._compared.get(experiment.journal, experiment.name, take, FRESH)

    async def get(self, experiment: Experiment, span: str | None) -> Snapshot:
        """The experiment as it was at most `FRESH` seconds ago."""
        read = partial(drift, experiment.journal.store, experiment.name)
        changes = await self._drifts.get(experiment.journal, experiment.name, read, CHANGES_FRESH)
        key, take = (experiment.name, span), partial(self._take, experiment, span, changes)
        return await self._reads.get(experiment.journal, key, take, FRESH)

    def _take(self, experiment: Experiment, span: str | None, changes: Drift) -> Snapshot:
        now = experiment.now()
        span = span or self._fitting_span(experiment, now)
        found = insight_of(experiment, self._timeline(experiment, span, now), SPANS[span].width)
        recent = [
            Decided(c, explain(experiment.policy, c)) for c in experiment.branch.recent()[:RECENT]
        ]
        start, cast = SPANS[span].since(now), self._shadow(experiment)
        return Snapshot(
            experiment.name, experiment.settings, span, start, found, recent, changes, cast
        )

    def _shadow(self, experiment: Experiment) -> Shadow | None:
        """What the policy would have shown, where the caller decides."""
        if not (experiment.settings.external and experiment.settings.shadow):
            return None
        began, (until, found) = time.monotonic(), self._shadows.get(experiment.name, (0.0, None))
        if found is None or began >= until:
            found = shadow(experiment.journal.store, experiment.name)
            took = time.monotonic() - began
            self._shadows[experiment.name] = began + SHADOW_REFRESH * took, found
        return found

    def _timeline(self, experiment: Experiment, span: str, now: float) -> list[Bucket]:
        """The visits of the charts; over long spans they are many and change little."""
        start, width = SPANS[span].since(now), SPANS[span].width
        kept = self._charts.get((experiment.name, span))
        if kept is None or kept.since != start or now - kept.at >= CHART_REFRESH * width:
            kept = ChartData(now, start, experiment.branch.timeline(start, width))
            self._charts[experiment.name, span] = kept
        return kept.buckets

    def _fitting_span(self, experiment: Experiment, now: float) -> str:
        """The shortest span that covers all visits of the experiment."""
        longest = SPANS["1w"]
        if experiment.name not in self._began:
            buckets = experiment.branch.timeline(longest.since(now), longest.width)
            if not buckets:
                return "10m"
            self._began[experiment.name] = experiment.branch.timeline(buckets[0].start, 60.0)[
                0
            ].start
        age = now - self._began[experiment.name]
        return next((name for name, span in SPANS.items() if age <= span.seconds), "1w")
