"""Three nonstationary problems: users of setting B; each of three arms is the best for a while."""

from collections.abc import Mapping

from sojourn.problem import Problem
from sojourn.settings import SETTINGS

VISITS = 5_000


def _arms(*means: float) -> Problem:
    return Problem(means, SETTINGS["B"].user)


PROBLEMS: Mapping[str, Problem] = {
    "one change": Problem.changing([(0, _arms(0.6, 0.5, 0.3)), (2_500, _arms(0.4, 0.5, 0.7))]),
    "four changes": Problem.changing(
        [
            (0, _arms(0.6, 0.5, 0.3)),
            (1_000, _arms(0.4, 0.5, 0.3)),
            (2_000, _arms(0.4, 0.5, 0.7)),
            (3_000, _arms(0.6, 0.5, 0.3)),
            (4_000, _arms(0.6, 0.75, 0.3)),
        ]
    ),
    "gradual": Problem.drifting(
        _arms(0.7, 0.5, 0.3), _arms(0.3, 0.5, 0.7), begin=1_250, end=3_750, steps=40
    ),
}
