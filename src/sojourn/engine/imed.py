"""The decisions and leases of IMED, and the leases of its form for whole visits."""

from dataclasses import dataclass
from math import exp, inf, log
from typing import Any

from ..policies.accounts import ALIKE, DIFFERENT, LEADS, against
from ..policies.base import Array
from ..policies.index import extra_of
from .board import SAFE, pick
from .divergence import bernoulli_kl
from .evidence import (
    LEADER,
    MANY,
    PAUSE,
    READY,
    find_greatest,
    greatest_bound,
    hold_floor,
    make_evidence,
    note_pull,
)
from .lease import SHORT, fall
from .leaser import NO_LEASE, CountingLeaser, Leaser
from .loops import jitable
from .streams import Stream, draw_uniform

SHARE = 0.4
"""A lease of this share of what was asked for is taken at once."""


@dataclass(frozen=True)
class ImedLeaser(CountingLeaser):
    """The leader, until its log N may exceed what the others have.

    While the leader's mean is at least m, so is m*, and an arm of lower mean has at least
    N kl(its mean, m) + log N: it is not played before the leader's pulls exceed the exponential.
    """

    def board(self, policy: Any, arms: int) -> Any:
        return make_evidence(arms)

    def lease(self, policy: Any, memory: Any, board: Any) -> tuple[int, int, float]:
        if board.notes[PAUSE] > 0.0:
            board.notes[PAUSE] -= 1.0
            return NO_LEASE
        leader, t = int(board.notes[LEADER]), memory.clock[0] + 1.0
        pulls = memory.pulls[leader]
        if board.notes[READY] > 0.0 and 2.0 * pulls >= t:
            mean = memory.successes[leader] / pulls
            steps, wanted = 0.0, SHORT  # first, how much room there is at all
            while wanted >= SHARE * SHORT:
                least = mean - fall(mean, pulls, steps)
                found = room(
                    policy, memory.pulls, memory.successes, board.bounds, board.notes,
                    board.means[1], least, t + steps, wanted,
                )  # fmt: skip
                if steps > 0.0 and found >= wanted:
                    return leader, int(min(found, steps)), least + SAFE
                steps = 0.7 * min(found, t) if steps == 0.0 else wanted
                wanted = SHARE * steps
        board.notes[PAUSE] = 3.0
        return NO_LEASE

    def decide(self, policy: Any, memory: Any, board: Any, state: float, rng: Stream) -> int:
        if board.notes[READY] == 0.0:
            return policy.choose(memory, state, rng)  # type: ignore[no-any-return]
        leader, optimism = int(board.notes[LEADER]), policy.optimism_now(memory, state)
        pulls = memory.pulls[leader]
        mean = memory.successes[leader] / pulls
        target, tree, log_t = max(mean, board.means[1]), board.bounds, 0.0
        if optimism > 0.0:
            hold_floor(memory.pulls, memory.successes, tree, board.notes, target)
        else:
            log_t, tree = log(memory.clock[0] + 1.0), board.keys
            if policy.is_graded():
                tree = board.means
            extra = extra_of(policy.c, log_t)
            if lower_bound_exceeds(mean, pulls, log_t, extra, optimism, tree[1]):
                return leader
        ties = find_greatest(
            policy, memory.pulls, memory.successes, tree, board.notes, board.tied,
            log_t, optimism, target,
        )  # fmt: skip
        skip = int(draw_uniform(rng) * ties) if ties > 1 and policy.random_ties else 0
        return pick(board.tied, ties, skip)

    def learn(
        self, policy: Any, memory: Any, board: Any,
        state: float, arm: int, reward: float, left: bool, next_state: float,
    ) -> None:  # fmt: skip
        policy.update(memory, state, arm, reward, left, next_state)
        if board.notes[READY] == 0.0 or arm != int(board.notes[LEADER]):
            log_t = log(memory.clock[0] + 1.0)
            note_pull(policy, memory.pulls, memory.successes, board, arm, log_t)


@jitable
def room(
    policy: Any, pulls: Array, successes: Array, tree: Array, notes: Array,
    rival: float, least: float, end: float, steps: float,
) -> float:  # fmt: skip
    """Steps for which the leader wins while its mean is at `least`, if they end before time `end`.

    Where these are fewer than `steps`, it may say even less. In states of low optimism the leader's
    lower bound must be above the others' means, at most `rival`, which are above their own.
    """
    often = pulls[int(notes[LEADER])]
    if rival >= least - SAFE:
        return 0.0
    if policy.lowest() < policy.highest():
        low, log_end = min(policy.lowest(), 0.0), log(end)
        extra = extra_of(policy.c, log_end)
        if not lower_bound_exceeds(least, often, log_end, extra, low, rival):
            return 0.0
    hold_floor(pulls, successes, tree, notes, least)
    enough = -log(often + steps) if pulls.size > MANY else inf
    reach = -greatest_bound(pulls, successes, tree, notes, least, enough)
    return exp(min(reach - SAFE, 60.0)) - often  # type: ignore[no-any-return]


@dataclass(frozen=True)
class VisitLeaser(Leaser):
    """The arm that leads in every bin, until its log pulls may exceed what the others have.

    Between two thoughts nothing else changes: what speaks against other arms depends on their own
    pulls and on estimates that hold for so long, whatever rewards the leader has.
    """

    def lease(self, policy: Any, memory: Any, board: Any) -> tuple[int, int, float]:
        if board[0] > 0.0:
            board[0] -= 1.0
            return NO_LEASE
        leader = sole_leader(memory)
        if leader >= 0:
            steps = memory.due[leader] - memory.pulls[leader]
            for b in range(memory.stance.size):
                steps = min(steps, lead(memory, leader, b))
            if steps >= SHORT:
                return leader, int(steps), -1.0
        board[0] = 3.0
        return NO_LEASE

    def goes_on(self, policy: Any, memory: Any, board: Any) -> bool:
        return False


@jitable
def sole_leader(memory: Any) -> int:
    """The arm that leads in all bins, if there is one and all have been played, else -1."""
    found = -1
    for arm in range(memory.pulls.size):
        if memory.pulls[arm] == 0.0:
            return -1
        if memory.terms[arm, 0, LEADS] > 0.0:
            found = arm
    for b in range(memory.stance.size):
        if found >= 0 and memory.terms[found, b, LEADS] == 0.0:
            return -1
    return found


@jitable
def lead(memory: Any, leader: int, b: int) -> float:
    """Steps for which the leader is sure to be chosen in a bin, until the next thought."""
    reach = inf
    for arm in range(memory.pulls.size):
        if arm != leader:
            reach = min(reach, against(memory, arm, b))
    reach -= min(memory.strength[ALIKE], memory.strength[DIFFERENT])
    often = memory.pulls[leader]
    if memory.stance[b] <= 0.0:
        often = memory.seen[leader, b, 0] + memory.seen[leader, b, 1]
    return exp(min(reach - SAFE, 60.0)) - often  # type: ignore[no-any-return]


@jitable
def lower_bound_exceeds(
    mean: float, pulls: float, log_t: float, extra: float, optimism: float, level: float
) -> bool:
    """Whether the KL index, at an optimism not above 0, is sure to be above `level`.

    The lower bound is above p if N kl(m, p) is above its budget: no need to solve for it.
    """
    level = max(level, SAFE)
    budget = -optimism * log_t + extra
    return mean > level and pulls * bernoulli_kl(mean, level) > budget * (1.0 + SAFE) + SAFE
