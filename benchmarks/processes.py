"""``python -m benchmarks.processes``: the regret of four processes on one database against one's.

Simulated users of a known problem visit many independent experiments behind ``sojourn serve
--workers N`` on PostgreSQL. Several are in each experiment at a time, and their calls take turns on
connections that lead to different workers, so that any worker serves any step of a visit. The n-th
pull of an arm has the same draw in every row, the simulator's included; there one visit follows
another, and every reward is known at once.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.drive import LoadReport, Traffic, adrive
from sojourn import Problem, simulate
from sojourn.live import open_store, verify
from sojourn.live.records import added
from sojourn.paper import SETTINGS
from sojourn.policies import POLICIES, Policy

from .report import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

NORMAL = 1.959963984540054


@dataclass(frozen=True)
class Study:
    """What is played: `side_by_side` experiments at a time, each with `users` at a time."""

    setting: str = "B"
    policy: str = "ULCB"
    visits: int = 500
    experiments: int = 64
    side_by_side: int = 8
    users: int = 4
    seed: int = 1
    simulated: int = 20_000
    compiled: bool = True

    @property
    def problem(self) -> Problem:
        """The problem of the users."""
        return SETTINGS[self.setting]

    def made_policy(self) -> Policy:
        """The policy with the parameters for it."""
        cls = POLICIES[self.policy]
        return cls.for_problem(self.problem)


async def drive_all(study: Study, url: str) -> list[LoadReport]:
    """All experiments, some at a time."""
    room, done = asyncio.Semaphore(study.side_by_side), 0

    async def drive(number: int) -> LoadReport:
        nonlocal done
        async with room:
            report = await adrive(
                Traffic(
                    url, study.problem, experiment=str(number), policy=study.made_policy(),
                    users=study.users, visits=study.visits, spread=4 * study.users,
                    seed=study.seed, run=number,
                )
            )  # fmt: skip
        done += 1
        if sys.stderr.isatty():
            print(f"\r{done} of {study.experiments} experiments ", end="", file=sys.stderr)
        return report

    return await asyncio.gather(*(drive(number) for number in range(study.experiments)))


def play(study: Study, store: str, workers: int) -> dict[str, Any]:
    """All experiments through a server of so many processes."""
    import serving

    with serving.serve(store, "--workers", str(workers), interpreted=not study.compiled) as server:
        began = time.perf_counter()
        reports = asyncio.run(drive_all(study, server.url))
        seconds = time.perf_counter() - began
        _, metrics = server.call("GET", "/metrics")
    lost = [float(x.split()[-1]) for x in metrics.splitlines() if x.startswith(CONFLICTS)]
    steps = [report.steps for report in reports]
    return {
        "regret": np.array([report.regret for report in reports]), "steps": sum(steps),
        "seconds": seconds, "conflicts": sum(lost), "wrong": audit(study, store, steps),
    }  # fmt: skip


CONFLICTS = "sojourn_conflicts_total"


def audit(study: Study, store: str, steps: Sequence[int]) -> int:
    """In how many experiments the counters are not the fold of events, or not what was played."""
    kept, wrong = open_store(store, read_only=True), 0
    for number in range(study.experiments):
        stored = kept.read([str(number)])[str(number)]
        counts = added(stored.own, stored.others)
        pulls = sum(n for key, n in counts.items() if key[0] == "pulls")
        ended = counts.get(("left by end", 0, 0, 0), 0.0)
        right = verify(kept, str(number)) == {} and pulls == steps[number]
        wrong += not (right and ended == study.visits)
    kept.close()
    return wrong


def ratio(one: Any, other: Any) -> tuple[float, float]:
    """Of the means of two paired samples, with the half-width of its 95 % interval."""
    value = one.mean() / other.mean()
    error = (one - value * other).std(ddof=1) / sqrt(len(one)) / other.mean()
    return float(value), float(NORMAL * error)


def measure(study: Study, workers: Sequence[int] = (1, 4)) -> dict[str, Any]:
    """So many processes on a PostgreSQL of one's own, and the simulator."""
    import postgres
    import psycopg

    played = {}
    with postgres.server() as url:
        for number in workers:
            with psycopg.connect(url, autocommit=True) as db:
                db.execute(f"CREATE DATABASE study{number}")
            played[number] = play(study, f"{url.rsplit('/', 1)[0]}/study{number}", number)

    def simulated(runs: int) -> list[float]:
        found = simulate(
            study.problem, [study.made_policy()], visits=study.visits, runs=runs, seed=study.seed
        ).regret
        return [float(found.mean[0, -1]), float(found.half_width[0, -1])]

    return {
        "study": study,
        "played": played,
        "simulator, the same draws": simulated(study.experiments),
        "simulator": simulated(study.simulated),
    }


def rows(found: dict[str, Any]) -> list[dict[str, Any]]:
    """One for each number of processes, with the ratio to the first of them; two simulated."""
    first, made = next(iter(found["played"].values()))["regret"], []
    for number, run in found["played"].items():
        regret = run["regret"]
        half = float(NORMAL * regret.std(ddof=1) / sqrt(len(regret)))
        numbers = {name: run[name] for name in ("steps", "conflicts", "wrong")}
        made.append(
            {
                "processes": str(number),
                "regret": [float(regret.mean()), half],
                "ratio": None if regret is first else ratio(regret, first),
                "speed": run["steps"] / run["seconds"],
                **numbers,
            }
        )
    simulated = ("simulator, the same draws", "simulator")
    return [*made, *({"processes": name, "regret": found[name]} for name in simulated)]


def table(found: dict[str, Any]) -> Table:
    """As text."""
    study: Study = found["study"]

    def pair(values: Any, digits: int) -> str:
        return "" if values is None else f"{values[0]:.{digits}f} ± {values[1]:.{digits}f}"

    numbers = ("steps", "speed", "conflicts", "wrong")
    return Table(
        f"Setting {study.setting}, {study.made_policy()}: regret after {study.visits} visits, "
        f"{study.experiments:,} experiments",
        ("processes", "regret", "to one process", "steps", "per second", "conflicts", "wrong"),
        [
            (
                r["processes"],
                pair(r["regret"], 2),
                pair(r.get("ratio"), 3),
                *(f"{r[name]:,.0f}" if name in r else "" for name in numbers),
            )
            for r in rows(found)
        ],
        "± half-widths of 95 % intervals; that of the ratio is of paired experiments. Lost races: "
        "changes that another process came before, made again. Wrong: experiments whose counters "
        "are not the fold of their events.",
    )


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Play, and print a table."""
    about = (__doc__ or "").splitlines()[0]
    options = argparse.ArgumentParser(prog="python -m benchmarks.processes", description=about)
    usual = Study()
    for name in ("visits", "experiments", "side_by_side", "users", "seed", "simulated"):
        option = "--" + name.replace("_", "-")
        options.add_argument(option, type=int, default=getattr(usual, name))
    options.add_argument("--setting", choices=SETTINGS, default=usual.setting)
    options.add_argument("--policy", default=usual.policy)
    options.add_argument("--json", type=Path, metavar="FILE")
    options.add_argument("--markdown", action="store_true")
    given = vars(options.parse_args(arguments))
    path, markdown = given.pop("json"), given.pop("markdown")
    found = measure(Study(**given))
    made = table(found)
    print(made.markdown() if markdown else made.text())
    if path is not None:
        path.write_text(json.dumps(rows(found), indent=1) + "\n")
    return found


if __name__ == "__main__":
    main()
