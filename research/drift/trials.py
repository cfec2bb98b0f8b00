"""Who plays: three policies as they are, and what forgets around them."""

from functools import partial

from sojourn.paper.trial import Environment, Trial, by_label
from sojourn.policies import KLULCB, Discounted, LearnedIMED, Restarting, VisitIMED, Windowed
from sojourn.problem import Problem
from sojourn.settings import SETTINGS
from sojourn.simulation import simulate

from .problems import PROBLEMS, VISITS

MOVING, STILL = "moving", "still"
"""The groups: something changes, and nothing does."""

PLAIN, DETECTOR = LearnedIMED(), Restarting(LearnedIMED())
EXPLORING = Restarting(LearnedIMED(), explore=0.01)
FADING, WINDOW = Discounted(LearnedIMED(), half_life=2_000), Windowed(LearnedIMED(), window=4_000)

EVERYONE = by_label(
    PLAIN, KLULCB(), VisitIMED(),
    DETECTOR, Restarting(LearnedIMED(), local=True), EXPLORING, Restarting(KLULCB()),
    FADING, WINDOW,
)  # fmt: skip
FORGETFUL = by_label(PLAIN, DETECTOR, EXPLORING, FADING, WINDOW)

RUNS = {"B": (16, 200), "opposite": (16, 200), "A": (2, 12), "ema-1000": (2, 12)}
"""Quick and full, of the paper's settings at the paper's 20,000 visits."""


def _environment(problem: Problem) -> Environment:
    return Environment(problem.at(1), partial(simulate, problem))


TRIALS: tuple[Trial, ...] = (
    *(
        Trial(
            name, name, partial(_environment, problem), EVERYONE, 16, 400, visits=VISITS,
            checkpoints=(VISITS // 2, VISITS), group=MOVING, roster=MOVING, nanoseconds=150.0,
        )
        for name, problem in PROBLEMS.items()
    ),
    *(
        Trial(
            name, name, partial(_environment, SETTINGS[name]), FORGETFUL, *runs,
            checkpoints=(2_000, 20_000), group=STILL, roster=STILL, nanoseconds=150.0,
        )
        for name, runs in RUNS.items()
    ),
)  # fmt: skip
