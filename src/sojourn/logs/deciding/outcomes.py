"""What candidates did on draws around a fit, and what that says of each, with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...policies import IMED, KLUCB, KLULCB, LearnedIMED, Policy
from ...problem import Problem
from ...simulation import Result
from ...stats.intervals import Interval, z
from ...stats.moments import Array

BASELINE = KLUCB()
"""Gains are measured against this policy."""

BLIND: dict[Policy, Policy] = {
    KLULCB(): KLUCB(),
    KLULCB().opposite(): KLUCB(),
    LearnedIMED(): IMED(),
}
"""State-aware policies, and the same exploration without the state."""


@dataclass(frozen=True)
class CandidateOutcome:
    """What a policy is expected to do, with 95 % intervals over the draws.

    `regret` is the total over all visits; everything else is per visit. `gain` and `longer` are
    reward and length minus those of KL-UCB. `aware` is the reward minus that of the same policy
    without the state (`BLIND`), None for policies that do not use the state.
    """

    policy: Policy
    regret: Interval
    reward: Interval
    length: Interval
    gain: Interval
    longer: Interval
    aware: Interval | None

    @property
    def name(self) -> str:
        return self.policy.label


@dataclass(frozen=True)
class PlayedDraws:
    """What the policies did, draw by draw; regret and lost rewards are totals over the visits."""

    policies: Sequence[Policy]
    visits: int
    regret: list[Array] = field(default_factory=list)
    noise: list[Array] = field(default_factory=list)
    """Squared standard errors of regret differences, [policy, policy]."""
    lost: list[Array] = field(default_factory=list)
    """Rewards lost at the steps themselves: pulls times differences of means."""
    value: list[float] = field(default_factory=list)
    best: list[float] = field(default_factory=list)

    def add(self, problem: Problem, result: Result) -> None:
        size = range(len(self.policies))
        behind = max(problem.means) - np.array(problem.means)
        self.regret.append(result.regret.mean[:, -1])
        self.noise.append(np.array([[_noise(result, p, q) for q in size] for p in size]))
        self.lost.append(result.pulls.mean[:, -1].sum(axis=1) @ behind)
        self.value.append(problem.value())
        self.best.append(max(problem.means))

    def less(self, policy: Policy) -> list[Interval]:
        base = self.policies.index(policy)
        regret, noise = np.array(self.regret), np.mean(self.noise, axis=0)
        return [
            over_draws(regret[:, p] - regret[:, base], noise[p, base])
            for p in range(len(self.policies))
        ]

    def outcome(self, policy: Policy) -> CandidateOutcome:
        p, base = self.policies.index(policy), self.policies.index(BASELINE)
        regret, lost, best = (np.array(x) for x in (self.regret, self.lost, self.best))
        reward = np.array(self.value)[:, None] - regret / self.visits
        # Rewards are means times pulls, so the length follows from the reward and the pulls of
        # worse arms, with far less variance than counted steps have.
        length = (reward + lost / self.visits) / best[:, None]
        noise = np.mean(self.noise, axis=0) / self.visits**2
        gained, longer = (x[:, p] - x[:, base] for x in (reward, length))
        aware = None
        if policy in BLIND:
            blind = self.policies.index(BLIND[policy])
            aware = over_draws(reward[:, p] - reward[:, blind], noise[p, blind])
        return CandidateOutcome(
            policy=policy,
            regret=over_draws(regret[:, p]),
            reward=over_draws(reward[:, p]),
            length=over_draws(length[:, p]),
            gain=over_draws(gained, noise[p, base]),
            # Reward and length come from the same pulls, and so does their noise.
            longer=_between(longer, _noisy(gained, noise[p, base])),
            aware=aware,
        )


def _noise(result: Result, p: int, q: int) -> float:
    return 0.0 if p == q else float(result.pair(p, q).estimate.std_error[-1]) ** 2


def over_draws(values: Array, noise: float = 0.0) -> Interval:
    """The mean over draws and the central 95 % of them, with the simulation noise taken out.

    `noise` is the variance of each value due to its few runs. The spread of the draws keeps the
    share of its variance that is not noise, and is widened by the error of the mean.

    >>> over_draws(np.array([1.0, 2.0, 3.0]))
    Interval(value=2.0, low=1.0, high=3.0)
    >>> [round(x, 3) for x in over_draws(np.array([1.0, 2.0, 3.0]), noise=0.75)]
    [2.0, 0.9, 3.1]
    """
    return _between(values, _noisy(values, noise))


def _noisy(values: Array, noise: float) -> float:
    """The share of the variance that is noise."""
    spread = float(np.var(values, ddof=1))
    return min(noise / spread, 1.0) if spread > 0.0 else 0.0


def _between(values: Array, noisy: float) -> Interval:
    """The same for a known share of noise."""
    middle = float(np.mean(values))
    ends = np.percentile(values, [2.5, 97.5], method="weibull") - middle
    error = z() * np.sqrt(noisy * np.var(values, ddof=1) / values.size)
    below, above = np.sqrt((1.0 - noisy) * ends**2 + error**2).tolist()
    return Interval(middle, middle - below, middle + above)
