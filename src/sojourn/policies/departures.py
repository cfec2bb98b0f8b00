"""What learned policies remember of departures, and the conclusions.

What follows is the cost of a mistake by state, and with it the optimism of each bin.
"""

from math import inf, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from ..chain import solve_in_place
from ..engine.loops import jitable
from .base import Array, no_counts
from .optimism import LEAST

FIRST_LOOK = 16.0
"""Steps after which the model is estimated for the first time."""

GOOD = 0.5
"""The least reward that is good, unless a policy says otherwise."""


DOUBT, TRIAL = 0.7, 200.0
"""Standard errors by which a cost has to be below 0 to be followed, and the steps with so few."""


class Watched(NamedTuple):
    """The memory of a learned policy: `Counts`, departures, and conclusions."""

    pulls: Array
    successes: Array
    clock: Array
    moves: Array  # steps by [bin, level, bin after]
    seen: Array  # steps by [arm, bin, level]; after the last arm, those of arms no longer in use
    left: Array  # departures, likewise
    optimism: Array  # the optimism of each bin
    next_refit: Array  # the clock at which to estimate next


@jitable
def unseen(arms: int, bins: int) -> Watched:
    """A fresh memory: optimistic in every bin."""
    counts = no_counts(arms)
    return Watched(
        counts.pulls,
        counts.successes,
        counts.clock,
        np.zeros((bins, 2, bins)),
        np.zeros((arms + 1, bins, 2)),
        np.zeros((arms + 1, bins, 2)),
        np.ones(bins),
        np.full(1, FIRST_LOOK),
    )


@jitable
def good_rewards(memory: Any, arm: int) -> float:
    """Number of pulls of an arm with a good reward; where unknown, estimated from its mean."""
    known = good = 0.0
    for b in range(memory.optimism.size):
        known += memory.seen[arm, b, 0] + memory.seen[arm, b, 1]
        good += memory.seen[arm, b, 1]
    pulls = memory.pulls[arm]
    if pulls > known:
        good += (pulls - known) * memory.successes[arm] / pulls
    return good


class Pooled(NamedTuple):
    """Estimates of what all arms have in common."""

    seen: Array  # steps by [bin, level]
    leave: Array  # the chance to leave by [bin, level]
    follow: Array  # the chance of each [bin, level, bin after]
    share: Array  # the chance to leave by level, whatever the bin


@jitable
def pooled(memory: Any) -> Pooled:
    """Chances to leave and of what follows, of all arms together.

    Estimates are made as if, beside what was seen in a bin, one more step had shown the average
    over all bins: without evidence there is no difference.

    Loops only: sums along an axis would double the time that the policy takes to compile.
    """
    bins = memory.optimism.size
    gone = np.zeros((bins, 2))
    for arm in range(memory.left.shape[0]):
        for b in range(bins):
            for r in range(2):
                gone[b, r] += memory.left[arm, b, r]
    seen, leave, share = np.zeros((bins, 2)), np.empty((bins, 2)), np.empty(2)
    anywhere, follow = np.zeros((2, bins)), np.empty((bins, 2, bins))
    for r in range(2):
        steps = departures = 0.0
        for b in range(bins):
            for after in range(bins):
                seen[b, r] += memory.moves[b, r, after]
                anywhere[r, after] += memory.moves[b, r, after]
            steps += seen[b, r]
            departures += gone[b, r]
        share[r] = (departures + 0.5) / (steps + 1.0)
        for after in range(bins):
            anywhere[r, after] /= max(steps, 1.0)
        for b in range(bins):
            leave[b, r] = (gone[b, r] + share[r]) / (seen[b, r] + 1.0)
            for after in range(bins):
                typical = memory.moves[b, r, after] + anywhere[r, after]
                follow[b, r, after] = typical / (seen[b, r] + 1.0)
    return Pooled(seen, leave, follow, share)


@jitable
def extreme_mean(memory: Any, side: float) -> int:
    """The arm of greatest mean (`side` 1) or of least (-1), by means drawn towards 1/2."""
    found, top = 0, -inf
    for arm in range(memory.pulls.size):
        mean = side * (memory.successes[arm] + 1.0) / (memory.pulls[arm] + 2.0)
        if mean > top:
            found, top = arm, mean
    return found


@jitable
def mistake_costs(memory: Any, follow: bool) -> tuple[Array, Array]:
    """Estimates of D(b) for every bin b, and their variances.

    With m the mean of the arm played most, P(1) its share of good rewards, q(b, r) the chance to
    leave after level r, and W(b, r) the mean value of the bin that follows,

        V(b) = m + sum over r of P(r) (1 - q(b, r)) W(b, r),
        D(b) = 1 + (1 - q(b, 1)) W(b, 1) - (1 - q(b, 0)) W(b, 0).

    For rewards of 0 or 1, P(1) is m. For others D(b) is what is lost with an arm whose mean and
    whose share of good rewards are both less by the same amount; how the bins compare does not
    depend on that. Of pulls whose level is not known, such as those of a warm start, a share of m
    counts as good. The variance is that of q if it were the same in all bins, with W taken as
    known.

    A policy that is to `follow` costs below 0 plays the least mean in bins that were found to have
    them. Then m is that mean there, and the greatest one elsewhere.
    """
    bins = memory.optimism.size
    usual = int(np.argmax(memory.pulls))
    if follow and memory.optimism.min() == LEAST:
        usual = extreme_mean(memory, 1.0)
    seen, leave, then, share = pooled(memory)
    matrix, value = np.zeros((bins, bins)), np.empty(bins)
    arm, good = -1, 0.0
    for b in range(bins):
        played = extreme_mean(memory, -1.0) if memory.optimism[b] == LEAST else usual
        if played != arm:
            arm = played
            good = (good_rewards(memory, arm) + 1.0) / (memory.pulls[arm] + 2.0)
        value[b] = (memory.successes[arm] + 1.0) / (memory.pulls[arm] + 2.0)
        matrix[b, b] = 1.0
        for r in range(2):
            stays = (good if r == 1 else 1.0 - good) * (1.0 - leave[b, r])
            for after in range(bins):
                matrix[b, after] -= stays * then[b, r, after]
    solve_in_place(matrix, value)
    cost, variance = np.empty(bins), np.zeros(bins)
    for b in range(bins):
        cost[b] = 1.0
        for r in range(2):
            onward = 0.0
            for after in range(bins):
                onward += then[b, r, after] * value[after]
            cost[b] += (2.0 * r - 1.0) * (1.0 - leave[b, r]) * onward
            variance[b] += onward * onward * share[r] * (1.0 - share[r]) / (seen[b, r] + 1.0)
    return cost, variance


@jitable
def reconsider(memory: Any, confidence: float, follow: bool) -> None:
    """Set the optimism of every bin from the mistake costs as they are known now."""
    cost, variance = mistake_costs(memory, follow)
    set_optimism(memory, cost, variance, confidence, follow)


@jitable
def sure_of_sign(steps: float) -> float:
    """How many standard errors below 0 a cost has to be after this many steps.

    Departures show the sign of a bin whatever is played there, so that a wrong conclusion is found
    out: `DOUBT` is enough for a while. Later they may be wrong with a chance of about `TRIAL` /
    steps only, the tail of a normal number beyond sqrt(2 log(steps / TRIAL)): then what they cost
    is of order log(steps). docs/signs.md has the figures.

    >>> sure_of_sign(100.0), round(sure_of_sign(20_000.0), 2)
    (0.7, 3.03)
    """
    return max(DOUBT, sqrt(2.0 * log(max(steps / TRIAL, 1.0))))


@jitable
def settle(memory: Any, cost: Array, variance: Array, confidence: float, follow: bool) -> Array:
    """Give bins that do not differ the same cost; returns how many steps each bin has seen.

    A bin whose cost differs from that of the commonest bin by at most `confidence` standard
    errors counts as that bin. To `follow` costs is to call them `LEAST` where they are below 0 by
    more than `sure_of_sign` standard errors.
    """
    bins, usual = cost.size, 0
    visited = np.zeros(bins)
    for b in range(bins):
        for r in range(2):
            for after in range(bins):
                visited[b] += memory.moves[b, r, after]
        if visited[b] > visited[usual]:
            usual = b
    for b in range(bins):
        noise = sqrt(variance[b] + variance[usual])
        if visited[b] == 0.0 or abs(cost[b] - cost[usual]) <= confidence * noise:
            cost[b], variance[b] = cost[usual], variance[usual]
    for b in range(bins):
        if follow and cost[b] < -sure_of_sign(memory.clock[0]) * sqrt(variance[b]):
            cost[b] = LEAST
    return visited


@jitable
def set_optimism(
    memory: Any, cost: Array, variance: Array, confidence: float, follow: bool
) -> None:
    """Set the optimism of every bin: +1 at the least cost, -1 at the greatest (see `settle`).

    Where the cost is `LEAST`, the optimism is that too.
    """
    settle(memory, cost, variance, confidence, follow)
    least, greatest = inf, -inf
    for b in range(cost.size):
        if cost[b] != LEAST:
            least, greatest = min(least, cost[b]), max(greatest, cost[b])
    span = greatest - least
    for b in range(cost.size):
        if cost[b] == LEAST:
            memory.optimism[b] = LEAST
        else:
            memory.optimism[b] = 1.0 - 2.0 * (cost[b] - least) / span if span > 0.0 else 1.0
