"""A lower bound on the Bayes regret for any number of arms and long horizons.

Let all means be told but that of arm j. What is left is a one-armed bandit: arm j against known
arms, of which the best has mean l. Its counts are those of one arm, so that it is solved for any
number of visits. With gap(s, a) = (m* - m_a) D(s; m*) as the price of a pull there are two bounds:

* *one arm*: more knowledge cannot do worse, so that for every j the least regret is at least
  the mean over l of the least regret R_j(l) of that bandit;
* *all arms*: charge half of a pull's price to the arm that was pulled and half to the arm that
  should have been. For every j the sum of what is charged to it is at least the least such sum
  C_j(l) when the other means are told, and all charges together are the regret: the least regret
  is at least the sum over j of the mean of C_j(l).

The other known arms have means from 0 to l, and prices and transitions are linear in the mean of a
known arm; so one of mean 0 beside that of mean l stands for all of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import lgamma
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .. import validation
from ..chain import solve_in_place
from ..engine.loops import jitable, loop
from ..users import User
from ..values.finite import Array, FiniteUser, Horizon, Moves, Visits
from ..values.prior import Prior, check_finite, check_proper, priors_of
from ..values.stopping import after, shown_moves
from .quadrature import Nodes, posteriors

MOST_ARMS, MOST_PULLS = 1_000_000, 20_000
SPACING = 1.0 / 16.0
"""Between the values of l for which the bandit is solved, on the scale of the quadrature."""

PULL, SHOW, WASTE = 0, 1, 2
"""Actions: pull the unknown arm, show the best known one, show one of mean 0."""


@dataclass(frozen=True)
class LowerBound:
    """No policy has a Bayes regret below `regret`: the greater of two bounds, less `error`.

    >>> from sojourn import TwoState
    >>> user = TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1)
    >>> round(bayes_lower_bound(user, arms=2, visits=3, pulls=20).regret, 3)
    0.574
    """

    arms: int
    horizon: Horizon
    one_arm: float
    all_arms: float
    error: float
    """An estimate of the error of the integral over l: the difference to one half as fine."""

    @property
    def regret(self) -> float:
        return max(self.one_arm, self.all_arms) - self.error


def bayes_lower_bound(
    user: User,
    *,
    arms: int = 2,
    prior: Prior | Sequence[Prior] = (1.0, 1.0),
    visits: float = 10.0,
    pulls: int = 200,
    progress: Callable[[float], None] | None = None,
) -> LowerBound:
    """A lower bound on the Bayes regret of every policy, for many arms and long horizons.

    The arguments are those of `bayes_optimum`, for a geometric number of visits and up to a million
    arms; `pulls` are those of the one unknown arm, after which its mean is told.

    >>> import sojourn as sj
    >>> user = sj.TwoState(q00=0.8, q01=0.2, q10=0.2, q11=0.1)
    >>> few, many = (bayes_lower_bound(user, arms=n, visits=1_000, pulls=100) for n in (2, 50))
    >>> few.regret < many.regret
    True
    """
    arms = validation.whole("arms", arms, 2, MOST_ARMS)
    pulls = validation.whole("pulls", pulls, 1, MOST_PULLS)
    horizon = Horizon.of(visits, False)
    priors = priors_of(prior, arms)
    finite = FiniteUser.of(user)
    check_finite(finite, priors)
    bandit = _Bandit(user, Visits(finite, horizon), pulls)
    kinds, told = list(dict.fromkeys(priors)), progress or (lambda share: None)
    best, total, error = 0.0, 0.0, 0.0
    for i, own in enumerate(kinds):
        times = priors.count(own)
        others = [(kind, priors.count(kind) - (kind == own)) for kind in kinds]

        def show(share: float, i: int = i) -> None:
            told((i + share) / len(kinds))

        (one, all_), (one_off, all_off) = bandit.mean(own, others, show)
        best, total = max(best, float(one)), total + times * float(all_)
        error += max(float(one_off), times * float(all_off))
    return LowerBound(arms, horizon, best, total, error)


@dataclass(frozen=True, eq=False)
class _Bandit:
    user: User
    visits: Visits
    pulls: int

    def mean(
        self, own: Prior, others: Sequence[tuple[Prior, int]], show: Callable[[float], None]
    ) -> tuple[Array, Array]:
        """Both bounds as means over the greatest of the other means, and their errors.

        The error is the difference to the sum over every second point.
        """
        least = min(min(prior) for prior, times in others if times)
        points = Nodes.spaced(SPACING, least)
        below = np.ones_like(points.x)
        chance = np.zeros_like(points.x)
        for prior, times in others:
            if times:
                rows = posteriors(points, *prior, 0)
                density = times * rows.chance[0] * rows.below[0] ** (times - 1)
                chance = chance * rows.below[0] ** times + density * below
                below = below * rows.below[0] ** times
        found = np.zeros((2, points.x.size))
        with threadpool_limits(limits=1, user_api="blas"):
            for i, (known, lack) in enumerate(zip(points.x, points.y, strict=True)):
                if chance[i] > 1e-12:
                    found[:, i] = self.solve(own, float(known), float(lack))
                show((i + 1) / points.x.size)
        weighted = found * chance
        fine = weighted.sum(axis=1)
        return fine, np.abs(fine - 2.0 * weighted[:, ::2].sum(axis=1))

    def solve(self, own: Prior, known: float, lack: float) -> Array:
        """Least regret, and least charge, against a known arm of this mean (1 - mean = lack)."""
        visits = self.visits
        prices = self.prices(own, known, lack)
        moves, start = visits.moves(), visits.start
        prior = np.array(own)
        return np.array(
            [start @ one_armed(self.pulls, prior, known, moves, cost) for cost in prices]
        )

    def prices(self, own: Prior, known: float, lack: float) -> tuple[Array, Array]:
        """What each action costs on average, by [action, state, successes] after all pulls.

        First the whole price of a pull, then what of it is charged to the arm.
        """
        (a, b), n, finite = own, self.pulls, self.visits.user
        _, one = finite.orders()
        nodes = Nodes.fine_enough(n + a + b, min(b - one, 1.0))
        mean, rest = known + lack * nodes.x, lack * nodes.y
        values = finite.values(mean, rest)
        check_proper(self.user, finite, values, "this bound")
        costs = finite.mistake_costs(values)
        here = finite.mistake_costs(finite.values(np.array([known]), np.array([lack])))
        k = np.arange(n + 1.0)[:, None]
        scale = [lgamma(a + b + n) - lgamma(a + j) - lgamma(b + n - j) for j in range(n + 1)]
        density = (a + k - 1.0) * np.log(mean) + (b + n - k - 1.0) * np.log(rest) + np.c_[scale]
        above = np.exp(np.maximum(density, -700.0)) * (nodes.weight * lack)

        surplus = above @ (lack * nodes.x)
        shortfall = surplus + known - (a + k[:, 0]) / (a + b + n)  # of the unknown arm
        pull = np.maximum(shortfall, 0.0) * here
        show = (costs * (lack * nodes.x)) @ above.T
        waste = (costs * mean) @ above.T
        at_most = np.clip(1.0 - above.sum(axis=1), 0.0, 1.0)
        whole = np.array([pull, show, waste + known * here * at_most])
        return whole, 0.5 * np.array([pull, show, waste])


@loop
def one_armed(pulls: int, prior: Array, known: float, moves: Moves, cost: Array) -> Array:
    """The least expected cost by state, before the first pull.

    `cost` is by [action, state, successes], after all pulls of the unknown arm, where it ends.
    Means of a price under the posterior are martingales, and so are averaged backwards.
    """
    states = cost.shape[1]
    price = cost.copy()
    later, now = np.zeros((pulls + 1, states)), np.zeros((pulls + 1, states))
    outside, matrix = np.empty(states), np.empty((states, states))
    moved = (shown_moves(known, moves, states), shown_moves(0.0, moves, states))
    for n in range(pulls - 1, -1, -1):
        for k in range(n + 1):
            p = (prior[0] + k) / (prior[0] + prior[1] + n)
            for action in range(3):
                for s in range(states):
                    won, lost = price[action, s, k + 1], price[action, s, k]
                    price[action, s, k] = p * won + (1.0 - p) * lost
            for s in range(states):
                outside[s] = price[PULL, s, k]
                for r in range(2):
                    chance = p if r == 1 else 1.0 - p
                    for i in range(moves.first[2 * s + r], moves.first[2 * s + r + 1]):
                        outside[s] += chance * moves.weight[i] * later[k + r, moves.target[i]]
            settle(outside, moved, price[:, :, k], matrix, now[k])
        later, now = now, later
    return later[0]  # type: ignore[no-any-return]


@jitable
def settle(outside: Array, moved: Any, price: Any, matrix: Array, value: Array) -> None:
    """Least costs by state where one may go `outside`, or show a known arm and stay.

    `moved` has the chances of the next state if the best known arm is shown, or one of mean 0.
    Policy iteration: it ends, because costs fall from one policy to the next.
    """
    states = outside.size
    action = np.zeros(states, np.int64)
    for _ in range(1_000):
        for s in range(states):
            stays = action[s] != PULL
            value[s] = price[action[s], s] if stays else outside[s]
            for t in range(states):
                go = moved[action[s] - SHOW][s, t] if stays else 0.0
                matrix[s, t] = (1.0 if s == t else 0.0) - go
        solve_in_place(matrix, value)
        changed = False
        for s in range(states):
            best = value[s]
            for a in range(3):
                cost = outside[s] if a == PULL else price[a, s] + after(moved[a - SHOW], s, value)
                if cost < best - 1e-11 * (1.0 + abs(best)):
                    best, action[s], changed = cost, a, True
        if not changed:
            return
