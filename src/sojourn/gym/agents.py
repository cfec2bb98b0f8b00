"""Agents: policies of this package, of river and of mabwiser, and how they play visits."""

from collections.abc import Sequence
from inspect import signature
from typing import Any, NamedTuple, Protocol, runtime_checkable

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from .. import validation
from ..engine.streams import policy_stream
from ..policies import Policy
from ..validation import InputError


@runtime_checkable
class Agent(Protocol):
    """A player: `act` chooses an arm, `observe` learns from the step that it led to."""

    def act(self, observation: Any) -> int:
        """The arm to show now."""

    def observe(
        self, observation: Any, arm: int, reward: float, left: bool, next_observation: Any
    ) -> None:
        """Learn from one step."""


def state_of(observation: Any) -> float:
    """The state in [0, 1] that an observation shows."""
    return float(np.asarray(observation).item())


class PolicyAgent:
    """A policy of this package, with its memory and its stream of coin flips.

    To the policy, a visit that was cut short looks like one that goes on: nobody left.

    >>> import sojourn as sj
    >>> agent = PolicyAgent(sj.policies.KLULCB(), arms=2)
    >>> agent.act(np.int64(1))
    0
    >>> agent.observe(np.int64(1), 0, 1.0, False, np.int64(1))
    >>> agent.act(np.int64(1))
    1
    """

    def __init__(self, policy: Policy, arms: int, seed: int = 0) -> None:
        policy.check_arms(arms)
        self.policy, self.memory = policy, policy.memory(arms)
        self.rng = policy_stream(seed, 0)

    def act(self, observation: Any) -> int:
        return int(self.policy.choose(self.memory, state_of(observation), self.rng))

    def observe(
        self, observation: Any, arm: int, reward: float, left: bool, next_observation: Any
    ) -> None:
        before, after = state_of(observation), state_of(next_observation)
        self.policy.update(self.memory, before, arm, reward, left, after)


class RiverAgent:
    """A policy of river, or anything that has its `pull(arms)` and `update(arm, reward)`.

    A contextual one gets ``{"bias": 1, "state": s}`` as its context.

    >>> from river import bandit
    >>> RiverAgent(bandit.UCB(delta=0.5, seed=1), arms=2).act(np.int64(1))
    0
    """

    def __init__(self, policy: Any, arms: int) -> None:
        self.policy, self.arms = policy, list(range(arms))
        self.contextual = "context" in signature(policy.pull).parameters

    def context(self, observation: Any) -> tuple[dict[str, float], ...]:
        return ({"bias": 1.0, "state": state_of(observation)},) if self.contextual else ()

    def act(self, observation: Any) -> int:
        return int(self.policy.pull(self.arms, *self.context(observation)))

    def observe(
        self, observation: Any, arm: int, reward: float, left: bool, next_observation: Any
    ) -> None:
        self.policy.update(arm, *self.context(observation), reward)


class MabwiserAgent:
    """A `MAB` of mabwiser, or anything that has its `arms`, `predict` and `partial_fit`.

    Every arm is shown once before the first prediction: mabwiser cannot predict without data, and
    gives an arm that it has not seen a score of 0. Its arms may have any names; they are taken in
    order. A contextual one gets ``[1, s]`` as its context.

    >>> from mabwiser.mab import MAB, LearningPolicy
    >>> MabwiserAgent(MAB(["news", "sport"], LearningPolicy.UCB1(alpha=0.5)), arms=2).act(1)
    0
    """

    def __init__(self, policy: Any, arms: int) -> None:
        self.policy, self.names = policy, list(policy.arms)
        if len(self.names) != arms:
            raise InputError(f"policy has {len(self.names)} arms, but the environment has {arms}")
        self.contextual = getattr(policy, "is_contextual", False)
        self.unseen = list(range(arms))

    def context(self, observation: Any) -> tuple[list[list[float]], ...]:
        return ([[1.0, state_of(observation)]],) if self.contextual else ()

    def act(self, observation: Any) -> int:
        if self.unseen:
            return self.unseen[0]
        return self.names.index(self.policy.predict(*self.context(observation)))

    def observe(
        self, observation: Any, arm: int, reward: float, left: bool, next_observation: Any
    ) -> None:
        self.policy.partial_fit([self.names[arm]], [reward], *self.context(observation))
        if arm in self.unseen:
            self.unseen.remove(arm)


def agent_for(policy: Any, arms: int, seed: int = 0) -> Agent:
    """An agent that plays this policy, from any of these packages; an agent is returned as it is.

    `seed` is for the coin flips of a policy of this package; those of others have their own.

    >>> import sojourn as sj
    >>> type(agent_for(sj.policies.UCB(), arms=2)).__name__
    'PolicyAgent'
    >>> agent_for("UCB", arms=2)
    Traceback (most recent call last):
    sojourn.InputError: policy = 'UCB' is not allowed: it must be a policy of sojourn, river or \
mabwiser
    """
    arms, seed = validation.whole("arms", arms, 2), validation.whole("seed", seed, 0, 2**63 - 1)
    if isinstance(policy, Policy):
        return PolicyAgent(policy, arms, seed)
    if isinstance(policy, Agent):
        return policy
    if _has(policy, "pull", "update"):
        return RiverAgent(policy, arms)
    if _has(policy, "predict", "partial_fit"):
        return MabwiserAgent(policy, arms)
    raise InputError(
        f"policy = {policy!r} is not allowed: it must be a policy of sojourn, river or mabwiser"
    )


def _has(policy: Any, *names: str) -> bool:
    """Whether it is no class, and has these methods."""
    methods = (getattr(policy, name, None) for name in names)
    return not isinstance(policy, type) and all(map(callable, methods))


Array = NDArray[np.float64]


class Played(NamedTuple):
    """Totals of every visit: regret (summed from gaps), reward, and the number of steps."""

    regret: Array
    reward: Array
    steps: Array


def play(env: gymnasium.Env[Any, Any], player: Any, visits: int, *, seed: int = 0) -> Played:
    """Let a policy (of this package, river or mabwiser) or an agent play some visits and learn.

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
    """Let one player per environment, side by side, play this many visits each.

    The totals have a row for each. Policies learn separately, with the seeds seed, seed + 1, ...;
    an agent that is listed several times learns from all its visits, as they happen.

    >>> import sojourn as sj
    >>> from sojourn.gym import make_vec
    >>> envs = make_vec(sj.paper.SETTINGS["A"], num_envs=3)
    >>> play_many(envs, [sj.policies.FixedArm(arm=0)] * 3, visits=20).steps.shape
    (3, 20)
    """
    visits = validation.whole("visits", visits, 1)
    if len(players) != envs.num_envs:
        raise InputError(
            f"there are {envs.num_envs} environments, so give as many players, not {len(players)}"
        )
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
