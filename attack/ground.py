"""Where the attack takes place: stores, keys, server processes, and what is left of them."""

import os
import secrets
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import postgres
import psycopg
import serving
from crashes import server_processes
from serving import Server

from .tally import Tally

DURABLE = ("fsync=on", "synchronous_commit=on", "full_page_writes=on", "max_connections=100")
MARK = "SOJOURN_ATTACK"
"""The environment variable by which left-over processes of this attack are known."""


class Ground:
    """A folder, and a PostgreSQL server once there is need of one."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self._stack = folder, stack
        os.environ[MARK] = self.mark = secrets.token_hex(8)
        stack.callback(os.environ.pop, MARK)

    @cached_property
    def postgres(self) -> str:
        """The address of a server that keeps what it has acknowledged."""
        return self._stack.enter_context(postgres.server(DURABLE))

    @cached_property
    def data(self) -> Path:
        """The folder of that server."""
        with psycopg.connect(self.postgres) as db:
            (folder,) = db.execute("SHOW data_directory").fetchone() or ("",)
        return Path(folder)

    def store(self, kind: str) -> str:
        """The address of a new store, "sqlite" or "postgres"."""
        name = f"attack_{secrets.token_hex(4)}"
        if kind == "sqlite":
            return f"sqlite:///{self.folder / name}.db"
        return postgres.database(self.postgres, name)

    @contextmanager
    def serve(self, tally: Tally, store: str, *arguments: str, **how: Any) -> Iterator[Server]:
        """`serving.serve`, and the tally knows when it is ready."""
        with serving.serve(store, *arguments, **how) as server:
            tally.up()
            try:
                yield server
            finally:
                tally.up(False)

    @contextmanager
    def hung(self, *, postmaster: bool = True) -> Iterator[None]:
        """PostgreSQL, stopped: it accepts connections and never says a word.

        Without its `postmaster`, the processes of the connections that there are now.
        """
        stopped: list[int] = []
        try:
            for _ in range(2 if postmaster else 1):  # the second time those that came meanwhile
                for pid in server_processes(self.data):
                    if pid not in stopped and (postmaster or is_connection(pid)):
                        os.kill(pid, signal.SIGSTOP)
                        stopped.append(pid)
            yield
        finally:
            for pid in stopped:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def keys(self, *wanted: str) -> tuple[Path, list[str]]:
        """A file with these keys, each "experiment" or "experiment role", and the keys."""
        from sojourn.service.auth import keys

        file, made = self.folder / f"{secrets.token_hex(4)}.json", []
        for experiment, _, role in (words.partition(" ") for words in wanted):
            made.append(keys.make(file, [experiment], role=role or keys.OWNER)[1])
        return file, made

    def left_over(self) -> list[int]:
        """Processes that were started for this attack and live."""
        mark, found = f"{MARK}={self.mark}".encode(), []
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if int(place.name) != os.getpid() and mark in (place / "environ").read_bytes():
                    found.append(int(place.name))
        return found

    def clean(self, tally: Tally, patience: float = 10.0) -> None:
        """Kill what a scenario has left behind; what does not end by itself fell."""
        end = time.monotonic() + patience
        while (left := self.left_over()) and time.monotonic() < end:
            time.sleep(0.1)
        tally.expect(not left, f"{len(left)} processes live on after their parent")
        kill(left)


def is_connection(pid: int) -> bool:
    """Whether a process of PostgreSQL serves a connection."""
    return b" 127.0.0.1(" in Path(f"/proc/{pid}/cmdline").read_bytes()


def kill(pids: Sequence[int]) -> None:
    """Kill -9, those that are there."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def until(good: Callable[[], Any], seconds: float = 60.0) -> bool:
    """Wait for something; whether it came."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(OSError):
            if good():
                return True
        time.sleep(0.05)
    return False


def memory_of(pid: int) -> float:
    """Megabytes that a process holds now."""
    words = Path(f"/proc/{pid}/statm").read_text().split()
    return int(words[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def connect(server: Server, source: str = "127.0.0.1") -> socket.socket:
    """A connection from an address of this machine, 127.0.0.1 to 127.255.255.254."""
    host, _, port = server.url.removeprefix("http://").rpartition(":")
    made = socket.socket()
    made.settimeout(20.0)
    try:
        made.bind((source, 0))
        made.connect((host, int(port)))
    except OSError:
        made.close()
        raise
    return made
