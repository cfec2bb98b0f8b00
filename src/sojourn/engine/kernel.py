"""The simulator's loop: one for every policy and every user model.

A run is a sequence of visits with one memory. At checkpoints (numbers of visits) it writes down a
row of totals so far, in this order:

    regret, reward, steps, regret by level of experience, pulls by level and arm (level first).

Regret is summed from gaps: by the performance-difference identity (the paper's regret
decomposition) the sum of V*(S_t) - Q*(S_t, A_t) has the same expectation as the reward lost, and
far less variance. Rewards are kept as a cross-check.

While a `Leaser` promises a choice, the policy is not called. Leases change no decision: with
`leases` False every step is chosen by `Policy.choose`.
"""

from dataclasses import dataclass
from math import inf
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..policies.base import Counts, Policy, count
from .loops import jitable, loop
from .steps import Tally, World, begin, make_tally, make_world, step
from .streams import Stream, policy_stream
from .structs import Compiled
from .unmanaged import keep_alive, unmanaged

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
    go_on_with(
        policy, user, leaser, coaster,
        make_world(rewards, prices, seed, run), make_tally(levels, rewards),
        policy.memory(arms), leaser.board(policy, arms), policy_stream(seed, run),
        1, checkpoints, leases, stop, fault, out,
    )  # fmt: skip


@jitable
def go_on_with(
    policy: Any, user: Any, leaser: Any, coaster: Any,
    world: World, tally: Tally, memory: Any, board: Any, rng: Stream,
    visit: int, checkpoints: NDArray[np.int64], leases: bool, stop: NDArray[np.int8],
    fault: NDArray[np.int64], out: NDArray[np.float64],
) -> None:  # fmt: skip
    """`go_on` with all that changes unmanaged."""
    own = (world, tally, memory, board, coaster.kit(user), rng)
    go_on(
        policy, user, leaser, coaster,
        unmanaged(own[0]), unmanaged(own[1]), unmanaged(own[2]),
        unmanaged(own[3]), unmanaged(own[4]), unmanaged(own[5]),
        visit, checkpoints, leases, stop, fault, out,
    )  # fmt: skip
    keep_alive(own)


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
                elif steps < 0:
                    steps += 1
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
    go_on_with(
        policy, user, leaser, coaster,
        make_world(rewards, prices, seed, run, people),
        Tally(pulled, won, fresh.pulls, fresh.lost), memory, board, rng,
        visit, checkpoints, leases, stop, fault, out,
    )  # fmt: skip


Lease = tuple[int, int, float]
"""An arm, the number of steps for which it is sure to be chosen, and the mean it has to keep.

Without a promise, how many steps to decide before it is worth asking again, less than 0.
"""
NO_LEASE, NOT_SOON = (0, 0, 0.0), (0, -4, 0.0)

P = TypeVar("P", bound=Policy)
M = TypeVar("M")
B = TypeVar("B")
"""A policy, its memory, and the board on which a leaser keeps what it works out."""


@dataclass(frozen=True)
class Leaser(Compiled, Generic[P, M, B]):
    """No promise: the policy chooses in every step."""

    def board(self, policy: P, arms: int) -> B:
        """Scratch space; what it holds never changes a decision."""
        return np.zeros(1)  # type: ignore[return-value]

    def lease(self, policy: P, memory: M, board: B) -> Lease:
        """An arm that is sure to be chosen in every state for a while, how many steps, and a mean.

        The promise holds for that many steps, as long as the arm's empirical mean before each of
        them is at least the one given. Without any steps there is no promise (see `Lease`).
        """
        return NO_LEASE

    def absorb(self, policy: P, memory: M, board: B, arm: int, pulls: int, successes: int) -> None:
        """Learn from the steps of a lease."""

    def watches(self) -> bool:
        """Whether the steps of a lease are to be told to `note`."""
        return False

    def patience(self, policy: P, memory: M) -> float:
        """After how many steps of a lease `absorb` has to be told of them."""
        return inf

    def goes_on(self, policy: P, memory: M, board: B) -> bool:
        """Whether a lease still holds after that."""
        return True

    def note(
        self, policy: P, memory: M,
        state: float, arm: int, reward: float, steps: float, departures: float, next_state: float,
    ) -> None:  # fmt: skip
        """Take note of steps of a lease that were alike, and how many ended with a departure.

        What steps add up to is told to `absorb`.
        """

    def note_many(
        self, policy: P, memory: M, arm: int,
        steps: int, high: int, good: int, both: int,
        left: int, left_high: int, left_good: int, left_both: int,
    ) -> None:  # fmt: skip
        """The same of all steps of a lease with a two-state user, from counts.

        Of so many `steps`, `high` began in state 1, `good` were rewarded, and `both` did both;
        then the same of those that ended with a departure.
        """

    def decide(self, policy: P, memory: M, board: B, state: float, rng: Stream) -> int:
        """What `policy.choose` would choose, perhaps sooner."""
        return policy.choose(memory, state, rng)

    def learn(
        self, policy: P, memory: M, board: B,
        state: float, arm: int, reward: float, left: bool, next_state: float,
    ) -> None:  # fmt: skip
        """`policy.update`, and keep the board up to date."""
        policy.update(memory, state, arm, reward, left, next_state)


@dataclass(frozen=True)
class CountingLeaser(Leaser[P, Counts, B]):
    """Of policies that remember `Counts`."""

    def absorb(
        self, policy: P, memory: Counts, board: B, arm: int, pulls: int, successes: int
    ) -> None:
        count(memory, arm, pulls, successes)


AnyLeaser = Leaser[Any, Any, Any]
