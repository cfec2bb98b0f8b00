"""Measurements behind claims, as data: each says what it needs and gives numbers with intervals.

Policies are compared run by run where they met the same users; where a measurement combines
estimates whose covariance is not kept, its interval is the widest they allow.
"""

from .exact import (
    BoundRatio,
    ExampleGaps,
    GapFalls,
    GapOrder,
    Lemma2,
    LongestVisits,
    MistakesCost,
    ValuesRise,
)
from .growth import SlopeBelow, SlopeNears, Towards
from .regret import Agrees, Less, MoreWrongPulls, Times, rising
from .states import LinearPulls, Settles, WithinLemma4
from .widths import OptimalWidth, OwnWidth, RawWidth

__all__ = [
    "Agrees",
    "BoundRatio",
    "ExampleGaps",
    "GapFalls",
    "GapOrder",
    "Lemma2",
    "Less",
    "LinearPulls",
    "LongestVisits",
    "MistakesCost",
    "MoreWrongPulls",
    "OptimalWidth",
    "OwnWidth",
    "RawWidth",
    "Settles",
    "SlopeBelow",
    "SlopeNears",
    "Times",
    "Towards",
    "ValuesRise",
    "WithinLemma4",
    "rising",
]
