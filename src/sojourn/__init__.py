"""Bandits whose users may leave: model, theory, policies and simulator of the paper MAB-A."""

from . import live, logs, theory
from .lab import paper
from .live import Experiment
from .logs import Fit, fit
from .policies import (
    ALL,
    IMED,
    KLUCB,
    KLULCB,
    UCB,
    ULCB,
    ContKLULCB,
    ContULCB,
    DiscKLULCB,
    DiscULCB,
    EpsilonMixture,
    FixedArm,
    Greedy,
    LearnedIMED,
    LearnedKLUCB,
    LearnedThompson,
    LearnedUCB,
    QLearning,
    Rule,
    SafeIMED,
    SafeThompson,
    Thompson,
    UCBQLearning,
    Uniform,
)
from .problem import Problem
from .recommendation import Recommendation, recommend
from .simulation import Result, simulate
from .users import Ema, LogLeave, StaysFirst, TwoState, User
from .version import __version__

__all__ = [
    "ALL",
    "IMED",
    "KLUCB",
    "KLULCB",
    "UCB",
    "ULCB",
    "ContKLULCB",
    "ContULCB",
    "DiscKLULCB",
    "DiscULCB",
    "Ema",
    "EpsilonMixture",
    "Experiment",
    "Fit",
    "FixedArm",
    "Greedy",
    "LearnedIMED",
    "LearnedKLUCB",
    "LearnedThompson",
    "LearnedUCB",
    "LogLeave",
    "Problem",
    "QLearning",
    "Recommendation",
    "Result",
    "Rule",
    "SafeIMED",
    "SafeThompson",
    "StaysFirst",
    "Thompson",
    "TwoState",
    "UCBQLearning",
    "Uniform",
    "User",
    "__version__",
    "fit",
    "live",
    "logs",
    "paper",
    "recommend",
    "simulate",
    "theory",
]
