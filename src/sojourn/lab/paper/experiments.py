"""What the paper simulates, as data: which policies on which problem, and how precisely."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from ...policies import (
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
from ...problem import Problem
from .settings import SETTINGS

VISITS = 20_000
"""The paper's number of episodes."""

CHECKPOINTS = "log:36"

STEP_SECONDS, SLOW, MOVING = 1.7e-9, 24.0, 6.0
"""A step of an index policy with a two-state user takes about so long; a step of Q-learning, and
one with a moving-average user, so many times as long. These and `DRAW_SECONDS`, for a figure, are
for the time left only."""
DRAW_SECONDS = 0.4

Maker = Callable[[Problem], Policy]


@dataclass(frozen=True)
class Experiment:
    """Policies, by the label they have in figures, on one problem.

    `quick` is a number of runs; `paper` the half-width that a policy is simulated to.
    """

    problem: str
    policies: Mapping[str, Policy | Maker]
    quick: int
    paper: float | str
    seconds: float = 10.0
    """Of one processor, about, at the paper's precision: for the time left only."""
    visits: int = VISITS
    checkpoints: str = CHECKPOINTS

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in order."""
        return tuple(self.policies)

    def effort(self, quick: bool) -> float:
        """Seconds of one processor, about."""
        if not quick:
            return self.seconds
        problem = SETTINGS[self.problem]
        each = [
            SLOW if callable(p) or isinstance(p, QLearning) else 1.0 for p in self.policies.values()
        ]
        steps = self.quick * self.visits * problem.length.mean
        return STEP_SECONDS * steps * sum(each) * (MOVING if problem.user.states is None else 1.0)

    def build(self, problem: Problem) -> list[Policy]:
        """The policies for this problem, in order."""
        return [p if isinstance(p, Policy) else p(problem) for p in self.policies.values()]


INDEX: dict[str, Policy | Maker] = {
    "UCB": UCB(),
    "ULCB": ULCB(),
    "KL-UCB": KLUCB(),
    "KL-ULCB": KLULCB(),
}
RL: dict[str, Policy | Maker] = {
    "Q-learning, ε-greedy": QLearning(epsilon=0.1),
    "Q-learning, UCB": partial(UCBQLearning.for_problem, c=4.0, visits=1000),
}
GENERAL: dict[str, Policy | Maker] = {
    "UCB": UCB(),
    "DISC-ULCB": DiscULCB(n=4),
    "CONT-ULCB": ContULCB(),
    "KL-UCB": KLUCB(),
    "DISC-KL-ULCB": DiscKLULCB(n=4),
    "CONT-KL-ULCB": ContKLULCB(),
}
SIGNS: dict[str, Policy | Maker] = {
    "UCB": UCB(),
    "ULCB, right signs": ULCB().opposite(),
    "ULCB, wrong signs": ULCB(),
    "KL-UCB": KLUCB(),
    "KL-ULCB, right signs": KLULCB().opposite(),
    "KL-ULCB, wrong signs": KLULCB(),
}
FIRST_ARM: dict[str, Policy | Maker] = {
    "UCB": UCB(random_ties=False),
    "ULCB": ULCB(random_ties=False),
    "KL-UCB": KLUCB(random_ties=False),
    "KL-ULCB": KLULCB(random_ties=False),
}
THEOREMS: dict[str, Policy | Maker] = {
    "UCB": UCB(c=4),
    "ULCB": ULCB(c=4),
    "KL-UCB": KLUCB(c=4),
    "KL-ULCB": KLULCB(c=4),
}
Q_VARIANTS: dict[str, Policy | Maker] = {
    "Q by state, p = 0.05": partial(UCBQLearning.for_problem, p=0.05),
    "Q by state, p = 0.5": partial(UCBQLearning.for_problem, p=0.5),
    "Q by step and state": partial(UCBQLearning.for_problem, by_step=True),
    "Q by state, c = 0.01": partial(UCBQLearning.for_problem, c=0.01),
}

EXPERIMENTS: dict[str, Experiment] = {
    "A": Experiment("A", INDEX, quick=512, paper=5.0, seconds=250),
    "A-rl": Experiment("A", RL, quick=24, paper="5%", seconds=170),
    "B": Experiment("B", INDEX, quick=1024, paper=0.63, seconds=90),
    "B-rl": Experiment("B", RL, quick=64, paper="5%", seconds=35),
    "C": Experiment("C", INDEX, quick=1024, paper=0.12, seconds=120),
    "C-rl": Experiment("C", RL, quick=128, paper="5%", seconds=6),
    "D": Experiment("D", INDEX, quick=192, paper=8.73, seconds=60),
    "D-rl": Experiment("D", RL, quick=16, paper="5%", seconds=25),
    "sweep-c1": Experiment(
        "A",
        {f"c1 = {c1:g}": ULCB(c0=-1, c1=c1) for c1 in (0.25, 0.5, 0.75, 1.0, 1.5)},
        quick=256,
        paper="8.73 else 2%",
    ),
    "sweep-c0": Experiment(
        "A",
        {f"c0 = {c0:g}": ULCB(c0=c0, c1=1) for c0 in (-1.0, -0.5, 0.0, 0.5, 1.0)},
        quick=256,
        paper="8.73 else 2%",
    ),
    "opposite": Experiment("opposite", SIGNS, quick=1024, paper=0.3, seconds=400),
    "A-ties": Experiment("A", FIRST_ARM, quick=128, paper=8.73, seconds=40),
    "B-ties": Experiment("B", FIRST_ARM, quick=512, paper=0.63, seconds=60),
    "A-theorems": Experiment("A", THEOREMS, quick=128, paper=8.73, seconds=150),
    "B-theorems": Experiment("B", THEOREMS, quick=512, paper=0.63, seconds=190),
    "B-q": Experiment("B", Q_VARIANTS, quick=48, paper="5%", seconds=20),
    "bins": Experiment(
        "ema-100",
        {f"n = {n}": DiscULCB(n=n) for n in (2, 4, 16, 64)},
        quick=96,
        paper=3.11,
        seconds=400,
    ),
    "ema-1000": Experiment("ema-1000", GENERAL, quick=128, paper=4.43, seconds=300),
    "ema-100": Experiment("ema-100", GENERAL, quick=128, paper=3.11, seconds=300),
    "ema-low": Experiment("ema-low", GENERAL, quick=192, paper=0.12, seconds=800),
}
"""By name. "-rl": the paper's Q-learning baselines, whose regret is too large and too variable for
a half-width that suits the others; "-ties", "-theorems" and "B-q": choices that the paper leaves
open, made the other way."""
