"""The problem fitted to a log: means of arms, and chances to leave by state and reward.

For two states (theta = 1) the chance to leave is a frequency by state and reward; for a moving
average it is a piecewise linear curve of the state reached. The first step of a visit has a fit of
its own, since in real logs it differs; and so has each arm as far as arms differ beyond chance.
"""

from dataclasses import dataclass

import numpy as np

from .curve import KNOTS, LeaveCurves, fit_leaving
from .trajectories import Flags, Floats, Trajectories


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
