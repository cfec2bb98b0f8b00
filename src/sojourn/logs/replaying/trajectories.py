"""A log as trajectories: steps in order, with states, propensities and ends of visits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...validation import InputError
from ..reading.source import columns, opened

Floats = NDArray[Any]  # of doubles; NumPy types some of its sums otherwise
Ints = NDArray[np.int64]
Flags = NDArray[Any]

NEEDED = ("visit", "arm", "reward")
OPTIONAL = ("user", "step", "left", "censored", "propensity", "state", "candidates")


@dataclass(frozen=True, eq=False)
class Trajectories:
    """Rows in the order of visits and steps; `first` are the rows at which visits begin."""

    arms: tuple[Any, ...]
    theta: float
    arm: Ints
    reward: Floats
    left: Flags
    censored: Flags
    """Whether the log stops here, so that nobody knows whether the user left."""
    propensity: Floats | None
    state: Floats
    first: Ints
    user: Ints
    """Of every visit, from 0."""

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

    @cached_property
    def next_state(self) -> Floats:
        return self.onward(self.state, self.reward)

    def onward(self, state: Floats, reward: float | Floats) -> Floats:
        """The state that a reward leads to."""
        return (1.0 - self.theta) * state + self.theta * reward

    def place(self, state: Floats, reward: float | Floats) -> Floats:
        """What leaving depends on: state and reward in two states, otherwise the state reached."""
        return 2.0 * state + reward if self.theta == 1.0 else self.onward(state, reward)

    def by_visit(self, rows: NDArray[Any]) -> Floats:
        return np.add.reduceat(rows, self.first, dtype=float)

    def until(self, horizon: int) -> "Trajectories":
        """The same log with at most this many steps of each visit."""
        kept = self.step < horizon
        sizes = np.minimum(self.length, horizon)
        rows = ("arm", "reward", "left", "censored", "propensity", "state")
        columns = {name: getattr(self, name) for name in rows}
        cut: dict[str, Any] = {n: None if c is None else c[kept] for n, c in columns.items()}
        return replace(self, **cut, first=np.cumsum(sizes) - sizes)


def trajectories(
    log: Any,
    *,
    theta: float = 1.0,
    start: float = 1.0,
    arms: Sequence[Any] | None = None,
    names: Mapping[str, str] | None = None,
) -> Trajectories:
    """Check a log, given as columns, and put it in order.

    `log` is a file, a mapping of arrays or a frame (pandas, polars, Arrow). `names` says which
    column is meant where it is not called visit, arm, reward, user, step, left, censored,
    propensity or state; the first three are needed. Rows may come in any order if there is a
    `step`. A visit ends with a departure if its last row has `left` (without such a column: unless
    it has `censored`). `arms` lists the arms in the policy's order; whole numbers speak for
    themselves.

    The state begins at `start`, or as the `state` column has it, and moves by `theta`:
    s' = (1 - theta) s + theta r. With theta = 1 it is the last reward: two states.

    >>> found = trajectories({"visit": [7, 7, 9], "arm": [1, 0, 1], "reward": [0, 1, 1]})
    >>> found.visits, found.state.tolist(), found.left.tolist()
    (2, [1.0, 0.0, 1.0], [False, True, True])
    """
    theta = validation.number("theta", theta, 0, 1)
    table = _columns(log, dict(names or {}))
    refuse_candidates(table.pop("candidates", None))
    visit = _codes("visit", table["visit"])
    order = (
        np.lexsort((table["step"], visit)) if "step" in table else np.argsort(visit, kind="stable")
    )
    table = {name: column[order] for name, column in table.items()}
    visit = visit[order]
    first = np.flatnonzero(np.diff(visit, prepend=-1))
    left = _departures(table, visit)
    labels, arm = _arms(table["arm"], arms)
    reward = _flags("reward", table["reward"]).astype(float)
    user = _codes("user", table["user"][first]) if "user" in table else np.arange(first.size)
    return Trajectories(
        arms=labels,
        theta=theta,
        arm=arm,
        reward=reward,
        left=left,
        censored=(np.diff(visit, append=-1) != 0) & ~left,
        propensity=_propensities(table.get("propensity")),
        state=_states(table.get("state"), reward, first, theta, start),
        first=first,
        user=user,
    )


def refuse_candidates(column: NDArray[Any] | None) -> None:
    """InputError if some steps were decided among candidates, as exports of live visits say.

    A policy that is replayed may show any arm at any step; among candidates it is another one.
    """
    cells = [] if column is None else column.tolist()
    filled = sum(cell not in (None, "") and cell == cell for cell in cells)
    if filled:
        raise InputError(
            f"candidates is not allowed: {filled:,} of {len(cells):,} steps of the log were "
            "decided among some of the arms only, and a policy is replayed as if it could show "
            "any; leave the visits of these steps out"
        )


def _columns(log: Any, names: dict[str, str]) -> dict[str, NDArray[Any]]:
    for name in names:
        validation.one_of("names", name, NEEDED + OPTIONAL)
    wanted = {name: names.get(name, name) for name in NEEDED + OPTIONAL}
    if isinstance(log, str | PathLike):
        with opened(log) as found:
            here = [c for c in found.table.columns if c in wanted.values()]
        log = columns(log, here)
    present = column_names(log)
    for name, column in wanted.items():
        if column not in present and (name in NEEDED or name in names):
            raise InputError(f"the log has no column {column!r} ({name}): it has {present}")
    table = {name: np.asarray(log[c]) for name, c in wanted.items() if c in present}
    sizes = {name: column.shape for name, column in table.items()}
    if len(set(sizes.values())) != 1 or table["visit"].ndim != 1 or not table["visit"].size:
        raise InputError(
            f"the log is not allowed: its columns must have rows, all as many: {sizes}"
        )
    return table


def column_names(log: Any) -> list[str]:
    """Those of a mapping or a data frame."""
    for attribute in ("column_names", "keys", "columns"):
        found = getattr(log, attribute, None)
        if found is not None:
            return list(found() if callable(found) else found)
    raise InputError(
        f"log = {log!r} is not allowed: it must be a file, a mapping of columns or a data frame"
    )


def _codes(name: str, column: NDArray[Any]) -> Ints:
    """Numbers from 0 in the order of the labels."""
    _no_gaps(name, column)
    return np.unique(column, return_inverse=True)[1].astype(np.int64)


def _no_gaps(name: str, column: NDArray[Any]) -> None:
    missing = column != column  # NaN and NaT
    if column.dtype == object:
        missing = missing | np.array([value is None for value in column])
    if np.any(missing):
        raise InputError(f"{name} is missing in {np.sum(missing)} rows of the log: leave them out")


def _flags(name: str, column: NDArray[Any]) -> Flags:
    _no_gaps(name, column)
    good = np.isin(column, (0, 1))
    if not good.all():
        raise InputError(
            f"{name} = {column[~good][0]!s} is not allowed: it must be 0 or 1 in every row"
        )
    return column.astype(float) > 0.0


def _arms(column: NDArray[Any], arms: Sequence[Any] | None) -> tuple[tuple[Any, ...], Ints]:
    _no_gaps("arm", column)
    if arms is None:
        whole = np.issubdtype(column.dtype, np.integer) and column.min() >= 0
        arms = range(int(column.max()) + 1) if whole else np.unique(column).tolist()
    number = {label: i for i, label in enumerate(arms)}
    labels, codes = np.unique(column, return_inverse=True)
    unknown = [label for label in labels.tolist() if label not in number]
    if unknown:
        raise InputError(f"arm = {unknown[0]!r} is not allowed: arms has only {list(arms)}")
    return tuple(arms), np.array([number[a] for a in labels.tolist()], np.int64)[codes]


def _departures(table: dict[str, NDArray[Any]], visit: Ints) -> Flags:
    last = np.diff(visit, append=-1) != 0
    if "left" not in table:
        cut = _flags("censored", table["censored"]) if "censored" in table else False
        return np.asarray(last & ~np.asarray(cut))
    left = _flags("left", table["left"])
    early = np.sum(left & ~last)
    if early:
        raise InputError(f"left = 1 is not allowed before the end of a visit: {early} rows have it")
    return left


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


def _states(
    column: NDArray[Any] | None, reward: Floats, first: Ints, theta: float, start: float
) -> Floats:
    opening = np.full(first.size, validation.number("start", start, 0, 1))
    if column is not None:
        opening = column[first].astype(float)
    if theta == 1.0 and not np.isin(opening, (0.0, 1.0)).all():
        raise InputError(f"start = {opening[0]:g} is not allowed: it must be 0 or 1 if theta is 1")
    state = np.empty(reward.size)
    state[first] = opening
    length = np.diff(np.append(first, reward.size))
    for step in range(1, int(length.max())):
        rows = first[length > step] + step
        state[rows] = (1.0 - theta) * state[rows - 1] + theta * reward[rows - 1]
    if column is not None and np.abs(state - column).max() > 1e-6:
        raise InputError(
            f"theta = {theta:g} is not allowed: the state column of the log does not move so"
        )
    return state
