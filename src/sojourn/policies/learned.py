"""Optimism that learns from departures where mistakes are cheap.

The policy counts, for each bin of the state and each reward, how often the user left and where
the state went. From time to time it solves the estimated model for the cost of a mistake in each
bin, and is then optimistic where mistakes are cheap and cautious where they are dear: +1 at the
least cost, -1 at the greatest, in proportion between, but never below a `floor`. For two states
and a floor of -1 that is ULCB or its opposite. A floor of 0, empirical means in place of lower
bounds, is safer where the states for exploring are rare: there a lower bound keeps to a wrong arm
that is known well for very long (docs/beyond.md).

Until a difference shows it is optimistic everywhere. A bin's cost counts as different from that of
the commonest bin when the two differ by more than `confidence` standard errors, those that hold
if departures depend on the reward alone (a score test: it needs no departures from every bin).
The default of 1.5 is low for a test because a conclusion is not final: it is drawn anew whenever
steps have grown by a tenth, and deciding late costs more than deciding wrongly for a while
(docs/beyond.md has the figures).
"""

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, NamedTuple

import numpy as np

from .. import checks
from ..engine.loops import jitable
from ..engine.steps import level_of
from .base import MOST_BINS, Array, count
from .gated import ImedExplorer, ThompsonExplorer
from .index import KL, Hoeffding
from .optimism import Optimism
from .reasons import Seen, engaged

__all__ = ["LearnedUCB", "LearnedKLUCB", "LearnedIMED", "LearnedThompson"]
"""The policies of this module, in the order in which they are listed."""

FIRST_LOOK = 16.0
"""Steps after which the model is estimated for the first time."""


class Watched(NamedTuple):
    """What a learned policy remembers: `Counts`, what was seen of departures, and conclusions."""

    pulls: Array
    successes: Array
    clock: Array
    moves: Array  # steps by [bin, reward, bin after]
    gone: Array  # departures by [bin, reward]
    stance: Array  # the optimism of each bin
    agenda: Array  # the clock at which to estimate next


@jitable
def solve(matrix: Array, right: Array) -> None:
    """Solve matrix x = right in place, for a matrix whose diagonal dominates its rows."""
    n = right.size
    for i in range(n):
        for j in range(i + 1, n):
            factor = matrix[j, i] / matrix[i, i]
            for k in range(i + 1, n):
                matrix[j, k] -= factor * matrix[i, k]
            right[j] -= factor * right[i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            right[i] -= matrix[i, k] * right[k]
        right[i] /= matrix[i, i]


@jitable
def mistake_costs(memory: Watched) -> tuple[Array, Array]:
    """Estimates of D(b) for every bin b, and their variances.

    With q(b, r) the chance to leave, and W(b, r) the mean value of the bin that follows,

        V(b) = sum over r of P(r) (r + (1 - q(b, r)) W(b, r)),
        D(b) = 1 + (1 - q(b, 1)) W(b, 1) - (1 - q(b, 0)) W(b, 0).

    P(1) is the mean of the arm played most. Estimates of q and of what follows are made as if,
    beside what was seen in the bin, one more step had shown the average over all bins: without
    evidence there is no difference. The variance is that of q if it were the same in all bins,
    with W taken as known.

    Loops only: sums along an axis would double the time that the policy takes to compile.
    """
    bins = memory.stance.size
    best = int(np.argmax(memory.pulls))
    mean = (memory.successes[best] + 1.0) / (memory.pulls[best] + 2.0)
    seen, leave, share = np.zeros((bins, 2)), np.empty((bins, 2)), np.empty(2)
    anywhere, follow = np.zeros((2, bins)), np.empty((bins, 2, bins))
    matrix, value = np.zeros((bins, bins)), np.empty(bins)
    for r in range(2):
        steps = gone = 0.0
        for b in range(bins):
            for after in range(bins):
                seen[b, r] += memory.moves[b, r, after]
                anywhere[r, after] += memory.moves[b, r, after]
            steps += seen[b, r]
            gone += memory.gone[b, r]
        share[r] = (gone + 0.5) / (steps + 1.0)
        for after in range(bins):
            anywhere[r, after] /= max(steps, 1.0)
    for b in range(bins):
        value[b] = mean
        matrix[b, b] = 1.0
        for r in range(2):
            leave[b, r] = (memory.gone[b, r] + share[r]) / (seen[b, r] + 1.0)
            stays = (mean if r == 1 else 1.0 - mean) * (1.0 - leave[b, r])
            for after in range(bins):
                typical = memory.moves[b, r, after] + anywhere[r, after]
                follow[b, r, after] = typical / (seen[b, r] + 1.0)
                matrix[b, after] -= stays * follow[b, r, after]
    solve(matrix, value)
    cost, variance = np.empty(bins), np.zeros(bins)
    for b in range(bins):
        cost[b] = 1.0
        for r in range(2):
            onward = 0.0
            for after in range(bins):
                onward += follow[b, r, after] * value[after]
            cost[b] += (2.0 * r - 1.0) * (1.0 - leave[b, r]) * onward
            variance[b] += onward * onward * share[r] * (1.0 - share[r]) / (seen[b, r] + 1.0)
    return cost, variance


@jitable
def reconsider(memory: Watched, confidence: float) -> None:
    """Set the optimism of every bin from the mistake costs as they are known now.

    A bin whose cost differs from that of the commonest bin by at most `confidence` standard
    errors counts as that bin.
    """
    cost, variance = mistake_costs(memory)
    bins, usual = cost.size, 0
    visited = np.zeros(bins)
    for b in range(bins):
        for r in range(2):
            for after in range(bins):
                visited[b] += memory.moves[b, r, after]
        if visited[b] > visited[usual]:
            usual = b
    least = greatest = cost[usual]
    for b in range(bins):
        noise = sqrt(variance[b] + variance[usual])
        if visited[b] == 0.0 or abs(cost[b] - cost[usual]) <= confidence * noise:
            cost[b] = cost[usual]
        least, greatest = min(least, cost[b]), max(greatest, cost[b])
    span = greatest - least
    for b in range(bins):
        memory.stance[b] = 1.0 - 2.0 * (cost[b] - least) / span if span > 0.0 else 1.0


@dataclass(frozen=True)
class Learned(Optimism):
    """Optimism by the estimated cost of a mistake in each of `bins` equal parts of [0, 1].

    It is never below `floor`, and estimated anew whenever the number of steps has grown by a
    share `growth`.
    """

    learns_from_departures: ClassVar[bool] = True

    confidence: float = 1.5
    floor: float = -1.0
    bins: int = 4
    growth: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("confidence", "growth"):
            number = checks.number(name, getattr(self, name), 0, checks.LARGE)
            object.__setattr__(self, name, number)
        object.__setattr__(self, "floor", checks.number("floor", self.floor, -1, 1))
        object.__setattr__(self, "bins", checks.whole("bins", self.bins, 2, MOST_BINS))

    def memory(self, arms: int) -> Watched:
        """Nothing seen, optimistic everywhere."""
        bins = int(self.bins)
        return Watched(
            np.zeros(arms),
            np.zeros(arms),
            np.zeros(1),
            np.zeros((bins, 2, bins)),
            np.zeros((bins, 2)),
            np.ones(bins),
            np.full(1, FIRST_LOOK),
        )

    def optimism_now(self, memory: Watched, state: float) -> float:
        """That of the bin of the state, but not below the floor."""
        return max(float(memory.stance[level_of(state, int(self.bins))]), self.floor)

    def highest(self) -> float:
        return 1.0

    def lowest(self) -> float:
        return self.floor

    def is_graded(self) -> bool:
        return self.bins > 2.0

    def watch(
        self, memory: Watched, state: float, reward: float, left: bool, next_state: float
    ) -> None:
        """Count the step."""
        bins, r = int(self.bins), 1 if reward > 0.0 else 0
        b = level_of(state, bins)
        memory.moves[b, r, level_of(next_state, bins)] += 1.0
        if left:
            memory.gone[b, r] += 1.0

    def update(
        self, memory: Watched, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        """Learn from one step."""
        self.watch(memory, state, reward, left, next_state)
        self.tell(memory, arm, 1, reward)

    def tell(self, memory: Watched, arm: int, pulls: int, successes: float) -> None:
        """Count pulls, and think again if it is time to."""
        count(memory, arm, pulls, successes)
        if memory.clock[0] >= memory.agenda[0]:
            reconsider(memory, self.confidence)
            later = np.ceil((1.0 + self.growth) * memory.clock[0])
            memory.agenda[0] = max(later, memory.clock[0] + 1.0)

    @property
    def _case(self) -> str | None:
        return None

    def _mood(self, choice: Seen) -> str:
        how = engaged(choice.state)
        if choice.optimism is not None and choice.optimism <= 0.0:
            return f"{how}, mistakes are dear"
        return how if self.lowest() < self.highest() else ""


@dataclass(frozen=True)
class LearnedUCB(Learned, Hoeffding):
    """UCB with learned optimism x: m + x sqrt((log t + c log log t) / (2 N)).

    >>> policy = LearnedUCB()
    >>> policy.optimism_now(policy.memory(arms=2), 0.0)  # nothing is known of departures yet
    1.0
    """

    title: ClassVar[str] = "Learned UCB"


@dataclass(frozen=True)
class LearnedKLUCB(Learned, KL):
    """KL-UCB with learned optimism: KL-ULCB, or its opposite, without being told which.

    >>> LearnedKLUCB(bins=2).parameters["confidence"]
    1.5
    """

    title: ClassVar[str] = "Learned KL-UCB"


@dataclass(frozen=True)
class LearnedIMED(Learned, ImedExplorer):
    """IMED where learned optimism is positive, the greatest empirical mean elsewhere.

    The policy to start with when nothing is known of the users (docs/beyond.md). With ``floor=-1``
    it plays the KL lower bound in the state where mistakes are dearest.

    >>> from sojourn import Problem, TwoState, simulate
    >>> problem = Problem([0.6, 0.5], TwoState(0.5, 0.4, 0.45, 0.02))  # the opposite case
    >>> result = simulate(problem, [LearnedIMED()], visits=50, runs=2)
    >>> result.policies[0].name
    'LearnedIMED'
    """

    title: ClassVar[str] = "Learned IMED"

    floor: float = 0.0


@dataclass(frozen=True)
class LearnedThompson(Learned, ThompsonExplorer):
    """Thompson sampling where learned optimism is positive, the greatest empirical mean elsewhere.

    >>> LearnedThompson().lowest()
    0.0
    """

    title: ClassVar[str] = "Learned Thompson"

    floor: float = 0.0
