"""Policies playing in a crowd: a plain loop over visits, and gains over a fixed rule.

A visit is that of a person of some kind; people come in turn, and come back as in the log. A policy
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

from ...engine.loops import jitable, loop
from ...engine.streams import FIRST_ARM, STARTS, draw, policy_stream, stream_key
from ...engine.structs import Compiled
from ...policies import Policy
from ...stats.moments import Array
from ..model.crowd import Crowd

GAIN, LONGER, REWARD, STEPS, VISITS, PULLS = range(6)
"""Columns of what a run adds up; from `PULLS` on, one for each arm."""


@dataclass(frozen=True, eq=False)
class Stage(Compiled):
    """Crowds that differ in their means alone, each for an equal part of the visits, and a rule.

    * `odds[kind]`: cumulative shares;
    * `means[part, kind, arm]`, `leave[kind, layer, arm, previous, reward]`;
    * `layer[step - 1]`, for steps up to the horizon of the crowd;
    * `rewards`, `lengths[part, kind, step - 1, previous]`: what is to come under the rule;
    * `last`: the step after which every visit is over; 0 for none;
    * `people`: how many there are.
    """

    odds: Array
    means: Array
    leave: Array
    layer: NDArray[np.int64]
    rewards: Array
    lengths: Array
    last: int
    people: int


NEVER_BACK = 2**62
"""So many people that each comes once."""


def stage(crowds: Sequence[Crowd], rule: Array, people: int = NEVER_BACK) -> Stage:
    """The crowds in turn; all but their means are those of the first."""
    first = crowds[0]
    return Stage(
        odds=np.cumsum(first.shares) / first.shares.sum(),
        means=np.ascontiguousarray([crowd.means for crowd in crowds], np.float64),
        leave=np.ascontiguousarray(first.leave, np.float64),
        layer=np.array([first.layer(s) for s in range(1, first.horizon + 1)], np.int64),
        rewards=np.array([crowd.values(rule) for crowd in crowds]),
        lengths=np.array([crowd.values(rule, of_reward=False) for crowd in crowds]),
        last=first.last or 0,
        people=people,
    )


def play(stage: Stage, policy: Policy, seed: int, run: int, visits: int, most: int) -> Array:
    """What one run of at most `visits` visits and `most` steps adds up to.

    A visit that is cut off counts as if the rule had gone on with it.

    >>> import sojourn as sj
    >>> from sojourn.logs.model.crowd import always
    >>> crowd = Crowd(np.ones(1), np.array([[0.8, 0.4]]), np.full((1, 2, 2, 2, 2), 0.5), ends=(1,))
    >>> made = play(stage([crowd], always(1, 2)), sj.policies.FixedArm(0), 0, 0, 1_000, 10**6)
    >>> round(float(made[GAIN] / made[VISITS]), 1)  # two steps per visit, 0.4 more at each
    0.8
    """
    arms = stage.means.shape[2]
    policy.check_arms(arms)
    out = np.zeros(PULLS + arms)
    play_visits(policy, stage, seed, run, visits, most, out)
    return out


@jitable
def kind_of(odds: Array, u: float) -> int:
    """The kind that a uniform draw picks."""
    kind = 0
    while kind < odds.size - 1 and u >= odds[kind]:
        kind += 1
    return kind


@loop
def play_visits(
    policy: Any, stage: Any, seed: int, run: int, visits: int, most: int, out: Array
) -> None:
    """One run; see `play`."""
    arms, parts, last = stage.means.shape[2], stage.means.shape[0], stage.layer.size - 1
    memory, rng = policy.memory(arms), policy_stream(seed, run)
    starts, pulled = np.uint64(stream_key(seed, run, STARTS)), np.zeros(arms, np.int64)
    steps = 0
    for visit in range(visits):
        if steps >= most:
            break
        part, person = visit * parts // visits, visit % stage.people
        kind = kind_of(stage.odds, draw(starts, person + 1))
        rewards, lengths = stage.rewards[part, kind], stage.lengths[part, kind]
        previous, step, over = 1, 0, False
        while not over and steps < most:
            before = float(previous)
            arm = policy.choose(memory, before, rng)
            pulled[arm] += 1
            own = np.uint64(stream_key(seed, run, FIRST_ARM + np.uint64(arm)))
            u, mean = draw(own, pulled[arm]), stage.means[part, kind, arm]
            leave = stage.leave[kind, stage.layer[step], arm, previous]
            # The chances that the visit goes on after a 0 and after a 1.
            on0, on1 = (1.0 - mean) * (1.0 - leave[0]), mean * (1.0 - leave[1])
            later = min(step + 1, last)  # after the last step nothing is to come
            out[GAIN] += mean + on0 * rewards[later, 0] + on1 * rewards[later, 1]
            out[GAIN] -= rewards[step, previous]
            out[LONGER] += 1.0 + on0 * lengths[later, 0] + on1 * lengths[later, 1]
            out[LONGER] -= lengths[step, previous]
            # As in the simulator: the lowest share of either part of [0, 1) is a departure.
            reward = 1 if u < mean else 0
            left = u < mean * leave[1] if reward == 1 else u < mean + (1.0 - mean) * leave[0]
            over = left or step + 1 == stage.last
            policy.update(memory, before, arm, float(reward), over, float(reward))
            out[REWARD] += reward
            previous, step, steps = reward, later, steps + 1
        out[VISITS] += 1.0
    out[STEPS] += steps
    for arm in range(arms):
        out[PULLS + arm] += pulled[arm]
