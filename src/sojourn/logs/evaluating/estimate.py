"""A mean over visits with its interval, from the influence of each visit on it."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from .trajectories import Floats, Ints


@dataclass(frozen=True)
class Estimate:
    """A mean over visits, its standard error and its interval, which need not be symmetric.

    Where the log cannot tell how much more it may be, `high` is infinite; where it can tell neither
    end, `low` is 0.
    """

    mean: float
    std_error: float
    low: float
    high: float


def estimate(
    user: Ints, mean: float, influence: Floats, z: float, *, skewed: bool = False
) -> Estimate:
    """With the influence of the visits of one user added up, so that errors are clustered.

    `user` is that of each visit. With `skewed` the interval is corrected for skewness.

    >>> found = estimate(np.array([0, 0, 1]), 1.0, np.array([0.1, 0.2, -0.3]), z=2.0)
    >>> round(found.std_error, 6), round(found.high, 6)
    (0.6, 2.2)
    """
    by_user = np.bincount(user, influence)
    few = by_user.size / max(by_user.size - 1, 1)
    variance = float((by_user**2).sum())
    error = sqrt(few * variance)
    skewness = float((by_user**3).sum()) / variance**1.5 if skewed and variance > 0.0 else 0.0
    below, above = (_unskewed(y, skewness) for y in (z, -z))
    return Estimate(mean, error, max(mean - below * error, 0.0), mean - above * error)


def _unskewed(y: float, skewness: float) -> float:
    """The quantile, in standard errors, of a mean of this skewness where a normal one has y.

    Hall's cubic transformation (On the removal of skewness by transformation, J. R. Statist. Soc. B
    54, 1992): the weights of long visits are skewed, and the plain interval ends too low.
    """
    if abs(skewness) < 1e-6:
        return y
    return 3.0 / skewness * (float(np.cbrt(1.0 + skewness * (y - skewness / 6.0))) - 1.0)
