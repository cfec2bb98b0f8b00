"""Many steps of one arm while nothing needs deciding, looked up by the type of the user.

A user model without an entry here coasts step by step (`Coaster`). Two-state users go 64 steps at
a time (`bits`); moving averages are spared most evaluations of their leave curve. They are the
same steps, draw for draw.
"""

from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..users import Ema, TwoState, User
from .bits import coast_words
from .loops import jitable
from .steps import Tally, World, begin, level_of, step
from .streams import draw_backwards
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
        return coast_steps(
            leaser, policy, memory, user, world, tally, arm, least, state, visit, steps, visits
        )

    def settle(self, user: Any, world: World, tally: Tally) -> None:
        """Bring the tally up to date before it is read; a coaster may leave work for this."""


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
    """For moving averages with a falling leave curve, while pulls cost nothing."""

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
        if world.prices.is_free(arm):
            return coast_curve(
                leaser, policy, memory, user, world, tally, kit,
                arm, least, state, visit, steps, visits,
            )  # fmt: skip
        return coast_steps(
            leaser, policy, memory, user, world, tally, arm, least, state, visit, steps, visits
        )


def coaster_for(user: User) -> Coaster:
    """The fastest way that is known to make many steps of this type of user."""
    return entry_for(_coaster, user)(user)  # type: ignore[no-any-return]


@singledispatch
def _coaster(user: User) -> Coaster:
    return Coaster()


@_coaster.register
def _(user: TwoState) -> Coaster:
    return WordCoaster() if len(user.start.states) == 1 else TwoStateCoaster()


@_coaster.register
def _(user: Ema) -> Coaster:
    return CurveCoaster() if user.leave.falls else Coaster()


@jitable
def coast_steps(
    leaser: Any, policy: Any, memory: Any, user: Any, world: World, tally: Tally,
    arm: int, least: float, state: float, visit: int, steps: int, visits: int,
) -> tuple[float, int, int]:  # fmt: skip
    """`Coaster.coast`, one step at a time."""
    done = ended = 0
    while done < steps and ended < visits and tally.won[arm] >= least * tally.pulled[arm]:
        before = user.experience(state)
        state, reward, left = step(user, world, tally, arm, state)
        departures = 1.0 if left else 0.0
        leaser.note(policy, memory, before, arm, reward, 1.0, departures, user.experience(state))
        done += 1
        if left:
            ended += 1
            state = begin(user, world, visit + ended)
    return state, done, ended


@jitable
def coast_curve(
    leaser: Any, policy: Any, memory: Any, user: Any, world: World, tally: Tally, kit: Kit,
    arm: int, least: float, state: float, visit: int, steps: int, visits: int,
) -> tuple[float, int, int]:  # fmt: skip
    """`coast_steps` for a falling leave curve, mostly without evaluating it.

    Between two entries of the leave table the curve is between them, so that a draw above the one
    or below the other has decided; only those between ask for the curve itself. Draws are made 64
    at a time. For an arm whose pulls cost nothing.
    """
    mean, levels, cells = world.rewards.means[arm], tally.lost.size, kit.leave_table.size - 1
    won, pulled = tally.won[arm], tally.pulled[arm]
    done = ended = ready = 0
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
        leaser.note(policy, memory, before, arm, reward, 1.0, departures, user.experience(after))
        tally.pulls[level_of(before, levels), arm] += 1.0
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


@jitable
def settle_counts(user: Any, world: World, tally: Tally) -> None:
    """Regret as pulls times gaps, for a user whose levels of experience are the states."""
    for level in range(tally.lost.size):
        tally.lost[level] = 0.0
        for arm in range(tally.won.size):
            if tally.pulls[level, arm] > 0.0:
                cost = world.prices.gap(user, float(level), arm)
                tally.lost[level] += tally.pulls[level, arm] * cost
