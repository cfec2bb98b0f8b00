"""The problems of the paper's figures, by the name they go by here."""

from ..problem import Problem
from ..users import Ema, LogLeave, TwoState

MUST_CHEER = TwoState(q00=1, q01=0, q10=0, q11=0)
"""Leaves after two bad items in a row, and only then."""

SETTINGS: dict[str, Problem] = {
    "A": Problem([0.9, 0.8], MUST_CHEER),
    "B": Problem([0.9, 0.8], TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1)),
    "C": Problem([0.2, 0.1], MUST_CHEER),
    "D": Problem([0.9, 0.8, 0.5], MUST_CHEER),
    "ema-1000": Problem([0.9, 0.8], Ema(theta=0.5, leave=LogLeave(c6=1000))),
    "ema-100": Problem([0.9, 0.8], Ema(theta=0.5, leave=LogLeave(c6=100))),
    "ema-low": Problem([0.2, 0.1], Ema(theta=0.5, leave=LogLeave(c6=1000))),
    "opposite": Problem([0.6, 0.5], TwoState(q00=0.5, q01=0.4, q10=0.45, q11=0.02)),
}
"""A and B: the simulation section; C and D: the additional simulations; ema-*: the general-state
appendix; opposite: an instance of the opposite case, which the paper proves but does not plot."""
