"""What a visit is worth: V*, Q*, gaps, and the length and reward of a visit, exactly."""

from .functions import ByState, Piecewise
from .solution import MeanVariance, Values
from .solve import LONGEST, NeverEnds, solve

__all__ = ["LONGEST", "ByState", "MeanVariance", "NeverEnds", "Piecewise", "Values", "solve"]
