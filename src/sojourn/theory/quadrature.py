"""Means of functions under Beta distributions, and of the greatest of several such means.

Integrals over (0, 1) are sums over the nodes of the double exponential rule (Takahasi and Mori,
1974), x = 1 / (1 + exp(-pi sinh t)) at even t: it converges exponentially for functions that are
analytic inside, whatever they do at the ends, and 1 - x is known to full precision.
"""

from collections.abc import Sequence
from math import asinh, ceil, lgamma, pi, sqrt
from typing import NamedTuple

import numpy as np

from .. import validation
from ..users import User
from ..validation import InputError
from ..values.finite import Array, FiniteUser, Visits
from ..values.prior import Prior, is_proper
from .induction import ENDS, TIE, Masks, layout

DIGITS = 38.0
"""Natural logarithm of what is left out beyond the last nodes: about 1e-16."""


class Nodes(NamedTuple):
    """Points of (0, 1), their distances to 1, and weights."""

    x: Array
    y: Array
    weight: Array

    @classmethod
    def fine_enough(cls, known: float, least: float) -> "Nodes":
        """Nodes for Beta(a, b) with a + b up to `known`, and functions like x^(least - 1) at 0.

        Likewise at 1. The spacing is three quarters of the standard deviation of the narrowest
        posterior, which leaves an error of exp(-2 (pi / 0.75)^2), or less: about 1e-15.
        """
        return cls.spaced(min(0.48 / sqrt(known), 1.0 / 32.0), least)

    @classmethod
    def spaced(cls, spacing: float, least: float) -> "Nodes":
        """Nodes with this spacing of t; an odd number of them."""
        end = asinh(DIGITS / max(least, 0.1) / pi) + spacing
        t = spacing * np.arange(-ceil(end / spacing), ceil(end / spacing) + 1)
        odds = pi * np.sinh(t)
        x, y = 1.0 / (1.0 + np.exp(-odds)), 1.0 / (1.0 + np.exp(odds))
        return cls(x, y, spacing * pi * np.cosh(t) * x * y)


class Posteriors(NamedTuple):
    """Posteriors of one arm after n pulls: a row for 0, ..., n successes, a column per node."""

    chance: Array
    """The chance of each node; rows add up to 1."""
    below: Array
    """The chance that the mean is at most the node."""


def posteriors(nodes: Nodes, a: float, b: float, n: int) -> Posteriors:
    """Beta(a + k, b + n - k) for k = 0, ..., n."""
    k = np.arange(n + 1.0)[:, None]
    log_x, log_y = np.log(nodes.x), np.log(nodes.y)
    density = (a + k - 1.0) * log_x + (b + n - k - 1.0) * log_y
    chance = _exp(density - density.max(axis=1, keepdims=True)) * nodes.weight
    chance /= chance.sum(axis=1, keepdims=True)
    # I(A + 1, B - 1) = I(A, B) - x^A y^(B - 1) Gamma(A + B) / (Gamma(A + 1) Gamma(B))
    below = np.empty_like(chance)
    below[0] = incomplete_beta(a, b + n, nodes.x, nodes.y)
    if n:
        scale = [lgamma(a + b + n) - lgamma(a + j + 1.0) - lgamma(b + n - j) for j in range(n)]
        gone = _exp((a + k[:-1]) * log_x + (b + n - k[:-1] - 1.0) * log_y + np.c_[scale])
        below[1:] = below[0] - np.cumsum(gone, axis=0)
    return Posteriors(chance, np.clip(below, 0.0, 1.0))


def _exp(x: Array) -> Array:
    """0 below exp(-300): numbers so small that they have fewer digits slow everything down."""
    return np.where(x > -300.0, np.exp(np.maximum(x, -300.0)), 0.0)


def incomplete_beta(a: float, b: float, x: Array, y: Array) -> Array:
    """I_x(a, b), the chance that a Beta(a, b) variate is at most x; y = 1 - x.

    The continued fraction DLMF 8.17.22, on the side of the mean where it converges fast.
    """
    if a == 1.0:
        return -np.expm1(b * np.log(y))
    low = x < (a + 1.0) / (a + b + 2.0)
    result = np.empty_like(x)
    result[low] = _fraction(a, b, x[low], y[low])
    result[~low] = 1.0 - _fraction(b, a, y[~low], x[~low])
    return result


def _fraction(a: float, b: float, x: Array, y: Array) -> Array:
    """I_x(a, b) by Lentz's method."""
    scale = lgamma(a + b) - lgamma(a + 1.0) - lgamma(b)
    front = np.exp(scale + a * np.log(x) + b * np.log(y))
    c, d = np.ones_like(x), 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    total = d.copy()
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        change = np.ones_like(x)
        for part in (even, odd):
            d, c = 1.0 / (1.0 + part * d), 1.0 + part / c
            change = c * d
            total = total * change
        if x.size == 0 or np.abs(change - 1.0).max() < 1e-15:
            break
    return front * total


def of_greatest(arms: Sequence[Posteriors], functions: Array) -> Array:
    """The mean of functions of the greatest of several means, by [function, k of each arm ...].

    `functions` are given at the nodes. The greatest mean has the distribution function of all
    means multiplied.
    """
    *others, last = arms
    chance, below = others[0]
    for arm in others[1:]:
        one, each = (..., None, slice(None)), (None, slice(None), slice(None))
        chance = chance[one] * arm.below[each] + below[one] * arm.chance[each]
        below = below[one] * arm.below[each]
    return np.array([(chance * f) @ last.below.T + below @ (last.chance * f).T for f in functions])


MOST_RULES = 4
"""States of a user for which there are rules to commit to: two to their power."""


class Greatest:
    """The value of a visit where the best arm is the one to show in every state."""

    def __init__(self, values: Array) -> None:
        self.values = values

    def of_visit(self, arms: Sequence[Posteriors]) -> tuple[Array, float]:
        """The value with known means, by [state of the user, k of each arm ...], and its error."""
        return of_greatest(arms, self.values), 0.0

    def by_rule(self, arms: Sequence[Posteriors]) -> list[Array]:
        """The value of always showing one arm, by arm."""
        states, shape = len(self.values), [len(arm.chance) for arm in arms]
        found = []
        for j, arm in enumerate(arms):
            axes = [size if i == j else 1 for i, size in enumerate(shape)]
            own = (self.values @ arm.chance.T).reshape(states, *axes)
            found.append(np.broadcast_to(own, (states, *shape)))
        return found


class Pair:
    """The same where it is not, with two arms: the value of the best rule for every pair of means.

    It has kinks, where the best rule changes, so that the quadrature converges slowly. Its error is
    taken to be the difference to every second node, which is three times what it tends to be.
    """

    def __init__(self, user: FiniteUser, nodes: Nodes) -> None:
        x, y = nodes.x, nodes.y
        self.rules = user.values_of_rules(x[:, None], y[:, None], x[None, :], y[None, :])
        self.values = np.max(self.rules, axis=0)

    def by_rule(self, arms: Sequence[Posteriors]) -> list[Array]:
        """Rule r shows the arm in place r >> s & 1 in state s of the user."""
        one, other = (arm.chance for arm in arms)
        return [np.array([one @ value @ other.T for value in rule]) for rule in self.rules]

    def of_visit(self, arms: Sequence[Posteriors]) -> tuple[Array, float]:
        one, other = (arm.chance for arm in arms)
        fine = np.array([one @ value @ other.T for value in self.values])
        one, other = (
            half / half.sum(axis=1, keepdims=True) for half in (one[:, ::2], other[:, ::2])
        )
        coarse = np.array([one @ value[::2, ::2] @ other.T for value in self.values])
        return fine, float(np.abs(fine - coarse).max())


class Ends:
    """Both ends, for all counts of the last layer."""

    def __init__(self, user: User, visits: Visits, priors: Sequence[Prior], pulls: int) -> None:
        self.visits, self.priors, self.pulls = visits, priors, pulls
        self.error = 0.0
        """Of what is to come when told, at most; known when the layer is filled."""
        zero, one = visits.user.orders()
        least = min(min(a - zero, b - one) for a, b in priors)
        known = pulls + max(sum(prior) for prior in priors)
        self.nodes = Nodes.fine_enough(known, least)
        self.values = visits.user.values(self.nodes.x, self.nodes.y)
        self.told: Greatest | Pair = Greatest(self.values)
        if not is_proper(visits.user, self.values):
            few = len(priors) == 2 and visits.user.size <= MOST_RULES
            if not few or visits.user.endless_pairs():
                raise InputError(
                    f"user = {validation.shown(user)} is not allowed: for some means it is better "
                    "to show the arm of lower mean in some state, and then there may be two arms "
                    f"and {MOST_RULES} states only, and visits must end with any two means"
                )
            self.nodes = Nodes.fine_enough(4.0 * known, least)
            self.values = visits.user.values(self.nodes.x, self.nodes.y)
            self.told = Pair(visits.user, self.nodes)

    def rows(self, n: Sequence[int]) -> list[Posteriors]:
        """Posteriors of every arm after this many pulls of each."""
        return [
            posteriors(self.nodes, a, b, int(pulls))
            for (a, b), pulls in zip(self.priors, n, strict=False)
        ]

    def told_at_once(self) -> tuple[float, float]:
        """The value of all visits with the means known from the beginning, and its error."""
        of_visit, off = self.told.of_visit(self.rows([0, 0, 0]))
        ahead = self.visits.values(of_visit.reshape(len(self.values)))
        return float(ahead @ self.visits.start), off * self._most

    @property
    def by_rule(self) -> bool:
        """Whether one commits to a rule, and not to an arm."""
        return isinstance(self.told, Pair)

    def _chosen(self, alone: list[Array], best: Array) -> Masks:
        """The set of arms to commit to; or the number of the rule."""
        if self.by_rule:
            return np.ravel(np.argmax(alone, axis=0)).astype(np.uint8)
        tied = [(own >= best - TIE * (1.0 + best)).astype(np.uint8) for own in alone]
        return np.ravel(np.sum([is_best << j for j, is_best in enumerate(tied)], axis=0))

    @property
    def _most(self) -> float:
        """Visits to come, this one included, at most."""
        return 1.0 + float(self.visits.later.max())

    def fill(self, layer: Array, masks: Masks) -> None:
        """Both values of every (n, k) of the last layer, and the arms to commit to."""
        visits, arms = self.visits, len(self.priors)
        at, off = 0, 0.0
        for n in layout(self.pulls, arms, len(set(self.priors)) == 1)[0]:
            rows = self.rows(n)
            shape = tuple(int(m) + 1 for m in n[:arms])
            size = int(np.prod(shape))
            here = layer[at * ENDS * visits.size : (at + size) * ENDS * visits.size]
            out = here.reshape(*shape, ENDS, visits.size)
            of_visit, here_off = self.told.of_visit(rows)
            out[..., 1, :] = np.moveaxis(visits.values(of_visit), 0, -1)
            off = max(off, here_off)
            alone = [np.moveaxis(visits.values(v), 0, -1) for v in self.told.by_rule(rows)]
            best = np.max(alone, axis=0)
            out[..., 0, :] = best
            if masks.size:
                masks[at * visits.size : (at + size) * visits.size] = self._chosen(alone, best)
            at += size
        self.error = off * self._most
