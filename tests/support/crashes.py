"""What tests that kill things have in common."""

import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

from sojourn.live import Store, verify


def check(store: Store, said: list[list[str]]) -> None:
    """Everything said is there, and the counters are the fold of what is there."""
    _, events = store.history("load")
    loaded = store.load("load")
    assert loaded is not None
    names = [arm.name for arm in loaded[1]]
    kept = {}
    for event in events:
        key = event.kind, event.visit, str(event.step)
        assert key not in kept
        kept[key] = event
    for kind, visit, step, what in said:
        event = kept[kind, visit, step]
        if kind == "decide":
            assert event.arm is not None and names[event.arm] == what
        if kind == "resolve":
            assert event.reward == float(what)
    assert verify(store, "load") == {}


def wait_until(true) -> None:  # type: ignore[no-untyped-def]
    for _ in range(1200):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("waited for a minute")


def kill_server(folder: Path):  # type: ignore[no-untyped-def]
    """Kill -9 the server and all its processes; returns how to start it again."""
    pid = int((folder / "postmaster.pid").read_text().split()[0])
    command = shlex.split((folder / "postmaster.opts").read_text())
    owner = folder.stat().st_uid
    tasks = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for each in (pid, *map(int, tasks)):
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
