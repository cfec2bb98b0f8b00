"""A full disk under SQLite and under PostgreSQL: 503 while it is full, then all goes on."""

import resource
import time

import postgres
import psycopg
from service_load import quiet_port

from .ground import Ground, until
from .load import Load, Looks, lives
from .tally import Tally

LESS_THAN_A_PAGE = 2048
PAGES = {
    "/healthz": {200}, "/readyz": {200, 503}, "/metrics": {200}, "/v1/experiments/load": {200},
    "/": {200},
}  # fmt: skip


def sqlite(ground: Ground, tally: Tally, seconds: float) -> None:
    """The process may not write beyond the first bytes of a file: neither store nor log."""
    place, port = ground.store("sqlite"), quiet_port()
    url = f"http://127.0.0.1:{port}"
    with Load(url, place, tally) as load, ground.serve(tally, place, "--port", str(port)) as server:
        pid = server.process.pid
        _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        load.more(50)

        def fill() -> None:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (LESS_THAN_A_PAGE, hard))

        def free() -> None:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))

        rounds(load, server, tally, seconds, fill, free)


def in_postgres(ground: Ground, tally: Tally, seconds: float) -> None:
    """Every insert of an event fails with the words of a full disk."""
    place, port = ground.store("postgres"), quiet_port()
    url = f"http://127.0.0.1:{port}"
    with (
        Load(url, place, tally) as load,
        ground.serve(tally, place, "--port", str(port)) as server,
        psycopg.connect(place, autocommit=True) as db,
    ):
        load.more(50)

        def fill() -> None:
            db.execute(postgres.FULL_DISK)

        def free() -> None:
            db.execute("DROP TRIGGER full_disk ON sojourn_event; DROP FUNCTION full_disk()")

        rounds(load, server, tally, seconds, fill, free)


def rounds(load, server, tally, seconds, fill, free) -> None:  # type: ignore[no-untyped-def]
    """Full, and free again, until time is up."""
    end, times = time.monotonic() + seconds, 0
    with Looks(server.url, PAGES, tally, quick={"/healthz": 5.0}) as looks:
        while times < 1 or time.monotonic() < end:
            load.run_for(0.5)
            load.troubles.clear()
            fill()
            try:
                met = until(lambda: load.troubles["Unavailable"] >= 3)
                tally.expect(met, "a full disk is not noticed")
                looks.seen["/readyz"].clear()
                ready = until(lambda: 503 in looks.seen["/readyz"], 10.0)
                tally.expect(ready, "/readyz says 200 while the disk is full")
            finally:
                free()
            times += 1
            load.more(50)
            lives(server, tally)
    load.finish()
    tally.expect("Traceback" not in server.lines, "a traceback in the log")
    tally.note = f"{times} times full"


SCENARIOS = {"disk-full-sqlite": (sqlite, 12), "disk-full-postgres": (in_postgres, 12)}
