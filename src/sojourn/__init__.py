"""Bandits whose users may leave: model, theory, policies and simulator of the paper MAB-A."""

from . import paper, theory
from .policies import (
    ALL,
    KLUCB,
    KLULCB,
    UCB,
    ULCB,
    ContKLULCB,
    ContULCB,
    DiscKLULCB,
    DiscULCB,
    FixedArm,
    Greedy,
    QLearning,
    UCBQLearning,
    Uniform,
)
from .problem import Problem
from .simulation import Result, simulate
from .users import Ema, LogLeave, StaysFirst, TwoState, User
from .version import __version__

__all__ = [
    "ALL",
    "KLUCB",
    "KLULCB",
    "UCB",
    "ULCB",
    "ContKLULCB",
    "ContULCB",
    "DiscKLULCB",
    "DiscULCB",
    "Ema",
    "FixedArm",
    "Greedy",
    "LogLeave",
    "Problem",
    "QLearning",
    "Result",
    "StaysFirst",
    "TwoState",
    "UCBQLearning",
    "Uniform",
    "User",
    "__version__",
    "paper",
    "simulate",
    "theory",
]
