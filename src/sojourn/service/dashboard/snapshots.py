"""What the dashboard shows of an experiment: snapshots for all readers, and streams of changes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode

from starlette.responses import PlainTextResponse, Response, StreamingResponse

from ...live import Bucket, Drift, Experiment, LiveError, Shadow, drift, shadow
from ...live.monitor.insight import insight_of
from ...live.monitor.shadow import MEASURES
from ...live.rollout.comparison import WORDS
from ...policies.reasons import explain
from ...validation import InputError
from ..catalog import Catalog
from ..routes.base import LONG_FRESH, Cache
from .panels import PANELS, SHADOW, VARIANT_PANELS, LivePart, Panel, RenderedPanels, render_panels

T = TypeVar("T")

FRESH = 1.0  # seconds for which a snapshot is reused
CHART_REFRESH = 1 / 60  # of the time between two points, after which a chart is read again
RECENT = 12  # decisions listed
LONGEST_SEARCH = 200
MOST, EVERY = 256, 1.0  # concurrent streams per process; seconds between two looks of one
HEARTBEAT = 15.0  # seconds of silence after which a comment is sent, to keep the connection open
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class Span(NamedTuple):
    """A time span of the charts: its length, and the time between two points, in seconds."""

    words: str
    seconds: float
    width: float

    def since(self, now: float) -> float:
        """The start of the charts: a whole multiple of the width."""
        return (now - self.seconds) // self.width * self.width + self.width


SPANS = {
    "10m": Span("10 minutes", 600.0, 10.0),
    "1h": Span("hour", 3600.0, 60.0),
    "1d": Span("day", 86_400.0, 1_200.0),
    "1w": Span("week", 604_800.0, 7_200.0),
}


@dataclass(frozen=True)
class View:
    """The span of the charts, and which arms are listed."""

    span: str | None = None
    search: str = ""
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "View":
        """The view of an address's query; invalid values are ignored."""
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


Chart = tuple[float, list[Bucket]]
"""The start of a span, and the visits that ended in it."""


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

    async def row(self, experiment: Experiment) -> dict[str, Any]:
        """The line of an experiment in the list of all, with the rewards of the last week."""
        found: dict[str, Any]
        found = await self._cache.get(experiment, "row", partial(_row, experiment), FRESH)
        return found

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
    return since, experiment.branch.timeline(since, SPANS[span].width)


def _row(experiment: Experiment) -> dict[str, Any]:
    allocation = experiment.allocation
    if allocation is not None:
        return {"name": experiment.name, "allocation": allocation}
    found = insight_of(experiment, _chart(experiment, "1w")[1], SPANS["1w"].width)
    return {"name": experiment.name, "settings": experiment.settings, "insight": found}


def _taken(
    experiment: Experiment, span: str, chart: Chart, changes: Drift, cast: Shadow | None
) -> Snapshot:
    since, buckets = chart
    context = {
        "name": experiment.name,
        "settings": experiment.settings,
        "mode": experiment.mode,
        "insight": insight_of(experiment, buckets, SPANS[span].width),
        "recent": [(c, explain(experiment.policy, c)) for c in experiment.branch.recent()[:RECENT]],
        "drift": changes,
        "shadow": cast,
        "measures": MEASURES,
        "span": SPANS[span],
        "spans": SPANS,
        "since": since,
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


class Streams:
    """The open streams of a process."""

    def __init__(self, snapshots: Snapshots) -> None:
        self.snapshots, self.open = snapshots, 0

    def response(
        self, catalog: Catalog, name: str, view: View, still: Callable[[], bool] = lambda: True
    ) -> Response:
        """A stream for one reader, until the reader may not go on (`still`)."""
        if self.open >= MOST:
            return PlainTextResponse("too many readers", 503, {"Retry-After": "10"})
        messages = self._counted(changes(catalog, self.snapshots, name, view, still))
        return StreamingResponse(messages, headers=HEADERS, media_type="text/event-stream")

    async def _counted(self, messages: AsyncIterator[str]) -> AsyncIterator[str]:
        self.open += 1
        try:
            async for message in messages:
                yield message
        finally:
            self.open -= 1


async def changes(
    catalog: Catalog,
    snapshots: Snapshots,
    name: str,
    view: View,
    still: Callable[[], bool] = lambda: True,
) -> AsyncIterator[str]:
    """Messages for one reader, until the service stops or the reader may not go on (`still`)."""
    yield "retry: 2000\n\n"
    sent: dict[str, LivePart] = {}
    quiet = 0.0
    while not catalog.stopping.is_set():
        message = await _message(catalog, snapshots, name, view, sent)
        if not still():
            yield event("ended", "Signed out.")
            return
        quiet = 0.0 if message else quiet + EVERY
        if message:
            yield message
        elif quiet >= HEARTBEAT:
            quiet = 0.0
            yield ": still here\n\n"
        with suppress(TimeoutError):
            await asyncio.wait_for(catalog.stopping.wait(), EVERY)


async def _message(
    catalog: Catalog, snapshots: Snapshots, name: str, view: View, sent: dict[str, LivePart]
) -> str:
    """What has changed since the last message; `sent` is updated."""
    try:
        snapshot = await snapshots.get(await catalog.experiment(name), view.span)
    except (LiveError, InputError):
        sent.clear()
        return event("trouble", "The store cannot be read right now.")
    parts = snapshot.rendered(view).parts
    changed = {id: part for id, part in parts.items() if sent.get(id) != part}
    sent.update(changed)
    return event("update", "\n".join(map(swap, changed, changed.values()))) if changed else ""


def swap(id: str, part: LivePart) -> str:
    """A live part for htmx, in a template element, where rows of a table are allowed as well."""
    tag, html = part
    return f'<template><{tag} id="{id}" hx-swap-oob="innerHTML">{html}</{tag}></template>'


def event(kind: str, data: str) -> str:
    """A message of the stream."""
    lines = "\n".join(f"data: {line}" for line in data.splitlines())
    return f"event: {kind}\n{lines}\n\n"
