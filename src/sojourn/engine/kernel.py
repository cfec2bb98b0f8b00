"""The compiled loop: one for every policy and every user model.

A run is a sequence of visits with one memory. At checkpoints (numbers of visits) it writes down a
row of totals so far, in this order:

    regret, reward, steps, regret by level of experience, pulls by level and arm (level first).

Regret is summed from gaps: by the performance-difference identity (the paper's regret
decomposition) the sum of V*(S_t) - Q*(S_t, A_t) has the same expectation as the reward lost, and
far less variance. Rewards are kept as a cross-check.

A policy that can promise its choice for a while (`Policy.lease`) is not asked meanwhile. Leases
change no decision: with `leases` False every step is chosen by `Policy.choose`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..policies import Policy
from ..users import User
from .jit import jitable, kernel, package_digest
from .lend import keep, lend
from .steps import Tally, World, begin, make_tally, make_world, step
from .streams import policy_stream

REGRET, REWARD, STEPS, BY_LEVEL = 0, 1, 2, 3


def columns(levels: int, arms: int) -> int:
    """The number of totals in a row."""
    return BY_LEVEL + levels + levels * arms


@jitable
def write_row(tally: Tally, row: NDArray[np.float64]) -> None:
    """The totals so far."""
    levels, arms = tally.pulls.shape
    row[REGRET] = tally.lost.sum()
    row[REWARD] = tally.won.sum()
    row[STEPS] = tally.pulled.sum()
    for level in range(levels):
        row[BY_LEVEL + level] = tally.lost[level]
        for arm in range(arms):
            row[BY_LEVEL + levels + level * arms + arm] = tally.pulls[level, arm]


@jitable
def coast_watched(
    policy: Any,
    memory: Any,
    user: Any,
    world: World,
    tally: Tally,
    arm: int,
    least: float,
    state: float,
    visit: int,
    steps: int,
    visits: int,
) -> tuple[float, int, int]:
    """`coast_steps` for a policy that watches."""
    done = ended = 0
    while done < steps and ended < visits and tally.won[arm] >= least * tally.pulled[arm]:
        before = user.experience(state)
        state, reward, left = step(user, world, tally, arm, state)
        policy.watch(memory, before, reward, left, user.experience(state))
        done += 1
        if left:
            ended += 1
            state = begin(user, world, visit + ended)
    return state, done, ended


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
    leases: bool,
    stop: NDArray[np.int8],
    out: NDArray[np.float64],
) -> None:
    """One run: play visits one after the other and fill a row of `out` at each checkpoint."""
    own = (
        make_world(user, means, best_is_optimal, value, seed, run),
        make_tally(levels, means.size),
        policy.memory(means.size),
        policy.board(means.size),
        policy_stream(seed, run),
    )
    world, tally, memory, board, rng = (
        lend(own[0]), lend(own[1]), lend(own[2]), lend(own[3]), lend(own[4])
    )  # fmt: skip
    visit = 1
    state = begin(user, world, visit)
    for done in range(checkpoints.size):
        last = checkpoints[done]
        while visit <= last and stop[0] == 0:
            if leases:
                arm, steps, least = policy.lease(memory, board)
                if steps > 0:
                    won = tally.won[arm]
                    steps = int(min(float(steps), policy.patience(memory)))
                    visits = last + 1 - visit
                    if policy.watches():
                        state, pulls, ended = coast_watched(
                            policy, memory, user, world, tally,
                            arm, least, state, visit, steps, visits,
                        )  # fmt: skip
                    else:
                        state, pulls, ended = user.coast(
                            world, tally, arm, least, state, visit, steps, visits
                        )
                    visit += ended
                    policy.absorb(memory, board, arm, pulls, tally.won[arm] - won)
                    if pulls > 0:
                        continue
            before = user.experience(state)
            arm = (
                policy.decide(memory, board, before, rng)
                if leases
                else policy.choose(memory, before, rng)
            )
            state, reward, left = step(user, world, tally, arm, state)
            if leases:
                policy.learn(memory, board, before, arm, reward, left, user.experience(state))
            else:
                policy.update(memory, before, arm, reward, left, user.experience(state))
            if left:
                visit += 1
                state = begin(user, world, visit)
        user.settle(world, tally)
        write_row(tally, out[done])
    keep(own)


_kernels: dict[Any, Any] = {}


def kernel_for(policy: Policy, user: User) -> Any:
    """The compiled loop for a type of policy and of user.

    kernel(policy, user, value, means, best_is_optimal, levels, seed, first, checkpoints, leases,
    stop, out) fills out[run, checkpoint, column] for the runs first, first + 1, ...
    """
    types = policy._numba_type_, user._numba_type_
    if types not in _kernels:
        _kernels[types] = kernel(_build(package_digest()), policy, user)
    return _kernels[types]


def _build(digest: str) -> Any:
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
        leases: bool,
        stop: NDArray[np.int8],
        out: NDArray[np.float64],
    ) -> None:
        _ = digest
        for i in range(out.shape[0]):
            play(
                policy, user, value, means, best_is_optimal, levels,
                seed, first + i, checkpoints, leases, stop, out[i],
            )  # fmt: skip

    return run_chunk
