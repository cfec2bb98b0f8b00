"""The abandonment loop of setting A in plain Python, for packages that choose one arm at a time.

Imported by the scripts beside it, which run without Sojourn.
"""

import json
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import version
from random import Random
from time import process_time

MEANS = (0.9, 0.8)

Choose = Callable[[], int]
Update = Callable[[int, int], None]
Make = Callable[[], tuple[Choose, Update]]


def play(choose: Choose, update: Update, seconds: float, seed: int) -> float:
    """Nanoseconds a step: whole visits until the time is up.

    The user starts in state 1, goes on in the state of the last reward, and leaves after a
    second one of 0 in a row.
    """
    uniform = Random(seed).random
    steps = 0
    begin = now = process_time()
    while now - begin < seconds:
        state, left = 1, False
        while not left:
            arm = choose()
            reward = 1 if uniform() < MEANS[arm] else 0
            update(arm, reward)
            left = state == 0 and reward == 0
            state = reward
            steps += 1
        now = process_time()
    return 1e9 * (now - begin) / steps


def report(package: str, policies: Mapping[str, tuple[Make, str]]) -> None:
    """Time every policy (a way to make it, a note) and print the answer as JSON.

    The two arguments of the script: seconds for each repetition, and how many of them.
    """
    seconds, rounds = float(sys.argv[1]), int(sys.argv[2])
    best = dict.fromkeys(policies, float("inf"))
    for seed in range(rounds):
        for name, (make, _) in policies.items():
            best[name] = min(best[name], play(*make(), seconds, seed))
    rows = [{"policy": p, "ns": best[p], "note": note} for p, (_, note) in policies.items()]
    print(json.dumps({"version": version(package), "rows": rows, "checks": []}))
