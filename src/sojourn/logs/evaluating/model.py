"""The problem fitted to a log: means of arms, and chances to leave by state and reward.

For two states (theta = 1) the chance to leave is a frequency by state and reward; for a moving
average it is a piecewise linear curve of the state reached. The first step of a visit has a fit of
its own, since in real logs it differs; and so has each arm as far as arms differ beyond chance.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .trajectories import Flags, Floats, Ints, Trajectories

KNOTS = 12


class Hats(NamedTuple):
    """Points among knots: each is a mixture of the knot below it and the knot above."""

    below: Ints
    above: Ints
    share: Floats
    """Of the knot above."""

    def of(self, at_knots: Floats) -> Floats:
        """The piecewise linear function with these values at the knots."""
        low, high = at_knots[self.below], at_knots[self.above]
        return np.asarray(low + self.share * (high - low))

    def spread(self, weight: Floats, knots: int) -> Floats:
        """What each knot gets when the weights of the points are divided among them."""
        down = np.bincount(self.below, weight * (1.0 - self.share), knots)
        return down + np.bincount(self.above, weight * self.share, knots)

    def matrix(self, knots: int) -> Floats:
        """One row of weights for each point."""
        eye = np.eye(knots)
        return (1.0 - self.share)[:, None] * eye[self.below] + self.share[:, None] * eye[self.above]


def hats(points: Floats, knots: Floats) -> Hats:
    """Where points lie among knots; those outside count as at the end.

    >>> hats(np.array([0.0, 0.3, 2.0]), np.array([0.0, 0.5, 1.0])).share.tolist()
    [0.0, 0.6, 1.0]
    """
    points = np.clip(points, knots[0], knots[-1])
    below = np.clip(np.searchsorted(knots, points, "right") - 1, 0, max(knots.size - 2, 0))
    above = np.minimum(below + 1, knots.size - 1)
    width = np.where(above > below, knots[above] - knots[below], 1.0)
    return Hats(below, above, (points - knots[below]) / width)


@dataclass(frozen=True, eq=False)
class LeaveCurves:
    """Chances to leave that are linear between knots: those of all arms together, and of each.

    Each arm has its own least squares, drawn towards those of all arms as if `pull` rows more had
    been seen at every knot: the more, the less the arms differ beyond chance. Without any such
    difference all arms are alike, and `pull` is infinite.
    """

    knots: Floats
    pooled: Floats
    leave: Floats
    """By arm and knot."""
    inverse: Floats
    """Of the normal equations of all rows: how they move the pooled values."""
    inverses: Floats
    """The same by arm, for the rows of the arm."""
    pull: float

    def at(self, place: Floats, arm: Ints) -> Floats:
        """The chance to leave at each of some places after each of as many arms."""
        at, rows = hats(place, self.knots), self.leave
        low, high = rows[arm, at.below], rows[arm, at.above]
        return np.asarray(np.clip(low + at.share * (high - low), 0.0, 1.0))

    def influence(self, gradient: Floats, place: Floats, arm: Ints, left: Flags) -> Floats:
        """What the fitted rows do to a value that has this gradient by the leave[arm, knot]."""
        at = hats(place, self.knots)
        rows = np.zeros(place.size)
        through = gradient.sum(axis=0)
        if np.isfinite(self.pull):
            own = np.einsum("akl,al->ak", self.inverses, gradient)
            low, high = own[arm, at.below], own[arm, at.above]
            rows = (low + at.share * (high - low)) * (left - self.at(place, arm))
            through = self.pull * own.sum(axis=0)
        return np.asarray(rows + at.of(self.inverse @ through) * (left - at.of(self.pooled)))


def fit_leaving(
    place: Floats, arm: Ints, left: Flags, arms: int, knots: int | None = KNOTS
) -> LeaveCurves:
    """Least squares for rows at these places: a knot at every place, or at most `knots`.

    >>> place, arm = np.array([0, 0, 1, 1, 1, 1]), np.zeros(6, int)
    >>> fit_leaving(place, arm, np.array([1, 0, 1, 0, 0, 0]), arms=1).leave.round(12)
    array([[0.5 , 0.25]])
    """
    if not place.size:
        none = np.zeros((1, 1))
        return LeaveCurves(np.zeros(1), np.ones(1), np.ones((arms, 1)), none, none[None], np.inf)
    found = np.unique(place).astype(float)
    if knots is not None and found.size > knots:
        found = np.unique(np.quantile(place, np.linspace(0.0, 1.0, knots)))
    at, n = hats(place, found), found.size
    squares = np.array([_squares(at, arm == a, n) for a in range(arms)])
    inverse = np.linalg.pinv(squares.sum(axis=0))
    pooled = inverse @ at.spread(left.astype(float), n)
    pull = _pull(at, arm, left, pooled, squares)
    leave, inverses = np.tile(pooled, (arms, 1)), np.zeros_like(squares)
    if np.isfinite(pull):
        inverses = np.linalg.inv(squares + pull * np.eye(n))
        for a in range(arms):
            wins = _rows(at, arm == a).spread(left[arm == a].astype(float), n)
            leave[a] = inverses[a] @ (wins + pull * pooled)
    return LeaveCurves(found, pooled, leave, inverse, inverses, pull)


def _pull(at: Hats, arm: Ints, left: Flags, pooled: Floats, squares: Floats) -> float:
    """How many rows a knot of all arms counts for in that of one, by how far the arms differ.

    Under equal arms the squared residuals of an arm at a knot, in units of their variance, are 1 on
    average. What they are more is the variance among arms times the rows that an arm has there.
    """
    arms, n = squares.shape[:2]
    chance = np.clip(at.of(pooled), 0.0, 1.0)
    noise, off = np.zeros((arms, n)), np.zeros((arms, n))
    for a in range(arms):
        mine, rows = _rows(at, arm == a), arm == a
        off[a] = mine.spread(left[rows] - chance[rows], n)
        spread = chance[rows] * (1.0 - chance[rows])
        noise[a] = np.bincount(mine.below, spread * (1.0 - mine.share) ** 2, n)
        noise[a] += np.bincount(mine.above, spread * mine.share**2, n)
    seen = noise > 0.0
    free = seen.sum() - seen.any(axis=0).sum()
    if free <= 0:
        return np.inf
    excess = float((off[seen] ** 2 / noise[seen]).sum()) / free - 1.0
    rows_each = np.diagonal(squares, axis1=1, axis2=2)[seen].mean()
    return float(rows_each / excess) if excess > 0.0 else np.inf


def _rows(at: Hats, kept: Flags) -> Hats:
    return Hats(at.below[kept], at.above[kept], at.share[kept])


def _squares(at: Hats, kept: Flags, n: int) -> Floats:
    """The normal equations of some rows."""
    at = _rows(at, kept)
    whole = np.bincount(at.below, (1.0 - at.share) ** 2, n) + np.bincount(at.above, at.share**2, n)
    mixed = np.bincount(at.below, (1.0 - at.share) * at.share, n)[:-1]
    return np.asarray(np.diag(whole) + np.diag(mixed, 1) + np.diag(mixed, -1))


@dataclass(frozen=True, eq=False)
class FittedModel:
    """Means of arms, and chances to leave at the first step (`leaving[0]`) and later."""

    log: Trajectories
    pulls: Floats
    means: Floats
    leaving: tuple[LeaveCurves, LeaveCurves]

    @property
    def parts(self) -> tuple[Flags, Flags]:
        """The rows that each of the curves is fitted to."""
        return _parts(self.log)


def fit_model(log: Trajectories) -> FittedModel:
    """Means of arms, and chances to leave by least squares, which in two states are frequencies."""
    pulls = np.bincount(log.arm, minlength=len(log.arms)).astype(float)
    wins = np.bincount(log.arm, log.reward, len(log.arms))
    at, knots = log.place(log.state, log.reward), None if log.theta == 1.0 else KNOTS
    first, later = (
        fit_leaving(at[rows], log.arm[rows], log.left[rows], len(log.arms), knots)
        for rows in _parts(log)
    )
    return FittedModel(log, pulls, wins / np.maximum(pulls, 1.0), (first, later))


def _parts(log: Trajectories) -> tuple[Flags, Flags]:
    """First steps and later ones; where the log is censored nobody knows who left."""
    first = log.step == 0
    return first & ~log.censored, ~first & ~log.censored
