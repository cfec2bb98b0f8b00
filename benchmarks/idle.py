"""What idle experiments cost: one active experiment, alone in its store or beside many others.

    python -m benchmarks.idle --experiments 1000 --seconds 5 --rounds 3

A store is filled with experiments that have had a few visits. A server serves it, and all of them
are called once, so they are in its memory. Some seconds later the load of the serving benchmark
asks one more experiment for decisions, and the pages that show all experiments are timed. An empty
store takes turns with a filled one. On a busy machine processor time says more than steps per
second: `cpu` is that of the server for a step in microseconds, `quiet` its share of a core without
a call.
"""

import argparse
import asyncio
import http.client
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from statistics import median
from typing import Any

from sojourn.live import Ask, Experiment, Journal, Opening

from .serving import HOME, NAMES, OURS, Places, _free_port, _pin, _prepare, all_cores, places

PAGES = {"/metrics": "metrics", "/": "home"}
RATIOS = {"steps": 0.9, "p99": 1.5, "cpu": 1.1}
GOALS = {**RATIOS, "quiet": 0.05, "metrics_kb": 100.0, "metrics_s": 0.1, "home_s": 0.3}
VISITS, STEPS = 2, 4  # of each idle experiment


@dataclass(frozen=True)
class Study:
    """How much is measured."""

    experiments: int = 1000
    seconds: float = 5.0
    rounds: int = 3
    warm_up: float = 3.0
    pause: float = 12.0
    """Seconds between the last calls of the others and the load."""
    quiet: float = 4.0
    stores: tuple[str, ...] = ("SQLite", "PostgreSQL")


async def _fill(journal: Journal, count: int) -> None:
    async def visit(experiment: Experiment, number: int) -> None:
        opening: Opening | None = Opening(user=f"u{number}")
        for _ in range(STEPS):
            ask = Ask(reward=None if opening else 1.0, opening=opening)
            await experiment.adecide(f"v{number}", ask)
            opening = None
        await experiment.get(f"v{number}").aend(0.0)

    made = [
        Experiment(f"idle-{n}", NAMES, store=journal, seed=n, compiled=False) for n in range(count)
    ]
    for start in range(0, count, 100):
        some = made[start : start + 100]
        await asyncio.gather(*(visit(each, n) for each in some for n in range(VISITS)))


def measure(url: str, idle: int, study: Study) -> dict[str, float]:
    """Start a server of a store with so many idle experiments, and load one more."""
    with Journal(url, upkeep=False) as journal:
        asyncio.run(_fill(journal, idle))
    cores, port = sorted(os.sched_getaffinity(0)), _free_port()
    words = [word.format(url=url, port=port) for word in OURS]
    with subprocess.Popen([sys.executable, "-m", *words], cwd=HOME, stdout=subprocess.DEVNULL) as s:
        try:
            _pin(s.pid, cores[:1])
            _prepare(port)
            _touch(port, idle)
            _load(port, study.warm_up, cores[1:2])
            time.sleep(study.pause if idle else 0.0)
            quiet = _busy(s.pid)
            time.sleep(study.quiet)
            began = _busy(s.pid)
            found = _load(port, study.seconds, cores[1:2])
            cpu = (_busy(s.pid) - began) / (found["steps"] * study.seconds)
            found |= {"cpu": 1e6 * cpu, "quiet": (began - quiet) / study.quiet}
            return {**found, **_pages(port)}
        finally:
            s.terminate()


def _busy(process: int) -> float:
    """Seconds of processor time that a process has used."""
    with open(f"/proc/{process}/stat") as file:  # noqa: PTH123
        words = file.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _touch(port: int, idle: int) -> None:
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for number in range(idle):
        path = f"/v1/experiments/idle-{number}/visits/touch/decisions"
        link.request("POST", path, b'{"opening": {}}', {"content-type": "application/json"})
        link.getresponse().read()
    link.close()


def _load(port: int, seconds: float, cores: list[int]) -> dict[str, float]:
    words = [sys.executable, "-m", "benchmarks.load", str(port), str(seconds)]
    with subprocess.Popen(words, cwd=HOME, stdout=subprocess.PIPE) as client:
        _pin(client.pid, cores)
        answer, _ = client.communicate()
    found: dict[str, float] = json.loads(answer)
    return found


def _pages(port: int) -> dict[str, float]:
    found: dict[str, float] = {}
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for path, name in PAGES.items():
        seconds, size = [], 0
        for _ in range(5):
            began = time.perf_counter()
            link.request("GET", path)
            size = len(link.getresponse().read())
            seconds.append(time.perf_counter() - began)
            time.sleep(1.1)  # what is reused for a second is read again
        found |= {f"{name}_first": seconds[0], f"{name}_s": median(seconds)}
        found[f"{name}_kb"] = size / 1000.0
    link.close()
    return found


def rows(study: Study, where: Places) -> dict[str, list[dict[str, dict[str, float]]]]:
    """By store, the rounds: alone and beside the others."""
    found: dict[str, list[dict[str, dict[str, float]]]] = {kind: [] for kind in study.stores}
    for turn in range(study.rounds):
        for kind in study.stores:
            both = {}
            for word, idle in (("alone", 0), ("beside", study.experiments)):
                url = where.new(kind, f"idle{turn}{word}")
                both[word] = measure(url, idle, study)
                print(kind, word, {k: round(v, 4) for k, v in both[word].items()}, flush=True)
            found[kind].append(both)
    return found


def table(rounds: list[dict[str, dict[str, float]]]) -> dict[str, float]:
    """Medians: of the ratios within a round, and of what the pages took."""
    ratios = {
        what: median(each["beside"][what] / each["alone"][what] for each in rounds)
        for what in RATIOS
    }
    pages = (what for what in GOALS if what not in ratios)
    return ratios | {what: median(each["beside"][what] for each in rounds) for what in pages}


def main(arguments: list[str] | None = None) -> None:
    """Measure, and print the figures beside the goals."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.idle")
    parser.add_argument("--experiments", type=int, default=Study.experiments)
    parser.add_argument("--seconds", type=float, default=Study.seconds)
    parser.add_argument("--rounds", type=int, default=Study.rounds)
    parser.add_argument("--stores", nargs="+", default=Study.stores)
    given: dict[str, Any] = vars(parser.parse_args(arguments))
    with all_cores(), places() as where:
        found = rows(Study(**{**given, "stores": tuple(given["stores"])}), where)
    for kind, rounds in found.items():
        for what, value in table(rounds).items():
            print(f"{kind:12s} {what:12s} {value:8.3f}   goal {GOALS[what]:g}")


if __name__ == "__main__":
    main()
