"""Play policies against populations that a log does not rule out, in the simulator's loop.

Populations are drawn around the fitted one, errors and all. A visit is that of a user of some
class; users come in turn, and come back as in the log. A policy does not know them. It sees what it
would see live, the last reward, and 1 at the first step.

The gain over a rule is summed from advantages: with V the rule's values and Q(step, arm) what is to
come if the arm is shown now and the rule goes on, the sum over all steps of Q - V has the same
mean as the rewards of the policy less those of the rule (performance-difference identity), and far
less variance. Lengths are compared in the same way.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...engine.kernel import BY_LEVEL, REGRET, REWARD as WON, columns
from ...engine.steps import NEVER_BACK
from ...engine.structs import Compiled
from ...policies import Policy
from ...simulation.chunks import Stage, play_stages
from ...stats.departures import logit, probability
from ...stats.intervals import z
from ...stats.moments import Array
from ...users.population import Population
from ..model.fitted import ArmFit, Fit
from ..model.totals import Totals
from ..reading import CENSORED

FEW, APART = 30, 60
"""Visits are cut off by the number of the step, up to `APART`, while `FEW` are there."""

BEST = 6
"""The row of the best arm's mean in `Fit.covariance`, after the six leave probabilities."""

OWN_LAYER = np.array([0, 1])
"""The only layers of a plain population: the first step, and all others."""


def fitted_population(fit: Fit) -> Population:
    """The users of a log: covariate-adjusted if there are steps, else a `plain_population`."""
    return plain_population(fit) if fit.model is None else fit.model.tables()


def draw_populations(fit: Fit, draws: int, *, seed: int = 0) -> tuple[Population, ...]:
    """Populations drawn around the fitted one.

    With a joint model users are drawn anew, and how much arms differ. Without one, log odds of the
    leave probabilities and of the best mean are normal with the fit's covariance, clustered by
    user; those of the other means are normal with the width of their own intervals. Graded rewards
    are 1 if they are good, else 0. A probability of which all or none of the steps count is drawn
    from Beta(k + 1/2, n - k + 1/2), and one without an interval is taken as known.
    """
    validation.whole("draws", draws, 1)
    rng = np.random.default_rng([validation.whole("seed", seed, 0, 2**63 - 1), 6])
    if fit.model is not None:
        return tuple(fit.model.draws(rng, draws))
    drawn = zip(*_parameters(fit, draws, rng), strict=True)
    return tuple(_tables(fit, q, means) for q, means in drawn)


def plain_population(fit: Fit) -> Population:
    """One kind of people, who leave as counted by the last two rewards, whatever they are shown."""
    # What was never, or always, seen to leave is half a step away from that.
    edge = (fit.n > 0) & ((fit.k == 0) | (fit.k == fit.n))
    q = np.where(edge, (fit.k + 0.5) / (fit.n + 1.0), fit.q)
    return _tables(fit, q, np.array([arm.good for arm in fit.arms]))


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


GAIN, LONGER, REWARD, STEPS, VISITS, PULLS = range(6)
"""Columns of what a run adds up; from `PULLS` on, one for each arm."""


@dataclass(frozen=True, eq=False)
class Advantages(Compiled):
    """The advantage of a step over the incumbent's rule: rewards as a price, steps in `account`.

    `rewards` and `lengths` are to come under the rule, by state. Once there are `most` steps, the
    run is told to `stop`.
    """

    rewards: Array
    lengths: Array
    account: Array
    """Steps beyond those of the rule, all steps, and visits."""
    most: float
    stop: NDArray[np.int8]

    def is_free(self, arm: int) -> bool:
        """Every step is accounted for."""
        return False

    def gap(self, user: Any, state: float, arm: int) -> float:
        """The advantage of the rule over the arm, in rewards."""
        here = int(state)
        mean = user.means[user.class_of(state), arm]
        on_0 = (1.0 - mean) * (1.0 - user.leave_probability(state, 0.0, arm))
        on_1 = mean * (1.0 - user.leave_probability(state, 1.0, arm))
        after_0, after_1 = int(user.next_state(state, 0.0)), int(user.next_state(state, 1.0))
        later = on_0 * self.lengths[after_0] + on_1 * self.lengths[after_1]
        self.account[0] += 1.0 + later - self.lengths[here]
        self.account[1] += 1.0
        if user.step_of(state) == 1:
            self.account[2] += 1.0
        if self.account[1] >= self.most:
            self.stop[0] = 1
        later = on_0 * self.rewards[after_0] + on_1 * self.rewards[after_1]
        return self.rewards[here] - mean - later  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Place:
    """Where policies play: populations, each for an equal part of the visits, and a rule's values.

    There are this many `people`, who take turns.
    """

    populations: tuple[Population, ...]
    values: tuple[tuple[Array, Array], ...]
    people: int = NEVER_BACK

    @classmethod
    def of(
        cls, populations: Sequence[Population], rule: Array, people: int = NEVER_BACK
    ) -> "Place":
        """The populations, and what is to come under the incumbent's rule."""
        both = [p.values_under(rule) for p in populations]
        values = tuple((found[..., 0].ravel(), found[..., 1].ravel()) for found in both)
        return cls(tuple(populations), values, people)


def play(place: Place, policy: Policy, seed: int, run: int, visits: int, most: int) -> Array:
    """The totals of one run of at most `visits` visits and `most` steps.

    A visit that is cut off counts as if the rule had gone on with it.
    """
    arms, parts = place.populations[0].arms, len(place.populations)
    policy.check_arms(arms)
    account, stop = np.zeros(3), np.array([most <= 0], np.int8)
    stages = [
        Stage(-(-i * visits // parts), user, user.rewards, Advantages(*own, account, most, stop))
        for i, (user, own) in enumerate(zip(place.populations, place.values, strict=True))
    ]
    bins = place.populations[0].space.bins
    row = np.zeros((1, columns(bins, arms)))
    play_stages(stages, policy, seed, run, np.array([visits]), row, people=place.people, stop=stop)
    out = np.zeros(PULLS + arms)
    out[GAIN], out[REWARD] = -row[0, REGRET], row[0, WON]
    out[LONGER], out[STEPS], out[VISITS] = account
    out[PULLS:] = row[0, BY_LEVEL + bins :].reshape(bins, arms).sum(axis=0)
    return out
