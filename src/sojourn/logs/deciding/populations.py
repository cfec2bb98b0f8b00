"""Populations that a log does not rule out: draws around the fit, errors and all."""

import numpy as np

from ... import validation
from ...stats.departures import logit, probability
from ...stats.intervals import z
from ...stats.moments import Array
from ...users.population import Population
from ..model.fitted import ArmFit, Fit

BEST = 6
"""The row of the best arm's mean in `Fit.covariance`, after the six leave probabilities."""

OWN_LAYER = np.array([0, 1])
"""The only layers of a plain population: the first step, and all others."""


def fitted_population(fit: Fit) -> Population:
    """The users of a log: covariate-adjusted if there are steps, else a `plain_population`."""
    return plain_population(fit) if fit.model is None else fit.model.tables()


def draw_populations(fit: Fit, draws: int, *, seed: int = 0) -> tuple[Population, ...]:
    """Populations drawn around the fitted one.

    With controls (`Fit.controlled`) users are drawn anew, and how much arms differ. Without, log
    odds of the leave probabilities and of the best mean are normal with the fit's covariance,
    clustered by user; those of the other means are normal with the width of their own intervals.
    Graded rewards are 1 in them if they are good, else 0. A probability of which all or none of the
    steps count is drawn from Beta(k + 1/2, n - k + 1/2), and one without an interval is taken as
    known.

    >>> fit = Fit.from_counts(n=[[470, 355], [789, 3488]], k=[[163, 28], [425, 220]],
    ...                       means=[0.794, 0.178])
    >>> [round(float(c.leave[0, 1, 0, 0, 0]), 3) for c in draw_populations(fit, 3)]
    [0.352, 0.348, 0.344]
    """
    validation.whole("draws", draws, 1)
    rng = np.random.default_rng([validation.whole("seed", seed, 0, 2**63 - 1), 6])
    if fit.model is not None:
        return tuple(fit.model.draws(rng, draws))
    drawn = zip(*_parameters(fit, draws, rng), strict=True)
    return tuple(_tables(fit, q, means) for q, means in drawn)


def plain_population(fit: Fit) -> Population:
    """One kind of people, who leave as counted by the last two rewards, whatever they are shown.

    >>> fit = Fit.from_counts(n=[[470, 355], [789, 3488]], k=[[163, 28], [425, 220]],
    ...                       means=[0.794, 0.178])
    >>> plain_population(fit).leave[0, 1, 0].round(3).tolist()
    [[0.347, 0.079], [0.539, 0.063]]
    """
    # What was never, or always, seen to leave is half a step away from that.
    edge = (fit.n > 0) & ((fit.k == 0) | (fit.k == fit.n))
    q = np.where(edge, (fit.k + 0.5) / (fit.n + 1.0), fit.q)
    return _tables(fit, q, np.array([arm.good for arm in fit.arms]))


def _tables(fit: Fit, q: Array, means: Array) -> Population:
    """Of the six leave probabilities and the means; a first step not counted is as after a 1."""
    first = q[:2] if fit.n[:2].min() > 0 else q[4:]
    by_layer = np.array([[first, first], q[2:].reshape(2, 2)])  # layer, previous, reward
    leave = np.broadcast_to(by_layer[None, :, None], (1, 2, means.size, 2, 2))
    return Population(np.ones(1), means[None], np.ascontiguousarray(leave), OWN_LAYER)


def _parameters(fit: Fit, draws: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Leave probabilities [draw, cell] and means [draw, arm], as shares of good rewards."""
    best = int(np.argmax(fit.means))
    estimate = np.array([*fit.q, fit.arms[best].good])
    inside = (estimate > 0.0) & (estimate < 1.0)
    slope = np.divide(1.0, estimate * (1.0 - estimate), out=np.zeros(BEST + 1), where=inside)
    spread = fit.covariance * np.outer(slope, slope)
    joint = probability(
        logit(estimate) + rng.multivariate_normal(np.zeros(BEST + 1), spread, draws)
    )
    for cell in np.flatnonzero(~inside[:BEST] & (fit.n > 0)):
        joint[:, cell] = rng.beta(fit.k[cell] + 0.5, fit.n[cell] - fit.k[cell] + 0.5, draws)
    means = np.stack([_good(arm, draws, rng) for arm in fit.arms], axis=1)
    if inside[BEST]:
        means[:, best] = joint[:, BEST]
    return joint[:, :BEST], means


def _good(arm: ArmFit, draws: int, rng: np.random.Generator) -> Array:
    """The share of good rewards: the mean, within the levels of the arm."""
    if arm.mean.low == arm.mean.high:
        return np.full(draws, arm.good)
    if not 0 < arm.successes < arm.pulls:
        return rng.beta(arm.successes + 0.5, arm.pulls - arm.successes + 0.5, draws)
    value, *ends = (logit(np.array(x)) for x in arm.mean)
    error = (ends[1] - ends[0]) / (2.0 * z())
    low, high = arm.levels
    drawn = (probability(value + error * rng.standard_normal(draws)) - low) / (high - low)
    return np.clip(drawn, 0.0, 1.0)
