"""The leases of the engagement index: the leader, until the next thought.

Between two thoughts the estimates of other arms stay as they are while the leader is played, and
their budgets grow with time. So they lose to the leader for so many steps, as long as its mean is
at least some m, if they lose to an arm of mean m with no budget of its own at the end of these
steps. docs/leases.md has the argument.
"""

from dataclasses import dataclass
from math import inf, log
from typing import Any

import numpy as np

from ..policies.accounts import ALIKE, DIFFERENT, FAR, SLOPE, START
from ..policies.base import Array
from ..policies.engagement import AHEAD, FEW, SURE, EngagementIndex, View, budget
from ..policies.priced import most_nats
from .board import SAFE
from .index_leases import SHORT, counted_mean, fall
from .kernel import NOT_SOON, Lease, Leaser
from .loops import jitable


@dataclass(frozen=True)
class EngagementLeaser(Leaser[EngagementIndex, Any, Array]):
    """The arm of greatest mean, where rewards do not depend on the state."""

    def lease(self, policy: EngagementIndex, memory: Any, board: Array) -> Lease:
        leader, t = int(np.argmax(memory.pulls)), memory.clock[0] + 1.0
        if 2.0 * memory.pulls[leader] < t or memory.by_state[0] > SURE:
            return NOT_SOON
        mean, pulls, _ = policy.known(memory, leader, 0)
        steps = memory.next_refit[0] - memory.clock[0]
        while steps >= SHORT:
            least = mean - fall(mean, pulls, steps)
            worth, m = memory.prior[1], memory.prior[0]
            enough = counted_mean(least, (worth * m, worth * (1.0 - m)), memory.pulls[leader])
            if stays_ahead(policy, memory, leader, least - SAFE, enough - SAFE, t, steps):
                return leader, int(steps), enough + SAFE
            steps *= 0.4
        return NOT_SOON

    def goes_on(self, policy: EngagementIndex, memory: Any, board: Array) -> bool:
        return False


@jitable
def stays_ahead(
    policy: Any, memory: Any, leader: int, mean: float, counted: float, t: float, steps: float
) -> bool:
    """Whether no arm is tried for so many steps, while the leader's means are at least these."""
    arms, bins = memory.pulls.size, memory.optimism.size
    shown = max((memory.pulls > 0.0).sum(), 2.0)
    soon, ahead = log(AHEAD * t / shown), log(AHEAD * (t + steps) / shown)
    less, (_, pulls, _) = log(max(shown / FEW, 1.0)), policy.known(memory, leader, 0)
    leads = least_budget(policy, soon, pulls, steps)
    alike, different = memory.strength[ALIKE], memory.strength[DIFFERENT]
    for b in range(bins):
        worth, usual, state = -np.inf, 0.0, (b + 0.5) / bins
        row = memory.terms[leader, b]
        if different < FAR:
            worth = row[START] + row[SLOPE] * (counted if row[SLOPE] > 0.0 else 1.0)
            usual = least_budget(policy, soon, policy.often(memory, leader, b, pulls), steps)
        view = View(
            ahead, less, leader, mean, leads, most_nats(memory.limit[b]),
            leader, worth, usual, min(alike, different), inf,
        )  # fmt: skip
        for arm in range(arms):
            if arm == leader:
                continue
            other, _, _ = policy.known(memory, arm, b)
            if other >= mean or policy.score(memory, arm, state, 0.0, view) >= -SAFE:
                return False
            if different < FAR and memory.pulls[arm] > 0.0:
                rival = policy.visit_worth(memory, arm, b)
                if (different < alike and rival >= worth) or policy.departing(
                    memory, arm, b, view
                ) >= -SAFE:
                    return False
    return True


@jitable
def least_budget(policy: Any, ahead: float, pulls: float, steps: float) -> float:
    """No more than the budget of an arm in any of so many steps that it is played."""
    y = ahead - log(pulls + steps)
    return (1.0 + policy.inflation) * min(budget(y, pulls), budget(y, pulls + steps))  # type: ignore[no-any-return]
