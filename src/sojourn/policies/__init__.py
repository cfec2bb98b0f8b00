"""Policies: what to show next. `ALL` names each of them once."""

from .base import Counts, Policy
from .gated import IMED, SafeIMED, SafeThompson, Thompson
from .index import (
    KLUCB,
    KLULCB,
    UCB,
    ULCB,
    ContKLULCB,
    ContULCB,
    DiscKLULCB,
    DiscULCB,
    Greedy,
    Index,
)
from .learned import LearnedIMED, LearnedKLUCB, LearnedThompson, LearnedUCB
from .mixture import EpsilonMixture, Rule
from .plain import FixedArm, Uniform
from .qlearning import QLearning, UCBQLearning

__all__ = [
    "ALL",
    "IMED",
    "KLUCB",
    "KLULCB",
    "UCB",
    "ULCB",
    "ContKLULCB",
    "ContULCB",
    "Counts",
    "DiscKLULCB",
    "DiscULCB",
    "EpsilonMixture",
    "FixedArm",
    "Greedy",
    "Index",
    "LearnedIMED",
    "LearnedKLUCB",
    "LearnedThompson",
    "LearnedUCB",
    "Policy",
    "QLearning",
    "Rule",
    "SafeIMED",
    "SafeThompson",
    "Thompson",
    "UCBQLearning",
    "Uniform",
]

ALL: tuple[type[Policy], ...] = (
    UCB,
    KLUCB,
    ULCB,
    KLULCB,
    DiscULCB,
    DiscKLULCB,
    ContULCB,
    ContKLULCB,
    IMED,
    SafeIMED,
    Thompson,
    SafeThompson,
    LearnedUCB,
    LearnedKLUCB,
    LearnedIMED,
    LearnedThompson,
    QLearning,
    UCBQLearning,
    Uniform,
    Greedy,
    EpsilonMixture,
    FixedArm,
)
"""Every policy of the package; tests, command line, benchmarks and docs go through this list."""
