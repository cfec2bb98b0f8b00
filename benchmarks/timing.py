"""Timing: the best of several repetitions, taken in turns, on one core.

Time is that of the processor, not of the wall clock: others may be using the machine.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import process_time

Work = Callable[[], float]
"""Does the work and returns how many steps it was."""


@contextmanager
def one_core() -> Iterator[str]:
    """Keep this process, and those it starts, on one core; says whether that worked."""
    if not hasattr(os, "sched_setaffinity"):
        yield "not pinned to a core: this system has no sched_setaffinity"
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield "pinned to one core"
    finally:
        os.sched_setaffinity(0, allowed)


def seconds_and_steps(work: Work) -> tuple[float, float]:
    """How long `work` took, and how many steps it was."""
    begin = process_time()
    steps = work()
    return process_time() - begin, steps


def race(jobs: Mapping[str, Work], rounds: int, patience: float) -> dict[str, float]:
    """Nanoseconds a step of every job, the best of several rounds.

    In a round every job runs once, so that a slow spell of the machine hits all alike. A job
    that has taken `patience` seconds in all is left out of further rounds, from the third on.
    """
    best = dict.fromkeys(jobs, float("inf"))
    spent = dict.fromkeys(jobs, 0.0)
    for i in range(rounds):
        for name, work in jobs.items():
            if i >= 2 and spent[name] > patience:
                continue
            seconds, steps = seconds_and_steps(work)
            spent[name] += seconds
            best[name] = min(best[name], 1e9 * seconds / steps)
    return best
