"""Policies for the whole visit: what an arm is worth includes its effect on leaving.

Nothing is assumed of who leaves when: chances to leave may depend on the arm, the bin of the state
and the level of the reward in any way. Two accounts of what was seen compete: in the first, leaving
depends on bin and level alone, so that arms differ in their means only; in the second, arms also
differ in who leaves (the model of `stats.departures`). The data decide the odds of each, from a
prior of `faith` nats for the first. An arm is worth playing in a bin if under either account little
speaks against its being the best for the whole visit: the least evidence, in nats, plus what speaks
against the account. So a wrong account costs a bounded number of nats, which the log of the pulls
overcomes (IMED: Honda and Takemura 2015; for decision processes Pesquerel and Maillard 2022).

As with learned optimism, means are explored where mistakes are cheap. Where they are costly only
what cannot be learned elsewhere is explored, the interactions of that bin. With `follow_improper`
an arm of least mean may be best (D < 0): which end of the means it is in a bin is estimated too.

Estimates of departures and values of bins hold for a while (`growth`); means and pulls are those of
the moment.
"""

from dataclasses import dataclass, field
from math import exp, inf, log, pi, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import validation
from ..engine.steps import level_of
from ..engine.streams import Stream, beta, draw_uniform, inner_uniform
from .accounts import (
    ALIKE,
    DIFFERENT,
    MARGIN,
    SLOPE,
    START,
    VARIANCE,
    Visited,
    against,
    is_due,
    think,
)
from .base import Array, PlaysEachOnce, Policy, by_means, count, equally
from .departures import GOOD, Watcher, fade_watched, unwatch
from .reasons import Explains, Seen, engaged, mean_of_pulls

__all__ = ["VisitIMED", "VisitThompson"]
"""The policies of this module, in the order in which they are listed."""

MOST_BINS = 100
"""Bins of the state: thinking takes the cube of twice their number."""

PULLS = 3.0
"""Pulls of an arm, beside a share, after which its departures are looked at again."""


@dataclass(frozen=True)
class Visit(Watcher, Explains, PlaysEachOnce, Policy):
    """What the two have in common.

    `faith` is what speaks, before anything was seen, for arms that differ in their means only: nats
    from 0 to 100. `confidence` is that of learned optimism, in standard errors from 0 to 1e9; so
    are `bins` of the state (from 2 to 100) and the `threshold` of a good reward. Estimates are made
    anew whenever the number of steps has grown by a share `growth`, from 0 to 1e9.

    With `follow_improper` people are shown what they like less where they stay longer after a bad
    reward, by more than a good one is worth. Without it that does not count, while an arm that
    raises the exit rate, whatever its reward, counts either way.
    """

    learns_from: ClassVar[str] = "departures"

    if TYPE_CHECKING:

        def choose_in_bin(self, memory: Any, b: int, rng: Stream) -> int: ...

    faith: float = 4.5
    confidence: float = 1.5
    bins: int = 4
    growth: float = 0.05
    threshold: float = GOOD
    follow_improper: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.flag("follow_improper", self.follow_improper)
        object.__setattr__(self, "faith", validation.number("faith", self.faith, 0, 100))
        for name in ("confidence", "growth"):
            number = validation.number(name, getattr(self, name), 0, validation.LARGE)
            object.__setattr__(self, name, number)
        object.__setattr__(self, "bins", validation.whole("bins", self.bins, 2, MOST_BINS))
        object.__setattr__(self, "threshold", validation.share("threshold", self.threshold))

    def memory(self, arms: int) -> Visited:
        """Nothing seen."""
        bins, rows = int(self.bins), arms + 1
        return Visited(
            np.zeros(arms),
            np.zeros(arms),
            np.zeros(1),
            np.zeros((bins, 2, bins)),
            np.zeros((rows, bins, 2)),
            np.zeros((rows, bins, 2)),
            np.ones(bins),
            np.full(1, max(float(arms), 1.0)),
            np.full(arms, inf),
            np.zeros((bins, 2)),
            np.zeros(rows),
            np.zeros((rows, bins, 2)),
            np.zeros(3),
            np.zeros(bins),
            np.ones(bins),
            np.zeros(bins),
            np.zeros((rows, bins, 5)),
        )

    def tell(self, memory: Visited, arm: int, pulls: int, successes: float) -> None:
        """Count pulls, and think again if it is time to."""
        count(memory, arm, pulls, successes)
        if is_due(memory):
            think(memory, self.confidence, self.faith, self.follow_improper)
            later = np.ceil((1.0 + self.growth) * memory.clock[0])
            memory.next_refit[0] = max(later, memory.clock[0] + 1.0)
            for other in range(memory.pulls.size):
                memory.due[other] = (1.0 + self.growth) * memory.pulls[other] + PULLS

    def fade(self, memory: Any, factor: float) -> None:
        """Let all that was counted weigh less."""
        fade_watched(memory, factor)
        for arm in range(memory.due.size):
            memory.due[arm] *= factor  # inf before the first look: it stays

    def take_back(
        self, memory: Any, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        """Forget one step."""
        unwatch(self, memory, state, arm, reward, left, next_state)
        memory.due[arm] -= 1.0

    def explores_in(self, memory: Any, state: float) -> bool:
        """Where mistakes are cheap."""
        return memory.optimism[level_of(state, int(self.bins))] > 0.0  # type: ignore[no-any-return]

    def first_timer(self, memory: Visited) -> int:
        """The first arm never played, else -1."""
        for arm in range(memory.pulls.size):
            if memory.pulls[arm] == 0.0:
                return arm
        return -1

    def choose(self, memory: Visited, state: float, rng: Stream) -> int:
        """The arm to play now: arms never played come first, in their order."""
        arm = self.first_timer(memory)
        return arm if arm >= 0 else self.choose_in_bin(memory, level_of(state, int(self.bins)), rng)

    def greedy_values(self, memory: Visited, state: float) -> Array:
        """What a visit is worth that begins with the arm in this bin, by the likelier account.

        If arms differ in their means only, that is the mean, or its negative where less is better.
        """
        b = level_of(state, int(self.bins))
        if memory.strength[ALIKE] <= memory.strength[DIFFERENT]:
            return by_means(memory, lambda mean: memory.side[b] * mean)
        row = memory.terms[: memory.pulls.size, b]
        return by_means(memory, lambda mean: row[:, START] + row[:, SLOPE] * mean)

    def optimism_in(self, memory: Any, state: float) -> float | None:
        return max(float(memory.optimism[level_of(state, int(self.bins))]), 0.0)

    def _mood(self, choice: Seen) -> str:
        costly = choice.optimism is not None and choice.optimism <= 0.0
        return engaged(choice.state) + (", mistakes are costly" if costly else "")

    def _words(self, choice: Seen) -> tuple[str, str]:
        if choice.pulls <= 0.0:
            return "trying", "its first result is awaited"
        figure = mean_of_pulls(choice)
        if choice.arm == choice.best:
            return "staying with", figure
        return "showing", f"{figure}: it may be worth more in a whole visit"


@dataclass(frozen=True)
class VisitIMED(Visit):
    """Plays the arm with the least evidence against its being best for the whole visit.

    Where arms raise the exit rate it finds the one to show, and where they do not it comes close to
    `LearnedIMED`; it need not be told which.

    >>> policy = VisitIMED(bins=2)
    >>> memory = policy.memory(arms=2)
    >>> for step in range(400):  # the first arm is liked more, and every second person leaves after
    ...     arm, good = step % 2, float(step % 10 < 8 - 2 * (step % 2))
    ...     policy.update(memory, 1.0, arm, good, arm == 0 and step % 4 == 0, good)
    >>> policy.probabilities(memory, 1.0).tolist()
    [0.0, 1.0]
    """

    title: ClassVar[str] = "Visit IMED"

    def choose_in_bin(self, memory: Visited, b: int, rng: Stream) -> int:
        """The arm of least evidence, ties broken at random."""
        best, least, ties = 0, inf, 0
        for arm in range(memory.pulls.size):
            nats = against(memory, arm, b)
            if nats < least:
                best, least, ties = arm, nats, 1
            elif nats == least:
                ties += 1
        if ties <= 1:
            return best
        skip = int(draw_uniform(rng) * ties)
        for arm in range(best, memory.pulls.size):
            if against(memory, arm, b) == least:
                if skip == 0:
                    return arm
                skip -= 1
        return best

    def probabilities(self, memory: Any, state: float) -> Array:
        """1 for the arm of least evidence, or an equal share for each of several."""
        arm, scores = self.first_timer(memory), np.zeros(memory.pulls.size)
        if arm >= 0:
            scores[arm] = 1.0
            return scores
        for other in range(scores.size):
            scores[other] = -against(memory, other, level_of(state, int(self.bins)))
        return equally(scores)


@dataclass(frozen=True)
class VisitThompson(Visit):
    """Draws an account, means and departures from what is known, and plays the best arm for them.

    >>> VisitThompson(bins=2).label
    'Visit Thompson, bins=2'
    """

    title: ClassVar[str] = "Visit Thompson"

    def choose_in_bin(self, memory: Visited, b: int, rng: Stream) -> int:
        """The arm of greatest draw; where mistakes are costly only interactions are drawn."""
        best, top, explores = 0, -inf, memory.optimism[b] > 0.0
        differ = draw_uniform(rng) >= exp(-memory.strength[ALIKE])
        for arm in range(memory.pulls.size):
            pulls, successes = memory.pulls[arm], memory.successes[arm]
            mean = (
                beta(1.0 + successes, 1.0 + pulls - successes, rng)
                if explores
                else (successes / pulls)
            )
            if not differ:
                value = memory.side[b] * mean
            else:
                row = memory.terms[arm, b]
                angle, length = inner_uniform(rng), sqrt(-2.0 * log(inner_uniform(rng)))
                gain = sqrt(row[VARIANCE]) * length * np.cos(2.0 * pi * angle)
                if gain > 0.0:
                    gain = row[MARGIN] * (1.0 - exp(-gain / row[MARGIN]))
                value = row[START] + row[SLOPE] * mean + gain
            if value > top:
                best, top = arm, value
        return best
