"""Paths as they are sent, under both parsers of HTTP: one parse decides who may call, and what."""

import io
import json
import logging
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from asgi import client
from wire import Wire, listening

from sojourn.live.names import check_name
from sojourn.service.auth import keys
from sojourn.service.server import logging_configuration

ONE = "/v1/experiments/one"
DECIDE = "/v1/experiments/two/visits/v/decisions"
PLAIN = json.dumps({"arms": ["a", "b"], "policy": {"name": "Uniform"}})


class Served(Wire):
    """A server with keys: `every` for all experiments, `one` for the experiment of this name."""

    every: dict[str, str]
    one: dict[str, str]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    file: Path = tmp_path_factory.mktemp("paths") / "keys.json"
    every, one = (keys.make(file, names)[1] for names in (["*"], ["one"]))
    with listening(keys=file) as wire:
        served = Served(wire.port)
        served.every = {"authorization": f"Bearer {every}"}
        served.one = {"authorization": f"Bearer {one}"}
        for name in ("one", "two", "a%2Fb"):
            made = served.ask("PUT", f"/v1/experiments/{name}", PLAIN, **served.every)
            assert made[0] == 201, made
        yield served


@pytest.mark.parametrize("prefix", [
    "%2Fstatic%2F", "/static%2F", "/static%2F..", "%2Fhealthz", "/healthz%2F", "/%2Fstatic",
    "/static/..", "/static/%2e%2e", "/static/%2E%2e%2F..", "//static//", "/login%3F",
    "/static%5C..", "http://localhost%2Fstatic%2F", "/static%252F", "/%73tatic%2f",
])  # fmt: skip
def test_no_path_gets_around_the_keys(server: Served, prefix: str) -> None:
    """Nothing is done or shown that lies behind a path that is open to all."""
    for method, path in (("POST", DECIDE), ("GET", "/v1/experiments/two")):
        status, text = server.ask(method, prefix + path, '{"opening": {}}')
        below = prefix.startswith("/static/")  # where every path is open, and there are only files
        assert status in ((401, 404, 405) if below else (400, 401)), text
        assert 400 <= server.ask(method, prefix + path, '{"opening": {}}', **server.one)[0] < 500
    status, _ = server.ask("GET", "/v1/experiments/two/visits/v", **server.every)
    assert status == 404  # no visit was opened


def test_the_key_is_for_the_experiment_that_is_called(server: Served) -> None:
    for path in (ONE, "/v1/experiments/%6Fne", "http://localhost/v1/experiments/one"):
        assert server.ask("GET", path, **server.one)[0] == 200, path
        assert server.ask("GET", path)[0] == 401, path
    for path in ("a%2Fb", "two", "one%2F..%2Ftwo", "one%2F", "%2Fone", "one%2fx"):
        for method, rest, body in (("GET", "", ""), ("POST", "/visits/v/decisions", "{}")):
            status, text = server.ask(method, f"/v1/experiments/{path}{rest}", body, **server.one)
            assert status == 403, (path, text)
    assert server.ask("GET", "/v1/experiments/a%2Fb", **server.every)[0] == 200
    for path in ("/v1/experiments/a%1Fb", "/v1/experiments/a%1Fb/insight", "/experiments/a%1Fb"):
        assert server.ask("GET", path, **server.every)[0] == 422  # no other way to say slash


@pytest.mark.parametrize("name", [
    ".", "..", "%2e", "%2E%2e", "%ff", "%C3", "%ED%A0%80", "%00", "%0A", "a%0Ab", "%1F", "%7F",
    "%C2%85", "%E2%80%A8", "x%FF",
])  # fmt: skip
@pytest.mark.parametrize("path", [
    "/v1/experiments/{}", "/v1/experiments/one/visits/{}", "/v1/experiments/one/visits/{}/step",
    "/v1/users/{}", "/experiments/{}", "/events/{}", "/static/{}", "/{}",
])  # fmt: skip
def test_names_that_are_none(server: Served, path: str, name: str) -> None:
    """A sentence each, with and without a call of the middleware; nothing is made."""
    for method in ("GET", "PUT") if path.startswith("/v1") else ("GET",):
        status, text = server.ask(method, path.format(name), "{}", **server.every)
        assert status == 422, text
        assert text.isprintable() and "is not allowed" in json.loads(text)["detail"]


def test_targets_that_are_no_path(server: Served) -> None:
    """Some of them are refused by a parser itself."""
    for method, target in (
        ("OPTIONS", "*"), ("GET", "healthz"), ("GET", "/h\xffz"), ("GET", "%2Fhealthz"),
    ):  # fmt: skip
        assert server.ask(method, target, **server.every)[0] in (400, 422), target
    assert server.ask("GET", "http://localhost/healthz")[0] == 200


def test_names_in_bodies_can_be_in_paths() -> None:
    with client() as http:
        assert http.put("/v1/experiments/one", json={"arms": [".", "b"]}).status_code == 422
        assert (
            http.put("/v1/experiments/one", json={"arms": ["a.", "...", "%ff"]}).status_code == 201
        )
        assert http.delete("/v1/users/%25ff").json()["visits"] == 0
        batch = {"calls": [{"call": "open", "visit": ".."}]}
        assert http.post("/v1/experiments/one/batch", json=batch).status_code == 422
    with pytest.raises(ValueError, match=r"id = '..' is not allowed"):
        check_name("id", "..")


def test_head_is_get_without_a_body(server: Served) -> None:
    for path in ("/healthz", "/readyz", "/openapi.json", "/", ONE, f"{ONE}/insight", "/metrics"):
        assert server.ask("HEAD", path, **server.every) == (200, ""), path
    assert server.ask("HEAD", "/events/one", **server.every) == (200, "")  # and it ends
    assert server.ask("HEAD", f"{ONE}/visits/none", **server.every) == (404, "")
    assert server.ask("HEAD", f"{ONE}/batch", **server.every) == (405, "")
    assert server.ask("HEAD", ONE) == (401, "")


FORGED = "x\n2026-01-01 00:00:00,000 ERROR sojourn.service: forged\u2028more\x85again\x1b[2J key=1"


@pytest.mark.parametrize("form", ["text", "json"])
def test_one_event_is_one_line(form: str) -> None:
    """Whatever is in its message, its fields or its exception."""
    formatter = logging_configuration(form, "info", ())["formatters"]["lines"]
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter.pop("()")(**formatter))
    log = logging.Logger("sojourn.service")
    log.addHandler(handler)
    log.warning("%s", FORGED, extra={"experiment": FORGED})
    try:
        raise ValueError(FORGED)
    except ValueError:
        log.exception("failed")
    lines = stream.getvalue().splitlines()
    events = [line for line in lines if not line.startswith("  | ")]
    assert len(events) == 2 and all(line.isprintable() for line in lines)
    if form == "json":
        assert [json.loads(line)["message"] for line in lines] == [FORGED, "failed"]
        assert json.loads(lines[0])["experiment"] == FORGED
    else:
        assert 'experiment="x\\n2026' in events[0] and events[1].endswith("service: failed")


def test_the_reference_of_the_api(server: Served) -> None:
    """Open to all, from this service only, and with all that the schema has."""
    status, text = server.ask("GET", "/docs")
    assert status == 200
    shown = unescape(text)
    schema = json.loads(server.ask("GET", "/openapi.json")[1])
    for path, methods in schema["paths"].items():
        for method in methods:
            assert f"<code>{method.upper()} {path}</code>" in shown
    for name, model in schema["components"]["schemas"].items():
        assert f'id="{name}"' in shown
        for field in model.get("properties", {}):
            assert f"<code>{field}</code>" in shown
    assert "<td>from 0 to 1</td>" in shown and "<td>null</td>" in shown
    targets = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert all(target.startswith(("/", "#")) and target[:2] != "//" for target in targets)
    assert {target[1:] for target in targets if target[0] == "#"} <= set(
        re.findall(r'id="(\w+)"', text)
    )
    assert "<style" not in text and not re.search(r"<script>", text)
