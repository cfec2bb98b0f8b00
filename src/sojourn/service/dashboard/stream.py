"""Server-sent events: the parts of a page that have changed, at most once a second."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from starlette.responses import PlainTextResponse, Response, StreamingResponse

from ...live import LiveError
from ..live import Live
from .snapshots import FRESH, PANELS, Snapshots
from .view import View

MOST = 256
"""Streams at a time."""
HEARTBEAT = 15.0
"""Seconds after which a quiet stream says that it is alive."""
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class Streams:
    """The open streams of a process."""

    def __init__(self) -> None:
        self.open = 0

    def response(self, live: Live, snapshots: Snapshots, name: str, view: View) -> Response:
        """A stream for one reader."""
        if self.open >= MOST:
            return PlainTextResponse("too many readers", 503, {"Retry-After": "10"})
        return StreamingResponse(
            self._counted(changes(live, snapshots, name, view)),
            headers=HEADERS,
            media_type="text/event-stream",
        )

    async def _counted(self, messages: AsyncIterator[str]) -> AsyncIterator[str]:
        self.open += 1
        try:
            async for message in messages:
                yield message
        finally:
            self.open -= 1


async def changes(live: Live, snapshots: Snapshots, name: str, view: View) -> AsyncIterator[str]:
    """Messages for one reader, until the service stops."""
    yield "retry: 2000\n\n"
    sent: dict[str, str] = {}
    quiet = 0.0
    while not live.stopping.is_set():
        message = await _message(live, snapshots, name, view, sent)
        quiet = 0.0 if message else quiet + FRESH
        if message:
            yield message
        elif quiet >= HEARTBEAT:
            quiet = 0.0
            yield ": still here\n\n"
        with suppress(TimeoutError):
            await asyncio.wait_for(live.stopping.wait(), FRESH)


async def _message(
    live: Live, snapshots: Snapshots, name: str, view: View, sent: dict[str, str]
) -> str:
    """What has changed since the last message; what was sent is noted."""
    try:
        snapshot = await snapshots.get(await live.experiment(name), view.span)
    except (LiveError, ValueError):
        sent.clear()
        return event("trouble", "The store cannot be read just now.")
    panels = snapshot.panels(view)
    changed = {panel: html for panel, html in panels.items() if sent.get(panel) != html}
    sent.update(changed)
    return event("update", "\n".join(map(swapped, changed, changed.values()))) if changed else ""


def swapped(panel: str, html: str) -> str:
    """A part of the page for htmx, which puts it in its place.

    Rows of a table are not allowed beside other elements, except in a template.
    """
    tag = PANELS[panel]
    return f'<template><{tag} id="{panel}" hx-swap-oob="innerHTML">{html}</{tag}></template>'


def event(kind: str, data: str) -> str:
    r"""A message.

    >>> event("update", "a\nb")
    'event: update\ndata: a\ndata: b\n\n'
    """
    lines = "\n".join(f"data: {line}" for line in data.splitlines())
    return f"event: {kind}\n{lines}\n\n"
