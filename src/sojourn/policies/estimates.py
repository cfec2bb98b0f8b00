"""The mean of an arm in this step, and the number of pulls that it is worth, from sums.

The mean is that of a posterior whose Beta prior is learned from the other arms (empirical Bayes),
so no arm has to be tried first: the prior speaks for it. Graded rewards that vary less than those
of 0 and 1 count as several pulls each (`coins`). Rewards may depend on the state, and where an arm
was seen depends on what was held of it: pooled means then compare arms over different mixes of
states, and may prefer the worse one for ever (Simpson's paradox). As soon as the data speak for it
(`learn_shifts`), every bin of the state has a record of its own, to which other bins lend a little
(`matched`).
"""

from math import exp, log
from typing import Any, NamedTuple

import numpy as np

from ..chain import solve_in_place
from ..engine.loops import jitable
from .base import Array

COIN = 0.25
"""The variance of a fair coin: as if one more reward of every arm had been one."""

PRIOR_ARMS, ROUNDS, STRONGEST = 8.0, 8, 1000.0
"""Arms of a uniform distribution seen beside those shown; rounds; pulls a prior is worth at most"""

SPREAD = 0.125
"""The variance of what a state adds to rewards, before anything was seen, over that of rewards."""

SURE = 6.0
"""Nats of evidence from which on rewards depend on the state: a false alarm is one in 400 runs."""

EDGE = 0.02
"""A prior mean that was shifted stays so far from 0 and 1."""


class Records(NamedTuple):
    """What is remembered beside departures: sums, then conclusions."""

    tried: Array  # pulls by [arm, bin]
    earned: Array  # rewards by [arm, bin]
    grades: Array  # by arm, the sum of r (1 - r): 0 for rewards of 0 and 1
    prior: Array  # its mean, and the pulls that it is worth
    shift: Array  # by bin, what it adds to rewards
    by_state: Array  # nats of evidence that rewards depend on the state
    limit: Array  # by bin, the optimism of `price`


@jitable
def no_records(arms: int, bins: int) -> Records:
    """Before anything was seen: the prior is uniform."""
    return Records(
        tried=np.zeros((arms, bins)),
        earned=np.zeros((arms, bins)),
        grades=np.zeros(arms),
        prior=np.array([0.5, 2.0]),
        shift=np.zeros(bins),
        by_state=np.zeros(1),
        limit=np.ones(bins),
    )


@jitable
def coins(memory: Any, arm: int) -> float:
    """How many coins a pull of an arm is worth: m (1 - m) over the variance of its rewards.

    For rewards of 0 and 1 that is 1, to the bit. Pulls told without their rewards count as such.
    """
    if memory.grades[arm] <= 0.0:
        return 1.0
    pulls, rewards = memory.pulls[arm], memory.successes[arm]
    as_coins = COIN + rewards - rewards * rewards / pulls
    return as_coins / max(as_coins - memory.grades[arm], COIN)  # type: ignore[no-any-return]


@jitable
def learn_prior(memory: Any) -> None:
    """The Beta prior whose mean and variance are those of the arms' means, by their posteriors."""
    for _ in range(ROUNDS):
        known, first, second = PRIOR_ARMS, PRIOR_ARMS / 2.0, PRIOR_ARMS / 3.0
        mean, worth = memory.prior[0], memory.prior[1]
        for arm in range(memory.pulls.size):
            if memory.pulls[arm] > 0.0:
                each = coins(memory, arm)
                n = each * memory.pulls[arm] + worth
                m = (each * memory.successes[arm] + worth * mean) / n
                known += 1.0
                first += m
                second += m * m + m * (1.0 - m) / (n + 1.0)
        mean = first / known
        worth = mean * (1.0 - mean) / (second / known - mean * mean) - 1.0
        memory.prior[0], memory.prior[1] = mean, min(max(worth, 0.5), STRONGEST)


@jitable
def evidence(square: float, free: float, weight: float) -> float:
    """The log Bayes factor of a chi-squared number with so many degrees of freedom."""
    wide = SPREAD * weight
    return 0.5 * (square * wide / (1.0 + wide) - free * log(1.0 + wide))


@jitable
def noise(memory: Any) -> float:
    """The variance of a reward, if means do not depend on the state: of all pulls on average."""
    pulls = total = 0.0
    for arm in range(memory.pulls.size):
        n = memory.pulls[arm]
        mean = (memory.successes[arm] + 1.0) / (n + 2.0)
        total += n * mean * (1.0 - mean) / coins(memory, arm)
        pulls += n
    return total / max(pulls, 1.0)


@jitable
def learn_shifts(memory: Any) -> None:
    """What each bin adds to rewards, from comparisons within arms, and what speaks for that.

    Least squares for m(a, b) = m(a) + shift(b), with one more step per bin that shows no shift. Two
    hypotheses, equally likely before, are weighed against equal means in all bins: that a bin adds
    the same for all arms, and that it adds something else for each.
    """
    arms, bins = memory.tried.shape
    matrix, shift, steps = np.zeros((bins, bins)), np.zeros(bins), np.zeros(bins)
    usual, every, trace = noise(memory), 0.0, 0.0
    for arm in range(arms):
        known = won = square = weight = 0.0
        free = -1.0
        for b in range(bins):
            known += memory.tried[arm, b]
            won += memory.earned[arm, b]
        for b in range(bins):
            n = memory.tried[arm, b]
            if n > 0.0:
                more = memory.earned[arm, b] - n * won / known
                square += more * more / n
                weight += n * (1.0 - n / known)
                free += 1.0
                steps[b] += n
                shift[b] += more
                matrix[b, b] += n
                for c in range(bins):
                    matrix[b, c] -= n * memory.tried[arm, c] / known
        if free > 0.0:
            every += evidence(square / usual, free, weight / (free + 1.0))
            trace += weight
    right, free, square, middle = shift.copy(), -1.0, 0.0, 0.0
    for b in range(bins):
        matrix[b, b] += 1.0
        free += 1.0 if steps[b] > 0.0 else 0.0
    solve_in_place(matrix, shift)
    for b in range(bins):
        square += shift[b] * (right[b] + shift[b])  # the matrix has one more on its diagonal
        middle += steps[b] * shift[b] / max(steps.sum(), 1.0)
    common = evidence(square / usual, free, trace / (free + 1.0)) if free > 0.0 else 0.0
    top = max(common, every)
    memory.by_state[0] = top + log(0.5 * exp(common - top) + 0.5 * exp(every - top))
    for b in range(bins):
        sure = memory.by_state[0] > SURE and steps[b] > 0.0
        memory.shift[b] = shift[b] - middle if sure else 0.0


@jitable
def matched(memory: Any, arm: int, b: int) -> tuple[float, float]:
    """The pulls of an arm that count in a bin, and their rewards.

    All of them, unless rewards depend on the state. Then n pulls in another bin count as
    n / (1 + n / 8), their rewards shifted by what the bins differ; so do those of no known bin.
    """
    pulls, rewards = memory.pulls[arm], memory.successes[arm]
    if memory.by_state[0] <= SURE:
        return pulls, rewards
    counted, gained = memory.tried[arm, b], memory.earned[arm, b]
    for other in range(-1, memory.shift.size):
        n, won, shift = pulls, rewards, memory.shift[b]
        if other >= 0:
            n, won = memory.tried[arm, other], memory.earned[arm, other]
            shift -= memory.shift[other]
        else:
            for seen in range(memory.shift.size):
                n -= memory.tried[arm, seen]
                won -= memory.earned[arm, seen]
        if other != b and n > 0.0:
            weight = 1.0 / (1.0 + SPREAD * n)
            counted += weight * n
            gained += weight * min(max(won + n * shift, 0.0), n)
    return counted, gained


@jitable
def known(memory: Any, arm: int, b: int) -> tuple[float, float, float]:
    """The mean of an arm in a bin, the pseudo-count, and how many of it a pull is."""
    each, mean, worth = coins(memory, arm), memory.prior[0], memory.prior[1]
    pulls, rewards = memory.pulls[arm], memory.successes[arm]
    if memory.by_state[0] > SURE:
        pulls, rewards = matched(memory, arm, b)
        mean = min(max(mean + memory.shift[b], min(EDGE, mean)), max(1.0 - EDGE, mean))
    n = each * pulls + worth
    return (each * rewards + worth * mean) / n, n, each
