"""The value of a policy in the problem fitted to a log, with the error of the fit.

Fitted are the mean of every arm and the chance to leave: for two states (theta = 1) by state and
reward, for a moving average as a piecewise linear curve of the state reached; and the same for the
first step of a visit apart, since in real logs it differs. The fitted problem is solved for the
policy on a grid of states (two states: exactly). The error follows from the derivatives of the
value by the parameters, which are sums over the steps that the policy is expected to make, and from
what each visit adds to the parameters (delta method).

No propensities are needed. What is assumed is the model: rewards depend on the arm only, leaving on
state and reward only, and users are alike.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...policies import Policy
from .curve import KNOTS, Curve, Hats, fit_curve, hats
from .steps import Flags, Floats, Ints, Steps

EVEN, MANY = 128, 48
JUMP, CLOSE = 0.02, 1e-9
MIN_STEPS = 30
"""Steps that the log must have of every arm and, in two states, of every case that matters."""
MIN_SHARE = 0.01
"""What makes less than this share of the policy's steps does not matter."""
LONGEST = 1e9


@dataclass(frozen=True, eq=False)
class Model:
    """What is fitted: means, and chances to leave at the first step and later."""

    steps: Steps
    pulls: Floats
    means: Floats
    curves: tuple[Curve, ...] = ()

    @property
    def parts(self) -> tuple[Flags, Flags]:
        """The rows that the curves are fitted to; where the log stops nothing is known."""
        first = self.steps.step == 0
        return first & ~self.steps.censored, ~first & ~self.steps.censored

    def place(self, state: Floats, reward: float | Floats) -> Floats:
        """What leaving depends on: state and reward, or the state reached."""
        if self.steps.theta == 1.0:
            return 2.0 * state + reward
        return (1.0 - self.steps.theta) * state + self.steps.theta * reward


def fit_model(steps: Steps) -> Model:
    """Means of arms, and chances to leave by least squares, which in two states are frequencies."""
    pulls = np.bincount(steps.arm, minlength=len(steps.arms)).astype(float)
    wins = np.bincount(steps.arm, steps.reward, len(steps.arms))
    bare = Model(steps, pulls, wins / np.maximum(pulls, 1.0))
    place, knots = bare.place(steps.state, steps.reward), None if steps.theta == 1.0 else KNOTS
    first, later = (fit_curve(place[rows], steps.left[rows], knots) for rows in bare.parts)
    return replace(bare, curves=(first, later))


class Branch(NamedTuple):
    """A reward at each of some states: how likely, where it counts, who stays, what follows."""

    chance: Floats
    place: Floats
    stay: Floats
    onward: Hats


class Stage(NamedTuple):
    """Steps that the policy is expected to make: in which states, how many, with what ahead."""

    states: Floats
    chances: Floats
    """Of the arms, a row for each state."""
    reach: Floats
    branches: tuple[Branch, Branch]
    ahead: Floats
    """What the rest of the visit is worth at the states of the grid."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A policy's value in the fitted problem; `influence` is each visit's share in its error."""

    model: Model
    of_reward: bool
    stages: list[Stage]
    opening: Floats
    """The value of each visit before it begins."""
    grid: Floats

    @property
    def value(self) -> float:
        """The mean over visits."""
        return float(self.opening.mean())

    def influence(self) -> Floats:
        """Derivatives by the parameters times what each visit adds to those."""
        model, steps = self.model, self.model.steps
        by_mean, by_leave = self._gradient()
        slope = by_mean / np.maximum(model.pulls, 1.0)
        rows = slope[steps.arm] * (steps.reward - model.means[steps.arm])
        place = model.place(steps.state, steps.reward)
        for curve, gradient, kept in zip(model.curves, by_leave, model.parts, strict=True):
            at = hats(place[kept], curve.knots)
            slopes = at.of(curve.inverse @ gradient)
            rows[kept] += slopes * (steps.left[kept] - at.of(curve.leave))
        return steps.by_visit(rows) + (self.opening - self.value) / steps.visits

    def _gradient(self) -> tuple[Floats, list[Floats]]:
        """Of the value, by the means of the arms and by the knots of both curves."""
        by_mean = np.zeros(self.model.means.size)
        by_leave = [np.zeros(curve.knots.size) for curve in self.model.curves]
        for number, stage in enumerate(self.stages):
            later = min(number, 1)
            knots = self.model.curves[later].knots
            lose, win = ((b, b.onward.of(stage.ahead)) for b in stage.branches)
            cost = float(self.of_reward) + win[0].stay * win[1] - lose[0].stay * lose[1]
            by_mean += (stage.reach * cost) @ stage.chances
            for branch, worth in (lose, win):
                lost = -stage.reach * branch.chance * worth
                by_leave[later] += hats(branch.place, knots).spread(lost, knots.size)
        return by_mean, by_leave

    def surprise(self) -> Floats:
        """Row by row, what happened less what the fitted problem expects of the arm played."""
        model, steps = self.model, self.model.steps
        found = np.empty(steps.arm.size)
        number = np.minimum(steps.step, len(self.stages) - 1)
        for i, stage in enumerate(self.stages):
            rows = number == i
            mean, state, curve = (
                model.means[steps.arm[rows]], steps.state[rows], model.curves[min(i, 1)]
            )  # fmt: skip
            lose, win = (
                (1.0 - curve.at(model.place(state, r)))
                * hats((1.0 - steps.theta) * state + steps.theta * r, self.grid).of(stage.ahead)
                for r in (0.0, 1.0)
            )
            expected = (1.0 - mean) * lose + mean * (win + float(self.of_reward))
            onward = hats(steps.next_state[rows], self.grid).of(stage.ahead)
            earned = steps.reward[rows] if self.of_reward else 0.0
            found[rows] = earned + ~steps.left[rows] * onward - expected
        return found


@dataclass(frozen=True, eq=False)
class Fitted:
    """A policy, with what it remembers, in a fitted problem."""

    model: Model
    policy: Policy
    memory: Any
    horizon: int | None

    @cached_property
    def grid(self) -> Floats:
        """States between which values are linear: both of two; or many, and more where it matters.

        Where the policy jumps from one rule to another, values do too, and so they do at states
        from which a step leads there. Runs of equal rewards lead ever closer to 0 and 1.
        """
        theta = self.model.steps.theta
        if theta == 1.0:
            return np.array([0.0, 1.0])
        even, ends = np.linspace(0.0, 1.0, EVEN + 1), 0.5 ** np.arange(2.0, 45.0)
        jumps = found = self._jumps(even)
        while found.size and jumps.size < MANY:
            found = np.concatenate([found / (1.0 - theta), (found - theta) / (1.0 - theta)])
            found = found[(found >= 0.0) & (found <= 1.0)]
            jumps = np.concatenate([jumps, found])
        near = [jumps - CLOSE, jumps, jumps + CLOSE]
        return np.unique(np.clip(np.concatenate([even, ends, 1.0 - ends, *near]), 0.0, 1.0))

    def _jumps(self, states: Floats) -> Floats:
        """Where the policy changes its mind between two neighbours, by bisection."""
        rows = self.chances(states)
        apart = np.abs(np.diff(rows, axis=0)).max(axis=1) > JUMP
        low, high, below, above = states[:-1][apart], states[1:][apart], rows[:-1], rows[1:]
        for _ in range(50 if low.size else 0):
            middle = (low + high) / 2.0
            here = self.chances(middle)
            up = np.abs(here - above[apart]).sum(axis=1) < np.abs(here - below[apart]).sum(axis=1)
            low, high = np.where(up, low, middle), np.where(up, middle, high)
        return np.asarray(high)

    def chances(self, states: Floats) -> Floats:
        """A row of probabilities for each state."""
        return np.array([self.policy.probabilities(self.memory, float(s)) for s in states])

    def branches(self, states: Floats, chances: Floats, curve: Curve) -> tuple[Branch, Branch]:
        """What may happen at these states: reward 0, reward 1."""
        mean, theta = chances @ self.model.means, self.model.steps.theta

        def branch(reward: float, chance: Floats) -> Branch:
            place = self.model.place(states, reward)
            onward = hats((1.0 - theta) * states + theta * reward, self.grid)
            return Branch(chance, place, 1.0 - curve.at(place), onward)

        return branch(0.0, 1.0 - mean), branch(1.0, mean)

    @cached_property
    def first(self) -> tuple[Floats, Ints, Floats, tuple[Branch, Branch]]:
        """The states in which visits begin, which visit in which, and what may happen there."""
        steps = self.model.steps
        states, which = np.unique(steps.state[steps.first], return_inverse=True)
        chances = self.chances(states)
        return states, which, chances, self.branches(states, chances, self.model.curves[0])

    @cached_property
    def later(self) -> tuple[Floats, tuple[Branch, Branch], Floats]:
        """Chances on the grid, what may happen there, and the matrix of moves that stay."""
        chances = self.chances(self.grid)
        both = self.branches(self.grid, chances, self.model.curves[1])
        moves = [(b.chance * b.stay)[:, None] * b.onward.matrix(self.grid.size) for b in both]
        return chances, both, moves[0] + moves[1]

    @cached_property
    def resolvent(self) -> Floats:
        """Steps expected at every state of the grid, from every one, until the user leaves."""
        try:
            found = np.linalg.inv(np.eye(self.grid.size) - self.later[2])
        except np.linalg.LinAlgError:
            found = np.full((1, 1), np.inf)
        if not (np.abs(found) < LONGEST).all():
            raise ValueError(
                "the log is not allowed without a horizon: by what it says of leaving, some visits "
                "never end"
            )
        return found

    def solve(self, of_reward: bool) -> Solution:
        """The expected total reward of a visit, or its expected length."""
        states, which, chances, opening = self.first
        grid_chances, both, moves = self.later
        means = self.model.means
        earned = grid_chances @ means if of_reward else np.ones(self.grid.size)
        weight = np.bincount(which) / which.size
        size = self.grid.size
        lose, win = (b.onward.spread(weight * b.chance * b.stay, size) for b in opening)
        entry = lose + win
        if self.horizon is None:
            ahead = self.resolvent @ earned
            plan = [(entry @ self.resolvent, ahead)]
        else:
            ahead, plan = _for_a_while(moves, earned, entry, self.horizon)
        now = chances @ means if of_reward else np.ones(states.size)
        value = now + sum(b.chance * b.stay * b.onward.of(ahead) for b in opening)
        stages = [Stage(states, chances, weight, opening, ahead)]
        stages += [Stage(self.grid, grid_chances, reach, both, then) for reach, then in plan]
        return Solution(self.model, of_reward, stages, value[which], self.grid)


def _for_a_while(
    moves: Floats, earned: Floats, entry: Floats, horizon: int
) -> tuple[Floats, list[tuple[Floats, Floats]]]:
    """What is ahead of the first step of so many; then, step by step, who is there and what is."""
    ahead = [np.zeros(earned.size)]
    for _ in range(horizon - 1):
        ahead.append(earned + moves @ ahead[-1])
    worth, plan, reach = ahead.pop(), [], entry
    while ahead:
        plan.append((reach, ahead.pop()))
        reach = reach @ moves
    return worth, plan


def check_support(fitted: Fitted) -> None:
    """Refuse a log that has next to nothing on what the policy does."""
    model, stages = fitted.model, fitted.solve(of_reward=False).stages
    steps = model.steps
    total = np.sum([stage.reach.sum() for stage in stages])
    plays = np.sum([stage.reach @ stage.chances for stage in stages], axis=0) / total
    for arm in np.flatnonzero((plays >= MIN_SHARE) & (model.pulls < MIN_STEPS)):
        raise ValueError(
            f"there is too little overlap: {plays[arm]:.0%} of the policy's steps are with arm "
            f"{steps.arms[arm]!r}, which the log has {model.pulls[arm]:.0f} times, and at least "
            f"{MIN_STEPS} are needed"
        )
    if steps.theta < 1.0:
        return
    place = (2.0 * steps.state + steps.reward)[~steps.censored].astype(int)
    seen = np.bincount(place, minlength=4)
    cases = [
        np.bincount(b.place.astype(int), stage.reach * b.chance, 4)
        for stage in stages
        for b in stage.branches
    ]
    share = np.sum(cases, axis=0) / total
    for case in np.flatnonzero((share >= MIN_SHARE) & (seen < MIN_STEPS)):
        raise ValueError(
            f"there is too little overlap: {share[case]:.0%} of the policy's steps are in state "
            f"{case // 2} with reward {case % 2}, which the log has {seen[case]} times with a "
            f"known end, and at least {MIN_STEPS} are needed"
        )
