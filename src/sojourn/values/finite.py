"""Users with finitely many states as tables, and many visits of them as one Markov chain.

A step in state s with reward r ends the visit with chance q(s, r); else the state moves on. If
another visit comes with chance g, that is a chain on the states of the user alone: leaving leads
to the start of the next visit. If the number of visits is fixed, how many are left is a part of
the state.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..chain import mistake_cost
from ..engine.steps import next_states
from ..users import User, can_leave
from ..validation import InputError
from .solution import first_states

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

MOST_STATES = 200_000
"""States of the chain, with the visits left: beyond that not even one layer of counts helps."""


class Moves(NamedTuple):
    """Where the chain goes after reward r in state s: entries first[2 s + r] to first[2 s + r + 1].

    What is missing from weights that add up to 1 is the chance that all is over.
    """

    first: Whole
    target: Whole
    weight: Array


class Horizon(NamedTuple):
    """The number of visits: `visits`, on average and geometric unless `fixed`."""

    visits: float
    fixed: bool

    @classmethod
    def of(cls, visits: Any, fixed: Any) -> "Horizon":
        if validation.flag("fixed", fixed):
            return cls(validation.whole("visits", visits, 1, MOST_STATES), True)
        return cls(validation.number("visits", visits, 1, validation.LARGE), False)

    @property
    def again(self) -> float:
        """The chance g of another visit, where the number is geometric with this mean."""
        return 1.0 - 1.0 / self.visits

    def __str__(self) -> str:
        number = f"{self.visits:g} visit" + ("" if self.visits == 1 else "s")
        return number if self.fixed or self.visits == 1 else f"{number} on average"


@dataclass(frozen=True, eq=False)
class FiniteUser:
    """A user as tables, over the states that a visit can be in."""

    codes: tuple[float, ...]
    """The states as the user model has them; those of a first step of its own are negative."""
    seen: Array
    """What a policy sees in each state."""
    leave: Array
    """q by [state, reward]."""
    onward: Array
    """The chance of the next state of who stays, by [state, reward, next state]."""
    start: Array
    """The chance that a visit begins in a state."""

    @classmethod
    def of(cls, user: User) -> "FiniteUser":
        """The tables of a user model; InputError if it has none that fit."""
        _check(user)
        starts = first_states(user)
        codes, new = set(starts), set(starts)
        while new:
            new = {t for s in new for r in (0.0, 1.0) for t, _ in _staying(user, s, r)} - codes
            codes |= new
        ordered = sorted(codes)
        place = {code: i for i, code in enumerate(ordered)}
        n = len(ordered)
        leave, onward, start = np.empty((n, 2)), np.zeros((n, 2, n)), np.zeros(n)
        for s, code in enumerate(ordered):
            for r in (0, 1):
                leave[s, r] = user.leave_probability(code, float(r), 0)
                for after, chance in _staying(user, code, float(r)):
                    onward[s, r, place[after]] += chance
        for code, chance in zip(starts, user.start.chances, strict=True):
            start[place[code]] += chance
        seen = np.array([user.experience(code) for code in ordered])
        return cls(tuple(ordered), seen, leave, onward, start)

    @property
    def size(self) -> int:
        return len(self.codes)

    def values(self, mean: Array, lack: Array) -> Array:
        """The value of the rest of a visit by [state, ...] if every arm has this mean.

        `lack` is 1 - mean, given apart so that means next to 1 lose no digits. Gaussian elimination
        without a subtraction (Grassmann, Taksar and Heyman, Operations Research 33, 1985): what
        leaves a row is a sum of chances, so that the result is right to rounding however long
        visits are.
        """
        shape = (self.size, *mean.shape)
        return self._solved(np.broadcast_to(mean, shape), np.broadcast_to(lack, shape))

    def values_of_rules(
        self, one: Array, one_lack: Array, other: Array, other_lack: Array
    ) -> list[Array]:
        """The same with two arms, by rule: bit s of its number is 1 if state s has the other."""
        means, lacks = np.broadcast_arrays(one, other), np.broadcast_arrays(one_lack, other_lack)
        found = []
        for rule in range(2**self.size):
            shown = [rule >> s & 1 for s in range(self.size)]
            mean, lack = (np.array([way[arm] for arm in shown]) for way in (means, lacks))
            found.append(self._solved(mean, lack))
        return found

    def endless_pairs(self) -> bool:
        """Whether visits can become ever longer as one mean nears 1 and the other nears 0."""
        near = np.array([1e-8, 1e-10])
        top = np.max(self.values_of_rules(1.0 - near, near, near, 1.0 - near), axis=(0, 1))
        return bool(top[1] > 2.0 * top[0])

    def _solved(self, mean: Array, lack: Array) -> Array:
        """Values of visits in which what is shown in a state has this mean, by [state, ...]."""
        n = self.size
        earn = list(mean)
        go = [
            [
                sum(
                    p * (1.0 - self.leave[s, r]) * self.onward[s, r, t]
                    for r, p in enumerate((lack[s], mean[s]))
                )
                for t in range(n)
            ]
            for s in range(n)
        ]
        end = [lack[s] * self.leave[s, 0] + mean[s] * self.leave[s, 1] for s in range(n)]
        total = [np.zeros_like(mean[0])] * n
        for m in range(n - 1, -1, -1):
            total[m] = end[m] + sum(go[m][t] for t in range(m))
            for s in range(m):
                share = go[s][m] / total[m]
                earn[s] = earn[s] + share * earn[m]
                end[s] = end[s] + share * end[m]
                for t in range(m):
                    go[s][t] = go[s][t] + share * go[m][t]
        value: list[Array] = []
        for m in range(n):
            value.append((earn[m] + sum(go[m][t] * value[t] for t in range(m))) / total[m])
        return np.array(value)

    def mistake_costs(self, values: Array) -> Array:
        """D by [state, ...], from the values of visits in which the best arm is always shown."""
        stay = (1.0 - self.leave)[:, :, None] * self.onward
        after = np.einsum("srt,t...->rs...", stay, values)
        return mistake_cost(after[0], after[1])  # type: ignore[no-any-return]

    def orders(self) -> tuple[int, int]:
        """How fast the value of a visit grows as the mean nears 0, and as it nears 1.

        k if it grows like 1 / (distance)^k: the mean value under a Beta(a, b) prior is finite if
        and only if a exceeds the first and b the second.
        """
        near = np.array([1e-8, 1e-10])
        found = []
        for mean, lack in ((near, 1.0 - near), (1.0 - near, near)):
            with np.errstate(divide="ignore", invalid="ignore"):
                top = self.values(mean, lack).max(axis=0)
            growth = np.log(top[1] / top[0]) / np.log(near[0] / near[1])
            found.append(max(0, round(float(growth))) if np.isfinite(growth) else MOST_STATES)
        return found[0], found[1]


def _staying(user: User, state: float, reward: float) -> list[tuple[float, float]]:
    """The next states with their chances, if anybody stays."""
    stays = user.leave_probability(state, reward, 0) < 1.0
    return next_states(user, state, reward) if stays else []


def _check(user: Any) -> None:
    if not isinstance(user, User) or not can_leave(user):
        raise InputError(
            f"user = {validation.shown(user)} is not allowed: it must be a user who leaves"
        )
    space = user.space
    if space.states is None or space.arms is not None or space.graded or space.outcomes != 2:
        raise InputError(
            f"user = {validation.shown(user)} is not allowed: it must have finitely many states, "
            "rewards of 0 and 1, and leave alike after every arm"
        )


@dataclass(frozen=True, eq=False)
class Visits:
    """All visits of a horizon as one chain."""

    user: FiniteUser
    horizon: Horizon

    @property
    def size(self) -> int:
        """The number of states: (visits left - 1) x states of the user + state, where fixed."""
        return self.user.size * (int(self.horizon.visits) if self.horizon.fixed else 1)

    @property
    def of_user(self) -> Whole:
        """The user's state in every state of the chain."""
        return np.arange(self.size) % self.user.size

    @property
    def later(self) -> Array:
        """How many visits are expected after this one, in every state of the chain."""
        if self.horizon.fixed:
            return (np.arange(self.size) // self.user.size).astype(float)
        return np.full(self.size, self.horizon.visits - 1.0)

    @property
    def start(self) -> Array:
        """The chance to begin in a state of the chain."""
        start = np.zeros(self.size)
        start[-self.user.size :] = self.user.start
        return start

    def values(self, of_visit: Array) -> Array:
        """The value of all visits to come, by [state of the chain, ...], from visit values."""
        fresh = np.tensordot(self.user.start, of_visit, 1)
        return of_visit[self.of_user] + np.multiply.outer(self.later, fresh)

    def moves(self) -> Moves:
        first, target, weight = [0], [], []
        user, n = self.user, self.user.size
        for state in range(self.size):
            s, base = state % n, state - state % n
            for r in (0, 1):
                row: dict[int, float] = {}
                for t in range(n):
                    row[base + t] = (1.0 - user.leave[s, r]) * user.onward[s, r, t]
                    next_start = base + t - (n if self.horizon.fixed else 0)
                    if next_start >= 0:
                        again = 1.0 if self.horizon.fixed else self.horizon.again
                        more = user.leave[s, r] * again * user.start[t]
                        row[next_start] = row.get(next_start, 0.0) + more
                entries = [(t, w) for t, w in row.items() if w > 0.0]
                target += [t for t, _ in entries]
                weight += [w for _, w in entries]
                first.append(len(target))
        return Moves(np.array(first), np.array(target, np.int64), np.array(weight, float))
