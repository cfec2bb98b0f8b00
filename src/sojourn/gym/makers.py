"""Environments by name: the entry points that Gymnasium calls, and your own problems."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium.vector import VectorEnv

from ..problem import Problem
from ..problem_files import problem_of
from ..rewards import Reward, reward_of
from ..users import EXAMPLES, USERS, ByArm, Levels, User
from .environments import VisitEnv, VisitsEnv

MEANS = (0.9, 0.8)  # of the paper's first problem


def register() -> None:
    """Register `sojourn/Visit-v0`, and `sojourn/Ema-v0` and so on by user model."""
    _register("Visit", "visit", {})
    for model, example in EXAMPLES.items():
        defaults = {"model": model, "means": list(MEANS), **example}
        _register(USERS[model].__name__, "visit_of", defaults)


def _register(name: str, maker: str, defaults: dict[str, Any]) -> None:
    place = f"{__name__}:{maker}"
    gymnasium.register(
        id=f"sojourn/{name}-v0", entry_point=place, vector_entry_point=place, kwargs=defaults
    )


@lru_cache(maxsize=32)
def _solved(user: User, means: Any, rewards: tuple[Reward, ...] | None) -> Problem:
    """The problem, kept: a moving average takes a second to solve, and each of many copies asks."""
    return Problem(means, user, rewards=rewards)


def visit(
    problem: Problem | str | Path, num_envs: int | None = None, max_episode_steps: int | None = None
) -> VisitEnv | VisitsEnv:
    """The entry point of `sojourn/Visit-v0`: one visit, or `num_envs` side by side."""
    if num_envs is None:
        return VisitEnv(problem, max_episode_steps)
    return VisitsEnv(problem, num_envs, max_episode_steps)


def visit_of(
    model: str,
    means: Sequence[float],
    rewards: Sequence[Any] | None = None,
    num_envs: int | None = None,
    max_episode_steps: int | None = None,
    start: Any = None,
    odds: Sequence[float] | None = None,
    thresholds: Sequence[float] | None = None,
    **settings: Any,
) -> VisitEnv | VisitsEnv:
    """The entry point of a user model's environment: its settings, flat.

    With `rewards`, distributions or their form in a problem file, the means are ignored.
    """
    user: User = USERS[model].from_settings(**settings, start=start)
    user = user if odds is None else ByArm.odds(user, odds)
    user = user if thresholds is None else Levels(user, thresholds)  # type: ignore[arg-type]
    if rewards is not None:
        arms = tuple(reward_of(f"rewards[{i}]", arm) for i, arm in enumerate(rewards))
        return visit(_solved(user, None, arms), num_envs, max_episode_steps)
    try:
        problem = _solved(user, tuple(means), None)
    except TypeError:  # not a list of numbers
        problem = Problem(means, user)
    return visit(problem, num_envs, max_episode_steps)


def make(problem: Problem | str | Path, **options: Any) -> gymnasium.Env[Any, Any]:
    """`gymnasium.make` for your own problem, with its usual wrappers and options.

    >>> make("ema-1000", max_episode_steps=100).observation_space
    Box(0.0, 1.0, (1,), float64)
    """
    return gymnasium.make("sojourn/Visit-v0", problem=problem_of(problem), **options)


def make_vec(
    problem: Problem | str | Path, num_envs: int = 1, **options: Any
) -> VectorEnv[Any, Any, Any]:
    """`gymnasium.make_vec` for your own problem.

    >>> make_vec("D", num_envs=2).action_space
    MultiDiscrete([3 3])
    """
    return gymnasium.make_vec("sojourn/Visit-v0", num_envs, problem=problem_of(problem), **options)
