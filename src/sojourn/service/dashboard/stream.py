"""Server-sent events: the live parts of a page that have changed, at most once a second."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from starlette.responses import PlainTextResponse, Response, StreamingResponse

from ...live import LiveError
from ...validation import InputError
from ..catalog import Catalog
from .panels import LivePart
from .snapshots import FRESH, Snapshots, View

MOST = 256  # concurrent streams per process
HEARTBEAT = 15.0  # seconds of silence after which a comment is sent, to keep the connection open
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class Streams:
    """The open streams of a process."""

    def __init__(self) -> None:
        self.open = 0

    def response(
        self,
        catalog: Catalog,
        snapshots: Snapshots,
        name: str,
        view: View,
        still: Callable[[], bool] = lambda: True,
    ) -> Response:
        if self.open >= MOST:
            return PlainTextResponse("too many readers", 503, {"Retry-After": "10"})
        return StreamingResponse(
            self._counted(changes(catalog, snapshots, name, view, still)),
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
        quiet = 0.0 if message else quiet + FRESH
        if message:
            yield message
        elif quiet >= HEARTBEAT:
            quiet = 0.0
            yield ": still here\n\n"
        with suppress(TimeoutError):
            await asyncio.wait_for(catalog.stopping.wait(), FRESH)


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
    r"""A message of the stream.

    >>> event("update", "a\nb")
    'event: update\ndata: a\ndata: b\n\n'
    """
    lines = "\n".join(f"data: {line}" for line in data.splitlines())
    return f"event: {kind}\n{lines}\n\n"
