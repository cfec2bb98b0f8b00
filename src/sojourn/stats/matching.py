"""The value of one recommender's next choice, from the steps at which another chose the same.

With the chance b with which the other one chose (its propensity), a step at which both agree stands
for 1 / b steps, and the others for none. So the weighted mean over steps of what happened next is
that of the first one's choice, in the states that the other one brings about (inverse propensity
weighting, self-normalised). The weights have mean 1, if the propensities are right and the other
one never fails to try what the first one would choose; and not only on the whole, but among the
steps of any cell that is known before the other one chooses, such as an arm in a state (`by_cell`).
"""

from math import inf, sqrt
from typing import Any, NamedTuple

import numpy as np

from .clusters import ratio_covariance
from .intervals import FIRST, PLANNED, Interval, sequence
from .moments import Array


class Steps(NamedTuple):
    """Columns of steps: users as numbers from 0, whether both chose the same, and the result.

    The propensity is NaN where it is not known, and so is `left`.
    """

    user: Any
    same: Any
    propensity: Any
    reward: Any
    left: Any


class Sums(NamedTuple):
    """Columns of sums over the steps of a user, and a 1.

    Those from `weight` on are over the steps that are `weighed`: of which propensity and departure
    are known.
    """

    same: Any
    steps: Any
    weight: Any
    weighed: Any
    weighted_reward: Any
    weighted_left: Any
    reward: Any
    left: Any
    one: Any


RATIOS = {
    "match": ("same", "steps"), "weight": ("weight", "weighed"),
    "reward": ("reward", "weighed"), "left": ("left", "weighed"), "gain": ("reward", "left"),
    "would reward": ("weighted_reward", "weight"), "would left": ("weighted_left", "weight"),
    "would gain": ("weighted_reward", "weighted_left"),
}  # fmt: skip
"""Ratios of sums. The gain is reward per departure; names with would are of the first one."""

NAMES = tuple(RATIOS)


def sums_by_user(steps: Steps) -> Array:
    """`Sums` of each user, in rows."""
    same, chance, reward, left = (np.asarray(column, dtype=float) for column in steps[1:])
    known = (chance > 0.0) & ~np.isnan(left)
    weight = np.divide(same, chance, out=np.zeros_like(same), where=known)
    reward, left = reward * known, np.where(known, left, 0.0)
    columns = same, np.ones_like(same), weight, known, weight * reward, weight * left, reward, left
    user = np.asarray(steps.user, dtype=np.int64)
    sums = [np.bincount(user, column) for column in columns]
    return np.column_stack([*sums, np.ones_like(sums[0])])


class Matching:
    """The ratios of sums over users, and their differences, with intervals for every look."""

    def __init__(self, steps: Steps, alpha: float = 0.05, planned: float = PLANNED) -> None:
        sums = sums_by_user(steps)
        self.users, self.total = len(sums), Sums(*sums.sum(axis=0).tolist())
        over, under = ([Sums._fields.index(pair[i]) for pair in RATIOS.values()] for i in (0, 1))
        users = max(self.users, 2)  # of fewer there is no interval
        self._values, self._spread = ratio_covariance(sums.T @ sums, over, under, users)
        self._how = float(self.users), alpha, planned
        squares = float((sums[:, Sums._fields.index("weight")] ** 2).sum())
        self.effective = self.total.weight**2 / squares if squares else 0.0
        """How many users the weighted steps are worth: (sum w)^2 / sum w^2."""

    def of(self, name: str, minus: str | None = None) -> Interval:
        """One ratio, or the difference of two; without an interval while it rests on few users."""
        parts = [(1.0, name)] if minus is None else [(1.0, name), (-1.0, minus)]
        direction = np.zeros(len(NAMES))
        for sign, one in parts:
            direction[NAMES.index(one)] += sign
        value, variance = (float(x @ direction) for x in (self._values, direction @ self._spread))
        weighted = any(one.startswith(("would", "weight")) for _, one in parts)
        enough = (self.effective if weighted else self.users) >= FIRST
        return sequence(value, sqrt(max(variance, 0.0)) if enough else inf, *self._how)


def by_cell(
    steps: Steps, cell: Any, alpha: float = 0.05, planned: float = PLANNED
) -> dict[int, Matching]:
    """The steps of each cell by themselves."""
    parts = {
        int(each): Steps(*(column[cell == each] for column in steps)) for each in np.unique(cell)
    }
    return {
        each: Matching(
            part._replace(user=np.unique(part.user, return_inverse=True)[1]), alpha, planned
        )
        for each, part in parts.items()
    }


def calibrated(steps: Steps, cell: Any, cells: dict[int, Matching]) -> Steps:
    """The steps with propensities by which the weights of each cell have mean 1.

    So estimates hold if propensities are wrong, as long as it is by one factor for each cell.
    """
    means = {
        each: found.total.weight / (found.total.weighed or 1.0) for each, found in cells.items()
    }
    return steps._replace(propensity=steps.propensity * [means[each] or 1.0 for each in cell])
