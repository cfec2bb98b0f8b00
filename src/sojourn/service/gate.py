"""The ASGI middleware that every request passes: keys, rate and size limits, metrics, log.

The hot calls do not go through FastAPI: the gate answers them itself, and passes on the rest.
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

from ..live.lanes import late
from ..live.who import ACTING
from . import hot, roles
from .asked import JSON, Asked
from .catalog import Catalog
from .errors import Refusal, broken, not_json, refusal_of
from .keys import Keyring
from .limits import Buckets, read_body, too_large
from .metrics import Metrics
from .options import Options
from .telemetry import Traces

log = logging.getLogger("sojourn.service")

SLOW = 1.0  # seconds from which a successful hot call is logged
PROBES = ("/healthz", "/readyz")
OPEN_TO_ALL = (*PROBES, "/openapi.json", "/docs", "/login", "/logout", "/favicon.ico")
BODY = ("POST", "PUT", "PATCH")
READING = ("GET", "HEAD")
LOCAL = re.compile(rb"(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?", re.IGNORECASE)


class Gate:
    """Admits or refuses a request, answers it or passes it on, and logs it."""

    def __init__(
        self, app: Any, routes: Sequence[BaseRoute], options: Options, metrics: Metrics
    ) -> None:
        self.app, self.routes, self.metrics = app, routes, metrics
        self.keyring = None if options.keys is None else Keyring(options.keys)
        self.largest = options.largest_body
        self.longest = options.deadline + 1.0  # its parts have the deadline, and say more
        self.origins = {origin.encode() for origin in options.origins}
        self.buckets = None
        if options.rate is not None:
            share = options.rate / options.workers
            self.buckets = Buckets(share, max(1.0, share))
        self._numbers, self._start = itertools.count(1), secrets.token_hex(4)
        self._paths: dict[Any, str] = {}
        self.catalog: Catalog  # set when the service starts
        self.traces: Traces | None = None  # likewise

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        asked = Asked(scope, f"{self._start}-{next(self._numbers)}")
        span = None if self.traces is None else self.traces.begin(asked)
        try:
            await self.admit(asked)
            if asked.hot is not None:
                await self._answer_hot(asked, receive, send)
            elif asked.method == "OPTIONS" and b"access-control-request-method" in asked.headers:
                await self._send(asked, send, 204, b"", self._preflight(asked))
            else:
                await self._pass_on(asked, receive, send)
        except ConnectionResetError:
            asked.status = asked.status or scope.get("sojourn.refused", 499)
        except Exception as error:
            await self._refuse(asked, send, error)
        finally:
            self._log(asked, asked.status, time.perf_counter() - began)
            if self.traces is not None and span is not None:
                self.traces.end(span, asked, self._route(asked))

    async def admit(self, asked: Asked) -> None:
        """Refuse a request by its headers: host, key, rate, size, type."""
        headers = asked.headers
        if self.keyring is None and not LOCAL.fullmatch(headers.get(b"host", b"")):
            raise Refusal(403, "without keys this service answers to localhost only")
        if asked.method == "OPTIONS" and not asked.wrong:
            return
        try:
            await self._identify(asked)
        finally:  # without a valid key the rate is limited by address
            if self.buckets is not None:
                client = asked.scope.get("client") or [""]
                asked.caller = asked.key.id if asked.key else client[0]
                if asked.path not in PROBES:
                    self.buckets.check(asked.caller)
        if asked.wrong:
            raise Refusal(422, asked.wrong)
        if asked.method in BODY:
            length = headers.get(b"content-length", b"0")
            if length.isdigit() and int(length) > self.largest:
                raise too_large(self.largest)
            if asked.hot is not None and not asked.is_json:
                raise not_json()

    async def _identify(self, asked: Asked) -> None:
        """Find the key, and check that it is for the experiment and the route of the path."""
        is_open = asked.path in OPEN_TO_ALL or asked.path.startswith("/static/")
        if self.keyring is None or is_open:
            return
        key = self.keyring.caller(asked.method, asked.scope.get("scheme", "http"), asked.headers)
        if key is None:
            self._send_to_login(asked)
            detail = "a valid key is needed: Authorization: Bearer sj_..."
            raise Refusal(401, detail, www_authenticate="Bearer")
        asked.key = asked.scope["sojourn.key"] = key
        route = self._template(asked) if asked.hot is None else asked.hot.path
        name = asked.experiment
        whole = None
        if name is not None and not key.allows(name):
            whole = await self.catalog.whole_for(key, name)
        refused = roles.refusal(key, asked.method, route, name, whole)
        if refused is not None:
            raise Refusal(403, refused)

    def _send_to_login(self, asked: Asked) -> None:
        """Redirect browsers that ask for a page."""
        wants = asked.headers.get(b"accept", b"")
        if asked.method == "GET" and asked.words[1] != "v1" and b"text/html" in wants:
            raise Refusal(303, "a key is needed", word="unauthorized", location="/login")

    async def _answer_hot(self, asked: Asked, receive: Any, send: Any) -> None:
        body = await read_body(receive, self.largest)
        assert asked.hot is not None
        status, answer = await hot.answer(asked.hot, self.catalog, asked.words, body)
        if self.buckets is not None and "answers" in answer:
            self.buckets.charge(asked.caller, max(0, len(answer["answers"]) - 1))
        await self._send(asked, send, status, to_json(answer), [JSON])

    async def _pass_on(self, asked: Asked, receive: Any, send: Any) -> None:
        more = self._headers(asked)
        asked.scope["sojourn.request"] = asked.id
        ACTING.set("-" if asked.key is None else asked.key.id)

        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                alarm.reschedule(None)  # what has begun to answer may stream for long
                asked.status = message["status"]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        if asked.method == "HEAD":  # as GET, without the body
            asked.scope, sending = {**asked.scope, "method": "GET"}, _head_only(sending)
        if asked.method in BODY:
            if asked.words[1] == "v1" and not asked.is_json and self._template(asked):
                raise not_json()
            receive = _replayed(await read_body(receive, self.largest))
        try:
            async with asyncio.timeout(self.longest if asked.method in READING else None) as alarm:
                await self.app(asked.scope, receive, sending)
        except TimeoutError:
            raise late() from None

    def _template(self, asked: Asked) -> str | None:
        """The path of the route that the application will take, if there is one."""
        scope = asked.scope
        if asked.method == "HEAD":  # as GET
            scope = {**scope, "method": "GET"}
        for route in self.routes:
            if route.matches(scope)[0] is Match.FULL:
                return getattr(route, "path", "other")
        return None

    async def _refuse(self, asked: Asked, send: Any, error: Exception) -> None:
        refusal, where = refusal_of(error), {"request": asked.id, "route": self._route(asked)}
        # FastAPI has validated its bodies itself: what reaches here was raised by our own models.
        if refusal is None or (isinstance(error, ValidationError) and not asked.hot):
            log.error("failed", exc_info=error, extra=where)
            self.metrics.bugs.inc()
            refusal = broken(asked.id)
        elif refusal.status == 503:
            log.warning("%s", error, extra=where)
        if not asked.status:
            headers = [JSON, *((k.encode(), v.encode()) for k, v in refusal.headers.items())]
            await self._send(asked, send, refusal.status, to_json(refusal.body), headers)

    async def _send(self, asked: Asked, send: Any, status: int, body: bytes, headers: Any) -> None:
        asked.status = status
        length = (b"content-length", b"%d" % len(body))
        start = [*headers, length, *self._headers(asked)]
        await send({"type": "http.response.start", "status": status, "headers": start})
        await send({"type": "http.response.body", "body": body})

    def _headers(self, asked: Asked) -> list[tuple[bytes, bytes]]:
        headers = [(b"x-request-id", asked.id.encode("latin-1"))]
        if self.origins:
            origin = asked.headers.get(b"origin", b"")
            headers.append((b"vary", b"Origin"))
            if origin in self.origins:
                headers.append((b"access-control-allow-origin", origin))
        return headers

    def _preflight(self, asked: Asked) -> list[tuple[bytes, bytes]]:
        """The CORS headers for an allowed origin; none for others."""
        if asked.headers.get(b"origin") not in self.origins:
            return []
        return [
            (b"access-control-allow-methods", b"GET, POST, PUT, DELETE"),
            (b"access-control-allow-headers", b"authorization, content-type, x-request-id"),
            (b"access-control-max-age", b"600"),
        ]

    def _route(self, asked: Asked) -> str:
        """The path's template, as a label for metrics."""
        if asked.hot is not None:
            return asked.hot.path
        if not self._paths:
            for route in self.routes:
                endpoint = getattr(route, "endpoint", getattr(route, "app", route))
                self._paths[endpoint] = getattr(route, "path", "other")
        return self._paths.get(asked.scope.get("endpoint"), "other")

    def _log(self, asked: Asked, status: int, seconds: float) -> None:
        route = self._route(asked)
        self.metrics.answered(asked.method, route, status, seconds)
        quiet = asked.hot is not None and status < 400 and seconds < SLOW
        if not quiet and log.isEnabledFor(logging.INFO):
            slow = asked.hot is not None and seconds >= SLOW
            level = logging.WARNING if status >= 500 or slow else logging.INFO
            key, ms = asked.key.id if asked.key else None, round(1000.0 * seconds, 2)
            more = {"request": asked.id, "experiment": asked.experiment, "ms": ms, "key": key}
            log.log(level, "%s %s %d", asked.method, route, status, extra=more)


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
