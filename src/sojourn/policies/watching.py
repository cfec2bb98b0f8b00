"""How policies count departures, and how they forget what they counted."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..engine.loops import jitable
from ..engine.steps import level_of
from .base import Forgetting, fade_counts, forget_counts, uncount
from .watched import FIRST_LOOK, count_steps


@jitable
def fade_watched(memory: Any, factor: float) -> None:
    """All that was counted times a factor; the agenda too, for the clock it is set by shrinks."""
    fade_counts(memory, factor)
    bins = memory.stance.size
    for b in range(bins):
        for r in range(2):
            for after in range(bins):
                memory.moves[b, r, after] *= factor
            for arm in range(memory.seen.shape[0]):
                memory.seen[arm, b, r] *= factor
                memory.left[arm, b, r] *= factor
    memory.agenda[0] *= factor


@jitable
def forget_watched(memory: Any, arm: int) -> None:
    """As if an arm had just come: its departures count for all, as those of arms not in use do."""
    forget_counts(memory, arm)
    last = memory.seen.shape[0] - 1
    for b in range(memory.stance.size):
        for r in range(2):
            memory.seen[last, b, r] += memory.seen[arm, b, r]
            memory.left[last, b, r] += memory.left[arm, b, r]
            memory.seen[arm, b, r] = memory.left[arm, b, r] = 0.0
    memory.agenda[0] = min(memory.agenda[0], memory.clock[0] + 1.0)


@jitable
def forget_leaving(memory: Any) -> None:
    """As if nobody had been seen to stay or leave."""
    memory.moves[:] = 0.0
    memory.seen[:] = 0.0
    memory.left[:] = 0.0


@jitable
def unwatch(
    policy: Any, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
) -> None:
    """Take back one step; the agenda goes back with the clock it is set by."""
    departures = -1.0 if left else 0.0
    policy.watch_many(memory, state, arm, reward, -1.0, departures, next_state)
    uncount(memory, arm, reward)
    memory.agenda[0] -= 1.0


@jitable
def look_soon(memory: Any, since: float, growth: float) -> None:
    """Estimate next when what was seen `since` has grown by a share, or is enough for a look."""
    soon = memory.clock[0] + max(FIRST_LOOK, growth * since)
    memory.agenda[0] = min(memory.agenda[0], soon)


@dataclass(frozen=True)
class Watcher(Forgetting):
    """Of policies that count departures by bin and level: how they do it, and how they forget."""

    if TYPE_CHECKING:
        bins: int
        growth: float
        threshold: float

        def tell(self, memory: Any, arm: int, pulls: int, successes: float) -> None: ...

    def watch(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        """Count the step."""
        departures = 1.0 if left else 0.0
        self.watch_many(memory, state, arm, reward, 1.0, departures, next_state)

    def watch_many(
        self, memory: Any, state: float, arm: int, reward: float,
        steps: float, departures: float, next_state: float,
    ) -> None:  # fmt: skip
        """Count steps that were alike, some of which ended with a departure."""
        level = 1 if reward >= self.threshold else 0
        count_steps(memory, state, arm, level, steps, departures, next_state)

    def update(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        """Learn from one step."""
        self.watch(memory, state, arm, reward, left, next_state)
        self.tell(memory, arm, 1, reward)

    def fade(self, memory: Any, factor: float) -> None:
        """Let all that was counted weigh less."""
        fade_watched(memory, factor)

    def take_back(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        """Forget one step."""
        unwatch(self, memory, state, arm, reward, left, next_state)

    def forget_arm(self, memory: Any, arm: int) -> None:
        """Forget what was learned of an arm."""
        forget_watched(memory, arm)

    def departure_cells(self) -> int:
        """By bin and level."""
        return 2 * int(self.bins)

    def departure_cell(self, state: float, reward: float) -> int:
        """The cell of a step."""
        good = 1 if reward >= self.threshold else 0
        return 2 * level_of(state, int(self.bins)) + good

    def forget_departures(self, memory: Any) -> None:
        """Forget who left when."""
        forget_leaving(memory)

    def refit_soon(self, memory: Any, since: float) -> None:
        """Draw the next conclusion as soon as if it had begun `since` steps ago."""
        look_soon(memory, since, self.growth)
