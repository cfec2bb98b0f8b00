"""One policy for every door: an estimate that learns from other arms, an explorer, an optimism.

*Estimate.* The mean of an arm is that of a posterior whose Beta prior is learned from the other
arms, so no arm has to be tried first: the prior speaks for it. Graded rewards that vary less than
those of 0 and 1 count as several pulls each (`coins`). Rewards may depend on the state, and where
an arm was seen depends on what was held of it: pooled means then compare arms over different mixes
of states, and may prefer the worse one for ever (Simpson's paradox). As soon as the data speak for
it (`learn_shifts`), every bin of the state has a record of its own, to which other bins lend a
little (`matched`).

*Explorer.* An arm is tried while what speaks against it, n kl(m, m*), is less than its budget over
that of the leader (`nats`): a logarithm of steps per pull, bent and partly shared by the arms.

*Optimism.* Where mistakes cost more than elsewhere the budget has a limit that does not grow with
time (`price`). With an account of departures by arm (`accounts`) an arm may also be worth more for
the visit because people stay longer with it.
"""

from dataclasses import dataclass, field
from math import inf, log
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from .. import validation
from ..chain import solve_in_place
from ..engine.divergence import bernoulli_kl
from ..engine.loops import jitable
from ..engine.unmanaged import merged
from ..problem import Problem
from .accounts import ALIKE, DIFFERENT, FAR, departures_against, nothing_concluded, think
from .base import Array
from .departures import unseen
from .priced import most_nats, nats, price
from .reasons import Seen, mean_of_pulls
from .visit import WholeVisit

__all__ = ["EngagementIndex"]

AHEAD, THRIFT, EARLY = 8.0, 6.0, 2.0
"""Of budgets: steps ahead as a multiple of those so far; see `nats` for the others."""

FEW = 8.0
"""Arms shown from which on arms never shown have less of a budget."""

COIN = 0.25
"""The variance of a fair coin: as if one more reward of every arm had been one."""

PRIOR_ARMS, ROUNDS, STRONGEST = 8.0, 8, 1000.0
"""Arms of a uniform distribution seen beside those shown; rounds; pulls a prior is worth at most"""

SPREAD = 0.125
"""The variance of what a state adds to rewards, before anything was seen, over that of rewards."""

SURE = 3.0
"""Nats of evidence from which on rewards depend on the state: a false alarm has a chance of 5%."""

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
def learn_shifts(memory: Any) -> None:
    """What each bin adds to rewards, from comparisons within arms, and what speaks for that.

    Least squares for m(a, b) = m(a) + shift(b), with one more step per bin that shows no shift. Two
    hypotheses, equally likely before, are weighed against equal means in all bins: that a bin adds
    the same for all arms, and that it adds something else for each.
    """
    arms, bins = memory.tried.shape
    matrix, shift, steps = np.zeros((bins, bins)), np.zeros(bins), np.zeros(bins)
    pulls = noise = every = 0.0
    for arm in range(arms):
        n = memory.pulls[arm]
        mean = (memory.successes[arm] + 1.0) / (n + 2.0)
        noise += n * mean * (1.0 - mean) / coins(memory, arm)
        pulls += n
    noise /= max(pulls, 1.0)
    trace = 0.0
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
            every += evidence(square / noise, free, weight / (free + 1.0))
            trace += weight
    right, free, square, middle = shift.copy(), -1.0, 0.0, 0.0
    for b in range(bins):
        matrix[b, b] += 1.0
        free += 1.0 if steps[b] > 0.0 else 0.0
    solve_in_place(matrix, shift)
    for b in range(bins):
        square += shift[b] * (right[b] + shift[b])  # the matrix has one more on its diagonal
        middle += steps[b] * shift[b] / max(steps.sum(), 1.0)
    common = evidence(square / noise, free, trace / (free + 1.0)) if free > 0.0 else 0.0
    top = max(common, every)
    memory.by_state[0] = top + log(0.5 * np.exp(common - top) + 0.5 * np.exp(every - top))
    for b in range(bins):
        sure = memory.by_state[0] > SURE and steps[b] > 0.0
        memory.shift[b] = shift[b] - middle if sure else 0.0


@jitable
def budget(y: float, pulls: float) -> float:
    """Nats for y, the logarithm of the steps ahead per pull: no more than y."""
    return min(nats(y, pulls, THRIFT, EARLY), max(y, 0.0))


class View(NamedTuple):
    """What the scores of one decision have in common."""

    ahead: float  # the logarithm of the steps ahead of every arm
    less: float  # the same of one never shown, less that
    lead: int  # the arm of greatest mean
    mean: float
    budget: float  # of that arm
    limit: float  # nats
    best: int  # the arm worth most for the visit, by the likelier account
    worth: float  # of that arm, if arms differ in departures
    usual: float  # its budget there
    least: float  # what speaks against the likelier account
    far: float  # nats by means from which on an arm is not tried for them


@dataclass(frozen=True)
class EngagementIndex(WholeVisit):
    """Tries an arm while what speaks against its being best is below a budget (docs/policies.md).

    With m the mean of an arm, n the pulls it is worth (a learned prior included) and m* that of the
    leader, plays the greatest min(B(n) - B(n*), limit) - n kl(m, m*), where the leader has 0 and B
    is a bent logarithm of the steps ahead per pull. The limit is one where mistakes are costly, and
    learned. Unless `departures` is False it finds arms that raise the exit rate, as `VisitIMED`
    does. Nothing has to be known in advance, and no arm is played for being new.

    Budgets are 1 + `inflation` times as large (from 0 to 100): rare runs that lose the best arm for
    long become rarer, and the mean regret grows.

    >>> policy = EngagementIndex(departures=False)
    >>> memory = policy.memory(arms=3)
    >>> policy.probabilities(memory, 1.0).round(2).tolist()
    [0.33, 0.33, 0.33]
    >>> for reward in (1.0, 1.0, 1.0, 1.0, 0.0):
    ...     policy.update(memory, 1.0, 0, reward, False, reward)
    >>> policy.probabilities(memory, 1.0).tolist()  # the others look as good as arms do
    [0.0, 0.5, 0.5]
    """

    title: ClassVar[str] = "Engagement index"
    counters: ClassVar[tuple[str, ...]] = ("tried", "earned", "grades")

    faith: float = 2.25
    growth: float = 0.1
    inflation: float = field(default=0.0, kw_only=True)
    departures: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        inflation = validation.number("inflation", self.inflation, 0, 100)
        object.__setattr__(self, "inflation", inflation)
        validation.flag("departures", self.departures)

    @classmethod
    def for_problem(cls, problem: Problem, **parameters: Any) -> Self:
        """Without an account of departures by arm where leaving does not depend on the arm."""
        return super().for_problem(problem, **{"departures": problem.by_arm, **parameters})

    def memory(self, arms: int) -> Any:
        bins = int(self.bins)
        conclusions = nothing_concluded(arms, bins)
        conclusions.strength[DIFFERENT] = inf
        records = Records(
            tried=np.zeros((arms, bins)),
            earned=np.zeros((arms, bins)),
            grades=np.zeros(arms),
            prior=np.array([0.5, 2.0]),
            shift=np.zeros(bins),
            by_state=np.zeros(1),
            limit=np.ones(bins),
        )
        return merged(merged(unseen(arms, bins), conclusions), records)

    def keep(self, memory: Any, state: float, arm: int, reward: float, times: float) -> None:
        b = self.bin_of(state)
        memory.tried[arm, b] += times
        earned = max(memory.earned[arm, b] + times * reward, 0.0)
        memory.earned[arm, b] = min(earned, memory.tried[arm, b])
        memory.grades[arm] = max(memory.grades[arm] + times * reward * (1.0 - reward), 0.0)

    def fade_kept(self, memory: Any, factor: float) -> None:
        memory.grades[:] *= factor
        memory.tried[:] *= factor
        memory.earned[:] *= factor

    def forget_kept(self, memory: Any, arm: int) -> None:
        memory.grades[arm] = 0.0
        memory.tried[arm] = memory.earned[arm] = 0.0

    def think(self, memory: Any) -> None:
        learn_shifts(memory)
        learn_prior(memory)
        signs = self.follow_improper
        think(self, memory, self.confidence, self.faith, signs, self.departures)
        visited = memory.moves.sum(axis=2).sum(axis=1)
        for b in range(visited.size):
            if visited[b] == 0.0:  # as in the commonest bin, like its optimism
                memory.terms[:, b] = memory.terms[:, int(visited.argmax())]
        price(memory, memory.limit, 0.0, False, max((memory.pulls > 0.0).sum(), 2.0))
        if memory.by_state[0] > SURE:  # what is not tried in a state is never known there
            memory.limit[:] = memory.optimism[:] = 1.0

    def matched(self, memory: Any, arm: int, b: int) -> tuple[float, float]:
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
                for known in range(memory.shift.size):
                    n -= memory.tried[arm, known]
                    won -= memory.earned[arm, known]
            if other != b and n > 0.0:
                weight = 1.0 / (1.0 + SPREAD * n)
                counted += weight * n
                gained += weight * min(max(won + n * shift, 0.0), n)
        return counted, gained

    def known(self, memory: Any, arm: int, b: int) -> tuple[float, float, float]:
        """The mean of an arm in a bin, the pseudo-count, and how many of it a pull is."""
        each, mean, worth = coins(memory, arm), memory.prior[0], memory.prior[1]
        pulls, rewards = memory.pulls[arm], memory.successes[arm]
        if memory.by_state[0] > SURE:
            pulls, rewards = self.matched(memory, arm, b)
            mean = min(max(mean + memory.shift[b], min(EDGE, mean)), max(1.0 - EDGE, mean))
        n = each * pulls + worth
        return (each * rewards + worth * mean) / n, n, each

    def knows(self, memory: Any, arm: int) -> bool:
        """Always: the prior speaks for an arm that was never played."""
        return True

    def estimate(self, memory: Any, arm: int, state: float) -> tuple[float, float]:
        mean, n, _ = self.known(memory, arm, self.bin_of(state))
        return mean, n

    def allowance(self, ahead: float, pulls: float, coins: float) -> float:
        """Nats for an arm whose pulls are worth so many coins each."""
        return (1.0 + self.inflation) * budget(ahead - log(pulls / coins), pulls)

    def often(self, memory: Any, arm: int, b: int, pulls: float) -> float:
        """Pulls from which departures are learned: only those in the bin where it is costly."""
        return pulls if memory.optimism[b] > 0.0 else memory.tried[arm, b] + 2.0

    def moment(self, memory: Any, state: float, optimism: float) -> View:
        b, lead, top, shown = self.bin_of(state), 0, -inf, 0.0
        mean, pulls, each = 0.0, 1.0, 1.0
        alike, different = memory.strength[ALIKE], memory.strength[DIFFERENT]
        best, worth, usual, time = 0, -inf, 0.0, 0.0
        for arm in range(memory.pulls.size):
            m, n, one = self.known(memory, arm, b)
            if memory.side[b] * m > top:
                lead, top, mean, pulls, each = arm, memory.side[b] * m, m, n, one
            if memory.pulls[arm] > 0.0:
                shown += 1.0
                time += memory.tried[arm, b]
                if different < FAR:
                    value = self.visit_worth(memory, arm, b)
                    if value > worth:
                        best, worth = arm, value
        if alike <= different:
            best = lead
        time = time if memory.by_state[0] > SURE else memory.clock[0]
        ahead, less = log(AHEAD * (time + 1.0) / max(shown, 2.0)), log(max(shown / FEW, 1.0))
        leads, limit = self.allowance(ahead, pulls, each), most_nats(memory.limit[b])
        if different < FAR:
            usual = self.often(memory, best, b, self.known(memory, best, b)[1])
            usual = self.allowance(ahead, usual, 1.0)
        least = min(alike, different)
        far = least + min((1.0 + self.inflation) * max(ahead + 1.0, 0.0) - leads, limit)
        if different < FAR:
            far = max(far, different)
        return View(ahead, less, lead, mean, leads, limit, best, worth, usual, least, far)

    def score(self, memory: Any, arm: int, state: float, optimism: float, moment: Any) -> float:
        """Nats of its budget, beyond the leader's, that what speaks against the arm leaves.

        The arm to beat has 0. Others may have more than they should as long as it is below 0.
        """
        if arm == moment.best:
            return 0.0
        b = self.bin_of(state)
        mean, pulls, each = self.known(memory, arm, b)
        against, spare, gap = memory.strength[ALIKE], 0.0, moment.mean - mean
        if arm != moment.lead:
            if 2.0 * pulls * gap * gap > moment.far:  # Pinsker's bound: no logarithm is needed
                against = inf
            else:
                against += pulls * bernoulli_kl(mean, moment.mean)
                ahead = moment.ahead - (moment.less if memory.pulls[arm] <= 0.0 else 0.0)
                spare = min(self.allowance(ahead, pulls, each) - moment.budget, moment.limit)
        score = spare - (against - moment.least)
        if memory.strength[DIFFERENT] < min(against, FAR) and memory.pulls[arm] > 0.0:
            return max(score, self.departing(memory, arm, b, moment))  # type: ignore[no-any-return]
        return score  # type: ignore[no-any-return]

    def departing(self, memory: Any, arm: int, b: int, moment: Any) -> float:
        """The score if arms differ in departures."""
        _, pulls, each = self.known(memory, arm, b)
        spare = self.allowance(moment.ahead, self.often(memory, arm, b, pulls), 1.0) - moment.usual
        spare -= memory.strength[DIFFERENT] - moment.least
        if spare < 0.0:
            return spare
        n, rewards = self.matched(memory, arm, b)
        seen = max(each * n, memory.prior[1])
        against = departures_against(memory, arm, b, seen, rewards / n * seen, moment.worth)
        return spare - against  # type: ignore[no-any-return]

    def _words(self, choice: Seen) -> tuple[str, str]:
        if choice.pulls <= 0.0 or choice.arm == choice.best:
            return super()._words(choice)
        longer = ", or hold people longer" if self.departures else ""
        return "trying", f"{mean_of_pulls(choice)}: it may be better{longer}"
