"""Roles of keys: every route of the service, with every kind of key."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asgi import Caller, client
from starlette.routing import Mount, Route

from sojourn.service import fast_routes
from sojourn.service.auth import keys

V1 = "/v1/experiments/{experiment}"
ALL_ROLES = "decide read owner operator"
EXPECTED = {
    # open to all
    "GET /healthz": "anybody",
    "GET /readyz": "anybody",
    "GET /openapi.json": "anybody",
    "GET /docs": "anybody",
    "GET /login": "anybody",
    "POST /login": "anybody",
    "GET /static/app.css": "anybody",
    # visits
    f"POST {V1}/visits": "decide owner operator",
    f"PUT {V1}/visits/{{visit}}": "decide owner operator",
    f"GET {V1}/visits/{{visit}}": ALL_ROLES,
    f"POST {V1}/visits/{{visit}}/decisions": "decide owner operator",
    f"POST {V1}/visits/{{visit}}/step": "decide owner operator",
    f"PUT {V1}/visits/{{visit}}/decisions/{{step}}/reward": "decide owner operator",
    f"PUT {V1}/visits/{{visit}}/end": "decide owner operator",
    f"POST {V1}/batch": "decide owner operator",
    # reading
    "GET /v1/experiments": "read owner operator",
    f"GET {V1}": "read owner operator",
    f"GET {V1}/ranking": ALL_ROLES,
    f"GET {V1}/insight": "read owner operator",
    "GET /": "read owner operator",
    "GET /experiments/{name}": "read owner operator",
    "GET /events/{name}": "read owner operator",
    "GET /metrics": "read owner operator",  # for all experiments
    # changing an experiment
    f"PUT {V1}": "owner operator",
    f"POST {V1}/arms": "owner operator",
    f"POST {V1}/arms/retire": "owner operator",
    f"PUT {V1}/prior": "owner operator",
    f"PUT {V1}/variants": "owner operator",
    f"GET {V1}/variants": "read owner operator",
    f"PUT {V1}/shares": "owner operator",
    f"DELETE {V1}/shares": "owner operator",
    f"PUT {V1}/exploring": "owner operator",
    f"DELETE {V1}/alarm": "owner operator",
    f"GET {V1}/comparison": "read owner operator",
    f"GET {V1}/shadow": "read owner operator",
    f"GET {V1}/comparison/history": "read owner operator",
    f"GET {V1}/drift": "read owner operator",
    # operating the service
    f"DELETE {V1}": "operator",
    "DELETE /v1/users/{user}": "operator",
    "GET /v1/changes": "operator",
    # not in the table
    "GET /new": "operator",
    f"PUT {V1}/new": "operator",
}
"""Who may take each route: the roles, or anybody."""


async def nothing(*_: Any) -> Any:
    return 200, {}


async def stub(scope: Any, receive: Any, send: Any) -> None:
    """An application that does nothing, with success."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def routes(http: Caller) -> set[str]:
    """All routes of the service, with their methods."""
    found = {f"{call.method} {call.path}" for call in fast_routes.FAST_ROUTES}
    for route in http.app.routes:
        if isinstance(route, Mount):
            assert route.path == "/static"
            found.add("GET /static/app.css")
            continue
        methods = getattr(route, "methods", None) or {"ANY"}
        found |= {f"{method} {route.path}" for method in methods - {"HEAD"}}  # type: ignore[attr-defined]
    return found


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[tuple[Caller, Path]]:
    """A service whose middleware lets through to nothing, and its file of keys."""
    file = tmp_path / "keys.json"
    keys.make(file, ["*"], role="operator")
    with client(keys=file) as http:
        for route in sorted(EXPECTED.keys() - routes(http)):
            method, path = route.split()
            http.app.router.routes.append(Route(path, stub, methods=[method]))
        monkeypatch.setattr(http.app.outermost, "app", stub)
        monkeypatch.setattr(fast_routes, "answer", nothing)
        yield http, file


def test_every_route_with_every_role(service: tuple[Caller, Path]) -> None:
    http, file = service
    assert routes(http) == EXPECTED.keys(), "a new route: who may take it?"
    callers = {
        (role, name): keys.make(file, [name], role=role)[1]
        for role in keys.ROLES
        for name in ("*", "shorts", "news")
        if role != "operator" or name == "*"
    }
    http.app.state.keyring._due = 0.0
    for route, allowed in EXPECTED.items():
        method, path = route.split()
        named = "{experiment}" in path or "{name}" in path
        url = re.sub(r"{(experiment|name)}", "shorts", path).replace("{step}", "1")
        for again in [method, "HEAD"] if method == "GET" else [method]:

            def status(headers: Any, method: str = again, url: str = url) -> int:
                return http.request(method, url, json={}, headers=headers).status_code

            assert status({}) == (200 if allowed == "anybody" else 401), route
            for (role, name), token in callers.items():
                admitted = allowed == "anybody" or (
                    role in allowed.split()
                    and (name != "news" or not named)
                    and (name == "*" or path != "/metrics")
                )
                said = again, path, role, name
                found = status({"authorization": f"Bearer {token}"})
                assert (*said, found) == (*said, 200 if admitted else 403)


def test_what_is_said(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    (decide, d), (owner, o) = (keys.make(file, ["shorts"], role=r) for r in ("decide", "owner"))
    with client(keys=file) as http:

        def said(token: str, method: str, path: str) -> tuple[int, str]:
            head = {"authorization": f"Bearer {token}"}
            answer = http.request(method, path, json={"arms": ["a", "b"]}, headers=head)
            return answer.status_code, answer.json().get("detail", "")

        shorts = "/v1/experiments/shorts"
        needed = f"the key {decide.id} has the role 'decide': this needs the role "
        assert said(d, "PUT", shorts) == (403, f"{needed}'owner' or 'operator'")
        assert said(d, "GET", shorts) == (403, f"{needed}'read', 'owner' or 'operator'")
        assert said(o, "PUT", shorts)[0] == 201
        assert said(o, "GET", "/metrics") == (403, f"the key {owner.id} is not for all experiments")
        # what is not there is not there for anybody with a key
        for token in (d, o):
            assert said(token, "GET", "/nothing") == (404, "there is nothing at /nothing")
            assert said(token, "PATCH", shorts)[0] == 405
            assert said(token, "GET", f"{shorts}/batch")[0] == 405
