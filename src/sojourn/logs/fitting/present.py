"""What is there now: the log's own recommender, as it was."""

from dataclasses import dataclass

import numpy as np

from ...stats.intervals import Interval
from ...stats.moments import Array
from .sample import Sample
from .totals import FIRST, Totals

ROWS = (FIRST, 0, 1)
"""The values of `previous` behind the rows of a rule."""


@dataclass(frozen=True, eq=False)
class Incumbent:
    """Rewards and steps of a visit under the log's own recommender, and what it showed.

    `reward` and `length` are means over the visits as they are, censored ones as far as they go,
    with intervals clustered by user. `rule` has the shares of the arms at the first step, after a
    0 and after a 1, rare arms left out; `shares` those over all steps.
    """

    reward: Interval
    length: Interval
    rule: Array
    shares: Array


def incumbent(totals: Totals, sample: Sample) -> Incumbent:
    """What the log's recommender earned, from totals, with errors from a sample of users."""
    visits, arms = float(totals.visits), totals.arms
    known = sample.reward < 2
    reward = (arms.successes.sum() + arms.other_successes) / visits
    length = float(totals.steps.sum()) / visits
    own = np.bincount(sample.user[sample.step == 1], minlength=sample.users).astype(float)
    sums = [
        np.bincount(sample.user, weights, sample.users).astype(float)
        for weights in (np.where(known, sample.value, 0.0), np.ones(known.size))
    ]
    errors = [_error(total, own) * float(np.sqrt(sample.share)) for total in sums]
    return Incumbent(
        reward=Interval.from_error(float(reward), errors[0], least=0.0),
        length=Interval.from_error(length, errors[1], least=1.0),
        rule=np.array([_shares(sample, sample.previous == previous) for previous in ROWS]),
        shares=arms.pulls / arms.pulls.sum(),
    )


def _error(total: Array, own: Array) -> float:
    """The standard error of a mean over visits, clustered by user."""
    users = total.size
    residuals = total - total.sum() / own.sum() * own
    return float(np.sqrt(residuals @ residuals * users / max(users - 1, 1)) / own.sum())


def _shares(sample: Sample, rows: Array) -> Array:
    """Of the arms with enough pulls; those of all steps where there is none such."""
    counts = np.bincount(sample.arm[rows], minlength=sample.arms + 1)[: sample.arms]
    total = np.bincount(sample.arm, minlength=sample.arms + 1)[: sample.arms]
    counts = counts if counts.sum() > 0 else total
    return np.asarray(counts / counts.sum(), np.float64)
