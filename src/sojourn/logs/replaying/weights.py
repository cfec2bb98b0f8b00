"""Per-decision importance weights: what a log says of a policy that did not write it.

Where a policy chooses arm A in state S with probability p(A | S) and the log did with propensity b,
the first t steps of a visit are w_t = product over them of p / b times as likely under the policy
as in the log. So the means over visits of

    sum_t w_t R_t   and   sum_t w_(t-1)

are unbiased for the total reward and for the length under the policy: a step is weighted by how
likely the visit got there, its reward by how likely the arm was as well. Nothing is assumed about
users, only that each b is the true probability given all that was known then, and positive
wherever the policy may go.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...engine.loops import loop
from ...engine.steps import level_of
from ...policies import Policy
from ...validation import InputError
from .overlap import check_arms
from .trajectories import Flags, Floats, Ints, Trajectories

LEVELS = 2
"""Parts of [0, 1] in which overlap is checked."""


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of the rows of a log, before and after the choice of the arm."""

    log: Trajectories
    before: Floats
    after: Floats

    @cached_property
    def final(self) -> Floats:
        final: Floats = self.after[self.log.first + self.log.length - 1]
        return final

    @property
    def effective(self) -> float:
        """How many visits of the policy the log is worth: (sum w)^2 / sum w^2."""
        squares = float((self.final**2).sum())
        return float(self.final.sum()) ** 2 / squares if squares > 0.0 else 0.0

    def until(self, horizon: int) -> "Weights":
        """Those of the first steps of each visit."""
        kept = self.log.step < horizon
        return Weights(self.log.until(horizon), self.before[kept], self.after[kept])

    def weighted(self, of_reward: bool) -> tuple[float, Floats]:
        """Per-decision importance sampling: unbiased. The mean, and each visit's share in it."""
        total = self.log.by_visit(self.after * self.log.reward if of_reward else self.before)
        mean = float(total.mean())
        return mean, (total - mean) / total.size

    def normalised(self, of_reward: bool) -> tuple[float, Floats]:
        """The same with the weights of each step divided by their mean; biased by order 1 / visits.

        A visit that is over keeps its last weight, so that the weights of all visits have mean 1 at
        every step. The second part is linear in the visits (delta method).
        """
        log = self.log
        weight = self.after if of_reward else self.before
        value = weight * log.reward if of_reward else weight
        over = np.cumsum(np.bincount(log.length, self.final))[:-1]
        bottom = np.bincount(log.step, weight) + over
        share = _ratio(np.bincount(log.step, value), bottom)
        slope = _ratio(share, bottom)
        later = np.append(np.cumsum(slope[::-1])[::-1], 0.0)
        rows = _ratio(value, bottom[log.step]) - slope[log.step] * weight
        return float(share.sum()), log.by_visit(rows) - self.final * later[log.length]


def _ratio(top: Floats, bottom: Floats) -> Floats:
    """top / bottom, and 0 where all weights are 0."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0.0)


def weigh(log: Trajectories, policy: Policy, memory: Any, learn: bool) -> Weights:
    """The weights of `policy` with this memory; with `learn`, it learns from the log on the way.

    Refuses a log without propensities or without overlap.
    """
    if log.propensity is None:
        raise InputError(
            "the log has no propensities: importance weights need a column propensity with the "
            "chance of each choice; methods=['model'] does without"
        )
    before, after = np.empty(log.arm.size), np.empty(log.arm.size)
    planned = np.zeros((LEVELS, len(log.arms)))
    memory = type(memory)(*(part.copy() for part in memory))
    walk(
        policy, memory, learn, log.step == 0, log.left, log.arm, log.reward,
        log.state, log.next_state, log.propensity, before, after, planned,
    )  # fmt: skip
    check_arms(log, planned)
    return Weights(log, before, after)


@loop
def walk(
    policy: Any,
    memory: Any,
    learn: bool,
    is_first: Flags,
    left: Flags,
    arm: Ints,
    reward: Floats,
    state: Floats,
    next_state: Floats,
    propensity: Floats,
    before: Floats,
    after: Floats,
    planned: Floats,
) -> None:
    """Fill in the weights, and the weighted probabilities of the arms by level of state."""
    weight = 1.0
    for row in range(arm.size):
        if is_first[row]:
            weight = 1.0
        before[row] = weight
        if weight > 0.0:
            chances = policy.probabilities(memory, state[row])
            level = level_of(state[row], planned.shape[0])
            for a in range(chances.size):
                planned[level, a] += weight * chances[a]
            weight *= chances[arm[row]] / propensity[row]
        after[row] = weight
        if learn:
            policy.update(memory, state[row], arm[row], reward[row], left[row], next_state[row])
