"""Play policies against a population in the simulator's loop: gains over the incumbent's rule.

A visit is that of a user of some class; users come in turn, and come back as in the log. A policy
does not know them. It sees what it would see live, the last reward, and 1 at the first step.

The gain over a rule is summed from advantages: with V the rule's values and Q(step, arm) what is to
come if the arm is shown now and the rule goes on, the sum over all steps of Q - V has the same
mean as the rewards of the policy less those of the rule (performance-difference identity), and far
less variance. Lengths are compared in the same way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.kernel import BY_LEVEL, REGRET, REWARD as WON, columns
from ...engine.steps import NEVER_BACK
from ...engine.structs import Compiled
from ...policies import Policy
from ...simulation.chunks import Stage, play_stages
from ...stats.moments import Array
from ...users.population import Population

GAIN, LONGER, REWARD, STEPS, VISITS, PULLS = range(6)
"""Columns of what a run adds up; from `PULLS` on, one for each arm."""


@dataclass(frozen=True, eq=False)
class Advantages(Compiled):
    """What a step gives beyond the incumbent's rule: rewards as a price, steps in `account`.

    `rewards` and `lengths` are to come under the rule, by state. Once there are `most` steps, the
    run is told to `stop`.
    """

    rewards: Array
    lengths: Array
    account: Array
    """Steps beyond those of the rule, all steps, and visits."""
    most: float
    stop: NDArray[np.int8]

    def is_free(self, arm: int) -> bool:
        """Every step is accounted for."""
        return False

    def gap(self, user: Any, state: float, arm: int) -> float:
        """The advantage of the rule over the arm, in rewards."""
        here = int(state)
        mean = user.means[user.class_of(state), arm]
        on_0 = (1.0 - mean) * (1.0 - user.leave_probability(state, 0.0, arm))
        on_1 = mean * (1.0 - user.leave_probability(state, 1.0, arm))
        after_0, after_1 = int(user.next_state(state, 0.0)), int(user.next_state(state, 1.0))
        later = on_0 * self.lengths[after_0] + on_1 * self.lengths[after_1]
        self.account[0] += 1.0 + later - self.lengths[here]
        self.account[1] += 1.0
        if user.step_of(state) == 1:
            self.account[2] += 1.0
        if self.account[1] >= self.most:
            self.stop[0] = 1
        later = on_0 * self.rewards[after_0] + on_1 * self.rewards[after_1]
        return self.rewards[here] - mean - later  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Place:
    """Where policies play: populations, each for an equal part of the visits, and a rule's values.

    There are so many `people`, who come in turn.
    """

    populations: tuple[Population, ...]
    values: tuple[tuple[Array, Array], ...]
    people: int = NEVER_BACK

    @classmethod
    def of(
        cls, populations: Sequence[Population], rule: Array, people: int = NEVER_BACK
    ) -> "Place":
        """The populations, and what is to come under the incumbent's rule."""
        values = tuple(
            (p.values_under(rule).ravel(), p.values_under(rule, of_reward=False).ravel())
            for p in populations
        )
        return cls(tuple(populations), values, people)


def play(place: Place, policy: Policy, seed: int, run: int, visits: int, most: int) -> Array:
    """What one run of at most `visits` visits and `most` steps adds up to.

    A visit that is cut off counts as if the rule had gone on with it.

    >>> import sojourn as sj
    >>> from sojourn.users.population import always
    >>> leave = np.full((1, 1, 2, 2, 2), 0.5)
    >>> users = Population(np.ones(1), np.array([[0.8, 0.4]]), leave, np.array([0, 0]))
    >>> made = play(Place.of([users], always(1, 2)), sj.policies.FixedArm(0), 0, 0, 1_000, 10**6)
    >>> round(float(made[GAIN] / made[VISITS]), 1)  # two steps per visit, 0.4 more at each
    0.8
    """
    arms, parts = place.populations[0].arms, len(place.populations)
    policy.check_arms(arms)
    account, stop = np.zeros(3), np.array([most <= 0], np.int8)
    stages = [
        Stage(-(-i * visits // parts), user, user.rewards, Advantages(*own, account, most, stop))
        for i, (user, own) in enumerate(zip(place.populations, place.values, strict=True))
    ]
    bins = place.populations[0].space.bins
    row = np.zeros((1, columns(bins, arms)))
    play_stages(stages, policy, seed, run, np.array([visits]), row, people=place.people, stop=stop)
    out = np.zeros(PULLS + arms)
    out[GAIN], out[REWARD] = -row[0, REGRET], row[0, WON]
    out[LONGER], out[STEPS], out[VISITS] = account
    out[PULLS:] = row[0, BY_LEVEL + bins :].reshape(bins, arms).sum(axis=0)
    return out
