"""Simulate policies on a problem and estimate their regret."""

from ..stats.moments import Estimate, Moments
from .over_prior import OverPrior, over_prior
from .precision import Precision
from .reduce import Progress
from .result import Result, Stream
from .simulate import Interrupted, PrecisionWarning, simulate
from .store import StoreWarning

__all__ = [
    "Estimate", "Interrupted", "Moments", "OverPrior", "Precision", "PrecisionWarning", "Progress",
    "Result", "StoreWarning", "Stream", "over_prior", "simulate",
]  # fmt: skip
