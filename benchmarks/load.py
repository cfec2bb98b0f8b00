"""The load of the serving benchmark: 64 visits at a time, each of ten steps, one call at a time.

A visit is opened with its first decision; nine calls bring a reward and ask for the next arm; the
last one brings the last reward and ends the visit. Nobody waits between calls. Run as a program it
is the same load over HTTP, by sockets that are kept open, and with hardly any work of its own:

    python -m benchmarks.load PORT SECONDS
"""

import asyncio
import json
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import numpy as np

from benchmarks.drive.wire import Wire
from sojourn.client.caller import Request

VISITS, STEPS, ARMS = 64, 10, 10
EXPERIMENT = "bench"


class Server(Protocol):
    """What is measured, called from threads: a reward of None is the first step of a visit."""

    def decide(self, visit: str, reward: float | None) -> None:
        """The reward of the last step, and the next arm."""

    def end(self, visit: str, reward: float) -> None:
        """The last reward."""


Decide = Callable[[str, float | None], Awaitable[Any]]
End = Callable[[str, float], Awaitable[Any]]


def reward_of(visit: int, step: int) -> float:
    """Half of the time a reward, in no order."""
    return float((visit * 7919 + step * 104729) % 97 < 49)


class Tally:
    """How long each call took, and how long all of them."""

    def __init__(self, seconds: float) -> None:
        self.began = time.perf_counter()
        self.until = self.began + seconds
        self.waits: list[float] = []

    def row(self) -> dict[str, Any]:
        """Steps per second, and quantiles of the time a step took, in milliseconds."""
        elapsed = time.perf_counter() - self.began
        p50, p99 = np.quantile(self.waits, [0.5, 0.99]) * 1e3
        return {"steps": len(self.waits) / elapsed, "p50": float(p50), "p99": float(p99)}


async def play(decide: Decide, end: End, name: str, tally: Tally) -> None:
    """One visit after another."""
    number = 0
    while time.perf_counter() < tally.until:
        number += 1
        visit, reward = f"{name}.{number}", None
        for step in range(STEPS):
            began = time.perf_counter()
            await decide(visit, reward)
            tally.waits.append(time.perf_counter() - began)
            reward = reward_of(number, step)
        await end(visit, reward or 0.0)


def in_threads(server: Server, seconds: float) -> dict[str, Any]:
    """A thread for each of the visits."""
    tally = Tally(seconds)

    def run(name: str) -> None:
        number = 0
        while time.perf_counter() < tally.until:
            number += 1
            visit, reward = f"{name}.{number}", None
            for step in range(STEPS):
                began = time.perf_counter()
                server.decide(visit, reward)
                tally.waits.append(time.perf_counter() - began)
                reward = reward_of(number, step)
            server.end(visit, reward or 0.0)

    threads = [threading.Thread(target=run, args=(f"{n}",)) for n in range(VISITS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tally.row()


def in_loop(decide: Decide, end: End, seconds: float) -> dict[str, Any]:
    """A task for each of the visits in one event loop."""

    async def run() -> dict[str, Any]:
        tally = Tally(seconds)
        await asyncio.gather(*(play(decide, end, f"{n}", tally) for n in range(VISITS)))
        return tally.row()

    return asyncio.run(run())


async def over_http(port: int, seconds: float) -> dict[str, Any]:
    """A socket for each of the visits; anything but success is an error."""
    wire, tally = Wire(f"http://127.0.0.1:{port}"), Tally(seconds)

    async def call(method: str, visit: str, what: str, **body: Any) -> None:
        path = ("experiments", EXPERIMENT, "visits", visit, what)
        answer = await wire.send(Request.of(method, *path, **body))
        if answer.status >= 300:
            raise answer.error

    async def decide(visit: str, reward: float | None) -> None:
        if reward is None:
            await call("POST", visit, "decisions", opening={})
        else:
            await call("POST", visit, "step", reward=reward)

    async def end(visit: str, reward: float) -> None:
        await call("PUT", visit, "end", reward=reward)

    began = time.time_ns()
    await asyncio.gather(*(play(decide, end, f"{began}.{n}", tally) for n in range(VISITS)))
    await wire.close()
    return tally.row()


if __name__ == "__main__":
    print(json.dumps(asyncio.run(over_http(int(sys.argv[1]), float(sys.argv[2])))))
