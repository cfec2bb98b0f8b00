"""Piecewise linear functions of the state: chances to leave, and values on a grid."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .trajectories import Flags, Floats, Ints

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
class Curve:
    """A chance to leave that is linear between knots."""

    knots: Floats
    leave: Floats
    inverse: Floats
    """Of the normal equations: how the rows it was fitted to move the values at the knots."""

    def at(self, place: Floats) -> Floats:
        return np.clip(hats(place, self.knots).of(self.leave), 0.0, 1.0)


def fit_curve(place: Floats, left: Flags, knots: int | None = KNOTS) -> Curve:
    """Least squares for rows at these places: a knot at every place, or at most `knots`.

    >>> fit_curve(np.array([0, 0, 1, 1, 1, 1]), np.array([1, 0, 1, 0, 0, 0])).leave.round(12)
    array([0.5 , 0.25])
    """
    if not place.size:
        return Curve(np.zeros(1), np.ones(1), np.zeros((1, 1)))
    found = np.unique(place).astype(float)
    if knots is not None and found.size > knots:
        found = np.unique(np.quantile(place, np.linspace(0.0, 1.0, knots)))
    at, n = hats(place, found), found.size
    squares = np.bincount(at.below, (1.0 - at.share) ** 2, n) + np.bincount(
        at.above, at.share**2, n
    )
    mixed = np.bincount(at.below, (1.0 - at.share) * at.share, n)[:-1]
    inverse = np.linalg.pinv(np.diag(squares) + np.diag(mixed, 1) + np.diag(mixed, -1))
    return Curve(found, inverse @ at.spread(left.astype(float), n), inverse)
