"""The best arms for all counts, and what it earns to play them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import checks
from ..engine.counts import find_counts
from ..values.solution import MeanVariance
from .finite import Array, Visits, Whole
from .induction import Masks, count_states, layout, moments_back

MOST_SOLVED = 5_000
"""States of the chain for which linear equations are solved."""


@dataclass(frozen=True, eq=False)
class Plan:
    """The best arms for all counts, as a table.

    `masks` has a set of arms for every (n, k) of every layer, and for every state of the chain of
    visits; in the last layer, the arms to commit to. `where[t, n0, n1]` is the row at which the
    block of n begins (with two arms [t, n0, 0]).
    """

    arms: int
    pulls: int
    alike: bool
    visits: Visits
    masks: Masks
    where: Whole

    def reward(self, means: Sequence[float]) -> MeanVariance:
        """Mean and variance of all rewards if it is played on arms of these means.

        Among arms that are equally good every one is as likely.
        """
        mu = np.array([checks.number(f"means[{i}]", m, 0, 1) for i, m in enumerate(means)])
        if mu.size != self.arms:
            raise ValueError(f"means = {list(means)} is not allowed: there are {self.arms} arms")
        moves, size = self.visits.moves(), self.visits.size
        if size > MOST_SOLVED:
            raise ValueError(
                f"reward needs a chain of at most {MOST_SOLVED} states, and this has {size}"
            )
        forever = [self._forever(m) for m in mu]
        order = np.zeros(3, np.int64)
        later = np.zeros(0)
        for t in range(self.pulls, -1, -1):
            begin, end = self._rows(t)
            masks = self.masks[begin * size : end * size]
            now = np.empty(count_states(t, self.arms, False) * 2 * size)
            if t == self.pulls:
                self._commit(now, masks.reshape(-1, size), forever)
            else:
                moments_back(
                    t, self.arms, self.alike, mu, moves, size, later, now, masks, order
                )  # fmt: skip
            later = now
        mean, square = later.reshape(2, size) @ self.visits.start
        return MeanVariance(float(mean), float(square - mean**2))

    def _rows(self, t: int) -> tuple[int, int]:
        where = self.where[t]
        begin = int(where[where >= 0].min())
        return begin, begin + count_states(t, self.arms, self.alike)

    def _forever(self, mean: float) -> Array:
        """Mean and mean square of all rewards to come if one arm is always shown."""
        moves, size = self.visits.moves(), self.visits.size
        go, won = np.zeros((size, size)), np.zeros((size, size))
        for s in range(size):
            for r, chance in ((0, 1.0 - mean), (1, mean)):
                here = slice(moves.first[2 * s + r], moves.first[2 * s + r + 1])
                go[s, moves.target[here]] += chance * moves.weight[here]
                if r:
                    won[s, moves.target[here]] += chance * moves.weight[here]
        stays = np.eye(size) - go
        total = np.linalg.solve(stays, np.full(size, mean))
        return np.array([total, np.linalg.solve(stays, mean + 2.0 * won @ total)])

    def _commit(self, now: Array, masks: Masks, forever: list[Array]) -> None:
        rows = now.reshape(-1, 2, self.visits.size)
        blocks, _ = layout(self.pulls, self.arms, False)
        _, where = layout(self.pulls, self.arms, self.alike)
        order, at = np.zeros(3, np.int64), 0
        for n in blocks:
            for k in np.ndindex(*(n + 1)):
                mask = masks[find_counts(n, np.array(k), self.arms, self.alike, where, order)]
                chosen = [(mask >> j & 1).astype(float) for j in range(self.arms)]
                share = sum(chosen)
                rows[at] = sum(c / share * forever[order[j]] for j, c in enumerate(chosen))
                at += 1
