"""The paper's reinforcement-learning baselines: tabular Q-learning on (state, arm).

States are binned: `bins` = 2 tells the paper's two states apart. A visit is undiscounted and its
end is worth 0.
"""

from dataclasses import dataclass
from math import inf, log, sqrt
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from .. import validation
from ..engine.steps import level_of
from ..engine.streams import Stream, draw_uniform
from ..engine.structs import interpreted
from ..problem import Problem
from .base import MOST_BINS, Array, Policy, equally, greatest
from .reasons import Explains, Seen, engaged

__all__ = ["QLearning", "UCBQLearning"]

LONGEST, MOST_STAGES = 1e12, 10_000
"""Greatest H, and greatest H for a table that has a stage for each of the first H steps."""

LEAST_P = 1e-12


class QTable(NamedTuple):
    """Values and visit counts by (stage, bin, arm), and the step of the visit, from 0."""

    q: Array
    visits: Array
    step: Array


class Tabular(Explains, Policy):
    """Plays the arm of greatest Q in the bin of the state, and learns Q step by step."""

    learns_from: ClassVar[str] = "departures"

    if TYPE_CHECKING:
        bins: int

    def stage(self, memory: QTable, ahead: int) -> int:
        """The part of the table for the current step of the visit, or one `ahead` of it."""
        return min(int(memory.step[0]) + ahead, len(memory.q) - 1)

    def row(self, table: Array, memory: QTable, state: float) -> Array:
        """The row of Q or of N for the current step and a state."""
        return table[self.stage(memory, 0), level_of(state, int(self.bins))]  # type: ignore[no-any-return]

    def choose(self, memory: QTable, state: float, rng: Stream) -> int:
        return greatest(self.row(memory.q, memory, state), rng)

    def probabilities(self, memory: QTable, state: float) -> Array:
        return equally(self.row(memory.q, memory, state))

    @interpreted
    def of_shown(self, memory: QTable, state: float, worth: Array) -> Array:
        """The worth of arms shown in a bin; if there is none, 0 for those shown anywhere."""
        visits = self.row(memory.visits, memory, state)
        if visits.any():
            return np.where(visits > 0.0, self.row(worth, memory, state), -inf)
        return np.where(memory.visits.sum(axis=(0, 1)) > 0.0, 0.0, -inf)

    def _mood(self, choice: Seen) -> str:
        return engaged(choice.state)


@dataclass(frozen=True)
class QLearning(Tabular):
    """Q-learning with epsilon-greedy exploration and learning rate 1 / N(s, a).

    Q(s, a) += (r + max_b Q(s', b) - Q(s, a)) / N(s, a), from Q = 0.

    >>> QLearning()
    QLearning(epsilon=0.1, bins=2)
    """

    title: ClassVar[str] = "Q-learning"

    epsilon: float = 0.1
    bins: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", validation.number("epsilon", self.epsilon, 0, 1))
        object.__setattr__(self, "bins", validation.whole("bins", self.bins, 1, MOST_BINS))

    def stage(self, memory: QTable, ahead: int) -> int:
        """The only part: Q does not depend on the step."""
        return 0

    def memory(self, arms: int) -> QTable:
        bins = int(self.bins)
        return QTable(np.zeros((1, bins, arms)), np.zeros((1, bins, arms)), np.zeros(1))

    def choose(self, memory: QTable, state: float, rng: Stream) -> int:
        """Any arm with chance epsilon, else the one of greatest Q."""
        row = self.row(memory.q, memory, state)
        if draw_uniform(rng) < self.epsilon:
            return int(draw_uniform(rng) * row.size)
        return greatest(row, rng)

    def probabilities(self, memory: QTable, state: float) -> Array:
        """epsilon spread over all arms, the rest on the greatest Q."""
        row = self.row(memory.q, memory, state)
        spread: Array = self.epsilon / row.size + (1.0 - self.epsilon) * equally(row)
        return spread

    def update(
        self, memory: QTable, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        bins = int(self.bins)
        s, onward = level_of(state, bins), level_of(next_state, bins)
        to_come = 0.0 if left else memory.q[0, onward].max()
        memory.visits[0, s, arm] += 1.0
        rate = 1.0 / memory.visits[0, s, arm]
        memory.q[0, s, arm] += rate * (reward + to_come - memory.q[0, s, arm])

    def greedy_values(self, memory: QTable, state: float) -> Array:
        """Q, of arms shown before."""
        return self.of_shown(memory, state, memory.q)

    def _words(self, choice: Seen) -> tuple[str, str]:
        return "playing", f"greatest value learned, or by chance {self.epsilon:.0%} of the time"


@dataclass(frozen=True)
class UCBQLearning(Tabular):
    """Q-learning with a UCB bonus (UCB-Hoeffding), as set by the paper.

    From Q = H, with n = N(s, a), V(s) = min(H, max_b Q(s, b)) and
    iota = log(bins * arms * visits * H / p),

        Q(s, a) <- (1 - w) Q(s, a) + w (r + V(s') + c sqrt(H^3 iota / n)),  w = (H + 1) / (H + n).

    The paper sets c = 4, `visits` = 1000 and H to the expected length of a visit under the best
    arm, which `for_problem` computes. It does not give p, nor say whether Q depends on the step
    of the visit; here by default it does not, `by_step` makes it so for the first H steps.

    >>> UCBQLearning(H=110)
    UCBQLearning(H=110.0, c=4.0, visits=1000, p=0.05, bins=2, by_step=False)
    """

    title: ClassVar[str] = "UCB Q-learning"

    H: float
    c: float = 4.0
    visits: int = 1000
    p: float = 0.05
    bins: int = 2
    by_step: bool = False

    def __post_init__(self) -> None:
        longest = MOST_STAGES if validation.flag("by_step", self.by_step) else LONGEST
        object.__setattr__(self, "H", validation.number("H", self.H, 1, longest))
        object.__setattr__(self, "c", validation.number("c", self.c, 0, validation.LARGE))
        object.__setattr__(self, "p", validation.number("p", self.p, LEAST_P, 1, open_ends=True))
        for name, most in (("visits", LONGEST), ("bins", MOST_BINS)):
            object.__setattr__(self, name, validation.whole(name, getattr(self, name), 1, most))

    @classmethod
    def for_problem(cls, problem: Problem, **parameters: Any) -> Self:
        """The policy with H the expected length of a visit under the best rule."""
        return cls(**{"H": problem.length.mean, **parameters})

    def memory(self, arms: int) -> QTable:
        shape = (int(self.H) + 1 if self.by_step else 1, int(self.bins), arms)
        return QTable(np.full(shape, self.H), np.zeros(shape), np.zeros(1))

    def update(
        self, memory: QTable, state: float, arm: int, reward: float, left: bool, next_state: float
    ) -> None:
        bins, h = int(self.bins), self.stage(memory, 0)
        s, onward = level_of(state, bins), level_of(next_state, bins)
        to_come = 0.0 if left else min(self.H, memory.q[self.stage(memory, 1), onward].max())
        memory.visits[h, s, arm] += 1.0
        n = memory.visits[h, s, arm]
        iota = log(bins * memory.q.shape[2] * self.visits * self.H / self.p)
        bonus = self.c * sqrt(self.H**3 * iota / n)
        w = (self.H + 1.0) / (self.H + n)
        memory.q[h, s, arm] += w * (reward + to_come + bonus - memory.q[h, s, arm])
        memory.step[0] = 0.0 if left else memory.step[0] + 1.0

    def greedy_values(self, memory: QTable, state: float) -> Array:
        """How often an arm was shown: the bonus is in Q, and cannot be told from it."""
        return self.of_shown(memory, state, memory.visits)

    def _words(self, choice: Seen) -> tuple[str, str]:
        return "playing", "greatest value with its bonus"
