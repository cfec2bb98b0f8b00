"""The effects of arms and rewards, adjusted for the step and the user.

Counts by cell mix users who differ, steps early and late, and arms. The joint model of rewards and
departures (`joint`) holds these apart. Every number has an error from how the users of the log
differ, and from the mix of latent classes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...stats.clusters import clustered
from ...stats.departures import probability
from ...stats.effects import contrasts, holm
from ...stats.intervals import Interval, z
from ...stats.moments import Array
from ...users.population import Population
from ..reading import CENSORED, ON
from .costs import Costs, costs_of
from .design import (
    HORIZON,
    LAYER_ENDS,
    LAYER_OF_STEP,
    LAYERS,
    Layout,
    Shrunk,
    draw_shrunk,
    groups_of,
    layers,
    layout_of,
    shrink,
)
from .joint import LAMBDA, SIGMA, TAU, Codes, JointFit, fit_jointly, latent_classes
from .sample import Sample
from .totals import FIRST, UNKNOWN

MOST = 200_000
"""Larger samples are cut to about this many steps, of users picked at random."""

MANY_CUT = 0.2
ENOUGH = 100
"""The share of visits without a known end from which on they are not followed beyond steps of which
the log has as many as this."""

DELTA = 1e-4
"""The step of differences that stand for derivatives, in log odds."""


@dataclass(frozen=True, eq=False)
class JointModel:
    """The joint model fitted to a sample, with arm effects shrunk as far as the data say.

    `visits[user]` and `steps[user, step - 1, previous]` (after the first) say how the users of the
    log weigh; `previous` are the shares of steps at the first step, after a 0 and after a 1, and
    `occupancy[layer, previous, reward]` is where steps were made. Where many visits are cut off,
    they are taken to end after `last` steps: nothing is known of longer ones.
    """

    names: tuple[str, ...]
    layout: Layout
    joint: JointFit
    shrunk: Shrunk
    pulls: Array
    visits: Array
    steps: Array
    previous: Array
    occupancy: Array
    last: int | None = None

    @property
    def estimate(self) -> Array:
        return self.shrunk.estimate

    @cached_property
    def shares(self) -> Array:
        """The shares of the visits, by class."""
        return self._shares(self.visits)

    def _shares(self, visits: Array) -> Array:
        found = visits @ self.joint.weights
        return np.asarray(found / found.sum())

    def tables(self, parameters: Array | None = None, visits: Array | None = None) -> Population:
        """The users of the log as tables, by these parameters and visits of the users.

        Unless they are given, those are estimates and the visits of the log.
        """
        theta = np.append(self.estimate if parameters is None else parameters, 0.0)
        layout, classes, arms = self.layout, self.joint.classes, len(self.names)
        liked = theta[layout.likes[:arms]][:, None] + np.array([0.0, *theta[layout.after]])
        means = probability((theta[-4] * classes.liking)[:, None, None] + liked) @ self.previous
        by_arm = theta[layout.leaving[:arms]][:, None, None]
        leave = probability(self._log_odds(theta)[:, :, None] + by_arm)
        shares = self.shares if visits is None else self._shares(visits)
        return Population(shares, means, leave, LAYER_OF_STEP, self.last or 0)

    def draws(self, rng: np.random.Generator, number: int) -> Iterator[Population]:
        """Populations that the log does not rule out: users drawn anew, and effects of the arms.

        Every user counts as often as an exponential draw says (the Bayesian bootstrap), for the
        parameters and for the mix of classes.
        """
        counts = rng.exponential(size=(number, self.visits.size))
        parameters = draw_shrunk(self.joint, self.layout, self.pulls, counts, rng)
        spread, errors = self.estimate[SIGMA:], np.sqrt(self.joint.covariance.diagonal()[SIGMA:])
        change = parameters[:, SIGMA:] - spread
        parameters[:, SIGMA:] = moved(spread, change, errors, self._variance_errors)
        for own, theta in zip(counts, parameters, strict=True):
            yield self.tables(theta, own * self.visits)

    @property
    def _variance_errors(self) -> Array:
        """Of sigma^2, lambda^2 and tau^2, if users are alike.

        Sums over the steps of a user, less what is expected, have the variance n p (1 - p); how
        much more they vary is known with the error sqrt(2 / sum of (n p (1 - p))^2).
        """
        own = self.visits + self.steps.sum(axis=(1, 2))
        liked = float(self.shares @ self.tables().means @ self.pulls[: len(self.names)])
        liked /= float(self.pulls[: len(self.names)].sum())
        left = float(self.visits.sum() / own.sum())
        liking, leaving = (np.sqrt(2.0 / (own @ own)) / (p * (1.0 - p)) for p in (liked, left))
        return np.array([liking, leaving, leaving])

    @property
    def arm_odds(self) -> tuple[float, ...]:
        """Log odds of leaving that each arm adds, compared with the average over the pulls."""
        rows = contrasts(self.layout.leaving, self.pulls, self.layout.size)
        return tuple((rows @ self.estimate)[: len(self.names)].tolist())

    @cached_property
    def best(self) -> int:
        """The arm whose visits are worth most, shown alone."""
        return int(np.argmax(self.tables().worth_of_arms()[0]))

    @cached_property
    def costs(self) -> Costs:
        """Mistake costs after a 0 and after a 1, of the same users at the same steps."""
        return self._costs(np.repeat(self.steps.sum(axis=2, keepdims=True), 2, axis=2))

    @cached_property
    def costs_by_state(self) -> Costs:
        """Mistake costs after a 0 and after a 1, averaged over the users in each state.

        A policy that sees the state, but not who it is, trades on these.
        """
        return self._costs(self.steps)

    def _costs(self, steps: Array) -> Costs:
        """Averages over steps[user, step - 1, previous]."""
        weights, (users, horizon, _) = self.joint.weights, steps.shape
        weigh = (weights.T @ steps.reshape(users, -1)).reshape(-1, horizon, 2)
        weigh /= weigh.sum(axis=(0, 1))

        def mean(parameters: Array) -> Array:
            costs = self.tables(parameters).mistake_costs(self.best)
            return np.asarray((weigh * costs).sum(axis=(0, 1)))

        d = mean(self.estimate)
        each = self.tables().mistake_costs(self.best) - d
        by_user = (weights @ each.reshape(len(each), -1)).reshape(steps.shape)
        mix = (steps * by_user).sum(axis=1)
        own = [p for p in (self.layout.likes[self.best], self.layout.leaving[self.best]) if p >= 0]
        slopes = _slopes(mean, self.estimate, np.append(self._common, own))
        return costs_of(d, self._covariance(slopes, mix / steps.sum(axis=(0, 1))))

    def times_as_often(self, effects: Array) -> Array:
        """How many times as often users leave if these are added to the log odds of the average.

        Over all steps of the log.
        """
        theta = np.append(self.joint.estimate, 0.0)
        average = float(self.pulls @ theta[self.layout.leaving] / self.pulls.sum())
        base = self._log_odds(theta) + average  # class, layer, previous, reward
        left = [probability(base + effect) * self.occupancy for effect in (0.0, *effects)]
        often = np.array([each.sum(axis=(1, 2, 3)) @ self.shares for each in left])
        return np.asarray(often[1:] / often[0])

    def _log_odds(self, theta: Array) -> Array:
        """To leave, [class, layer, previous, reward], but for the arm; the last of theta is 0."""
        layout, classes = self.layout, self.joint.classes
        cells = np.empty((LAYERS, 2, 2))
        cells[0], cells[1:] = theta[layout.cells[:2]], theta[layout.cells[2:]].reshape(2, 2)
        cells += theta[layout.layers][:, None, None]
        slope, tau = theta[-3:-1]
        return np.asarray(
            (slope * classes.liking + tau * classes.leaving)[:, None, None, None] + cells
        )

    @cached_property
    def worth(self) -> tuple[tuple[Interval, Interval], ...]:
        """Rewards and steps per visit that shows one arm alone, by arm."""

        def both(parameters: Array) -> Array:
            return np.concatenate(self.tables(parameters).worth_of_arms())

        value, arms = both(self.estimate), len(self.names)
        own = [self.layout.likes[:arms], self.layout.leaving[:arms]]
        slopes = _slopes(both, self.estimate, self._common, own)
        each = np.concatenate(self.tables().values_of_arms(), axis=1) - value
        mix = self.visits[:, None] * (self.joint.weights @ each) / self.visits.sum()
        errors = np.sqrt(self._covariance(slopes, mix).diagonal())
        # Symmetric on the scale of logarithms: a visit's worth is positive and skewed.
        wide = np.exp(1.96 * errors / value)
        ends = np.stack([value, value / wide, value * wide], axis=1).tolist()
        found = [Interval(*own) for own in ends]
        return tuple(zip(found[:arms], found[arms:], strict=True))

    @property
    def _common(self) -> Codes:
        """Parameters that matter for every arm."""
        layout, spread = self.layout, self.layout.size + np.array([SIGMA, LAMBDA, TAU])
        return np.concatenate([layout.after, layout.cells, layout.layers[2:], spread])

    def _covariance(self, slopes: Array, mix: Array) -> Array:
        """Of what has these slopes in the parameters, and moves so with the mix of users."""
        moves = self.shrunk.moves @ slopes.T + mix
        return np.asarray(clustered(moves) + slopes @ self.shrunk.prior @ slopes.T)


@dataclass(frozen=True)
class AdjustedCosts:
    """Mistake costs adjusted for covariates; `name` says for which."""

    name: str
    costs: Costs


def adjusted_costs(sample: Sample, found: JointModel) -> tuple[AdjustedCosts, ...]:
    """Mistake costs adjusted for more and more covariates."""
    return (
        AdjustedCosts("adjusted for step and arm", joint_model(sample, differ=False).costs),
        AdjustedCosts("adjusted for the user too", found.costs),
        AdjustedCosts("averaged over the users in each state", found.costs_by_state),
    )


def joint_model(sample: Sample, differ: bool = True) -> JointModel:
    """The model with controls; with `differ` False users are taken to be alike."""
    share = MOST / sample.user.size
    if share < 1.0:
        sample = sample.of(np.random.default_rng(15).random(sample.users) < share)
    layout = layout_of(sample)
    pulls = np.bincount(sample.arm, minlength=layout.likes.size).astype(float)
    joint = fit_jointly(groups_of(sample, layout), latent_classes(differ))
    later, steps = sample.previous < FIRST, np.zeros((sample.users, HORIZON, 2))
    number = np.minimum(sample.step[later], HORIZON) - 1
    np.add.at(steps, (sample.user[later], number, sample.previous[later]), 1.0)
    previous = np.bincount(sample.previous[sample.previous != UNKNOWN], minlength=3)
    rows, occupancy = sample.telling, np.zeros((LAYERS, 2, 2))
    before = np.where(sample.previous == FIRST, 0, sample.previous)[rows]
    np.add.at(occupancy, (layers(sample.step)[rows], before, sample.reward[rows]), 1.0)
    return JointModel(
        names=sample.names,
        layout=layout,
        joint=joint,
        shrunk=shrink(joint, layout, pulls),
        pulls=pulls,
        visits=np.bincount(sample.user[sample.step == 1], minlength=sample.users).astype(float),
        steps=steps,
        previous=previous[[FIRST, 0, 1]] / previous.sum(),
        occupancy=occupancy,
        last=_last(sample),
    )


def moved(deviations: Array, change: Array, errors: Array, least: Array) -> Array:
    """Deviations after a change; one near 0 changes by what its square does.

    There the likelihood is flat in a deviation, whose `errors` are large, but not in the variance:
    that is known to within `least`. Of both changes the smaller one is made.

    >>> large, small = np.array([1.0, 0.0]), np.array([0.1, 0.4])
    >>> moved(large, np.array([0.1, 0.4]), small, np.array([0.04, 0.04])).round(2).tolist()
    [1.1, 0.2]
    """
    rate = np.maximum(2.0 * np.abs(deviations), least / np.maximum(errors, 1e-12))
    square = deviations * np.abs(deviations) + rate * change
    found = np.sign(square) * np.sqrt(np.abs(square))
    far = np.abs(found - deviations) > np.abs(change)
    return np.asarray(np.where(far, deviations + change, found))


def _last(sample: Sample) -> int | None:
    """The step up to which the log shows what happens, if it cuts off many visits."""
    if np.mean(sample.end[sample.end != ON] == CENSORED) <= MANY_CUT:
        return None
    # What follows a step is not asked after the last one, so it may be one that is always cut off.
    seen = np.flatnonzero(np.bincount(sample.step) >= ENOUGH)
    last = int(seen.max(initial=1))
    return last if last <= LAYER_ENDS[-1] else None


def _slopes(
    function: Callable[[Array], Array], at: Array, single: Codes, by_arm: Sequence[Codes] = ()
) -> Array:
    """Derivatives [value, parameter] by central differences.

    `by_arm` are parameters by arm that matter for their own arm only (`NONE` where it has none):
    they are moved at once, and values come in blocks with one for each arm.
    """

    def moved(parameters: Codes) -> Array:
        step = np.zeros(at.size)
        step[parameters] = DELTA
        return np.asarray((function(at + step) - function(at - step)) / (2.0 * DELTA))

    found = np.zeros((function(at).size, at.size))
    for parameter in single:
        found[:, parameter] = moved(np.array([parameter]))
    for parameters in by_arm:
        own = np.flatnonzero(parameters >= 0)
        change = moved(parameters[own]).reshape(-1, parameters.size)
        for block, row in enumerate(change):
            found[block * parameters.size + own, parameters[own]] = row[own]
    return found


@dataclass(frozen=True)
class ArmEffect:
    """The effect of an arm beyond its rewards.

    `times` is how many times as often users leave after it as after the average arm, with the
    same rewards, at the same steps, the same users; `differs` if that is not 1, with all arms
    tested at once. `worth` and `length` are rewards and steps of a visit that shows this arm
    alone, `mean` its rewards for the average user.
    """

    name: str
    times: Interval
    differs: bool
    worth: Interval
    length: Interval
    mean: float


def arm_effects(found: JointModel) -> tuple[ArmEffect, ...]:
    """The effects of the arms, in the order of the log."""
    arms, layout = len(found.names), found.layout
    rows = contrasts(layout.leaving, found.pulls, layout.size)[:arms]
    effects = rows @ found.joint.estimate
    errors = np.sqrt(clustered(found.joint.moves @ rows.T).diagonal())
    differs, half = holm(effects / errors), z() * errors
    times = [found.times_as_often(at) for at in (effects, effects - half, effects + half)]
    means = found.tables().means.T @ found.shares
    return tuple(
        ArmEffect(name, Interval(*map(float, ends)), bool(flag), *worth, float(mean))
        for name, ends, flag, worth, mean in zip(
            found.names, np.transpose(times), differs, found.worth, means, strict=True
        )
    )
