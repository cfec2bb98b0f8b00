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

from ...live import LiveError
from .play import Plan, Progress, adrive, drive, runner
from .report import Report


def drive_all(plan: Plan, processes: int = 1, progress: Progress | None = None) -> Report:
    """Play the plan in this process, or share its users and visits out among several."""
    if processes == 1:
        return drive(plan, progress)
    context = mp.get_context("spawn")
    workers, pipes = [], []
    for share in shares(plan, processes):
        ours, theirs = context.Pipe()
        worker = context.Process(target=_work, args=(share, theirs), daemon=True)
        worker.start()
        theirs.close()
        workers.append(worker)
        pipes.append(ours)
    try:
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


def shares(plan: Plan, processes: int) -> list[Plan]:
    """A plan for each process, with users and draws of its own.

    >>> from sojourn.lab.paper import SETTINGS
    >>> plan = Plan("http://127.0.0.1:8000", SETTINGS["B"], users=3, visits=100)
    >>> [(p.users, p.visits, p.run) for p in shares(plan, 2)]
    [(2, 67, 0), (1, 33, 1)]
    """
    plans: list[Plan] = []
    for number in range(processes):
        users = len(range(number, plan.users, processes))
        taken = sum(p.visits for p in plans)
        left = plan.users - sum(p.users for p in plans)
        visits = plan.visits if plan.visits == inf else round((plan.visits - taken) * users / left)
        plans.append(replace(plan, users=users, visits=visits, run=plan.run + number))
    return plans


def _work(plan: Plan, pipe: "Connection[Any, Any]") -> None:
    """The life of one process: tell of progress, in the end the report or what went wrong."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the first process, which tells us

    async def until_told() -> Report:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await adrive(plan, lambda *done: pipe.send(done))

    try:
        with runner() as loop:
            pipe.send(loop.run(until_told()))
    except (LiveError, ValueError) as error:
        pipe.send(error)


def _gathered(pipes: Sequence["Connection[Any, Any]"], progress: Progress | None) -> list[Report]:
    """The reports of all processes; the error of the first that failed is raised."""
    done: dict[int, tuple[int, int]] = {}
    reports = []
    going: list[Any] = list(pipes)
    while going:
        for pipe in wait(going):
            said = _heard(pipe)
            if said is None:
                going.remove(pipe)
            elif isinstance(said, Exception):
                raise said
            elif isinstance(said, Report):
                reports.append(said)
            elif progress is not None:
                done[id(pipe)] = said
                progress(sum(v for v, _ in done.values()), sum(s for _, s in done.values()))
    return reports


def _heard(pipe: Any) -> Any:
    """What a process says; None once it has ended."""
    try:
        return pipe.recv()
    except EOFError:
        return None
