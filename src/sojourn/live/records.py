"""What a store keeps: events, which are the truth; visits; and counters, a fold of events.

A visit goes `open`, then for every step `decide` and `resolve`, then `leave`. A step is resolved
exactly once, by the first of its reward, the next decision, the end and a timeout. That the user
stayed after a step is known from the next `decide`, that they left from `leave`. A reward for a
step that was resolved without it is `late`; if it is learned all the same, `retract` takes back
the default reward first.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from ..engine.steps import level_of

OPEN, DECIDE, RESOLVE, LEAVE = "open", "decide", "resolve", "leave"
LATE, RETRACT = "late", "retract"
REWARD, NEXT, END, TIMEOUT = "reward", "next", "end", "timeout"
"""What resolved a step; the last two are also how a visit ended."""

CHARTED = "charted"  # (CHARTED, 0..4, 0, 0) are sums over visits that ended, as in a `Bucket`
GROUPED = "grouped"  # (GROUPED, 0..2, 0, 0) are sums over assigned visits in the archive
MINUTE, HOUR = 60.0, 3600.0  # seconds of a bucket of the timeline: first, and after some days
GRADES = "grades"  # counts r (1 - r) of rewards r
LEARNED_LATE = "learned late"  # counts rewards that were late, and learned all the same

PERSONAL = ("user",)
"""The columns that erasure empties, in all tables, the archive and later exports. Ids of visits and
requests are the caller's: they must not say who somebody is."""

NO_ARM = -1  # of steps and departures that other experiments have counted of arms not here

Key = tuple[str, int, int, int]
Triple = tuple[float, float, float]
Counts = dict[Key, float]  # sums by (what, i, j, k); see `tally` and `following`


class Event(NamedTuple):
    """One line of the log. States are what the policy saw of them, from 0 to 1.

    The reward of an event of kind `leave` is the sum over the visit, and its step the last one. A
    `late` reward that was learned has the cause `reward`. At a decision whose arm the caller chose,
    `shadow_arm` is the arm that the policy would have shown; `candidates` are the positions of the
    arms that were eligible, joined by commas, and None if all in use were.
    """

    experiment: str
    visit: str
    step: int
    kind: str
    arm: int | None = None
    state: float | None = None
    reward: float | None = None
    after: float | None = None
    cause: str | None = None
    request: str | None = None
    propensity: float | None = None
    user: str | None = None
    shadow_arm: int | None = None
    candidates: str | None = None
    writer: str = ""
    at: float = 0.0


class Row(NamedTuple):
    """A visit: all that is needed to go on with it; by default one before its first change.

    `before` is the state in which the last step was decided, `state` the one it led to, `gained`
    the sum of the rewards. `version` is a random number that every change replaces, and `base` the
    version that it replaced. `epoch` is that of the shares by which the visit was assigned to this
    experiment, as a variant of another one; 0: it was not assigned. `group` is the number of the
    user's group (`groups.number_of`), which stays when the user is erased. What it earns after
    `until` is not compared; in a new row that is the length of the window, to which the store adds
    the time.
    """

    experiment: str
    id: str
    base: int = 0
    version: int = 0
    user: str | None = None
    status: str = "open"
    step: int = 0
    arm: int | None = None
    pending: int = 0
    before: float = 0.0
    state: float = 0.0
    reward: float | None = None
    gained: float = 0.0
    cause: str | None = None
    request: str | None = None
    propensity: float | None = None
    epoch: int = 0
    group: int = 0
    touched: float = 0.0
    deadline: float = 0.0
    until: float = 0.0


class Step(NamedTuple):
    """A resolved step: where, which arm, with what reward, and where it led."""

    step: int
    state: float
    arm: int
    reward: float
    after: float


class Change(NamedTuple):
    """One step of a visit from one version to the next, with its events and what they count.

    The store adds the time: `touch` makes it the visit's last sign of life, and the deadline is
    `wait` seconds after that sign.
    """

    row: Row
    events: tuple[Event, ...]
    counts: Counts
    touch: bool
    wait: float


class Bucket(NamedTuple):
    """Visits that ended in one bucket of a timeline: sums of steps, rewards and their squares."""

    start: float
    visits: int
    steps: float
    steps2: float
    reward: float
    reward2: float


NO_VISITS = Bucket(0.0, 0, 0.0, 0.0, 0.0, 0.0)


AUDIT_ACTOR: ContextVar[str] = ContextVar("sojourn_audit_actor", default="process")
"""The actor for the audit log. The service sets it to the id of the request's key; threads
that it starts inherit it."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A line of the audit log: which actor made which change to an experiment, and when."""

    at: float
    actor: str
    experiment: str
    what: str
    detail: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of a comparison: the difference of a variant to the holdout at a time.

    `rank` follows from the number of visits; of each rank the first snapshot is kept. `visits`
    counts those that had ended, of both.
    """

    at: float
    variant: str
    metric: str
    rank: int
    visits: int
    difference: float
    low: float
    high: float


class Part(NamedTuple):
    """A file of the archive: whole visits that ended on one day, no longer in the store."""

    experiment: str
    day: str
    file: str
    visits: int
    events: int
    digest: str


@dataclass(frozen=True)
class Ledger:
    """Sums of an experiment at one moment, those that were asked for.

    `archived` are the sums of events that were moved to the archive, those of `charted` included.
    `rows` has, by status, how many visits there are, their steps and their rewards. `charted` is
    the sum of all buckets of the timeline. `late` are the late rewards that were learned, by visit
    and step. `grouped` are the sums of all groups (see `groups`), and `assigned` those of the
    events of assigned visits within their windows: visits, steps and rewards. `trends` are the sums
    over time by arm (see `trends`). `parts` are the files of the archive.
    """

    counts: Counts = field(default_factory=dict)
    archived: Counts = field(default_factory=dict)
    rows: dict[str, tuple[int, int, float]] = field(default_factory=dict)
    charted: Bucket = NO_VISITS
    late: dict[tuple[str, int], float] = field(default_factory=dict)
    grouped: Triple = (0.0, 0.0, 0.0)
    assigned: Triple = (0.0, 0.0, 0.0)
    trends: Counts = field(default_factory=dict)
    parts: Sequence[Part] = ()


ALL_SUMS = tuple(each.name for each in fields(Ledger))


class Arm(NamedTuple):
    """An arm: its number, whether it is retired, and its prior counts."""

    position: int
    name: str
    retired: int = 0
    pulls: float = 0.0
    successes: float = 0.0


def tally(event: Event, bins: int) -> Iterator[tuple[Key, float]]:
    """The counts of an event, apart from those of `following`.

    >>> visit = Event("news", "v1", 1, RESOLVE, arm=0, state=1.0, reward=1.0, cause=REWARD)
    >>> for key, amount in tally(visit, bins=2):
    ...     print(key, amount)
    ('pulls', 0, 1, 0) 1.0
    ('successes', 0, 1, 0) 1.0
    ('resolved by reward', 0, 0, 0) 1.0
    """
    if event.arm is not None:
        assert event.state is not None
        b = level_of(event.state, bins)
        if event.kind == DECIDE:
            yield ("issued", event.arm, b, 0), 1.0
        elif event.kind == RESOLVE:
            yield ("pulls", event.arm, b, 0), 1.0
        elif event.kind == LATE:
            yield (LEARNED_LATE, 0, 0, 0), 1.0
        if event.reward:
            sign = -1.0 if event.kind == RETRACT else 1.0
            yield ("successes", event.arm, b, 0), sign * event.reward
            if event.reward < 1.0:
                yield (GRADES, event.arm, 0, 0), sign * event.reward * (1.0 - event.reward)
    if event.kind in (RESOLVE, LEAVE):
        verb = "resolved" if event.kind == RESOLVE else "left"
        yield (f"{verb} by {event.cause}", 0, 0, 0), 1.0
    elif event.kind == OPEN or (event.kind == LATE and event.cause != REWARD):
        yield (event.kind, 0, 0, 0), 1.0


def following(
    step: Step, left: bool, bins: int, threshold: float = 0.0
) -> Iterator[tuple[Key, float]]:
    """The counts that are added when it is known whether the user left after a step.

    Good is a reward above 0 that reaches the threshold.
    """
    b, r = level_of(step.state, bins), int(step.reward > 0.0 and step.reward >= threshold)
    yield ("moves", b, r, level_of(step.after, bins)), 1.0
    yield ("seen", step.arm, b, r), 1.0
    if left:
        yield ("left", step.arm, b, r), 1.0


def told(events: Iterable[Event]) -> Iterator[tuple[Event, Step | None]]:
    """Every event, in order, with the resolved step of its visit before it."""
    resolved: dict[str, Step] = {}
    for event in events:
        previous = resolved.get(event.visit) if event.kind in (DECIDE, LEAVE) else None
        yield event, previous
        if event.kind == RESOLVE:
            assert None not in (event.state, event.arm, event.reward, event.after)
            step = Step(event.step, event.state, event.arm, event.reward, event.after)  # type: ignore[arg-type]
            resolved[event.visit] = step
        elif event.kind == LEAVE:
            resolved.pop(event.visit, None)


def fold(events: Iterable[Event], bins: int, threshold: float = 0.0) -> Counts:
    """The counters that belong to these events.

    >>> fold([Event("news", "v1", 0, OPEN), Event("news", "v1", 0, LEAVE, cause=END)], bins=2)
    {('open', 0, 0, 0): 1.0, ('left by end', 0, 0, 0): 1.0}
    """
    total: defaultdict[Key, float] = defaultdict(float)
    for event, previous in told(events):
        if previous is not None:
            for key, amount in following(previous, event.kind == LEAVE, bins, threshold):
                total[key] += amount
        for key, amount in tally(event, bins):
            total[key] += amount
    return dict(total)


def late_in(events: Iterable[Event]) -> dict[tuple[str, int], float]:
    """The late rewards that were learned, by visit and step."""
    learned = (event for event in events if (event.kind, event.cause) == (LATE, REWARD))
    return {(event.visit, event.step): float(event.reward or 0.0) for event in learned}


def visit_of(event: Event) -> Bucket:
    """One visit that ended, by its last event, in a minute of the timeline."""
    assert event.reward is not None
    n, gained = float(event.step), event.reward
    return Bucket(event.at // MINUTE * MINUTE, 1, n, n * n, gained, gained * gained)


def sums_of(events: Iterable[Event], bins: int, threshold: float = 0.0) -> Counts:
    """The counts of these events and their part of the timeline, in one pass."""
    ended = {(CHARTED, i, 0, 0): 0.0 for i in range(len(NO_VISITS) - 1)}

    def seen() -> Iterator[Event]:
        for event in events:
            if event.kind == LEAVE:
                for i, n in enumerate(visit_of(event)[1:]):
                    ended[CHARTED, i, 0, 0] += n
            yield event

    return {**fold(seen(), bins, threshold), **ended}


def added(one: Counts, other: Counts) -> Counts:
    """The sum of two tables of counters."""
    total = defaultdict(float, one)
    for key, n in other.items():
        total[key] += n
    return dict(total)
