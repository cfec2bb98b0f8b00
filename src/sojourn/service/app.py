"""The ASGI application: `create(Options())`."""

import asyncio
import gc
import logging
import signal
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from functools import partial
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Match

from ..live import Journal, LiveError, Unavailable
from ..validation import InputError
from ..version import __version__
from . import answers, fast_routes, routes, telemetry
from .catalog import Catalog, unavailable
from .dashboard import pages
from .errors import Refusal, broken, documented, refusal_of
from .metrics import Metrics
from .middleware import Middleware
from .options import Options
from .routes.operations import keep_up

__all__ = ["Options", "create"]

log = logging.getLogger("sojourn.service")

RETRY = 1.0  # seconds between two attempts to open a store
PROBE, SCRAPE = 2.0, 5.0
"""Seconds for readiness, and for what metrics read from the store; probes do not wait for long."""

CHECKS = 0.5  # seconds that the start waits for the settings of all experiments to be checked

GC_THRESHOLDS = 20_000, 50, 100
"""Allocations per collection of the youngest generation; collections per one of the next two."""


class Service(FastAPI):
    """FastAPI behind the middleware, and that behind what answers browsers about other origins."""

    outermost: Middleware
    entrance: Any

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.entrance(scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """The schema of FastAPI's routes and of the calls that the middleware answers."""
        if self.openapi_schema is None:
            text, every = self.description, [*fast_routes.described(), *self.routes]
            self.openapi_schema = _finished(
                get_openapi(title=self.title, version=self.version, description=text, routes=every)
            )
        return self.openapi_schema


def _finished(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of records: ends of intervals may be unknown, and examples are for Python."""
    records = schema["components"]["schemas"]
    for end in records["Interval"]["properties"].values():  # JSON has no infinity
        end["anyOf"] = [{"type": end.pop("type")}, {"type": "null"}]
    for record in records.values():
        if "description" in record:
            record["description"] = record["description"].partition("\n\n>>>")[0]
    return schema


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
    app.outermost = Middleware(super(Service, app).__call__, app.routes, options, metrics)
    app.entrance = app.outermost
    if options.origins:
        methods, headers = ("GET", "POST", "PUT", "DELETE"), ("authorization", "x-request-id")
        app.entrance = CORSMiddleware(app.outermost, options.origins, methods, headers)
    app.state.metrics, app.state.keyring = metrics, app.outermost.keyring
    app.state.options = options
    routes.add_routes(app)
    _add_health(app)
    app.router.routes.extend(pages())
    app.add_exception_handler(HTTPException, _failed)
    for kind in (LiveError, InputError, Refusal, RequestValidationError, Exception):
        app.add_exception_handler(kind, _refused)
    return app


@asynccontextmanager
async def _life(app: Service, options: Options, metrics: Metrics) -> AsyncIterator[None]:
    """Open the store, now or as soon as possible; at the end write what is queued, and close it.

    The first start of a service has checked that the store is there (`server.run`); a worker that
    is started again while it is away waits for it, and answers 503.
    """

    def tell(experiment: str, outcome: str) -> None:
        metrics.reward_answers.labels(experiment, outcome).inc()

    def serve(catalog: Catalog) -> None:
        app.state.catalog = app.outermost.catalog = catalog
        metrics.watch(catalog)
        catalog.journal.writer.watch = traces

    async def open_store() -> Catalog:
        made = await asyncio.to_thread(Journal, options.store, deadline=options.deadline)
        catalog = Catalog(made, compiled=options.compiled, tell=tell, webhook=options.webhook)
        try:
            if options.demo:
                from .demo import start

                tasks.append(await start(catalog))
            tasks.append(asyncio.create_task(keep_up(catalog, options)))
            tasks.append(asyncio.create_task(catalog.keep_up()))
            tasks.append(checks := asyncio.create_task(catalog.check_all()))
            await asyncio.wait([checks], timeout=CHECKS)
        except BaseException:
            await asyncio.to_thread(made.close)
            raise
        return catalog

    async def open_later() -> None:
        waiting, said = app.state.catalog, ""
        while app.state.catalog is waiting:
            await asyncio.sleep(RETRY)
            try:
                serve(await open_store())
            except Exception as error:
                if str(error) != said:
                    log.warning("the store cannot be opened yet: %s", error)
                said = str(error)
        log.info("the store is open now")
        waiting.journal.close()

    traces = app.outermost.traces = telemetry.start()
    tasks: list[asyncio.Task[None]] = []
    _hear_signals(lambda: app.state.catalog.stopping.set())
    try:
        serve(await open_store())
        log.info("serving")
    except Unavailable as error:
        log.warning("serving without a store until it can be opened: %s", error)
        serve(Catalog(unavailable(), compiled=options.compiled))
        tasks.append(asyncio.create_task(open_later()))
    _tune_gc()
    try:
        yield
    finally:
        app.state.catalog.stopping.set()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.to_thread(app.state.catalog.journal.close)
        if traces is not None:
            await asyncio.to_thread(traces.close)
        log.info("stopped")


def _tune_gc() -> None:
    """With Python's defaults, pauses of 100 ms took a quarter of the time of a busy server."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


def _hear_signals(stop: Callable[[], None]) -> None:
    """End open streams on SIGTERM or SIGINT: the server's shutdown would wait for them."""
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        before = signal.getsignal(number)
        if not callable(before) or before is signal.default_int_handler:
            continue

        def heard(number: int, frame: Any, before: Any = before) -> None:
            loop.call_soon_threadsafe(stop)
            before(number, frame)

        signal.signal(number, heard)


def _add_health(app: FastAPI) -> None:
    async def healthz() -> answers.Status:
        """The process is running."""
        return answers.Status("ok")

    async def readyz(request: Request) -> answers.Status:
        """The store can be read and written."""
        journal = request.app.state.catalog.journal
        await journal.probing.submit(journal.check).arrive(min(PROBE, journal.deadline))
        return answers.Status("ready")

    async def metrics(request: Request) -> Response:
        """Metrics for Prometheus."""
        metrics, catalog = request.app.state.metrics, request.app.state.catalog
        page = await asyncio.to_thread(metrics.page, catalog)
        with suppress(LiveError):  # the other metrics matter all the more then
            journal = catalog.journal
            stored = journal.showing.submit(partial(metrics.stored, catalog))
            page += await stored.arrive(min(SCRAPE, journal.deadline))
        return Response(page, media_type="text/plain; version=0.0.4")

    shown = answers.Status
    app.add_api_route("/healthz", healthz, response_model=shown, tags=["health"])
    app.add_api_route(
        "/readyz", readyz, response_model=shown, responses=documented(shown), tags=["health"]
    )
    app.add_api_route("/metrics", metrics, include_in_schema=False)


def _answer(refusal: Refusal) -> JSONResponse:
    return JSONResponse(asdict(refusal.body), refusal.status, refusal.headers)


async def _refused(request: Request, error: Exception) -> JSONResponse:
    """The answer to an error; bugs reach the middleware too, which logs and counts them."""
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
        path = request.scope["path"].replace(fast_routes.SLASH, "%2F")
        return _answer(Refusal(404, f"there is nothing at {path[:200]}"))
    status = 422 if error.status_code == 400 else error.status_code
    return _answer(Refusal(status, str(error.detail)))


def _methods(request: Request) -> list[str]:
    found = fast_routes.methods(request.scope["path"].split("/"))
    for route in request.app.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            found |= getattr(route, "methods", None) or set()
    return sorted(found)
