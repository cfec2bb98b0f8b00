"""What the precision of the paper's first figure costs: regret from gaps against raw rewards."""

from typing import Any

import numpy as np

from sojourn import Problem
from sojourn.engine.kernel import REGRET, REWARD
from sojourn.paper import SETTINGS
from sojourn.policies import Policy
from sojourn.simulation.chunks import chunk
from sojourn.stats.intervals import Z95

from .plans import FIRST_FIGURE, PAPER_HALF_WIDTH, Plan, candidates, leases
from .timing import seconds_and_steps

Row = dict[str, Any]
SEED = 2
PARTS = 8


def runs_needed(deviation: float, half_width: float = PAPER_HALF_WIDTH) -> float:
    """Runs for such a 95 % half-width, with this standard deviation per run."""
    return max(1.0, (Z95 * deviation / half_width) ** 2)


def measure_policy(problem: Problem, policy: Policy, plan: Plan) -> Row:
    """Deviations, runs needed and core-seconds by both estimators.

    The runs are timed in parts, of which the fastest counts.
    """
    grid = np.array([plan.visits])
    size = max(2, (plan.precision_runs if leases(policy) else plan.precision_runs // 8) // PARTS)
    chunk(problem, policy, SEED, 0, 1, np.array([1]))
    rows, seconds = [], float("inf")

    def part(first: int) -> float:
        rows.append(chunk(problem, policy, SEED, first, size, grid)[:, -1])
        return size

    for i in range(PARTS):
        spent, runs = seconds_and_steps(lambda i=i: part(i * size))
        seconds = min(seconds, spent / runs)
    found = np.concatenate(rows)
    deviations = {"gaps": found[:, REGRET].std(ddof=1), "rewards": found[:, REWARD].std(ddof=1)}
    regret = float(found[:, REGRET].mean())
    one_percent = runs_needed(float(deviations["gaps"]), 0.01 * regret)
    needed = {name: runs_needed(float(d)) for name, d in deviations.items()}
    return {
        "policy": type(policy).__name__,
        "runs": len(found),
        "regret": regret,
        "deviation": {name: float(d) for name, d in deviations.items()},
        "needed": needed,
        "seconds_a_run": seconds,
        "core_seconds": {name: n * seconds for name, n in needed.items()},
        "one_percent": {"runs": one_percent, "core_seconds": one_percent * seconds},
        "ratio": needed["rewards"] / needed["gaps"],
    }


def measure(plan: Plan) -> list[Row]:
    """A row for every policy of the first figure."""
    problem = SETTINGS["A"]
    names = [name for name in FIRST_FIGURE if name in plan.policies]
    found = candidates(problem, names)
    return [measure_policy(problem, found[name], plan) for name in names]
