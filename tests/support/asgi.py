"""Calls of the service without a server: the application, its lifespan, and an event loop."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from sojourn.service.app import Options, Service, create


class Caller:
    """Sends requests to an application that runs in a loop of its own."""

    def __init__(self, app: Service, loop: asyncio.AbstractEventLoop) -> None:
        self.app, self.loop = app, loop
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        self.http = httpx.AsyncClient(transport=transport, base_url="http://localhost")

    def run(self, work: Any) -> Any:
        """The result of a coroutine in that loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """One request."""
        answer: httpx.Response = self.run(self.http.request(method, path, **options))
        return answer

    def get(self, path: str, **options: Any) -> httpx.Response:
        """GET."""
        return self.request("GET", path, **options)

    def put(self, path: str, **options: Any) -> httpx.Response:
        """PUT."""
        return self.request("PUT", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        """POST."""
        return self.request("POST", path, **options)

    def delete(self, path: str, **options: Any) -> httpx.Response:
        """DELETE."""
        return self.request("DELETE", path, **options)


@contextmanager
def client(**options: Any) -> Iterator[Caller]:
    """A service with these options, in memory and without compiling unless they say otherwise."""
    app = create(Options(**{"store": "memory://", "compiled": False, **options}))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    caller = Caller(app, loop)
    life = app.router.lifespan_context(app)
    try:
        caller.run(life.__aenter__())
        try:
            yield caller
        finally:
            caller.run(caller.http.aclose())
            caller.run(life.__aexit__(None, None, None))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


async def in_parts(*parts: bytes) -> Any:
    """A body without a length."""
    for part in parts:
        yield part
