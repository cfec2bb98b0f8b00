"""Who may do what: every route without a key, with a wrong one, with that of another experiment."""

import http.client
import secrets
from collections.abc import Iterator
from typing import Any

from serving import Server

from .ground import Ground
from .load import lives
from .tally import Tally

OPEN = {"/healthz", "/readyz", "/openapi.json", "/login", "/logout", "/favicon.ico", "/docs"}
OTHERS = (
    ("GET", "/metrics"), ("GET", "/"), ("GET", "/experiments/{experiment}"),
    ("GET", "/events/{experiment}"), ("GET", "/events/"), ("GET", "/v1/changes"),
    ("DELETE", "/v1/experiments/{experiment}"), ("DELETE", "/v1/users/u"),
)  # fmt: skip
"""Routes that the schema may not have."""

NAMES = {"experiment": "secret", "visit": "v", "step": "1", "arm": "a", "user": "u"}


def raw(server: Server, method: str, path: str, key: str = "", body: str = "{}") -> int:
    """The status of a call whose path is sent as it is."""
    address = server.url.removeprefix("http://")
    connection = http.client.HTTPConnection(address, timeout=25.0)
    headers = {"content-type": "application/json", "content-length": str(len(body))}
    if key:
        headers["authorization"] = f"Bearer {key}"
    try:
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders(body.encode())
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def routes(server: Server) -> Iterator[tuple[str, str]]:
    """Method and path of every route of the schema, and of the others."""
    described: dict[str, dict[str, Any]] = server.call("GET", "/openapi.json")[1]["paths"]
    for path, methods in described.items():
        if path not in OPEN:
            yield from ((method.upper(), path.format_map(NAMES)) for method in methods)
    yield from ((method, path.format_map(NAMES)) for method, path in OTHERS)


def matrix(ground: Ground, tally: Tally, seconds: float) -> None:
    """No route does anything for those who may not."""
    file, (all_, other) = ground.keys("*", "other")
    wrong = f"sj_{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}"
    with ground.serve(tally, "memory://", "--keys", str(file)) as server:
        secret = server.call("PUT", "/v1/experiments/secret", {"arms": ["a", "b"]}, all_)
        before = server.call("GET", "/v1/experiments/secret", key=all_)
        tally.expect(secret[0] == 201, f"the experiment cannot be made: {secret[0]}")
        for method, path in routes(server):
            callers = {"no key": ("", {401}), "a wrong key": (wrong, {401})}
            if "secret" in path:
                callers["another's key"] = other, {403}
            for who, (key, allowed) in callers.items():
                status = raw(server, method, path, key)
                tally.answered(status or None, 0.0, f"{method} {path}")
                good = status in allowed | {404, 405}
                tally.expect(good, f"{who}: {method} {path} answers {status}")
        tally.expect(
            server.call("GET", "/v1/experiments/secret", key=all_) == before,
            "something was changed without a key",
        )
        listed = server.call("GET", "/v1/experiments", key=other)[1]
        tally.expect("secret" not in str(listed), "another's experiments are listed")
        lives(server, tally)


SCENARIOS = {"access": (matrix, 5)}
