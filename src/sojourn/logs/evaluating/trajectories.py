"""A log as trajectories: steps in order, with states, propensities and ends; means over visits."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...validation import InputError
from ..reading import LEFT
from ..reading.source import fetched, opened
from ..reading.spec import LogSpec, Reading, spec_of

Floats = NDArray[Any]  # of doubles; NumPy types some of its sums otherwise
Ints = NDArray[np.int64]
Flags = NDArray[Any]
Rows = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Trajectories:
    """A log as `evaluate` needs it: rows in the order of visits and steps.

    `first` are the rows at which visits begin. Made by `trajectories`.

    >>> log = trajectories({"visit": [7, 7, 9], "arm": [1, 0, 1], "reward": [0, 1, 1]})
    >>> log.visits, log.with_states(theta=1.0, start=1.0).state.tolist(), log.left.tolist()
    (2, [1.0, 0.0, 1.0], [False, True, True])
    """

    arms: tuple[Any, ...]
    """The arms, by the numbers that policies use."""
    arm: Ints
    reward: Floats
    left: Flags
    censored: Flags
    """Whether the log stops here, so it is not known whether the user left."""
    propensity: Floats | None
    first: Ints
    user: Ints
    """The user of every visit, from 0."""
    reading: Reading = field(default_factory=Reading)
    stated: Floats | None = None
    """The states that the log itself has, by row."""
    theta: float = 1.0
    state: Floats = field(default_factory=lambda: np.empty(0))
    """The state by row; see `with_states`."""

    @property
    def visits(self) -> int:
        return self.first.size

    @cached_property
    def length(self) -> Ints:
        return np.diff(np.append(self.first, self.arm.size))

    @cached_property
    def step(self) -> Ints:
        """The number of every row in its visit, from 0."""
        return np.arange(self.arm.size) - np.repeat(self.first, self.length)

    @property
    def first_and_later(self) -> tuple[Flags, Flags]:
        """First steps and later ones, where the log says who left."""
        first = self.step == 0
        return first & ~self.censored, ~first & ~self.censored

    @cached_property
    def next_state(self) -> Floats:
        return self.onward(self.state, self.reward)

    def onward(self, state: Floats, reward: float | Floats) -> Floats:
        """The state that a reward leads to."""
        return (1.0 - self.theta) * state + self.theta * reward

    def place(self, state: Floats, reward: float | Floats) -> Floats:
        """Where leaving is counted: by state and reward in two states, else the state reached."""
        return 2.0 * state + reward if self.theta == 1.0 else self.onward(state, reward)

    def by_visit(self, rows: NDArray[Any]) -> Floats:
        return np.add.reduceat(rows, self.first, dtype=float)

    def with_states(self, theta: float, start: float) -> "Trajectories":
        """The log with the states that follow from the rewards: s' = (1 - theta) s + theta r.

        Visits begin in `start`, unless the log says in which state. With theta = 1 the state is
        the last reward.
        """
        theta = validation.number("theta", theta, 0, 1)
        opening = np.full(self.visits, validation.number("start", start, 0, 1))
        if self.stated is not None:
            opening = self.stated[self.first]
        if theta == 1.0 and not np.isin(opening, (0.0, 1.0)).all():
            other = opening[~np.isin(opening, (0.0, 1.0))][0]
            raise InputError(f"start = {other:g} is not allowed: it must be 0 or 1 if theta is 1")
        state = np.empty(self.arm.size)
        state[self.first] = opening
        for step in range(1, int(self.length.max())):
            rows = self.first[self.length > step] + step
            state[rows] = (1.0 - theta) * state[rows - 1] + theta * self.reward[rows - 1]
        if self.stated is not None and not np.abs(state - self.stated).max() <= 1e-6:
            raise InputError(
                f"theta = {theta:g} is not allowed: the state column of the log does not move so"
            )
        return replace(self, theta=theta, state=state)

    def until(self, step: int) -> "Trajectories":
        """The same log with at most this many steps of each visit."""
        kept, sizes = self.step < step, np.minimum(self.length, step)
        rows = ("arm", "reward", "left", "censored", "propensity", "state", "stated")
        columns = {name: getattr(self, name) for name in rows}
        cut: dict[str, Any] = {n: None if c is None else c[kept] for n, c in columns.items()}
        return replace(self, **cut, first=np.cumsum(sizes) - sizes)


def trajectories(source: Any, spec: LogSpec | None = None, /, **fields: Any) -> Trajectories:
    """Read a log as `fit` does, for several calls of `evaluate`.

    Arms named by whole numbers keep them; others are numbered in the order of their
    names, or with a map of `arms` in the order of the map. Graded rewards are 0 or 1 by the
    threshold. Without one, a numeric column `state` says in which state a visit begins. With
    ``bad="skip"`` a visit ends before a step whose reward, arm or propensity is unknown.
    `min_pulls` and `rare` have no effect.

    >>> log = {"uid": [7, 7, 9], "t": [0, 5, 60], "item": list("aba"), "liked": [1, 0, 1]}
    >>> found = trajectories(log, arm="item", gap="30s")
    >>> found.arms, found.arm.tolist(), found.left.tolist(), found.reading.guessed
    (('a', 'b'), [0, 1, 0], [False, True, False], {'user': 'uid', 'time': 't', 'reward': 'liked'})
    """
    from ..reading.steps import steps_of

    made = spec_of(spec, fields)
    with opened(source, made.table, made.sql) as found:
        if "candidates" in found.table.columns:
            _refuse_candidates(fetched(found.table.select("candidates"))["candidates"])
        with steps_of(found, made, states=True) as (steps, reading, _):
            more = [c for c in ("propensity", "state") if c in steps.columns]
            rows = fetched(steps.select("user", "visit", "step", "arm", "reward", "end", *more))
    notes = [note for note in reading.notes if not note.startswith("rewards are graded")]
    if reading.spec.threshold is not None:
        notes.append(f"rewards of at least {reading.spec.threshold:g} count as 1, all others as 0")
    ordered = _ordered(rows)
    known = _known(ordered, reading)
    if not known.all():
        lost = np.unique(ordered["visit"][~known]).size
        notes.append(f"{lost:,} visits are cut short before an incomplete step")
        ordered = {name: column[known] for name, column in ordered.items()}
    return in_order(ordered, made.arms, replace(reading, notes=tuple(notes)))


def in_order(
    rows: Rows, arms: Mapping[Any, str] | None = None, reading: Reading | None = None
) -> Trajectories:
    """Trajectories from columns in the order of visits and steps.

    The columns visit, user, arm, reward and left; propensity and state if there are.
    """
    if not rows["visit"].size:
        raise InputError("the log is not allowed: it has no complete step")
    first = np.flatnonzero(np.diff(rows["visit"], prepend=-1))
    labels, arm = _numbered(rows["arm"], arms)
    left = rows["left"].astype(bool)
    return Trajectories(
        arms=labels,
        arm=arm,
        reward=rows["reward"].astype(float),
        left=left,
        censored=(np.diff(rows["visit"], append=-1) != 0) & ~left,
        propensity=_propensities(rows.get("propensity")),
        first=first,
        user=np.unique(rows["user"][first], return_inverse=True)[1].astype(np.int64),
        reading=reading or Reading(),
        stated=rows["state"].astype(float) if "state" in rows else None,
    )


def _refuse_candidates(column: NDArray[Any]) -> None:
    """InputError if some steps were decided among candidates, as exports of live visits say.

    A policy that is evaluated may show any arm at any step; among candidates it is another one.
    """
    cells = column.tolist()
    filled = sum(cell not in (None, "") and cell == cell for cell in cells)
    if filled:
        raise InputError(
            f"candidates is not allowed: {filled:,} of {len(cells):,} steps of the log were "
            "decided among some of the arms only, and a policy is evaluated as if it could show "
            "any; leave the visits of these steps out"
        )


def _ordered(rows: Rows) -> dict[str, NDArray[Any]]:
    """Steps in order; the first visits of all users before their second ones."""
    user, visit = (np.unique(rows[c], return_inverse=True)[1] for c in ("user", "visit"))
    code = visit.astype(np.int64) * (int(user.max()) + 1) + user
    order = np.lexsort((rows["step"], code))
    made = {name: column[order] for name, column in rows.items() if name not in ("end", "step")}
    return {**made, "visit": code[order], "user": user[order], "left": rows["end"][order] == LEFT}


def _known(rows: Rows, reading: Reading) -> Flags:
    """Which steps are known, and all before them in their visit."""
    no_arm = np.array([arm is None for arm in rows["arm"]])
    lacking = no_arm | np.isnan(rows["reward"].astype(float))
    if "propensity" in rows:
        none = np.isnan(rows["propensity"].astype(float))
        if none.any() and reading.spec.bad == "refuse":
            raise InputError(
                f"{reading.name} has no propensity in {none.sum():,} of {none.size:,} steps: fill "
                "it in, or give bad='skip' to end visits there"
            )
        lacking = lacking | none
    before, first = np.cumsum(lacking), np.flatnonzero(np.diff(rows["visit"], prepend=-1))
    at_start = np.repeat((before - lacking)[first], np.diff(np.append(first, lacking.size)))
    return np.asarray(before == at_start)


def _numbered(
    column: NDArray[Any], chosen: Mapping[Any, str] | None
) -> tuple[tuple[Any, ...], Ints]:
    """The arms, and the number of each row's arm; whole numbers stay as they are."""
    named, codes = np.unique(column.astype(str), return_inverse=True)
    if chosen is None and all(name.isdecimal() for name in named.tolist()):
        numbers = named.astype(np.int64)
        if int(numbers.max()) < 2 * named.size:  # else names of items rather than numbers of arms
            return tuple(range(int(numbers.max()) + 1)), numbers[codes]
        order = np.argsort(np.argsort(numbers))
        return tuple(np.sort(numbers).tolist()), order[codes]
    arms = named.tolist() if chosen is None else list(dict.fromkeys(chosen.values()))
    number = {label: i for i, label in enumerate(arms)}
    return tuple(arms), np.array([number[name] for name in named.tolist()], np.int64)[codes]


def _propensities(column: NDArray[Any] | None) -> Floats | None:
    if column is None:
        return None
    chances = column.astype(float)
    bad = ~((chances > 0.0) & (chances <= 1.0))
    if bad.any():
        raise InputError(
            f"propensity = {chances[bad][0]} is not allowed: it must be greater than 0 and at "
            f"most 1, and is not in {bad.sum()} of {bad.size} rows"
        )
    return chances


@dataclass(frozen=True)
class Estimate:
    """A mean over visits, its standard error and its interval, which need not be symmetric.

    If the log cannot bound it from above, `high` is infinite; if it can bound neither end, `low` is
    0.
    """

    mean: float
    std_error: float
    low: float
    high: float


def estimate(
    user: Ints, mean: float, influence: Floats, z: float, *, skewed: bool = False
) -> Estimate:
    """An estimate with the influence of each user's visits added up, so errors are clustered.

    `user` is that of each visit. With `skewed` the interval is corrected for skewness.
    """
    by_user = np.bincount(user, influence)
    few = by_user.size / max(by_user.size - 1, 1)
    variance = float((by_user**2).sum())
    error = sqrt(few * variance)
    skewness = float((by_user**3).sum()) / variance**1.5 if skewed and variance > 0.0 else 0.0
    below, above = (_unskewed(y, skewness) for y in (z, -z))
    return Estimate(mean, error, max(mean - below * error, 0.0), mean - above * error)


def _unskewed(y: float, skewness: float) -> float:
    """The quantile, in standard errors, of a mean of this skewness where a normal one has y.

    Hall's cubic transformation (On the removal of skewness by transformation, J. R. Statist. Soc. B
    54, 1992): the weights of long visits are skewed, and the plain interval ends too low.
    """
    if abs(skewness) < 1e-6:
        return y
    return 3.0 / skewness * (float(np.cbrt(1.0 + skewness * (y - skewness / 6.0))) - 1.0)
