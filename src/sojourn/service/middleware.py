"""The ASGI middleware that every request passes: keys, rate and size limits, metrics, log.

The calls of visits do not go through FastAPI: the middleware answers them and passes on the rest.
"""

import asyncio
import itertools
import logging
import re
import secrets
import time
from collections.abc import Sequence
from typing import Any

from pydantic_core import ValidationError, to_json
from starlette.routing import BaseRoute, Match

from ..live.executors import late
from ..live.records import AUDIT_ACTOR
from . import fast_routes, routes
from .answers import Answers
from .auth.keys import OPERATING, READING, ROLES as ALL_ROLES, Keyring
from .catalog import Catalog
from .dashboard import READABLE
from .errors import Refusal, broken, not_json, refusal_of
from .metrics import Metrics
from .options import Options
from .request import JSON, Buckets, RequestInfo, read_body, too_large
from .telemetry import Traces

log = logging.getLogger("sojourn.service")

SLOW = 1.0  # seconds from which a successful call of a visit is logged
PROBES = ("/healthz", "/readyz")
OPEN_TO_ALL = (*PROBES, "/openapi.json", "/docs", "/login", "/logout", "/favicon.ico")
BODY = ("POST", "PUT", "PATCH")
SAFE_METHODS = ("GET", "HEAD")
METRICS = "/metrics"  # shows all experiments, to keys that are for all
ROLES = {**routes.ROLES, **{("GET", page): READING for page in (*READABLE, METRICS)}}
LOCAL = re.compile(rb"(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?", re.IGNORECASE)


class Middleware:
    """Admits or refuses a request, answers it or passes it on, and logs it."""

    def __init__(
        self, app: Any, table: Sequence[BaseRoute], options: Options, metrics: Metrics
    ) -> None:
        self.app, self.routes, self.metrics = app, table, metrics
        self.keyring = None if options.keys is None else Keyring(options.keys)
        self.largest = options.largest_body
        self.longest = options.deadline + 1.0  # its parts have the deadline, and say more
        self.buckets = None
        if options.rate is not None:
            share = options.rate / options.workers
            self.buckets = Buckets(share, max(1.0, share))
        self._numbers, self._start = itertools.count(1), secrets.token_hex(4)
        self.catalog: Catalog  # set when the service starts
        self.traces: Traces | None = None  # likewise

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        request = RequestInfo(scope, f"{self._start}-{next(self._numbers)}")
        if request.fast is None:
            request.route = self._template(request)
        span = None if self.traces is None else self.traces.begin(request)
        try:
            await self.admit(request)
            if request.fast is not None:
                await self._answer_fast(request, receive, send)
            else:
                await self._pass_on(request, receive, send)
        except ConnectionResetError:
            request.status = request.status or scope.get("sojourn.refused", 499)
        except Exception as error:
            await self._refuse(request, send, error)
        finally:
            self._log(request, time.perf_counter() - began)
            if self.traces is not None and span is not None:
                self.traces.end(span, request)

    async def admit(self, request: RequestInfo) -> None:
        """Refuse a request by its headers: host, key, rate, size, type."""
        headers = request.headers
        if self.keyring is None and not LOCAL.fullmatch(headers.get(b"host", b"")):
            raise Refusal(403, "without keys this service answers only requests to localhost")
        if request.method == "OPTIONS" and not request.wrong:
            return
        try:
            await self._identify(request)
        finally:  # without a valid key the rate is limited by address
            if self.buckets is not None:
                client = request.scope.get("client") or [""]
                request.caller = request.key.id if request.key else client[0]
                if request.path not in PROBES:
                    self.buckets.check(request.caller)
        if request.wrong:
            raise Refusal(422, request.wrong)
        if request.method in BODY:
            length = headers.get(b"content-length", b"0")
            if length.isdigit() and int(length) > self.largest:
                raise too_large(self.largest)
            if request.fast is not None and not request.is_json:
                raise not_json()

    async def _identify(self, request: RequestInfo) -> None:
        """Find the key, and check that it is for the experiment and the route of the path."""
        is_open = request.path in OPEN_TO_ALL or request.path.startswith("/static/")
        if self.keyring is None or is_open:
            return
        key = self.keyring.caller(
            request.method, request.scope.get("scheme", "http"), request.headers
        )
        if key is None:
            self._send_to_login(request)
            detail = "a valid key is needed: Authorization: Bearer sj_..."
            raise Refusal(401, detail, www_authenticate="Bearer")
        request.key = request.scope["sojourn.key"] = key
        route, name, whole = request.route, request.experiment, None
        if name is not None and not key.allows(name):
            whole = await self.catalog.whole_for(key, name)
        roles = ALL_ROLES  # may learn that there is no such route
        if route is not None:
            roles = ROLES.get((request.scope["method"], route), OPERATING)
        refused = key.refusal(roles, name, whole=whole)
        if refused is None and route == METRICS and not key.allows_all:
            refused = f"the key {key.id} is not for all experiments"
        if refused is not None:
            raise Refusal(403, refused)

    def _send_to_login(self, request: RequestInfo) -> None:
        wants = request.headers.get(b"accept", b"")
        if request.method == "GET" and request.words[1] != "v1" and b"text/html" in wants:
            raise Refusal(303, "a key is needed", word="unauthorized", location="/login")

    async def _answer_fast(self, request: RequestInfo, receive: Any, send: Any) -> None:
        body = await read_body(receive, self.largest)
        assert request.fast is not None
        status, answer = await fast_routes.answer(request.fast, self.catalog, request.words, body)
        if self.buckets is not None and isinstance(answer, Answers):
            self.buckets.charge(request.caller, max(0, len(answer.answers) - 1))
        await self._send(request, send, status, to_json(answer), [JSON])

    async def _pass_on(self, request: RequestInfo, receive: Any, send: Any) -> None:
        request.scope["sojourn.request"] = request.id
        AUDIT_ACTOR.set("-" if request.key is None else request.key.id)

        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                alarm.reschedule(None)  # what has begun to answer may stream for long
                request.status = message["status"]
                message = {**message, "headers": [*message["headers"], request.id_header]}
            await send(message)

        if request.method == "HEAD":
            sending = _head_only(sending)
        if request.method in BODY:
            if request.words[1] == "v1" and not request.is_json and request.route:
                raise not_json()
            receive = _replayed(await read_body(receive, self.largest))
        try:
            async with asyncio.timeout(
                self.longest if request.method in SAFE_METHODS else None
            ) as alarm:
                await self.app(request.scope, receive, sending)
        except TimeoutError:
            raise late() from None

    def _template(self, request: RequestInfo) -> str | None:
        """The path of the route that the application will take, if there is one."""
        for route in self.routes:
            if route.matches(request.scope)[0] is Match.FULL:
                return getattr(route, "path", "other")
        return None

    async def _refuse(self, request: RequestInfo, send: Any, error: Exception) -> None:
        refusal, where = refusal_of(error), {"request": request.id, "route": request.label}
        # FastAPI has validated its bodies itself: what reaches here was raised by our own models.
        if refusal is None or (isinstance(error, ValidationError) and not request.fast):
            log.error("failed", exc_info=error, extra=where)
            self.metrics.bugs.inc()
            refusal = broken(request.id)
        elif refusal.status == 503:
            log.warning("%s", error, extra=where)
        if not request.status:
            headers = [JSON, *((k.encode(), v.encode()) for k, v in refusal.headers.items())]
            await self._send(request, send, refusal.status, to_json(refusal.body), headers)

    async def _send(
        self, request: RequestInfo, send: Any, status: int, body: bytes, headers: Any
    ) -> None:
        request.status = status
        start = [*headers, (b"content-length", b"%d" % len(body)), request.id_header]
        await send({"type": "http.response.start", "status": status, "headers": start})
        await send({"type": "http.response.body", "body": body})

    def _log(self, request: RequestInfo, seconds: float) -> None:
        status = request.status
        self.metrics.answered(request.method, request.label, status, seconds)
        quiet = request.fast is not None and status < 400 and seconds < SLOW
        if not quiet and log.isEnabledFor(logging.INFO):
            slow = request.fast is not None and seconds >= SLOW
            level = logging.WARNING if status >= 500 or slow else logging.INFO
            key, ms = request.key.id if request.key else None, round(1000.0 * seconds, 2)
            more = {"request": request.id, "experiment": request.experiment, "ms": ms, "key": key}
            log.log(level, "%s %s %d", request.method, request.label, status, extra=more)


def _replayed(body: bytes) -> Any:
    """A `receive` that replays a body that was read."""
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Any:
        return next(messages, {"type": "http.disconnect"})

    return receive


def _head_only(send: Any) -> Any:
    """A `send` that ends the answer after its headers: also of a stream that would not end."""
    ended = {"type": "http.response.body", "body": b"", "more_body": False}

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            await send(message)
            await send(ended)

    return sending
