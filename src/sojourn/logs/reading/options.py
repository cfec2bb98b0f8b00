"""How a log is to be read (which column is what, how visits are told apart), and how it was."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any

from ... import validation
from ...validation import InputError

COLUMNS: dict[str, tuple[str, ...]] = {
    "visit": ("visit", "visit_id", "session", "session_id", "sessionid", "visitid"),
    "user": ("user", "user_id", "userid", "uid", "customer_id", "student", "student_id"),
    "time": ("time", "timestamp", "ts", "t", "event_time", "created_at", "datetime"),
    "step": ("step", "order", "position", "seq", "sequence", "row", "row_number"),
    "arm": ("arm", "action", "category", "genre", "item_class", "topic", "skill", "item_id"),
    "reward": ("reward", "liked", "like", "clicked", "click", "correct", "success", "outcome"),
    "left": ("left", "abandoned", "departed", "is_last"),
    "censored": ("censored", "truncated"),
    "end": (),
    "duration": (),
    "propensity": ("propensity",),
}
"""The parts a column can play, and the names from which each is guessed."""

TIES = ("keep", "any", "all", "half")
BAD = ("refuse", "skip")
RARE = ("other", "refuse")
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
GAPS = {"s": 1, "sec": 1, "min": 60, "m": 60, "h": 3600, "hour": 3600, "d": 86400, "day": 86400}

NEVER = "never"


@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """What `fit` was asked to do with a log; see there for the meaning of each.

    >>> LogOptions(gap="90s").gap_seconds
    90.0
    """

    visit: str | None = None
    user: str | None = None
    time: str | None = None
    step: str | None = None
    arm: str | None = None
    reward: str | None = None
    left: str | None = None
    censored: str | None = None
    end: str | None = None
    duration: str | None = None
    propensity: str | None = None
    gap: str | float | None = None
    horizon: str | float | None = None
    time_unit: str | None = None
    ties: str = "keep"
    threshold: float | None = None
    unknown: tuple[float, ...] = ()
    arms: Mapping[Any, str] | None = None
    min_pulls: int | None = None
    rare: str = "other"
    bad: str = "refuse"
    guess: bool = True
    time_first: bool = False
    """Whether times order the steps and `step` only those of one moment: if the name of that
    column, such as "position", may mean a place in a list."""

    def __post_init__(self) -> None:
        for name in COLUMNS:
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise InputError(f"{name} = {value!r} is not allowed: it must be a column's name")
        _ = self.gap_seconds
        if self.threshold is not None:
            validation.number("threshold", self.threshold, float("-inf"), float("inf"))
        if self.min_pulls is not None:
            validation.whole("min_pulls", self.min_pulls, 1)
        if self.time_unit is not None:
            validation.one_of("time_unit", self.time_unit, UNITS)
        if self.arms is not None and not isinstance(self.arms, Mapping):
            raise InputError("arms is not allowed: it must be a mapping from items to arms")
        if isinstance(self.unknown, str) or not isinstance(self.unknown, Iterable):
            raise InputError(f"unknown = {self.unknown!r} is not allowed: give a list of numbers")
        for name, allowed in (("ties", TIES), ("bad", BAD), ("rare", RARE)):
            validation.one_of(name, getattr(self, name), allowed)
        validation.flag("guess", self.guess)
        if self.horizon not in (None, NEVER):
            moment("horizon", self.horizon, 1.0)
        if self.end is not None and self.duration is not None:
            raise InputError("give either end or duration, not both")
        if self.visit is not None and self.gap is not None and self.horizon is None:
            raise InputError("give either visit or gap, not both")

    @property
    def gap_seconds(self) -> float | None:
        return None if self.gap is None else seconds("gap", self.gap)

    @property
    def by_step(self) -> bool:
        """Whether the column `step` orders the steps, whatever their times."""
        return self.step is not None and self.gap is None and not self.time_first

    @property
    def given(self) -> dict[str, Any]:
        """What differs from the defaults."""
        default = LogOptions()
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        if self.arms is not None:
            found["arms"] = f"a map of {len(self.arms)} items"
        found.pop("time_first")  # not asked for, but found
        return {k: v for k, v in found.items() if v != getattr(default, k)}

    @property
    def roles(self) -> dict[str, str]:
        """The columns in use, by the part they play."""
        return {name: getattr(self, name) for name in COLUMNS if getattr(self, name) is not None}


@dataclass(frozen=True)
class Reading:
    """How a log was read: its rows, those that were bad, what was guessed, and remarks.

    >>> Reading("events.csv", rows=9, guessed={"visit": "session"}).guessed["visit"]
    'session'
    """

    name: str = "totals"
    rows: int = 0
    bad: Mapping[str, int] = field(default_factory=dict)
    guessed: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    """Those that differ from the defaults."""
    notes: tuple[str, ...] = ()


def seconds(name: str, value: str | float) -> float:
    """A length of time in seconds, from a number or a text such as "30min".

    >>> seconds("gap", "30min"), seconds("gap", 90)
    (1800.0, 90.0)
    """
    text = str(value).strip() if not isinstance(value, bool) else ""
    found = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([a-z]*?)s?", text)
    unit = GAPS.get(found[2] or "s") if found else None
    if found is None or unit is None or float(found[1]) == 0.0:
        raise InputError(
            f"{name} = {value!r} is not allowed: it must be a number of seconds above 0, "
            'or a text such as "90s", "30min" or "1h"'
        )
    return float(found[1]) * unit


def moment(name: str, value: str | float, unit: float) -> float:
    """A point of time in seconds, from a number in the log's unit or from an ISO text.

    >>> moment("horizon", "1970-01-01T00:01", 1.0), moment("horizon", 60_000, 1e-3)
    (60.0, 60.0)
    """
    if not isinstance(value, str):
        return validation.number(name, value, float("-inf"), float("inf")) * unit
    try:
        read = datetime.fromisoformat(value)
    except ValueError:
        raise InputError(
            f"{name} = {value!r} is not allowed: it must be a time as in the log, "
            "an ISO date, or 'never'"
        ) from None
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()


def resolve(options: LogOptions, available: Iterable[str]) -> tuple[LogOptions, dict[str, str]]:
    """The options with the columns filled in that could be guessed, and the guesses.

    A guessed column of steps that has another name than "step", such as "position", may be a place
    in a list: times go first then.

    >>> found, guessed = resolve(LogOptions(arm="genre"), ["Session_ID", "genre", "liked", "year"])
    >>> guessed, found.arm
    ({'visit': 'Session_ID', 'reward': 'liked'}, 'genre')
    """
    names = list(available)
    for role, column in options.roles.items():
        if column not in names:
            raise InputError(f"{role} = {column!r} is not a column: there are {', '.join(names)}")
    guessed: dict[str, Any] = _guesses(options, names) if options.guess else {}
    chosen = replace(options, **guessed)
    if guessed.get("step", "step").lower() != "step" and chosen.time is not None:
        chosen = replace(chosen, time_first=True)
    for role in ("arm", "reward"):
        if getattr(chosen, role) is None:
            raise InputError(f"say which column is the {role}: there are {', '.join(names)}")
    _check_visits(chosen, names)
    return chosen, guessed


def _guesses(options: LogOptions, names: list[str]) -> dict[str, str]:
    """Names that are obvious; ends of visits are not guessed where visits are cut anew by a gap."""
    cut_anew = options.gap is not None and options.visit is None
    skip = {"visit", "left", "censored"} if cut_anew else set()
    taken = set(options.roles.values())
    found = {}
    for role, usual in COLUMNS.items():
        if role in skip or getattr(options, role) is not None:
            continue
        fitting = [n for n in names if n.lower() in usual and n not in taken]
        if fitting:
            found[role] = min(fitting, key=lambda n: usual.index(n.lower()))
    return found


def _check_visits(chosen: LogOptions, names: list[str]) -> None:
    by_gap = chosen.gap is not None and chosen.visit is None
    if by_gap and (chosen.user is None or chosen.time is None):
        raise InputError(f"gap needs a user and a time column: there are {', '.join(names)}")
    if chosen.visit is None and not by_gap and chosen.left is None:
        raise InputError(
            "say what a visit is: give visit (a column), or user, time and gap, "
            f"or left (a column that marks the last step): there are {', '.join(names)}"
        )
    if chosen.time is None:
        for role in ("ties", "horizon", "end", "duration"):
            if getattr(chosen, role) not in (None, "keep", NEVER):
                raise InputError(f"{role} needs a time column: there are {', '.join(names)}")
