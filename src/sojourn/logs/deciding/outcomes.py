"""What the incumbent earns, what candidates did in populations, and their forecasts.

Forecasts are **of one run**: a population is drawn, a policy plays its visits once, and so for
every draw. The interval contains what the log leaves open and the luck of learning. If the people
of the log are like one more draw, a run falls below it, and above it, 1 time in 40 each. What is
decided goes by runs on **average**, whose interval is without the luck.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...policies import KLUCB, Policy
from ...stats.intervals import Interval, z
from ...stats.moments import Array
from ...users.population import Population, Worth
from ..model.fitted import Fit
from .playing import GAIN, LONGER, PULLS, VISITS

LOGGED, EVENLY = "the log's own recommender", "every arm equally often"

SLIGHT = 0.005
"""A share of rewards: policies that differ by less are as good as each other, a gain below it is
not worth a change, and a loss above it counts even if the simulation is too short to be sure."""

UNLUCKY = "unlucky"
"""The worst case without any stress: the lower end of the gain."""

USUAL = KLUCB()
"""The second yardstick, beside the incumbent."""


@dataclass(frozen=True, eq=False)
class Baseline:
    """The log's own recommender; for published totals, every arm shown equally often.

    `reward` and `length` of a visit are as they were in the log, with 95 % intervals, and None for
    totals. `model` has both as the fitted people would have them under the recommender's `rule`
    (chances of the arms at the first step, after a 0, after a 1): where `reward` is above that, the
    recommender does something that the model does not see. `shares` are those of the arms, and
    `censored` that of the visits that were cut off.
    """

    name: str
    rule: Array
    shares: Mapping[str, float]
    model: Worth
    reward: Interval | None = None
    length: Interval | None = None
    censored: float = 0.0

    @property
    def missed(self) -> Interval:
        """The rewards of a visit that the model does not account for, as a share of those it has.

        The interval is that of the log's mean.
        """
        if self.reward is None:
            return Interval.exact(0.0)
        return Interval(*(x / self.model.reward - 1.0 for x in self.reward))

    @property
    def unseen(self) -> float:
        """Rewards of a visit that a change might lose: those missed, if they are significant."""
        return self.missed.value * self.model.reward if self.missed.low > 0.0 else 0.0


def baseline(fit: Fit, population: Population) -> Baseline:
    """The recommender of a fitted log, and what it earns in a population."""
    names = [arm.name for arm in fit.arms]
    if fit.incumbent is None or fit.totals is None or fit.sample is None:
        rule = np.full((3, len(names)), 1.0 / len(names))
        shares = dict.fromkeys(names, 1.0 / len(names))
        return Baseline(EVENLY, rule, shares, population.worth_under(rule))
    present, reward, sample = fit.incumbent, fit.incumbent.reward, fit.sample
    if fit.threshold is not None:  # graded: the population has shares of good rewards
        good = np.bincount(sample.user, sample.reward == 1).astype(float)
        own = np.bincount(sample.user[sample.step == 1], minlength=sample.users)
        mean = float(good.sum() / own.sum())
        error = np.linalg.norm(good - mean * own) / own.sum() * np.sqrt(sample.share)
        reward = Interval.from_error(mean, float(error), least=0.0)
    return Baseline(
        name=LOGGED,
        rule=present.rule,
        shares=dict(zip(names, present.shares.tolist(), strict=True)),
        model=population.worth_under(present.rule),
        reward=reward,
        length=present.length,
        censored=fit.totals.censored / fit.totals.visits,
    )


@dataclass(frozen=True)
class CandidateOutcome:
    """The forecast for a policy, per visit, with intervals that contain 95 % of runs.

    `gain` and `longer` are rewards and steps beyond those of the incumbent, `share` is the gain
    as a share of its rewards, and `over_kl_ucb` the rewards beyond those of KL-UCB. `average` is
    the gain too, with the interval of what runs gain on average. `worst_cases` has that in every
    worst case, with the error of the simulation, and `shares` how often it shows each arm.
    """

    policy: Policy
    reward: Interval
    length: Interval
    gain: Interval
    average: Interval
    share: float
    longer: Interval
    over_kl_ucb: Interval
    worst_cases: Mapping[str, Interval]
    shares: Mapping[str, float]

    @property
    def name(self) -> str:
        return self.policy.label

    @property
    def cases(self) -> Mapping[str, Interval]:
        """Its gain in bad cases: an `UNLUCKY` run, and the worst cases."""
        return {UNLUCKY: Interval.exact(self.gain.low), **self.worst_cases}

    @property
    def worst(self) -> str:
        """The case in which it gains least."""
        return min(self.cases, key=lambda name: self.cases[name].value)

    @property
    def worst_gain(self) -> Interval:
        """Its gain there."""
        return self.cases[self.worst]

    @property
    def stressed(self) -> Interval:
        """Its gain in the worst case apart from luck."""
        return min(self.worst_cases.values(), key=lambda gain: gain.value)

    @property
    def loses(self) -> bool:
        """Whether it earns less than the incumbent, on average, in a population the log allows."""
        worst, slight = self.stressed, SLIGHT * (self.reward.value - self.gain.value)
        return self.average.low < 0.0 or worst.high < 0.0 or worst.value < -slight

    @property
    def pays(self) -> bool:
        """Whether it never loses, and its gain is large enough to be worth a change."""
        slight = SLIGHT * (self.reward.value - self.gain.value)
        return not self.loses and self.average.low > slight


@dataclass(frozen=True, eq=False)
class Played:
    """What the policies added up to in draws and in worst cases: `playing.play` has the columns.

    `draws[draw, policy, column]` and `worst_cases[case, run, policy, column]`; `reward` and
    `length` are those of the recommender in each draw, and `lost` what gains in each worst case are
    to be lessened by.
    """

    policies: Sequence[Policy]
    arms: Sequence[str]
    names: Sequence[str]
    draws: Array
    worst_cases: Array
    reward: Array
    length: Array
    lost: Array

    def outcome(self, policy: Policy) -> CandidateOutcome:
        p = self.policies.index(policy)
        gain, longer = (self._per_visit(column) for column in (GAIN, LONGER))
        usual = gain - gain[:, [self.policies.index(USUAL)]]
        pulls = self.draws[:, p, PULLS:].sum(axis=0)
        stressed = self.worst_cases[:, :, p, GAIN] / self.worst_cases[:, :, p, VISITS]
        luck = float(np.var(stressed, axis=1, ddof=1).mean())  # of runs in one population
        error = float(np.sqrt(luck / stressed.shape[1]))
        each = (stressed.mean(axis=1) - self.lost).tolist()
        return CandidateOutcome(
            policy=policy,
            reward=over_draws(self.reward + gain[:, p]),
            length=over_draws(self.length + longer[:, p]),
            gain=over_draws(gain[:, p]),
            average=without_luck(gain[:, p], luck),
            share=float(gain[:, p].mean() / self.reward.mean()),
            longer=over_draws(longer[:, p]),
            over_kl_ucb=over_draws(usual[:, p]),
            worst_cases={
                name: Interval.from_error(value, error)
                for name, value in zip(self.names, each, strict=True)
            },
            shares=dict(zip(self.arms, (pulls / pulls.sum()).tolist(), strict=True)),
        )

    def more(self, policy: Policy, other: Policy) -> Interval:
        """The mean reward of one beyond that of another, with its error over the draws."""
        p, q = (self.policies.index(x) for x in (policy, other))
        gain = self._per_visit(GAIN)
        more = gain[:, p] - gain[:, q]
        return Interval.from_error(float(more.mean()), float(np.std(more, ddof=1) / more.size**0.5))

    def _per_visit(self, column: int) -> Array:
        """[draw, policy]."""
        return np.asarray(self.draws[..., column] / self.draws[..., VISITS])


def over_draws(values: Array) -> Interval:
    """The mean of runs, one on every draw, and the ends between which 95 % of all runs are.

    An end is the order statistic of rank (n + 1) / 40 on its side: with 39 draws the least and the
    greatest, which a further run goes beyond 1 time in 40, whatever the distribution.
    """
    low, high = np.percentile(values, [2.5, 97.5], method="weibull").tolist()
    return Interval(float(values.mean()), low, high)


def without_luck(values: Array, luck: float) -> Interval:
    """The mean of runs, one on every draw, and where 95 % of the draws' own means are.

    The spread of the runs keeps the share of its variance that is not `luck`, and is widened by
    what luck leaves of the error of the mean.
    """
    middle, low, high = over_draws(values)
    spread = float(np.var(values, ddof=1))
    lucky = min(luck / spread, 1.0) if spread > 0.0 else 0.0
    error = z() * np.sqrt(lucky * spread / values.size)
    ends = np.array([low - middle, high - middle])
    below, above = np.sqrt((1.0 - lucky) * ends**2 + error**2).tolist()
    return Interval(middle, middle - below, middle + above)
