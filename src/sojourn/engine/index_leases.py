"""The leases of index policies: how an index of each kind moves in time, and what bounds it.

The leader can be promised to win for W more steps as long as its empirical mean is at least some
m: its index at the highest optimism is then at least that of (m, N + W pulls, now), at the lowest
at least that of (m, N pulls, now + W). If in the meantime no other arm reaches the first (the time
when it would is known in closed form, `log_time`) nor is above the second, nothing else can be
chosen. See docs/leases.md for the whole argument.
"""

from dataclasses import dataclass
from math import exp, inf, log, sqrt
from typing import Any, TypeVar

from ..policies.base import Counts
from ..policies.index import KL, Hoeffding, Index
from ..policies.priced import PRIOR, AheadExplorer, log_ratio_of
from .board import (
    HORIZON,
    LEADER,
    SAFE,
    STAKES,
    Board,
    decide,
    is_ready,
    make_board,
    next_node,
    note_pull,
    when,
)
from .divergence import bernoulli_kl, kl_upper_at_least
from .kernel import NO_LEASE, NOT_SOON, CountingLeaser, Lease
from .loops import jitable
from .streams import Stream

AnyIndex = TypeVar("AnyIndex", bound=Index)
AnyKL = TypeVar("AnyKL", bound=KL)


RIVALS = 64
"""With more arms than this close to the leader there is no lease."""
SHORT = 3.0
"""A shorter lease costs more than deciding."""


@jitable
def counted_mean(level: float, prior: tuple[float, float], pulls: float) -> float:
    """The k / n from which on (a + k) / (a + b + n) >= level, for n = `pulls` and all greater."""
    a, b = prior
    return level + max(level * (a + b) - a, 0.0) / pulls


@jitable
def lower_bound_exceeds(
    mean: float, pulls: float, log_t: float, extra: float, optimism: float, level: float
) -> bool:
    """Whether the KL index, at an optimism not above 0, is sure to be above `level`.

    The lower bound is above p if N kl(m, p) is above its budget: no need to solve for it.
    """
    level = max(level, SAFE)
    budget = -optimism * log_t + extra
    return mean > level and pulls * bernoulli_kl(mean, level) > budget * (1.0 + SAFE) + SAFE


@dataclass(frozen=True)
class IndexLeaser(CountingLeaser[AnyIndex, Board]):
    """Bounds on the indices of all arms; subclasses know how an index moves in time."""

    def board(self, policy: AnyIndex, arms: int) -> Board:
        return make_board(arms)

    def lease(self, policy: AnyIndex, memory: Counts, board: Board) -> Lease:
        leader, t = int(board.notes[LEADER]), memory.clock[0] + 1.0
        if 2.0 * memory.pulls[leader] < t:
            return NO_LEASE
        log_t = log(t)
        if is_ready(self, policy, memory, board, t, log_t):
            mean, pulls = policy.record(memory, leader)
            extra = policy.extra(memory, log_t)
            steps = likely_steps(self, policy, memory, board, leader, log_t, extra)
            while steps >= SHORT:
                least = mean - fall(mean, pulls, steps)
                if promised(self, policy, memory, board, leader, least, steps, log_t, extra):
                    return leader, int(steps), self.enough(least + SAFE, memory.pulls[leader])
                steps *= 0.7
        return NOT_SOON

    def at_least(
        self, policy: AnyIndex,
        mean: float, pulls: float, log_t: float, extra: float, optimism: float,
    ) -> float:  # fmt: skip
        """The index, or a little less where that is faster and close enough for leases."""
        return policy.index(mean, pulls, log_t, extra, optimism)

    def is_exact(self) -> bool:
        """Whether that is the index."""
        return True

    def stakes(self, memory: Counts) -> float:
        """What was learned that changes every index: bounds hold as long as it stays."""
        return 0.0

    def enough(self, least: float, pulls: float) -> float:
        """The share of successes, from so many pulls on, that is enough for such a mean."""
        return least

    def stays_below(
        self, policy: AnyIndex, memory: Counts, arm: int, level: float, log_end: float
    ) -> bool:
        """Whether an arm's index at the highest optimism is sure to be below until a time."""
        mean, pulls = policy.record(memory, arm)
        extra = policy.extra(memory, log_end)
        return self.is_below(policy, mean, pulls, log_end, extra, policy.highest(), level)

    def is_below(
        self, policy: AnyIndex,
        mean: float, pulls: float, log_t: float, extra: float, optimism: float, level: float,
    ) -> bool:  # fmt: skip
        """Whether the index at an optimism is sure to be below `level`; False if not tried."""
        value = policy.index(mean, pulls, log_t, extra, optimism)
        return optimism > 0.0 and value < level - SAFE

    def pace(self, policy: AnyIndex, pulls: float, log_t: float, extra: float) -> float:
        """A budget over its growth with log t: how far that has to grow to double the budget."""
        return log_t

    def extra_at_least(
        self, policy: AnyIndex, memory: Counts, log_t: float, extra: float, steps: float
    ) -> float:
        """The least that `extra` may be in so many steps; it never grows but with time."""
        return extra

    def decide(
        self, policy: AnyIndex, memory: Counts, board: Board, state: float, rng: Stream
    ) -> int:
        return decide(self, policy, memory, board, state, rng)

    def learn(
        self, policy: AnyIndex, memory: Counts, board: Board,
        state: float, arm: int, reward: float, left: bool, next_state: float,
    ) -> None:  # fmt: skip
        policy.update(memory, state, arm, reward, left, next_state)
        note_pull(self, policy, memory, board, arm)


@dataclass(frozen=True)
class HoeffdingLeaser(IndexLeaser[Hoeffding]):
    """The index is linear in the optimism."""

    def log_time(
        self, policy: Hoeffding, memory: Counts,
        mean: float, pulls: float, level: float, optimism: float,
    ) -> float:  # fmt: skip
        """log t at which the index reaches `level` (or earlier), for optimism > 0 and mean < level.

        x^2 (log t + c log log t) = 2 N (level - m)^2.
        """
        return when(1.0, policy.c, 2.0 * pulls * ((level - mean) / optimism) ** 2)

    def asks_for_means(self, policy: Hoeffding) -> bool:
        """Whether the mean is needed to bound indices between two optimisms."""
        return False

    def exceeds(
        self, policy: Hoeffding,
        mean: float, pulls: float, log_t: float, extra: float, optimism: float, level: float,
    ) -> bool:  # fmt: skip
        """Whether the index is sure to be above `level`."""
        return policy.index(mean, pulls, log_t, extra, optimism) > level + SAFE

    def share_of_top(self, policy: Hoeffding, optimism: float) -> float:
        """Which mixture of an arm's bounds at low and at high optimism bounds its index here."""
        highest, low = policy.highest(), min(policy.lowest(), 0.0)
        if highest <= 0.0:
            return 0.0
        return 1.0 if optimism == highest else (optimism - low) / (highest - low)


@dataclass(frozen=True)
class KLLeaser(IndexLeaser[AnyKL]):
    """The budget of the divergence is linear in the optimism."""

    def log_time(
        self, policy: AnyKL, memory: Counts,
        mean: float, pulls: float, level: float, optimism: float,
    ) -> float:  # fmt: skip
        """x log t + c log log t = N kl(m, level)."""
        return when(optimism, policy.c, pulls * bernoulli_kl(mean, level))

    def is_below(
        self, policy: AnyKL,
        mean: float, pulls: float, log_t: float, extra: float, optimism: float, level: float,
    ) -> bool:  # fmt: skip
        """An upper bound is below p if N kl(m, p) is above its budget: no need to solve for it."""
        level -= SAFE  # near 1, bounds of different budgets are the same number
        if optimism <= 0.0 or mean >= level:
            return False
        budget = policy.budget(pulls, log_t, extra, optimism)
        return pulls * bernoulli_kl(mean, level) > budget * (1.0 + SAFE)

    def asks_for_means(self, policy: AnyKL) -> bool:
        return policy.is_graded()

    def exceeds(
        self, policy: AnyKL,
        mean: float, pulls: float, log_t: float, extra: float, optimism: float, level: float,
    ) -> bool:  # fmt: skip
        return lower_bound_exceeds(mean, pulls, log_t, extra, optimism, level)

    def share_of_top(self, policy: AnyKL, optimism: float) -> float:
        """Which of an arm's bounds, at low (0) or high (1) optimism, bounds its index here.

        Neither (-1) between 0 and the highest optimism.
        """
        if optimism <= 0.0:
            return 0.0
        return 1.0 if optimism == policy.highest() else -1.0


@dataclass(frozen=True)
class AheadLeaser(KLLeaser[AheadExplorer]):
    """The budget grows with log t and falls with the arm's own pulls; no index is below the mean.

    An arm that loses to the leader at the highest optimism and in mean loses at all: see
    docs/leases.md.
    """

    def log_time(
        self, policy: AheadExplorer, memory: Any,
        mean: float, pulls: float, level: float, optimism: float,
    ) -> float:  # fmt: skip
        """nats(log t + extra - log N) = N kl(m, level), about: leases only guess by it."""
        log_ratio = log_ratio_of(pulls * bernoulli_kl(mean, level), pulls, policy.thrift)
        return when(1.0, policy.c, log_ratio + log(pulls) - policy.extra(memory, 0.0))

    def pace(self, policy: AheadExplorer, pulls: float, log_t: float, extra: float) -> float:
        """nats(y) over its derivative, but for what few pulls change."""
        y = max(log_t + extra - log(pulls), 0.0)
        return float(y * (y + policy.thrift) / (y + 2.0 * policy.thrift))

    def at_least(
        self, policy: AheadExplorer,
        mean: float, pulls: float, log_t: float, extra: float, optimism: float,
    ) -> float:  # fmt: skip
        return kl_upper_at_least(mean, policy.budget(pulls, log_t, extra, optimism) / pulls)

    def is_exact(self) -> bool:
        return False

    def extra_at_least(
        self, policy: AheadExplorer, memory: Any, log_t: float, extra: float, steps: float
    ) -> float:
        """With a known number of visits, as if one ended with every step."""
        if policy.visits == 0.0:
            return extra
        return float(policy.extra_after(memory, memory.left.sum() + steps, log_t))

    def asks_for_means(self, policy: AheadExplorer) -> bool:
        return True

    def exceeds(
        self, policy: AheadExplorer,
        mean: float, pulls: float, log_t: float, extra: float, optimism: float, level: float,
    ) -> bool:  # fmt: skip
        return mean > level + SAFE

    def stakes(self, memory: Any) -> float:
        return float(memory.worth[0])

    def enough(self, least: float, pulls: float) -> float:
        return counted_mean(least, PRIOR, pulls)

    def goes_on(self, policy: AheadExplorer, memory: Any, board: Board) -> bool:
        """Unless a step ahead is worth another amount now."""
        return self.stakes(memory) == board.notes[STAKES]  # type: ignore[no-any-return]


@jitable
def fall(mean: float, pulls: float, steps: float) -> float:
    """How far an empirical mean may fall in so many pulls: a standard deviation."""
    return sqrt(max(mean * (1.0 - mean), 1.0 / pulls) * steps) / pulls


@jitable
def ahead(log_ratio: float, t: float) -> float:
    """Steps from t to t exp(log_ratio), if that is not far."""
    return t * (exp(min(log_ratio, 1.0)) - 1.0)


@jitable
def reaches(leaser: Any, policy: Any, memory: Any, arm: int, level: float) -> float:
    """The log time until which an arm's index at the highest optimism is sure to be below."""
    mean, pulls = policy.record(memory, arm)
    if mean >= level - SAFE:
        return -inf
    log_time = leaser.log_time(policy, memory, mean, pulls, level - SAFE, policy.highest())
    return log_time - SAFE  # type: ignore[no-any-return]


@jitable
def likely_steps(
    leaser: Any, policy: Any, memory: Any, board: Board, leader: int, log_t: float, extra: float
) -> float:
    """How long a lease to ask for: a guess, `promised` decides.

    In W steps the leader's mean may fall by s sqrt(W) (`fall`). An arm that would reach the
    leader's present index in R steps does so in about R (1 - s sqrt(W) / gap) if that falls by as
    much, where its own index grows by gap ~ R (index - mean) / (2 t `pace`) in R steps.
    """
    t = memory.clock[0] + 1.0
    if policy.highest() <= 0.0:
        return float(t / 4.0)
    mean, pulls = policy.record(memory, leader)
    level = leaser.at_least(policy, mean, pulls, log_t, extra, policy.highest())
    s = fall(mean, pulls, 1.0)
    size, i = board.tops.size // 2, 1
    while i < size:  # the closest rival first: it narrows the search for others
        i = 2 * i if board.tops[2 * i] >= board.tops[2 * i + 1] else 2 * i + 1
    steps = board.notes[HORIZON] - t
    steps = min(steps, steps_against(leaser, policy, memory, i - size, level, s, log_t, extra))
    if steps < SHORT:
        return 0.0
    closest, rivals, i = i, 0, 1
    while i > 0:
        if board.tops[i] < level - 4.0 * s * sqrt(steps):
            i = next_node(i)
        elif i < size:
            i = 2 * i
        else:
            rivals += 1
            if i != closest:
                other = steps_against(leaser, policy, memory, i - size, level, s, log_t, extra)
                steps = min(steps, other)
            if steps < SHORT or rivals > RIVALS:
                return 0.0
            i = next_node(i)
    return 0.95 * float(steps)


@jitable
def steps_against(
    leaser: Any, policy: Any, memory: Any, arm: int,
    level: float, s: float, log_t: float, extra: float,
) -> float:  # fmt: skip
    """The W that solves W = R (1 - s sqrt(W) / gap) for one rival (see `likely_steps`)."""
    t = memory.clock[0] + 1.0
    reach = ahead(reaches(leaser, policy, memory, arm, level) - log_t, t)
    if reach < SHORT:
        return 0.0
    mean, pulls = policy.record(memory, arm)
    b = 2.0 * t * leaser.pace(policy, pulls, log_t, extra) * s / (level - mean)
    root = 2.0 * reach / (b + sqrt(b * b + 4.0 * reach))
    return float(root * root)


@jitable
def promised(
    leaser: Any, policy: Any, memory: Any, board: Board,
    leader: int, least: float, steps: float, log_t: float, extra: float,
) -> bool:  # fmt: skip
    """Whether the leader wins for so many steps in every state while its mean is at `least`."""
    if least <= 0.0:
        return False
    t, highest = memory.clock[0] + 1.0, policy.highest()
    _, pulls = policy.record(memory, leader)
    log_end = log(t + steps)
    if policy.lowest() < highest or highest <= 0.0:
        key, low = board.keys[1], min(policy.lowest(), 0.0)
        later = policy.extra(memory, log_end)
        if not leaser.exceeds(policy, least, pulls, log_end, later, low, key):
            return False
    if highest <= 0.0:
        return True
    if t + steps > board.notes[HORIZON]:
        return False
    extra = leaser.extra_at_least(policy, memory, log_t, extra, steps)
    high = leaser.at_least(policy, least, pulls + steps, log_t, extra, highest) - SAFE
    size, i = board.tops.size // 2, 1
    while i > 0:
        if board.tops[i] < high:
            i = next_node(i)
        elif i < size:
            i = 2 * i
        else:
            if not leaser.stays_below(policy, memory, i - size, high, log_end):
                return False
            i = next_node(i)
    return True
