"""Wrappers of policies: a mixture with known propensities, and two that forget.

An index policy is deterministic, so its log says nothing about other policies. Mixed with a small
share of random arms, it does: a log with the chance of each choice (its *propensity*) says what
another policy would achieve, see `sojourn.logs.evaluate`.

For tastes that change, what was seen long ago counts less, or not at all. That works for any policy
that remembers sums of what it saw, which is every index policy and every learned one. Forgetting
has a price where nothing changes: little is ever known of a rarely played arm, so it is tried again
and again. docs/drift.md has the figures.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import validation
from ..engine.streams import Stream, draw_uniform
from ..engine.unmanaged import merged
from ..validation import InputError
from .base import Array, Forgetting, Policy, arms_in
from .explorer import Explorer
from .index import KLULCB
from .reasons import Explains, Seen, explainer

__all__ = ["EpsilonMixture", "Discounted", "Windowed"]


@dataclass(frozen=True)
class Wrapper(Explains, Policy):
    """Chooses and learns like `policy`, with its memory; subclasses change a part of that."""

    policy: Policy = field(default_factory=KLULCB)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.policy, Policy):
            raise InputError(f"policy = {self.policy!r} is not allowed: it must be a policy")

    def memory(self, arms: int) -> Any:
        return self.policy.memory(arms)

    def choose(self, memory: Any, state: float, rng: Stream) -> int:
        return self.policy.choose(memory, state, rng)

    def probabilities(self, memory: Any, state: float) -> Array:
        return self.policy.probabilities(memory, state)

    def greedy_values(self, memory: Any, state: float) -> Array:
        return self.policy.greedy_values(memory, state)

    def update(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        self.policy.update(memory, state, arm, reward, left, next_state)

    @property
    def learns_from(self) -> str:  # type: ignore[override]
        return self.policy.learns_from

    def optimism_in(self, memory: Any, state: float) -> float | None:
        return explainer(self.policy).optimism_in(memory, state)

    def _mood(self, choice: Seen) -> str:
        return explainer(self.policy)._mood(choice)

    def _words(self, choice: Seen) -> tuple[str, str]:
        return explainer(self.policy)._words(choice)

    def check_arms(self, arms: int) -> None:
        self.policy.check_arms(arms)


def plays_each_once(policy: Policy) -> bool:
    """Whether a policy, or the one it wraps, plays each arm once first.

    Then an arm that was shown but has no result yet has to wait.
    """
    if isinstance(policy, Wrapper):
        return plays_each_once(policy.policy)
    return isinstance(policy, Explorer) and not policy.knows(policy.memory(1), 0)


@dataclass(frozen=True)
class EpsilonMixture(Wrapper):
    """Plays the choice of `policy` with chance 1 - `epsilon`, otherwise a random arm.

    Its `probabilities` are exact: epsilon / arms, and 1 - epsilon times those of `policy`.

    >>> mixed = EpsilonMixture(KLULCB(), epsilon=0.2)
    >>> memory = mixed.memory(2)  # nothing known yet: KL-ULCB begins with arm 0
    >>> mixed.probabilities(memory, 1.0).tolist()
    [0.9, 0.1]
    """

    title: ClassVar[str] = "Epsilon mixture"

    policy: Any = field(default_factory=KLULCB)
    epsilon: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "epsilon", validation.number("epsilon", self.epsilon, 0, 1))

    def anything(self, memory: Any, rng: Stream) -> int:
        """A uniformly random arm with probability epsilon, otherwise -1."""
        if draw_uniform(rng) < self.epsilon:
            return int(draw_uniform(rng) * arms_in(memory))
        return -1

    def choose(self, memory: Any, state: float, rng: Stream) -> int:
        arm = self.anything(memory, rng)
        return arm if arm >= 0 else self.policy.choose(memory, state, rng)

    def probabilities(self, memory: Any, state: float) -> Array:
        """epsilon / arms, plus 1 - epsilon times those of `policy`; empty if these are unknown."""
        inner = self.policy.probabilities(memory, state)
        return self.epsilon / max(inner.size, 1) + (1.0 - self.epsilon) * inner  # type: ignore[no-any-return]

    def _words(self, choice: Seen) -> tuple[str, str]:
        act, figure = explainer(self.policy)._words(choice)
        return act, f"{figure}; or by chance, {self.epsilon:.0%} of the time"


def base_policy(policy: Policy) -> Any:
    """The policy that learns: the inner one of an `EpsilonMixture`, otherwise itself."""
    return base_policy(policy.policy) if isinstance(policy, EpsilonMixture) else policy


@dataclass(frozen=True)
class Forgetful(Wrapper):
    """A wrapper that removes observations from what `policy`, or the one within it, remembers."""

    learner: Any = field(init=False, repr=False, compare=False)
    """The policy that learns (`base_policy`)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "learner", base_policy(self.policy))
        if not isinstance(self.learner, Forgetting):
            raise InputError(
                f"policy = {self.policy.label!r} is not allowed: what it remembers is no sum of "
                "what it saw, so that it cannot forget a part of that (one that keeps `Counts` "
                "inherits `Counting`)"
            )


LONGEST = 100_000
"""Steps in a window at most: all of them are kept."""


@dataclass(frozen=True)
class Discounted(Forgetful):
    """Wraps `policy`: a step counts half as much after `half_life` more steps.

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

    def update(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        self.learner.fade(memory, 0.5 ** (1.0 / self.half_life))
        self.policy.update(memory, state, arm, reward, left, next_state)

    def _words(self, choice: Seen) -> tuple[str, str]:
        act, figure = explainer(self.policy)._words(choice)
        return act, f"{figure}; steps count half after {self.half_life:,g} more"


class Window(NamedTuple):
    """The steps that a windowed policy has not forgotten, the oldest overwritten next."""

    window: Array  # by [step, what `update` is told]
    place: Array  # where the next step goes, and how many there are


@dataclass(frozen=True)
class Windowed(Forgetful):
    """Wraps `policy`: it knows only the last `window` steps, at most 100,000.

    What is older is taken back from all sums that it remembers, as in sliding-window UCB (Garivier
    and Moulines, ALT 2011). So an arm that was not played for that long counts as never played, and
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

    def memory(self, arms: int) -> Any:
        kept = Window(np.zeros((int(self.window), 5)), np.zeros(2))
        return merged(self.policy.memory(arms), kept)

    def update(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        at = int(memory.place[0])
        row = memory.window[at]
        if memory.place[1] == memory.window.shape[0]:
            self.learner.take_back(memory, row[0], int(row[1]), row[2], row[3] > 0.0, row[4])
        else:
            memory.place[1] += 1.0
        row[0], row[1], row[2], row[4] = state, arm, reward, next_state
        row[3] = 1.0 if left else 0.0
        memory.place[0] = (at + 1) % memory.window.shape[0]
        self.policy.update(memory, state, arm, reward, left, next_state)

    def _words(self, choice: Seen) -> tuple[str, str]:
        act, figure = explainer(self.policy)._words(choice)
        return act, f"{figure}; of the last {self.window:,g} steps"
