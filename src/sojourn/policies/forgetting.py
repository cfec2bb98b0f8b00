"""Policies for tastes that change: what was seen long ago counts less, or not at all.

Both wrap any policy that remembers sums of what it saw, which is every index policy and every
learned one. Forgetting has its price where nothing changes: of an arm that is played rarely little
is ever known, and it is tried again and again. docs/drift.md has the figures.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import validation
from ..engine.unmanaged import merged
from .base import Array
from .index import KLULCB
from .reasons import Seen, explainer
from .wrapper import Wrapper, check_forgets

__all__ = ["Discounted", "Windowed"]
"""The policies of this module, in the order in which they are listed."""

LONGEST = 100_000
"""Steps in a window at most: all of them are disk_cache."""


@dataclass(frozen=True)
class Discounted(Wrapper):
    """`policy`, for which a step counts half as much after `half_life` more steps.

    All sums that it remembers are multiplied by 2^(-1 / half_life) before each step is counted, as
    in discounted UCB (Kocsis and Szepesvári 2006; Garivier and Moulines, ALT 2011): pulls and
    successes, the clock, and what is known of departures. The clock then stands at 1.44 half-lives
    in the long run. When a learned policy concludes next is measured on that clock, and shrinks
    with it: so it goes on to conclude, as often as a tenth of what it remembers is new.

    >>> policy = Discounted(half_life=1_000)
    >>> memory = policy.memory(arms=2)
    >>> for _ in range(1_001):
    ...     policy.update(memory, 1.0, 0, 1.0, False, 1.0)
    >>> print(f"{memory.pulls[0]:.1f}")  # the first of them counts half
    722.1
    """

    title: ClassVar[str] = "Discounted"

    policy: Any = field(default_factory=KLULCB)
    half_life: float = 10_000.0

    def __post_init__(self) -> None:
        super().__post_init__()
        half_life = validation.number("half_life", self.half_life, 1, validation.LARGE)
        object.__setattr__(self, "half_life", half_life)
        check_forgets(self.policy)

    def update(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        """Let the past weigh less, then learn from the step."""
        self.policy.fade(memory, 0.5 ** (1.0 / self.half_life))
        self.policy.update(memory, state, arm, reward, left, next_state)

    def _words(self, choice: Seen) -> tuple[str, str]:
        act, figure = explainer(self.policy)._words(choice)
        return act, f"{figure}; steps count half after {self.half_life:,g} more"


class Window(NamedTuple):
    """The steps that a windowed policy has not forgotten, the oldest overwritten next."""

    window: Array  # by [step, what `update` is told]
    place: Array  # where the next step goes, and how many there are


@dataclass(frozen=True)
class Windowed(Wrapper):
    """`policy`, which knows only the last `window` steps, at most 100,000.

    What is older is taken back from all sums that it remembers, as in sliding-window UCB (Garivier
    and Moulines, ALT 2011). So an arm that was not played for so long is as one never played, and
    is played again. The clock by which a learned policy concludes stands still when the window is
    full; the time of its next conclusion goes back with every step that is forgotten.

    >>> policy = Windowed(window=100)
    >>> memory = policy.memory(arms=2)
    >>> for step in range(1_000):
    ...     policy.update(memory, 1.0, step // 990, 1.0, False, 1.0)
    >>> memory.pulls.tolist()
    [90.0, 10.0]
    """

    title: ClassVar[str] = "Windowed"

    policy: Any = field(default_factory=KLULCB)
    window: int = 10_000

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "window", validation.whole("window", self.window, 1, LONGEST))
        check_forgets(self.policy)

    def memory(self, arms: int) -> Any:
        """What `policy` remembers, and the steps it was told of."""
        kept = Window(np.zeros((int(self.window), 5)), np.zeros(2))
        return merged(self.policy.memory(arms), kept)

    def update(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        """Take back the oldest step if the window is full, then learn from the new one."""
        at = int(memory.place[0])
        row = memory.window[at]
        if memory.place[1] == memory.window.shape[0]:
            self.policy.take_back(memory, row[0], int(row[1]), row[2], row[3] > 0.0, row[4])
        else:
            memory.place[1] += 1.0
        row[0], row[1], row[2], row[4] = state, arm, reward, next_state
        row[3] = 1.0 if left else 0.0
        memory.place[0] = (at + 1) % memory.window.shape[0]
        self.policy.update(memory, state, arm, reward, left, next_state)

    def _words(self, choice: Seen) -> tuple[str, str]:
        act, figure = explainer(self.policy)._words(choice)
        return act, f"{figure}; of the last {self.window:,g} steps"
