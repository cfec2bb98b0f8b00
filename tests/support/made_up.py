"""Results with numbers that are known because they were made up."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sojourn import Result
from sojourn.engine.kernel import BY_LEVEL, REGRET, STEPS, columns
from sojourn.paper import SETTINGS
from sojourn.paper.results import LabelledResult
from sojourn.policies import ULCB
from sojourn.simulation import Moments, Stream

RUNS = 100


def made_up(
    slopes: dict[str, float],
    spread: float,
    pairs: float = 0.0,
    grid: tuple[int, ...] = (200, 2000, 20000),
    growth: Callable[[Any], Any] = np.log,
) -> LabelledResult:
    """A result on setting B in which regret is the given slope times log K, or another `growth`.

    `spread` is the standard error of every total, `pairs` that of differences. In state 0 regret
    is the slope itself at every K. Visits have 10 steps, 9 of them with the best arm, in state 1.
    """
    points = np.array(grid, np.int64)

    def moments(slope: float) -> Moments:
        mean = np.zeros((points.size, columns(2, 2)))
        mean[:, REGRET] = slope * growth(points)
        mean[:, STEPS] = 10.0 * points
        mean[:, BY_LEVEL] = slope
        mean[:, BY_LEVEL + 1] = slope * growth(points) - slope
        mean[:, -2], mean[:, -1] = 9.0 * points, slope * points
        return Moments(RUNS, mean, np.full_like(mean, (RUNS - 1) * RUNS * spread**2))

    every = list(slopes.values())
    differences = [
        Moments(
            RUNS, (one - other) * np.log(points), np.full(points.size, (RUNS - 1) * RUNS * pairs**2)
        )
        for i, one in enumerate(every)
        for other in every[i + 1 :]
    ]
    result = Result(
        problem=SETTINGS["B"],
        policies=tuple(ULCB(c0=-1, c1=1 + i / 8) for i in range(len(every))),
        checkpoints=points,
        moments=tuple(moments(slope) for slope in every),
        pairs=tuple(differences),
        streams=tuple((Stream(0, 0, RUNS),) for _ in every),
    )
    return LabelledResult(result, tuple(slopes))
