"""Three problems that change: users of setting B, and three arms that take turns to be the best."""

from collections.abc import Mapping

from sojourn.changing import Changing
from sojourn.problem import Problem
from sojourn.settings import SETTINGS

VISITS = 5_000


def _arms(*means: float) -> Problem:
    return Problem(means, SETTINGS["B"].user)


PROBLEMS: Mapping[str, Changing] = {
    "one change": Changing([(0, _arms(0.6, 0.5, 0.3)), (2_500, _arms(0.4, 0.5, 0.7))]),
    "four changes": Changing(
        [
            (0, _arms(0.6, 0.5, 0.3)),
            (1_000, _arms(0.4, 0.5, 0.3)),
            (2_000, _arms(0.4, 0.5, 0.7)),
            (3_000, _arms(0.6, 0.5, 0.3)),
            (4_000, _arms(0.6, 0.75, 0.3)),
        ]
    ),
    "gradual": Changing.gradually(
        _arms(0.7, 0.5, 0.3), _arms(0.3, 0.5, 0.7), begin=1_250, end=3_750, steps=40
    ),
}
