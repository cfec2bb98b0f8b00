"""What the dashboard shows of an experiment at one moment, computed once for all readers."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode

from ...live import Bucket, Drift, Experiment, Shadow, drift, shadow
from ...live.monitor.insight import insight_of
from ...live.monitor.shadow import MEASURES
from ...live.rollout.comparison import WORDS
from ...policies.reasons import explain
from ..routes.base import LONG_FRESH, Cache
from .panels import PANELS, SHADOW, VARIANT_PANELS, Panel, RenderedPanels, render_panels

T = TypeVar("T")

FRESH = 1.0  # seconds for which a snapshot is reused
CHART_REFRESH = 1 / 60
"""Chart data are read again after this fraction of the time between two points."""
RECENT = 12  # decisions listed
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


class Chart(NamedTuple):
    """The visits that ended in a span, which begins at `since`."""

    since: float
    buckets: list[Bucket]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The panels of an experiment at one moment, and what their templates can use."""

    panels: tuple[Panel, ...]
    context: dict[str, Any]
    _rendered: dict[View, RenderedPanels] = field(default_factory=dict)

    def rendered(self, view: View) -> RenderedPanels:
        """The panels for a view; rendered once."""
        if view not in self._rendered:
            self._rendered[view] = render_panels(self.panels, view=view, **self.context)
        return self._rendered[view]


class Snapshots:
    """Snapshots by experiment and span; each is taken at most once a second."""

    def __init__(self) -> None:
        self._cache = Cache()

    async def get(self, experiment: Experiment, span: str | None) -> Snapshot:
        """The experiment as it was at most `FRESH` seconds ago; by default in a span that fits."""

        async def read(what: Hashable, read: Callable[[], T], fresh: float) -> T:
            return await self._cache.get(experiment, what, read, fresh)

        if experiment.allocation is not None:
            return await read("variants", partial(_compared, experiment), FRESH)
        if span is None:
            span = await read("span", partial(_fitting_span, experiment), LONG_FRESH)
        stored, cast = (experiment.journal.store, experiment.name), None
        changes = await read("drift", partial(drift, *stored), LONG_FRESH)
        if experiment.settings.external and experiment.settings.shadow:
            cast = await read("shadow", partial(shadow, *stored), LONG_FRESH)
        every = CHART_REFRESH * SPANS[span].width  # long spans have many visits and change little
        chart = await read(("chart", span), partial(_chart, experiment, span), every)
        take = partial(_taken, experiment, span, chart, changes, cast)
        return await read(("page", span), take, FRESH)


def _chart(experiment: Experiment, span: str) -> Chart:
    since = SPANS[span].since(experiment.now())
    return Chart(since, experiment.branch.timeline(since, SPANS[span].width))


def _taken(
    experiment: Experiment, span: str, chart: Chart, changes: Drift, cast: Shadow | None
) -> Snapshot:
    context = {
        "name": experiment.name,
        "settings": experiment.settings,
        "insight": insight_of(experiment, chart.buckets, SPANS[span].width),
        "recent": [(c, explain(experiment.policy, c)) for c in experiment.branch.recent()[:RECENT]],
        "drift": changes,
        "shadow": cast,
        "measures": MEASURES,
        "span": SPANS[span],
        "spans": SPANS,
        "since": chart.since,
    }
    return Snapshot(PANELS if cast is None else (PANELS[0], SHADOW, *PANELS[1:]), context)


def _compared(experiment: Experiment) -> Snapshot:
    """The variants of an experiment, compared."""
    context = {
        "name": experiment.name,
        "experiments": {variant: branch.name for variant, branch in experiment.variants.items()},
        "comparison": experiment.compare(),
        "history": experiment.history(),
        "allocation": experiment.allocation,
        "metrics": WORDS,
    }
    return Snapshot(VARIANT_PANELS, context)


def _fitting_span(experiment: Experiment) -> str:
    """The shortest span that covers all visits of the last week."""
    now = experiment.now()
    since = SPANS["1w"].since(now)
    for width in (SPANS["1w"].width, 60.0):
        buckets = experiment.branch.timeline(since, width)
        if not buckets:
            return "10m"
        since = buckets[0].start
    return next((name for name, span in SPANS.items() if now - since <= span.seconds), "1w")
