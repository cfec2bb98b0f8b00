"""Leases: choices that are sure for a while, looked up by the type of the policy.

A `Leaser` promises an arm for some steps, in every state, or none. It also decides and learns
with a board of its own, in place of `choose` and `update`, where that is faster. It never changes
a decision: docs/leases.md has the proofs. A policy without an entry here runs as it is.
"""

from dataclasses import dataclass
from functools import singledispatch
from math import log
from typing import Any

from ..policies.base import Policy, count
from ..policies.exact import ExactIndex
from ..policies.gated import ImedExplorer, ThompsonExplorer
from ..policies.index import KL, Hoeffding
from ..policies.learned import Learned
from ..policies.mixture import EpsilonMixture
from ..policies.plain import FixedArm
from ..policies.priced import PRIOR, AheadExplorer, log_ratio_of
from ..policies.published import KLUCBSwitch
from ..policies.visit import VisitIMED
from .board import SAFE, STAKES, decide, make_board, note_pull, when
from .divergence import bernoulli_kl, kl_upper_at_least
from .imed import ImedLeaser, VisitLeaser, lower_bound_exceeds
from .lease import lease, reaches
from .leaser import NO_LEASE, CountingLeaser, Leaser
from .loops import jitable
from .streams import Stream
from .structs import entry_for

FOR_EVER = 1 << 62
PAUSE = 7.0
"""Steps until the next look for a lease, where there was none and a look takes all arms."""


@jitable
def counted_mean(level: float, prior: tuple[float, float], pulls: float) -> float:
    """The k / n from which on (a + k) / (a + b + n) >= level, for n = `pulls` and all greater."""
    a, b = prior
    return level + max(level * (a + b) - a, 0.0) / pulls


@dataclass(frozen=True)
class IndexLeaser(CountingLeaser):
    """Bounds on the indices of all arms; subclasses know how an index moves in time."""

    def board(self, policy: Any, arms: int) -> Any:
        return make_board(arms)

    def lease(self, policy: Any, memory: Any, board: Any) -> tuple[int, int, float]:
        return lease(self, policy, memory, board)

    def at_least(
        self, policy: Any, mean: float, pulls: float, log_t: float, extra: float, optimism: float
    ) -> float:
        """The index, or a little less where that is faster and close enough for leases."""
        return policy.index(mean, pulls, log_t, extra, optimism)  # type: ignore[no-any-return]

    def is_exact(self) -> bool:
        """Whether that is the index."""
        return True

    def stakes(self, memory: Any) -> float:
        """What was learned that changes every index: bounds hold as long as it stays."""
        return 0.0

    def enough(self, least: float, pulls: float) -> float:
        """The share of successes, from so many pulls on, that is enough for such a mean."""
        return least

    def stays_below(self, policy: Any, memory: Any, arm: int, level: float, log_end: float) -> bool:
        """Whether an arm's index at the highest optimism is sure to be below until a time."""
        return reaches(self, policy, memory, arm, level) > log_end

    def extra_at_least(
        self, policy: Any, memory: Any, log_t: float, extra: float, steps: float
    ) -> float:
        """The least that `extra` may be in so many steps; it never grows but with time."""
        return extra

    def decide(self, policy: Any, memory: Any, board: Any, state: float, rng: Stream) -> int:
        return decide(self, policy, memory, board, state, rng)

    def learn(
        self, policy: Any, memory: Any, board: Any,
        state: float, arm: int, reward: float, left: bool, next_state: float,
    ) -> None:  # fmt: skip
        policy.update(memory, state, arm, reward, left, next_state)
        note_pull(self, policy, memory, board, arm)


@dataclass(frozen=True)
class HoeffdingLeaser(IndexLeaser):
    """The index is linear in the optimism."""

    def log_time(
        self, policy: Any, memory: Any, mean: float, pulls: float, level: float, optimism: float
    ) -> float:
        """log t at which the index reaches `level` (or earlier), for optimism > 0 and mean < level.

        x^2 (log t + c log log t) = 2 N (level - m)^2.
        """
        return when(1.0, policy.c, 2.0 * pulls * ((level - mean) / optimism) ** 2)

    def pace(self, policy: Any, pulls: float, log_t: float, extra: float) -> float:
        """A budget over its growth with log t: how far that has to grow to double the budget."""
        return log_t

    def asks_for_means(self, policy: Any) -> bool:
        """Whether the mean is needed to bound indices between two optimisms."""
        return False

    def is_below(
        self, policy: Any,
        mean: float, pulls: float, log_t: float, extra: float, optimism: float, level: float,
    ) -> bool:  # fmt: skip
        """Whether the index is sure to be below `level`, if that is faster than to evaluate it."""
        return False

    def exceeds(
        self, policy: Any,
        mean: float, pulls: float, log_t: float, extra: float, optimism: float, level: float,
    ) -> bool:  # fmt: skip
        """Whether the index is sure to be above `level`."""
        return policy.index(mean, pulls, log_t, extra, optimism) > level + SAFE  # type: ignore[no-any-return]

    def share_of_top(self, policy: Any, optimism: float) -> float:
        """Which mixture of an arm's bounds at low and at high optimism bounds its index here."""
        highest, low = policy.highest(), min(policy.lowest(), 0.0)
        if highest <= 0.0:
            return 0.0
        return 1.0 if optimism == highest else (optimism - low) / (highest - low)


@dataclass(frozen=True)
class KLLeaser(IndexLeaser):
    """The budget of the divergence is linear in the optimism."""

    def log_time(
        self, policy: Any, memory: Any, mean: float, pulls: float, level: float, optimism: float
    ) -> float:
        """x log t + c log log t = N kl(m, level)."""
        return when(optimism, policy.c, pulls * bernoulli_kl(mean, level))

    def pace(self, policy: Any, pulls: float, log_t: float, extra: float) -> float:
        return log_t

    def is_below(
        self, policy: Any,
        mean: float, pulls: float, log_t: float, extra: float, optimism: float, level: float,
    ) -> bool:  # fmt: skip
        """An upper bound is below p if N kl(m, p) is above its budget: no need to solve for it."""
        level -= SAFE  # near 1, bounds of different budgets are the same number
        if optimism <= 0.0 or mean >= level:
            return False
        budget = policy.budget(pulls, log_t, extra, optimism)
        return pulls * bernoulli_kl(mean, level) > budget * (1.0 + SAFE)  # type: ignore[no-any-return]

    def asks_for_means(self, policy: Any) -> bool:
        return policy.is_graded()  # type: ignore[no-any-return]

    def exceeds(
        self, policy: Any,
        mean: float, pulls: float, log_t: float, extra: float, optimism: float, level: float,
    ) -> bool:  # fmt: skip
        return lower_bound_exceeds(mean, pulls, log_t, extra, optimism, level)

    def share_of_top(self, policy: Any, optimism: float) -> float:
        """Which of an arm's bounds, at low (0) or high (1) optimism, bounds its index here.

        Neither (-1) between 0 and the highest optimism.
        """
        if optimism <= 0.0:
            return 0.0
        return 1.0 if optimism == policy.highest() else -1.0


@dataclass(frozen=True)
class AheadLeaser(KLLeaser):
    """The budget grows with log t and falls with the arm's own pulls; no index is below the mean.

    An arm that loses to the leader at the highest optimism and in mean loses at all: see
    docs/leases.md.
    """

    def log_time(
        self, policy: Any, memory: Any, mean: float, pulls: float, level: float, optimism: float
    ) -> float:
        """nats(log t + extra - log N) = N kl(m, level), about: leases only guess by it."""
        log_ratio = log_ratio_of(pulls * bernoulli_kl(mean, level), pulls, policy.thrift)
        return when(1.0, policy.c, log_ratio + log(pulls) - policy.extra(memory, 0.0))

    def pace(self, policy: Any, pulls: float, log_t: float, extra: float) -> float:
        """nats(y) over its derivative, but for what few pulls change."""
        y = max(log_t + extra - log(pulls), 0.0)
        return float(y * (y + policy.thrift) / (y + 2.0 * policy.thrift))

    def at_least(
        self, policy: Any, mean: float, pulls: float, log_t: float, extra: float, optimism: float
    ) -> float:
        return kl_upper_at_least(mean, policy.budget(pulls, log_t, extra, optimism) / pulls)

    def is_exact(self) -> bool:
        return False

    def extra_at_least(
        self, policy: Any, memory: Any, log_t: float, extra: float, steps: float
    ) -> float:
        """With a known number of visits, as if one ended with every step."""
        if policy.visits == 0.0:
            return extra
        return float(policy.extra_after(memory, memory.left.sum() + steps, log_t))

    def asks_for_means(self, policy: Any) -> bool:
        return True

    def exceeds(
        self, policy: Any,
        mean: float, pulls: float, log_t: float, extra: float, optimism: float, level: float,
    ) -> bool:  # fmt: skip
        return mean > level + SAFE

    def stays_below(self, policy: Any, memory: Any, arm: int, level: float, log_end: float) -> bool:
        mean, pulls = policy.record(memory, arm)
        extra = policy.extra(memory, log_end)
        return self.is_below(policy, mean, pulls, log_end, extra, policy.highest(), level)

    def stakes(self, memory: Any) -> float:
        return float(memory.worth[0])

    def enough(self, least: float, pulls: float) -> float:
        return counted_mean(least, PRIOR, pulls)

    def goes_on(self, policy: Any, memory: Any, board: Any) -> bool:
        """Unless a step ahead is worth another amount now."""
        return self.stakes(memory) == board.notes[STAKES]  # type: ignore[no-any-return]


@dataclass(frozen=True)
class FixedLeaser(CountingLeaser):
    """The one arm, for ever."""

    def lease(self, policy: Any, memory: Any, board: Any) -> tuple[int, int, float]:
        return int(policy.arm), FOR_EVER, 0.0


@dataclass(frozen=True)
class ExactLeaser(Leaser):
    """Of the exact index: the arm whose posterior mean is above the indices of all others.

    Those stay as they are while it is played, and its own is at least its posterior mean, less
    `below`, after however many pulls: so the promise is for ever, as long as that mean is above.
    """

    def lease(self, policy: Any, memory: Any, board: Any) -> tuple[int, int, float]:
        if board[0] > 0.0:
            board[0] -= 1.0
            return NO_LEASE
        a, b = policy.prior
        leader, mean = 0, 0.0
        for arm in range(memory.pulls.size):
            own = (a + memory.successes[arm]) / (a + b + memory.pulls[arm])
            if own > mean:
                leader, mean = arm, own
        pulls, top = memory.pulls[leader], policy.top_beside(memory, leader) + policy.below
        least = counted_mean(top, policy.prior, max(pulls, 1.0)) + SAFE
        if policy.has_first_step() or pulls == 0.0 or memory.successes[leader] < least * pulls:
            board[0] = PAUSE
            return NO_LEASE
        return leader, FOR_EVER, least

    def absorb(
        self, policy: Any, memory: Any, board: Any, arm: int, pulls: int, successes: int
    ) -> None:
        count(memory, arm, pulls, successes)
        policy.rate(memory, arm)


@dataclass(frozen=True)
class Watching(Leaser):
    """Of a policy that learns from departures: the leases of its explorer, their steps watched."""

    inner: Leaser

    def board(self, policy: Any, arms: int) -> Any:
        return self.inner.board(policy, arms)

    def lease(self, policy: Any, memory: Any, board: Any) -> tuple[int, int, float]:
        return self.inner.lease(policy, memory, board)

    def absorb(
        self, policy: Any, memory: Any, board: Any, arm: int, pulls: int, successes: int
    ) -> None:
        policy.tell(memory, arm, pulls, successes)

    def watches(self) -> bool:
        return True

    def patience(self, policy: Any, memory: Any) -> float:
        return float(memory.agenda[0] - memory.clock[0])

    def goes_on(self, policy: Any, memory: Any, board: Any) -> bool:
        return self.inner.goes_on(policy, memory, board)

    def note(
        self, policy: Any, memory: Any,
        state: float, arm: int, reward: float, steps: float, departures: float, next_state: float,
    ) -> None:  # fmt: skip
        policy.watch_many(memory, state, arm, reward, steps, departures, next_state)

    def note_many(
        self, policy: Any, memory: Any, arm: int,
        steps: int, high: int, good: int, both: int,
        left: int, left_high: int, left_good: int, left_both: int,
    ) -> None:  # fmt: skip
        for s in range(2):
            n, gone = (high, left_high) if s else (steps - high, left - left_high)
            hits, lost = (both, left_both) if s else (good - both, left_good - left_both)
            for r in range(2):
                many, few = (hits, lost) if r else (n - hits, gone - lost)
                policy.watch_many(
                    memory, float(s), arm, float(r), float(many), float(few), float(r)
                )

    def decide(self, policy: Any, memory: Any, board: Any, state: float, rng: Stream) -> int:
        return self.inner.decide(policy, memory, board, state, rng)

    def learn(
        self, policy: Any, memory: Any, board: Any,
        state: float, arm: int, reward: float, left: bool, next_state: float,
    ) -> None:  # fmt: skip
        self.inner.learn(policy, memory, board, state, arm, reward, left, next_state)


@dataclass(frozen=True)
class Mixed(Leaser):
    """Of a mixture: no leases, but the board of the policy within."""

    inner: Leaser

    def board(self, policy: Any, arms: int) -> Any:
        return self.inner.board(policy.policy, arms)

    def decide(self, policy: Any, memory: Any, board: Any, state: float, rng: Stream) -> int:
        arm = policy.anything(memory, rng)
        if arm >= 0:
            return arm  # type: ignore[no-any-return]
        return self.inner.decide(policy.policy, memory, board, state, rng)

    def learn(
        self, policy: Any, memory: Any, board: Any,
        state: float, arm: int, reward: float, left: bool, next_state: float,
    ) -> None:  # fmt: skip
        self.inner.learn(policy.policy, memory, board, state, arm, reward, left, next_state)


def leaser_for(policy: Policy) -> Leaser:
    """The leases that are known for this type of policy; else none."""
    return entry_for(_leaser, policy)(policy)  # type: ignore[no-any-return]


@singledispatch
def _leaser(policy: Any) -> Leaser:
    return Leaser()


@_leaser.register
def _(policy: Hoeffding) -> Leaser:
    return HoeffdingLeaser()


@_leaser.register
def _(policy: KL) -> Leaser:
    return KLLeaser()


@_leaser.register
def _(policy: ImedExplorer) -> Leaser:
    return ImedLeaser()


@_leaser.register
def _(policy: ThompsonExplorer) -> Leaser:
    return Leaser()  # every choice is random


@_leaser.register
def _(policy: KLUCBSwitch) -> Leaser:
    return Leaser()  # its index is none of KL's


@_leaser.register
def _(policy: AheadExplorer) -> Leaser:
    return AheadLeaser()


@_leaser.register(Learned)
def _(policy: Any) -> Leaser:
    if policy.follow_improper:
        return Leaser()  # in some state the arm of least mean may be the one to play
    bases = type(policy).__mro__
    explorer = next(c for c in bases if issubclass(c, Policy) and not issubclass(c, Learned))
    return Watching(_leaser.dispatch(explorer)(policy))


@_leaser.register
def _(policy: VisitIMED) -> Leaser:
    return Watching(VisitLeaser())


@_leaser.register
def _(policy: EpsilonMixture) -> Leaser:
    return Mixed(leaser_for(policy.policy))


@_leaser.register
def _(policy: ExactIndex) -> Leaser:
    return ExactLeaser()


@_leaser.register
def _(policy: FixedArm) -> Leaser:
    return FixedLeaser()
