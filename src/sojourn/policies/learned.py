"""Optimism that learns from departures where mistakes are cheap.

The policy counts, for each bin of the state and each level of the reward (1 if it is good, at least
`threshold`, else 0), how often the user left and where the state went. From time to time it solves
the estimated model for the cost of a mistake in each bin, and is then optimistic where mistakes are
cheap and cautious where they are costly: +1 at the least cost, -1 at the greatest, in proportion
between, but never below a `floor`. For two states and a floor of -1 that is ULCB or its opposite. A
floor of 0, empirical means in place of lower bounds, is safer where the states for exploring are
rare: there a lower bound plays a wrong but well-known arm for very long (docs/beyond.md).

Until a difference shows it is optimistic everywhere. A bin's cost counts as different from that of
the commonest bin when the two differ by more than `confidence` standard errors, those that hold
if departures depend on the level alone (a score test: it needs no departures from every bin).
The default of 1.5 is low for a test because a conclusion is not final: it is drawn anew whenever
steps have grown by a tenth, and deciding late costs more than deciding wrongly for a while
(docs/beyond.md has the figures).
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import validation
from ..engine.steps import level_of
from .base import MOST_BINS, Array, Forgetting, by_means, count, fade_counts, forget_counts, uncount
from .departures import FIRST_LOOK, GOOD, reconsider, unseen
from .gated import ImedExplorer, ThompsonExplorer
from .index import KL, Hoeffding
from .optimism import LEAST
from .reasons import Seen, engaged

__all__ = ["LearnedUCB", "LearnedKLUCB", "LearnedIMED", "LearnedThompson"]


class Watcher(Forgetting):
    """Mixin of policies that count departures by bin of the state and level of the reward.

    Whenever the number of steps has grown by a share `growth`, they `think`: they draw conclusions
    from what they have counted. Rewards are good from a `threshold` on.
    """

    most_bins: ClassVar[int] = MOST_BINS

    if TYPE_CHECKING:
        confidence: float
        bins: int
        growth: float
        threshold: float
        follow_improper: bool

        def think(self, memory: Any) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("confidence", "growth"):
            number = validation.number(name, getattr(self, name), 0, validation.LARGE)
            object.__setattr__(self, name, number)
        object.__setattr__(self, "bins", validation.whole("bins", self.bins, 2, self.most_bins))
        object.__setattr__(self, "threshold", validation.share("threshold", self.threshold))
        validation.flag("follow_improper", self.follow_improper)

    def memory(self, arms: int) -> Any:
        return unseen(arms, int(self.bins))

    def bin_of(self, state: float) -> int:
        """The bin of a state."""
        return level_of(state, int(self.bins))

    def optimism_now(self, memory: Any, state: float) -> float:
        """The optimism of the state's bin."""
        return float(memory.optimism[self.bin_of(state)])

    def watch_many(
        self, memory: Any, state: float, arm: int, reward: float,
        steps: float, departures: float, next_state: float,
    ) -> None:  # fmt: skip
        """Count steps that were alike, some of which ended with a departure."""
        b, level = self.bin_of(state), 1 if reward >= self.threshold else 0
        memory.moves[b, level, self.bin_of(next_state)] += steps
        memory.seen[arm, b, level] += steps
        memory.left[arm, b, level] += departures
        self.keep(memory, state, arm, reward, steps)

    def is_due(self, memory: Any) -> bool:
        """Whether to think now."""
        return memory.clock[0] >= memory.next_refit[0]  # type: ignore[no-any-return]

    def tell(self, memory: Any, arm: int, pulls: int, successes: float) -> None:
        """Count pulls, and think again if it is time to."""
        count(memory, arm, pulls, successes)
        if self.is_due(memory):
            self.think(memory)
            later = np.ceil((1.0 + self.growth) * memory.clock[0])
            memory.next_refit[0] = max(later, memory.clock[0] + 1.0)

    def update(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        self.watch_many(memory, state, arm, reward, 1.0, 1.0 if left else 0.0, next_state)
        self.tell(memory, arm, 1, reward)

    def take_back(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        self.watch_many(memory, state, arm, reward, -1.0, -1.0 if left else 0.0, next_state)
        uncount(memory, arm, reward)
        self.turn_back(memory, arm)

    def turn_back(self, memory: Any, arm: int) -> None:
        """Bring the next refit forward by the step that was taken back."""
        memory.next_refit[0] -= 1.0

    def fade(self, memory: Any, factor: float) -> None:
        """Multiply all counts by a factor, and with the clock the time of the next refit."""
        fade_counts(memory, factor)
        memory.moves[:] *= factor
        memory.seen[:] *= factor
        memory.left[:] *= factor
        memory.next_refit[0] *= factor
        self.fade_kept(memory, factor)

    def forget_arm(self, memory: Any, arm: int) -> None:
        """Make the arm a new one: its departures go to those of arms no longer in use."""
        forget_counts(memory, arm)
        last = memory.seen.shape[0] - 1
        for b in range(memory.optimism.size):
            for r in range(2):
                memory.seen[last, b, r] += memory.seen[arm, b, r]
                memory.left[last, b, r] += memory.left[arm, b, r]
                memory.seen[arm, b, r] = memory.left[arm, b, r] = 0.0
        memory.next_refit[0] = min(memory.next_refit[0], memory.clock[0] + 1.0)
        self.forget_kept(memory, arm)

    def departure_cells(self) -> int:
        """The number of cells, by bin and level."""
        return 2 * int(self.bins)

    def departure_cell(self, state: float, reward: float) -> int:
        return 2 * self.bin_of(state) + (1 if reward >= self.threshold else 0)

    def forget_departures(self, memory: Any) -> None:
        memory.moves[:] = 0.0
        memory.seen[:] = 0.0
        memory.left[:] = 0.0

    def refit_soon(self, memory: Any, since: float) -> None:
        """Refit when what was seen `since` has grown by a share, or is enough for a look."""
        soon = memory.clock[0] + max(FIRST_LOOK, self.growth * since)
        memory.next_refit[0] = min(memory.next_refit[0], soon)


@dataclass(frozen=True)
class Learned(Watcher):
    """Optimism by the estimated cost of a mistake in each of `bins` equal parts of [0, 1].

    It is never below `floor`, and estimated anew whenever the number of steps has grown by a
    share `growth`. Departures are split by whether the reward before was good: at least
    `threshold`, which is greater than 0 and at most 1.

    With `follow_improper` the arm of least mean is played in bins where mistakes seem to cost less
    than 0: there a success shortens the visit by more than it is worth. That shows people what they
    like least, so it is not the default.
    """

    learns_from: ClassVar[str] = "departures"

    confidence: float = 1.5
    floor: float = -1.0
    bins: int = 4
    growth: float = 0.1
    threshold: float = GOOD
    follow_improper: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "floor", validation.number("floor", self.floor, -1, 1))

    def optimism_now(self, memory: Any, state: float) -> float:
        """The optimism of the state's bin, at least the floor, or `LEAST`."""
        optimism = float(memory.optimism[self.bin_of(state)])
        return optimism if optimism == LEAST else max(optimism, self.floor)

    def highest(self) -> float:
        return 1.0

    def lowest(self) -> float:
        return self.floor

    def is_graded(self) -> bool:
        return self.bins > 2.0

    def think(self, memory: Any) -> None:
        reconsider(memory, self.confidence, self.follow_improper)

    def greedy_values(self, memory: Any, state: float) -> Array:
        """The empirical mean; its negative where the least liked is the one to play."""
        sign = -1.0 if self.optimism_now(memory, state) == LEAST else 1.0
        return by_means(memory, lambda mean: sign * mean)

    @property
    def _case(self) -> str | None:
        return None

    def _mood(self, choice: Seen) -> str:
        how = engaged(choice.state)
        if choice.optimism == LEAST:
            return f"{how}, and a success ends the visit"
        if choice.optimism is not None and choice.optimism <= 0.0:
            return f"{how}, mistakes are costly"
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
    """KL-UCB with learned optimism: KL-ULCB or its opposite, whichever the data show.

    >>> LearnedKLUCB(bins=2).confidence
    1.5
    """

    title: ClassVar[str] = "Learned KL-UCB"


@dataclass(frozen=True)
class LearnedIMED(Learned, ImedExplorer):
    """IMED where learned optimism is positive, the greatest empirical mean elsewhere.

    Start with this policy when nothing is known of the users (docs/beyond.md). With ``floor=-1``
    it plays the KL lower bound in the state where mistakes are costliest.

    >>> from sojourn import Problem, TwoState, simulate
    >>> problem = Problem([0.6, 0.5], TwoState(0.5, 0.4, 0.45, 0.02))  # the opposite case
    >>> result = simulate(problem, [LearnedIMED()], visits=50, runs=2)
    >>> result.policies[0].label
    'Learned IMED'
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
