"""The paper's problems for the plain twins in `naive`, and decisions step by step."""

import naive
import numpy as np

import sojourn as sj
from sojourn.engine import streams as rng
from sojourn.policies import Policy

HARSH = {(0, 0): 1.0, (0, 1): 0.0, (1, 0): 0.0, (1, 1): 0.0}

USERS = {
    "A": naive.TwoStateUser(HARSH),
    "B": naive.TwoStateUser({(0, 0): 0.8, (0, 1): 0.2, (1, 0): 0.2, (1, 1): 0.1}),
    "C": naive.TwoStateUser(HARSH),
    "D": naive.TwoStateUser(HARSH),
    "opposite": naive.TwoStateUser({(0, 0): 0.5, (0, 1): 0.4, (1, 0): 0.45, (1, 1): 0.02}),
    "ema-1000": naive.EmaUser(0.5, naive.log_curve(1000)),
    "ema-low": naive.EmaUser(0.5, naive.log_curve(1000)),
}

MEANS = {
    "A": [0.9, 0.8],
    "B": [0.9, 0.8],
    "C": [0.2, 0.1],
    "D": [0.9, 0.8, 0.5],
    "opposite": [0.6, 0.5],
    "ema-1000": [0.9, 0.8],
    "ema-low": [0.2, 0.1],
}

RUNS = [(0, 0, False), (7, 3, False), (1, 0, True), (2**40, 2, True)]
"""(seed, run, random ties)."""


def step_by_step(problem: sj.Problem, policy: Policy, seed: int, run: int, visits: int):
    """The decisions of the package, from `choose` and `update` alone."""
    user, memory = problem.user, policy.memory(problem.arms)
    coins = rng.policy_stream(seed, run)
    keys = [rng.stream_key(seed, run, np.uint64(2 + a)) for a in range(problem.arms)]
    pulls = [0] * problem.arms
    decisions = []
    for _ in range(visits):
        state, left = user.begin(0.5), False
        while not left:
            arm = policy.choose(memory, user.experience(state), coins)
            pulls[arm] += 1
            u, mean = naive.draw(int(keys[arm]), pulls[arm]), problem.means[arm]
            reward = float(u < mean)
            q = user.leave_probability(state, reward, 0)
            left = u < mean * q if reward else u < mean + (1.0 - mean) * q
            decisions.append((state, arm, reward, left))
            onward = user.next_state(state, reward)
            policy.update(
                memory, user.experience(state), arm, reward, left, user.experience(onward)
            )
            state = onward
    return decisions
