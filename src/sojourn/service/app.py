"""The ASGI application: `create(Options())`."""

import asyncio
import gc
import logging
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match

from ..live import Journal, LiveError
from ..version import __version__
from . import experiments, hot, models, telemetry
from .catalog import Catalog
from .dashboard import routes
from .errors import Refusal, broken, documented, refusal_of
from .gate import Gate
from .metrics import Metrics
from .options import Options

__all__ = ["Options", "create"]

log = logging.getLogger("sojourn.service")

GC_THRESHOLDS = 20_000, 50, 100
"""Allocations per collection of the youngest generation; collections per one of the next two."""


class Service(FastAPI):
    """FastAPI behind the gate."""

    gate: Gate

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.gate(scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """The schema of FastAPI's routes and of the calls that the gate answers."""
        if self.openapi_schema is None:
            text, every = self.description, [*hot.described(), *self.routes]
            self.openapi_schema = get_openapi(
                title=self.title, version=self.version, description=text, routes=every
            )
        return self.openapi_schema


def create(options: Options) -> Service:
    """The service: API, dashboard, health, metrics. The store is opened when it starts."""
    metrics = Metrics()
    app = Service(
        title="Sojourn",
        version=__version__,
        description="Live decisions for users who may leave.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lambda app: _life(app, options, metrics),
    )
    app.gate = Gate(super(Service, app).__call__, app.routes, options, metrics)
    app.state.metrics, app.state.keyring = metrics, app.gate.keyring
    experiments.add_routes(app)
    _add_health(app)
    app.router.routes.extend(routes())
    app.add_exception_handler(HTTPException, _failed)
    for kind in (LiveError, ValueError, Refusal, RequestValidationError, Exception):
        app.add_exception_handler(kind, _refused)
    return app


@asynccontextmanager
async def _life(app: Service, options: Options, metrics: Metrics) -> AsyncIterator[None]:
    """Open the store; at the end write what is queued, and close it."""

    def tell(experiment: str, outcome: str) -> None:
        metrics.reward_answers.labels(experiment, outcome).inc()

    journal = await asyncio.to_thread(Journal, options.store)
    catalog = Catalog(journal, compiled=options.compiled, tell=tell)
    app.state.catalog = app.gate.catalog = catalog
    metrics.watch(catalog)
    traces = app.gate.traces = journal.writer.watch = telemetry.start()
    _hear_signals(catalog)
    tasks: list[asyncio.Task[None]] = []
    try:
        if options.demo:
            from .demo import start

            tasks.append(await start(catalog))
        await catalog.open_all()
        _tune_gc()
        log.info("serving", extra={"experiments": len(catalog.experiments)})
        yield
    finally:
        catalog.stopping.set()
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await asyncio.to_thread(journal.close)
        if traces is not None:
            await asyncio.to_thread(traces.close)
        log.info("stopped")


def _tune_gc() -> None:
    """Freeze what the start has allocated, and collect garbage less often.

    With the defaults, pauses of 100 ms took a quarter of the time of a busy server.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


def _hear_signals(catalog: Catalog) -> None:
    """End open streams on SIGTERM or SIGINT: the server's shutdown would wait for them."""
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        before = signal.getsignal(number)
        if not callable(before) or before is signal.default_int_handler:
            continue

        def heard(number: int, frame: Any, before: Any = before) -> None:
            loop.call_soon_threadsafe(catalog.stopping.set)
            before(number, frame)

        signal.signal(number, heard)


def _add_health(app: FastAPI) -> None:
    async def healthz() -> dict[str, str]:
        """The process lives."""
        return {"status": "ok"}

    async def readyz(request: Request) -> dict[str, str]:
        """The store can be read."""
        await asyncio.to_thread(request.app.state.catalog.journal.check)
        return {"status": "ready"}

    async def metrics(request: Request) -> Response:
        """Metrics for Prometheus."""
        state = request.app.state
        page = await asyncio.to_thread(state.metrics.page, state.catalog)
        return Response(page, media_type="text/plain; version=0.0.4")

    shown = models.StatusOut
    app.add_api_route("/healthz", healthz, response_model=shown, tags=["health"])
    app.add_api_route(
        "/readyz", readyz, response_model=shown, responses=documented(shown), tags=["health"]
    )
    app.add_api_route("/metrics", metrics, include_in_schema=False)


def _answer(refusal: Refusal) -> JSONResponse:
    return JSONResponse(refusal.body, refusal.status, refusal.headers)


async def _refused(request: Request, error: Exception) -> JSONResponse:
    """The answer to an error; bugs are logged by the gate, which they reach as well."""
    refusal = refusal_of(error) or broken(request.scope["sojourn.request"])
    if refusal.status == 503:
        log.warning("%s", error)
    return _answer(refusal)


async def _failed(request: Request, error: Exception) -> JSONResponse:
    """Unknown paths, wrong methods, and what FastAPI refuses by itself."""
    assert isinstance(error, HTTPException)
    methods = _methods(request)
    if methods and request.method not in methods:
        allowed = ", ".join(methods)
        detail = f"{request.method} is not allowed here, but {allowed}"
        return _answer(Refusal(405, detail, allow=allowed))
    if error.status_code == 404:
        path = request.scope["path"].replace(hot.SLASH, "%2F")
        return _answer(Refusal(404, f"there is nothing at {path[:200]}"))
    status = 422 if error.status_code == 400 else error.status_code
    return _answer(Refusal(status, str(error.detail)))


def _methods(request: Request) -> list[str]:
    found = hot.methods(request.scope["path"].split("/"))
    for route in request.app.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            found |= getattr(route, "methods", None) or set()
    return sorted(found)
