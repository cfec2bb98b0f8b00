"""Durable steps per second: the package's stores against memory only and against the usual design.

All of them take turns in every round, under the same load (`benchmarks.load`), each time in a new
file or database on the disk of the temporary folder, with PostgreSQL's own fsync on. First in this
process, then over HTTP, with the server on one core and the load on another.
"""

import gc
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from sojourn.live import Ask, Experiment, Opening

from . import naive
from .load import ARMS, EXPERIMENT, STEPS, VISITS, in_loop, in_threads
from .plans import Plan
from .report import Table, number

HOME = Path(__file__).parents[1]
sys.path.insert(0, str(HOME / "tests" / "support"))

DURABLE = ("fsync=on", "synchronous_commit=on", "full_page_writes=on", "max_connections=100")
CEILING, USUAL = "memory only", "a transaction a request"
STORES = ("SQLite", "PostgreSQL")
OF_CEILING, TIMES_NAIVE = 0.6, 5.0
"""The goals."""

NAMES = tuple(str(arm) for arm in range(ARMS))


@dataclass(frozen=True)
class Places:
    """Where to put new stores."""

    folder: Path
    postgres: str

    def new(self, kind: str, name: str) -> str:
        """The address of an empty store."""
        if kind == "SQLite":
            return f"sqlite:///{self.folder / name}.db"
        import psycopg

        with psycopg.connect(self.postgres, autocommit=True) as db:
            db.execute(f"CREATE DATABASE {name}")
        return f"{self.postgres.rsplit('/', 1)[0]}/{name}"


def experiment_in_process(url: str, seconds: float) -> dict[str, Any]:
    """The engine of the package, called from one event loop."""
    with Experiment(EXPERIMENT, NAMES, store=url, seed=1) as experiment:
        experiment.compile()

        async def decide(visit: str, reward: float | None) -> Any:
            opening = Opening() if reward is None else None
            return await experiment.adecide(visit, Ask(reward=reward, opening=opening))

        async def end(visit: str, reward: float) -> Any:
            return await experiment.get(visit).aend(reward)

        return in_loop(decide, end, seconds)


def naive_in_process(url: str, seconds: float) -> dict[str, Any]:
    """A transaction for each request, called from a thread for each visit."""
    server = naive.at(url)
    try:
        return in_threads(server, seconds)
    finally:
        server.close()


def over_http(command: list[str], url: str, seconds: float) -> dict[str, Any]:
    """Start a server, wait for it, and let another process load it."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    port = _free_port()
    words = [word.format(url=url, port=port) for word in command]
    start = [sys.executable, "-m", *words]
    with subprocess.Popen(start, cwd=HOME, stdout=subprocess.DEVNULL) as server:
        try:
            _pin(server.pid, cores[:1])
            _prepare(port)
            load = [sys.executable, "-m", "benchmarks.load", str(port), str(seconds)]
            with subprocess.Popen(load, cwd=HOME, stdout=subprocess.PIPE) as client:
                _pin(client.pid, cores[1:2])
                answer, _ = client.communicate()
            found: dict[str, Any] = json.loads(answer)
            return found
        finally:
            server.terminate()


def _pin(process: int, cores: list[int]) -> None:
    if cores:
        os.sched_setaffinity(process, cores)


def _prepare(port: int) -> None:
    """Wait for the server, and make the experiment and its code; the usual design needs none."""
    body = json.dumps({"arms": NAMES}).encode()
    for _ in range(600):
        try:
            link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            link.request("GET", "/readyz")
            if link.getresponse().read() is not None:
                break
        except OSError:
            time.sleep(0.1)
    link.request("PUT", f"/v1/experiments/{EXPERIMENT}", body, {"content-type": "application/json"})
    link.getresponse().read()
    while True:
        link.request("GET", "/metrics")
        if b"sojourn_interpreted_experiments 1.0" not in link.getresponse().read():
            break
        time.sleep(0.5)
    link.close()


def _free_port() -> int:
    import small

    return small.free_port()


OURS = ["sojourn", "serve", "--log-level", "warning", "--store", "{url}", "--port", "{port}"]
THEIRS = ["benchmarks.naive_service", "{url}", "{port}"]
Way = Callable[[str, float], dict[str, Any]]


def contenders() -> dict[tuple[str, str], tuple[str, Way]]:
    """(how it is called, design): the kind of store, and how to measure."""
    ways: dict[str, tuple[Way, Way]] = {
        "in process": (experiment_in_process, naive_in_process),
        "over HTTP": (partial(over_http, OURS), partial(over_http, THEIRS)),
    }
    found: dict[tuple[str, str], tuple[str, Way]] = {}
    for how, (ours, theirs) in ways.items():
        found[how, CEILING] = "memory", ours
        for kind in STORES:
            found[how, kind] = kind, ours
            found[how, f"{kind}, {USUAL}"] = kind, theirs
    return found


@contextmanager
def places() -> Iterator[Places]:
    """A folder on a disk, and a PostgreSQL server that is as durable as it can be."""
    import postgres

    with (
        tempfile.TemporaryDirectory(prefix="sojourn-bench") as folder,
        postgres.server(DURABLE) as url,
    ):
        yield Places(Path(folder), url)


@contextmanager
def all_cores() -> Iterator[None]:
    """Undo the pinning to one core for a while: a database and a load need some of their own."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def measure(plan: Plan) -> list[dict[str, Any]]:
    """A row for each contender, the median over rounds; the first round is not counted."""
    gc.collect()
    gc.freeze()  # as the service does: the calls of none should wait for a look through modules
    known = contenders()
    rounds: dict[tuple[str, str], list[dict[str, Any]]] = {key: [] for key in known}
    with all_cores(), places() as where:
        for turn in range(plan.serving_rounds + 1):
            for n, (key, (kind, way)) in enumerate(known.items()):
                url = "memory://" if kind == "memory" else where.new(kind, f"s{turn}x{n}")
                rounds[key].append(way(url, plan.serving_seconds if turn else 0.3))
    return rows(rounds)


def rows(rounds: dict[tuple[str, str], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Medians over rounds; what is compared is compared within a round."""
    return [
        {"how": how, "design": design}
        | {c: median(r[c] for r in found[1:]) for c in ("steps", "p50", "p99")}
        | {
            "of_ceiling": compared(found, rounds[how, CEILING]),
            "times_naive": compared(found, rounds.get((how, f"{design}, {USUAL}"))),
        }
        for (how, design), found in rounds.items()
    ]


def compared(ours: list[dict[str, Any]], theirs: list[dict[str, Any]] | None) -> float | None:
    """The ratio of steps per second."""
    if theirs is None:
        return None
    pairs = zip(ours[1:], theirs[1:], strict=True)
    return median(one["steps"] / other["steps"] for one, other in pairs)


def verdict(row: dict[str, Any]) -> str:
    """Whether a row reaches the goals, or which of them it does not yet."""
    if row["times_naive"] is None:
        return ""
    goals = [
        words
        for words, reached in (
            (f"{OF_CEILING:.0%} of the ceiling", row["of_ceiling"] >= OF_CEILING),
            (f"{TIMES_NAIVE:g} times", row["times_naive"] >= TIMES_NAIVE),
        )
        if not reached
    ]
    return f"goal: {', '.join(goals)}" if goals else "reached"


def table(rows: list[dict[str, Any]]) -> Table:
    """As text."""
    return Table(
        f"Serving: durable steps per second, {VISITS} visits at a time, {ARMS} arms, Learned IMED",
        (
            "called", "store", "verdict", "steps/s", "p50 ms", "p99 ms", "of memory only",
            f"times {USUAL}",
        ),
        [
            (
                r["how"], r["design"], verdict(r), number(r["steps"]), number(r["p50"]),
                number(r["p99"]), f"{r['of_ceiling']:.0%}", number(r["times_naive"]),
            )
            for r in rows
        ],
        f"Goals: {OF_CEILING:.0%} of memory only and {TIMES_NAIVE:g} times the usual design, "
        f"in which every request is a transaction. Visits of {STEPS} steps; a step is a reward "
        "and the next arm in one call, answered when both are on disk.",
        left=3,
    )  # fmt: skip
