"""Floods from callers without a key: the others are served meanwhile, and memory stays as it is.

They come from other addresses of this machine (127.0.0.2 and on) than those who are served.
"""

import resource
import select
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

from service_load import quiet_port
from serving import Server

from .ground import Ground, connect, memory_of
from .load import Load, Looks, lives
from .tally import Tally

ENOUGH = 16 << 20
"""Bytes of headers or of a body that no connection may send, what the kernel buffers included."""

GROWTH = 150.0
"""Megabytes by which the service may grow."""

DESCRIPTORS, IDLE = 1024, 2500
SLOW, PATIENCE = 200, 60.0
"""Slow connections, and seconds in which each has to be ended."""

POST = "POST /v1/experiments/load/visits/flood/decisions HTTP/1.1\r\nhost: localhost\r\n"
JSON = "content-type: application/json\r\n"
TARGETS = {"/healthz": {200}, "/readyz": {200}}
SOURCES = [f"127.0.0.{n}" for n in range(2, 12)]


@contextmanager
def under_load(
    ground: Ground, tally: Tally, *, descriptors: int | None = None
) -> Iterator[tuple[Server, Load]]:
    """A service with keys, and clients who have one; it may not grow, nor end."""
    place, port, (file, (key,)) = ground.store("sqlite"), quiet_port(), ground.keys("load")
    limited = ["sh", "-c", f'ulimit -n {descriptors} && exec "$0" "$@"'] if descriptors else []
    options = ["--port", str(port), "--keys", str(file)]
    with (
        Load(f"http://127.0.0.1:{port}", place, tally, key=key) as load,
        ground.serve(tally, place, *options, under=limited) as server,
    ):
        load.more(50)
        before = memory_of(server.process.pid)
        with Looks(server.url, TARGETS, tally, pause=1.0):
            yield server, load
        lives(server, tally)
        if server.process.poll() is None:
            grown = memory_of(server.process.pid) - before
            tally.expect(grown < GROWTH, f"the service grew by {grown:.0f} MB")
            load.more(50)
            load.finish()


def until_refused(made: socket.socket, start: str, block: bytes) -> tuple[int, int]:
    """Send without end; bytes that were taken, and the status of the answer, 0 if there is none."""
    sent = 0
    with made:
        with suppress(OSError):
            made.sendall(start.encode())
            while sent < 4 * ENOUGH:
                made.sendall(block)
                sent += len(block)
        return sent, status_of(made)


def status_of(made: socket.socket) -> int:
    """The status of the answer to what was sent, 0 if there is none."""
    made.settimeout(5.0)
    try:
        words = made.recv(4096).split(b" ", 2)
    except OSError:
        return 0
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def endless(
    ground: Ground, tally: Tally, seconds: float, ways: dict[str, tuple[str, bytes]]
) -> None:
    """Headers or bodies that do not end."""
    end, most, times = time.monotonic() + seconds, 0, 0
    with under_load(ground, tally) as (server, _), ThreadPoolExecutor(4) as pool:
        while times < 1 or time.monotonic() < end:
            times += 1
            for what, (start, block) in ways.items():

                def send(source: str, start: str = start, block: bytes = block) -> tuple[int, int]:
                    return until_refused(connect(server, source), start, block)

                for sent, status in pool.map(send, SOURCES[:4]):
                    most = max(most, sent)
                    tally.answered(status or None, 0.0, what)
                    tally.expect(sent <= ENOUGH, f"{what}: {sent >> 20} MB were taken")
                    tally.expect(not 200 <= status < 400, f"{what}: answered with {status}")
    tally.note = f"at most {most / 2**20:.1f} MB taken"


HEADERS = {
    "endless headers": ("GET / HTTP/1.1\r\nhost: localhost\r\n", b"x-a: " + b"a" * 1017 + b"\r\n"),
    "an endless header": ("GET / HTTP/1.1\r\nhost: localhost\r\nx-a: ", b"a" * 65536),
    "an endless path": ("GET /", b"a" * 65536),
    "endless trailers": (
        f"{POST}{JSON}transfer-encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n",
        b"x-a: " + b"a" * 1017 + b"\r\n",
    ),
}
BODIES = {
    "a body of 10 GB": (f"{POST}{JSON}content-length: 10000000000\r\n\r\n", b" " * 65536),
    "an endless body": (
        f"{POST}{JSON}transfer-encoding: chunked\r\n\r\n",
        b"10000\r\n" + b" " * 65536 + b"\r\n",
    ),
    "a body to an open page": (
        "POST /login HTTP/1.1\r\nhost: localhost\r\n"
        "content-type: application/x-www-form-urlencoded\r\n"
        "content-length: 10000000000\r\n\r\n",
        b"a" * 65536,
    ),
}


def slow(ground: Ground, tally: Tally, seconds: float) -> None:
    """Requests that come a byte a second, headers or bodies: the service ends them in time."""
    starts = [
        "",
        "GET / HTTP/1.1\r\nhost: localhost\r\nx-a: ",
        f"{POST}{JSON}content-length: 10000\r\n\r\n",
        "POST /login HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10000\r\n"
        "content-type: application/x-www-form-urlencoded\r\n\r\n",
    ]
    with under_load(ground, tally) as (server, _):
        began = time.monotonic()
        slow_ones = {}
        for n in range(SLOW):
            with suppress(OSError):
                made = connect(server, SOURCES[n % len(SOURCES)])
                made.sendall(starts[n % len(starts)].encode())
                slow_ones[made] = n % len(starts)
        while slow_ones and time.monotonic() < began + max(seconds, PATIENCE):
            for made in ended(list(slow_ones)):
                slow_ones.pop(made)
                made.close()
            for made in list(slow_ones):
                with suppress(OSError):
                    made.sendall(b"a")
            time.sleep(1.0)
        took = time.monotonic() - began
        for made in slow_ones:
            made.close()
        kinds = sorted({starts[n].partition(" ")[0] or "nothing" for n in slow_ones.values()})
        tally.calls += SLOW
        tally.unanswered += len(slow_ones)
        tally.expect(not slow_ones, f"{len(slow_ones)} slow requests go on ({', '.join(kinds)})")
    tally.note = f"all ended after {took:.0f} s"


def ended(made: list[socket.socket]) -> list[socket.socket]:
    """The connections that the other side has closed, or answered."""
    poll = select.poll()
    by_number = {one.fileno(): one for one in made}
    for number in by_number:
        poll.register(number, select.POLLIN | select.POLLHUP | select.POLLERR)
    return [by_number[number] for number, _ in poll.poll(0)]


def idle(ground: Ground, tally: Tally, seconds: float) -> None:
    """More idle connections than the service has descriptors; others can connect nevertheless."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    most = min(IDLE, hard - 500) if hard != resource.RLIM_INFINITY else IDLE
    idlers: list[socket.socket] = []
    try:
        with under_load(ground, tally, descriptors=DESCRIPTORS) as (server, load):
            end = time.monotonic() + seconds
            while True:
                refill(server, idlers, most)
                load.run_for(0.5, least=5)
                newcomer(server, tally)
                if time.monotonic() >= end:
                    break
            held = len(idlers) - len(ended(idlers))
            tally.calls += most
    finally:
        for made in idlers:
            made.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    tally.note = f"{held} of {most} held at the end"


def refill(server: Server, idlers: list[socket.socket], most: int) -> None:
    """Replace those that were closed."""
    for made in ended(idlers):
        idlers.remove(made)
        made.close()
    for n in range(most - len(idlers)):
        made = socket.socket()
        made.setblocking(False)
        made.bind((SOURCES[n % len(SOURCES)], 0))
        host, _, port = server.url.removeprefix("http://").rpartition(":")
        made.connect_ex((host, int(port)))
        idlers.append(made)


def newcomer(server: Server, tally: Tally) -> None:
    """Somebody who was not there before gets an answer."""
    began, status = time.monotonic(), None
    with suppress(OSError):
        status = server.call("GET", "/healthz", timeout=20.0)[0]
    took = time.monotonic() - began
    tally.answered(status, took, "GET /healthz on a new connection")
    tally.expect(status == 200, f"a newcomer's GET /healthz: {status}")


def headers(ground: Ground, tally: Tally, seconds: float) -> None:
    """Headers without end."""
    endless(ground, tally, seconds, HEADERS)


def bodies(ground: Ground, tally: Tally, seconds: float) -> None:
    """Bodies without end."""
    endless(ground, tally, seconds, BODIES)


Run = Callable[[Ground, Tally, float], None]
SCENARIOS: dict[str, tuple[Run, float]] = {
    "flood-headers": (headers, 10),
    "flood-bodies": (bodies, 10),
    "flood-slow": (slow, 40),
    "flood-idle": (idle, 15),
}
