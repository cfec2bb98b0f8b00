"""Who may do what: every route without a key, with a wrong one, of another experiment or role."""

import http.client
import secrets
from collections.abc import Iterator
from typing import Any

import httpx
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

FOR_OPERATORS = {
    ("DELETE", "/v1/experiments/secret"), ("DELETE", "/v1/users/u"), ("GET", "/v1/changes"),
}  # fmt: skip
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
    """No route does anything for those who may not; keys of a role do no more than it may."""
    wrong = f"sj_{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}"
    file, (all_, other, decide, read, owner) = ground.keys(
        "* operator", "other owner", "secret decide", "secret read", "secret owner"
    )
    with ground.serve(tally, "memory://", "--keys", str(file)) as server:
        made = server.call("PUT", "/v1/experiments/secret", {"arms": ["a", "b"]}, all_)
        tally.expect(made[0] == 201, f"the experiment cannot be made: {made[0]}")
        before = server.call("GET", "/v1/experiments/secret", key=all_)
        for method, path in routes(server):
            about = "/secret" in path
            deciding = any(word in path for word in ("/visits", "/batch", "/ranking"))
            for who, key, refused, status in (
                ("no key", "", True, 401),
                ("a wrong key", wrong, True, 401),
                ("another's key", other, about, 403),
                ("a key to read", read, method != "GET", 403),
                ("a key to decide", decide, not deciding, 403),
                ("an owner's key", owner, (method, path) in FOR_OPERATORS, 403),
            ):
                if refused:
                    found = raw(server, method, path, key)
                    tally.answered(found or None, 0.0, f"{method} {path}")
                    good = found in (status, 404, 405)
                    tally.expect(good, f"{who}: {method} {path} answers {found}")
        now = server.call("GET", "/v1/experiments/secret", key=all_)
        tally.expect(now == before, "something was changed without a key")
        listed = server.call("GET", "/v1/experiments", key=other)[1]
        tally.expect("secret" not in str(listed), "another's experiments are listed")
        session(server, tally, read)
        lives(server, tally)


def session(server: Server, tally: Tally, key: str) -> None:
    """A session of the dashboard is not the key, changes nothing, and no other is taken for it."""
    http = httpx.Client(base_url=server.url)
    with http:
        http.post("/login", data={"key": key})
        cookies = dict(http.cookies)
        tally.expect(bool(cookies), "signing in gives no session")
        tally.expect(key not in str(cookies), "the session is the key itself")
        status = http.get("/experiments/secret").status_code
        tally.expect(status == 200, f"a session: GET /experiments/secret answers {status}")
        status = http.put("/v1/experiments/secret/visits/w", json={}).status_code
        tally.expect(status == 401, f"a session: PUT of a visit answers {status}")
        for name, value in cookies.items():
            for forged in (value[:-1] + ("0" if value[-1] != "0" else "1"), value[:8], key):
                http.cookies = httpx.Cookies({name: forged})
                status = http.get("/v1/experiments/secret").status_code
                tally.expect(status == 401, f"a forged session: answered with {status}")
            http.cookies = httpx.Cookies({name: value})
            http.post("/login", data={"out": "1"})
            http.cookies = httpx.Cookies({name: value})
            status = http.get("/v1/experiments/secret").status_code
            tally.expect(status == 401, f"a session that was signed out: answered with {status}")


SCENARIOS = {"access": (matrix, 5)}
