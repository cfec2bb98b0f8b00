"""The default policy: an estimate that learns from other arms, an explorer, an optimism.

*Estimate.* A mean and a pseudo-count of every arm in this step: `estimates`.

*Explorer.* An arm is tried while what speaks against it, n kl(m, m*), is less than its budget over
that of the leader (`nats`): a logarithm of steps per pull, bent and partly shared by the arms.

*Optimism.* Where mistakes cost more than elsewhere the budget has a limit that does not grow with
time (`price`). With an account of departures by arm (`accounts`) an arm may also be worth more for
the visit because people stay longer with it.
"""

from dataclasses import dataclass, field
from math import inf, log
from typing import Any, ClassVar, NamedTuple, Self

from .. import validation
from ..engine.divergence import bernoulli_kl
from ..engine.loops import jitable
from ..engine.unmanaged import merged
from ..problem import Problem
from .accounts import (
    ALIKE,
    DIFFERENT,
    FAR,
    departures_against,
    nothing_concluded,
    think,
    value_visits,
)
from .departures import mistake_costs, set_optimism, unseen
from .estimates import SURE, known, learn_prior, learn_shifts, matched, no_records
from .priced import most_nats, nats, price
from .reasons import Seen, mean_of_pulls
from .visit import WholeVisit

__all__ = ["EngagementIndex"]

AHEAD, THRIFT, EARLY = 8.0, 6.0, 2.0
"""Of budgets: steps ahead as a multiple of those so far; see `nats` for the others."""

FEW = 8.0
"""Arms shown from which on arms never shown have less of a budget."""


@jitable
def shown(memory: Any) -> float:
    """The number of arms that were played."""
    arms = 0.0
    for arm in range(memory.pulls.size):
        if memory.pulls[arm] > 0.0:
            arms += 1.0
    return arms


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

    Budgets are 1 + `inflation` times as large (from 0 to 100): with more of it, rare runs that lose
    the best arm for long become rarer, and the mean regret grows.

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
    inflation: float = field(default=0.1, kw_only=True)
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
        return merged(merged(unseen(arms, bins), conclusions), no_records(arms, bins))

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
        cost, variance = mistake_costs(memory, False)
        if self.departures or self.follow_improper:
            think(self, memory, self.confidence, self.faith, self.follow_improper, self.departures)
            self.guess_unvisited(memory)
        else:
            set_optimism(memory, cost.copy(), variance.copy(), self.confidence, False)
        arms = max(shown(memory), 2.0)
        price(memory, memory.limit, cost, variance, 0.0, False, arms)
        if memory.by_state[0] > SURE:  # what is not tried in a state is never known there
            memory.limit[:] = memory.optimism[:] = 1.0

    def among(self, memory: Any) -> None:
        """For a memory of some of the arms: value visits as if there were no others."""
        if memory.strength[DIFFERENT] < FAR and shown(memory) > 0.0:
            value_visits(self, memory, self.follow_improper)
            self.guess_unvisited(memory)

    def guess_unvisited(self, memory: Any) -> None:
        """In bins that were never visited arms are worth what they are in the commonest one."""
        usual, most, bins = 0, 0.0, memory.limit.size
        for b in range(bins):
            steps = memory.moves[b].sum()
            if steps > most:
                usual, most = b, steps
        for b in range(bins):
            if memory.moves[b].sum() == 0.0:
                memory.terms[:, b] = memory.terms[:, usual]

    def matched(self, memory: Any, arm: int, b: int) -> tuple[float, float]:
        return matched(memory, arm, b)

    def knows(self, memory: Any, arm: int) -> bool:
        """Always: the prior speaks for an arm that was never played."""
        return True

    def estimate(self, memory: Any, arm: int, state: float) -> tuple[float, float]:
        mean, n, _ = known(memory, arm, self.bin_of(state))
        return mean, n

    def allowance(self, ahead: float, pulls: float, coins: float) -> float:
        """Nats for an arm whose pulls are worth so many coins each."""
        return (1.0 + self.inflation) * budget(ahead - log(pulls / coins), pulls)

    def often(self, memory: Any, arm: int, b: int, pulls: float) -> float:
        """Pulls from which departures are learned: only those in the bin where it is costly."""
        return pulls if memory.optimism[b] > 0.0 else memory.tried[arm, b] + 2.0

    def moment(self, memory: Any, state: float, optimism: float) -> View:
        b, lead, top, played = self.bin_of(state), 0, -inf, 0.0
        mean, pulls, each = 0.0, 1.0, 1.0
        alike, different = memory.strength[ALIKE], memory.strength[DIFFERENT]
        best, worth, usual = 0, -inf, 0.0
        for arm in range(memory.pulls.size):
            m, n, one = known(memory, arm, b)
            if memory.side[b] * m > top:
                lead, top, mean, pulls, each = arm, memory.side[b] * m, m, n, one
            if memory.pulls[arm] > 0.0:
                played += 1.0
                if different < FAR:
                    value = self.visit_worth(memory, arm, b)
                    if value > worth:
                        best, worth = arm, value
        if alike <= different:
            best = lead
        time = memory.clock[0]
        if memory.by_state[0] > SURE:
            time = memory.tried[:, b].sum()
        ahead, less = log(AHEAD * (time + 1.0) / max(played, 2.0)), log(max(played / FEW, 1.0))
        leads, limit = self.allowance(ahead, pulls, each), most_nats(memory.limit[b])
        if different < FAR:
            usual = self.often(memory, best, b, known(memory, best, b)[1])
            usual = self.allowance(ahead, usual, 1.0)
        least = min(alike, different)
        far = least + min((1.0 + self.inflation) * max(ahead + 1.0, 0.0) - leads, limit)
        if different < FAR:
            far = max(far, different)
        return View(ahead, less, lead, mean, leads, limit, best, worth, usual, least, far)

    def trial(self, mean: float, pulls: float, coins: float, new: bool, moment: Any) -> float:
        """Nats of an arm's budget, beyond the leader's, that its mean leaves.

        They may be more than they should be as long as they are too few for it to be played.
        """
        gap = moment.mean - mean
        if 2.0 * pulls * gap * gap > moment.far:  # Pinsker's bound: no logarithm is needed
            return -inf
        ahead = moment.ahead - moment.less if new else moment.ahead
        spare = min(self.allowance(ahead, pulls, coins) - moment.budget, moment.limit)
        return spare - pulls * bernoulli_kl(mean, moment.mean)  # type: ignore[no-any-return]

    def score(self, memory: Any, arm: int, state: float, optimism: float, moment: Any) -> float:
        """Nats of its budget, beyond that of the arm to beat, which has 0, that are left."""
        if arm == moment.best:
            return 0.0
        b, alike, score = self.bin_of(state), memory.strength[ALIKE], 0.0
        mean, pulls, each = known(memory, arm, b)
        if arm != moment.lead:
            score = self.trial(mean, pulls, each, memory.pulls[arm] <= 0.0, moment)
        score += moment.least - alike
        if score < 0.0 and memory.strength[DIFFERENT] < FAR and memory.pulls[arm] > 0.0:
            return max(score, self.departing(memory, arm, b, moment))  # type: ignore[no-any-return]
        return score  # type: ignore[no-any-return]

    def departing(self, memory: Any, arm: int, b: int, moment: Any) -> float:
        """The score if arms differ in departures."""
        _, pulls, each = known(memory, arm, b)
        spare = self.allowance(moment.ahead, self.often(memory, arm, b, pulls), 1.0) - moment.usual
        spare -= memory.strength[DIFFERENT] - moment.least
        if spare < 0.0:
            return spare  # type: ignore[no-any-return]
        n, rewards = matched(memory, arm, b)
        seen = max(each * n, memory.prior[1])
        against = departures_against(memory, arm, b, seen, rewards / n * seen, moment.worth)
        return spare - against  # type: ignore[no-any-return]

    def _words(self, choice: Seen) -> tuple[str, str]:
        if choice.pulls <= 0.0 or choice.arm == choice.best:
            return super()._words(choice)
        longer = ", or hold people longer" if self.departures else ""
        return "trying", f"{mean_of_pulls(choice)}: it may be better{longer}"
