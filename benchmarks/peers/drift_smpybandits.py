"""SMPyBandits' policies for arms that change, at the job of `benchmarks.drift`.

The only argument is JSON: phases (after how many visits, means, gaps by state and arm), chances to
leave by state and reward, visits, runs, steps (about) and changes. Policies that want to know the
last two are told. Printed is the regret of every run, from gaps.
"""

import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib.metadata import version
from io import StringIO
from random import Random
from typing import Any

import numpy as np

with redirect_stdout(StringIO()):  # it greets
    from SMPyBandits.Policies import (
        BernoulliGLR_IndexPolicy,
        DiscountedUCBPlus,
        SWUCBPlus,
        klUCB_forGLR,
    )

LAZY = 20
"""Steps between two tests, and between two splits that are tried."""


def regret(policy: Any, task: dict[str, Any], run: int) -> float:
    """One run: visits one after the other, each of one phase."""
    uniform, lost = Random(run).random, 0.0
    np.random.seed(run)  # noqa: NPY002  its own coin flips are those of the old generator
    policy.startGame()
    phases, leave = task["phases"], task["leave"]
    for visit in range(task["visits"]):
        phase = [p for p in phases if p["after"] <= visit][-1]
        means, gaps, state, left = phase["means"], phase["gaps"], 1, False
        while not left:
            arm = int(policy.choice())
            reward = 1 if uniform() < means[arm] else 0
            policy.getReward(arm, reward)
            lost += gaps[state][arm]
            left = uniform() < leave[state][reward]
            state = reward
    return lost


def discounted(arms: int, **told: int) -> Any:
    """D-UCB, whose counts of pulls are whole numbers as installed.

    Times the discount plus 1 they never get beyond 1, so that means exceed 1 and it stays with the
    arm that it likes first. As fractions they are what its docstring says.
    """
    policy = DiscountedUCBPlus(arms, **told)
    policy.discounted_pulls = policy.discounted_pulls.astype(float)
    return policy


def main(task: dict[str, Any]) -> None:
    """Play every policy and print what it lost."""
    arms = len(task["phases"][0]["means"])
    told = {"horizon": task["steps"], "max_nb_random_events": task["changes"]}
    makers: dict[str, Callable[[], Any]] = {
        "SW-UCB": lambda: SWUCBPlus(arms, horizon=task["steps"]),
        "D-UCB": lambda: discounted(arms, **told),
        "GLR-klUCB": lambda: BernoulliGLR_IndexPolicy(
            arms,
            policy=klUCB_forGLR,
            per_arm_restart=False,
            lazy_detect_change_only_x_steps=LAZY,
            lazy_try_value_s_only_x_steps=LAZY,
            **told,
        ),
    }
    found = {}
    with redirect_stdout(StringIO()):  # it tells what it sets
        for name, make in makers.items():
            found[name] = [regret(make(), task, run) for run in range(task["runs"])]
    print(json.dumps({"version": version("SMPyBandits"), "regrets": found}))


main(json.loads(sys.argv[1]))
