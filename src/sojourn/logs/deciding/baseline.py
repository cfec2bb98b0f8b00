"""What is there now: the log's own recommender, as it was, and as the crowd has it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...stats.intervals import Interval
from ...stats.moments import Array
from ..fitting.crowd import Crowd, Worth
from ..fitting.model import Fit
from ..fitting.sample import Sample
from ..fitting.totals import Totals
from .evidence import advance

LOGGED, EVENLY = "the log's own recommender", "every arm equally often"
LONG = 5_000
"""Steps after which a visit is not followed any further."""


@dataclass(frozen=True, eq=False)
class Baseline:
    """The log's own recommender; for published totals, every arm shown equally often.

    `reward` and `length` of a visit are as they were in the log, with 95 % intervals, and None for
    totals. `model` has both as the fitted people would have them under the recommender's `rule`
    (chances of the arms at the first step, after a 0, after a 1), and `cut` the same if visits are
    cut off as those of the log were: where `reward` is above the reward of `cut`, the recommender
    does something that the model does not see. `shares` are those of the arms.
    """

    name: str
    rule: Array
    shares: Mapping[str, float]
    model: Worth
    cut: Worth | None = None
    reward: Interval | None = None
    length: Interval | None = None

    @property
    def missed(self) -> Interval:
        """The rewards of a visit that the model does not account for, as a share of those it has.

        0 where the two do not differ by more than the error of the log's mean.
        """
        if self.reward is None or self.cut is None:
            return Interval.exact(0.0)
        return Interval(*(x / self.cut.reward - 1.0 for x in self.reward))


def baseline(fit: Fit, crowd: Crowd) -> Baseline:
    """The recommender of a fitted log."""
    names = [arm.name for arm in fit.arms]
    if fit.present is None or fit.totals is None or fit.sample is None:
        rule = np.full((3, len(names)), 1.0 / len(names))
        shares = dict.fromkeys(names, 1.0 / len(names))
        return Baseline(EVENLY, rule, shares, crowd.worth(rule))
    present, reward = fit.present, fit.present.reward
    if fit.threshold is not None:  # graded: the crowd has shares of good rewards
        reward = _good(fit.sample)
    return Baseline(
        name=LOGGED,
        rule=present.rule,
        shares=dict(zip(names, present.shares.tolist(), strict=True)),
        model=crowd.worth(present.rule),
        cut=cut_off(crowd, present.rule, fit.totals),
        reward=reward,
        length=present.length,
    )


def _good(sample: Sample) -> Interval:
    """Good rewards a visit, clustered by user."""
    good = np.bincount(sample.user, sample.reward == 1).astype(float)
    own = np.bincount(sample.user[sample.step == 1], minlength=sample.users)
    mean = float(good.sum() / own.sum())
    error = float(np.linalg.norm(good - mean * own) / own.sum() * np.sqrt(sample.share))
    return Interval.from_error(mean, error, least=0.0)


def cut_off(crowd: Crowd, rule: Array, totals: Totals) -> Worth:
    """Rewards and steps of a visit, if visits are cut off after a step as often as in the log."""
    ends = totals.steps.sum(axis=(0, 2, 3)).astype(float)  # step, end
    cut = np.divide(ends[:, 2], ends.sum(axis=1), out=np.zeros(len(ends)), where=ends[:, 2] > 0)
    there = crowd.shares[:, None] * np.array([0.0, 1.0])
    reward = length = 0.0
    for step in range(1, (crowd.last or LONG) + 1):
        at = min(step, crowd.horizon)
        gain, _ = crowd.step(rule, at, True)
        reward, length = reward + float((there * gain).sum()), length + float(there.sum())
        there = advance(crowd, rule, there, at) * (1.0 - cut[min(step, len(cut)) - 1])
        if there.sum() < 1e-9:
            break
    return Worth(reward, length)
