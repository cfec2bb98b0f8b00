"""Several processes that drive one service together."""

import asyncio
import multiprocessing as mp
import signal
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from math import inf
from multiprocessing.connection import Connection, wait
from operator import add
from typing import Any

from sojourn.live import LiveError
from sojourn.validation import InputError

from .report import LoadReport
from .traffic import OnProgress, Traffic, adrive, drive, runner


def drive_all(
    traffic: Traffic, processes: int = 1, progress: OnProgress | None = None
) -> LoadReport:
    """Run the traffic in this process, or divide its users and visits among several."""
    if processes == 1:
        return drive(traffic, progress)
    context = mp.get_context("spawn")
    workers, pipes = [], []
    for share in shares(traffic, processes):
        ours, theirs = context.Pipe()
        worker = context.Process(target=_work, args=(share, theirs), daemon=True)
        worker.start()
        theirs.close()
        workers.append(worker)
        pipes.append(ours)
    try:
        reports = _gathered(pipes, progress)
    except KeyboardInterrupt:
        for worker in workers:
            worker.terminate()
        reports = _gathered(pipes, None)
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()
    if not reports:
        raise KeyboardInterrupt
    return reduce(add, reports)


def shares(traffic: Traffic, processes: int) -> list[Traffic]:
    """The traffic of each process, with users and draws of its own.

    >>> from sojourn.paper import SETTINGS
    >>> both = Traffic("http://127.0.0.1:8000", SETTINGS["B"], users=3, visits=100)
    >>> [(one.users, one.visits, one.run) for one in shares(both, 2)]
    [(2, 67, 0), (1, 33, 1)]
    """
    found: list[Traffic] = []
    visits_left, users_left = traffic.visits, traffic.users
    for number in range(processes):
        users = len(range(number, traffic.users, processes))
        visits = inf if traffic.visits == inf else round(visits_left * users / users_left)
        found.append(replace(traffic, users=users, visits=visits, run=traffic.run + number))
        visits_left, users_left = visits_left - visits, users_left - users
    return found


def _work(traffic: Traffic, pipe: "Connection[Any, Any]") -> None:
    """One worker process: sends progress, and in the end its report or its error."""
    # Ctrl-C reaches all processes: the parent handles it and terminates the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    async def until_terminated() -> LoadReport:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await adrive(traffic, lambda *done: pipe.send(done))

    try:
        with runner() as loop:
            pipe.send(loop.run(until_terminated()))
    except (LiveError, InputError) as error:
        pipe.send(error)


def _gathered(
    pipes: Sequence["Connection[Any, Any]"], progress: OnProgress | None
) -> list[LoadReport]:
    """The reports of all processes; the error of the first that failed is raised."""
    done: dict[int, tuple[int, int]] = {}
    reports = []
    running: list[Any] = list(pipes)
    while running:
        ready: list[Any] = wait(running)
        for pipe in ready:
            try:
                message = pipe.recv()
            except EOFError:  # the process has ended
                running.remove(pipe)
                continue
            if isinstance(message, Exception):
                raise message
            if isinstance(message, LoadReport):
                reports.append(message)
            elif progress is not None:
                done[id(pipe)] = message
                progress(sum(v for v, _ in done.values()), sum(s for _, s in done.values()))
    return reports
