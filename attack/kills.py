"""Kill -9 of the service and of its workers, again and again, and stops under load."""

import os
import random
import signal
import time
from functools import partial

from crashes import workers
from service_load import quiet_port

from .ground import Ground, kill, until
from .load import Load
from .tally import DEADLINE, Tally

LIFE = 0.2, 1.2
"""Seconds of load between two kills."""


def kill_service(ground: Ground, tally: Tally, seconds: float, kind: str, many: int = 1) -> None:
    """Kill the service, its workers, or its parent process alone, and start it again."""
    place, port, draw = ground.store(kind), quiet_port(), random.Random(many)
    options = ["--port", str(port), *(["--workers", str(many)] if many > 1 else [])]
    end, kills = time.monotonic() + seconds, 0
    with Load(f"http://127.0.0.1:{port}", place, tally) as load:
        while kills < 2 or time.monotonic() < end:
            with ground.serve(tally, place, *options) as server:
                pid = server.process.pid
                if many > 1:
                    until(lambda pid=pid: len(workers(pid)) == many)
                    kills += kill_a_worker(load, tally, pid, draw)
                load.run_for(draw.uniform(*LIFE))
                crew = workers(pid) if many > 1 else []
                server.stop(signal.SIGKILL)
                kills += 1
                if kills % 3:  # the third time they have to notice it themselves
                    kill(crew)
            gone = until(lambda crew=crew: not any(map(alive, crew)), DEADLINE)
            tally.expect(gone, "workers of a killed parent live on")
            kill(crew)
        with ground.serve(tally, place, *options):
            load.more(50)
            load.finish()
    tally.note = f"{kills} kills"


def kill_a_worker(load: Load, tally: Tally, parent: int, draw: random.Random) -> int:
    """One of several; another one has to take its place."""
    before = workers(parent)
    if not before:
        return 0
    load.run_for(draw.uniform(*LIFE))
    os.kill(draw.choice(before), signal.SIGKILL)
    back = until(lambda: len(workers(parent)) == len(before) and workers(parent) != before)
    tally.expect(back, "a killed worker was not replaced within a minute")
    return 1


def cold_start(ground: Ground, tally: Tally, seconds: float) -> None:
    """Starts with an empty cache: it decides while a child compiles, and the child dies with it."""
    place, port, draw = ground.store("sqlite"), quiet_port(), random.Random(9)
    end, starts = time.monotonic() + seconds, 0
    with Load(f"http://127.0.0.1:{port}", place, tally, clients=2) as load:
        while starts < 2 or time.monotonic() < end:
            starts += 1
            empty = {"NUMBA_CACHE_DIR": str(ground.folder / f"cold{starts}")}
            options = {"interpreted": False, "environment": empty}
            with ground.serve(tally, place, "--port", str(port), **options) as server:
                load.more(20)
                _, page = server.call("GET", "/metrics")
                early = "sojourn_interpreted_experiments 1.0" in page
                tally.expect(early, "it decides only after it has compiled")
                load.run_for(draw.uniform(*LIFE))
                server.stop(signal.SIGKILL)
            gone = until(lambda: not ground.left_over(), DEADLINE)
            tally.expect(gone, "a child that compiles lives on after its parent")
        with ground.serve(tally, place, "--port", str(port)):
            load.more(20)
            load.finish()
    tally.note = f"{starts} starts"


def alive(pid: int) -> bool:
    """Whether there is such a process, and it is no zombie."""
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def same_visits(ground: Ground, tally: Tally, seconds: float) -> None:
    """Many clients of four workers decide for the same three visits; workers are killed."""
    place, port, draw = ground.store("postgres"), quiet_port(), random.Random(3)
    end, kills = time.monotonic() + seconds, 0
    with (
        Load(f"http://127.0.0.1:{port}", place, tally, clients=8, shared=("a", "b", "c")) as load,
        ground.serve(tally, place, "--port", str(port), "--workers", "4") as server,
    ):
        until(lambda: len(workers(server.process.pid)) == 4)
        while kills < 1 or time.monotonic() < end:
            kills += kill_a_worker(load, tally, server.process.pid, draw)
            load.run_for(0.5)
        load.finish()
        tally.expect(server.stop() == 0, "SIGTERM does not end it with exit code 0")
    tally.note = f"{kills} kills, {load.troubles['Conflict']} conflicts"


def stop(ground: Ground, tally: Tally, seconds: float, kind: str, many: int = 1) -> None:
    """SIGTERM under load: what is in flight is answered, and the exit code is 0."""
    place, port = ground.store(kind), quiet_port()
    options = ["--port", str(port), *(["--workers", str(many)] if many > 1 else [])]
    end, stops = time.monotonic() + seconds, 0
    with Load(f"http://127.0.0.1:{port}", place, tally) as load:
        while stops < 1 or time.monotonic() < end:
            with ground.serve(tally, place, *options) as server:
                load.run_for(0.5)
                code = server.stop()
                stops += 1
                tally.expect(code == 0, f"SIGTERM ends it with exit code {code}")
                tally.expect("Traceback" not in server.lines, "a traceback while it stops")
        with ground.serve(tally, place, *options):
            load.more(20)
            load.finish()
    tally.note = f"{stops} stops"


SCENARIOS = {
    "kill-sqlite": (partial(kill_service, kind="sqlite"), 35),
    "kill-postgres": (partial(kill_service, kind="postgres"), 35),
    "kill-postgres-2": (partial(kill_service, kind="postgres", many=2), 40),
    "kill-postgres-4": (partial(kill_service, kind="postgres", many=4), 50),
    "same-visits-4": (same_visits, 30),
    "cold-start": (cold_start, 20),
    "stop-sqlite": (partial(stop, kind="sqlite"), 10),
    "stop-postgres-2": (partial(stop, kind="postgres", many=2), 15),
}
