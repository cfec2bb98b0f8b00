"""A population: classes of users who differ in what they like and in when they leave.

A rule for a population is an array [3, arm]: the probabilities of the arms at the first step of a
visit, after a reward of 0 and after a reward of 1.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..chain import Array, mistake_cost, total
from ..engine.rewards import Coins, coin
from ..engine.structs import PYTHON_ONLY, interpreted
from ..validation import InputError
from .base import MOST_STARTS, Space, Start, User

FIRST_ROW = 0
"""The row of a rule for the first step of a visit; rows 1 and 2 follow rewards of 0 and 1."""


class Worth(NamedTuple):
    """Expected rewards and steps of a visit."""

    reward: float
    length: float


@dataclass(frozen=True, eq=False, repr=False)
class Population(User):
    """Latent classes of users, as tables.

    * `shares[class]`: of the visits;
    * `means[class, arm]`: the probability of a reward of 1;
    * `leave[class, layer, arm, previous, reward]`: the probability to leave after a step. A layer
      is a range of step numbers;
    * `layer_of_step[step - 1]`: the layer of each step. The last entry, the `horizon`, is for all
      later steps too. The first step has no previous reward: it is played as after a 1;
    * `last`: the step after which every visit is over, less than the horizon; 0 for none.

    A policy sees the last reward. The state is (class x horizon + step - 1) x 2 + last reward.

    >>> leave = np.full((2, 1, 3, 2, 2), 0.5)
    >>> means = np.array([[0.75, 0.5, 0.625], [0.25, 0.5, 0.125]])
    >>> users = Population(np.array([0.5, 0.5]), means, leave, np.array([0, 0]))
    >>> users.worth_under(always(0, 3))  # two steps per visit
    Worth(reward=1.0, length=2.0)
    """

    shares: Array = field(metadata=PYTHON_ONLY)
    means: Array
    leave: Array
    layer_of_step: NDArray[np.int64]
    last: int = 0

    start: Any = field(init=False, metadata=PYTHON_ONLY)
    below: Array = field(init=False)
    """Cumulative shares."""
    span: float = field(init=False)
    """The number of states of a class."""

    def __post_init__(self) -> None:
        shares = np.asarray(self.shares, np.float64)
        vars(self).update(
            shares=shares,
            means=np.ascontiguousarray(self.means, np.float64),
            leave=np.ascontiguousarray(self.leave, np.float64),
            layer_of_step=np.ascontiguousarray(self.layer_of_step, np.int64),
            span=2.0 * self.layer_of_step.size,
            below=np.cumsum(shares) / shares.sum(),
        )
        self._check()
        starts = tuple(i * self.span + 1.0 for i in range(shares.size))
        vars(self).update(start=Start(starts, tuple((shares / shares.sum()).tolist())))

    def _check(self) -> None:
        classes, arms = self.means.shape
        if self.shares.shape != (classes,) or not 0 < classes <= MOST_STARTS:
            raise InputError(
                f"shares is not allowed: means has {classes} rows, and it must have as many "
                f"numbers, at most {MOST_STARTS}"
            )
        if self.horizon < 2:
            raise InputError("layer_of_step is not allowed: it must have at least two steps")
        layers = int(self.layer_of_step.max()) + 1
        if self.leave.shape != (classes, layers, arms, 2, 2):
            raise InputError(
                f"leave is not allowed: its shape is {self.leave.shape}, and must be "
                f"{(classes, layers, arms, 2, 2)}"
            )
        for name, values in (("means", self.means), ("leave", self.leave)):
            if ((values < 0.0) | (values > 1.0)).any():
                raise InputError(f"{name} is not allowed: its numbers must be from 0 to 1")
        if not 0 <= self.last < self.horizon:
            raise InputError(
                f"last = {self.last!r} is not allowed: it must be a step before {self.horizon}"
            )

    def __repr__(self) -> str:
        classes, arms = self.means.shape
        return f"Population({classes} classes, {arms} arms, {self.horizon} steps)"

    @cached_property
    def space(self) -> Space:  # type: ignore[override]
        by_arm = bool((self.leave != self.leave[:, :, :1]).any())
        states = 2 * self.shares.size * self.horizon
        return Space(states=states, bins=2, arms=self.arms if by_arm else None)

    # What a user model says; run by the simulator.

    def begin(self, u: float) -> float:
        """The first state of the class that u picks."""
        picked = 0
        while picked < self.below.size - 1 and u >= self.below[picked]:
            picked += 1
        return picked * self.span + 1.0

    def experience(self, state: float) -> float:
        """The last reward."""
        return float(int(state) & 1)

    def next_state(self, state: float, reward: float) -> float:
        """The same class, one step later."""
        latest = (self.class_of(state) + 1) * self.span - 2.0
        return min((int(state) & -2) + 2.0, latest) + reward

    def leave_probability(self, state: float, reward: float, arm: int) -> float:
        """Chance to leave by class, layer, arm and the last two rewards; 1 after the last step."""
        own, step = self.class_of(state), self.step_of(state)
        if step == self.last:
            return 1.0
        layer = self.layer_of_step[step - 1]
        return float(self.leave[own, layer, arm, int(state) & 1, int(reward)])

    def class_of(self, state: float) -> int:
        """The class of the user in this state."""
        return int(state / self.span)

    def step_of(self, state: float) -> int:
        """The step of the visit, from 1, up to the horizon."""
        return (int(state - self.class_of(state) * self.span) >> 1) + 1

    @interpreted
    def in_layers(self, layer_of_step: NDArray[np.int64]) -> "Population":
        """The same population in other layers; each has the chances of its first step."""
        firsts = np.unique(layer_of_step, return_index=True)[1]
        own = self.layer_of_step[np.minimum(firsts, self.horizon - 1)]
        return replace(self, leave=self.leave[:, own], layer_of_step=layer_of_step)

    # What is to come, by backward induction from the horizon.

    @property
    def arms(self) -> int:
        return int(self.means.shape[1])

    @property
    def horizon(self) -> int:
        """Steps up to this one differ; all later ones are alike."""
        return int(self.layer_of_step.size)

    @cached_property
    def rewards(self) -> "ClassCoins":
        """The rewards of the arms for the simulator."""
        return ClassCoins(self.shares @ self.means, self.means)

    @interpreted
    def layer(self, step: int) -> int:
        """The layer of a step, numbered from 1."""
        return int(self.layer_of_step[min(step, self.horizon) - 1])

    @interpreted
    def values_under(self, rule: Array) -> Array:
        """V[class, step - 1, previous, (rewards, steps)]: expected to come under a rule.

        Steps go up to the `horizon`; from there on V is the same. NeverEnds if visits do not.
        """
        found = np.zeros((self.shares.size, self.horizon, 2, 2))
        if not self.last:
            gain, onward = self.transition(rule, self.horizon)
            found[:, -1] = total(onward, gain, None)  # V = gain + onward V in the last layer
        made: dict[tuple[int, bool], tuple[Array, Array]] = {}
        for step in self._steps_back():
            key = self.layer(step), step == 1
            if key not in made:
                made[key] = self.transition(rule, step)
            gain, onward = made[key]
            found[:, step - 1] = gain + onward @ found[:, step]
        return found

    @interpreted
    def worth_under(self, rule: Array) -> Worth:
        """Expected rewards and steps of a visit under a rule, over all classes."""
        return Worth(*(self.shares @ self.values_under(rule)[:, 0, 1]).tolist())

    @interpreted
    def worth_of_arms(self) -> tuple[Array, Array]:
        """Expected rewards and steps of a visit that shows one arm alone, by arm."""
        reward, length = (self.shares @ by_class for by_class in self.values_of_arms())
        return reward, length

    @interpreted
    def values_of_arms(self) -> tuple[Array, Array]:
        """The same by [class, arm]."""
        onward = self._chances_of_rewards[:, None, :, None, :] * (1.0 - self.leave)
        gain = np.repeat(self._gains[:, :, None, :], 2, axis=2)  # class, arm, previous, both
        value = np.zeros_like(gain)
        if not self.last:
            value = total(onward[:, self.layer(self.horizon)], gain, None)
        for step in self._steps_back():
            value = gain + onward[:, self.layer(step)] @ value
        return value[:, :, 1, 0], value[:, :, 1, 1]

    @interpreted
    def mistake_costs(self, arm: int) -> Array:
        """D[class, step - 1, previous] if `arm` is shown otherwise, in rewards per unit of mean."""
        value = self.values_under(always(arm, self.arms))[..., 0]
        later = np.concatenate([value[:, 1:], value[:, -1:]], axis=1)
        stay = 1.0 - self.leave[:, self.layer_of_step, arm]  # class, step, previous, reward
        after_0, after_1 = (stay[..., r] * later[:, :, None, r] for r in (0, 1))
        return np.asarray(mistake_cost(after_0, after_1))

    @interpreted
    def transition(self, rule: Array, step: int) -> tuple[Array, Array]:
        """Rewards and steps of a step, [class, previous, (rewards, steps)], and where it goes.

        That is the chance to go on by [class, previous, reward].
        """
        rows = rule[[FIRST_ROW, FIRST_ROW]] if step == 1 else rule[1:]
        stay = 1.0 - self.leave[:, self.layer(step)]  # class, arm, previous, reward
        onward = np.einsum("pa,kar,kapr->kpr", rows, self._chances_of_rewards, stay)
        return np.einsum("pa,kag->kpg", rows, self._gains), onward

    @property
    def _chances_of_rewards(self) -> Array:
        """By [class, arm, reward]."""
        return np.stack([1.0 - self.means, self.means], axis=-1)

    @property
    def _gains(self) -> Array:
        """Rewards and steps that a step brings, by [class, arm, which]."""
        return np.stack([self.means, np.ones_like(self.means)], axis=-1)

    def _steps_back(self) -> range:
        return range(self.last or self.horizon - 1, 0, -1)


@dataclass(frozen=True, eq=False)
class ClassCoins(Coins):
    """Rewards of 0 and 1 with means by the class of the user, table[class, arm]."""

    table: Array

    def outcome(self, user: Any, arm: int, state: float, u: float) -> tuple[float, bool, float]:
        return coin(user, self.table[user.class_of(state), arm], arm, state, u)


def always(arm: int, arms: int) -> Array:
    """The rule that shows one arm."""
    rule = np.zeros((3, arms))
    rule[:, arm] = 1.0
    return rule
