"""Moving averages of made-up logs: which are believed, and how often their bands cover.

``PYTHONPATH=tests/support python -m benchmarks.averages --logs 200`` takes some minutes.
"""

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np
from logs_twin import Log, sample_twin
from worlds import CONSTANT, MEANS, WORLDS, world

import sojourn as sj
from sojourn.logs import TableLeave
from sojourn.logs.model.ema import EmaFit, moving_average
from sojourn.logs.synthetic import synthetic_log

TRUE = {
    "log": sj.Ema(theta=0.5, leave=sj.users.LogLeave(c6=20), start=1),
    "slow": sj.Ema(theta=0.2, leave=sj.users.LogLeave(c6=20), start=0.5),
    "straight": sj.Ema(theta=0.3, leave=TableLeave((0.0, 1.0), (0.4, 0.05)), start=0.75),
}

UNTRUE = {
    "habits": WORLDS["habits"],
    "ignores rewards": WORLDS["ignores rewards"],
    "tastes": partial(
        world, MEANS, CONSTANT, step_odds=(1.2, 0.5, 0.0, -0.5), taste=1.5, leaving=1.0
    ),
    "arms": partial(world, MEANS, CONSTANT, arm_odds=(-0.7, 0.0, 0.7)),
}
"""Worlds in which rewards do not matter for leaving: falling chances to leave by step; users with a
taste for leaving, with or without a tie to their taste in items; items that raise the exit rate."""


def fitted(log: Log) -> EmaFit:
    """Of a log with departures after the first step."""
    found = moving_average(sample_twin(log))
    assert found is not None
    return found


def believed(make: Callable[[int], Log], logs: int) -> float:
    """The share of logs whose moving average is believed."""
    return float(np.mean([fitted(make(seed)).believed for seed in range(logs)]))


def coverage(user: sj.Ema, visits: int, logs: int) -> tuple[float, float]:
    """How often the band covers, over bins of 50 steps or more, and the share of logs believed."""
    problem = sj.Problem([0.7, 0.3], user)
    hits, sure = [], []
    for run in range(logs):
        log = synthetic_log(
            problem, sj.policies.Uniform(), visits=visits, seed=8, run=run, max_steps=12
        )
        found = fitted(log)
        truth = np.array([user.leave.probability(float(s)) for s in found.state])
        covered = (found.low <= truth) & (truth <= found.high)
        hits.append(covered[found.n >= 50].mean())
        sure.append(found.believed)
    return float(np.mean(hits)), float(np.mean(sure))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.averages")
    parser.add_argument("--logs", type=int, default=200)
    logs = parser.parse_args().logs
    for name, made in UNTRUE.items():
        people = made()
        for visits in (800, 4_000):
            share = believed(lambda s, v=visits, w=people: w.log(v, v // 4, s), logs // 2)  # type: ignore[misc]
            print(f"{name}, {visits} visits: believed in {share:.0%}", flush=True)
    for name, user in TRUE.items():
        for visits in (600, 4_000):
            covers, share = coverage(user, visits, logs)
            print(
                f"{name}, {visits} visits: covers {covers:.1%}, believed in {share:.0%}", flush=True
            )


if __name__ == "__main__":
    main()
