"""The transport over httpx."""

from functools import partial
from inspect import isawaitable
from typing import Any

from ..extras import require
from ..live.executors import PerProcess
from .caller import NoResponse, Request, Response, bad_url, headers, retry_after

require("the client", "client", "httpx")

import httpx


class Httpx:
    """Requests over `httpx.AsyncClient` or, blocking and never suspending, `httpx.Client`."""

    def __init__(self, url: str, key: str | None, timeout: float, *, blocking: bool) -> None:
        if not url.startswith(("http://", "https://")):
            raise bad_url(url)
        options: dict[str, Any] = {"base_url": url, "headers": headers(key)}
        kind: Any = httpx.Client if blocking else httpx.AsyncClient
        self._http = PerProcess(kind(**options), partial(kind, **options))
        self._close = kind.close if blocking else kind.aclose
        self._timeout = timeout

    async def send(self, request: Request) -> Response:
        timeout = request.timeout(self._timeout)
        try:
            response = await _maybe(
                self._http.get().request(
                    request.method, request.path, content=request.body, timeout=timeout
                )
            )
        except httpx.TransportError as error:
            raise NoResponse(f"{type(error).__name__}: {error}".rstrip(": ")) from error
        wait = retry_after(response.headers.get("retry-after"))
        return Response(response.status_code, response.content, wait)

    async def close(self) -> None:
        http = self._http.opened
        if http is not None:  # else forked, and not used since
            await _maybe(self._close(http))


async def _maybe(result: Any) -> Any:
    return await result if isawaitable(result) else result
