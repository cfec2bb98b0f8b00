"""The people of a log as tables: kinds of users, who leave by step, arm and reward."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...chain import mistake_cost, total
from ...stats.moments import Array

FIRST_ROW = 0
"""Of a rule: the first step of a visit; rows 1 and 2 are after a reward of 0 and of 1."""

LAYER_ENDS = (1, 2, 3, 5, 10, 20, 50)
"""The last step of every layer but the last one: classes of the step number."""


def layers(steps: NDArray[Any]) -> NDArray[np.int64]:
    """The layer of each step number, from 0.

    >>> layers(np.array([1, 2, 4, 5, 6, 51])).tolist()
    [0, 1, 3, 3, 4, 7]
    """
    return np.searchsorted(LAYER_ENDS, steps).astype(np.int64)


class Worth(NamedTuple):
    """Rewards and steps of a visit."""

    reward: float
    length: float


@dataclass(frozen=True, eq=False)
class Crowd:
    """Kinds of people, what they like, and when they leave.

    * `shares[kind]`: of the visits;
    * `means[kind, arm]`: the chance of a reward of 1;
    * `leave[kind, layer, arm, previous, reward]`: the chance to leave after a step. A layer is a
      class of step numbers; at the first step, which is a layer of its own, nothing is previous,
      and both rows are alike;
    * `ends`: the last step of every layer but the last, which has no end;
    * `last`: the step after which every visit is over (below the `horizon`), if there is one.

    A rule is an array [3, arm], chances of the arms at the first step, after a 0 and after a 1.
    """

    shares: Array
    means: Array
    leave: Array
    ends: tuple[int, ...] = LAYER_ENDS
    last: int | None = None

    @property
    def arms(self) -> int:
        return int(self.means.shape[1])

    @property
    def horizon(self) -> int:
        """Steps up to this one differ; all later ones are alike."""
        return self.ends[-1] + 1

    def layer(self, step: int) -> int:
        return int(np.searchsorted(self.ends, step))

    def values(self, rule: Array, of_reward: bool = True) -> Array:
        """V[kind, step - 1, previous]: what is to come (rewards, or else steps) under a rule.

        Steps up to the `horizon`; from there on V is the same. An infinite value means that some
        visits never end.
        """
        firsts = [1, *(end + 1 for end in self.ends)]
        steps = [self.step(rule, first, of_reward) for first in firsts]
        found = np.zeros((self.shares.size, self.horizon, 2))
        if self.last is None:
            gain, onward = steps[-1]
            # V = gain + onward V in the last layer, by kind.
            found[:, -1] = total(onward, gain, None)
        for step in range(self.last or self.horizon - 1, 0, -1):
            gain, onward = steps[self.layer(step)]
            found[:, step - 1] = gain + (onward @ found[:, step, :, None])[..., 0]
        return found

    def worth(self, rule: Array) -> Worth:
        """Rewards and steps of a visit under a rule, over all kinds."""
        both = (self.values(rule, of_reward)[:, 0, 0] for of_reward in (True, False))
        return Worth(*(float(self.shares @ by_kind) for by_kind in both))

    def worth_of_arms(self) -> tuple[Array, Array]:
        """Rewards and steps of a visit that shows one arm alone, by arm."""
        chances = np.stack([1.0 - self.means, self.means], axis=-1)[:, None, :, None, :]
        onward = chances * (1.0 - self.leave)  # kind, layer, arm, previous, next
        # Both at once, in the last axis.
        gain = np.stack([self.means, np.ones_like(self.means)], axis=-1)[:, :, None, :]
        gain = np.repeat(gain, 2, axis=2)  # kind, arm, previous
        value = np.zeros_like(gain)
        if self.last is None:
            value = total(onward[:, -1], gain, None)
        for step in range(self.last or self.horizon - 1, 0, -1):
            value = gain + onward[:, self.layer(step)] @ value
        reward, length = np.moveaxis(np.tensordot(self.shares, value[:, :, 0], 1), -1, 0)
        return reward, length

    def mistake_costs(self, arm: int) -> Array:
        """D[kind, step - 1, previous] if `arm` is shown otherwise, in rewards per unit of mean."""
        value = self.values(always(arm, self.arms))
        later = np.concatenate([value[:, 1:], value[:, -1:]], axis=1)
        steps = [self.layer(step) for step in range(1, self.horizon + 1)]
        stay = 1.0 - self.leave[:, steps, arm]  # kind, step, previous, reward
        after_0, after_1 = (stay[..., r] * later[:, :, None, r] for r in (0, 1))
        return np.asarray(mistake_cost(after_0, after_1))

    def step(self, rule: Array, step: int, of_reward: bool = True) -> tuple[Array, Array]:
        """What a step brings, [kind, previous], and the chance to go on [kind, previous, next]."""
        rows = rule[[FIRST_ROW, FIRST_ROW]] if step == 1 else rule[1:]
        stay = 1.0 - self.leave[:, self.layer(step)]  # kind, arm, previous, reward
        odds = np.stack([1.0 - self.means, self.means], axis=-1)  # kind, arm, reward
        onward = np.einsum("pa,kar,kapr->kpr", rows, odds, stay)
        gain = np.einsum("pa,ka->kp", rows, self.means if of_reward else np.ones_like(self.means))
        return gain, onward


def always(arm: int, arms: int) -> Array:
    """The rule that shows one arm.

    >>> always(1, 2).tolist()
    [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]
    """
    rule = np.zeros((3, arms))
    rule[:, arm] = 1.0
    return rule
