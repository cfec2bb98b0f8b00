"""The best arms for all counts, and what it earns to play them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import validation
from ..chain import second_moment, total
from ..validation import InputError
from ..values.finite import Array, Visits, Whole
from ..values.prior import find_counts
from ..values.solution import MeanVariance
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
    by_rule: bool
    """Whether the last layer has rules to commit to: the place of the arm in state s is bit s."""
    visits: Visits
    masks: Masks
    where: Whole

    def reward(self, means: Sequence[float]) -> MeanVariance:
        """Mean and variance of all rewards if it is played on arms of these means.

        Among arms that are equally good every one is as likely.
        """
        mu = np.array([validation.number(f"means[{i}]", m, 0, 1) for i, m in enumerate(means)])
        if mu.size != self.arms:
            raise InputError(f"means = {list(means)} is not allowed: there are {self.arms} arms")
        moves, size = self.visits.moves(), self.visits.size
        if size > MOST_SOLVED:
            raise InputError(
                f"reward needs a chain of at most {MOST_SOLVED} states, and this has {size}"
            )
        order = np.zeros(3, np.int64)
        later = np.zeros(0)
        for t in range(self.pulls, -1, -1):
            begin, end = self._rows(t)
            masks = self.masks[begin * size : end * size]
            now = np.empty(count_states(t, self.arms, False) * 2 * size)
            if t == self.pulls:
                self._commit(now, masks.reshape(-1, size), mu)
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

    def _forever(self, means: Array) -> Array:
        """Mean and mean square of all to come, if what is shown in a user's state has this mean."""
        moves, size = self.visits.moves(), self.visits.size
        go, won = np.zeros((size, size)), np.zeros((size, size))
        mean = means[self.visits.of_user]
        for s in range(size):
            for r, chance in ((0, 1.0 - mean[s]), (1, mean[s])):
                here = slice(moves.first[2 * s + r], moves.first[2 * s + r + 1])
                go[s, moves.target[here]] += chance * moves.weight[here]
                if r:
                    won[s, moves.target[here]] += chance * moves.weight[here]
        found = total(go, mean, None)
        return np.array([found, second_moment(go, mean, won, found)])

    def _commit(self, now: Array, masks: Masks, mu: Array) -> None:
        rows, n_states = now.reshape(-1, 2, self.visits.size), self.visits.user.size
        blocks, _ = layout(self.pulls, self.arms, False)
        _, where = layout(self.pulls, self.arms, self.alike)
        order, at = np.zeros(3, np.int64), 0
        ends: dict[tuple[int, ...], Array] = {}

        def forever(*arms: int) -> Array:
            """If these are shown, by state of the user."""
            if arms not in ends:
                ends[arms] = self._forever(mu[list(arms)])
            return ends[arms]

        for n in blocks:
            for k in np.ndindex(*(n + 1)):
                mask = masks[find_counts(n, np.array(k), self.arms, self.alike, where, order)]
                if self.by_rule:
                    for s, rule in enumerate(mask.tolist()):
                        shown = (int(order[rule >> z & 1]) for z in range(n_states))
                        rows[at, :, s] = forever(*shown)[:, s]
                else:
                    chosen = (mask >> np.arange(self.arms)[:, None] & 1).astype(float)
                    alone = [forever(*[int(order[j])] * n_states) for j in range(self.arms)]
                    rows[at] = np.einsum("js,jms->ms", chosen / chosen.sum(axis=0), alone)
                at += 1
