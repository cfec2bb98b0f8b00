"""The simulator's loop: one for every policy and every user model.

A run is a sequence of visits with one memory. At checkpoints (numbers of visits) it writes down a
row of totals so far, in this order:

    regret, reward, steps, regret by level of experience, pulls by level and arm (level first).

Regret is summed from gaps: by the performance-difference identity (the paper's regret
decomposition) the sum of V*(S_t) - Q*(S_t, A_t) has the same expectation as the reward lost, and
far less variance. Rewards are kept as a cross-check.

While a `Leaser` promises a choice the policy is not asked. Leases change no decision: with `leases`
False every step is chosen by `Policy.choose`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .lend import keep, lend
from .loops import jitable, loop
from .steps import Tally, begin, make_tally, make_world, step
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
def play(
    policy: Any, user: Any, leaser: Any, coaster: Any, rewards: Any, prices: Any,
    levels: int, seed: int, run: int,
    checkpoints: NDArray[np.int64], leases: bool, stop: NDArray[np.int8],
    fault: NDArray[np.int64], out: NDArray[np.float64],
) -> None:  # fmt: skip
    """One run: play visits one after the other and fill a row of `out` at each checkpoint.

    An arm that does not exist ends it, with the arm in `fault`.
    """
    arms = rewards.means.size
    own = (
        make_world(rewards, prices, seed, run),
        make_tally(levels, rewards),
        policy.memory(arms),
        leaser.board(policy, arms),
        coaster.kit(user),
        policy_stream(seed, run),
    )
    go_on(
        policy, user, leaser, coaster,
        lend(own[0]), lend(own[1]), lend(own[2]), lend(own[3]), lend(own[4]), lend(own[5]),
        1, checkpoints, leases, stop, fault, out,
    )  # fmt: skip
    keep(own)


@jitable
def go_on(
    policy: Any, user: Any, leaser: Any, coaster: Any,
    world: Any, tally: Any, memory: Any, board: Any, kit: Any, rng: Any,
    visit: int, checkpoints: NDArray[np.int64], leases: bool, stop: NDArray[np.int8],
    fault: NDArray[np.int64], out: NDArray[np.float64],
) -> None:  # fmt: skip
    """Play on from the start of a visit to the last checkpoint."""
    arms = world.rewards.means.size
    state = begin(user, world, visit)
    arm, steps, least = 0, 0, 0.0
    for done in range(checkpoints.size):
        last = checkpoints[done]
        while visit <= last and stop[0] == 0:
            if leases:
                if steps == 0:
                    arm, steps, least = leaser.lease(policy, memory, board)
                if steps > 0:
                    won = tally.won[arm]
                    most = int(min(float(steps), leaser.patience(policy, memory)))
                    visits = last + 1 - visit
                    state, pulls, ended = coaster.coast(
                        leaser, policy, memory, user, world, tally, kit,
                        arm, least, state, visit, most, visits,
                    )  # fmt: skip
                    visit += ended
                    leaser.absorb(policy, memory, board, arm, pulls, tally.won[arm] - won)
                    holds = pulls == most and leaser.goes_on(policy, memory, board)
                    steps = steps - pulls if holds else 0
                    if pulls > 0:
                        continue
            before = user.experience(state)
            arm = (
                leaser.decide(policy, memory, board, before, rng)
                if leases
                else policy.choose(memory, before, rng)
            )
            if arm < 0 or arm >= arms:
                fault[0], fault[1] = 1, arm
                return
            state, reward, left = step(user, world, tally, arm, state)
            after = user.experience(state)
            if leases:
                leaser.learn(policy, memory, board, before, arm, reward, left, after)
            else:
                policy.update(memory, before, arm, reward, left, after)
            if left:
                visit += 1
                state = begin(user, world, visit)
        coaster.settle(user, world, tally)
        write_row(tally, out[done])


@loop
def run_chunk(
    policy: Any, user: Any, leaser: Any, coaster: Any, rewards: Any, prices: Any,
    levels: int, seed: int, first: int,
    checkpoints: NDArray[np.int64], leases: bool, stop: NDArray[np.int8],
    fault: NDArray[np.int64], out: NDArray[np.float64],
) -> None:  # fmt: skip
    """Fill out[run, checkpoint, column] for the runs first, first + 1, ..."""
    for i in range(out.shape[0]):
        if fault[0] == 0:
            play(
                policy, user, leaser, coaster, rewards, prices, levels,
                seed, first + i, checkpoints, leases, stop, fault, out[i],
            )  # fmt: skip


@loop
def run_phase(
    policy: Any, user: Any, leaser: Any, coaster: Any, rewards: Any, prices: Any,
    memory: Any, board: Any, rng: Any, pulled: NDArray[np.int64], won: NDArray[Any],
    levels: int, seed: int, run: int, people: int,
    visit: int, checkpoints: NDArray[np.int64], leases: bool, stop: NDArray[np.int8],
    fault: NDArray[np.int64], out: NDArray[np.float64],
) -> None:  # fmt: skip
    """One run from `visit` on, with what it remembers and has drawn so far.

    Rows of `out` have the rewards and steps of the whole run, and regret and pulls since `visit`.
    """
    fresh = make_tally(levels, rewards)
    own = (
        make_world(rewards, prices, seed, run, people),
        Tally(pulled, won, fresh.pulls, fresh.lost),
        memory,
        board,
        coaster.kit(user),
        rng,
    )
    go_on(
        policy, user, leaser, coaster,
        lend(own[0]), lend(own[1]), lend(own[2]), lend(own[3]), lend(own[4]), lend(own[5]),
        visit, checkpoints, leases, stop, fault, out,
    )  # fmt: skip
    keep(own)
