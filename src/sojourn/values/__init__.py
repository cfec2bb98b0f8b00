"""What a visit is worth: V*, Q*, gaps, and the length and reward of a visit, exactly."""

from .by_arm import ValuesByArm, solve_by_arm
from .functions import ByState, CommonPrices, Piecewise, PriceSeries, PriceTable
from .solution import MeanVariance, Values
from .solve import solve

__all__ = [
    "ByState",
    "CommonPrices",
    "MeanVariance",
    "Piecewise",
    "PriceSeries",
    "PriceTable",
    "Values",
    "ValuesByArm",
    "solve",
    "solve_by_arm",
]
