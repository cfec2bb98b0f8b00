"""Settings that kill: every parameter of every policy at its extremes, then a restart."""

import dataclasses
import time
from collections.abc import Iterator
from typing import Any

from service_load import quiet_port
from serving import Server

import sojourn as sj

from .floods import GROWTH
from .ground import Ground, memory_of
from .load import TIMEOUT, Load, Looks, lives
from .tally import Tally

EXTREMES = (1000, 200_000, 10**9, 1e308, 2**70, -1, 0, 1e-300)
MANY, LEAST = 200, 150
"""Arms in some of the experiments; experiments that are tried even if time is up."""

MADE = {"H": 10.0, "policy": {"name": "UCB", "parameters": {}}}
"""Parameters without a default."""

STALL = 5.0
"""Seconds that an experiment may keep calls of others waiting."""


def bodies() -> Iterator[dict[str, Any]]:
    """Experiments with one extreme each."""
    arms = ["a", "b"]
    for extreme in EXTREMES:  # the likely killers first, should time be short
        for name, cls in sj.policies.POLICIES.items():
            needed = {f.name: MADE[f.name] for f in dataclasses.fields(cls) if f.name in MADE}
            for field in dataclasses.fields(cls):
                if field.type in (int, float):
                    parameters = {**needed, field.name: extreme}
                    yield {"arms": arms, "policy": {"name": name, "parameters": parameters}}
        for model in ("last-reward", "moving-average", "chain"):
            yield {"arms": arms, "user": {"model": model, "levels": extreme}}
        for name in ("reward_threshold", "default_reward", "reward_wait", "idle_timeout"):
            yield {"arms": arms, name: extreme}
    nested: dict[str, Any] = {"name": "UCB", "parameters": {}}
    for _ in range(200):
        nested = {"name": "EpsilonMixture", "parameters": {"policy": nested, "epsilon": 0.1}}
    yield {"arms": arms, "policy": nested}
    many = [f"arm{n}" for n in range(MANY)]
    for bins in (64, 1000):
        yield {"arms": many, "policy": {"name": "LearnedIMED", "parameters": {"bins": bins}}}
        yield {"arms": many, "policy": {"name": "QLearning", "parameters": {"bins": bins}}}
    yield {"arms": [f"arm{n}" for n in range(20_000)]}


def extremes(ground: Ground, tally: Tally, seconds: float) -> None:
    """Refused with 4xx, or served; the others are served meanwhile, and after a restart."""
    place, port = ground.store("sqlite"), quiet_port()
    url, made = f"http://127.0.0.1:{port}", []
    with Load(url, place, tally, clients=2) as load:
        with ground.serve(tally, place, "--port", str(port)) as server:
            load.more(20)
            before, end = memory_of(server.process.pid), time.monotonic() + seconds
            with Looks(url, {"/healthz": {200}}, tally, quick={"/healthz": STALL}, pause=0.05):
                for number, body in enumerate(bodies()):
                    if number >= LEAST and time.monotonic() > end:
                        tally.note = f"time was up after {number} settings; "
                        break
                    made += tried(server, tally, f"x{number}", body)
                    lives(server, tally)
            grown = memory_of(server.process.pid) - before
            tally.expect(grown < GROWTH, f"the service grew by {grown:.0f} MB")
        with ground.serve(tally, place, "--port", str(port)) as server:
            for name in ("load", *made):
                called(server, tally, "GET", f"/v1/experiments/{name}")
            for page in ("/", "/experiments/load"):
                status = called(server, tally, "GET", page)
                tally.expect(status == 200, f"GET {page} answers {status} after a restart")
            load.more(20)
            load.finish()
    tally.note += f"{len(made)} of the settings were taken"


def tried(server: Server, tally: Tally, name: str, body: dict[str, Any]) -> list[str]:
    """The experiment, if it was made; then it also decides."""
    path = f"/v1/experiments/{name}"
    short = str({k: v for k, v in body.items() if k != "arms" or len(v) < 3})[:200]
    if called(server, tally, "PUT", path, body, short) != 201:
        return []
    for call in ("decisions", "step"):
        given = {"opening": {}} if call == "decisions" else {"reward": 1}
        called(server, tally, "POST", f"{path}/visits/v/{call}", given, f"{short}: {call}")
    return [name]


def called(
    server: Server, tally: Tally, method: str, path: str, body: Any = None, what: str = ""
) -> int:
    """The status of a call, 0 if it was not answered."""
    began, status = time.monotonic(), None
    try:
        status = server.call(method, path, body, timeout=TIMEOUT)[0]
    except OSError as error:
        tally.expect(False, f"{method} {what or path}: {type(error).__name__} {error}")
    tally.answered(status, time.monotonic() - began, f"{method} {what or path}")
    return status or 0


SCENARIOS = {"settings": (extremes, 30)}
