"""The incumbent: the log's own recommender, as it was, and as the population has it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...stats.intervals import Interval
from ...stats.moments import Array
from ...users.population import Population, Worth
from ..model.fitted import Fit
from ..model.sample import Sample
from ..model.totals import Totals
from ..reading import CENSORED

LOGGED, EVENLY = "the log's own recommender", "every arm equally often"
FEW, APART = 30, 60
"""Visits are cut off by the number of the step, up to `APART`, while `FEW` are there."""


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
        """Rewards of a visit that a change might lose: those missed, if that is no noise."""
        return self.missed.value * self.model.reward if self.missed.low > 0.0 else 0.0


def baseline(fit: Fit, population: Population) -> Baseline:
    """The recommender of a fitted log, and what it earns in a population."""
    names = [arm.name for arm in fit.arms]
    if fit.incumbent is None or fit.totals is None or fit.sample is None:
        rule = np.full((3, len(names)), 1.0 / len(names))
        shares = dict.fromkeys(names, 1.0 / len(names))
        return Baseline(EVENLY, rule, shares, population.worth_under(rule))
    present, reward = fit.incumbent, fit.incumbent.reward
    if fit.threshold is not None:  # graded: the population has shares of good rewards
        reward = _good(fit.sample)
    return Baseline(
        name=LOGGED,
        rule=present.rule,
        shares=dict(zip(names, present.shares.tolist(), strict=True)),
        model=population.worth_under(present.rule),
        reward=reward,
        length=present.length,
        censored=fit.totals.censored / fit.totals.visits,
    )


def _good(sample: Sample) -> Interval:
    """Good rewards per visit, clustered by user."""
    good = np.bincount(sample.user, sample.reward == 1).astype(float)
    own = np.bincount(sample.user[sample.step == 1], minlength=sample.users)
    mean = float(good.sum() / own.sum())
    error = float(np.linalg.norm(good - mean * own) / own.sum() * np.sqrt(sample.share))
    return Interval.from_error(mean, error, least=0.0)


def cut_off(population: Population, totals: Totals | None) -> Population:
    """The population, with visits cut off after a step as often as in the log.

    So nothing is said of what people would do beyond the end of their visits. To a policy such a
    visit is over.
    """
    if totals is None or totals.censored == 0:
        return population
    ends = totals.steps.sum(axis=(0, 2, 3)).astype(float)  # step, end
    apart = np.flatnonzero(ends.sum(axis=1) >= FEW)[:APART]
    last = int(apart[-1]) if apart.size else 0
    ends = np.concatenate([ends[:last], ends[last:].sum(axis=0, keepdims=True)])
    cut = ends[:, CENSORED] / ends.sum(axis=1)
    # Steps up to the last one are layers of their own.
    steps = np.arange(1, max(population.horizon, last + 1) + 1)
    layer = np.array([population.layer(int(step)) for step in steps])
    begins = (np.diff(layer, prepend=-1) != 0) | (steps <= last + 1)
    refined = population.in_layers(np.cumsum(begins) - 1)
    goes = 1.0 - cut[np.minimum(steps[begins], last + 1) - 1]
    leave = 1.0 - (1.0 - refined.leave) * goes[:, None, None, None]
    return replace(refined, leave=leave)
