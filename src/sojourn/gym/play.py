"""Play agents visit after visit, and add up what they earned and lost."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from .. import validation
from ..validation import InputError
from .agents import agent_for

Array = NDArray[np.float64]


class Played(NamedTuple):
    """Totals of every visit: regret (summed from gaps), reward, and the number of steps."""

    regret: Array
    reward: Array
    steps: Array


def play(env: gymnasium.Env[Any, Any], player: Any, visits: int, *, seed: int = 0) -> Played:
    """Let a policy (of this package, river or mabwiser) or an agent play, and learn, some visits.

    `seed` is for the environment and for the coin flips of a policy of this package.

    >>> import sojourn as sj
    >>> from sojourn.gym import make
    >>> played = play(make(sj.paper.SETTINGS["A"]), sj.policies.FixedArm(arm=0), visits=20)
    >>> played.regret.sum(), played.reward.shape
    (np.float64(0.0), (20,))
    """
    visits = validation.whole("visits", visits, 1)
    agent = agent_for(player, _arms(env.action_space), seed)
    totals = np.zeros((len(Played._fields), visits))
    for visit in range(visits):
        observation, _ = env.reset(seed=seed if visit == 0 else None)
        over = False
        while not over:
            arm = agent.act(observation)
            after, reward, left, cut, info = env.step(arm)
            agent.observe(observation, arm, float(reward), left, after)
            totals[:, visit] += info["gap"], float(reward), 1.0
            observation, over = after, left or cut
    return Played(*totals)


def play_many(
    envs: VectorEnv[Any, Any, Any], players: Sequence[Any], visits: int, *, seed: int = 0
) -> Played:
    """Let one player for each of the environments side by side play that many visits there.

    The totals have a row for each. Policies learn apart, with the seeds seed, seed + 1, ...; an
    agent that is listed several times learns from all its visits, as they happen.

    >>> import sojourn as sj
    >>> from sojourn.gym import make_vec
    >>> envs = make_vec(sj.paper.SETTINGS["A"], num_envs=3)
    >>> play_many(envs, [sj.policies.FixedArm(arm=0)] * 3, visits=20).steps.shape
    (3, 20)
    """
    visits = validation.whole("visits", visits, 1)
    if len(players) != envs.num_envs:
        raise InputError(f"players are {len(players)}, but the environments are {envs.num_envs}")
    arms = _arms(envs.single_action_space)
    agents = [agent_for(player, arms, seed + i) for i, player in enumerate(players)]
    totals = np.zeros((len(Played._fields), envs.num_envs, visits))
    ended = np.zeros(envs.num_envs, np.int64)
    begins = np.zeros(envs.num_envs, np.bool_)  # steps that begin a visit are nobody's choice
    observations, _ = envs.reset(seed=seed)
    while ended.min() < visits:
        busy = np.flatnonzero((ended < visits) & ~begins)
        actions = np.zeros(envs.num_envs, np.int64)
        for i in busy:
            actions[i] = agents[i].act(observations[i])
        after, rewards, left, cut, info = envs.step(actions)
        for i in busy:
            agents[i].observe(
                observations[i], int(actions[i]), float(rewards[i]), bool(left[i]), after[i]
            )
            totals[:, i, ended[i]] += info["gap"][i], rewards[i], 1.0
        begins = left | cut
        ended += begins
        observations = after
    return Played(*totals)


def _arms(space: spaces.Space[Any]) -> int:
    if not isinstance(space, spaces.Discrete):
        raise InputError(f"action_space = {space} is not allowed: it must be Discrete")
    return int(space.n)
