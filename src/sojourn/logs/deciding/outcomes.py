"""What candidates did in crowds, and what that says of each, with intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...policies import KLUCB, Policy
from ...stats.intervals import Interval, z
from ...stats.moments import Array
from .playing import GAIN, LONGER, PULLS, VISITS

SLIGHT = 0.005
"""A share of rewards: policies that differ by less are as good as each other, a gain below it is
not worth a change, and a loss above it counts even if the simulation is too short to be sure."""

USUAL = KLUCB()
"""The second yardstick, beside what is there now."""


@dataclass(frozen=True)
class CandidateOutcome:
    """What a policy is expected to do, per visit, with 95 % intervals over the draws.

    `gain` and `longer` are rewards and steps beyond those of what is there now, `share` is the gain
    as a share of its rewards, and `over_kl_ucb` the rewards beyond those of KL-UCB. `variants` has
    the gain in every variant, with the error of the simulation, and `shares` how often it shows
    each arm.
    """

    policy: Policy
    reward: Interval
    length: Interval
    gain: Interval
    share: float
    longer: Interval
    over_kl_ucb: Interval
    variants: Mapping[str, Interval]
    shares: Mapping[str, float]

    @property
    def name(self) -> str:
        return self.policy.label

    @property
    def worst(self) -> str:
        """The variant in which it gains least."""
        return min(self.variants, key=lambda name: self.variants[name].value)

    @property
    def at_worst(self) -> Interval:
        """Its gain there."""
        return self.variants[self.worst]

    @property
    def loses(self) -> bool:
        """Whether it earns less than what is there now in a crowd that the log allows."""
        worst, slight = self.at_worst, SLIGHT * (self.reward.value - self.gain.value)
        return self.gain.low < 0.0 or worst.high < 0.0 or worst.value < -slight

    @property
    def pays(self) -> bool:
        """Whether it never loses, and its gain is sure to be worth a change."""
        slight = SLIGHT * (self.reward.value - self.gain.value)
        return not self.loses and self.gain.low > slight


@dataclass(frozen=True, eq=False)
class Played:
    """What the policies added up to in draws and in variants: see `playing.play` for the columns.

    `draws[draw, run, policy, column]` and `variants[variant, run, policy, column]`; `reward` and
    `length` are those of the recommender in each draw, and `lost` what gains in each variant are
    to be lessened by.
    """

    policies: Sequence[Policy]
    arms: Sequence[str]
    names: Sequence[str]
    draws: Array
    variants: Array
    reward: Array
    length: Array
    lost: Array

    def outcome(self, policy: Policy) -> CandidateOutcome:
        p = self.policies.index(policy)
        gain, longer = (self._per_visit(column) for column in (GAIN, LONGER))
        usual = gain - gain[:, :, [self.policies.index(USUAL)]]
        pulls = self.draws[:, :, p, PULLS:].sum(axis=(0, 1))
        return CandidateOutcome(
            policy=policy,
            reward=over_draws(self.reward[:, None] + gain[:, :, p]),
            length=over_draws(self.length[:, None] + longer[:, :, p]),
            gain=over_draws(gain[:, :, p]),
            share=float(gain[:, :, p].mean() / self.reward.mean()),
            longer=over_draws(longer[:, :, p]),
            over_kl_ucb=over_draws(usual[:, :, p]),
            variants=self._in_variants(p),
            shares=dict(zip(self.arms, (pulls / pulls.sum()).tolist(), strict=True)),
        )

    def more(self, policy: Policy, other: Policy) -> Interval:
        """The reward of one beyond that of another over the draws, with its simulation error."""
        p, q = (self.policies.index(x) for x in (policy, other))
        gain = self._per_visit(GAIN)
        return _mean(gain[:, :, p] - gain[:, :, q])

    def _in_variants(self, p: int) -> dict[str, Interval]:
        """Runs of all variants are taken to vary alike."""
        each = self.variants[:, :, p, GAIN] / self.variants[:, :, p, VISITS]
        error = float(np.sqrt(np.var(each, axis=1, ddof=1).mean() / each.shape[1]))
        found = each.mean(axis=1) - self.lost
        return {
            name: Interval.from_error(value, error)
            for name, value in zip(self.names, found.tolist(), strict=True)
        }

    def _per_visit(self, column: int) -> Array:
        """[draw, run, policy]."""
        return np.asarray(self.draws[..., column] / self.draws[..., VISITS])


def over_draws(values: Array) -> Interval:
    """The mean over [draw, run], and the central 95 % of draws with the simulation noise taken out.

    The noise is how runs on one draw differ. The spread of the draws keeps the share of its
    variance that is not noise, and is widened by the error of the mean.

    >>> over_draws(np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]))
    Interval(value=2.0, low=1.0, high=3.0)
    >>> [round(x, 2) for x in over_draws(np.array([[0.0, 2.0], [1.0, 3.0], [2.0, 4.0]]))]
    [2.0, 0.87, 3.13]
    """
    draws, runs = values.shape
    by_draw = values.mean(axis=1)
    middle, spread = float(by_draw.mean()), float(np.var(by_draw, ddof=1))
    noise = float(np.var(values, axis=1, ddof=1).mean()) / runs
    noisy = min(noise / spread, 1.0) if spread > 0.0 else 0.0
    ends = np.percentile(by_draw, [2.5, 97.5], method="weibull") - middle
    error = z() * np.sqrt(noisy * spread / draws)
    below, above = np.sqrt((1.0 - noisy) * ends**2 + error**2).tolist()
    return Interval(middle, middle - below, middle + above)


def _mean(values: Array) -> Interval:
    """The mean over [draw, run], with the error that comes of few runs alone."""
    noise = float(np.var(values, axis=1, ddof=1).mean()) / values.size
    return Interval.from_error(float(values.mean()), float(np.sqrt(noise)))
