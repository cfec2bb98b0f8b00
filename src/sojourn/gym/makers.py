"""Environments by name: the entry points that Gymnasium calls, and problems of one's own."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import gymnasium
from gymnasium.vector import VectorEnv

from ..problem import Problem
from ..users import Ema, LogLeave, TwoState, User
from .visit import Visit, checked_problem
from .visits import Visits

DEFAULTS: dict[str, dict[str, Any]] = {
    "two_state": {"means": [0.9, 0.8], "q00": 1.0, "q01": 0.0, "q10": 0.0, "q11": 0.0},
    "ema": {"means": [0.9, 0.8], "theta": 0.5, "c6": 1000.0},
    "visit": {},
}
"""Entry points, and the first problem of each kind in the paper; `visit` has to be told its own."""


def register() -> None:
    """Tell Gymnasium of `sojourn/TwoState-v0`, `sojourn/Ema-v0` and `sojourn/Visit-v0`."""
    for maker, defaults in DEFAULTS.items():
        place = f"{__name__}:{maker}"
        gymnasium.register(
            id=f"sojourn/{maker.title().replace('_', '')}-v0",
            entry_point=place,
            vector_entry_point=place,
            kwargs=defaults,
        )


@lru_cache(maxsize=32)
def _solved(means: tuple[float, ...], user: User) -> Problem:
    """The problem, kept: a moving average takes a second to solve, and each of many copies asks."""
    return Problem(means, user)


def _problem(means: Any, user: User) -> Problem:
    try:
        return _solved(tuple(means), user)
    except TypeError:  # not a list of numbers
        return Problem(means, user)


def visit(
    problem: Problem, num_envs: int | None = None, max_episode_steps: int | None = None
) -> Visit | Visits:
    """The entry point of `sojourn/Visit-v0`: one visit, or `num_envs` side by side."""
    if num_envs is None:
        return Visit(problem, max_episode_steps)
    return Visits(problem, num_envs, max_episode_steps)


def two_state(
    means: Sequence[float],
    q00: float,
    q01: float,
    q10: float,
    q11: float,
    start: Any = 1,
    **options: Any,
) -> Visit | Visits:
    """The entry point of `sojourn/TwoState-v0`: the arguments of `TwoState`, flat."""
    return visit(_problem(means, TwoState(q00, q01, q10, q11, start=start)), **options)


def ema(
    means: Sequence[float], theta: float, c6: float, start: Any = 1, **options: Any
) -> Visit | Visits:
    """The entry point of `sojourn/Ema-v0`: the arguments of `Ema` and `LogLeave`, flat."""
    return visit(_problem(means, Ema(theta, LogLeave(c6), start=start)), **options)


def make(problem: Problem, **options: Any) -> gymnasium.Env[Any, Any]:
    """`gymnasium.make` of a problem of one's own, with its usual wrappers and options.

    >>> from sojourn.lab.paper import SETTINGS
    >>> make(SETTINGS["ema-1000"], max_episode_steps=100).observation_space
    Box(0.0, 1.0, (1,), float64)
    """
    return gymnasium.make("sojourn/Visit-v0", problem=checked_problem(problem), **options)


def make_vec(problem: Problem, num_envs: int = 1, **options: Any) -> VectorEnv[Any, Any, Any]:
    """`gymnasium.make_vec` of a problem of one's own.

    >>> from sojourn.lab.paper import SETTINGS
    >>> make_vec(SETTINGS["D"], num_envs=2).action_space
    MultiDiscrete([3 3])
    """
    return gymnasium.make_vec(
        "sojourn/Visit-v0", num_envs, problem=checked_problem(problem), **options
    )
