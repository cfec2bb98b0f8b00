"""The problems of the paper's figures, by name."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache

from .problem import Problem
from .users import Ema, LogLeave, TwoState, User


def two_bad_in_a_row() -> User:
    """Leaves after two bad items in a row, and only then."""
    return TwoState(q00=1, q01=0, q10=0, q11=0)


@cache
def moving_average_problem(mean: float, other: float, theta: float, c6: float) -> Problem:
    """Two arms and the user of the general-state appendix."""
    return Problem([mean, other], Ema(theta=theta, leave=LogLeave(c6=c6)))


TABLE: dict[str, Callable[[], Problem]] = {
    "A": lambda: Problem([0.9, 0.8], two_bad_in_a_row()),
    "B": lambda: Problem([0.9, 0.8], TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1)),
    "C": lambda: Problem([0.2, 0.1], two_bad_in_a_row()),
    "D": lambda: Problem([0.9, 0.8, 0.5], two_bad_in_a_row()),
    "ema-1000": lambda: moving_average_problem(0.9, 0.8, 0.5, 1000),
    "ema-100": lambda: moving_average_problem(0.9, 0.8, 0.5, 100),
    "ema-low": lambda: moving_average_problem(0.2, 0.1, 0.5, 1000),
    "opposite": lambda: Problem([0.6, 0.5], TwoState(q00=0.5, q01=0.4, q10=0.45, q11=0.02)),
}


class SettingTable(Mapping[str, Problem]):
    """Problems by name, solved when first asked for: importing the package solves nothing."""

    def __getitem__(self, name: str) -> Problem:
        return _made(name)

    def __iter__(self) -> Iterator[str]:
        return iter(TABLE)

    def __len__(self) -> int:
        return len(TABLE)


@cache
def _made(name: str) -> Problem:
    return TABLE[name]()


SETTINGS = SettingTable()
"""A and B: the simulation section; C and D: the additional simulations; ema-*: the general-state
appendix; opposite: an instance of the opposite case, which the paper proves but does not plot.

>>> SETTINGS["A"].means
(0.9, 0.8)
"""
