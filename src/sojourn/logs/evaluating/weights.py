"""Per-decision importance weights: what a log says of a policy that did not write it, and how far.

Where a policy chooses arm A in state S with probability p(A | S) and the log did with propensity b,
the first t steps of a visit are w_t = product over them of p / b times as likely under the policy
as in the log. So the means over visits of

    sum_t w_t R_t   and   sum_t w_(t-1)

are unbiased for the total reward and for the length under the policy: a step is weighted by how
likely the visit got there, its reward by how likely the arm was as well. Nothing is assumed about
users, only that each b is the true probability given all that was known then, and positive
wherever the policy may go.

The visits that still do what the policy would grow fewer with every step, and their weights grow.
Where hardly any is left, an estimate from weights is mostly too low, rarely far too high, and its
standard error, which rests on the same few visits, does not tell. `reach` says where that is.
"""

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from ...engine.loops import loop
from ...engine.steps import level_of
from ...policies import Policy
from ...validation import InputError
from .trajectories import Flags, Floats, Ints, Trajectories, estimate

LEVELS = 2
"""Parts of [0, 1] in which overlap is checked."""
MIN_SHARE = 0.01
"""Arms with less than this share of the policy's steps may be missing."""
LEAST = 20.0
"""Visits of the policy that a step must be worth; those of one user count as one."""
DOUBTFUL = 3.0
"""Standard errors by which the mean weight may be less than 1, from the second step on."""
UNSEEN = 0.2
"""The share of the policy's visits that may go on beyond the reach of an interval."""


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
        return worth(np.arange(self.final.size), self.final)

    def until(self, step: int) -> "Weights":
        """The weights of the first steps of each visit."""
        kept = self.log.step < step
        return Weights(self.log.until(step), self.before[kept], self.after[kept])

    def pdis(self, of_reward: bool) -> tuple[float, Floats]:
        """PDIS: unbiased. The mean, and each visit's share in it."""
        rows = self.after * self.log.reward if of_reward else self.before
        return mean_and_shares(self.log.by_visit(rows))

    def sn_pdis(self, of_reward: bool) -> tuple[float, Floats]:
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


def mean_and_shares(total: Floats) -> tuple[float, Floats]:
    """The mean over visits, and what each visit adds to its error."""
    mean = float(total.mean())
    return mean, (total - mean) / total.size


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
            "chance of each choice; methods=['DM'] needs none"
        )
    before, after = np.empty(log.arm.size), np.empty(log.arm.size)
    planned = np.zeros((LEVELS, len(log.arms)))
    memory = type(memory)(*(part.copy() for part in memory))
    walk(
        policy, memory, learn, log.step == 0, log.left, log.arm, log.reward,
        log.state, log.next_state, log.propensity, before, after, planned,
    )  # fmt: skip
    _check_arms(log, planned)
    return Weights(log, before, after)


@loop
def walk(
    policy: Any, memory: Any, learn: bool, is_first: Flags, left: Flags, arm: Ints, reward: Floats,
    state: Floats, next_state: Floats, propensity: Floats, before: Floats, after: Floats,
    planned: Floats,
) -> None:  # fmt: skip
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


def _check_arms(log: Trajectories, planned: Floats) -> None:
    """Refuse weights that miss arms the policy plays.

    `planned` are the weighted probabilities of the arms, a row for each part of [0, 1] by state.
    """
    levels, arms = planned.shape
    level = np.minimum((log.state * levels).astype(int), levels - 1)
    played = np.bincount(level * arms + log.arm, minlength=levels * arms).reshape(planned.shape)
    total = planned.sum(axis=1, keepdims=True)
    share = np.divide(planned, total, out=np.zeros_like(planned), where=total > 0.0)
    for state, arm in np.argwhere((share >= MIN_SHARE) & (played == 0)):
        where = ("below 1/2", "from 1/2 on")[state] if log.theta < 1.0 else state
        raise InputError(
            f"there is no overlap: the policy plays arm {log.arms[arm]!r} in state {where} with "
            f"chance {share[state, arm]:.2g}, and the log never does"
        )


@dataclass(frozen=True)
class Reach:
    """The first steps of a visit, each of which the log is worth enough visits of the policy."""

    steps: int
    beyond: float
    """The share of the policy's visits that goes on after them, estimated from the weights."""
    rest: float
    """How many more steps those may make: as many as they do in the log, or as many as the policy
    makes for each departure, whichever is more."""

    @property
    def enough(self) -> bool:
        """Whether so few visits go on that an interval can allow for them."""
        return self.beyond <= UNSEEN

    @property
    def unseen(self) -> float:
        """The most that a visit may have beyond the reach, in steps: rewards cannot be more."""
        return self.beyond * self.rest if self.enough else inf


def reach(weights: Weights, max_steps: int | None) -> Reach:
    """How far a weighted log goes before its steps are worth fewer than `LEAST` visits.

    Refuses a log whose visits part from the policy at once.
    """
    log = weights.log
    steps, last = _follow(weights)
    if not steps:
        raise InputError(
            f"there is too little overlap: the first steps of the log's {log.visits:,} visits are "
            f"worth fewer than {LEAST:g} visits of this policy; a longer log or a policy closer "
            "to the log's may help"
        )
    goes_on = log.length > steps
    if not (last * goes_on).any():
        return Reach(steps, 0.0, 0.0)
    seen = weights.after * (log.step < steps)
    left = float((seen * log.left).sum())
    in_log = float((log.length[goes_on] - steps).mean())
    rest = max(in_log, float(seen.sum()) / left if left else inf)
    most = inf if max_steps is None else float(max_steps - steps)
    return Reach(steps, float((last * goes_on).sum() / last.sum()), min(rest, most))


def _follow(weights: Weights) -> tuple[int, Floats]:
    """The number of steps that can be followed, and the weight of each visit after them.

    A visit that is over keeps its weight, so that the mean over all visits is 1 at every step. It
    is clearly less where the few visits that count for many others are not in the log.
    """
    log = weights.log
    last, going = np.ones(log.visits), np.arange(log.visits)
    for step in range(int(log.length.max())):
        going = going[log.length[going] > step]
        after = last.copy()
        after[going] = weights.after[log.first[going] + step]
        mean = float(after.mean())
        found = estimate(log.user, mean, (after - mean) / log.visits, DOUBTFUL)
        if worth(log.user[going], after[going]) < LEAST or (step and found.high < 1.0):
            return step, last
        last = after
    return int(log.length.max()), last


def worth(user: Ints, weight: Floats) -> float:
    """How many visits of the policy weighted visits are worth: (sum w)^2 / sum w^2 over users."""
    each = np.bincount(user, weight)
    squares = float((each**2).sum())
    return float(each.sum()) ** 2 / squares if squares > 0.0 else 0.0
