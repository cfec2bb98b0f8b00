"""Policies of three packages play the same users, who may leave: sojourn, river and mabwiser.

The index is the same in all three UCB; ULCB and KL-ULCB also know when a mistake may cost the rest
of the visit. The Thompson samplers do not, but they explore little, and so early that pays too.
Run it with a number of visits and of runs:  python examples/compare_libraries.py 200 20
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from mabwiser.mab import MAB, LearningPolicy
from numpy.typing import NDArray
from river import bandit, proba

import sojourn as sj
from sojourn import gym

PLAYERS: dict[str, Callable[[int, int], Any]] = {
    "sojourn LearnedIMED": lambda arms, seed: sj.policies.LearnedIMED(),
    "sojourn KLULCB": lambda arms, seed: sj.policies.KLULCB(),
    "sojourn ULCB": lambda arms, seed: sj.policies.ULCB(),
    "sojourn UCB": lambda arms, seed: sj.policies.UCB(),
    "river UCB": lambda arms, seed: bandit.UCB(delta=0.5, seed=seed),
    "river ThompsonSampling": lambda arms, seed: bandit.ThompsonSampling(
        reward_obj=proba.Beta(), seed=seed
    ),
    "mabwiser UCB1": lambda arms, seed: MAB(
        list(range(arms)), LearningPolicy.UCB1(alpha=0.5), seed=seed
    ),
    "mabwiser ThompsonSampling": lambda arms, seed: MAB(
        list(range(arms)), LearningPolicy.ThompsonSampling(), seed=seed
    ),
}
"""A fresh player for a number of arms and a seed; with 1/2 the three UCB have the same index."""


def main(visits: int = 200, runs: int = 20) -> dict[str, NDArray[np.float64]]:
    """Regret of each player in each run; prints its mean and 95 % interval."""
    problem = sj.paper.SETTINGS["B"]
    print(f"{problem}\nRegret after {visits} visits, mean and 95 % interval over {runs} runs\n")
    regrets = {}
    for name, player in PLAYERS.items():
        env = gym.make(problem)
        regret = np.array(
            [
                gym.play(env, player(problem.arms, run), visits, seed=run).regret.sum()
                for run in range(runs)
            ]
        )
        half_width = 1.96 * regret.std(ddof=1) / np.sqrt(runs)
        print(f"{name:26} {regret.mean():8.2f} ± {half_width:.2f}")
        regrets[name] = regret
    return regrets


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
