"""The problems: clickbait, the paper's, improper ones, ten arms for a start, and two priors."""

from collections.abc import Callable, Mapping
from functools import cache, partial

import numpy as np

from sojourn.paper import SETTINGS
from sojourn.problem import Problem
from sojourn.users import ByArm, TwoState
from sojourn.users.by_arm import shifted

from ..beyond.problems import (
    ASSISTMENTS_2015,
    LONGEST,
    NORMAL_Q,
    SHORTEST,
    draw_problem,
    fitted,
    random_problems,
)

CLICKBAIT_Q = (0.15, 0.08, 0.12, 0.06)


def clickbait(best: float, odds: float) -> Problem:
    """Three arms, of which the first has the highest mean and adds log odds of leaving.

    >>> [round(clickbait(*given).value(), 2) for given in ((0.8, 2.0), (0.65, 0.5))]
    [6.34, 6.34]
    """
    user = ByArm.odds(TwoState(*CLICKBAIT_Q, start=0), [odds, 0.0, 0.0])
    return Problem([best, 0.6, 0.4], user)


DRAWS = 200
SPREAD = (0.1, 2.0)
PRIOR = (
    "Arms, means and a common table q as above. The arms differ in leaving by tau, log-uniform on "
    f"[{SPREAD[0]:g}, {SPREAD[1]:g}]: each adds a normal number of deviation tau to the log odds "
    "of its whole table, and one of deviation tau / 2 to each of its four entries. Drawn again: "
    f"problems whose visits last under {SHORTEST} or over {LONGEST:g} steps on average under the "
    "best rule."
)


@cache
def random_by_arm(draws: int = DRAWS, seed: int = 14) -> tuple[Problem, ...]:
    """Problems drawn from the prior that `PRIOR` states.

    >>> problem = random_by_arm(1)[0]
    >>> problem.by_arm, problem == random_by_arm(1)[0]
    (True, True)
    """
    rng, found = np.random.default_rng(seed), list[Problem]()
    while len(found) < draws:
        common = draw_problem(rng, assumption_1=len(found) % 2 == 0)
        assert isinstance(common.user, TwoState)
        tau = float(np.exp(rng.uniform(*np.log(SPREAD))))
        added = tau * rng.standard_normal((common.arms, 1))
        added = added + tau / 2.0 * rng.standard_normal((common.arms, 4))
        q = list(common.user.settings().values())
        users = tuple(TwoState(*map(shifted, q, row)) for row in added.tolist())
        problem = Problem(common.means, ByArm(users))
        if SHORTEST <= problem.length.mean <= LONGEST:
            found.append(problem)
    return tuple(found)


def _drawn(draw: Callable[[], tuple[Problem, ...]], i: int) -> Problem:
    return draw()[i]


PROBLEMS: Mapping[str, Mapping[str, Callable[[], Problem]]] = {
    "clickbait": {
        "clickbait": partial(clickbait, 0.8, 2.0),
        "mild clickbait": partial(clickbait, 0.65, 0.5),
    },
    "paper": {
        name: partial(SETTINGS.__getitem__, name) for name in ("A", "B", "C", "D", "opposite")
    },
    "improper": {
        "best arm is not optimal": partial(Problem, [0.8, 0.7, 0.6], TwoState(0.1, 0.05, 0.1, 0.6)),
        "ASSISTments 2015": partial(fitted, *ASSISTMENTS_2015),
    },
    "early": {
        "ten arms": lambda: Problem(np.linspace(0.75, 0.3, 10).tolist(), TwoState(*NORMAL_Q))
    },
    "random": {f"random {i}": partial(_drawn, random_problems, i) for i in range(DRAWS)},
    "by arm": {f"by arm {i}": partial(_drawn, random_by_arm, i) for i in range(DRAWS)},
}
"""Groups, and in each the problems by name, made when asked for."""
