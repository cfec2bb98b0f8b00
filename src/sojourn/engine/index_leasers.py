"""The leases of index policies: how an index of each kind moves in time, and what bounds it."""

from dataclasses import dataclass
from math import log
from typing import Any

from ..policies.priced import PRIOR, log_ratio_of
from .board import SAFE, STAKES, decide, make_board, note_pull, when
from .divergence import bernoulli_kl, kl_upper_at_least
from .imed import lower_bound_exceeds
from .lease import lease, reaches
from .leaser import CountingLeaser
from .loops import jitable
from .streams import Stream


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
