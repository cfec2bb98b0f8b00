"""Policies: what to show next. `ALL` names each of them once."""

from .base import Counts, Policy
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
from .plain import FixedArm, Uniform
from .qlearning import QLearning, UCBQLearning

__all__ = [
    "ALL",
    "KLUCB",
    "KLULCB",
    "UCB",
    "ULCB",
    "ContKLULCB",
    "ContULCB",
    "Counts",
    "DiscKLULCB",
    "DiscULCB",
    "FixedArm",
    "Greedy",
    "Index",
    "Policy",
    "QLearning",
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
    QLearning,
    UCBQLearning,
    Uniform,
    Greedy,
    FixedArm,
)
"""Every policy of the package; tests, command line, benchmarks and docs go through this list."""
