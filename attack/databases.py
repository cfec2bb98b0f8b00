"""PostgreSQL under the service: killed, hung, absent; arms that come while others serve."""

import os
import signal
import subprocess
import threading
import time
from functools import partial

import httpx
from crashes import kill_server, workers
from service_load import ARMS, quiet_port

from .ground import Ground, until
from .load import TIMEOUT, Load, Looks, lives
from .tally import Tally

LIVELY = {"/healthz": 5.0}
"""Seconds in which a page has to answer whatever the database does."""

SHUTDOWN, ABSENT = 45.0, 25.0
"""Seconds that the service may take to end while the database hangs; that there is none at all."""


def pages(experiment: str = "load") -> dict[str, set[int]]:
    """What is looked at while a database is away, and how it may answer."""
    return {
        "/healthz": {200},
        "/readyz": {200, 503},
        "/metrics": {200, 503},
        f"/v1/experiments/{experiment}": {200, 503},
        f"/v1/experiments/{experiment}/insight": {200, 503},
        "/": {200, 503},
    }


def kill_database(ground: Ground, tally: Tally, seconds: float, many: int = 1) -> None:
    """Kill -9 of PostgreSQL with all its processes; meanwhile 503, then all goes on."""
    place, port = ground.store("postgres"), quiet_port()
    options = ["--port", str(port), *(["--workers", str(many)] if many > 1 else [])]
    url, end, kills = f"http://127.0.0.1:{port}", time.monotonic() + seconds, 0
    with Load(url, place, tally) as load, ground.serve(tally, place, *options) as server:
        load.more(50)
        with Looks(url, pages(), tally, quick=LIVELY):
            while kills < 1 or time.monotonic() < end:
                load.run_for(0.5)
                restart = kill_server(ground.data)
                kills += 1
                try:
                    time.sleep(1.0)
                finally:
                    restart()
                load.more(50)
                lives(server, tally)
        load.finish()
    tally.note = f"{kills} kills"


def hang(ground: Ground, tally: Tally, seconds: float, many: int = 1) -> None:
    """SIGSTOP PostgreSQL, or its connections: every call ends in time, and so does the service."""
    place, port = ground.store("postgres"), quiet_port()
    options = ["--port", str(port), *(["--workers", str(many)] if many > 1 else [])]
    url, end, hangs = f"http://127.0.0.1:{port}", time.monotonic() + seconds, 0
    with Load(url, place, tally, clients=8) as load:
        with ground.serve(tally, place, *options) as server:
            load.more(50)
            with Looks(url, pages(), tally, quick=LIVELY) as looks:
                while hangs < 2 or time.monotonic() < end:
                    load.run_for(0.5)
                    with adding_arms(url, tally), ground.hung(postmaster=hangs % 2 == 0):
                        time.sleep(max(5.0, min(TIMEOUT, end - time.monotonic())))
                    hangs += 1
                    load.more(50)
                    lives(server, tally)
            tally.expect(503 in looks.seen["/readyz"], "/readyz never says 503")
            with ground.hung():
                server.process.terminate()
                try:
                    server.process.wait(SHUTDOWN)
                except subprocess.TimeoutExpired:
                    tally.expect(False, f"SIGTERM does not end it within {SHUTDOWN:g} s")
                    server.process.kill()
        with ground.serve(tally, place, *options):
            load.more(50)
            load.finish()
    tally.note = f"{hangs} hangs"


class adding_arms:  # noqa: N801
    """A thread that adds arms to the experiment, again and again, until the block ends."""

    def __init__(self, url: str, tally: Tally, pause: float = 0.05) -> None:
        self.url, self.tally, self.pause, self.added = url, tally, pause, 0
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._add)

    def _add(self) -> None:
        with httpx.Client(base_url=self.url, timeout=TIMEOUT) as http:
            while not self.stop.wait(self.pause):
                name, began, status = f"arm{self.added}", time.monotonic(), None
                try:
                    answer = http.put(f"/v1/experiments/load/arms/{name}", json={})
                    status = answer.status_code
                except httpx.TransportError:
                    pass
                self.tally.answered(status, time.monotonic() - began, "PUT an arm")
                self.added += status in (200, 201)

    def __enter__(self) -> "adding_arms":
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop.set()
        self.thread.join()


def absent(ground: Ground, tally: Tally, seconds: float) -> None:
    """No database at all, and a worker dies meanwhile: 503 until it is back, and no longer."""
    place, port = ground.store("postgres"), quiet_port()
    url = f"http://127.0.0.1:{port}"
    with (
        Load(url, place, tally) as load,
        ground.serve(tally, place, "--port", str(port), "--workers", "2") as server,
    ):
        load.more(50)
        until(lambda: len(workers(server.process.pid)) == 2)
        restart = kill_server(ground.data)
        try:
            os.kill(workers(server.process.pid)[0], signal.SIGKILL)
            time.sleep(max(ABSENT, seconds))
            lives(server, tally)
        finally:
            restart()
        load.more(50)
        load.finish()
        ready = until(lambda: server.call("GET", "/readyz", timeout=5.0)[0] == 200)
        tally.expect(ready, "not ready a minute after the database is back")
        whole = until(lambda: len(workers(server.process.pid)) == 2)
        tally.expect(whole, "a worker is missing a minute after the database is back")


def new_arms(ground: Ground, tally: Tally, seconds: float) -> None:
    """Arms are added all the time while four workers serve: no call may end in 500."""
    place, port = ground.store("postgres"), quiet_port()
    url = f"http://127.0.0.1:{port}"
    with (
        Load(url, place, tally, clients=8) as load,
        ground.serve(tally, place, "--port", str(port), "--workers", "4") as server,
    ):
        load.more(50)
        with adding_arms(url, tally, pause=0.2) as adding:
            load.run_for(max(3.0, seconds))
        load.finish()
        tally.expect(adding.added > 0, "no arm could be added")
        tally.expect("Traceback" not in server.lines, "a traceback in the log")
    tally.note = f"{adding.added} arms over {len(ARMS)}"


SCENARIOS = {
    "database-killed": (kill_database, 30),
    "database-killed-2": (partial(kill_database, many=2), 30),
    "database-hung": (hang, 45),
    "database-hung-2": (partial(hang, many=2), 45),
    "database-absent-2": (absent, 30),
    "new-arms-4": (new_arms, 15),
}
