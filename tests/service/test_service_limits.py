"""What a caller without a key can use up, under both parsers: headers, time, connections."""

import json
import logging
import os
import resource
import socket
import time
from collections.abc import Iterator

import pytest
from wire import Wire, all_of, listening, one_of, parsed

from sojourn.service import protocol

LIMIT = 4096
BODY = 100_000
WAIT = 0.4
GET = "GET {} HTTP/1.1\r\nhost: localhost\r\n"
ALIVE = GET.format("/healthz") + "\r\n"
HALF = (
    "PUT /v1/experiments/one HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    'content-length: 99\r\n\r\n{"arms"'
)
CHUNKED = HALF.replace("content-length: 99", "transfer-encoding: chunked").partition('{"')[0]
FILL = "x: " + 95 * "y" + "\r\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Wire]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocol, "EVERY", 0.05)
        with listening(
            largest_headers=LIMIT, header_wait=WAIT, body_wait=4 * WAIT,
            largest_body=BODY, connections=12, peer_connections=8,
        ) as wire:  # fmt: skip
            yield wire


def flood(wire: Wire, first: str, more: str) -> tuple[int, int]:
    """The status of the answer to bytes without end, and how many could be sent."""
    sent = 0
    with wire.connect(first) as connection:
        connection.settimeout(WAIT / 2)
        try:
            while sent < 20 << 20:
                sent += connection.send(more.encode() * 100)
        except OSError:
            pass
        try:
            return parsed(connection.recv(65536))[0], sent
        except OSError:
            return 0, sent


@pytest.mark.parametrize(("first", "more"), [
    (GET.format("/healthz"), FILL), (GET.format("/healthz") + "x: ", "y" * 100),
    ("GET /", "a" * 100), ("", "\r\n" * 50), (CHUNKED + "2\r\n{}\r\n0\r\n", FILL),
    (CHUNKED + "2;", "z" * 100),
], ids=["headers", "value", "target", "empty lines", "trailers", "extension"])  # fmt: skip
def test_headers_do_not_fill_the_memory(server: Wire, first: str, more: str) -> None:
    status, sent = flood(server, first, more)
    assert status in (0, 400, 422, 431)
    assert sent < 16 << 20  # much of which is in the buffers of the sockets
    assert server.ask("GET", "/healthz")[0] == 200


def test_headers_up_to_the_limit(server: Wire) -> None:
    fits = (LIMIT - len(ALIVE)) // len(FILL) * FILL
    for filler, status in ((fits, 200), (fits + FILL, 431)):
        with server.connect(ALIVE[:-2] + filler + "connection: close\r\n\r\n") as connection:
            got, body = parsed(all_of(connection))
            assert got == status, body
            assert status == 200 or "longer than 4096 bytes" in body
    many = ALIVE * (3 * LIMIT // len(ALIVE))  # requests in one packet have no headers in common
    with server.connect(many + ALIVE[:-2] + "connection: close\r\n\r\n") as connection:
        assert all_of(connection).count(b"HTTP/1.1 200") == many.count("GET") + 1


@pytest.mark.parametrize(("sent", "status"), [
    ("", 0), ("GET", 408), (GET.format("/healthz"), 408), (HALF, 408), (CHUNKED, 408),
    (CHUNKED + "2\r\n{", 408),
], ids=["nothing", "word", "headers", "body", "no body", "chunk"])  # fmt: skip
def test_requests_have_to_arrive(server: Wire, sent: str, status: int) -> None:
    with server.connect(sent) as connection:
        got, body = parsed(all_of(connection))  # would not return, were it not closed
        assert got == status
        assert not body or '"too_slow"' in body


@pytest.mark.parametrize("sent", ["hello\r\n\r\n", ALIVE[:-2] + "x\r\n\r\n", CHUNKED + "ZZ\r\n"])
def test_what_is_no_request(server: Wire, caplog: pytest.LogCaptureFixture, sent: str) -> None:
    """It has a sentence like all refusals, also if the application waits for its body."""
    with server.connect(sent) as connection:
        status, body = parsed(all_of(connection))
    assert (status, json.loads(body)["error"]) == (400, "not_http")
    assert server.ask("GET", "/healthz")[0] == 200
    assert not [record for record in caplog.records if record.exc_info]


def closed(connection: socket.socket) -> bool:
    """Whether the server has closed a connection; what there is to read is read."""
    connection.settimeout(0.02)
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def drip(connection: socket.socket) -> None:
    for _ in range(400):
        connection.sendall(b" ")
        time.sleep(0.05)


def test_a_byte_at_a_time_is_no_way_around(server: Wire) -> None:
    """Neither in headers nor in a body, whose request was refused before it."""
    refused = HALF.replace("host: localhost", "host: evil.example")
    for first in (GET.format("/healthz") + "x: ", HALF, refused):
        with server.connect(first) as connection, pytest.raises(OSError, match=r"reset|pipe"):
            drip(connection)


@pytest.mark.parametrize("length", ["content-length: 10000000000", "transfer-encoding: chunked"])
def test_bodies_of_refused_requests_are_not_read_for_ever(server: Wire, length: str) -> None:
    """One that fits into the limit is read, so that its caller reads the answer."""
    first = HALF.partition('{"')[0].replace("localhost", "evil.example")
    short, long = first.replace("99", str(BODY)), first.replace("content-length: 99", length)
    with server.connect(short) as connection:
        assert one_of(connection) == 403
        connection.sendall(b"y" * BODY + ALIVE.encode())
        assert one_of(connection) == 200
    with server.connect(long) as connection:
        assert one_of(connection) == 403
        many = 320 * (b"fff8\r\n" + b"y" * 0xFFF8 + b"\r\n")  # much stays in the sockets' buffers
        with pytest.raises(OSError, match=r"reset|pipe"):
            connection.sendall(many)


def test_connections_in_use_and_streams_stay(server: Wire) -> None:
    made = server.ask("PUT", "/v1/experiments/one", '{"arms": ["a"], "policy": {"name": "UCB"}}')
    assert made[0] in (200, 201)
    stream = server.connect(GET.format("/events/one") + "\r\n")
    kept = server.connect(ALIVE)
    with stream, kept:
        assert one_of(kept) == 200
        time.sleep(3 * WAIT)
        kept.sendall(ALIVE[:20].encode())
        kept.sendall(ALIVE[20:].encode())
        assert one_of(kept) == 200
        got = stream.recv(65536)
        assert got.startswith(b"HTTP/1.1 200") and not closed(stream)


def test_new_connections_take_the_place_of_waiting_ones(
    server: Wire, caplog: pytest.LogCaptureFixture
) -> None:
    idle = [server.connect(ALIVE) for _ in range(8)]
    for connection in idle:
        assert one_of(connection) == 200
    for _ in range(3):
        assert server.ask("GET", "/healthz")[0] == 200
    assert [closed(connection) for connection in idle] == [True] * 1 + [False] * 7
    others = [server.connect(ALIVE, f"127.0.0.{n}") for n in (2, 3, 4, 5, 6)]
    for connection in others:
        assert one_of(connection) == 200
    assert [closed(connection) for connection in others] == [False] * 5
    assert [closed(connection) for connection in idle] == [True] * 1 + [False] * 7
    last = server.connect(ALIVE, "127.0.0.7")
    assert one_of(last) == 200
    assert [closed(connection) for connection in idle][:3] == [True, True, False]
    for connection in (*idle, *others, last):
        connection.close()
    said = [record.getMessage() for record in caplog.records]
    assert "8 connections are open from one address: waiting ones are closed for new ones" in said
    assert "12 connections are open: waiting ones are closed for new ones" in said
    assert len(said) == len(set(said))  # each once in a minute


def test_connections_at_work_are_not_closed_for_others(server: Wire) -> None:
    busy = [server.connect(HALF) for _ in range(8)]
    until = time.monotonic() + 20
    while (status := server.ask("GET", "/healthz")[0]) == 200:
        assert time.monotonic() < until
    assert status == 503
    with server.connect(ALIVE, "127.0.0.2") as other:  # others have room
        assert one_of(other) == 200
    for connection in busy:
        assert parsed(all_of(connection))[0] == 408
        connection.close()
    assert 'status="408"' in server.ask("GET", "/metrics")[1]


def test_the_limit_of_descriptors_is_raised() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lower = min(512, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (lower, hard))
        limit = protocol.raise_descriptors()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == limit
        assert limit == (
            hard if 0 < hard < protocol.MOST_DESCRIPTORS else protocol.MOST_DESCRIPTORS
        )
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_shortage_of_descriptors_is_logged(
    server: Wire, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise OSError(24, "Too many open files")

    with server.connect(), caplog.at_level(logging.WARNING), monkeypatch.context() as patch:
        patch.setattr(protocol.os, "open", fail)
        end = time.monotonic() + 20
        while "cannot be accepted: Too many open files" not in caplog.text:
            assert time.monotonic() < end
            time.sleep(0.02)
    assert os.open is not fail
