"""The two ends of the induction: what is to come if one commits, and if one is told the means."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from .. import validation
from ..users import User
from ..validation import InputError
from ..values.finite import Array, FiniteUser, Visits
from ..values.prior import Prior, is_proper
from .induction import ENDS, TIE, Masks, layout
from .quadrature import Nodes, Posteriors, of_greatest, posteriors

MOST_RULES = 4
"""States of a user for which there are rules to commit to: two to their power."""


class Told(Protocol):
    """What a visit is worth to who knows the means; and to who shows arms by a fixed rule."""

    def of_visit(self, arms: Sequence[Posteriors]) -> tuple[Array, float]:
        """Its mean by [state of the user, k of each arm ...], and how far that may be off."""

    def by_rule(self, arms: Sequence[Posteriors]) -> list[Array]:
        """Without being told, by rule: always the arm in place 0, in place 1, ...; or `Pair`'s."""


class Greatest(Told):
    """Where the best arm is the one to show in every state: the value at the greatest mean."""

    def __init__(self, values: Array) -> None:
        self.values = values

    def of_visit(self, arms: Sequence[Posteriors]) -> tuple[Array, float]:
        return of_greatest(arms, self.values), 0.0

    def by_rule(self, arms: Sequence[Posteriors]) -> list[Array]:
        states, shape = len(self.values), [len(arm.chance) for arm in arms]
        found = []
        for j, arm in enumerate(arms):
            axes = [size if i == j else 1 for i, size in enumerate(shape)]
            own = (self.values @ arm.chance.T).reshape(states, *axes)
            found.append(np.broadcast_to(own, (states, *shape)))
        return found


class Pair(Told):
    """Where it is not, with two arms: the value of the best rule for every pair of means.

    It has kinks, where the best rule changes, so that the quadrature converges slowly. Its error is
    taken to be the difference to every second node, which is three times what it tends to be.
    """

    def __init__(self, user: FiniteUser, nodes: Nodes) -> None:
        one, other = nodes.x[:, None], nodes.x[None, :]
        self.values = user.best_values(one, nodes.y[:, None], other, nodes.y[None, :])
        self.rules = [
            user.values_of_rule(rule, one, nodes.y[:, None], other, nodes.y[None, :])
            for rule in range(2**user.size)
        ]

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
        self.told: Told = Greatest(self.values)
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
        """Posteriors of every arm after so many pulls of each."""
        return [
            posteriors(self.nodes, a, b, int(pulls))
            for (a, b), pulls in zip(self.priors, n, strict=False)
        ]

    def told_at_once(self) -> tuple[float, float]:
        """What all visits are worth with the means known from the beginning, and its error."""
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
