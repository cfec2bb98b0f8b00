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
from ..policies.engagement import AHEAD, FEW, EngagementIndex, View, budget, shown
from ..policies.estimates import SURE, known
from ..policies.priced import most_nats
from .board import SAFE
from .index_leases import counted_mean, fall
from .kernel import NOT_SOON, Lease, Leaser
from .loops import jitable

FEWEST = 8.0
"""A shorter lease costs about as much as deciding."""


@dataclass(frozen=True)
class EngagementLeaser(Leaser[EngagementIndex, Any, Array]):
    """The arm of greatest mean, where rewards do not depend on the state."""

    def lease(self, policy: EngagementIndex, memory: Any, board: Array) -> Lease:
        leader, t = int(np.argmax(memory.pulls)), memory.clock[0] + 1.0
        if 2.0 * memory.pulls[leader] < t or memory.by_state[0] > SURE:
            return NOT_SOON
        whole, sure = memory.next_refit[0] - memory.clock[0], 0.0
        enough, steps = promised(policy, memory, leader, t, whole), FEWEST
        if enough < inf:
            return leader, int(whole), enough
        while steps < whole:
            more = promised(policy, memory, leader, t, steps)
            if more == inf:
                break
            enough, sure = more, steps
            steps *= 4.0
        return (leader, int(sure), enough) if sure > 0.0 else NOT_SOON

    def goes_on(self, policy: EngagementIndex, memory: Any, board: Array) -> bool:
        return False


@jitable
def promised(policy: Any, memory: Any, leader: int, t: float, steps: float) -> float:
    """The mean that the leader has to keep to be played for so many steps; inf: it may not be."""
    mean, pulls, _ = known(memory, leader, 0)
    least = mean - fall(mean, pulls, steps)
    m, worth = memory.prior[0], memory.prior[1]
    enough = counted_mean(least, (worth * m, worth * (1.0 - m)), memory.pulls[leader])
    if stays_ahead(policy, memory, leader, least - SAFE, enough - SAFE, t, steps):
        return enough + SAFE
    return inf


@jitable
def stays_ahead(
    policy: Any, memory: Any, leader: int, mean: float, counted: float, t: float, steps: float
) -> bool:
    """Whether no arm is tried for so many steps, while the leader's means are at least these."""
    arms, played = memory.pulls.size, max(shown(memory), 2.0)
    soon, ahead = log(AHEAD * t / played), log(AHEAD * (t + steps) / played)
    less, (_, pulls, _) = log(max(played / FEW, 1.0)), known(memory, leader, 0)
    leads = least_budget(policy, soon, pulls, steps)
    alike, different = memory.strength[ALIKE], memory.strength[DIFFERENT]
    widest = int(memory.limit.argmax())
    for b in range(memory.limit.size):
        worth, usual, state = -np.inf, 0.0, (b + 0.5) / memory.limit.size
        if different < FAR:
            row = memory.terms[leader, b]
            worth = row[START] + row[SLOPE] * (counted if row[SLOPE] > 0.0 else 1.0)
            usual = least_budget(policy, soon, policy.often(memory, leader, b, pulls), steps)
        elif b != widest:  # bins differ in their limits only
            continue
        view = View(
            ahead, less, leader, mean, leads, most_nats(memory.limit[b]),
            leader, worth, usual, min(alike, different), inf,
        )  # fmt: skip
        for arm in range(arms):
            if arm == leader:
                continue
            other, _, _ = known(memory, arm, b)
            if other >= mean or policy.score(memory, arm, state, 0.0, view) >= -SAFE:
                return False
            rivals = different < alike and memory.pulls[arm] > 0.0
            if rivals and policy.visit_worth(memory, arm, b) >= worth:
                return False
    return True


@jitable
def least_budget(policy: Any, ahead: float, pulls: float, steps: float) -> float:
    """No more than the budget of an arm in any of so many steps that it is played."""
    y = ahead - log(pulls + steps)
    return (1.0 + policy.inflation) * min(budget(y, pulls), budget(y, pulls + steps))  # type: ignore[no-any-return]
