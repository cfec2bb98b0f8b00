"""Values of arms for a whole visit, under two accounts of leaving.

In the first, leaving depends on the bin of the state and the level of the reward alone, so that
arms differ in their means only. In the second, arms also differ in their effect on leaving
(`stats.departures`). The data decide how much evidence there is against each.
"""

from math import exp, inf, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from ..chain import mistake_cost, solve_in_place
from ..engine.divergence import bernoulli_kl
from ..engine.loops import jitable
from ..stats.departures import INTERACTION, chance, effect_variance, fit_effects
from .base import Array
from .departures import Pooled, good_rewards, mistake_costs, pooled, set_optimism

FAR = 30.0
"""Nats against an account from which on it is not looked at."""

ROUNDS = 30
"""Improvements of a rule at most; a few suffice."""

START, SLOPE, VARIANCE, MARGIN, LEADS = 0, 1, 2, 3, 4
"""Columns of `Conclusions.terms`: an arm of mean m is worth START + SLOPE m in a bin,
with the VARIANCE that departures give to it and at most MARGIN more if nobody left; LEADS is 1 for
the best arm."""

STRENGTH, ALIKE, DIFFERENT = 0, 1, 2
"""Entries of `Conclusions.strength`: of the effects, and nats against either account."""


class Conclusions(NamedTuple):
    """The memory of a whole-visit policy beside `Watched`."""

    base: Array  # log odds by [bin, level]
    effect: Array  # log odds by arm, and of all those no longer in use
    interaction: Array  # log odds by [arm, bin, level], likewise
    strength: Array
    goal: Array  # by [bin]: the best mean, if arms differ in means only
    side: Array  # by [bin]: 1 if greater means are better, else -1
    worth: Array  # by [bin]: the value of a visit, if arms differ in departures
    terms: Array  # by [arm, bin, column]


@jitable
def nothing_concluded(arms: int, bins: int) -> Conclusions:
    """Before the first estimates."""
    rows = arms + 1
    return Conclusions(
        base=np.zeros((bins, 2)),
        effect=np.zeros(rows),
        interaction=np.zeros((rows, bins, 2)),
        strength=np.zeros(3),
        goal=np.zeros(bins),
        side=np.ones(bins),
        worth=np.zeros(bins),
        terms=np.zeros((rows, bins, 5)),
    )


@jitable
def line(mean: float, good: float, less: float, more: float, signs: bool) -> tuple[float, float]:
    """START and SLOPE of an arm, from what follows its bad rewards and its good ones.

    Where a bad reward is worth more than a good one, users staying longer after it, that counts
    only if `signs` are to be followed. Else as much follows a bad reward as a good one: an arm is
    not played for being liked less.
    """
    if not signs and mistake_cost(less, more) < 0.0:
        less = more
    return less + (good - mean) * (more - less), mistake_cost(less, more)


@jitable
def improve(
    pulls: Array, follow: Array, mean: Array, good: Array, stay: Array, rule: Array, signs: bool
) -> tuple[Array, Array]:
    """The best rule (an arm for each bin) by policy iteration: worths of bins, and what follows.

    Means and shares of good rewards are by [arm, bin], `stay` has the chances to stay by [arm, bin,
    level], `rule` is where to start and the result.
    For `signs` see `line`. What a bin is worth is what its arm is, by that line.
    """
    bins = rule.size
    value, onward, matrix = np.empty(bins), np.empty((bins, 2)), np.empty((bins, bins))
    worth = np.empty(bins)
    for _ in range(ROUNDS):
        for b in range(bins):
            arm = int(rule[b])
            value[b] = mean[arm, b]
            for after in range(bins):
                matrix[b, after] = 1.0 if after == b else 0.0
                for r in range(2):
                    level = good[arm, b] if r == 1 else 1.0 - good[arm, b]
                    matrix[b, after] -= level * stay[arm, b, r] * follow[b, r, after]
        solve_in_place(matrix, value)
        settled = True
        for b in range(bins):
            for r in range(2):
                onward[b, r] = 0.0
                for after in range(bins):
                    onward[b, r] += follow[b, r, after] * value[after]
            top = -inf
            for i in range(-1, pulls.size):  # first the one that has to be beaten
                arm = int(rule[b]) if i < 0 else i
                less, more = stay[arm, b, 0] * onward[b, 0], stay[arm, b, 1] * onward[b, 1]
                start, slope = line(mean[arm, b], good[arm, b], less, more, signs)
                whole = start + slope * mean[arm, b]
                if i < 0:
                    worth[b], top = whole, whole * (1.0 + 1e-9)
                elif pulls[arm] > 0.0 and whole > top:
                    top, rule[b], settled = whole, arm, False
        if settled:
            break
    return worth, onward


@jitable
def best_mean(pulls: Array, mean: Array, b: int, side: float) -> float:
    """The arm of greatest mean in a bin (`side` 1), or of least (-1)."""
    found = int(np.argmax(pulls))
    for arm in range(pulls.size):
        if pulls[arm] > 0.0 and side * mean[arm, b] > side * mean[found, b]:
            found = arm
    return float(found)


@jitable
def think_of_means(
    memory: Any, known: Pooled, mean: Array, good: Array, confidence: float, signs: bool
) -> Array:
    """The first account: leaving depends on bin and level. The best arm of every bin.

    If `signs` are to be followed, the arm of least mean is best where a greater mean costs more
    than it gives by more than `confidence` standard errors.
    """
    arms, bins = mean.shape
    cost, variance = mistake_costs(memory, False)
    rule = np.empty(bins)
    for b in range(bins):
        rule[b], memory.side[b] = best_mean(memory.pulls, mean, b, 1.0), 1.0
    if signs:
        stay = np.empty((arms, bins, 2))
        for arm in range(arms):
            for b in range(bins):
                for r in range(2):
                    stay[arm, b, r] = 1.0 - known.leave[b, r]
        _, onward = improve(memory.pulls, known.follow, mean, good, stay, rule, signs)
        for b in range(bins):
            gain = mistake_cost(stay[0, b, 0] * onward[b, 0], stay[0, b, 1] * onward[b, 1])
            memory.side[b] = -1.0 if gain < -confidence * sqrt(variance[b]) else 1.0
            cost[b] = abs(cost[b])
    for b in range(bins):
        rule[b] = best_mean(memory.pulls, mean, b, memory.side[b])
        memory.goal[b] = mean[int(rule[b]), b]
    set_optimism(memory, cost, variance, confidence, False)
    return rule


@jitable
def think_of_departures(
    memory: Any, known: Pooled, mean: Array, good: Array, rule: Array, signs: bool
) -> Array:
    """The second account: arms have effects on leaving. The best arm of every bin."""
    (arms, bins), strength = mean.shape, memory.strength[STRENGTH]
    stay, narrow = np.empty((arms, bins, 2)), (INTERACTION * strength) ** 2
    for arm in range(arms):
        for b in range(bins):
            for r in range(2):
                odds = memory.base[b, r] + memory.effect[arm] + memory.interaction[arm, b, r]
                stay[arm, b, r] = 1.0 - chance(odds)
    worth, onward = improve(memory.pulls, known.follow, mean, good, stay, rule, signs)
    for arm in range(arms):
        wide = effect_variance(memory, arm, strength)
        for b in range(bins):
            row, both = memory.terms[arm, b], 0.0
            memory.worth[b] = worth[b]
            row[VARIANCE] = row[MARGIN] = 0.0
            for r in range(2):
                q = 1.0 - stay[arm, b, r]
                loss = (good[arm, b] if r == 1 else 1.0 - good[arm, b]) * q * onward[b, r]
                slope = loss * (1.0 - q)
                own = 1.0 / (1.0 + narrow * memory.seen[arm, b, r] * q * (1.0 - q))
                row[VARIANCE] += slope * slope * narrow * own
                row[MARGIN] += loss
                both += slope * own
            if memory.optimism[b] > 0.0:  # else only interactions are to be learned here
                row[VARIANCE] += both * both * wide
            less, more = stay[arm, b, 0] * onward[b, 0], stay[arm, b, 1] * onward[b, 1]
            row[START], row[SLOPE] = line(mean[arm, b], good[arm, b], less, more, signs)
    return rule


@jitable
def means_and_shares(policy: Any, memory: Any) -> tuple[Array, Array]:
    """The mean of every arm in every bin, and its share of good rewards."""
    arms, bins = memory.pulls.size, memory.optimism.size
    mean, good = np.zeros((arms, bins)), np.zeros((arms, bins))
    for arm in range(arms):
        if memory.pulls[arm] > 0.0:
            share = good_rewards(memory, arm) / memory.pulls[arm]
            usual = memory.successes[arm] / memory.pulls[arm]
            for b in range(bins):
                pulls, rewards = policy.matched(memory, arm, b)
                mean[arm, b] = rewards / pulls
                good[arm, b] = min(max(share + (mean[arm, b] - usual), 0.0), 1.0)
    return mean, good


@jitable
def value_visits(policy: Any, memory: Any, signs: bool) -> None:
    """What arms are worth if there are no others, by the effects on leaving that are known."""
    (mean, good), rule = means_and_shares(policy, memory), np.empty(memory.optimism.size)
    for b in range(rule.size):
        rule[b] = best_mean(memory.pulls, mean, b, 1.0)
    think_of_departures(memory, pooled(memory), mean, good, rule, signs)


@jitable
def think(
    policy: Any, memory: Any, confidence: float, faith: float, signs: bool, departures: bool
) -> None:
    """Estimate all anew; without `departures`, by the first account alone."""
    known, (mean, good) = pooled(memory), means_and_shares(policy, memory)
    best = think_of_means(memory, known, mean, good, confidence, signs)
    if not departures:
        return
    memory.strength[STRENGTH], likelier = fit_effects(memory, known)
    odds = likelier - faith  # of the second account
    memory.strength[ALIKE] = max(odds, 0.0) + log(1.0 + exp(-abs(odds)))
    memory.strength[DIFFERENT] = memory.strength[ALIKE] - odds
    if memory.strength[DIFFERENT] < FAR:
        other = think_of_departures(memory, known, mean, good, best.copy(), signs)
        if odds > 0.0:
            best = other
    for arm in range(memory.pulls.size):
        for b in range(memory.optimism.size):
            memory.terms[arm, b, LEADS] = 1.0 if int(best[b]) == arm else 0.0


@jitable
def departures_against(
    memory: Any, arm: int, b: int, pulls: float, rewards: float, best: float
) -> float:
    """Least nats for an arm to be worth as much as the `best` in a bin, if departures count.

    People may stay longer with it than was seen, its mean may be greater, or a part of either: the
    parts are shared by variance, as for Gaussians. Chances to leave are small, or the odds would
    move by less, so that y of the value by the slope are margin (1 - exp(-y / margin)) in truth.
    """
    row, mean = memory.terms[arm, b], rewards / pulls
    slope, variance, margin = row[SLOPE], row[VARIANCE], row[MARGIN]
    gap = best - row[START] - slope * mean
    if gap <= 0.0:
        return 0.0
    if memory.optimism[b] <= 0.0:
        part, cost = gap, 0.0
    else:
        typical = (rewards + 1.0) / (pulls + 2.0)
        noise = slope * slope * typical * (1.0 - typical) / pulls
        part = min(gap * variance / (variance + noise), 0.9 * margin)
        end = 1.0 if slope > 0.0 else 0.0
        part = max(part, gap - 0.9 * slope * (end - mean))
        cost = pulls * bernoulli_kl(mean, min(max(mean + (gap - part) / slope, 0.0), 1.0))
    if part <= 0.0:
        return cost
    if part >= margin or variance <= 0.0:
        return inf
    way = margin * log(1.0 - part / margin)
    return float(cost + 0.5 * way * way / variance)


@jitable
def against(memory: Any, arm: int, b: int) -> float:
    """Least nats for an arm to be the best in a bin, under either account, and log pulls.

    Where mistakes are costly the first account has nothing to learn; pulls are those in the bin.
    """
    pulls, explores = memory.pulls[arm], memory.optimism[b] > 0.0
    alike, different = memory.strength[ALIKE], memory.strength[DIFFERENT]
    often = pulls if explores else memory.seen[arm, b, 0] + memory.seen[arm, b, 1]
    often = log(max(float(often), 1.0))
    if memory.terms[arm, b, LEADS] > 0.0:
        return float(min(alike, different) + often)
    nats, mean = inf, memory.successes[arm] / pulls
    if memory.side[b] * (memory.goal[b] - mean) <= 0.0:
        nats = alike
    elif explores:
        nats = alike + pulls * bernoulli_kl(mean, memory.goal[b])
    if different < min(nats, FAR):
        rewards, best = memory.successes[arm], memory.worth[b]
        nats = min(nats, different + departures_against(memory, arm, b, pulls, rewards, best))
    return float(nats + often)
