"""How to read a log (which column is what, how visits are told apart), and how it was read."""

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
"""The roles of columns, and the names from which each is guessed."""

TIES = ("keep", "any", "all", "half")
BAD = ("refuse", "skip")
RARE = ("other", "refuse")
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
GAPS = {"s": 1, "sec": 1, "min": 60, "m": 60, "h": 3600, "hour": 3600, "d": 86400, "day": 86400}

NEVER = "never"


def _said(help_: str, metavar: str | None = None, default: Any = None) -> Any:
    """A field with its help for the command line and the documentation."""
    return field(default=default, metadata={"help": help_, "metavar": metavar})


@dataclass(frozen=True, kw_only=True)
class LogSpec:
    """How to read a log: which column is what, where visits end, and what counts as a reward.

    Each field is an option of `sojourn fit` and `sojourn evaluate` of the same name, and its
    metadata has the help. `given` and ``LogSpec(**data)`` go to JSON and back.

    >>> spec = LogSpec(gap="90s", reward="liked")
    >>> spec.gap_seconds, spec.given(), LogSpec(**spec.given()) == spec
    (90.0, {'reward': 'liked', 'gap': '90s'}, True)
    """

    visit: str | None = _said("Id of the visit; or give --user, --time and --gap.", "COLUMN")
    user: str | None = _said("Id of the user; intervals are clustered by user.", "COLUMN")
    time: str | None = _said("ISO dates, seconds or milliseconds.", "COLUMN")
    step: str | None = _said("The order of steps within a visit.", "COLUMN")
    arm: str | None = _said("The arm that was shown.", "COLUMN")
    reward: str | None = _said("The reward: 0 or 1, or graded.", "COLUMN")
    left: str | None = _said("1 on the step after which the user left.", "COLUMN")
    censored: str | None = _said("1 where the visit ended without a departure.", "COLUMN")
    end: str | None = _said("When the event ended.", "COLUMN")
    duration: str | None = _said("How long it took, in seconds.", "COLUMN")
    propensity: str | None = _said(
        "The probability with which the arm was shown, if known.", "COLUMN"
    )
    gap: str | float | None = _said("Idle time that ends a visit.", "30min")
    log_end: str | float | None = _said(
        "When the log ends: visits that still go on then are censored.", "TIME|never"
    )
    time_unit: str | None = _said("Unit of times that are numbers.", "|".join(UNITS))
    ties: str = _said(
        "Rows with the same time: steps of their own, or one step with this reward.",
        "|".join(TIES), "keep",
    )  # fmt: skip
    threshold: float | None = _said(
        "Least graded reward that counts as 1; if all are from 0 to 1, means are of the rewards."
    )
    unknown: tuple[float, ...] = _said(
        "A value that means an unknown reward. Repeat for more.", None, ()
    )
    arms: Mapping[Any, str] | None = _said("A .csv with columns item and arm.", "FILE")
    min_pulls: int | None = _said("Arms with fewer pulls are rare; default: see docs.")
    rare: str = _said("Rare arms: count them together, or refuse the log.", "|".join(RARE), "other")
    bad: str = _said("Bad rows: refuse the log, or skip them.", "|".join(BAD), "refuse")
    guess: bool = _said("Guess columns from their names.", None, True)
    table: str | None = _said("With an address: the table.")
    sql: str | None = _said("With an address: a query.")

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
        if self.arms is not None:
            if not isinstance(self.arms, Mapping):
                raise InputError("arms is not allowed: it must be a mapping from items to arms")
            as_in_json = {str(item): str(arm) for item, arm in self.arms.items()}
            object.__setattr__(self, "arms", as_in_json)
        if isinstance(self.unknown, str) or not isinstance(self.unknown, Iterable):
            raise InputError(f"unknown = {self.unknown!r} is not allowed: give a list of numbers")
        object.__setattr__(self, "unknown", tuple(self.unknown))
        if self.time_unit is not None:
            validation.one_of("time_unit", self.time_unit, UNITS)
        for name, allowed in (("ties", TIES), ("bad", BAD), ("rare", RARE)):
            validation.one_of(name, getattr(self, name), allowed)
        validation.flag("guess", self.guess)
        if self.log_end not in (None, NEVER):
            moment("log_end", self.log_end, 1.0)
        if self.end is not None and self.duration is not None:
            raise InputError("give either end or duration, not both")
        if self.visit is not None and self.gap is not None and self.log_end is None:
            raise InputError("give either visit or gap, not both")

    @property
    def gap_seconds(self) -> float | None:
        return None if self.gap is None else seconds("gap", self.gap)

    @property
    def roles(self) -> dict[str, str]:
        """The columns in use, by role."""
        return {name: getattr(self, name) for name in COLUMNS if getattr(self, name) is not None}

    def given(self) -> dict[str, Any]:
        """The fields that differ from the defaults, as JSON has them."""
        found = {f.name: (getattr(self, f.name), f.default) for f in fields(self)}
        return {name: value for name, (value, usual) in found.items() if value != usual}


def spec_of(spec: LogSpec | None, given: Mapping[str, Any]) -> LogSpec:
    """The specification with these fields instead of its own; InputError for one not known."""
    if spec is not None and not isinstance(spec, LogSpec):
        raise InputError(f"spec = {spec!r} is not allowed: it must be a LogSpec")
    names = [f.name for f in fields(LogSpec)]
    for name in given:
        if name not in names:
            raise InputError(f"{name} is not allowed: it must be one of {', '.join(names)}")
    return replace(spec or LogSpec(), **given)


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
    spec: LogSpec = field(default_factory=LogSpec)
    """The specification, with the columns that were guessed."""
    notes: tuple[str, ...] = ()
    time_first: bool = False
    """Whether times order the steps and `step` only those of one moment: if the name of that
    column, such as "position", may mean a place in a list."""

    @property
    def by_step(self) -> bool:
        """Whether the column `step` orders the steps, whatever their times."""
        return self.spec.step is not None and self.spec.gap is None and not self.time_first


def seconds(name: str, value: str | float) -> float:
    """A length of time in seconds, from a number or a text such as "30min"."""
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
    """A point of time in seconds, from a number in the log's unit or from an ISO text."""
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


def resolve(spec: LogSpec, available: Iterable[str]) -> Reading:
    """The specification with guessed columns filled in, and the guesses.

    A guessed column of steps that has another name than "step", such as "position", may be a place
    in a list: times go first then.
    """
    names = list(available)
    for role, column in spec.roles.items():
        if column not in names:
            raise InputError(f"{role} = {column!r} is not a column: there are {', '.join(names)}")
    guessed: dict[str, Any] = _guesses(spec, names) if spec.guess else {}
    chosen = replace(spec, **guessed)
    for role in ("arm", "reward"):
        if getattr(chosen, role) is None:
            raise InputError(f"say which column is the {role}: there are {', '.join(names)}")
    _check_visits(chosen, names)
    time_first = guessed.get("step", "step").lower() != "step" and chosen.time is not None
    return Reading(guessed=guessed, spec=chosen, time_first=time_first)


def _guesses(spec: LogSpec, names: list[str]) -> dict[str, str]:
    """Names that are obvious; ends of visits are not guessed where visits are cut anew by a gap."""
    cut_anew = spec.gap is not None and spec.visit is None
    skip = {"visit", "left", "censored"} if cut_anew else set()
    taken = set(spec.roles.values())
    found = {}
    for role, usual in COLUMNS.items():
        if role in skip or getattr(spec, role) is not None:
            continue
        fitting = [n for n in names if n.lower() in usual and n not in taken]
        if fitting:
            found[role] = min(fitting, key=lambda n: usual.index(n.lower()))
    return found


def _check_visits(chosen: LogSpec, names: list[str]) -> None:
    by_gap = chosen.gap is not None and chosen.visit is None
    if by_gap and (chosen.user is None or chosen.time is None):
        raise InputError(f"gap needs a user and a time column: there are {', '.join(names)}")
    if chosen.visit is None and not by_gap and chosen.left is None:
        raise InputError(
            "say what a visit is: give visit (a column), or user, time and gap, "
            f"or left (a column that marks the last step): there are {', '.join(names)}"
        )
    if chosen.time is None:
        for role in ("ties", "log_end", "end", "duration"):
            if getattr(chosen, role) not in (None, "keep", NEVER):
                raise InputError(f"{role} needs a time column: there are {', '.join(names)}")
