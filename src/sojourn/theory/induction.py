"""Backward induction over the counts of two or three arms, and the plan that it makes.

It goes a layer of equally many pulls at a time.

A *layer* t has all (n, k): pulls n of every arm that add up to t, and successes k. It is stored
block by block, a block for each n, in it the k of the first arm slowest. Where all arms have one
prior, arms may be put in any order, and only blocks with n in descending order are kept: a half of
all for two arms, about a sixth for three. Two arms are three of which the last is never pulled.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..chain import second_moment, total
from ..engine.loops import jitable, loop
from ..validation import InputError
from ..values.finite import Array, Moves, Visits, Whole
from ..values.prior import find_counts
from ..values.solution import MeanVariance

Masks = NDArray[np.uint8]
"""Sets of arms: bit a stands for the arm in place a."""

TIE = 1e-12
"""Values that differ by less than this share of them are the same but for rounding."""

MOST_SOLVED = 5_000
"""States of the chain for which linear equations are solved."""

ENDS = 2
"""Two problems are solved in one pass: whose end is to commit, and whose end is to be told."""


def count_states(t: int, arms: int, alike: bool) -> int:
    """The number of (n, k) in a layer."""
    if not alike:
        return comb(t + 2 * arms - 1, t)
    total = 0
    for n0 in range(t + 1):
        for n1 in range(min(n0, t - n0) + 1) if arms == 3 else (t - n0,):
            if n0 >= n1 >= t - n0 - n1:
                total += (n0 + 1) * (n1 + 1) * (t - n0 - n1 + 1)
    return total


@jitable
def layout(t: int, arms: int, alike: bool) -> tuple[Whole, Whole]:
    """The pulls n of every block of a layer, and by [n0, n1] where it begins (-1: not kept).

    With two arms n1 follows from n0, and is left out: [n0, 0].
    """
    where = np.full((t + 1, t + 1 if arms == 3 else 1), -1)
    blocks = np.empty(((t + 1) * (t + 2) // 2 if arms == 3 else t + 1, 3), np.int64)
    found = size = 0
    for n0 in range(t + 1):
        for n1 in range(0 if arms == 3 else t - n0, t - n0 + 1):
            n2 = t - n0 - n1
            if alike and not n0 >= n1 >= n2:
                continue
            where[n0, n1 if arms == 3 else 0] = size
            blocks[found, 0], blocks[found, 1], blocks[found, 2] = n0, n1, n2
            found += 1
            size += (n0 + 1) * (n1 + 1) * (n2 + 1)
    return blocks[:found], where


@jitable
def child(
    n: Whole, arm: int, arms: int, alike: bool, where: Whole, stride: Whole, place: Whole
) -> int:
    """Where the block begins that one more pull of an arm leads to.

    Fills `stride`: what a success of each arm adds to the index there. `where` is of that layer.
    """
    for j in range(3):
        place[j] = j
    m0, m1, m2 = n[0], n[1], n[2]
    if arm == 0:
        m0 += 1
    elif arm == 1:
        m1 += 1
    else:
        m2 += 1
    if alike:  # one pull more: the arm may have to move before those that had as many
        if arm == 1 and m1 > m0:
            m0, m1 = m1, m0
            place[0], place[1] = 1, 0
        elif arm == 2 and m2 > m1:
            m1, m2 = m2, m1
            place[1], place[2] = 2, 1
            if m1 > m0:
                m0, m1 = m1, m0
                place[0], place[2] = 1, 0
    sizes = ((m1 + 1) * (m2 + 1), m2 + 1, 1)
    for j in range(3):
        stride[j] = sizes[place[j]]
    return where[m0, m1 if arms == 3 else 0]  # type: ignore[no-any-return]


@loop
def step_back(
    t: int, arms: int, alike: bool, prior: Array, moves: Moves, states: int,
    later: Array, now: Array, masks: Masks,
) -> None:  # fmt: skip
    """Values of layer t, `now`, from those of layer t + 1, `later`: both by (n, k), end and state.

    Q(a) = p (1 + sum of w(s, 1, s') V(n + e_a, k + e_a, s'))
           + (1 - p) sum of w(s, 0, s') V(n + e_a, k, s'),    p = (a + k) / (a + b + n).

    `masks`, unless it is empty, gets the arms that are best if one has to commit in the end.
    """
    blocks, _ = layout(t, arms, alike)
    _, where = layout(t + 1, arms, alike)
    first, target, weight = moves.first, moves.target, moves.weight
    stride, begins = np.empty((3, 3), np.int64), np.zeros(3, np.int64)
    place, width, at = np.empty(3, np.int64), ENDS * states, 0
    q = np.zeros((3, width))
    for block in range(blocks.shape[0]):
        n = blocks[block]
        for a in range(arms):
            begins[a] = child(n, a, arms, alike, where, stride[a], place)
        for k0 in range(n[0] + 1):
            for k1 in range(n[1] + 1):
                for k2 in range(n[2] + 1):
                    for a in range(arms):
                        k = k0 if a == 0 else k1 if a == 1 else k2
                        mean = (prior[a, 0] + k) / (prior[a, 0] + prior[a, 1] + n[a])
                        down = begins[a] + k0 * stride[a, 0] + k1 * stride[a, 1] + k2 * stride[a, 2]
                        up = (down + stride[a, a]) * width
                        down *= width
                        for s in range(states):
                            lost = won = told_lost = told_won = 0.0
                            for i in range(first[2 * s], first[2 * s + 1]):
                                to = down + target[i]
                                lost += weight[i] * later[to]
                                told_lost += weight[i] * later[to + states]
                            for i in range(first[2 * s + 1], first[2 * s + 2]):
                                to = up + target[i]
                                won += weight[i] * later[to]
                                told_won += weight[i] * later[to + states]
                            q[a, s] = lost + mean * (1.0 + won - lost)
                            q[a, states + s] = told_lost + mean * (1.0 + told_won - told_lost)
                    for j in range(width):
                        best = max(q[0, j], q[1, j])
                        if arms == 3:
                            best = max(best, q[2, j])
                        now[at * width + j] = best
                    if masks.size > 0:
                        for s in range(states):
                            best, mask = now[at * width + s], 0
                            for a in range(arms):
                                if q[a, s] >= best - TIE * (1.0 + best):
                                    mask |= 1 << a
                            masks[at * states + s] = mask
                    at += 1


@loop
def moments_back(
    t: int, arms: int, alike: bool, means: Array, moves: Moves, states: int,
    later: Array, now: Array, masks: Masks, order: Whole,
) -> None:  # fmt: skip
    """Mean and mean square of all rewards to come from layer t, if the arms have these means.

    Arms in `masks` are equally likely. Blocks are all kept (`alike` says whether the masks have
    only some), by (n, k), moment and state. `order` is room for three numbers.
    """
    blocks, _ = layout(t, arms, False)
    _, where = layout(t + 1, arms, False)
    _, kept = layout(t, arms, alike)
    first, target, weight = moves.first, moves.target, moves.weight
    stride, begins = np.empty((3, 3), np.int64), np.zeros(3, np.int64)
    place, k = np.empty(3, np.int64), np.zeros(3, np.int64)
    width, at = 2 * states, 0
    for block in range(blocks.shape[0]):
        n = blocks[block]
        for a in range(arms):
            begins[a] = child(n, a, arms, False, where, stride[a], place)
        for k0 in range(n[0] + 1):
            for k1 in range(n[1] + 1):
                for k2 in range(n[2] + 1):
                    k[0], k[1], k[2] = k0, k1, k2
                    row = find_counts(n, k, arms, alike, kept, order)
                    for s in range(states):
                        mask, chosen = masks[row * states + s], 0
                        mean = square = 0.0
                        for j in range(arms):
                            if not (mask >> j) & 1:
                                continue
                            a = order[j]
                            chosen += 1
                            down = begins[a]
                            for i in range(arms):
                                down += k[i] * stride[a, i]
                            up, down = (down + stride[a, a]) * width, down * width
                            for i in range(first[2 * s], first[2 * s + 1]):
                                w = (1.0 - means[a]) * weight[i]
                                mean += w * later[down + target[i]]
                                square += w * later[down + states + target[i]]
                            mean += means[a]
                            square += means[a]
                            for i in range(first[2 * s + 1], first[2 * s + 2]):
                                w = means[a] * weight[i]
                                mean += w * later[up + target[i]]
                                square += w * later[up + states + target[i]]
                                square += 2.0 * w * later[up + target[i]]
                        now[at * width + s] = mean / chosen
                        now[at * width + states + s] = square / chosen
                    at += 1


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
        mu = np.array(validation.numbers("means", means, 0, 1))
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
