"""Per-decision importance weights: what a log says of a policy that did not write it.

A policy that chooses arm A in state S with chance p(A | S), where the log had chance b, makes the
first t steps of a visit as likely as w_t = product over them of p / b times what the log makes
them. So the mean over visits of

    sum_t w_t R_t   and   sum_t w_(t-1)

has the expectation of the total reward and of the length under the policy: a step counts with the
chance that the visit got there, its reward with the chance of the arm as well. Nothing is assumed
about users. What is assumed is that each b is the true chance given all that was known then, and
that it is positive wherever the policy may go.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.jit import jitable, kernel, package_digest
from ...engine.steps import level_of
from ...policies import Policy
from .steps import Flags, Floats, Ints, Steps

LEVELS = 2
MIN_EFFECTIVE = 30.0
"""A log worth fewer visits of the policy than this is refused."""
MIN_SHARE = 0.01
"""An arm that the policy plays less often than this in a state may be missing there."""


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of the rows of a log, before and after the choice of the arm."""

    steps: Steps
    before: Floats
    after: Floats

    @cached_property
    def final(self) -> Floats:
        """The weight of each visit."""
        final: Floats = self.after[self.steps.first + self.steps.length - 1]
        return final

    @property
    def effective(self) -> float:
        """How many visits of the policy the log is worth: (sum w)^2 / sum w^2."""
        squares = float((self.final**2).sum())
        return float(self.final.sum()) ** 2 / squares if squares > 0.0 else 0.0

    def weighted(self, of_reward: bool) -> tuple[float, Floats]:
        """Per-decision importance sampling: unbiased. The mean, and each visit's share in it."""
        total = self.steps.by_visit(self.after * self.steps.reward if of_reward else self.before)
        mean = float(total.mean())
        return mean, (total - mean) / total.size

    def normalised(self, of_reward: bool) -> tuple[float, Floats]:
        """The same with the weights of each step divided by their mean; biased by order 1 / visits.

        A visit that is over keeps its last weight, so that the weights of all visits have mean 1 at
        every step. The second part is linear in the visits (delta method).
        """
        steps = self.steps
        weight = self.after if of_reward else self.before
        value = weight * steps.reward if of_reward else weight
        over = np.cumsum(np.bincount(steps.length, self.final))[:-1]
        bottom = np.bincount(steps.step, weight) + over
        share = _ratio(np.bincount(steps.step, value), bottom)
        slope = _ratio(share, bottom)
        later = np.append(np.cumsum(slope[::-1])[::-1], 0.0)
        rows = _ratio(value, bottom[steps.step]) - slope[steps.step] * weight
        return float(share.sum()), steps.by_visit(rows) - self.final * later[steps.length]


def _ratio(top: Floats, bottom: Floats) -> Floats:
    """top / bottom, and 0 where all weights are."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0.0)


def weigh(steps: Steps, policy: Policy, memory: Any, learn: bool) -> Weights:
    """The weights of `policy` with this memory; with `learn`, it learns from the log on the way.

    Refuses a log without propensities or without overlap.
    """
    if steps.propensity is None:
        raise ValueError(
            "the log has no propensities: importance weights need a column propensity with the "
            "chance of each choice; methods=['model'] does without"
        )
    before, after = np.empty(steps.arm.size), np.empty(steps.arm.size)
    planned = np.zeros((LEVELS, len(steps.arms)))
    memory = type(memory)(*(part.copy() for part in memory))
    kernel_for(policy)(
        policy, memory, learn, steps.step == 0, steps.left, steps.arm, steps.reward,
        steps.state, steps.next_state, steps.propensity, before, after, planned,
    )  # fmt: skip
    weights = Weights(steps, before, after)
    _check_overlap(weights, planned)
    return weights


def _check_overlap(weights: Weights, planned: Floats) -> None:
    steps, arms = weights.steps, len(weights.steps.arms)
    level = np.minimum((steps.state * LEVELS).astype(int), LEVELS - 1)
    played = np.bincount(level * arms + steps.arm, minlength=LEVELS * arms).reshape(planned.shape)
    share = _ratio(planned, np.broadcast_to(planned.sum(axis=1, keepdims=True), planned.shape))
    for state, arm in np.argwhere((share >= MIN_SHARE) & (played == 0)):
        where = ("below 1/2", "from 1/2 on")[state] if steps.theta < 1.0 else state
        raise ValueError(
            f"there is no overlap: the policy plays arm {steps.arms[arm]!r} in state {where} with "
            f"chance {share[state, arm]:.2g}, and the log never does"
        )
    if weights.effective < MIN_EFFECTIVE:
        raise ValueError(
            f"there is too little overlap: the log of {steps.visits:,} visits is worth "
            f"{weights.effective:.1f} visits of this policy, and at least {MIN_EFFECTIVE:g} are "
            "needed; a shorter horizon, a longer log or a policy closer to the log's may help"
        )


@jitable
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
    """Fill in the weights, and how often the policy would play each arm at each level of state."""
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


_kernels: dict[Any, Any] = {}


def kernel_for(policy: Policy) -> Any:
    """`walk`, compiled for a type of policy."""
    if policy._numba_type_ not in _kernels:
        _kernels[policy._numba_type_] = kernel(_build(package_digest()), policy)
    return _kernels[policy._numba_type_]


def _build(digest: str) -> Any:
    def weigh_log(
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
        planned: NDArray[np.float64],
    ) -> None:
        _ = digest
        walk(
            policy, memory, learn, is_first, left, arm, reward, state, next_state, propensity,
            before, after, planned,
        )  # fmt: skip

    return weigh_log
