"""What happens to a user: one step, or many steps of one arm while nothing needs deciding.

The n-th draw u of an arm's stream decides its n-th pull: u < mean is a reward, and the lowest
share q of either part of [0, 1), rewarded or not, is a departure. However many steps are made at a
time (`coast_steps`, `coast_average`, `words.coast_words`), they are the same steps.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .jit import jitable
from .streams import FIRST_ARM, STARTS, draw, draw_backwards, stream_key

NEAR = 1e-12
"""A draw this close to a bound is not decided by it, so that rounding does not matter."""


class World(NamedTuple):
    """What a run plays in: means of the arms, V*, and the streams of draws."""

    means: NDArray[np.float64]
    high: float
    low: float
    best_is_optimal: bool
    value: Any
    keys: NDArray[np.uint64]
    start_key: np.uint64
    leave_table: NDArray[np.float64]  # see `User.leave_table`


class Tally(NamedTuple):
    """What a run has seen so far, by arm or by level of experience; filled by coasting."""

    pulled: NDArray[np.int64]
    won: NDArray[np.int64]
    pulls: NDArray[np.float64]  # [level, arm]
    lost: NDArray[np.float64]  # [level], regret
    draws: NDArray[np.float64]  # scratch for `coast_average`


@jitable
def make_world(
    user: Any,
    means: NDArray[np.float64],
    best_is_optimal: bool,
    value: Any,
    seed: int,
    run: int,
) -> World:
    """The world of one run."""
    keys = np.empty(means.size, np.uint64)
    for arm in range(means.size):
        keys[arm] = stream_key(seed, run, FIRST_ARM + np.uint64(arm))
    start_key = np.uint64(stream_key(seed, run, STARTS))  # Python would make it an int
    return World(
        means,
        means.max(),
        means.min(),
        best_is_optimal,
        value,
        keys,
        start_key,
        user.leave_table(),
    )


@jitable
def make_tally(levels: int, arms: int) -> Tally:
    """A tally of nothing."""
    return Tally(
        np.zeros(arms, np.int64),
        np.zeros(arms, np.int64),
        np.zeros((levels, arms)),
        np.zeros(levels),
        np.zeros(64),
    )


@jitable
def onward(user: Any, function: Any, state: float) -> tuple[float, float]:
    """A function of the state one step later, 0 after a departure: for reward 0, for reward 1."""
    return (
        (1.0 - user.leave_probability(state, 0.0)) * function.at(user.next_state(state, 0.0)),
        (1.0 - user.leave_probability(state, 1.0)) * function.at(user.next_state(state, 1.0)),
    )


@jitable
def gap(user: Any, world: World, state: float, mean: float) -> float:
    """V*(s) - Q*(s, a) for an arm of this mean: D(s) times what it lacks to the best mean."""
    v0, v1 = onward(user, world.value, state)
    cost = 1.0 + v1 - v0
    return ((world.high if cost >= 0.0 else world.low) - mean) * cost


@jitable
def level_of(experience: float, levels: int) -> int:
    """The bin of [0, 1], cut into `levels` equal parts, that holds this experience."""
    return min(int(experience * levels), levels - 1)


@jitable
def outcome(user: Any, mean: float, state: float, u: float) -> tuple[float, bool]:
    """What a draw u decides: the reward of an arm of this mean, and whether the user leaves."""
    reward = 1.0 if u < mean else 0.0
    leave = user.leave_probability(state, reward)
    return reward, u < (mean * leave if reward > 0.0 else mean + (1.0 - mean) * leave)


@jitable
def step(
    user: Any, world: World, tally: Tally, arm: int, state: float
) -> tuple[float, float, bool]:
    """Play `arm` once: the state it leads to, the reward, and whether the user left."""
    mean = world.means[arm]
    tally.pulled[arm] += 1
    reward, left = outcome(user, mean, state, draw(world.keys[arm], tally.pulled[arm]))
    level = level_of(user.experience(state), tally.lost.size)
    tally.won[arm] += int(reward)
    tally.pulls[level, arm] += 1.0
    if mean < world.high or not world.best_is_optimal:
        tally.lost[level] += gap(user, world, state, mean)
    return user.next_state(state, reward), reward, left


@jitable
def begin(user: Any, world: World, visit: int) -> float:
    """The state in which visit number `visit`, from 1, starts."""
    return user.begin(draw(world.start_key, visit))  # type: ignore[no-any-return]


@jitable
def coast_steps(
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
    """Play `arm` one step at a time, as long as its mean is at least `least`.

    Ends when `steps` steps are done or `visits` visits have ended. `visit` is the number of the
    current visit. Returns the state, the steps done, and the visits ended.
    """
    done = ended = 0
    while done < steps and ended < visits and tally.won[arm] >= least * tally.pulled[arm]:
        state, _, left = step(user, world, tally, arm, state)
        done += 1
        if left:
            ended += 1
            state = begin(user, world, visit + ended)
    return state, done, ended


@jitable
def coast_average(
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
    """`coast_steps` for a falling leave curve, mostly without evaluating it.

    Between two entries of the leave table the curve is between them, so that a draw above the one
    or below the other has decided; only those between ask for the curve itself. Draws are made 64
    at a time. For an arm whose pulls cost nothing.
    """
    mean, levels, cells = world.means[arm], tally.lost.size, world.leave_table.size - 1
    won, pulled = tally.won[arm], tally.pulled[arm]
    done = ended = ready = 0
    while done < steps and ended < visits and won >= least * pulled:
        if ready == 0:
            ready = min(64, steps - done)
            draw_backwards(world.keys[arm], pulled + 1, ready, tally.draws)
        ready -= 1
        u = tally.draws[ready]
        reward = 1.0 if u < mean else 0.0
        onward = user.next_state(state, reward)
        floor, share = (0.0, mean) if reward > 0.0 else (mean, 1.0 - mean)
        cell = min(int(onward * cells), cells - 1)
        left = u < floor + share * world.leave_table[cell] + NEAR
        if left and u >= floor + share * world.leave_table[cell + 1] - NEAR:
            left = u < floor + share * user.leave_probability(state, reward)
        tally.pulls[level_of(user.experience(state), levels), arm] += 1.0
        won += int(reward)
        pulled += 1
        done += 1
        state = onward
        if left:
            ended += 1
            state = begin(user, world, visit + ended)
    tally.won[arm] = won
    tally.pulled[arm] = pulled
    return state, done, ended


@jitable
def settle_counts(user: Any, world: World, tally: Tally) -> None:
    """Regret as pulls times gaps, for a user whose levels of experience are the states."""
    for level in range(tally.lost.size):
        tally.lost[level] = 0.0
        for arm in range(world.means.size):
            if tally.pulls[level, arm] > 0.0:
                cost = gap(user, world, float(level), world.means[arm])
                tally.lost[level] += tally.pulls[level, arm] * cost
