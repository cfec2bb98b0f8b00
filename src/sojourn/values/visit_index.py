"""The visit index: the known mean at which one is indifferent between an arm and an arm of it.

An arm of counts (n, k) stands beside one whose mean l is known; the user is known, and after a
visit another one comes with chance g. In each state of the visit there is a greatest l at which the
arm is worth a pull: its index there. Without states and leaving it is Gittins' index.

All known means of a grid are gone through, each by backward induction over the counts of the one
arm (`stopping.induct`). It ends after `pulls` pulls, where a diffusion takes over
(`stopping.diffuse`): it says what the arm is worth from there, and from which upper confidence
bound on it is worth a pull, however many pulls there are.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, log, log1p
from typing import Any

import numpy as np

from .. import validation
from ..chain import LONGEST, total
from ..users import User
from ..validation import InputError
from .finite import Array, FiniteUser, Horizon, Visits
from .prior import Prior, check_proper, priors_of
from .stopping import diffuse, induct

KNOWN = 400
"""Known means in the grid: evenly spaced on the scale of asin(sqrt(mean))."""

MOST_PULLS, MOST_BYTES = 2_000, 2e9

GROWTH = 1.0 / 32.0
"""Growth of the number of pulls from one level of the diffusion to the next."""

Z = np.linspace(-8.0, 8.0, 161)
"""Distances of the posterior mean from the known one, in standard deviations."""

FAR = 4.0
"""Pulls at which the diffusion ends, in multiples of the steps ahead: then one commits."""


@dataclass(frozen=True, eq=False)
class IndexTable:
    """The index for all counts, made by `visit_index`."""

    user: User
    visits: float
    prior: Prior
    pulls: int
    finite: FiniteUser
    index: Array
    """The index by [n (n + 1) / 2 + k, state], for n < pulls."""
    nats: Array
    """By [level, mean, state]: the budget of the KL upper bound that is the index from there on.

    Level i is at a + b + n = (a + b + pulls) (1 + GROWTH)^i; mean j at sin(pi (j + 1/2) / (2
    KNOWN))^2.
    """

    @property
    def below(self) -> float:
        """The most by which an index is below its posterior mean."""
        a, b = self.prior
        n = np.repeat(np.arange(self.pulls), np.arange(1, self.pulls + 1))
        k = np.arange(n.size) - n * (n + 1) // 2
        return max(0.0, float(((a + k) / (a + b + n) - self.index.min(axis=1)).max()))


def known_means(count: int) -> Array:
    """The grid."""
    return np.asarray(np.sin(0.5 * np.pi * (np.arange(count) + 0.5) / count) ** 2)


def visit_index(
    user: User,
    *,
    visits: float,
    prior: Prior = (1.0, 1.0),
    pulls: int = 200,
    progress: Callable[[float], None] | None = None,
) -> IndexTable:
    """The visit index of an arm for a user who is known.

    Arguments, by name after the first:
        user: Any user with finitely many states, who leaves alike after every arm, and with whom
            the better arm is the one to show in every state.
        visits: How many there will be on average, their number being geometric.
        prior: Beta(a, b) of the mean.
        pulls: Pulls of the arm up to which all counts are enumerated, from 10 to 2,000. Time and
            memory grow with its square: with two states 200 take about half a second and 5 MB,
            1,000 seven seconds and 27 MB.
        progress: Called with the share of the work done, hundreds of times; Ctrl-C ends the work
            soon.

    >>> import sojourn as sj
    >>> once = sj.TwoState(1, 1, 1, 1)  # one pull a visit: what follows is Gittins' index
    >>> table = visit_index(once, visits=10, pulls=100)
    >>> table.index[:3, 0].round(3).tolist()  # of Beta(1, 1), Beta(1, 2) and Beta(2, 1)
    [0.703, 0.5, 0.8]
    """
    finite, horizon = FiniteUser.of(user), Horizon.of(visits, False)
    ((a, b),) = priors_of(prior, 1)
    pulls = validation.whole("pulls", pulls, 10, MOST_PULLS)
    states, rows = finite.size, pulls * (pulls + 1) // 2
    if 32.0 * rows * states > MOST_BYTES:
        raise InputError(
            f"pulls = {pulls} is not allowed here: with {states} states it takes "
            f"{32e-9 * rows * states:.3g} GB of memory, and may take {MOST_BYTES / 1e9:g}"
        )
    known = known_means(KNOWN)
    values = finite.values(known, 1.0 - known)
    check_proper(user, finite, values, "the index")
    costs = np.ascontiguousarray(finite.mistake_costs(values).T)  # one type, one compilation
    costs = np.maximum(costs, 1e-9 * costs.max(axis=1, keepdims=True))
    posterior = (a + np.arange(pulls + 1.0)) / (a + b + pulls)
    ahead, own = (_ahead(finite, horizon, means) for means in (known, posterior))
    steps = np.einsum("s,lst->lt", finite.start, ahead)
    longest = min(FAR * float(steps.sum(axis=1).max()), LONGEST)
    clock = a + b + pulls
    levels = max(1, ceil(log(max(longest / clock, 1.0)) / log1p(GROWTH)))
    nats, worth = np.empty((KNOWN, levels, states)), np.empty(Z.size)
    index, above = np.full((rows, states), -1.0), np.zeros((rows, states, 2))
    moves = Visits(finite, horizon).moves()
    for i in range(KNOWN - 1, -1, -1):
        mean, cost, ahead_of_all = known[i], costs[i], steps[i].sum()
        order = np.argsort(cost, kind="stable")
        share = steps[i] / ahead_of_all
        diffuse(clock, GROWTH, mean, cost, share, ahead_of_all, order, Z, worth, nats[i])
        excess = posterior - mean
        more = np.interp(excess * np.sqrt(clock / (mean * (1.0 - mean))), Z, worth, 0.0, 0.0)
        gain = np.maximum(np.multiply.outer(excess, cost) + more[:, None], 0.0)
        # What is shown most is the better one: where its mean is p, states are met as with p.
        met = np.where(excess[:, None, None] > 0.0, own, ahead[i])
        value = np.einsum("kst,kt->ks", met, gain)
        induct(i, known, np.array([a, b]), cost, moves, value, above, index)
        if progress is not None:
            progress(1.0 - i / KNOWN)
    index = np.where(index < 0.0, known[0], index)
    budgets = np.ascontiguousarray(nats.transpose(1, 0, 2))
    return IndexTable(user, horizon.visits, (a, b), pulls, finite, index, budgets)


def _ahead(finite: FiniteUser, horizon: Horizon, means: Array) -> Array:
    """Steps to come in each state, by [mean, state now, state], if an arm of this mean is shown."""
    stay = (1.0 - finite.leave)[:, :, None] * finite.onward
    mean = means[:, None, None]
    go = mean * stay[None, :, 1] + (1.0 - mean) * stay[None, :, 0]
    of_visit = total(go, np.broadcast_to(np.eye(finite.size), go.shape), None)
    fresh: Any = np.einsum("s,lst->lt", finite.start, of_visit)
    return np.asarray(of_visit + (horizon.visits - 1.0) * fresh[:, None, :])
