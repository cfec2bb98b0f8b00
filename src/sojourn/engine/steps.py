"""What happens to a user: one step, and what it costs.

The n-th draw of an arm's stream decides its n-th pull (`rewards`). However many steps are made at
a time (`coasting`), they are the same steps.
"""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from .loops import jitable
from .streams import FIRST_ARM, STARTS, draw, stream_key
from .structs import Struct, without_annotations
from .unmanaged import INNER

NEVER_BACK = 2**62
"""A number of people that no run reaches: each visit is of another person."""


class World(NamedTuple):
    """What a run plays in: rewards of the arms, what a pull costs, and the streams of draws."""

    rewards: Any  # `Coins` or `Grades`
    prices: Any  # `sojourn.values.functions`
    keys: NDArray[np.uint64]
    start_key: np.uint64
    people: int  # they come in turn; `NEVER_BACK`: each of them once


class Tally(NamedTuple):
    """What a run has seen so far, by arm or by level of experience."""

    pulled: NDArray[np.int64]
    won: NDArray[Any]
    pulls: NDArray[np.float64]  # [level, arm]
    lost: NDArray[np.float64]  # [level], regret


@jitable
def unmarked(state: float) -> float:
    """The state itself, where -1 - s is the state s at a first step of its own (`StaysFirst`)."""
    return -1.0 - state if state < 0.0 else state


@jitable
def make_world(rewards: Any, prices: Any, seed: int, run: int, people: int = NEVER_BACK) -> World:
    """The world of one run."""
    keys = np.empty(rewards.means.size, np.uint64)
    for arm in range(keys.size):
        keys[arm] = stream_key(seed, run, FIRST_ARM + np.uint64(arm))
    start_key = np.uint64(stream_key(seed, run, STARTS))  # Python would make it an int
    return World(rewards, prices, keys, start_key, people)


@jitable
def make_tally(levels: int, rewards: Any) -> Tally:
    """A tally of nothing."""
    arms = rewards.means.size
    return Tally(
        np.zeros(arms, np.int64), rewards.nothing(), np.zeros((levels, arms)), np.zeros(levels)
    )


def draw_next(user: Any, state: float, reward: float, u: float) -> float:
    """The next state; a uniform draw u decides it where it is random."""
    after = user.next_state(state, reward)
    if after > -1.0:
        return after  # type: ignore[no-any-return]
    last = 0
    for t in range(int(-after)):
        chance = user.next_chance(state, reward, float(t))
        if chance > 0.0:
            last = t
            u -= chance
            if u < 0.0:
                break
    return float(last)


def expected(user: Any, function: Any, state: float, reward: float) -> float:
    """The mean of a function of the next state."""
    after = user.next_state(state, reward)
    if after > -1.0:
        return function.at(after)  # type: ignore[no-any-return]
    mean = 0.0
    for t in range(int(-after)):
        mean += user.next_chance(state, reward, float(t)) * function.at(float(t))
    return mean


def _may_be_random(user: Struct) -> bool:
    """Whether next states may be random; for other users that code would cost time."""
    inner = user.members.get("user")
    own = hasattr(user.cls, "next_chance")
    return own and (not isinstance(inner, Struct) or _may_be_random(inner))


@overload(draw_next, jit_options=INNER)
def _overload_draw_next(user, state, reward, u):  # type: ignore[no-untyped-def]
    if _may_be_random(user):
        return without_annotations(draw_next)
    return lambda user, state, reward, u: user.next_state(state, reward)


@overload(expected, jit_options=INNER)
def _overload_expected(user, function, state, reward):  # type: ignore[no-untyped-def]
    if _may_be_random(user):
        return without_annotations(expected)
    return lambda user, function, state, reward: function.at(user.next_state(state, reward))


def next_states(user: Any, state: float, reward: float) -> list[tuple[float, float]]:
    """All next states with their chances."""
    after = float(user.next_state(state, reward))
    if after > -1.0:
        return [(after, 1.0)]
    states = map(float, range(int(-after)))
    chances = [(t, float(user.next_chance(state, reward, t))) for t in states]
    return [(t, chance) for t, chance in chances if chance > 0.0]


@jitable
def onward(user: Any, function: Any, state: float) -> tuple[float, float]:
    """A function of the state one step later, 0 after a departure: for reward 0, for reward 1."""
    return (
        (1.0 - user.leave_probability(state, 0.0, 0)) * expected(user, function, state, 0.0),
        (1.0 - user.leave_probability(state, 1.0, 0)) * expected(user, function, state, 1.0),
    )


@jitable
def level_of(experience: float, levels: int) -> int:
    """The bin of [0, 1], cut into `levels` equal parts, that holds this experience."""
    return min(int(experience * levels), levels - 1)


@jitable
def step(
    user: Any, world: World, tally: Tally, arm: int, state: float
) -> tuple[float, float, bool]:
    """Play `arm` once: the state it leads to, the reward, and whether the user left."""
    tally.pulled[arm] += 1
    u = draw(world.keys[arm], tally.pulled[arm])
    reward, left, after = world.rewards.outcome(user, arm, state, u)
    level = level_of(user.experience(state), tally.lost.size)
    tally.won[arm] += world.rewards.counted(reward)
    tally.pulls[level, arm] += 1.0
    if not world.prices.is_free(arm):
        tally.lost[level] += world.prices.gap(user, state, arm)
    return after, reward, left


@jitable
def begin(user: Any, world: World, visit: int) -> float:
    """The state in which visit number `visit`, from 1, starts: it is drawn once for each person."""
    person = visit if visit <= world.people else (visit - 1) % world.people + 1
    return user.begin(draw(world.start_key, person))  # type: ignore[no-any-return]
