"""Many steps of one arm while nothing needs deciding, looked up by the type of the user.

A user model without an entry here coasts step by step (`Coaster`). Two-state users go 64 steps at
a time (`bits`); moving averages are spared most evaluations of their leave curve. They are the
same steps, draw for draw.

Whether each of 64 draws is a reward, and whether it is a departure from state 0 or from state 1,
makes three words of 64 bits. A step maps the state before it to the state after it, maps compose,
and a parallel prefix over the composition gives all 64 states in six rounds of word operations.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..users import Ema, TwoState, User
from .loops import jitable, primitive
from .steps import Tally, World, begin, level_of, step
from .streams import GOLDEN, S11, draw_backwards, mix
from .structs import Compiled, entry_for

CELLS = 256
NEAR = 1e-12
"""A draw this close to a bound is not decided by it, so that rounding does not matter."""


class Kit(NamedTuple):
    """What coasting works with in one run."""

    leave_table: NDArray[np.float64]  # the leave curve at evenly spaced states, or empty
    draws: NDArray[np.float64]


@dataclass(frozen=True)
class Coaster(Compiled):
    """Step by step: for every user model."""

    def kit(self, user: Any) -> Kit:
        """Made once a run."""
        return Kit(np.zeros(0), np.zeros(0))

    def coast(
        self, leaser: Any, policy: Any, memory: Any, user: Any, world: World, tally: Tally,
        kit: Kit,
        arm: int, least: float, state: float, visit: int, steps: int, visits: int,
    ) -> tuple[float, int, int]:  # fmt: skip
        """Play `arm` as long as its mean is at least `least`, and tell `leaser.note` of it.

        Ends when `steps` steps are done or `visits` visits have ended. `visit` is the number of
        the current visit. Returns the state, the steps done, and the visits ended.
        """
        done = ended = 0
        while done < steps and ended < visits and tally.won[arm] >= least * tally.pulled[arm]:
            before = user.experience(state)
            state, reward, left = step(user, world, tally, arm, state)
            departures = 1.0 if left else 0.0
            after = user.experience(state)
            leaser.note(policy, memory, before, arm, reward, 1.0, departures, after)
            done += 1
            if left:
                ended += 1
                state = begin(user, world, visit + ended)
        return state, done, ended

    def settle(self, user: Any, world: World, tally: Tally) -> None:
        """Bring the tally up to date before it is read; a coaster may leave work for this."""


@jitable
def settle_counts(user: Any, world: World, tally: Tally) -> None:
    """A function of its own: in the method, loops of large policies run half as fast."""
    for level in range(tally.lost.size):
        tally.lost[level] = 0.0
        for arm in range(tally.won.size):
            if tally.pulls[level, arm] > 0.0:
                cost = world.prices.gap(user, float(level), arm)
                tally.lost[level] += tally.pulls[level, arm] * cost


@dataclass(frozen=True)
class TwoStateCoaster(Coaster):
    """Regret from counts at the end: the gaps of two states, whatever the number of steps."""

    def settle(self, user: Any, world: World, tally: Tally) -> None:
        settle_counts(user, world, tally)


@dataclass(frozen=True)
class WordCoaster(TwoStateCoaster):
    """64 steps at a time, for two-state users who all start in one state."""

    def coast(
        self, leaser: Any, policy: Any, memory: Any, user: Any, world: World, tally: Tally,
        kit: Kit,
        arm: int, least: float, state: float, visit: int, steps: int, visits: int,
    ) -> tuple[float, int, int]:  # fmt: skip
        return coast_words(
            leaser, policy, memory, user, world, tally, arm, least, state, visit, steps, visits
        )


@dataclass(frozen=True)
class CurveCoaster(Coaster):
    """For moving averages with a falling leave curve."""

    def kit(self, user: Any) -> Kit:
        table = np.empty(CELLS + 1)
        for i in range(CELLS + 1):
            table[i] = user.leave.probability(i / CELLS)
        return Kit(table, np.zeros(64))

    def coast(
        self, leaser: Any, policy: Any, memory: Any, user: Any, world: World, tally: Tally,
        kit: Kit,
        arm: int, least: float, state: float, visit: int, steps: int, visits: int,
    ) -> tuple[float, int, int]:  # fmt: skip
        """Mostly without evaluating the curve.

        Between two entries of the leave table the curve is between them, so that a draw above the
        one or below the other has decided; only those between ask for the curve itself. Draws are
        made 64 at a time.
        """
        mean, levels, cells = world.rewards.means[arm], tally.lost.size, kit.leave_table.size - 1
        won, pulled = tally.won[arm], tally.pulled[arm]
        done = ended = ready = 0
        free = world.prices.is_free(arm)
        while done < steps and ended < visits and won >= least * pulled:
            if ready == 0:
                ready = min(64, steps - done)
                draw_backwards(world.keys[arm], pulled + 1, ready, kit.draws)
            ready -= 1
            u = kit.draws[ready]
            reward = 1.0 if u < mean else 0.0
            after = user.next_state(state, reward)
            floor, share = (0.0, mean) if reward > 0.0 else (mean, 1.0 - mean)
            cell = min(int(after * cells), cells - 1)
            left = u < floor + share * kit.leave_table[cell] + NEAR
            if left and u >= floor + share * kit.leave_table[cell + 1] - NEAR:
                left = u < floor + share * user.leave_probability(state, reward, arm)
            before, departures = user.experience(state), 1.0 if left else 0.0
            leaser.note(
                policy, memory, before, arm, reward, 1.0, departures, user.experience(after)
            )
            level = level_of(before, levels)
            tally.pulls[level, arm] += 1.0
            if not free:
                tally.lost[level] += world.prices.gap(user, state, arm)
            won += int(reward)
            pulled += 1
            done += 1
            state = after
            if left:
                ended += 1
                state = begin(user, world, visit + ended)
        tally.won[arm] = won
        tally.pulled[arm] = pulled
        return state, done, ended


def coaster_for(user: User) -> Coaster:
    """The fastest way that is known to make many steps of this type of user."""
    make = entry_for(COASTERS, user)
    return Coaster() if make is None else make(user)


COASTERS: dict[type, Callable[[Any], Coaster]] = {
    TwoState: lambda user: WordCoaster() if len(user.start.states) == 1 else TwoStateCoaster(),
    Ema: lambda user: CurveCoaster() if user.leave.falls else Coaster(),
}
"""By class of user."""


ZERO, ONE = np.uint64(0), np.uint64(1)
SCALE = 2.0**53


@primitive
def count_ones(x: np.uint64) -> int:
    """The number of ones in a word."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@primitive
def _threshold(p: float) -> np.uint64:
    """The integer T with (z >> 11) < T just when the uniform of the word z is below p."""
    return np.uint64(np.ceil(p * SCALE))


@primitive
def _words(
    won: np.uint64, leave_00: np.uint64, leave_01: np.uint64,
    leave_10: np.uint64, leave_11: np.uint64, base: np.uint64,
) -> tuple[np.uint64, np.uint64, np.uint64]:  # fmt: skip
    """64 pulls: which are rewarded, and which end the visit in state 0 and in state 1."""
    rewards = left_0 = left_1 = ZERO
    for j in range(64):
        bit = np.uint64(j)
        u = mix(base + bit * GOLDEN) >> S11
        rewards |= np.uint64(u < won) << bit
        left_0 |= np.uint64((u < leave_01) | ((u >= won) & (u < leave_00))) << bit
        left_1 |= np.uint64((u < leave_11) | ((u >= won) & (u < leave_10))) << bit
    return rewards, left_0, left_1


@primitive
def _states(after_0: np.uint64, after_1: np.uint64, first: np.uint64) -> np.uint64:
    """The states before each of 64 steps, from the states that each leads to, and the first one.

    A round of the prefix composes the map of every step with that of `reach` steps before.
    """
    a, b, reach = after_0, after_1, ONE
    for _ in range(6):
        before_a = a << reach
        before_b = (b << reach) | ((ONE << reach) - ONE)  # shifted in: nothing changes the state
        a, b = (before_a & b) | (~before_a & a), (before_b & b) | (~before_b & a)
        reach <<= ONE
    return ((b if first else a) << ONE) | first


@primitive
def _until_below(rewards: np.uint64, take: int, won: int, pulled: int, least: float) -> int:
    """How many of `take` steps to make before the mean is below `least`."""
    for j in range(take):
        if won < least * pulled:
            return j
        won += int(rewards & ONE)
        pulled += 1
        rewards >>= ONE
    return take


@primitive
def coast_words(
    leaser: Any, policy: Any, memory: Any, user: Any, world: Any, tally: Any,
    arm: int, least: float, state: float, visit: int, steps: int, visits: int,
) -> tuple[float, int, int]:  # fmt: skip
    """`Coaster.coast` for a two-state user with a fixed start, 64 steps at a time."""
    mean = world.rewards.means[arm]
    rewarded = _threshold(mean)
    leave_00 = _threshold(mean + (1.0 - mean) * user.q00)
    leave_10 = _threshold(mean + (1.0 - mean) * user.q10)
    leave_01, leave_11 = _threshold(mean * user.q01), _threshold(mean * user.q11)
    counter = world.keys[arm] + np.uint64(tally.pulled[arm] + 1) * GOLDEN
    start = ZERO - np.uint64(user.start.states[0] > 0.0)  # all ones if visits start in state 1
    s = np.uint64(state > 0.0)
    done = ended = high = 0
    both = left_high = left_won = left_both = 0  # in state 1, and rewarded
    won, pulled = tally.won[arm], tally.pulled[arm]
    while done < steps and ended < visits and won >= least * pulled:
        rewards, left_0, left_1 = _words(
            rewarded, leave_00, leave_01, leave_10, leave_11, counter + np.uint64(done) * GOLDEN
        )
        after_0 = (left_0 & start) | (~left_0 & rewards)
        after_1 = (left_1 & start) | (~left_1 & rewards)
        before = _states(after_0, after_1, s)
        take = min(64, steps - done)
        if won < least * (pulled + take):  # the mean may fall too low on the way
            take = _until_below(rewards, take, won, pulled, least)
        kept = (ZERO - ONE) >> np.uint64(64 - take)
        left = ((before & left_1) | (~before & left_0)) & kept
        leaving = count_ones(left)
        if ended + leaving >= visits:  # stop with the last visit wanted
            last, others = ZERO, left
            for _ in range(visits - ended):
                last = others & (ZERO - others)
                others ^= last
            kept = last | (last - ONE)
            take = count_ones(kept)
            leaving = visits - ended
        won += count_ones(rewards & kept)
        high += count_ones(before & kept)
        if leaser.watches():
            left &= kept
            both += count_ones(before & rewards & kept)
            left_high += count_ones(left & before)
            left_won += count_ones(left & rewards)
            left_both += count_ones(left & before & rewards)
        done += take
        pulled += take
        ended += leaving
        final = np.uint64(take - 1)
        s = ((after_1 if (before >> final) & ONE else after_0) >> final) & ONE
    leaser.note_many(
        policy, memory, arm, done, high, won - tally.won[arm], both,
        ended, left_high, left_won, left_both,
    )  # fmt: skip
    tally.pulled[arm] = pulled
    tally.won[arm] = won
    tally.pulls[0, arm] += done - high
    tally.pulls[1, arm] += high
    return float(s), done, ended
