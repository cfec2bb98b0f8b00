"""How far into its visits a log can follow a policy, and what may lie beyond.

The visits that still do what the policy would grow fewer with every step, and their weights grow.
Where hardly any is left, an estimate from weights is mostly too low, rarely far too high, and its
standard error, which rests on the same few visits, does not tell.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from .estimate import estimate
from .trajectories import Floats, Ints
from .weights import Weights

LEAST = 20.0
"""Visits of the policy that a step must be worth; those of one user count as one."""
DOUBTFUL = 3.0
"""Standard errors by which the mean weight may be less than 1, from the second step on."""
UNSEEN = 0.2
"""The share of the policy's visits that may go on beyond the reach of an interval."""


@dataclass(frozen=True)
class Reach:
    """The first steps of a visit, each of which the log is worth enough visits of the policy."""

    steps: int
    beyond: float
    """The share of the policy's visits that goes on after them, estimated from the weights."""
    rest: float
    """How many more steps those may make: as many as they do in the log, or as many as the policy
    makes for each departure, whichever is more."""

    @property
    def enough(self) -> bool:
        """Whether so few visits go on that an interval can allow for them."""
        return self.beyond <= UNSEEN

    @property
    def unseen(self) -> float:
        """What a visit may have beyond the reach, in steps: more rewards there cannot be."""
        return self.beyond * self.rest if self.enough else inf


def reach(weights: Weights, horizon: int | None) -> Reach:
    """How far a weighted log goes before its steps are worth fewer than `LEAST` visits."""
    log = weights.log
    steps, last = _follow(weights)
    goes_on = log.length > steps
    if not steps or not (last * goes_on).any():
        return Reach(steps, 1.0 - bool(steps), 0.0)
    seen = weights.after * (log.step < steps)
    left = float((seen * log.left).sum())
    in_log = float((log.length[goes_on] - steps).mean())
    rest = max(in_log, float(seen.sum()) / left if left else inf)
    most = inf if horizon is None else float(horizon - steps)
    return Reach(steps, float((last * goes_on).sum() / last.sum()), min(rest, most))


def _follow(weights: Weights) -> tuple[int, Floats]:
    """The number of steps that can be followed, and the weight of each visit after them.

    A visit that is over keeps its weight, so that the mean over all visits is 1 at every step. It
    is clearly less where the few visits that count for many others are not in the log.
    """
    log = weights.log
    last, going = np.ones(log.visits), np.arange(log.visits)
    for step in range(int(log.length.max())):
        going = going[log.length[going] > step]
        after = last.copy()
        after[going] = weights.after[log.first[going] + step]
        mean = float(after.mean())
        found = estimate(log.user, mean, (after - mean) / log.visits, DOUBTFUL)
        if worth(log.user[going], after[going]) < LEAST or (step and found.high < 1.0):
            return step, last
        last = after
    return int(log.length.max()), last


def worth(user: Ints, weight: Floats) -> float:
    """How many visits of the policy some weighted visits are worth: (sum w)^2 / sum w^2 over users.

    >>> worth(np.array([0, 1, 1, 2]), np.array([2.0, 1.0, 1.0, 0.0]))
    2.0
    """
    each = np.bincount(user, weight)
    squares = float((each**2).sum())
    return float(each.sum()) ** 2 / squares if squares > 0.0 else 0.0
