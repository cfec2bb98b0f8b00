"""The exact value of a visit: V*, Q*, gaps, and the length and reward of a visit."""

from .functions import ByState, CommonPrices, Piecewise, PriceSeries, PriceTable
from .solution import CommonValues, MeanVariance, Values
from .solve import solve

__all__ = [
    "ByState", "CommonPrices", "CommonValues", "MeanVariance", "Piecewise", "PriceSeries",
    "PriceTable", "Values", "solve",
]  # fmt: skip
