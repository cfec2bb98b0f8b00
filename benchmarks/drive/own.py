"""The recommender that callers have of their own: here a policy, which runs beside the service."""

from collections.abc import Sequence

import numpy as np

from sojourn.engine.streams import policy_stream
from sojourn.live.answers import Ask, Logged
from sojourn.policies import Policy
from sojourn.problem import Problem
from sojourn.service.demo import Crowd


class OwnRecommender:
    """What a policy shows, with the chance of it if the policy can tell.

    It learns from every arm that was shown, its own or not.

    >>> from sojourn.policies import FixedArm, EpsilonMixture
    >>> old = OwnRecommender(EpsilonMixture(FixedArm(1), epsilon=0.4), ["dance", "news"])
    >>> old.show(state=1.0)
    Logged(arm='news', propensity=0.8)
    """

    def __init__(self, policy: Policy, arms: Sequence[str], seed: int = 0, run: int = 0) -> None:
        policy.check_arms(len(arms))
        self.policy, self.arms = policy, tuple(arms)
        self._memory = policy.memory(len(arms))
        self._rng = policy_stream(seed, run)

    def show(self, state: float) -> Logged:
        """What it shows in this state of a visit."""
        chances = self.policy.probabilities(self._memory, state)
        arm = int(self.policy.choose(self._memory, state, self._rng))
        return Logged(self.arms[arm], float(chances[arm]) if np.size(chances) else None)

    def learn(self, state: float, arm: int, reward: float, left: bool, after: float) -> None:
        """What came of an arm, by its number."""
        self.policy.update(self._memory, state, arm, reward, left, after)


class OwnCrowd(Crowd):
    """A crowd that sends with every decision what a recommender of the caller shows.

    Every visit has a user, who is new, but the same in every run with this seed.
    """

    def __init__(self, policy: Policy, problem: Problem, arms: Sequence[str], seed: int, run: int):
        super().__init__(problem, arms, seed, run)
        self._own, self._ids = OwnRecommender(policy, arms, seed, run), f"{seed}.{run}"

    def user_id(self) -> str:
        return f"{self._ids}.{self.begun}"

    def ask(self, state: float, reward: float | None) -> Ask:
        return Ask(reward=reward, logged=self._own.show(state))

    def learn(self, state: float, arm: int, reward: float, left: bool, after: float) -> None:
        self._own.learn(state, arm, reward, left, after)
