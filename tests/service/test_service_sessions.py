"""Sessions of the dashboard: not the key, for reading only, and over when they should be."""

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from asgi import Caller, client

from sojourn.service.auth import keys, sessions
from sojourn.service.dashboard import snapshots

PLAIN = {"arms": ["a", "b"], "policy": {"name": "Uniform"}}
SHORTS = "/v1/experiments/shorts"
TLS = {"x-forwarded-proto": "https"}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[tuple[Caller, Path, keys.Key, str]]:
    """A service with an experiment, its file of keys, and an owner's key."""
    file = tmp_path / "keys.json"
    key, token = keys.make(file, ["shorts"], expires_in_days=1)
    with client(keys=file) as http:
        head = {"authorization": f"Bearer {token}"}
        assert http.put(SHORTS, json=PLAIN, headers=head).status_code == 201
        yield http, file, key, token


def sign_in(http: Caller, token: str, **headers: str) -> httpx.Response:
    return http.post("/login", data={"key": token}, headers=headers)


def cookie_of(answer: httpx.Response) -> dict[str, str]:
    """The header with which a browser sends back the cookie that an answer has set."""
    http_only = answer.headers["set-cookie"]
    assert "HttpOnly" in http_only and "SameSite=strict" in http_only and "Path=/" in http_only
    return {"cookie": "theme=dark; " + http_only.partition(";")[0]}


def test_a_session_reads_and_is_not_the_key(service: tuple[Caller, Path, keys.Key, str]) -> None:
    http, _, _, token = service
    answer = sign_in(http, token)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = cookie_of(answer)
    assert token.split("_", 2)[2] not in str(answer.headers)
    assert "Secure" not in answer.headers["set-cookie"]
    http.http.cookies.clear()
    for path, status in ((SHORTS, 200), ("/", 200), ("/experiments/shorts", 200),
                         ("/v1/experiments/news", 403), ("/events/news", 403)):  # fmt: skip
        assert http.get(path, headers=cookie).status_code == status
    for method, path in (("PUT", f"{SHORTS}/visits/v"), ("PUT", SHORTS), ("DELETE", SHORTS)):
        assert http.request(method, path, json=PLAIN, headers=cookie).status_code == 401
    for name in (sessions.COOKIE, "sojourn_key"):  # the key itself is no session
        assert http.get(SHORTS, headers={"cookie": f"{name}={token}"}).status_code == 401
    wrong = sign_in(http, token, origin="https://evil.example")
    assert wrong.status_code == 403 and "set-cookie" not in wrong.headers


def test_behind_tls_the_cookie_is_secure(service: tuple[Caller, Path, keys.Key, str]) -> None:
    http, _, _, token = service
    answer = sign_in(http, token, **TLS)
    said = answer.headers["set-cookie"]
    assert said.startswith("__Host-") and "Secure" in said and "Domain" not in said
    http.http.cookies.clear()
    cookie = cookie_of(answer)
    assert http.get(SHORTS, headers={**cookie, **TLS}).status_code == 200
    assert "https://localhost" in http.get("/", headers={**cookie, **TLS}).text
    assert http.get(SHORTS, headers=cookie).status_code == 401
    plain = cookie_of(sign_in(http, token))  # one that any page on plain HTTP could have set
    http.http.cookies.clear()
    assert http.get(SHORTS, headers={**plain, **TLS}).status_code == 401
    out = http.post("/login", data={"out": "1"}, headers={**cookie, **TLS})
    said = out.headers["set-cookie"]
    assert said.startswith('__Host-sojourn_session="";') and "Max-Age=0" in said
    assert "Secure" in said  # else browsers would ignore it
    assert http.get(SHORTS, headers={**cookie, **TLS}).status_code == 401


def test_a_key_that_may_not_read_cannot_sign_in(
    service: tuple[Caller, Path, keys.Key, str],
) -> None:
    http, file, _, _ = service
    _, token = keys.make(file, ["shorts"], role="decide")
    http.app.state.keyring._due = 0.0
    answer = sign_in(http, token)
    assert answer.status_code == 403 and "set-cookie" not in answer.headers
    assert "This key has the role decide: it cannot read." in answer.text


def test_forged_sessions(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    (one, _), (other, _) = keys.make(file, ["shorts"]), keys.make(file, ["*"])
    ring = keys.Keyring(file)
    text = ring.sign_in(one)
    id, expires, nonce, mac = text.split(".")
    assert ring.signed_in(text) == one
    assert keys.Keyring(file).signed_in(text) == one  # in every process
    assert ring.sign_in(one) != text
    forged = [
        f"{other.id}.{expires}.{nonce}.{mac}",
        f"{id}.{int(expires) + 1}.{nonce}.{mac}",
        f"{id}.0{expires}.{nonce}.{mac}",
        f"{id}.{expires}.{'0' * 32}.{mac}",
        f"{id}.{expires}.{nonce}.{'0' * 64}",
        f"{id}.{expires}.{nonce}.",
        f"{id}.{expires}..{mac}",
        f"{id}.-1.{nonce}.{mac}",
        f"{id}.{'9' * 5000}.{nonce}.{mac}",
        f"{id}.{expires}.{nonce}.\u0665{mac}",
        f"{id}.\u0665.{nonce}.{mac}",
        text + ".",
        mac,
        "",
        "...",
        sessions.sign(id, keys.NOBODY, int(expires)),
        sessions.sign("none", keys.NOBODY, int(expires)),
    ]
    assert [ring.signed_in(wrong) for wrong in forged] == [None] * len(forged)


def test_sessions_expire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, now = tmp_path / "keys.json", time.time()
    long, short = (keys.make(file, ["*"], days)[0] for days in (None, 0.25))
    ring = keys.Keyring(file)
    texts = [ring.sign_in(key) for key in (long, short)]
    for hours, valid in ((0, [True, True]), (5.9, [True, True]), (6.1, [True, False]),
                         (11.9, [True, False]), (12.1, [False, False])):  # fmt: skip
        monkeypatch.setattr("sojourn.service.auth.keys.time.time", lambda h=hours: now + 3600 * h)
        assert [ring.signed_in(text) is not None for text in texts] == valid


def test_signing_out_ends_the_session_in_all_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "keys.json"
    key, _ = keys.make(file, ["*"])
    monkeypatch.setenv(sessions.FOLDER, str(tmp_path))
    workers = [keys.Keyring(file) for _ in range(2)]
    mine, another = (workers[0].sign_in(key) for _ in range(2))
    workers[1].sign_out(mine)
    workers[1].sign_out("none")
    for ring in (*workers, keys.Keyring(file)):
        assert ring.signed_in(mine) is None
        assert ring.signed_in(another) == key


def test_no_more_is_kept_of_who_signed_out_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "MOST_SIGNED_OUT", 2)
    out, now = sessions.SignedOut(), int(time.time())
    for nonce, expires in (("a", now + 60), ("b", now - 60), ("c", now + 60), ("d", now + 60)):
        out.add(sessions.Session("k", expires, nonce))
    assert [nonce in out for nonce in "abcd"] == [False, False, True, True]


def sign_out(service: tuple[Caller, Path, keys.Key, str], cookie: dict[str, str], _: Any) -> None:
    service[0].post("/login", data={"out": "1"}, headers=cookie)


def revoke(service: tuple[Caller, Path, keys.Key, str], _: Any, __: Any) -> None:
    keys.revoke(service[1], service[2].id)


def expire(_: Any, __: Any, patch: pytest.MonkeyPatch) -> None:
    later = time.time() + 86_401
    patch.setattr("sojourn.service.auth.keys.time.time", lambda: later)


@pytest.mark.parametrize("end", [sign_out, revoke, expire])
def test_an_open_stream_ends_with_its_session(
    service: tuple[Caller, Path, keys.Key, str],
    end: Callable[[Any, Any, Any], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(snapshots, "EVERY", 0.02)
    monkeypatch.setattr(snapshots, "HEARTBEAT", 0.02)
    monkeypatch.setattr(snapshots, "FRESH", 0.0)
    monkeypatch.setattr(keys, "CHECK_AGAIN", 0.0)
    http, _, _, token = service
    cookie = cookie_of(sign_in(http, token))
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "method": "GET", "path": "/events/shorts",
        "raw_path": b"/events/shorts", "query_string": b"", "scheme": "http", "root_path": "",
        "headers": [(b"host", b"localhost"), (b"cookie", cookie["cookie"].encode())],
        "http_version": "1.1", "client": ("127.0.0.1", 1), "server": ("localhost", 80),
    }  # fmt: skip
    messages: list[Any] = []

    async def send(message: Any) -> None:
        messages.append(message)

    async def listen() -> None:
        await http.app(scope, asyncio.Event().wait, send)

    task = asyncio.run_coroutine_threadsafe(listen(), http.loop)
    deadline = time.monotonic() + 30.0
    while len(messages) < 5 and time.monotonic() < deadline:  # start, retry, all, still here
        time.sleep(0.01)
    assert messages[0]["status"] == 200 and not task.done()
    end(service, cookie, monkeypatch)
    task.result(30)
    assert messages[-2]["body"] == b"event: ended\ndata: Signed out.\n\n"
    assert not messages[-1]["more_body"]
    assert http.get(SHORTS, headers=cookie).status_code == 401
