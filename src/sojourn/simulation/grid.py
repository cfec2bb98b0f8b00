"""Checkpoints: the numbers of visits at which totals are kept."""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..validation import InputError

Checkpoints = int | str | Iterable[int] | None

SPACED = 24  # checkpoints unless said otherwise

SPACINGS: dict[str, Callable[[int, int], NDArray[np.float64]]] = {
    "log": lambda visits, count: np.geomspace(1, visits, count),
    "linear": lambda visits, count: np.linspace(visits / count, visits, count),
}


def checkpoint_grid(visits: int, checkpoints: Checkpoints = None) -> NDArray[np.int64]:
    """The numbers of visits at which to keep totals, ending with `visits`.

    `checkpoints` is a list of them, or how many to spread evenly on a logarithmic scale, or
    "log:24" or "linear:50". Numbers that coincide after rounding are kept once.

    >>> checkpoint_grid(100, 3).tolist(), checkpoint_grid(100, [50]).tolist()
    ([1, 10, 100], [50, 100])
    >>> checkpoint_grid(100, "linear:4").tolist(), checkpoint_grid(100, "log:3").tolist()
    ([25, 50, 75, 100], [1, 10, 100])
    """
    if checkpoints is None:
        checkpoints = SPACED
    if isinstance(checkpoints, str):
        points = _spread(visits, checkpoints)
    elif isinstance(checkpoints, Iterable):
        points = np.array(
            [validation.whole("checkpoints", c, 1, visits) for c in checkpoints], float
        )
    else:
        points = SPACINGS["log"](visits, validation.whole("checkpoints", checkpoints, 1))
    whole = np.append(points.round(), visits).astype(np.int64)
    return np.unique(np.maximum(whole, 1))


def _spread(visits: int, text: str) -> NDArray[np.float64]:
    name, _, count = (part.strip() for part in text.partition(":"))
    if name not in SPACINGS or not count.isdecimal() or int(count) == 0:
        raise InputError(
            f"checkpoints = {text!r} is not allowed: "
            "it must be a number, a list of numbers, or text such as 'log:24' or 'linear:50'"
        )
    return SPACINGS[name](visits, int(count))
