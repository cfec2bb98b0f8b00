"""From any log to trajectories: columns as they are, or the reading of `fit`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...validation import InputError
from ..reading import LEFT
from ..reading.source import fetched, opened
from ..reading.spec import LogSpec, Reading, spec_of
from .trajectories import NEEDED, Flags, Trajectories, column_names, refuse_candidates, trajectories

Rows = dict[str, NDArray[Any]]


def read(
    log: Any,
    *,
    theta: float,
    start: float,
    arms: Sequence[Any] | Mapping[Any, str] | None,
    names: Mapping[str, str] | None,
    log_end: str | float | None = None,
    table: str | None = None,
    sql: str | None = None,
    **options: Any,
) -> tuple[Trajectories, Reading | None]:
    """The steps of a log in order, and how it was read if it was not taken as it is.

    A file, a mapping or a frame that has the columns visit, arm and reward (or those that `names`
    gives) is taken as it is, if there is no other option. Otherwise logs are read as `fit` does.

    >>> log = {"uid": [7, 7, 9], "t": [0, 5, 60], "item": list("aba"), "liked": [1, 0, 1]}
    >>> found, how = read(log, theta=1.0, start=1.0, arms=None, names={"arm": "item"}, gap="30s")
    >>> found.arms, found.arm.tolist(), found.left.tolist(), how.guessed
    (('a', 'b'), [0, 1, 0], [False, True, False], {'user': 'uid', 'time': 't', 'reward': 'liked'})
    """
    by_map = isinstance(arms, Mapping)
    asked = options or by_map or any(x is not None for x in (log_end, table, sql))
    if not asked and _is_plain(log, dict(names or {})):
        listed = None if isinstance(arms, Mapping) else arms
        return trajectories(log, theta=theta, start=start, arms=listed, names=names), None
    if names and "state" in names:
        raise InputError(
            "names = 'state' is not allowed with options of reading: states follow from the rewards"
        )
    fields = {**(names or {}), **options, "log_end": log_end, "arms": arms if by_map else None}
    rows, reading = _rows(log, spec_of(None, {**fields, "table": table, "sql": sql}))
    labels = None if by_map or arms is None else [str(arm) for arm in arms]
    if labels is None:
        rows["arm"], labels = _numbered(rows["arm"])
    return trajectories(rows, theta=theta, start=start, arms=labels), reading


def _is_plain(log: Any, names: dict[str, str]) -> bool:
    """Whether the columns that are needed are there as they are called."""
    if isinstance(log, str) and "://" in log:
        return False
    if isinstance(log, str | PathLike):
        with opened(log) as found:
            present = list(found.table.columns)
    else:
        present = column_names(log)
    return all(names.get(name, name) in present for name in NEEDED)


def _rows(log: Any, spec: LogSpec) -> tuple[Rows, Reading]:
    """The columns that `trajectories` needs, read as `fit` reads them."""
    from ..reading.steps import steps_of

    with opened(log, spec.table, spec.sql) as found:
        if "candidates" in found.table.columns:
            refuse_candidates(fetched(found.table.select("candidates"))["candidates"])
        with steps_of(found, spec) as (steps, reading, _):
            more = ["propensity"] if "propensity" in steps.columns else []
            rows = fetched(steps.select("user", "visit", "step", "arm", "reward", "end", *more))
    notes = [note for note in reading.notes if not note.startswith("rewards are graded")]
    if reading.spec.threshold is not None:
        notes.append(f"rewards of at least {reading.spec.threshold:g} count as 1, all others as 0")
    ordered = _ordered(rows)
    known = _known(ordered, found.name, reading.spec)
    if not known.all():
        lost = np.unique(ordered["visit"][~known]).size
        notes.append(f"{lost:,} visits are cut short before a step of which not all is known")
        ordered = {name: column[known] for name, column in ordered.items()}
    return ordered, replace(reading, notes=tuple(notes))


def _ordered(rows: Rows) -> Rows:
    """Steps in order; the first visits of all users before their second ones."""
    user, visit = (np.unique(rows[c], return_inverse=True)[1] for c in ("user", "visit"))
    code = visit.astype(np.int64) * (int(user.max()) + 1) + user
    order = np.lexsort((rows["step"], code))
    wanted = ["step", "arm", "reward", "end", *(["propensity"] if "propensity" in rows else [])]
    made: Rows = {name: rows[name][order] for name in wanted}
    left = made.pop("end") == LEFT
    return {**made, "visit": code[order], "user": user[order], "left": left}


def _known(rows: Rows, name: str, spec: LogSpec) -> Flags:
    """Which steps are known, and all before them in their visit."""
    lacking = np.array([arm is None for arm in rows["arm"]]) | np.isnan(
        rows["reward"].astype(float)
    )
    if "propensity" in rows:
        none = np.isnan(rows["propensity"].astype(float))
        if none.any() and spec.bad == "refuse":
            raise InputError(
                f"{name} has no propensity in {none.sum():,} of {none.size:,} steps: fill it in, "
                "or give bad='skip' to end visits there"
            )
        lacking = lacking | none
    before = np.cumsum(lacking)
    first = np.flatnonzero(np.diff(rows["visit"], prepend=-1))
    at_start = (before - lacking)[first]
    lengths = np.diff(np.append(first, lacking.size))
    return np.asarray(before - np.repeat(at_start, lengths) == 0)


def _numbered(arm: NDArray[Any]) -> tuple[NDArray[Any], list[Any] | None]:
    """Arms that are called by whole numbers as numbers; and the arms, unless the numbers say it."""
    labels = np.unique(arm.astype(str))
    if not all(label.isdecimal() for label in labels.tolist()):
        return arm.astype(str), labels.tolist()
    numbers = arm.astype(str).astype(np.int64)
    many = int(numbers.max()) + 1 > 2 * labels.size  # names of items rather than numbers of arms
    return numbers, np.unique(numbers).tolist() if many else None
