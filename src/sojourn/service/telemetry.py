"""Traces for OpenTelemetry: a span for each request, and one for each commit, linked to them.

Off unless the standard variables ask for it (`OTEL_EXPORTER_OTLP_ENDPOINT`, or
`OTEL_TRACES_EXPORTER`); then the rest of them is the SDK's to read: sampling, headers, batches.
"""

import os
import threading
import time
from collections.abc import Mapping, Sequence
from contextvars import Token
from typing import TYPE_CHECKING, Any

from .. import validation
from ..extras import require
from ..version import __version__
from .request import RequestInfo

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span, SpanContext

EXPORTER = "OTEL_TRACES_EXPORTER"
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
UNTRACED = ("/healthz", "/readyz", "/metrics")
LONGEST = 200  # characters of a name that a caller chose
LINKS = 128  # of a commit, as many as the SDK keeps unless told otherwise
PATIENCE = 3.0  # seconds at the end for spans that are not exported yet


def wanted(environment: Mapping[str, str] = os.environ) -> str | None:
    """The exporter that the variables ask for; None: no traces. InputError: it is not supported."""
    default = "otlp" if any(environment.get(name) for name in ENDPOINTS) else "none"
    named = (environment.get(EXPORTER) or default).strip().lower()
    off = environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    validation.one_of(EXPORTER, named, ("otlp", "console", "none"))
    if off or named == "none":
        return None
    for name in PROTOCOLS:
        if environment.get(name):
            validation.one_of(name, environment[name], ("http/protobuf",))
    require(f"{EXPORTER}={named}", "telemetry", "opentelemetry.exporter.otlp.proto.http")
    return named


def start() -> "Traces | None":
    """Start to trace this process, if the variables ask for it."""
    named = wanted()
    return None if named is None else Traces(_exporter(named))


def _exporter(named: str) -> "SpanExporter":
    if named == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()


class Traces:
    """Makes spans, and exports them in batches, in a thread of its own."""

    def __init__(self, exporter: "SpanExporter") -> None:
        from opentelemetry import context, trace
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        named = {"service.name": "sojourn", "service.version": __version__}
        resource = Resource.create().merge(Resource(named)).merge(OTELResourceDetector().detect())
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("sojourn", __version__)
        self._extract = TraceContextTextMapPropagator().extract
        self._trace, self._context = trace, context

    def begin(self, request: RequestInfo) -> "tuple[Span, Token[Context]] | None":
        """Begin the span of a request, below the caller's if it sends a traceparent."""
        if request.path in UNTRACED:
            return None
        headers = request.headers
        sent = {
            name: headers[name.encode()].decode("latin-1")
            for name in ("traceparent", "tracestate")
            if name.encode() in headers
        }
        kind = self._trace.SpanKind.SERVER
        parent = self._extract(sent, self._context.Context())
        span = self._tracer.start_span(request.method, parent, kind)
        return span, self._context.attach(self._trace.set_span_in_context(span, parent))

    def end(self, begun: "tuple[Span, Token[Context]]", request: RequestInfo) -> None:
        span, token = begun
        self._context.detach(token)
        if span.is_recording():
            span.update_name(f"{request.method} {request.label}")
            found = {
                "http.request.method": request.method,
                "http.route": request.label,
                "http.response.status_code": request.status,
                "sojourn.request": request.id,
                "sojourn.experiment": (request.experiment or "")[:LONGEST],
                "sojourn.key": request.key.id if request.key else "",
            }
            span.set_attributes({name: value for name, value in found.items() if value != ""})
            if request.status >= 500:
                span.set_status(self._trace.StatusCode.ERROR)
        span.end()

    def mark(self) -> "SpanContext | None":
        """The request under way, for the commit of its change; none if it is not sampled."""
        found = self._trace.get_current_span().get_span_context()
        return found if found.trace_flags.sampled else None

    def committed(
        self, marks: "Sequence[SpanContext | None]", seconds: float, error: Exception | None
    ) -> None:
        """A span for a commit that just ended, of this many changes, if one of them is traced."""
        links = list({mark.span_id: mark for mark in marks if mark is not None}.values())
        if not links:
            return
        now = time.time_ns()
        span = self._tracer.start_span(
            "commit",
            self._trace.set_span_in_context(self._trace.NonRecordingSpan(links[0])),
            attributes={"sojourn.changes": len(marks), "sojourn.seconds": seconds},
            links=[self._trace.Link(link) for link in links[:LINKS]],
            start_time=now - round(1e9 * seconds),
        )
        if error is not None:
            span.set_status(self._trace.StatusCode.ERROR, type(error).__name__)
        span.end(now)

    def close(self) -> None:
        """Export what is left, but do not wait long for a collector that is away."""
        closing: Any = threading.Thread(target=self._provider.shutdown, daemon=True)
        closing.start()
        closing.join(PATIENCE)
