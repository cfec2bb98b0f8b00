"""Policies for the whole visit: the value of an arm includes its effect on leaving.

Chances to leave may depend on the arm, the bin of the state and the level of the reward in any way.
Two accounts of what was seen compete: in the first, leaving depends on bin and level alone, so that
arms differ in their means only; in the second, arms also differ in their effect on leaving (the
model of `stats.departures`). The data decide the odds of each, from a
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
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import validation
from ..engine.streams import Stream, beta, draw_uniform, inner_uniform
from ..engine.unmanaged import merged
from .accounts import (
    ALIKE,
    DIFFERENT,
    MARGIN,
    SLOPE,
    START,
    VARIANCE,
    against,
    nothing_concluded,
    think,
)
from .base import Array
from .departures import GOOD, unseen
from .explorer import Explorer
from .learned import Watcher
from .reasons import Seen, engaged, mean_of_pulls

__all__ = ["VisitIMED", "VisitThompson"]

PULLS = 3.0
"""Pulls of an arm, beside a share, after which its departures are looked at again."""


class Due(NamedTuple):
    """When the departures of an arm are looked at again."""

    due: Array  # pulls of every arm at which to estimate next


@dataclass(frozen=True)
class WholeVisit(Watcher, Explorer):
    """Base of policies that may take account of departures by arm.

    `faith` is what speaks, before anything was seen, for arms that differ in their means only: nats
    from 0 to 100. `confidence` is that of learned optimism, in standard errors from 0 to 1e9; so
    are `bins` of the state (from 2 to 100) and the `threshold` of a good reward. Estimates are made
    anew whenever the number of steps has grown by a share `growth`, from 0 to 1e9.

    With `follow_improper` people are shown what they like less where they stay longer after a bad
    reward, by more than a good one is worth. Without it that does not count, while an arm that
    raises the exit rate, whatever its reward, counts either way.
    """

    learns_from: ClassVar[str] = "departures"
    most_bins: ClassVar[int] = 100  # thinking takes the cube of twice their number

    faith: float = 4.5
    confidence: float = 1.5
    bins: int = 4
    growth: float = 0.05
    threshold: float = GOOD
    follow_improper: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "faith", validation.number("faith", self.faith, 0, 100))

    def matched(self, memory: Any, arm: int, b: int) -> tuple[float, float]:
        """The pulls of an arm that say something of a bin, and their rewards."""
        return memory.pulls[arm], memory.successes[arm]

    def visit_worth(self, memory: Any, arm: int, b: int) -> float:
        """The value of a visit that begins with the arm in a bin, if departures count."""
        (pulls, rewards), row = self.matched(memory, arm, b), memory.terms[arm, b]
        return row[START] + row[SLOPE] * (rewards / pulls)  # type: ignore[no-any-return]

    def greedy_values(self, memory: Any, state: float) -> Array:
        """The value of a visit that begins with the arm in this bin, by the likelier account.

        If arms differ in their means only, that is the mean, or its negative where less is better.
        """
        b, found = self.bin_of(state), np.full(memory.pulls.size, -inf)
        for arm in np.flatnonzero(memory.pulls).tolist():
            found[arm] = memory.side[b] * self.estimate(memory, arm, state)[0]
            if memory.strength[ALIKE] > memory.strength[DIFFERENT]:
                found[arm] = self.visit_worth(memory, arm, b)
        return found

    def explores_in(self, memory: Any, state: float) -> bool:
        """Whether mistakes are cheap in this state."""
        return self.optimism_now(memory, state) > 0.0

    def optimism_in(self, memory: Any, state: float) -> float | None:
        return max(self.optimism_now(memory, state), 0.0)

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


class Visit(WholeVisit):
    """Whole-visit policies that look again when the pulls of an arm have grown by a share, too."""

    def memory(self, arms: int) -> Any:
        bins = int(self.bins)
        counters = merged(unseen(arms, bins), Due(np.full(arms, inf)))
        counters.next_refit[0] = max(float(arms), 1.0)
        return merged(counters, nothing_concluded(arms, bins))

    def is_due(self, memory: Any) -> bool:
        """Whether there are many more steps, or pulls of an arm, than the last time."""
        if memory.clock[0] >= memory.next_refit[0]:
            return True
        due = False
        for arm in range(memory.pulls.size):
            due = due or memory.pulls[arm] >= memory.due[arm]
        return due

    def think(self, memory: Any) -> None:
        think(self, memory, self.confidence, self.faith, self.follow_improper, True)
        for arm in range(memory.pulls.size):
            memory.due[arm] = (1.0 + self.growth) * memory.pulls[arm] + PULLS

    def turn_back(self, memory: Any, arm: int) -> None:
        memory.next_refit[0] -= 1.0
        memory.due[arm] -= 1.0

    def fade_kept(self, memory: Any, factor: float) -> None:
        for arm in range(memory.due.size):
            memory.due[arm] *= factor  # inf before the first look: it stays


@dataclass(frozen=True)
class VisitIMED(Visit):
    """Plays the arm with the least evidence against its being best for the whole visit.

    Where arms raise the exit rate it finds the one to show; where they do not, it comes close to
    `LearnedIMED`. It learns which is the case.

    >>> policy = VisitIMED(bins=2)
    >>> memory = policy.memory(arms=2)
    >>> for step in range(400):  # the first arm is liked more, and every second person leaves after
    ...     arm, good = step % 2, float(step % 10 < 8 - 2 * (step % 2))
    ...     policy.update(memory, 1.0, arm, good, arm == 0 and step % 4 == 0, good)
    >>> policy.probabilities(memory, 1.0).tolist()
    [0.0, 1.0]
    """

    title: ClassVar[str] = "Visit IMED"

    def score(self, memory: Any, arm: int, state: float, optimism: float, moment: Any) -> float:
        """The evidence against the arm, with its sign changed."""
        return -against(memory, arm, self.bin_of(state))


@dataclass(frozen=True)
class VisitThompson(Visit):
    """Draws an account, means and departures from what is known, and plays the best arm for them.

    >>> VisitThompson(bins=2).label
    'Visit Thompson, bins=2'
    """

    title: ClassVar[str] = "Visit Thompson"

    def select(self, memory: Any, state: float, optimism: float, rng: Stream) -> int:
        """The arm of greatest draw; where mistakes are costly only interactions are drawn."""
        best, top, b = 0, -inf, self.bin_of(state)
        differ = draw_uniform(rng) >= exp(-memory.strength[ALIKE])
        for arm in range(memory.pulls.size):
            mean, _ = self.estimate(memory, arm, state)
            if optimism > 0.0:
                one, other = self.posterior(memory, arm, state)
                mean = beta(one, other, rng)
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

    def probabilities(self, memory: Any, state: float) -> Array:
        return np.zeros(0)
