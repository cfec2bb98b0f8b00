"""Setting A in NumPy: many runs in lockstep, arrays over runs. Written for the comparison.

Arms are played once in their order, then by greatest index, ties broken at random, with the
paper's c = 0. Regret is summed from gaps. Runs without Sojourn.
"""

import json
import sys
from collections.abc import Callable
from math import log
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MEANS = np.array([0.9, 0.8])
GAPS = np.array([[0.0, 10.0], [0.0, 1.0]])  # [state, arm]
CHECK_VISITS, CHECK_RUNS = 40, 1500
LANES = 1000


def hoeffding(mean: Array, pulls: Array, log_t: float, optimism: Array) -> Array:
    """m + x sqrt(log t / (2 N))."""
    return mean + optimism * np.sqrt(log_t / (2.0 * pulls))


def kl(mean: Array, pulls: Array, log_t: float, optimism: Array) -> Array:
    """The KL upper bound, or where the optimism is negative the lower one, by Newton's method.

    The lower bound is 1 minus the upper bound of 1 - m. Both starting points are above the
    solution, and from above Newton's method on a convex function goes down to it.
    """
    budget = np.abs(optimism) * log_t / pulls
    up = optimism > 0.0
    p = np.clip(np.where(up, mean, 1.0 - mean), 1e-12, 1.0 - 1e-12)
    own = p * np.log(p) + (1.0 - p) * np.log1p(-p)
    q = np.minimum(p + np.sqrt(0.5 * budget), -np.expm1((own - budget) / (1.0 - p)))
    q = np.clip(q, p + 1e-12, 1.0 - 1e-15)
    for _ in range(6):
        above = own - p * np.log(q) - (1.0 - p) * np.log1p(-q) - budget
        q = np.clip(q - above * q * (1.0 - q) / (q - p), p + 1e-12, 1.0 - 1e-15)
    return np.where(up, q, 1.0 - q)


Index = Callable[[Array, Array, float, Array], Array]
POLICIES: dict[str, tuple[Index, float]] = {"ULCB": (hoeffding, -1.0), "KLULCB": (kl, -1.0)}
"""The index, and the optimism in state 0; in state 1 it is 1."""


def simulate(
    name: str, runs: int, seed: int, steps: float = np.inf, visits: float = np.inf
) -> tuple[Array, int]:
    """Regret of every run after so many steps, or after so many visits, and the steps made.

    Runs that are done with their visits idle until all are.
    """
    index, low = POLICIES[name]
    rng = np.random.default_rng(seed)
    pulls, won = np.zeros((2, runs)), np.zeros((2, runs))
    state, ended, regret = np.ones(runs, np.int64), np.zeros(runs), np.zeros(runs)
    lanes = np.arange(runs)
    t = 1
    while t <= steps and (ended < visits).any():
        u = rng.random(runs)
        if t <= 2:
            arm = np.full(runs, t - 1)
        else:
            optimism = np.where(state == 1, 1.0, low)
            value = index(won / pulls, pulls, log(t), optimism)
            coin = (4096.0 * u) % 1.0 < 0.5  # low bits, which the reward does not depend on
            arm = ((value[1] > value[0]) | ((value[1] == value[0]) & coin)).astype(np.int64)
        reward = (u < MEANS[arm]).astype(np.int64)
        regret += np.where(ended < visits, GAPS[state, arm], 0.0)
        pulls[arm, lanes] += 1.0
        won[arm, lanes] += reward
        left = (state == 0) & (reward == 0)
        ended += left
        state = np.where(left, 1, reward)
        t += 1
    return regret, t - 1


def check(name: str, runs: int, visits: int) -> dict[str, Any]:
    """Regret after so many visits, with its standard error."""
    regret, _ = simulate(name, runs, seed=7, visits=visits)
    error = float(regret.std(ddof=1) / np.sqrt(runs))
    mean = float(regret.mean())
    return {"policy": name, "visits": visits, "runs": runs, "regret": mean, "std_error": error}


def nanoseconds(name: str, steps: int, seed: int) -> float:
    """A step of one run."""
    begin = process_time()
    simulate(name, LANES, seed, steps=steps)
    return 1e9 * (process_time() - begin) / (LANES * steps)


def main(seconds: float, rounds: int) -> dict[str, Any]:
    """Time and check every policy."""
    rows = []
    for name in POLICIES:
        guess = nanoseconds(name, 50, 0)
        steps = max(50, int(1e9 * seconds / (guess * LANES)))
        best = min(nanoseconds(name, steps, seed) for seed in range(rounds))
        rows.append({"policy": name, "ns": best, "note": f"{LANES:,} runs"})
    checks = [check(name, CHECK_RUNS, CHECK_VISITS) for name in POLICIES]
    return {"version": np.__version__, "rows": rows, "checks": checks}


if __name__ == "__main__":
    print(json.dumps(main(float(sys.argv[1]), int(sys.argv[2]))))
