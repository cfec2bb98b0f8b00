"""What is simulated, as data: trials in general, and those of the paper."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
    Policy,
    QLearning,
    UCBQLearning,
)
from ..problem import Problem
from ..problem_files import SETTINGS
from ..simulation import PrecisionWarning, Result, StoreWarning, simulate
from ..theory import AssumptionWarning

QUICK = "quick"
"""The precision that every study has: few runs, for a first look."""

VISITS = 20_000
"""The paper's number of episodes."""

CHECKPOINTS = "log:36"

Maker = Callable[[Problem], Policy]
Roster = Mapping[str, Policy | Maker]
"""Policies by the label they have in tables and figures; some are made for the problem."""


def by_label(*policies: Policy) -> Roster:
    """A roster of policies that have the labels they give themselves."""
    return {policy.label: policy for policy in policies}


@dataclass(frozen=True)
class Trial:
    """A roster of policies on one problem.

    `quick` is the number of runs for a first look. At full precision there are `runs`, or for each
    policy as many as the 95 % half-width `precision` takes. With 0 runs the trial is left out.
    `play` simulates: it is called as `simulate` is, and may change what users do.
    """

    name: str
    """Unique in the study."""
    problem: str
    """The name of the problem."""
    make: Callable[[], Problem]
    policies: Roster
    quick: int
    runs: int = 0
    precision: float | str | None = None
    visits: int = VISITS
    checkpoints: str | tuple[int, ...] = CHECKPOINTS
    group: str = ""
    roster: str = ""
    """The group of problems and the name of the roster, in studies that have several."""
    nanoseconds: float = 15.0
    seconds: float = 0.0
    """Expected CPU time per step, and of the whole trial at full precision where that was
    measured; only used to estimate the time left."""
    play: Callable[..., Result] = simulate

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.policies)

    def amount(self, quick: bool) -> dict[str, Any]:
        """How many runs, or how precise, in the words of `simulate`."""
        if quick or self.precision is None:
            return {"runs": self.quick if quick else self.runs}
        return {"precision": self.precision}

    def left_out(self, quick: bool) -> bool:
        return self.amount(quick) == {"runs": 0}

    def effort(self, quick: bool) -> float:
        """Expected CPU seconds."""
        if self.seconds and not quick:
            return self.seconds
        runs = self.quick if quick else self.runs
        steps = runs * self.visits * self.make().at(1).length.mean * len(self.policies)
        return 1e-9 * self.nanoseconds * steps

    def build(self, problem: Problem) -> list[Policy]:
        return [p if isinstance(p, Policy) else p(problem) for p in self.policies.values()]

    def run(self, *, quick: bool, **how: Any) -> Result:
        """Simulate it; `how` are arguments of `simulate`: seed, store, workers, progress."""
        problem = self.make()
        with warnings.catch_warnings():
            # Reports say what these warnings say, and old chunks are not used.
            for category in (AssumptionWarning, PrecisionWarning, StoreWarning):
                warnings.simplefilter("ignore", category)
            how |= {"visits": self.visits, "checkpoints": self.checkpoints, **self.amount(quick)}
            return self.play(problem, self.build(problem), **how)


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
"""Approximate nanoseconds per step: index policies with two-state users, with moving averages, and
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
nanoseconds per step.

"-rl": the paper's Q-learning baselines, whose regret is too large and too variable for a half-width
that suits the others; "-ties", "-theorems" and "B-q": choices that the paper leaves open, made the
other way."""

TRIALS: dict[str, Trial] = {
    name: Trial(
        name, problem, partial(SETTINGS.__getitem__, problem), policies, quick,
        precision=precision, seconds=seconds, nanoseconds=nanoseconds,
    )
    for name, problem, policies, quick, precision, seconds, nanoseconds in TABLE
}  # fmt: skip
