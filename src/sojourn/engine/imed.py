"""The leases of IMED, in closed form."""

from dataclasses import dataclass
from math import exp, inf, log
from typing import Any

import numpy as np

from ..policies.index import extra_of
from .board import SAFE
from .divergence import bernoulli_kl
from .lease import SHORT, fall
from .leaser import NO_LEASE, CountingLeaser
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
