"""The leases of IMED and of its form for whole visits, in closed form."""

from dataclasses import dataclass
from math import exp, inf, log
from typing import Any

import numpy as np

from ..policies.accounts import ALIKE, DIFFERENT, LEADS, against
from ..policies.index import extra_of
from .board import SAFE
from .divergence import bernoulli_kl
from .lease import SHORT, fall
from .leaser import NO_LEASE, CountingLeaser, Leaser
from .loops import jitable


@dataclass(frozen=True)
class ImedLeaser(CountingLeaser):
    """The leader, until its log N may exceed what the others have.

    While the leader's mean is at least m, so is m*, and an arm of lower mean has at least
    N kl(its mean, m) + log N: it is not played before the leader's pulls exceed the exponential.
    """

    def lease(self, policy: Any, memory: Any, board: Any) -> tuple[int, int, float]:
        if board[0] > 0.0:
            board[0] -= 1.0
            return NO_LEASE
        leader, t = int(np.argmax(memory.pulls)), memory.clock[0] + 1.0
        pulls = memory.pulls[leader]
        if 2.0 * pulls >= t:
            mean = memory.successes[leader] / pulls
            steps = 0.7 * min(room(policy, memory, leader, mean, log(t)), t)
            while steps >= SHORT:
                least = mean - fall(mean, pulls, steps)
                if room(policy, memory, leader, least, log(t + steps)) >= steps:
                    return leader, int(steps), least + SAFE
                steps *= 0.5
        board[0] = 3.0
        return NO_LEASE


@jitable
def room(policy: Any, memory: Any, leader: int, least: float, log_end: float) -> float:
    """Steps for which the leader wins while its mean is at `least`, if they end before `log_end`.

    In states of low optimism its lower bound must be above the others' means, which are above
    their lower bounds.
    """
    pulls, reach, rival = memory.pulls[leader], inf, 0.0
    for arm in range(memory.pulls.size):
        n = memory.pulls[arm]
        if arm != leader:
            if n == 0.0:
                return 0.0
            mean = memory.successes[arm] / n
            if mean >= least - SAFE:
                return 0.0
            rival = max(rival, mean)
            reach = min(reach, n * bernoulli_kl(mean, least) + log(n))
    low, extra = min(policy.lowest(), 0.0), extra_of(policy.c, log_end)
    if policy.lowest() < policy.highest() and not lower_bound_exceeds(
        least, pulls, log_end, extra, low, rival
    ):
        return 0.0
    return exp(min(reach - SAFE, 60.0)) - pulls  # type: ignore[no-any-return]


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
