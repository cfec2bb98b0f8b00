"""What is measured, as data: settings, targets, numbers of arms, and how long to take."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sojourn import Problem
from sojourn.engine.kernel import Leaser
from sojourn.engine.leases import leaser_for
from sojourn.paper import SETTINGS
from sojourn.policies import POLICIES, Policy

VISITS = 20_000
"""K of the paper's figures."""

PAPER_HALF_WIDTH = 8.73
"""Of the 95 % intervals in the paper's first figure, from ten million runs."""

COMPARED = ("A", "B", "C", "D", "ema-1000", "opposite")

FIRST_FIGURE = ("UCB", "ULCB", "KLUCB", "KLULCB", "QLearning", "UCBQLearning")

GENERAL_STATE = ("DiscULCB", "DiscKLULCB", "ContULCB", "ContKLULCB")
"""On two-state users these are ULCB and KL-ULCB again, and are not measured twice."""

TARGETS: tuple[tuple[str, float, tuple[str, ...]], ...] = (
    ("A", 1.3, ("UCB", "ULCB")),
    ("A", 1.6, ("KLUCB", "KLULCB")),
    ("B", 1.8, ("UCB", "ULCB")),
    ("B", 4.0, ("KLUCB", "KLULCB")),
    ("C", 2.5, ("UCB", "ULCB")),
    ("C", 8.0, ("KLUCB", "KLULCB")),
    ("ema-1000", 1.5, ("DiscULCB", "ContULCB")),
    ("ema-1000", 2.5, ("DiscKLULCB", "ContKLULCB")),
)
"""Setting, greatest ratio to the bare loop, policies."""


@dataclass(frozen=True)
class Plan:
    """How long to take."""

    rounds: int = 7
    patience: float = 2.0
    """Seconds for a job before it is left out of further rounds."""
    visits: int = VISITS
    fast_steps: float = 3e7
    """Steps of one repetition of a bare loop, or of a policy with leases."""
    slow_steps: float = 2e6
    """The same for a policy that decides every step."""
    settings: tuple[str, ...] = COMPARED
    policies: tuple[str, ...] = tuple(POLICIES)
    arms: tuple[int, ...] = (2, 20, 200, 2000)
    budget: float = 6.0
    """Seconds for one run with many arms; the visits are doubled until it takes so long."""
    peer_seconds: float = 1.0
    check_runs: int = 20_000
    precision_runs: int = 1024
    """For policies with leases; others, which are slow, make an eighth of them."""
    serving_rounds: int = 5
    serving_seconds: float = 4.0
    deciding_arms: tuple[int, ...] = (10, 100, 1_000, 10_000)
    decisions: float = 2e5
    """Of one repetition, divided by the number of arms."""


FULL = Plan()
QUICK = Plan(
    rounds=3,
    patience=0.3,
    fast_steps=6e6,
    slow_steps=2e5,
    budget=0.5,
    peer_seconds=0.2,
    check_runs=4_000,
    precision_runs=128,
    serving_rounds=3,
    serving_seconds=1.5,
    decisions=5e4,
)


def leases(policy: Policy) -> bool:
    """Whether a policy ever gives a lease."""
    return type(leaser_for(policy)).lease is not Leaser.lease


def candidates(problem: Problem, names: Sequence[str]) -> dict[str, Policy]:
    """The policies of the package, among those named, that fit a problem."""
    found: dict[str, Policy] = {}
    for name, cls in POLICIES.items():
        two_state = problem.user.space.states is not None
        if name in names and not (two_state and name in GENERAL_STATE):
            found[name] = cls.for_problem(problem)
    return found


def for_setting(name: str, names: Sequence[str]) -> dict[str, Policy]:
    """The same for a named setting; in the opposite case, the opposite policies."""
    found = candidates(SETTINGS[name], names)
    if name == "opposite":
        return {n: p.opposite() if hasattr(p, "opposite") else p for n, p in found.items()}
    return found


def even(arms: int) -> Problem:
    """Means from 0.9 down to 0.5 by equal steps: the more arms, the closer the best ones."""
    return Problem(np.linspace(0.9, 0.5, arms).tolist(), SETTINGS["A"].user)


def clear(arms: int) -> Problem:
    """One arm of 0.9, the others from 0.8 down to 0.5 by equal steps."""
    return Problem([0.9, *np.linspace(0.8, 0.5, arms - 1).tolist()], SETTINGS["A"].user)


FAMILIES = {"even": even, "clear": clear}
