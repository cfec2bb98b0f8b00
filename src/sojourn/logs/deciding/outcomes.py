"""What candidates did on draws around a fit, and what that says of each, with intervals."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...policies import Policy
from ...problem import Problem
from ...recommendation import BASELINE, PLAIN, SAFE
from ...simulation import Result
from ...stats.clusters import z
from ...stats.intervals import Interval

Array = NDArray[np.float64]

BLIND = {"KL-ULCB": BASELINE, "KL-ULCB, opposite": BASELINE, SAFE: PLAIN}
"""The same explorer without the state."""


@dataclass(frozen=True)
class Outcome:
    """What a policy is expected to do, with 95 % intervals over the draws.

    `regret` is in rewards over all visits, all else per visit. `gain` and `longer` are reward and
    steps more than KL-UCB has; `aware` is the reward more than the same explorer has that does not
    look at the state (None for those that do not).
    """

    name: str
    policy: Policy
    regret: Interval
    reward: Interval
    length: Interval
    gain: Interval
    longer: Interval
    aware: Interval | None

    @property
    def intervals(self) -> dict[str, Interval | None]:
        """All of them by name."""
        names = ("regret", "reward", "length", "gain", "longer", "aware")
        return {name: getattr(self, name) for name in names}


class Seen(NamedTuple):
    """What each draw gave, by policy; regret and pulls are totals over the visits."""

    names: list[str]
    visits: int
    regret: list[Array]
    noise: list[Array]
    """Squared standard errors of regret differences, [policy, policy]."""
    lost: list[Array]
    """Rewards lost at the steps themselves: pulls times differences of means."""
    value: list[float]
    best: list[float]

    def add(self, problem: Problem, result: Result) -> None:
        """Take in the result of a draw."""
        size = range(len(self.names))
        behind = max(problem.means) - np.array(problem.means)
        self.regret.append(result.regret.mean[:, -1])
        self.noise.append(np.array([[_noise(result, p, q) for q in size] for p in size]))
        self.lost.append(result.pulls.mean[:, -1].sum(axis=1) @ behind)
        self.value.append(problem.value())
        self.best.append(max(problem.means))

    def less(self, name: str) -> list[Interval]:
        """The regret of every policy less that of one."""
        base = self.names.index(name)
        regret, noise = np.array(self.regret), np.mean(self.noise, axis=0)
        return [
            over_draws(regret[:, p] - regret[:, base], noise[p, base])
            for p in range(len(self.names))
        ]

    def outcome(self, name: str, policy: Policy) -> Outcome:
        """What to expect of a policy."""
        p, base = self.names.index(name), self.names.index(BASELINE)
        regret, lost, best = (np.array(x) for x in (self.regret, self.lost, self.best))
        reward = np.array(self.value)[:, None] - regret / self.visits
        # Rewards are means times pulls, so that steps follow from rewards and pulls of worse arms:
        # far sharper than to count them.
        length = (reward + lost / self.visits) / best[:, None]
        noise = np.mean(self.noise, axis=0) / self.visits**2
        gained, longer = (x[:, p] - x[:, base] for x in (reward, length))
        blind = self.names.index(BLIND[name]) if name in BLIND else None
        return Outcome(
            name,
            policy,
            over_draws(regret[:, p]),
            over_draws(reward[:, p]),
            over_draws(length[:, p]),
            over_draws(gained, noise[p, base]),
            # Both come from the same pulls, and so does their noise.
            _between(longer, _noisy(gained, noise[p, base])),
            None if blind is None else over_draws(reward[:, p] - reward[:, blind], noise[p, blind]),
        )


def _noise(result: Result, p: int, q: int) -> float:
    return 0.0 if p == q else float(result.pair(p, q).estimate.std_error[-1]) ** 2


def over_draws(values: Array, noise: float = 0.0) -> Interval:
    """The mean, and where 95 % of the draws are without the chance in each.

    `noise` is the variance that each value has from its few runs. The spread keeps the share of
    the variance that is not noise, and is widened by the noise of the mean.

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
    """The same, if this share of the variance is noise."""
    middle = float(np.mean(values))
    ends = np.percentile(values, [2.5, 97.5], method="weibull") - middle
    error = z() * np.sqrt(noisy * np.var(values, ddof=1) / values.size)
    below, above = np.sqrt((1.0 - noisy) * ends**2 + error**2).tolist()
    return Interval(middle, middle - below, middle + above)
