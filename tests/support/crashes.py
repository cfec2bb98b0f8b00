"""What tests that kill things have in common."""

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from sojourn.live import Part, Store, verify
from sojourn.live.archiving import events_in
from sojourn.live.stores.base import loaded


class Audit(NamedTuple):
    """What a store has not kept of what was said, what it has twice, and counters that differ."""

    lost: list[list[str]]
    doubled: list[tuple[str, str, str]]
    differing: dict[Any, Any]


def audit(
    store: Store,
    said: list[list[str]],
    *,
    everything: bool = False,
    experiments: tuple[str, ...] = ("load",),
    archive: Path | None = None,
) -> Audit:
    """Compare events with what was acknowledged: kind, visit, step, arm or reward.

    `everything` says that nothing was done that was not acknowledged: more of it counts as doubled.
    `experiments` are those that the visits are in: several for one with variants. Some may be in an
    `archive`.
    """
    names = [arm.name for arm in loaded(store, experiments[0]).arms]
    kept: dict[tuple[str, str, str], Any] = {}
    doubled, differing = [], {}
    for experiment in experiments:
        differing |= verify(store, experiment, archive)
        parts = store.series(Part, experiment)
        archived = [] if archive is None else events_in(store, parts, archive)
        for event in chain(store.events(experiment), *archived):
            key = event.kind, event.visit, str(event.step)
            if key in kept:
                doubled.append(key)
            kept[key] = event
    if everything:
        doubled += sorted(kept.keys() - {(kind, visit, step) for kind, visit, step, _ in said})

    def there(kind: str, visit: str, step: str, what: str) -> bool:
        event = kept.get((kind, visit, step))
        if event is None:
            return False
        if kind == "decide":
            return event.arm is not None and names[event.arm] == what
        return kind != "resolve" or event.reward == float(what)

    return Audit([line for line in said if not there(*line)], doubled, differing)


def check(store: Store, said: list[list[str]], **how: Any) -> None:
    """Everything said is there, and the counters are the fold of what is there."""
    assert audit(store, said, **how) == Audit([], [], {})


def wait_until(true) -> None:  # type: ignore[no-untyped-def]
    for _ in range(1200):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("waited for a minute")


def children(parent: int) -> list[int]:
    """The processes that a process has started and that live."""
    return [int(p) for p in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def workers(parent: int) -> list[int]:
    """The processes that serve, of the one that looks after them."""
    found = []
    for child in children(parent):
        try:
            words = Path(f"/proc/{child}/cmdline").read_bytes()
        except OSError:
            continue
        if b"spawn_main" in words:
            found.append(child)
    return found


def server_processes(folder: Path) -> list[int]:
    """The processes of the PostgreSQL server with this folder, its postmaster first."""
    pid = int((folder / "postmaster.pid").read_text().split()[0])
    return [pid, *children(pid)]


def kill_server(folder: Path):  # type: ignore[no-untyped-def]
    """Kill -9 the server and all its processes; returns how to start it again."""
    command = shlex.split((folder / "postmaster.opts").read_text())
    owner = folder.stat().st_uid
    for each in server_processes(folder):
        os.kill(each, signal.SIGKILL)

    def restart() -> None:
        programs = Path(command[0]).parent
        options = shlex.join(command[1:])
        start = [str(programs / "pg_ctl"), "-D", str(folder), "-o", options, "-w", "start"]
        for _ in range(20):
            user = owner if os.geteuid() == 0 else None
            done = subprocess.run(
                start, user=user, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env={"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC"}, check=False,
            )  # fmt: skip
            if done.returncode == 0:
                return
            time.sleep(0.5)
        raise AssertionError("PostgreSQL did not start again")

    return restart


@contextmanager
def frozen(url: str) -> Iterator[None]:
    """The database hangs: connections stay open, and nothing answers."""
    with psycopg.connect(url) as db:
        (folder,) = db.execute("SHOW data_directory").fetchone() or ("",)
    stopped = []
    while stopped != (found := server_processes(Path(folder))):
        stopped = found
        for each in found:
            os.kill(each, signal.SIGSTOP)
    try:
        yield
    finally:
        for each in reversed(stopped):
            os.kill(each, signal.SIGCONT)
