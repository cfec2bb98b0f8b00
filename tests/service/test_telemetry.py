"""Traces: off without a word, on by the standard variables, exported, and never in the way."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from asgi import Caller, client
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from sojourn import extras
from sojourn.live import Unavailable
from sojourn.service import telemetry
from sojourn.service.auth.keys import make
from sojourn.service.options import Options
from sojourn.service.server import run

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = {"traceparent": f"00-{TRACE}-{SPAN}-01"}
HOME = "/v1/experiments/shorts"
ROUTE = "/v1/experiments/{experiment}/visits/{visit}/decisions"


@pytest.fixture(autouse=True)
def nothing_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (telemetry.EXPORTER, *telemetry.PROTOCOLS, *telemetry.ENDPOINTS):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """Where the spans of a service go that is started now."""
    kept = InMemorySpanExporter()
    monkeypatch.setenv(telemetry.EXPORTER, "otlp")
    monkeypatch.setattr(telemetry, "_exporter", lambda named: kept)
    return kept


def by_name(kept: InMemorySpanExporter) -> dict[str, Any]:
    return {span.name: span for span in kept.get_finished_spans()}


def decide(http: Caller, **options: Any) -> int:
    auth = options.pop("headers", {})
    http.put(HOME, json={"arms": ["a", "b"]}, headers=auth)
    http.put(f"{HOME}/visits/v", json={}, headers=auth)
    answer = http.post(f"{HOME}/visits/v/decisions", json={}, headers={**auth, **options})
    return int(answer.status_code)


def test_off_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with client() as http:
        assert http.app.outermost.traces is None
        assert http.app.state.catalog.journal.writer.watch is None
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert telemetry.start() is None


def test_a_span_of_a_request_and_one_of_its_commit(
    spans: InMemorySpanExporter, tmp_path: Path
) -> None:
    key, token = make(tmp_path / "keys.json", ["*"])
    auth = {"authorization": f"Bearer {token}"}
    with client(keys=tmp_path / "keys.json") as http:
        assert decide(http, headers=auth, **PARENT) == 200
        for path in ("/healthz", "/readyz", "/metrics"):
            http.get(path, headers=auth)
        http.get("/v1/experiments/none", headers=auth)
    found = by_name(spans)
    assert not [name for name in found if "z" in name or "metrics" in name]  # no probes
    request = found[f"POST {ROUTE}"]
    assert request.kind is SpanKind.SERVER and request.status.status_code is StatusCode.UNSET
    assert f"{request.context.trace_id:032x}" == TRACE  # the caller's
    assert f"{request.parent.span_id:016x}" == SPAN
    about = dict(request.attributes)
    assert about.pop("sojourn.request")
    assert about == {
        "http.request.method": "POST",
        "http.route": ROUTE,
        "http.response.status_code": 200,
        "sojourn.experiment": "shorts",
        "sojourn.key": key.id,
    }
    commits = [span for span in spans.get_finished_spans() if span.name == "commit"]
    (commit,) = [span for span in commits if span.context.trace_id == request.context.trace_id]
    assert commit.parent.span_id == request.context.span_id
    assert [link.context for link in commit.links] == [request.context]
    assert commit.attributes["sojourn.changes"] == 1
    taken = 1e-9 * (commit.end_time - commit.start_time)
    assert commit.attributes["sojourn.seconds"] == pytest.approx(taken, abs=1e-6)
    assert request.start_time <= commit.start_time <= commit.end_time <= request.end_time
    assert found["GET /v1/experiments/{experiment}"].attributes["http.response.status_code"] == 404
    assert request.resource.attributes["service.name"] == "sojourn"


def test_a_commit_that_fails_is_an_error_in_both(
    spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "shorts-eu")

    def fail(changes: Any) -> Any:
        raise Unavailable("the disk is full")

    with client() as http:
        http.put(HOME, json={"arms": ["a", "b"]})
        monkeypatch.setattr(http.app.state.catalog.journal.writer, "_append", fail)
        assert http.put(f"{HOME}/visits/v", json={}).status_code == 503
    found = by_name(spans)
    request = found["PUT /v1/experiments/{experiment}/visits/{visit}"]
    assert request.status.status_code is StatusCode.ERROR
    assert found["commit"].status.status_code is StatusCode.ERROR
    assert found["commit"].status.description == "Unavailable"
    assert request.resource.attributes["service.name"] == "shorts-eu"


def test_callers_who_do_not_sample_are_not_sampled(spans: InMemorySpanExporter) -> None:
    with client() as http:
        assert decide(http, traceparent=f"00-{TRACE}-{SPAN}-00") == 200
        assert decide(http, traceparent="nonsense") == 200  # another visit of the same step
    traces = {f"{span.context.trace_id:032x}" for span in spans.get_finished_spans()}
    assert traces and TRACE not in traces


@contextmanager
def collector() -> Iterator[tuple[str, list[ExportTraceServiceRequest]]]:
    """An HTTP server that takes spans."""
    got: list[ExportTraceServiceRequest] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.path == "/v1/traces":
                got.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *about: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", got
        server.shutdown()
        thread.join()


def test_spans_reach_a_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    with collector() as (url, got):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        with client() as http:
            assert decide(http, **PARENT) == 200
    sent = [span for r in got for s in r.resource_spans for t in s.scope_spans for span in t.spans]
    (request,) = [span for span in sent if span.name == f"POST {ROUTE}"]
    assert request.trace_id.hex() == TRACE and request.parent_span_id.hex() == SPAN


def test_a_collector_that_is_away_delays_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even the end, though the exporter would try again for longer."""
    caplog.set_level(logging.CRITICAL)
    monkeypatch.setattr(telemetry, "PATIENCE", 0.2)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    with client() as http:
        assert decide(http) == 200
        began = time.monotonic()
    assert time.monotonic() - began < 5.0


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("OTEL_TRACES_EXPORTER", "zipkin", "otlp, console, none"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "http/protobuf"),
    ],
)
def test_what_is_not_supported_is_said_before_the_start(
    name: str, value: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318")
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError) as refused:
        run(Options(store="memory://"))
    assert name in str(refused.value) and repr(value) in str(refused.value)
    assert message in str(refused.value)


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(extras, "find_spec", missing)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    with pytest.raises(extras.MissingExtra) as refused:
        run(Options(store="memory://"))
    wanted = "OTEL_TRACES_EXPORTER=otlp needs opentelemetry: pip install 'sojourn[telemetry]'"
    assert str(refused.value) == wanted


@pytest.mark.parametrize("hook", ["on_commit", "watch"])
def test_a_report_that_fails_does_not_stop_the_writer(
    hook: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Metrics are in files where there are workers, and their disk may be full."""

    class Broken:
        mark = committed = __call__ = lambda *about: 1 / 0 if len(about) > 1 else None

    with client() as http:
        monkeypatch.setattr(http.app.state.catalog.journal.writer, hook, Broken())
        assert decide(http) == 200
    assert "a commit could not be reported" in caplog.text
