"""The problem fitted to a log: means of arms, and chances to leave by state and reward.

For two states (theta = 1) the chance to leave is a frequency by state and reward; for a moving
average it is a piecewise linear curve of the state reached. The first step of a visit has a fit of
its own, since in real logs it differs; and so has each arm as far as arms differ beyond chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .trajectories import Flags, Floats, Ints, Trajectories

KNOTS = 12


def hats(points: Floats, knots: Floats) -> Floats:
    """By [point, knot]: what each knot weighs in a function that is linear between knots.

    Points beyond the knots count as at the end.
    """
    return np.transpose([np.interp(points, knots, own) for own in np.eye(knots.size)])


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
    """Chances to leave by arm and knot."""
    inverse: Floats
    """The inverse of the normal equations of all rows: how they move the pooled values."""
    inverses: Floats
    """The same by arm, for the rows of the arm."""
    pull: float

    def at(self, place: Floats, arm: Ints) -> Floats:
        """The chance to leave at each of some places after each of as many arms."""
        return np.asarray(np.clip(self._between(self.leave, place, arm), 0.0, 1.0))

    def influence(self, gradient: Floats, place: Floats, arm: Ints, left: Flags) -> Floats:
        """The influence of the fitted rows on a value with this gradient by leave[arm, knot]."""
        rows, through = np.zeros(place.size), gradient.sum(axis=0)
        if np.isfinite(self.pull):
            own = np.einsum("akl,al->ak", self.inverses, gradient)
            rows = self._between(own, place, arm) * (left - self.at(place, arm))
            through = self.pull * own.sum(axis=0)
        pooled = left - np.interp(place, self.knots, self.pooled)
        return np.asarray(rows + np.interp(place, self.knots, self.inverse @ through) * pooled)

    def _between(self, values: Floats, place: Floats, arm: Ints) -> Floats:
        """The functions of the arms with these values[arm, knot], each at its own places."""
        found = np.empty(place.size)
        for number, own in enumerate(values):
            rows = arm == number
            found[rows] = np.interp(place[rows], self.knots, own)
        return found


def fit_leaving(
    place: Floats, arm: Ints, left: Flags, arms: int, knots: int | None = KNOTS
) -> LeaveCurves:
    """Least squares for rows at these places: a knot at every place, or at most `knots`."""
    if not place.size:
        none = np.zeros((1, 1))
        return LeaveCurves(np.zeros(1), np.ones(1), np.ones((arms, 1)), none, none[None], np.inf)
    found = np.unique(place).astype(float)
    if knots is not None and found.size > knots:
        found = np.unique(np.quantile(place, np.linspace(0.0, 1.0, knots)))
    parts = [(hats(place[arm == a], found), left[arm == a].astype(float)) for a in range(arms)]
    squares = np.array([at.T @ at for at, _ in parts])
    gone = np.array([own @ at for at, own in parts])
    inverse = np.linalg.pinv(squares.sum(axis=0))
    pooled = inverse @ gone.sum(axis=0)
    pull = _pull(parts, pooled, squares)
    leave, inverses = np.tile(pooled, (arms, 1)), np.zeros_like(squares)
    if np.isfinite(pull):
        inverses = np.linalg.inv(squares + pull * np.eye(found.size))
        leave = np.einsum("akl,al->ak", inverses, gone + pull * pooled)
    return LeaveCurves(found, pooled, leave, inverse, inverses, pull)


def _pull(parts: Sequence[tuple[Floats, Floats]], pooled: Floats, squares: Floats) -> float:
    """How many rows a knot of all arms counts for in that of one, by how far the arms differ.

    Under equal arms the squared residuals of an arm at a knot, in units of their variance, are 1 on
    average. What they are more is the variance among arms times the rows that an arm has there.
    """
    expected = [np.clip(at @ pooled, 0.0, 1.0) for at, _ in parts]
    off = np.array([(own - p) @ at for (at, own), p in zip(parts, expected, strict=True)])
    noise = np.array([p * (1.0 - p) @ at**2 for (at, _), p in zip(parts, expected, strict=True)])
    seen = noise > 0.0
    free = seen.sum() - seen.any(axis=0).sum()
    if free <= 0:
        return np.inf
    squared = np.divide(off**2, noise, out=np.zeros_like(off), where=seen)
    excess = float(squared.sum(axis=0).sum()) / free - 1.0  # whatever the order of the arms
    rows_each = np.diagonal(squares, axis1=1, axis2=2)[seen].mean()
    return float(rows_each / excess) if excess > 0.0 else np.inf


@dataclass(frozen=True, eq=False)
class FittedModel:
    """Means of arms, and chances to leave at the first step (`leaving[0]`) and later."""

    log: Trajectories
    pulls: Floats
    means: Floats
    leaving: tuple[LeaveCurves, LeaveCurves]


def fit_model(log: Trajectories) -> FittedModel:
    """Means of arms, and chances to leave by least squares, which in two states are frequencies."""
    arms = len(log.arms)
    pulls = np.bincount(log.arm, minlength=arms).astype(float)
    means = np.bincount(log.arm, log.reward, arms) / np.maximum(pulls, 1.0)
    at, knots = log.place(log.state, log.reward), None if log.theta == 1.0 else KNOTS
    first, later = (
        fit_leaving(at[rows], log.arm[rows], log.left[rows], arms, knots)
        for rows in log.first_and_later
    )
    return FittedModel(log, pulls, means, (first, later))
