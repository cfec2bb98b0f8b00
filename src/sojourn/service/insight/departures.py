"""Who leaves when: leave probabilities, what a mistake costs in each state, and the case."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from ...engine.calls import pupil_of
from ...live.records import Counts
from ...live.settings import Settings
from ...policies.base import Array
from ...policies.learned import FIRST_LOOK, Learned, Watched, mistake_costs
from .arms import ArmTable
from .intervals import Interval, Z, share

SAME = 0.1
"""Costs that differ by no more than this share of the greater one are the same for any use."""

CASES = {
    "normal": "A mistake costs more when a visit goes badly: explore while it goes well.",
    "opposite": "A mistake costs more when a visit goes well: explore while it goes badly.",
    "neutral": "A mistake costs the same in every state: explore anywhere.",
    "mixed": "What a mistake costs both rises and falls with the state.",
    "improper": "Showing the best arm is not the best thing to do in some state: look at what "
    "counts as a reward.",
    "not known yet": "The departures seen so far do not tell in which state a mistake costs more.",
}


@dataclass(frozen=True)
class Case:
    """Which case users are in: the word, a sentence, and what the sentence rests on.

    `confidence` is how many standard errors two costs must differ by to count as different.
    """

    word: str
    text: str
    steps: float
    departures: float
    confidence: float


@dataclass(frozen=True)
class Leaves:
    """After so many steps, so many users left."""

    steps: float
    departures: float
    probability: Interval | None


@dataclass(frozen=True)
class Leaving:
    """The chance to leave in one state, without and with a reward."""

    state: str
    unrewarded: Leaves
    rewarded: Leaves


@dataclass(frozen=True, eq=False)
class Departures:
    """Steps and departures by [bin, reward]; the mistake cost of each bin and its error."""

    steps: Array
    gone: Array
    cost: list[float]
    error: list[float]
    confidence: float

    def leaving(self, words: Sequence[str], used: Sequence[int]) -> tuple[Leaving, ...]:
        """The chances to leave in the states that occur."""
        return tuple(Leaving(words[b], self._leaves(b, 0), self._leaves(b, 1)) for b in used)

    def _leaves(self, b: int, r: int) -> Leaves:
        steps, gone = float(self.steps[b, r]), float(self.gone[b, r])
        return Leaves(steps, gone, share(gone, steps))

    def case(self, used: Sequence[int]) -> Case:
        """How the mistake cost moves with the state."""
        word = self._word(used)
        steps, gone = float(self.steps.sum()), float(self.gone.sum())
        return Case(word, CASES[word], steps, gone, self.confidence)

    def _word(self, used: Sequence[int]) -> str:
        visited = self.steps.sum(axis=1)
        bins = [b for b in used if visited[b] > 0.0]
        if visited.sum() < FIRST_LOOK:
            return "not known yet"
        if any(self.cost[b] < -self.confidence * self.error[b] for b in bins):
            return "improper"
        usual = int(np.argmax(visited))
        costs = [self.cost[b] if self._differs(b, usual) else self.cost[usual] for b in bins]
        moves = np.diff(costs)
        if not moves.any():
            return "neutral" if len(bins) > 1 and self._same(bins, usual) else "not known yet"
        if (moves <= 0.0).all():
            return "normal"
        return "opposite" if (moves >= 0.0).all() else "mixed"

    def _differs(self, b: int, usual: int) -> bool:
        """The rule of `policies.learned.reconsider`."""
        return abs(self.cost[b] - self.cost[usual]) > self.confidence * self._noise(b, usual)

    def _same(self, bins: Sequence[int], usual: int) -> bool:
        """Whether no difference that would matter is left in the 95 % intervals."""
        return all(
            abs(self.cost[b] - self.cost[usual]) + Z * self._noise(b, usual)
            <= SAME * max(self.cost[b], self.cost[usual])
            for b in bins
            if b != usual
        )

    def _noise(self, b: int, usual: int) -> float:
        return sqrt(self.error[b] ** 2 + self.error[usual] ** 2)


def departures(counts: Counts, settings: Settings, table: ArmTable) -> Departures:
    """What the counters `moves` and `gone` say, by the estimates of learned policies."""
    bins, pupil = settings.bins, pupil_of(settings.policy)
    confidence = pupil.confidence if isinstance(pupil, Learned) else Learned.confidence
    moves, gone = np.zeros((bins, 2, bins)), np.zeros((bins, 2))
    for (what, b, r, after), amount in counts.items():
        if what == "moves":
            moves[b, r, after] += amount
        elif what == "gone":
            gone[b, r] += amount
    rewards = table.rewards.sum(axis=1) + table.prior_rewards
    memory = Watched(table.all_pulls, rewards, np.zeros(1), moves, gone, np.ones(bins), np.zeros(1))
    cost, variance = mistake_costs(memory)
    error = np.sqrt(variance).tolist()
    return Departures(moves.sum(axis=2), gone, cost.tolist(), error, confidence)
