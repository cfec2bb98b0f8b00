"""Leases: choices that are sure for a while, looked up by the type of the policy.

A `Leaser` promises an arm for some steps, in every state, or none. It also decides and learns
with a board of its own, in place of `choose` and `update`, where that is faster. It never changes
a decision: docs/leases.md has the proofs. A policy without an entry here runs as it is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..policies.base import Array, Counts, Policy, count
from ..policies.engagement import EngagementIndex
from ..policies.gated import ImedExplorer, ThompsonExplorer
from ..policies.index import KL, Hoeffding
from ..policies.learned import Learned
from ..policies.oracles import ExactIndex
from ..policies.plain import FixedArm
from ..policies.priced import AheadExplorer
from ..policies.published import KLUCBSwitch
from ..policies.visit import VisitIMED
from ..policies.wrapper import EpsilonMixture
from .board import SAFE
from .engagement_leases import EngagementLeaser
from .imed import ImedLeaser, VisitLeaser
from .index_leases import AheadLeaser, HoeffdingLeaser, KLLeaser, counted_mean
from .kernel import AnyLeaser, CountingLeaser, Lease, Leaser
from .streams import Stream
from .structs import entry_for

FOR_EVER = 1 << 62
NOT_FOR_LONG = (0, -8, 0.0)
"""No lease, where a look for one takes all arms."""


@dataclass(frozen=True)
class FixedLeaser(CountingLeaser[FixedArm, Array]):
    """The one arm, for ever."""

    def lease(self, policy: FixedArm, memory: Counts, board: Array) -> Lease:
        return int(policy.arm), FOR_EVER, 0.0


@dataclass(frozen=True)
class ExactLeaser(Leaser[ExactIndex, Any, Array]):
    """Of the exact index: the arm whose posterior mean is above the indices of all others.

    Those stay as they are while it is played, and its own is at least its posterior mean, less
    `below`, after however many pulls: so the promise is for ever, as long as that mean is above.
    """

    def lease(self, policy: ExactIndex, memory: Any, board: Array) -> Lease:
        a, b = policy.prior
        leader, mean = 0, 0.0
        for arm in range(memory.pulls.size):
            own = (a + memory.successes[arm]) / (a + b + memory.pulls[arm])
            if own > mean:
                leader, mean = arm, own
        pulls, top = memory.pulls[leader], policy.top_beside(memory, leader) + policy.below
        least = counted_mean(top, policy.prior, max(pulls, 1.0)) + SAFE
        if policy.has_first_step() or pulls == 0.0 or memory.successes[leader] < least * pulls:
            return NOT_FOR_LONG
        return leader, FOR_EVER, least

    def absorb(
        self, policy: ExactIndex, memory: Any, board: Array, arm: int, pulls: int, successes: int
    ) -> None:
        count(memory, arm, pulls, successes)
        policy.rate(memory, arm)


@dataclass(frozen=True)
class Watching(AnyLeaser):
    """Of a policy that learns from departures: the leases of its explorer, their steps watched."""

    inner: AnyLeaser

    def board(self, policy: Any, arms: int) -> Any:
        return self.inner.board(policy, arms)

    def lease(self, policy: Any, memory: Any, board: Any) -> Lease:
        return self.inner.lease(policy, memory, board)

    def absorb(
        self, policy: Any, memory: Any, board: Any, arm: int, pulls: int, successes: int
    ) -> None:
        policy.tell(memory, arm, pulls, successes)

    def watches(self) -> bool:
        return True

    def patience(self, policy: Any, memory: Any) -> float:
        return float(memory.next_refit[0] - memory.clock[0])

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
class Mixed(Leaser[EpsilonMixture, Any, Any]):
    """Of a mixture: no leases, but the board of the policy within."""

    inner: AnyLeaser

    def board(self, policy: EpsilonMixture, arms: int) -> Any:
        return self.inner.board(policy.policy, arms)

    def decide(
        self, policy: EpsilonMixture, memory: Any, board: Any, state: float, rng: Stream
    ) -> int:
        arm = policy.anything(memory, rng)
        if arm >= 0:
            return arm
        return self.inner.decide(policy.policy, memory, board, state, rng)

    def learn(
        self, policy: EpsilonMixture, memory: Any, board: Any,
        state: float, arm: int, reward: float, left: bool, next_state: float,
    ) -> None:  # fmt: skip
        self.inner.learn(policy.policy, memory, board, state, arm, reward, left, next_state)


def leaser_for(policy: Policy) -> AnyLeaser:
    """The leases that are known for this type of policy; else none."""
    make = entry_for(LEASERS, policy)
    return Leaser() if make is None else make(policy)


def learned(policy: Any) -> AnyLeaser:
    """Those of the explorer, watched."""
    if policy.follow_improper:
        return Leaser()  # in some state the arm of least mean may be the one to play
    known = (LEASERS[cls] for cls in type(policy).__mro__ if cls in LEASERS and cls is not Learned)
    make = next(known, None)
    return Watching(Leaser() if make is None else make(policy))


LEASERS: dict[type, Callable[[Any], AnyLeaser]] = {
    Hoeffding: lambda _: HoeffdingLeaser(),
    KL: lambda _: KLLeaser(),
    ImedExplorer: lambda _: ImedLeaser(),
    ThompsonExplorer: lambda _: Leaser(),  # every choice is random
    KLUCBSwitch: lambda _: Leaser(),  # its index is none of KL's
    AheadExplorer: lambda _: AheadLeaser(),
    Learned: learned,
    VisitIMED: lambda _: Watching(VisitLeaser()),
    EngagementIndex: lambda policy: (
        Leaser() if policy.follow_improper else Watching(EngagementLeaser())
    ),
    EpsilonMixture: lambda policy: Mixed(leaser_for(policy.policy)),
    ExactIndex: lambda _: ExactLeaser(),
    FixedArm: lambda _: FixedLeaser(),
}
"""By class; heirs of a class have its leases, unless they override its methods elsewhere."""
