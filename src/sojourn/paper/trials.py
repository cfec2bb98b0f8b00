"""What the paper simulates, as data."""

from functools import partial
from typing import Any

from ..policies import (
    KLUCB,
    KLULCB,
    UCB,
    ULCB,
    ContKLULCB,
    ContULCB,
    DiscKLULCB,
    DiscULCB,
    QLearning,
    UCBQLearning,
)
from .settings import SETTINGS
from .trial import Environment, Roster, Trial, by_label


def _index(**how: Any) -> Roster:
    policies = {"UCB": UCB, "ULCB": ULCB, "KL-UCB": KLUCB, "KL-ULCB": KLULCB}
    return {label: policy(**how) for label, policy in policies.items()}


INDEX, FIRST_ARM, THEOREMS = _index(), _index(random_ties=False), _index(c=4)
RL: Roster = {
    "Q-learning, ε-greedy": QLearning(epsilon=0.1),
    "Q-learning, UCB": partial(UCBQLearning.for_problem, c=4.0, visits=1000),
}
GENERAL = by_label(UCB(), DiscULCB(n=4), ContULCB(), KLUCB(), DiscKLULCB(n=4), ContKLULCB())
SIGNS: Roster = {
    "UCB": UCB(),
    "ULCB, right signs": ULCB().opposite(),
    "ULCB, wrong signs": ULCB(),
    "KL-UCB": KLUCB(),
    "KL-ULCB, right signs": KLULCB().opposite(),
    "KL-ULCB, wrong signs": KLULCB(),
}
Q_VARIANTS: Roster = {
    "Q by state, p = 0.05": partial(UCBQLearning.for_problem, p=0.05),
    "Q by state, p = 0.5": partial(UCBQLearning.for_problem, p=0.5),
    "Q by step and state": partial(UCBQLearning.for_problem, by_step=True),
    "Q by state, c = 0.01": partial(UCBQLearning.for_problem, c=0.01),
}

SWEEP_C1: Roster = {f"c1 = {c1:g}": ULCB(c0=-1, c1=c1) for c1 in (0.25, 0.5, 0.75, 1.0, 1.5)}
SWEEP_C0: Roster = {f"c0 = {c0:g}": ULCB(c0=c0, c1=1) for c0 in (-1.0, -0.5, 0.0, 0.5, 1.0)}
BINS: Roster = {f"n = {n}": DiscULCB(n=n) for n in (2, 4, 16, 64)}

INDEX_NS, MOVING_NS, Q_NS = 1.7, 10.2, 40.8
"""Approximate nanoseconds of a step: index policies with two-state users, with moving averages, and
Q-learning."""

TABLE: tuple[tuple[str, str, Roster, int, float | str, float, float], ...] = (
    ("A", "A", INDEX, 512, 5.0, 250, INDEX_NS),
    ("A-rl", "A", RL, 24, "5%", 170, Q_NS),
    ("B", "B", INDEX, 1024, 0.63, 90, INDEX_NS),
    ("B-rl", "B", RL, 64, "5%", 35, Q_NS),
    ("C", "C", INDEX, 1024, 0.12, 120, INDEX_NS),
    ("C-rl", "C", RL, 128, "5%", 6, Q_NS),
    ("D", "D", INDEX, 192, 8.73, 60, INDEX_NS),
    ("D-rl", "D", RL, 16, "5%", 25, Q_NS),
    ("sweep-c1", "A", SWEEP_C1, 256, "8.73 else 2%", 10, INDEX_NS),
    ("sweep-c0", "A", SWEEP_C0, 256, "8.73 else 2%", 10, INDEX_NS),
    ("opposite", "opposite", SIGNS, 1024, 0.3, 400, INDEX_NS),
    ("A-ties", "A", FIRST_ARM, 128, 8.73, 40, INDEX_NS),
    ("B-ties", "B", FIRST_ARM, 512, 0.63, 60, INDEX_NS),
    ("A-theorems", "A", THEOREMS, 128, 8.73, 150, INDEX_NS),
    ("B-theorems", "B", THEOREMS, 512, 0.63, 190, INDEX_NS),
    ("B-q", "B", Q_VARIANTS, 48, "5%", 20, Q_NS),
    ("bins", "ema-100", BINS, 96, 3.11, 400, MOVING_NS),
    ("ema-1000", "ema-1000", GENERAL, 128, 4.43, 300, MOVING_NS),
    ("ema-100", "ema-100", GENERAL, 128, 3.11, 300, MOVING_NS),
    ("ema-low", "ema-low", GENERAL, 192, 0.12, 800, MOVING_NS),
)
"""Name, problem, policies, quick runs, half-width at the paper's precision, seconds that takes, and
nanoseconds of a step.

"-rl": the paper's Q-learning baselines, whose regret is too large and too variable for a half-width
that suits the others; "-ties", "-theorems" and "B-q": choices that the paper leaves open, made the
other way."""


def _environment(problem: str) -> Environment:
    return Environment.of(SETTINGS[problem])


TRIALS: dict[str, Trial] = {
    name: Trial(
        name, problem, partial(_environment, problem), policies, quick,
        precision=precision, seconds=seconds, nanoseconds=nanoseconds,
    )
    for name, problem, policies, quick, precision, seconds, nanoseconds in TABLE
}  # fmt: skip
