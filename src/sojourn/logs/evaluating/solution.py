"""The value of a policy in a fitted problem, with the error that it inherits from the fit.

The fitted problem is solved for the policy on a grid of states (two states: exactly). The gradient
of the value by the fitted parameters is a sum over the steps that the policy is expected to make;
times each visit's influence on the parameters it gives the error (delta method).

No propensities are needed. What is assumed is the model: rewards depend on the arm only, leaving on
state, reward and arm only, and users are alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...chain import NeverEnds, total
from ...policies import Policy
from ...validation import InputError
from .model import FittedModel, LeaveCurves, hats
from .trajectories import Floats, Ints
from .weights import MIN_SHARE

MIN_STEPS = 30
"""Steps that the log must have of every arm and, in two states, of every state and reward."""
EVEN, MANY = 128, 48
"""Even cells of the grid, and about how many more states where the policy jumps."""
JUMP, CLOSE = 0.02, 1e-9
"""A probability that changes by more between neighbours is a jump; how close states come to it."""
LONGEST = 1e9
"""Visits of more steps count as endless."""


class Branch(NamedTuple):
    """One reward at each of some states: its place, and where it leads.

    By state and arm: the chance of the arm and this reward together, and that to stay after it.
    """

    joint: Floats
    stay: Floats
    place: Floats
    onward: Floats

    @property
    def going_on(self) -> Floats:
        return np.asarray((self.joint * self.stay).sum(axis=1))


class Stage(NamedTuple):
    """Steps that the policy is expected to make: the first of a visit, or later ones."""

    chances: Floats
    """The chances of the arms, a row for each state."""
    occupancy: Floats
    """Expected number of steps in each state."""
    branches: tuple[Branch, Branch]
    to_go: Floats
    """Value-to-go after the step, at the states of the grid."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A policy's value in the fitted problem: the expected reward of a visit, or its length."""

    model: FittedModel
    of_reward: bool
    stages: list[Stage]
    opening: Floats
    """The value of each visit before it begins."""
    grid: Floats

    @property
    def value(self) -> float:
        return float(self.opening.mean())

    def influence(self) -> Floats:
        """Each visit's influence on the value: the gradient times that on the parameters."""
        model, log = self.model, self.model.log
        by_mean, by_leave = self._gradient()
        slope = by_mean / np.maximum(model.pulls, 1.0)
        rows = slope[log.arm] * (log.reward - model.means[log.arm])
        place = log.place(log.state, log.reward)
        for fitted, gradient, kept in zip(
            model.leaving, by_leave, log.first_and_later, strict=True
        ):
            rows[kept] += fitted.influence(gradient, place[kept], log.arm[kept], log.left[kept])
        return log.by_visit(rows) + (self.opening - self.value) / log.visits

    def _gradient(self) -> tuple[Floats, list[Floats]]:
        """Of the value, by the means of the arms and by the knots of their leave curves."""
        by_mean = np.zeros(self.model.means.size)
        by_leave = [np.zeros(fitted.leave.shape) for fitted in self.model.leaving]
        for number, stage in enumerate(self.stages):
            later = min(number, 1)
            knots, occupancy = self.model.leaving[later].knots, stage.occupancy[:, None]
            lose, win = ((b, self._to_go(b.onward, stage)[:, None]) for b in stage.branches)
            cost = float(self.of_reward) + win[0].stay * win[1] - lose[0].stay * lose[1]
            by_mean += (occupancy * stage.chances * cost).sum(axis=0)
            for branch, worth in (lose, win):
                lost = -occupancy * branch.joint * worth
                by_leave[later] += lost.T @ hats(branch.place, knots)
        return by_mean, by_leave

    def residuals(self) -> Floats:
        """Temporal-difference residuals: what each row brought, minus what the model expects."""
        model, log = self.model, self.model.log
        found = np.empty(log.arm.size)
        number = np.minimum(log.step, len(self.stages) - 1)
        for i, stage in enumerate(self.stages):
            rows, fitted = number == i, model.leaving[min(i, 1)]
            arm, state = log.arm[rows], log.state[rows]
            mean = model.means[arm]
            lose, win = (
                (1.0 - fitted.at(log.place(state, r), arm))
                * self._to_go(log.onward(state, r), stage)
                for r in (0.0, 1.0)
            )
            expected = (1.0 - mean) * lose + mean * (win + float(self.of_reward))
            onward = self._to_go(log.next_state[rows], stage)
            earned = log.reward[rows] if self.of_reward else 0.0
            found[rows] = earned + ~log.left[rows] * onward - expected
        return found

    def _to_go(self, states: Floats, stage: Stage) -> Floats:
        return np.interp(states, self.grid, stage.to_go)


@dataclass(frozen=True, eq=False)
class PolicyInModel:
    """A policy, with a memory that does not change, in a fitted problem."""

    model: FittedModel
    policy: Policy
    memory: Any
    max_steps: int | None

    def solve(self, of_reward: bool) -> Solution:
        """The expected total reward of a visit, or its expected length."""
        which, chances, opening = self._first
        grid_chances, both, moves = self._later
        means = self.model.means if of_reward else np.ones(self.model.means.size)
        earned, weight = grid_chances @ means, np.bincount(which) / which.size
        lose, win = (weight * b.going_on @ hats(b.onward, self.grid) for b in opening)
        entry = lose + win
        if self.max_steps is None:
            to_go = self._fundamental @ earned
            later = [(entry @ self._fundamental, to_go)]
        else:
            to_go, later = _up_to(moves, earned, entry, self.max_steps)
        later_on = (b.going_on * np.interp(b.onward, self.grid, to_go) for b in opening)
        value = chances @ means + sum(later_on)
        stages = [Stage(chances, weight, opening, to_go)]
        stages += [Stage(grid_chances, occupancy, both, then) for occupancy, then in later]
        return Solution(self.model, of_reward, stages, value[which], self.grid)

    @cached_property
    def grid(self) -> Floats:
        """States between which values are linear: both of two; or many, and more where it matters.

        Where the policy jumps from one rule to another, values do too, and so they do at states
        from which a step leads there. Runs of equal rewards lead ever closer to 0 and 1.
        """
        theta = self.model.log.theta
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
        """Where the probabilities jump between two neighbours, by bisection."""
        rows = self._chances(states)
        apart = np.abs(np.diff(rows, axis=0)).max(axis=1) > JUMP
        low, high, below, above = states[:-1][apart], states[1:][apart], rows[:-1], rows[1:]
        for _ in range(50 if low.size else 0):
            middle = (low + high) / 2.0
            here = self._chances(middle)
            up = np.abs(here - above[apart]).sum(axis=1) < np.abs(here - below[apart]).sum(axis=1)
            low, high = np.where(up, low, middle), np.where(up, middle, high)
        return np.asarray(high)

    def _chances(self, states: Floats) -> Floats:
        return np.array([self.policy.probabilities(self.memory, float(s)) for s in states])

    def _branches(
        self, states: Floats, chances: Floats, fitted: LeaveCurves
    ) -> tuple[Branch, Branch]:
        """Reward 0 and reward 1 at these states."""
        means, log = self.model.means, self.model.log

        def branch(reward: float, joint: Floats) -> Branch:
            place, onward = log.place(states, reward), log.onward(states, reward)
            every = [fitted.at(place, np.full(place.size, arm)) for arm in range(means.size)]
            return Branch(joint, 1.0 - np.transpose(every), place, onward)

        return branch(0.0, chances * (1.0 - means)), branch(1.0, chances * means)

    @cached_property
    def _first(self) -> tuple[Ints, Floats, tuple[Branch, Branch]]:
        """Which of the opening states each visit begins in; probabilities and branches there."""
        log = self.model.log
        states, which = np.unique(log.state[log.first], return_inverse=True)
        chances = self._chances(states)
        return which, chances, self._branches(states, chances, self.model.leaving[0])

    @cached_property
    def _later(self) -> tuple[Floats, tuple[Branch, Branch], Floats]:
        """Probabilities and branches on the grid, and the transition matrix of those who stay."""
        chances = self._chances(self.grid)
        both = self._branches(self.grid, chances, self.model.leaving[1])
        moves = [b.going_on[:, None] * hats(b.onward, self.grid) for b in both]
        return chances, both, moves[0] + moves[1]

    @cached_property
    def _fundamental(self) -> Floats:
        """Expected steps in every state of the grid, from every one, until the user leaves."""
        try:
            return total(self._later[2], np.eye(self.grid.size), LONGEST)
        except NeverEnds:
            raise InputError(
                "the log is not allowed without max_steps: by its chances to leave, some visits "
                "never end"
            ) from None


def _up_to(
    moves: Floats, earned: Floats, entry: Floats, max_steps: int
) -> tuple[Floats, list[tuple[Floats, Floats]]]:
    """Backward induction over visits of at most `max_steps` steps.

    The value-to-go after the first step; then, for each later step, the occupancy of the states
    and the value-to-go after it.
    """
    to_go = [np.zeros(earned.size)]
    for _ in range(max_steps - 1):
        to_go.append(earned + moves @ to_go[-1])
    after_first, later, occupancy = to_go.pop(), [], entry
    while to_go:
        later.append((occupancy, to_go.pop()))
        occupancy = occupancy @ moves
    return after_first, later


def check_model(model: FittedModel, stages: Sequence[Stage]) -> None:
    """Refuse a model that was fitted to too few steps of the kind that the policy makes."""
    log, total = model.log, np.sum([stage.occupancy.sum() for stage in stages])
    plays = np.sum([stage.occupancy @ stage.chances for stage in stages], axis=0) / total
    made = [
        (share, seen, f"with arm {log.arms[arm]!r}", "")
        for arm, (share, seen) in enumerate(zip(plays, model.pulls, strict=True))
    ]
    if log.theta == 1.0:
        cells = log.place(log.state, log.reward)[~log.censored].astype(int)
        steps = [
            np.bincount(b.place.astype(int), stage.occupancy * b.joint.sum(axis=1), 4)
            for stage in stages
            for b in stage.branches
        ]
        shares = np.sum(steps, axis=0) / total
        made += [
            (share, seen, f"in state {cell // 2} with reward {cell % 2}", " with a known end")
            for cell, (share, seen) in enumerate(
                zip(shares, np.bincount(cells, minlength=4), strict=True)
            )
        ]
    for share, seen, where, known in made:
        if share >= MIN_SHARE and seen < MIN_STEPS:
            raise InputError(
                f"there is too little overlap: {share:.0%} of the policy's steps are {where}, "
                f"which the log has {seen:.0f} times{known}, and at least {MIN_STEPS} are needed"
            )
