"""Who leaves when: leave probabilities, the mistake cost of each state, and the case."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...policies.base import Array
from ...policies.departures import FIRST_LOOK, Watched, mistake_costs, pooled
from ...policies.learned import Learned
from ...policies.wrapper import base_policy
from ...stats.intervals import Z95, Interval, share
from ..records import Counts
from ..settings import Settings
from .arms import ArmSums

NEGLIGIBLE = 0.1  # costs that differ by at most this fraction of the greater one count as equal
CASES = {
    "normal": "A mistake costs more when a visit goes badly: explore while it goes well.",
    "opposite": "A mistake costs more when a visit goes well: explore while it goes badly.",
    "neutral": "A mistake costs the same in every state: explore anywhere.",
    "mixed": "The cost of a mistake both rises and falls with the state.",
    "improper": "In some state it is best not to show the best arm: check what counts as a reward.",
    "not known yet": "It takes more departures to tell in which state a mistake costs more.",
}


@dataclass(frozen=True)
class Case:
    """The case that the users are in: a word, a sentence, and the data behind them.

    `confidence` is by how many standard errors two costs must differ to count as different.
    """

    word: str
    text: str
    steps: float
    departures: float
    confidence: float


@dataclass(frozen=True)
class LeaveRate:
    """After `steps` steps, `departures` users left."""

    steps: float
    departures: float
    probability: Interval | None


@dataclass(frozen=True)
class StateLeaveRates:
    """The probability of leaving in one state, without and with a reward."""

    state: str
    unrewarded: LeaveRate
    rewarded: LeaveRate


@dataclass(frozen=True, eq=False)
class Departures:
    """Steps and departures by [bin, reward]; the mistake cost of each bin and its error.

    `follow` has the chances of the next bin by [bin, reward].
    """

    steps: Array
    gone: Array
    cost: list[float]
    error: list[float]
    confidence: float
    follow: Array

    def leave_rates(self, words: Sequence[str], used: Sequence[int]) -> tuple[StateLeaveRates, ...]:
        return tuple(StateLeaveRates(words[b], self._rate(b, 0), self._rate(b, 1)) for b in used)

    def _rate(self, b: int, r: int) -> LeaveRate:
        steps, gone = float(self.steps[b, r]), float(self.gone[b, r])
        return LeaveRate(steps, gone, share(gone, steps))

    def case(self, used: Sequence[int]) -> Case:
        word = self._word(used)
        steps, gone = float(self.steps.sum()), float(self.gone.sum())
        return Case(word, CASES[word], steps, gone, self.confidence)

    def _word(self, used: Sequence[int]) -> str:
        visited = self.steps.sum(axis=1)
        bins = [b for b in used if visited[b] > 0.0]
        if visited.sum() < FIRST_LOOK:
            return "not known yet"
        cost, error, usual = np.array(self.cost), np.array(self.error), int(np.argmax(visited))
        if (cost < -self.confidence * error)[bins].any():
            return "improper"
        away, noise = np.abs(cost - cost[usual]), np.sqrt(error**2 + error[usual] ** 2)
        differs = away > self.confidence * noise  # the rule of `policies.departures.reconsider`
        changes = np.diff(np.where(differs, cost, cost[usual])[bins])
        if not changes.any():  # do the 95 % intervals rule out all that is not negligible?
            same = away + Z95 * noise <= NEGLIGIBLE * np.maximum(cost, cost[usual])
            same[usual] = True
            return "neutral" if len(bins) > 1 and same[bins].all() else "not known yet"
        if (changes <= 0.0).all():
            return "normal"
        return "opposite" if (changes >= 0.0).all() else "mixed"


def watched(counts: Counts, arms: int, bins: int) -> tuple[Array, Array, Array]:
    """The counters `moves`, `seen` and `left`, as in `policies.departures.Watched`.

    After the last arm comes what is known of no arm, or of one that is not in the list yet.
    """
    moves = np.zeros((bins, 2, bins))
    seen, left = np.zeros((arms + 1, bins, 2)), np.zeros((arms + 1, bins, 2))
    for (what, i, j, k), amount in counts.items():
        if what == "moves":
            moves[i, j, k] += amount
        elif what in ("seen", "left"):
            (seen if what == "seen" else left)[min(i, arms), j, k] += amount
    return moves, seen, left


def departures(
    settings: Settings, arms: ArmSums, moves: Array, seen: Array, left: Array
) -> Departures:
    """Estimates from the counters of departures, with the methods of the learned policies."""
    confidence = getattr(base_policy(settings.policy), "confidence", Learned.confidence)
    conclusions = np.ones(settings.bins), np.zeros(1)
    memory = Watched(arms.all_pulls, arms.all_rewards, np.zeros(1), moves, seen, left, *conclusions)
    cost, variance = mistake_costs(memory, False)
    error = np.sqrt(variance).tolist()
    steps, gone, follow = moves.sum(axis=2), left.sum(axis=0), pooled(memory).follow
    return Departures(steps, gone, cost.tolist(), error, confidence, follow)
