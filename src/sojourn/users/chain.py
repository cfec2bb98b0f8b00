"""Users with any finite number of states."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from .. import validation
from ..chain import Array
from ..engine.structs import PYTHON_ONLY
from ..validation import InputError
from .base import Space, User

MOST_STATES = 1000
"""The table of chances has two entries for each pair of states: 16 MB."""

MOST_LEVELS = 100


@dataclass(frozen=True, repr=False)
class Chain(User):
    """A user with states 0, 1, ..., n - 1, given by tables with a row for each state.

    A row of `next` has the next state after reward 0 and after reward 1, each a state or a list of
    n chances; a row of `leave` the probabilities to leave after reward 0 and after reward 1. For
    graded rewards there may be more columns, one for each level (`Levels`). A policy sees the
    state as a number in [0, 1]: `seen`, evenly spaced unless given, so that the last state is the
    best one. Visits begin in the last state unless `start` says otherwise.

    >>> leave = [[0.6, 0.1], [0.3, 0.05], [0.1, 0.02]]
    >>> user = Chain(next=[[0, 1], [0, 2], [1, 2]], leave=leave)  # down after a 0, up after a 1
    >>> user.next_state(2.0, 0.0), user.leave_probability(1.0, 0.0, 0), user.experience(1.0)
    (1.0, 0.3, 0.5)
    """

    next: Any = field(metadata=PYTHON_ONLY)
    leave: Any = field(metadata=PYTHON_ONLY)
    seen: Any = field(default=None, metadata=PYTHON_ONLY)
    start: Any = field(default=None, kw_only=True)

    after: Array = field(init=False, repr=False, compare=False)
    """The next state by [state, reward]; minus the number of states if it is random."""
    chances: Array = field(init=False, repr=False, compare=False)
    """Chances by [state, reward, next state]; empty if no next state is random."""
    leaving: Array = field(init=False, repr=False, compare=False)
    shown: Array = field(init=False, repr=False, compare=False)

    model: ClassVar[str] = "chain"

    def __post_init__(self) -> None:
        leave = _rows("leave", self.leave)
        n = len(leave)
        if n > MOST_STATES:
            raise InputError(f"leave is not allowed: it has {n} rows, and may have {MOST_STATES}")
        leave = [validation.numbers(f"leave[{s}]", row, 0, 1) for s, row in enumerate(leave)]
        chances = _chances(self.next, n, len(leave[0]))
        seen = np.linspace(0.0, 1.0, n) if n > 1 else np.ones(1)
        if self.seen is not None:
            if not isinstance(self.seen, Sequence) or len(self.seen) != n:
                given = validation.shown(self.seen)
                raise InputError(f"seen = {given} is not allowed: give a number per state")
            seen = np.array(validation.numbers("seen", self.seen, 0, 1))
        sure = chances.max(axis=2) == 1.0
        made = {
            "next": _frozen(self.next),
            "leave": tuple(leave),
            "seen": None if self.seen is None else tuple(seen.tolist()),
            "after": np.where(sure, chances.argmax(axis=2), -float(n)),
            "chances": np.zeros((0, 0, 0)) if sure.all() else chances,
            "leaving": np.array(leave),
            "shown": seen,
            "start": n - 1.0 if self.start is None else self.start,
        }
        vars(self).update(made)
        super().__post_init__()

    def __repr__(self) -> str:
        given = {"next": self.next, "leave": self.leave}
        if self.seen is not None:
            given["seen"] = self.seen
        if self.start.states != (len(self.leave) - 1.0,):
            given["start"] = self.start
        return f"Chain({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    @property
    def space(self) -> Space:  # type: ignore[override]
        n = len(self.leave)
        return Space(states=n, bins=n, outcomes=len(self.leave[0]))

    def next_state(self, state: float, reward: float) -> float:
        """The next state; where it is random, minus the number of states."""
        return float(self.after[int(state), int(reward)])

    def next_chance(self, state: float, reward: float, after: float) -> float:
        return float(self.chances[int(state), int(reward), int(after)])

    def leave_probability(self, state: float, reward: float, arm: int) -> float:
        return float(self.leaving[int(state), int(reward)])

    def experience(self, state: float) -> float:
        return float(self.shown[int(state)])

    def settings(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"next": _plain(self.next), "leave": _plain(self.leave)}
        return plain if self.seen is None else {**plain, "seen": _plain(self.seen)}


def _rows(name: str, table: Any) -> list[Any]:
    """A table with as many entries in each row, and at least two."""
    good = isinstance(table, Sequence) and not isinstance(table, str) and len(table) > 0
    if good and all(isinstance(row, Sequence) and not isinstance(row, str) for row in table):
        columns = {len(row) for row in table}
        if len(columns) == 1 and 2 <= min(columns) <= MOST_LEVELS:
            return list(table)
    raise InputError(
        f"{name} = {validation.shown(table)} is not allowed: it must be a table with a row per "
        "state and two columns, for reward 0 and for reward 1 (or one for each level of a graded "
        f"reward, up to {MOST_LEVELS})"
    )


def _chances(table: Any, n: int, levels: int) -> Array:
    """By [state, reward, next state]."""
    rows = _rows("next", table)
    if len(rows) != n:
        raise InputError(f"next has {len(rows)} rows and leave {n}: give a row per state in both")
    if len(rows[0]) != levels:
        raise InputError(
            f"next has {len(rows[0])} columns and leave {levels}: give one per reward in both"
        )
    chances = np.zeros((n, levels, n))
    for s, row in enumerate(rows):
        for r, entry in enumerate(row):
            where = f"next[{s}][{r}]"
            if not isinstance(entry, Sequence):
                chances[s, r, validation.whole(where, entry, 0, n - 1)] = 1.0
                continue
            found = validation.numbers(where, entry, 0, 1)
            if len(found) != n or abs(sum(found) - 1.0) > 1e-9:
                raise InputError(
                    f"{where} = {validation.shown(entry)} is not allowed: give a state, or {n} "
                    "chances that add up to 1"
                )
            chances[s, r] = found
    return chances


def _frozen(table: Any) -> Any:
    return tuple(_frozen(row) for row in table) if isinstance(table, Sequence) else table


def _plain(table: Any) -> Any:
    return [_plain(row) for row in table] if isinstance(table, tuple) else table
