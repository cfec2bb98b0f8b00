"""Carriers that use httpx."""

from typing import Any

from .calls import Answer, Call, Lost
from .carriers import headers, seconds

try:
    import httpx
except ImportError:
    raise ImportError("the client needs httpx: pip install 'sojourn[client]'") from None


class Httpx:
    """Calls over httpx."""

    def __init__(self, url: str, key: str | None, timeout: float) -> None:
        self._timeout = timeout
        self._http = httpx.Client(**_options(url, key))

    def send(self, call: Call) -> Answer:
        """The answer to a call."""
        try:
            return _answer(self._http.request(*call[:2], **_given(call, self._timeout)))
        except httpx.TransportError as error:
            raise _lost(error) from error

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()


class AsyncHttpx:
    """The same for asyncio."""

    def __init__(self, url: str, key: str | None, timeout: float) -> None:
        self._timeout = timeout
        self._http = httpx.AsyncClient(**_options(url, key))

    async def send(self, call: Call) -> Answer:
        """The answer to a call."""
        try:
            return _answer(await self._http.request(*call[:2], **_given(call, self._timeout)))
        except httpx.TransportError as error:
            raise _lost(error) from error

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()


def _options(url: str, key: str | None) -> dict[str, Any]:
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"url = {url!r} is not allowed: it must begin with http:// or https://")
    return {"base_url": url, "headers": headers(key)}


def _given(call: Call, timeout: float) -> dict[str, Any]:
    return {"content": call.body, "timeout": call.within(timeout)}


def _answer(response: httpx.Response) -> Answer:
    wait = seconds(response.headers.get("retry-after"))
    return Answer(response.status_code, response.content, wait)


def _lost(error: httpx.TransportError) -> Lost:
    return Lost(f"{type(error).__name__}: {error}".rstrip(": "))
