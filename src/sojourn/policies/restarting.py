"""Policies that start over when something has changed, and only then.

A test for changes watches the rewards of every arm, and departures by what the user did before. It
costs little while nothing changes, for it almost never says that something did; that is its
advantage over forgetting all the time. It sees what is played: that the arm played most has become
worse shows soon, that another one has become better only if it is tried.

Successes are summed by bucket of so many trials. For each edge between two buckets there is a
likelihood ratio, "one chance before the edge and another one since" against "the same chance all
along", with the chances that fit best,

    N kl(p, m) + M kl(q, m),      p, q the means of the N trials before and the M since, m of all,

the statistic of GLR-klUCB (Besson, Kaufmann, Maillard and Seznec, "Efficient change-point detection
for tackling piecewise-stationary bandits", JMLR 23, 2022). It is compared with

    log(4 k (k + 1) sqrt(N M) / delta)                    at the edge after the k-th bucket.

While nothing changes, the chance that this is ever reached, at any edge of any look, is at most
delta. For with the chances before and since drawn from Jeffreys' prior the likelihood ratio against
the true chance is a martingale of mean 1; it is at least that of the best chances divided by
2 sqrt(N) and by 2 sqrt(M) (Krichevsky and Trofimov, IEEE Transactions on Information Theory 27,
1981), and that against the best single chance is less than against the true one. So each edge gets
there with a chance of at most delta / (k (k + 1)) (Ville's inequality), and those sum to delta.
Which trials are made may depend on all that was seen before, as it does where a policy decides.
Rewards between 0 and 1 are allowed too: they vary less than coins of the same mean.
"""

from dataclasses import dataclass, field
from math import inf, log
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import validation
from ..engine.divergence import bernoulli_kl
from ..engine.loops import jitable
from ..engine.streams import Stream, draw_uniform
from ..engine.unmanaged import merged
from .base import Array, arms_in
from .index import KLULCB
from .reasons import Seen, explainer
from .wrapper import Forgetful

__all__ = ["Restarting"]

BUCKETS = 64
"""Sums kept of a sequence of trials. When there are this many, every other one is dropped."""

SMALLEST = 8.0
"""Trials in a bucket at first."""

DOUBLED, TRIALS, SUCCESSES, SUMS = 0, 1, 2, 3
"""Columns of a trail: how often buckets were doubled, all trials, their successes, and then those
up to the end of each bucket."""


class Trails(NamedTuple):
    """The memory of `Restarting` beside that of its policy."""

    trail: Array  # rewards by [arm, column]
    trail_left: Array  # departures by [cell, column]
    since: Array  # steps since departures were forgotten; inf: never
    changes: Array  # found so far: of arms, of departures


@jitable
def needed(before: float, after: float, rank: float, delta: float) -> float:
    """The threshold of the statistic, with trials before and since the `rank`-th edge."""
    return log(4.0 * rank * (rank + 1.0) / delta) + 0.5 * log(before * after)


@jitable
def shows_change(row: Array, last: int, length: float, delta: float) -> bool:
    """Whether the test for changes finds one at the end of a bucket before the `last`."""
    trials, successes = row[TRIALS], row[SUCCESSES]
    mean, rank = successes / trials, 0.5 * BUCKETS * row[DOUBLED]
    for k in range(last):
        before, won = (k + 1.0) * length, row[SUMS + k]
        after = trials - before
        nats = before * bernoulli_kl(won / before, mean)
        nats += after * bernoulli_kl(min((successes - won) / after, 1.0), mean)
        if nats >= needed(before, after, rank + k + 1.0, delta):
            return True
    return False


@jitable
def follow(row: Array, outcome: float, delta: float) -> bool:
    """Add a trial to its trail; whether a change shows, looked at when a bucket is full."""
    row[TRIALS] += 1.0
    row[SUCCESSES] += outcome
    length = SMALLEST * 2.0 ** row[DOUBLED]
    if row[TRIALS] % length != 0.0:
        return False
    last = int(row[TRIALS] / length) - 1
    row[SUMS + last] = row[SUCCESSES]
    found = shows_change(row, last, length, delta)
    if last == BUCKETS - 1:
        for k in range(BUCKETS // 2):
            row[SUMS + k] = row[SUMS + 2 * k + 1]
        row[DOUBLED] += 1.0
    return found


@dataclass(frozen=True)
class Restarting(Forgetful):
    """Wraps `policy`, and forgets what was found to have changed.

    The test is the generalised likelihood ratio of GLR-klUCB (Besson, Kaufmann, Maillard and
    Seznec, JMLR 23, 2022), with the threshold of this module: for as long as nothing
    changes it is wrong with a chance of at most `delta`, in all sequences together. Those are the
    rewards of every arm, and whether users left, by bin of the state and level of the reward, if
    the policy looks at departures. When an arm has changed, what is known of all arms is forgotten,
    or with `local` of that one; when departures have, what is known of them.

    A sequence is kept as sums of 32 to 64 equal buckets, and looked at when one is full. So a
    change is found later than it might be, by a bucket at most: a 32nd of the trials so far.

    With `explore` above 0, that share of the steps shows a random arm, in states where the policy
    explores (positive optimism). Without it, an arm that is no longer played may become the best
    unnoticed. It costs that share of the steps, for ever.

    >>> policy = Restarting()
    >>> memory = policy.memory(arms=2)
    >>> for step in range(200):
    ...     policy.update(memory, 1.0, step % 2, float(step % 2 == 0), False, 1.0)
    >>> for step in range(40):  # now arm 0 gets no more rewards
    ...     policy.update(memory, 1.0, 0, 0.0, False, 1.0)
    >>> memory.changes.tolist(), memory.pulls.tolist()
    ([1.0, 0.0], [28.0, 0.0])
    """

    title: ClassVar[str] = "Restarting"

    policy: Any = field(default_factory=KLULCB)
    delta: float = 0.01
    explore: float = 0.0
    local: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        delta = validation.number("delta", self.delta, 0, 1, open_ends=True)
        object.__setattr__(self, "delta", delta)
        object.__setattr__(self, "explore", validation.number("explore", self.explore, 0, 1))
        validation.flag("local", self.local)

    def memory(self, arms: int) -> Any:
        cells = int(self.learner.departure_cells())
        trails = Trails(
            np.zeros((arms, SUMS + BUCKETS)),
            np.zeros((cells, SUMS + BUCKETS)),
            np.full(1, inf),
            np.zeros(2),
        )
        return merged(self.policy.memory(arms), trails)

    def tried(self, memory: Any, state: float) -> float:
        """The chance of any arm in a state."""
        explores = self.explore > 0.0 and self.learner.explores_in(memory, state)
        return self.explore if explores else 0.0

    def choose(self, memory: Any, state: float, rng: Stream) -> int:
        chance = self.tried(memory, state)
        if chance > 0.0 and draw_uniform(rng) < chance:
            return int(draw_uniform(rng) * arms_in(memory))
        return self.policy.choose(memory, state, rng)  # type: ignore[no-any-return]

    def probabilities(self, memory: Any, state: float) -> Array:
        inner, chance = self.policy.probabilities(memory, state), self.tried(memory, state)
        return chance / max(inner.size, 1) + (1.0 - chance) * inner  # type: ignore[no-any-return]

    def update(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        self.policy.update(memory, state, arm, reward, left, next_state)
        memory.since[0] += 1.0
        self.learner.refit_soon(memory, memory.since[0])
        arms, cells = memory.trail.shape[0], memory.trail_left.shape[0]
        delta = self.delta / (arms + cells)
        if follow(memory.trail[arm], reward, delta):
            memory.changes[0] += 1.0
            for other in range(arms):
                if other == arm or not self.local:
                    self.learner.forget_arm(memory, other)
                    memory.trail[other] = 0.0
        if cells > 0:
            cell = int(self.learner.departure_cell(state, reward))
            if follow(memory.trail_left[cell], 1.0 if left else 0.0, delta):
                memory.changes[1] += 1.0
                self.learner.forget_departures(memory)
                memory.trail_left[:] = 0.0
                memory.since[0] = 0.0

    def _words(self, choice: Seen) -> tuple[str, str]:
        act, figure = explainer(self.policy)._words(choice)
        return act, f"{figure}; what changed is forgotten"
