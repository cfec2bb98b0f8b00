"""The priced index: explore where mistakes are cheap, as far as the steps ahead are worth it.

A pull of an arm that looks worse than another costs D(s) times the difference now; what it shows
may pay in all steps ahead. With one arm unknown and the other known that is a stopping problem
(Chernoff and Ray 1965; Lai 1987). Its solution for R steps ahead is an upper confidence bound whose
budget, after N pulls, is less than log(R / N) nats. R is not known, so it grows with time, and the
arms share it (as in MOSS: Audibert and Bubeck 2009).

Where a mistake costs more than in other states one may wait for those, at the risk that the arm is
better: a costlier state has a budget that does not depend on R (`patience`; docs/index-policy.md).
"""

from dataclasses import dataclass
from math import erfc, exp, floor, inf, log, log1p, log2, pi, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import validation
from ..engine.loops import jitable
from ..engine.unmanaged import merged
from .base import Array
from .departures import mistake_costs, settle, unseen
from .gated import Gated
from .index import extra_of
from .learned import Learned
from .optimism import LEAST
from .reasons import Seen, engaged

__all__ = ["PricedIndex"]


@jitable
def nats(log_ratio: float, pulls: float, thrift: float, early: float = 0.5) -> float:
    """The budget of a bound after N pulls, (1 + (e y - 1) / N) y^2 / (y + thrift), at least 0.

    y is log(steps ahead / N), and 0 stands for less; e says how much more is had by `early` pulls.

    >>> nats(5.0, 1e9, 5.0), nats(2.0, 8.0, 2.0), nats(-1.0, 8.0, 5.0)
    (2.50000000375, 1.0, 0.0)
    """
    if log_ratio <= 0.0:
        return 0.0
    few = max(1.0 + (early * log_ratio - 1.0) / pulls, 0.0)
    return few * log_ratio * log_ratio / (log_ratio + thrift)


@jitable
def log_ratio_of(budget: float, pulls: float, thrift: float) -> float:
    """The y >= 0 with `nats` (y, pulls, thrift) = budget, to some digits.

    For many pulls it has a closed form, from which three of Newton's steps are taken.

    >>> round(log_ratio_of(1.0, 8.0, 2.0), 6)
    2.0
    """
    if budget <= 0.0:
        return 0.0
    y = 0.5 * (budget + sqrt(budget * (budget + 4.0 * thrift)))
    for _ in range(3):
        few, over = 1.0 + (y - 2.0) / (2.0 * pulls), 1.0 / (y + thrift)
        plain = y * y * over
        slope = few * (y + plain * thrift / y) * over + plain / (2.0 * pulls)
        y -= (few * plain - budget) / slope
    return y


class Worth(NamedTuple):
    """The memory beside `Watched`: the value of a step ahead."""

    worth: Array  # the logarithm, in mistakes where they are cheapest


PRIOR = (1.0, 1.0)
"""Prior of the mean of every arm: a Beta distribution's parameters."""

FARTHEST = 40.0
"""Standard deviations that an arm is never behind."""


@jitable
def patience(surcharge: float) -> float:
    """The x >= 0 with E max(Z - x, 0) = surcharge x: how far behind an arm is worth a pull here.

    The left side, for a standard normal Z, is what an arm x standard deviations behind gains on
    average once its mean is known.

    >>> round(patience(1.0), 6), round(patience(0.01), 6)
    (0.27603, 1.724094)
    """
    if surcharge <= 0.0:
        return FARTHEST
    x = 0.0
    for _ in range(60):  # Newton's steps for a convex function that falls never pass the solution
        beyond = 0.5 * erfc(x / sqrt(2.0))  # the chance of Z > x
        gain = exp(-0.5 * x * x) / sqrt(2.0 * pi) - x * beyond
        step = (gain - surcharge * x) / (beyond + surcharge)
        x += step
        if step <= 1e-12 * x:
            break
    return min(x, FARTHEST)


@jitable
def most_nats(optimism: float) -> float:
    """x^2 / 2, for an optimism of 1 - exp(-x^2 / 2)."""
    if optimism >= 1.0 or optimism == LEAST:
        return inf
    return -log1p(-max(optimism, 0.0))


@jitable
def price(
    memory: Any, optimism: Array, cost: Array, variance: Array,
    confidence: float, follow: bool, arms: float,
) -> float:  # fmt: skip
    """Set the `optimism` of every bin from mistake costs D, settled here, and shares of steps w.

    In a bin whose D is above that of others, relative to the mean of D and with M arms, by

        A(b) = (M - 1) sum over i of w(i) max(D(b) - D(i), 0) / sum over i of w(i) D(i),

    an arm is worth a pull if it is at most x = `patience` (A) standard deviations behind, that is
    x^2 / 2 nats; the optimism is 1 - exp(-x^2 / 2): 1 in the cheapest bin. A step ahead is worth

        W = (sum over i of w(i) D(i)) / (least of all D(i) + its standard error),

    the w(i) being shares of the steps, as a power of 2 that is not above it, and at least 1: so it
    seldom changes, and bounds on indices are seldom set anew. The logarithm of W is returned.
    """
    visited = settle(memory, cost, variance, confidence, follow)
    whole, steps, least, bins = 0.0, 0.0, inf, cost.size
    for b in range(bins):
        if cost[b] != LEAST:
            cost[b] = max(cost[b], 0.0)
            whole += visited[b] * cost[b]
            steps += visited[b]
            least = min(least, cost[b] + sqrt(variance[b]))
    times = whole / (steps * least) if whole > 0.0 else 1.0
    for b in range(bins):
        alike = 0
        while alike < b and cost[alike] != cost[b]:
            alike += 1
        if alike < b:  # bins that were never visited have the cost of the commonest
            optimism[b] = optimism[alike]
            continue
        if cost[b] == LEAST:
            optimism[b] = LEAST
            continue
        surcharge = 0.0
        for i in range(bins):
            if cost[i] != LEAST:
                surcharge += visited[i] * max(cost[b] - cost[i], 0.0)
        x = patience((arms - 1.0) * surcharge / whole) if whole > 0.0 else inf
        optimism[b] = 1.0 - exp(-0.5 * x * x)
    return log(2.0) * floor(log2(max(times, 1.0)))


@dataclass(frozen=True)
class AheadExplorer(Gated):
    """KL upper bounds with as many nats as the steps ahead of each arm are worth.

    Without `visits` the steps ahead are `ahead` times those so far: a number from 1 to 1e9. With
    `visits`, the number of visits that there will be, they are those left at the average length so
    far; 0 means that it is not known. The arms share them.

    `thrift`, from 0 to 100, is the number of nats by which a budget is at most below log(steps
    ahead / pulls): more of it gives less regret in most runs, but more runs drop a good arm.

    Pulls and means are those of the posterior of a uniform prior, Beta(1, 1): as if every arm had
    had two more pulls, one of them a success.
    """

    _why: ClassVar[str] = "it may pay in the steps ahead"

    ahead: float = 8.0
    visits: int = 0
    thrift: float = 6.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(
            self, "ahead", validation.number("ahead", self.ahead, 1, validation.LARGE)
        )
        object.__setattr__(
            self, "visits", validation.whole("visits", self.visits, 0, validation.LARGE)
        )
        object.__setattr__(self, "thrift", validation.number("thrift", self.thrift, 0, 100))

    def extra(self, memory: Any, log_t: float) -> float:
        """The logarithm of the steps ahead of each arm over those so far, and c log log t."""
        ended = memory.left.sum() if self.visits > 0.0 else 0.0
        return self.extra_after(memory, ended, log_t)

    def extra_after(self, memory: Any, ended: float, log_t: float) -> float:
        """The same once this many visits have ended."""
        times = self.ahead
        if self.visits > 0.0:
            times = max(self.visits - ended, 1.0) / (ended + 1.0)
        return log(times / memory.pulls.size) + extra_of(self.c, log_t) + float(memory.worth[0])

    def record(self, memory: Any, arm: int) -> tuple[float, float]:
        """The mean of the posterior, and N, the sum of its parameters."""
        a, b = PRIOR
        pulls = memory.pulls[arm] + a + b
        return (memory.successes[arm] + a) / pulls, pulls

    def budget(self, pulls: float, log_t: float, extra: float, optimism: float) -> float:
        """min(nats(log(steps ahead / N)), -log(1 - optimism))."""
        whole = nats(log_t + extra - log(pulls), pulls, self.thrift)
        return min(whole, most_nats(optimism))

    def _figure(self, choice: Seen, mean: float, optimism: float) -> str:
        return super()._figure(choice, mean, max(optimism, 1.0))


@dataclass(frozen=True)
class PricedIndex(Learned, AheadExplorer):
    """The arm of greatest p with N kl(m, p) <= min((1 + (y - 2) / 2 N) y^2 / (y + 6), x^2 / 2).

    With y = log(R / N), m the posterior mean of an arm and N its pulls and two. R = 8 t W / M are
    the steps ahead of each of M arms at time t, or what is left of `visits`, times what a step is
    worth: W is how costly a mistake is on average, in mistakes where they are cheapest. x solves
    E max(Z - x, 0) = A x, where A is how much costlier than in others a mistake is in this state. W
    and A are learned from departures (`price`); in the cheapest state x is infinite. It needs no
    prior knowledge (docs/index-policy.md).

    >>> policy = PricedIndex(bins=2)
    >>> memory = policy.memory(arms=2)
    >>> for step in range(400):  # people leave after two bad ones in a row, and only then
    ...     good, last = step % 5 > 1, step % 5 in (0, 3, 4)
    ...     policy.update(memory, float(last), 0, float(good), not (good or last), float(good))
    >>> policy.optimism_now(memory, 1.0), round(policy.optimism_now(memory, 0.0), 2)
    (1.0, 0.08)
    """

    title: ClassVar[str] = "Priced index"

    confidence: float = 0.0
    floor: float = 0.0

    def memory(self, arms: int) -> Any:
        return merged(unseen(arms, int(self.bins)), Worth(np.zeros(1)))

    def think(self, memory: Any) -> None:
        arms, follow = memory.pulls.size, self.follow_improper
        cost, variance = mistake_costs(memory, follow)
        memory.worth[0] = price(
            memory, memory.optimism, cost, variance, self.confidence, follow, arms
        )

    def _mood(self, choice: Seen) -> str:
        costlier = choice.optimism is not None and choice.optimism < 1.0
        return engaged(choice.state) + (", mistakes are costlier" if costlier else "")
