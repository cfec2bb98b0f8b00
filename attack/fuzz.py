"""What no client would send: by the schema, against it, odd paths, and bytes that are no HTTP."""

import random
import socket
import time
from collections.abc import Iterator
from contextlib import suppress

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from .access import OPEN, raw
from .ground import Ground, connect
from .load import TIMEOUT, lives
from .tally import Tally

SHORTS = "/v1/experiments/shorts"


def by_schema(ground: Ground, tally: Tally, seconds: float) -> None:
    """Schemathesis: every operation in turn, until time is up."""
    end, seed = time.monotonic() + seconds, 0
    with ground.serve(tally, ground.store("sqlite")) as server:
        server.call("PUT", SHORTS, {"arms": ["dance", "cooking", "news"]})
        schema = schemathesis.openapi.from_dict(server.call("GET", "/openapi.json")[1])
        operations = [found.ok() for found in schema.get_all_operations()]
        while seed < 1 or time.monotonic() < end:
            seed += 1
            for operation in operations:
                try_out(operation, server, tally, seed, end)
        lives(server, tally)
        tally.expect("Traceback" not in server.lines, "a traceback in the log")
    tally.note = f"{len(operations)} operations"


def try_out(operation, server, tally, seed, end) -> None:  # type: ignore[no-untyped-def]
    """Some cases of one operation, half of them about what is there."""

    @settings(
        max_examples=20, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy())
    def check(case: schemathesis.Case) -> None:
        if time.monotonic() > end:
            return
        names = case.path_parameters or {}
        if "experiment" in names and len(str(case.body)) % 4:
            names["experiment"] = "shorts"
            if "visit" in names:
                names["visit"] = f"v{len(str(case.body)) % 3}"
                server.call("PUT", f"{SHORTS}/visits/{names['visit']}", {}, timeout=TIMEOUT)
        began, what = time.monotonic(), f"{case.method} {case.path}"
        try:
            answer = case.call(base_url=server.url, timeout=TIMEOUT)
        except OSError as error:
            tally.answered(None, time.monotonic() - began, what)
            tally.expect(False, f"{what}: {type(error).__name__}")
            return
        tally.answered(answer.status_code, time.monotonic() - began, what)
        try:
            case.validate_response(answer, excluded_checks=[positive_data_acceptance])
        except Exception as error:  # whatever it has found
            tally.wrong += 1
            tally.expect(False, f"{what} is not as the schema says: {str(error)[:300]}")

    check._hypothesis_internal_use_seed = seed  # type: ignore[attr-defined]
    check()


PIECES = (
    "%2F", "%2f", "/", "//", "..", ".", "%2e%2e", "%2E", "static", "v1", "experiments", "secret",
    "visits", "decisions", "step", "login", "healthz", "%00", "%ff", "%0A", "%0d%0a", "\\", ";",
    "?", "#", "%", "%zz", "%252F", "metrics", "events", "batch", "{}", "*", "~", "%C3%A9", "+", "@",
    "http://localhost/", "%1f",
)  # fmt: skip
DECIDE = "v1/experiments/secret/visits/v/decisions"
DOORS = (
    f"%2Fstatic%2F/{DECIDE}", f"/%2Fstatic%2F/{DECIDE}", f"/static/..%2F{DECIDE}",
    f"/static%2F/{DECIDE}", f"/static//{DECIDE}", f"static/{DECIDE}", f"%2Flogin/{DECIDE}",
    f"//{DECIDE}", f"/login/../{DECIDE}", f"/login%2F..%2F{DECIDE}", f"/./{DECIDE}",
    "/static/%2e%2e/v1/experiments/secret", "/healthz%2F..%2Fmetrics", "/metrics%3f/static/",
    "/v1/experiments/other%2F..%2Fsecret", "/v1/experiments/other/../secret",
    "/v1/experiments/%73ecret", "/v1%2Fexperiments%2Fsecret", f"/%76%31/{DECIDE[3:]}",
    f"http://localhost/{DECIDE}", f"http://localhost/static/{DECIDE}", f"/{DECIDE}?/static/", "*",
)  # fmt: skip
"""Paths by which somebody might get in without a key."""


def paths(ground: Ground, tally: Tally, seconds: float) -> None:
    """Odd paths without a key; those that exist with another's key, too."""
    end, (file, (all_, other)) = time.monotonic() + seconds, ground.keys("*", "other")
    options = ["--keys", str(file)]
    with ground.serve(tally, "memory://", *options) as server:
        server.call("PUT", "/v1/experiments/secret", {"arms": ["a", "b"]}, all_)
        before = server.call("GET", "/v1/experiments/secret", key=all_)
        ask(DOORS, server, other, tally, "another's key", time.monotonic() + 60)
        ask(odd_paths(random.Random(1)), server, "", tally, "no key", end)
        now = server.call("GET", "/v1/experiments/secret", key=all_)
        tally.expect(now == before, "something was changed without a key")
        visit = server.call("GET", "/v1/experiments/secret/visits/v", key=all_)[0]
        tally.expect(visit == 404, "a visit was opened without a key")
        lives(server, tally)
        tally.expect("Traceback" not in server.lines, "a traceback in the log")


def odd_paths(draw: random.Random) -> Iterator[str]:
    """The doors, and then made-up ones without end."""
    yield from DOORS
    while True:
        pieces = [draw.choice(PIECES) + draw.choice(("/", "")) for _ in range(draw.randint(1, 9))]
        yield ("" if draw.random() < 0.1 else "/") + "".join(pieces)


def ask(paths, server, key, tally, who, end) -> None:  # type: ignore[no-untyped-def]
    """None of these may lead to what is not open to all, or end in 500."""
    for path, method in ((p, m) for p in paths for m in ("GET", "POST", "PUT", "DELETE")):
        if (began := time.monotonic()) > end:
            return
        status = raw(server, method, path, key)
        tally.answered(status or None, time.monotonic() - began, f"{who}: {method} {path}")
        asked = path.removeprefix("http://localhost").partition("?")[0].partition("#")[0]
        is_open = asked in OPEN or asked.startswith("/static/")
        tally.expect(not 200 <= status < 300 or is_open, f"{who}: {method} {path} gives {status}")


def bytes_(ground: Ground, tally: Tally, seconds: float) -> None:
    """Requests with some bytes changed, doubled or cut: the service lives, and says no 500."""
    end, draw = time.monotonic() + seconds, random.Random(2)
    body = '{"opening": {}, "request": "r"}'
    good = (
        f"POST {SHORTS}/visits/v/decisions HTTP/1.1\r\nhost: localhost\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}"
    ).encode()
    with ground.serve(tally, "memory://") as server:
        server.call("PUT", SHORTS, {"arms": ["a", "b"]})
        while time.monotonic() < end:
            began = time.monotonic()
            status = sent(connect(server), changed(good, draw))
            tally.answered(status or None, min(1.0, time.monotonic() - began), "odd bytes")
        lives(server, tally)
        status = server.call("GET", SHORTS, timeout=TIMEOUT)[0]
        tally.expect(status == 200, f"GET {SHORTS} answers {status}")
        tally.expect("Traceback" not in server.lines, "a traceback in the log")


def changed(good: bytes, draw: random.Random) -> bytes:
    """A request with a few mistakes."""
    made = bytearray(good)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(made))
        kind = draw.randrange(4)
        if kind == 0:
            made[at] = draw.randrange(256)
        elif kind == 1:
            made[at:at] = draw.randbytes(draw.randint(1, 20))
        elif kind == 2:
            del made[at : at + draw.randint(1, 20)]
        else:
            made[at:at] = made[max(0, at - 30) : at]
    return bytes(made)


def sent(made: socket.socket, text: bytes) -> int:
    """The status of the answer; 0 if there is none to what is no whole request."""
    with made, suppress(OSError, ValueError, IndexError):
        made.settimeout(0.2)
        made.sendall(text)
        return int(made.recv(4096).split(b" ", 2)[1])
    return 0


SCENARIOS = {"fuzz-schema": (by_schema, 30), "fuzz-paths": (paths, 20), "fuzz-bytes": (bytes_, 8)}
