"""Visits as Gymnasium environments, one or many side by side; by name, and of your own problems.

An episode is a visit, an action an arm. The observation is what a policy sees of the state, the
reward is 0 or 1, or a number between if rewards are graded, and leaving is `terminated`. One
uniform draw decides a step by the rule of the simulator (`engine.rewards`), and one more where a
visit begins.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from .. import validation
from ..engine.loops import jitable, loop
from ..problem import Problem
from ..problem_files import problem_of
from ..rewards import Reward, reward_of
from ..users import EXAMPLES, USERS, ByArm, Levels, User
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
    """InputError if `reset` was given options, which it would ignore."""
    if options:
        raise InputError(f"options = {options!r} is not allowed: a visit has none")


def step_limit(max_episode_steps: int | None) -> float:
    """The step after which a visit is cut short, if there is one."""
    if max_episode_steps is None:
        return float("inf")
    return validation.whole("max_episode_steps", max_episode_steps, 1)


class VisitEnv(gymnasium.Env[Any, Any]):
    """Visits of one user at a time.

    The observation is the state of a two-state user, 0 or 1, and otherwise an array of one number
    in [0, 1]. `info["gap"]` is V*(s) - Q*(s, a), what the step just made costs in expectation: its
    sum over visits is the regret of the agent, with far less noise than rewards have. With
    `max_episode_steps` a visit of that length is `truncated`; gaps ignore that, and are those of
    visits that end by leaving.

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


BLOCK = 64  # draws taken from each generator at a time

Batch = NDArray[Any]


@loop
def step_all(
    user: Any, coins: Any, prices: Any, begins: Batch, states: Batch, arms: Batch, draws: Batch
) -> tuple[Batch, Batch, Batch, Batch, Batch]:
    """One step of many visits."""
    count = states.size
    onward, seen, rewards = np.empty(count), np.empty(count), np.zeros(count)
    left, lost = np.zeros(count, np.bool_), np.zeros(count)
    for i in range(count):
        if begins[i]:
            onward[i] = user.begin(draws[i])
        else:
            onward[i], rewards[i], left[i], lost[i] = shown(
                user, coins, prices, states[i], arms[i], draws[i]
            )
        seen[i] = user.experience(onward[i])
    return onward, seen, rewards, left, lost


class VisitsEnv(VectorEnv[Any, Any, Any]):
    """`num_envs` visits side by side, stepped by compiled code.

    The same as `gymnasium.vector.SyncVectorEnv` over as many `VisitEnv`, draw for draw: with an int
    as seed the visits have the seeds seed, seed + 1, ..., and a list gives each its own. After
    the end of a visit the next step begins another one, whatever its action, with reward 0
    (`AutoresetMode.NEXT_STEP`); such a step has no gap, and `info["_gap"]` is False for it.

    >>> from sojourn.paper import SETTINGS
    >>> envs = VisitsEnv(SETTINGS["A"], num_envs=3)
    >>> envs.reset(seed=1)
    (array([1, 1, 1]), {})
    >>> envs.step(np.array([0, 1, 1]))[-1]["gap"].round(6)
    array([0., 1., 1.])
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self, problem: Problem | str | Path, num_envs: int = 1, max_episode_steps: int | None = None
    ) -> None:
        self.problem = problem = problem_of(problem)
        self.num_envs = validation.whole("num_envs", num_envs, 1)
        self.max_episode_steps = step_limit(max_episode_steps)
        self.single_action_space = spaces.Discrete(problem.arms)
        self.single_observation_space = observation_space(problem.user)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._random: list[tuple[np.random.Generator, int]] = []
        self._begins: Batch | None = None

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        refuse_options(options)
        if seed is not None or not self._random:
            self._random = [seeding.np_random(s) for s in self._seeds(seed)]
            self._draws, self._drawn = np.empty((BLOCK, self.num_envs)), BLOCK
        self._states, self._steps = np.zeros(self.num_envs), np.zeros(self.num_envs, np.int64)
        self._begins = np.ones(self.num_envs, np.bool_)
        seen, *_ = self._advance(np.zeros(self.num_envs, np.int64))
        self._begins = np.zeros(self.num_envs, np.bool_)
        return observed(self.observation_space, seen), {}

    def step(self, actions: Any) -> tuple[Any, Batch, Batch, Batch, dict[str, Any]]:
        """Show every user an arm; `VisitEnv.step` in batches."""
        if self._begins is None:
            raise ResetNeeded("no visit is going on: call reset() before step()")
        seen, rewards, left, lost = self._advance(self._arms(actions))
        self._steps = np.where(self._begins, 0, self._steps + 1)
        cut = self._steps >= self.max_episode_steps
        info = {"gap": lost, "_gap": ~self._begins}
        self._begins = left | cut
        return observed(self.observation_space, seen), rewards, left, cut, info

    def _arms(self, actions: Any) -> Batch:
        arms, last = np.asarray(actions), self.problem.arms - 1
        whole = arms.dtype.kind in "iu" and arms.shape == (self.num_envs,)
        if not whole or arms.min() < 0 or arms.max() > last:
            raise InputError(
                f"actions = {actions!r} is not allowed: "
                f"give {self.num_envs} whole numbers from 0 to {last}"
            )
        return arms.astype(np.int64)

    def _advance(self, arms: Batch) -> tuple[Batch, Batch, Batch, Batch]:
        user, coins, prices = self.problem.user, self.problem.coins, self.problem.values.prices
        assert self._begins is not None
        self._states, seen, rewards, left, lost = step_all(
            user, coins, prices, self._begins, self._states, arms, self._draw()
        )
        return seen, rewards, left, lost

    def _draw(self) -> Batch:
        """The next draw of every generator; a block of them is the same as one by one."""
        if self._drawn == BLOCK:
            self._draws = np.stack([rng.random(BLOCK) for rng in self.np_random], axis=1)
            self._drawn = 0
        draws: Batch = self._draws[self._drawn]
        self._drawn += 1
        return draws

    def _seeds(self, seed: Any) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if np.ndim(seed) == 0:
            first = validation.whole("seed", seed, 0)
            return range(first, first + self.num_envs)
        if len(seed) != self.num_envs:
            raise InputError(
                f"seed = {seed!r} is not allowed: give one number, or {self.num_envs} of them"
            )
        return [validation.whole(f"seed[{i}]", s, 0) for i, s in enumerate(seed)]

    @property  # type: ignore[misc]
    def np_random(self) -> Any:
        """The generators, one per visit; they are up to a block ahead of what was used."""
        return tuple(rng for rng, _ in self._random)

    @property
    def np_random_seed(self) -> Any:
        return tuple(seed for _, seed in self._random)


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
