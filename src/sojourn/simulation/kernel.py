"""The compiled loop: one for every policy and every user model.

A run is a sequence of visits with one memory. At checkpoints (numbers of visits) it writes down a
row of totals so far, in this order:

    regret, reward, steps, regret by level of experience, pulls by level and arm (level first).

Regret is summed from gaps: by the performance-difference identity (the paper's regret
decomposition) the sum of V*(S_t) - Q*(S_t, A_t) has the same expectation as the reward lost, and
far less variance. Rewards are kept as a cross-check.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..jit import jitable, kernel, package_digest
from ..rng import FIRST_ARM, STARTS, draw, policy_stream, stream_key

REGRET, REWARD, STEPS, BY_LEVEL = 0, 1, 2, 3


def columns(levels: int, arms: int) -> int:
    """The number of totals in a row."""
    return BY_LEVEL + levels + levels * arms


@jitable
def mistake_cost(user: Any, value: Any, state: float) -> float:
    """D(s) = 1 + (1 - q(s, 1)) V(s after 1) - (1 - q(s, 0)) V(s after 0)."""
    v0 = (1.0 - user.leave_probability(state, 0.0)) * value.at(user.next_state(state, 0.0))
    v1 = (1.0 - user.leave_probability(state, 1.0)) * value.at(user.next_state(state, 1.0))
    return 1.0 + v1 - v0  # type: ignore[no-any-return]


@jitable
def level_of(experience: float, levels: int) -> int:
    """The bin of [0, 1], cut into `levels` equal parts, that holds this experience."""
    return min(int(experience * levels), levels - 1)


@jitable
def play(
    policy: Any,
    user: Any,
    value: Any,
    means: NDArray[np.float64],
    best_is_optimal: bool,
    levels: int,
    seed: int,
    run: int,
    checkpoints: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """One run: play visits one after the other and fill a row of `out` at each checkpoint."""
    arms = means.size
    high, low = means.max(), means.min()
    keys = np.empty(arms, np.uint64)
    for arm in range(arms):
        keys[arm] = stream_key(seed, run, FIRST_ARM + np.uint64(arm))
    start_key = np.uint64(stream_key(seed, run, STARTS))  # Python would make it an int
    rng = policy_stream(seed, run)
    pulled = np.zeros(arms, np.int64)
    totals = np.zeros(out.shape[1])
    memory = policy.memory(arms)
    done = 0
    for visit in range(1, checkpoints[-1] + 1):
        state = user.begin(draw(start_key, visit))
        experience = user.experience(state)
        left = False
        while not left:
            arm = policy.choose(memory, experience, rng)
            mean = means[arm]
            pulled[arm] += 1
            # One draw decides both: u < mean is a reward, and the lowest share q of either part
            # of [0, 1) a departure.
            u = draw(keys[arm], pulled[arm])
            reward = 1.0 if u < mean else 0.0
            leave = user.leave_probability(state, reward)
            left = u < (mean * leave if reward > 0.0 else mean + (1.0 - mean) * leave)

            level = level_of(experience, levels)
            totals[REWARD] += reward
            totals[STEPS] += 1.0
            totals[BY_LEVEL + levels + level * arms + arm] += 1.0
            if mean < high or not best_is_optimal:
                cost = mistake_cost(user, value, state)
                gap = ((high if cost >= 0.0 else low) - mean) * cost
                totals[REGRET] += gap
                totals[BY_LEVEL + level] += gap

            state = user.next_state(state, reward)
            before, experience = experience, user.experience(state)
            policy.update(memory, before, arm, reward, left, experience)
        if visit == checkpoints[done]:
            out[done] = totals
            done += 1


def _build(digest: str) -> Any:
    @kernel
    def run_chunk(
        policy: Any,
        user: Any,
        value: Any,
        means: NDArray[np.float64],
        best_is_optimal: bool,
        levels: int,
        seed: int,
        first: int,
        checkpoints: NDArray[np.int64],
        out: NDArray[np.float64],
    ) -> None:
        _ = digest
        for i in range(out.shape[0]):
            play(
                policy, user, value, means, best_is_optimal, levels,
                seed, first + i, checkpoints, out[i],
            )  # fmt: skip

    return run_chunk


run_chunk = _build(package_digest())
"""Fill out[run, checkpoint, column] for the runs first, first + 1, ..."""
