"""A visit as a Gymnasium environment.

An episode is a visit, an action an arm. The observation is what a policy sees of the state, the
reward is 0 or 1, or a number between if rewards are graded, and leaving is `terminated`. One
uniform draw decides a step by the rule of the simulator (`engine.rewards`), and one more where a
visit begins.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from .. import validation
from ..engine.loops import jitable
from ..problem import Problem
from ..problem_files import problem_of
from ..users import User
from ..validation import InputError


@jitable
def shown(
    user: Any, rewards: Any, prices: Any, state: float, arm: int, u: float
) -> tuple[float, float, bool, float]:
    """Show `arm` once: the state it leads to, the reward, whether the user left, and the gap."""
    reward, left, after = rewards.outcome(user, arm, state, u)
    return after, reward, left, prices.gap(user, state, arm)


def observation_space(user: User) -> spaces.Space[Any]:
    """Two states of experience 0 and 1 as they are; anything else as a number in [0, 1]."""
    if user.space.states == 2 and {user.experience(0.0), user.experience(1.0)} == {0.0, 1.0}:
        return spaces.Discrete(2)
    return spaces.Box(0.0, 1.0, (1,), np.float64)


def observed(space: spaces.Space[Any], experience: Any) -> Any:
    """Experience as an observation, or a batch of them, which is a fresh array each time."""
    return np.array(experience, space.dtype).reshape(space.shape or ())[()]


def refuse_options(options: Mapping[str, Any] | None) -> None:
    """InputError if `reset` was given an option that it would ignore."""
    if options:
        raise InputError(f"options = {options!r} is not allowed: a visit has none")


def step_limit(max_episode_steps: int | None) -> float:
    """The step after which a visit is cut short, if there is one."""
    if max_episode_steps is None:
        return float("inf")
    return validation.whole("max_episode_steps", max_episode_steps, 1)


class VisitEnv(gymnasium.Env[Any, Any]):
    """Visits of one user at a time.

    The observation is the state of a two-state user, 0 or 1, and otherwise an array of one
    number in [0, 1]. `info["gap"]` is V*(s) - Q*(s, a), what the step just made costs in
    expectation: its sum over visits is the regret of whoever learns here, with far less noise
    than rewards have. With `max_episode_steps` a visit that lasts so long is `truncated`; gaps
    know nothing of that, and are those of visits that end by leaving.

    >>> from sojourn.paper import SETTINGS
    >>> env = VisitEnv(SETTINGS["A"])
    >>> env.observation_space, env.action_space
    (Discrete(2), Discrete(2))
    >>> _ = env.reset(seed=1)
    >>> state, reward, left, cut, info = env.step(1)  # the worse arm, where that is cheap
    >>> state, reward, left, round(info["gap"], 6)
    (np.int64(0), 0.0, False, 1.0)
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own spelling

    def __init__(self, problem: Problem | str | Path, max_episode_steps: int | None = None) -> None:
        self.problem = problem = problem_of(problem)
        self.max_episode_steps = step_limit(max_episode_steps)
        self.action_space = spaces.Discrete(problem.arms)
        self.observation_space = observation_space(problem.user)
        self._state: float | None = None
        self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        refuse_options(options)
        super().reset(seed=seed)
        self._state, self._steps = self.problem.user.begin(self.np_random.random()), 0
        return self._observe(self._state), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Show an arm: observation, reward, whether the user left, whether time is up, gap."""
        if self._state is None:
            raise ResetNeeded("no visit is going on: call reset() before step()")
        if not self.action_space.contains(action):
            last = self.problem.arms - 1
            raise InputError(
                f"action = {action!r} is not allowed: it must be a whole number from 0 to {last}"
            )
        user, u = self.problem.user, self.np_random.random()
        rewards, prices = self.problem.coins, self.problem.values.prices
        onward, reward, left, lost = shown(user, rewards, prices, self._state, int(action), u)
        self._steps += 1
        cut = self._steps >= self.max_episode_steps
        self._state = None if left or cut else onward
        return self._observe(onward), reward, bool(left), cut, {"gap": float(lost)}

    def _observe(self, state: float) -> Any:
        return observed(self.observation_space, self.problem.user.experience(state))
