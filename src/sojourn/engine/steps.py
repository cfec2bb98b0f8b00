"""What happens to a user: one step, and what it costs.

The n-th draw u of an arm's stream decides its n-th pull: u < mean is a reward, and the lowest
share q of either part of [0, 1), rewarded or not, is a departure. Where u falls within the rest of
its part is a fresh uniform draw, which decides the next state if that is random. However many
steps are made at a time (`coasting`), they are the same steps.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .loops import jitable
from .streams import FIRST_ARM, STARTS, draw, stream_key


class World(NamedTuple):
    """What a run plays in: means of the arms, V*, and the streams of draws."""

    means: NDArray[np.float64]
    high: float
    low: float
    best_is_optimal: bool
    value: Any
    keys: NDArray[np.uint64]
    start_key: np.uint64


class Tally(NamedTuple):
    """What a run has seen so far, by arm or by level of experience."""

    pulled: NDArray[np.int64]
    won: NDArray[np.int64]
    pulls: NDArray[np.float64]  # [level, arm]
    lost: NDArray[np.float64]  # [level], regret


@jitable
def make_world(
    means: NDArray[np.float64], best_is_optimal: bool, value: Any, seed: int, run: int
) -> World:
    """The world of one run."""
    keys = np.empty(means.size, np.uint64)
    for arm in range(means.size):
        keys[arm] = stream_key(seed, run, FIRST_ARM + np.uint64(arm))
    start_key = np.uint64(stream_key(seed, run, STARTS))  # Python would make it an int
    return World(means, means.max(), means.min(), best_is_optimal, value, keys, start_key)


@jitable
def make_tally(levels: int, arms: int) -> Tally:
    """A tally of nothing."""
    return Tally(
        np.zeros(arms, np.int64), np.zeros(arms, np.int64), np.zeros((levels, arms)),
        np.zeros(levels),
    )  # fmt: skip


@jitable
def onward(user: Any, function: Any, state: float) -> tuple[float, float]:
    """A function of the state one step later, 0 after a departure: for reward 0, for reward 1."""
    return (
        (1.0 - user.leave_probability(state, 0.0)) * user.expected(function, state, 0.0),
        (1.0 - user.leave_probability(state, 1.0)) * user.expected(function, state, 1.0),
    )


@jitable
def gap(user: Any, world: Any, state: float, mean: float) -> float:
    """V*(s) - Q*(s, a) for an arm of this mean: D(s) times what it lacks to the best mean."""
    v0, v1 = onward(user, world.value, state)
    cost = 1.0 + v1 - v0
    return ((world.high if cost >= 0.0 else world.low) - mean) * cost  # type: ignore[no-any-return]


@jitable
def level_of(experience: float, levels: int) -> int:
    """The bin of [0, 1], cut into `levels` equal parts, that holds this experience."""
    return min(int(experience * levels), levels - 1)


@jitable
def outcome(user: Any, mean: float, state: float, u: float) -> tuple[float, bool, float]:
    """What a draw u decides for an arm of this mean: reward, whether the user leaves, next state.

    The next state of a user who leaves is the one they would have gone on in.
    """
    reward = 1.0 if u < mean else 0.0
    leave = user.leave_probability(state, reward)
    if reward > 0.0:
        end, top = mean * leave, mean
    else:
        end, top = mean + (1.0 - mean) * leave, 1.0
    left = u < end
    rest = 0.0 if left else (u - end) / (top - end)
    return reward, left, user.draw_next(state, reward, rest)


@jitable
def step(
    user: Any, world: World, tally: Tally, arm: int, state: float
) -> tuple[float, float, bool]:
    """Play `arm` once: the state it leads to, the reward, and whether the user left."""
    mean = world.means[arm]
    tally.pulled[arm] += 1
    reward, left, after = outcome(user, mean, state, draw(world.keys[arm], tally.pulled[arm]))
    level = level_of(user.experience(state), tally.lost.size)
    tally.won[arm] += int(reward)
    tally.pulls[level, arm] += 1.0
    if mean < world.high or not world.best_is_optimal:
        tally.lost[level] += gap(user, world, state, mean)
    return after, reward, left


@jitable
def begin(user: Any, world: World, visit: int) -> float:
    """The state in which visit number `visit`, from 1, starts."""
    return user.begin(draw(world.start_key, visit))  # type: ignore[no-any-return]
