"""What a store keeps: events, which are the truth; visits; and counters, a fold of events.

A visit goes `open`, then for every step `decide` and `resolve`, then `leave`. A step is resolved
exactly once, by the first of its reward, the next decision, the end and a timeout. That the user
stayed after a step is known from the next `decide`, that they left from `leave`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from ..engine.steps import level_of

OPEN, DECIDE, RESOLVE, LEAVE, LATE = "open", "decide", "resolve", "leave", "late"
REWARD, NEXT, END, TIMEOUT = "reward", "next", "end", "timeout"
"""What resolved a step; the last two also say how a visit ended."""

Key = tuple[str, int, int, int]
Counts = dict[Key, float]  # sums by (what, i, j, k); see `tally` and `following`


class Event(NamedTuple):
    """One line of the log. States are what the policy saw of them, from 0 to 1.

    The reward of an event of kind `leave` is the sum over the visit, and its step the last one.
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
    writer: str = ""
    at: float = 0.0


class Row(NamedTuple):
    """A visit: all that is needed to go on with it; by default one before its first change.

    `before` is the state in which the last step was decided, `state` the one it led to, `gained`
    the sum of the rewards. `version` is a random number that every change replaces, and `base` the
    version that it replaced.
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
    touched: float = 0.0
    deadline: float = 0.0


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

    def stamped(self, now: float) -> Row:
        touched = now if self.touch else self.row.touched
        return self.row._replace(touched=touched, deadline=touched + self.wait)


class Bucket(NamedTuple):
    """Visits that ended in one bucket of a timeline: sums of steps, rewards and their squares."""

    start: float
    visits: int
    steps: float
    steps2: float
    reward: float
    reward2: float


class Arm(NamedTuple):
    """An arm: its number, whether it is retired, and counts from elsewhere to begin with."""

    position: int
    name: str
    retired: int = 0
    pulls: float = 0.0
    successes: float = 0.0


class News(NamedTuple):
    """What a replica needs to keep up with other processes."""

    settings: str
    arms: list[Arm]
    writer: str
    """This process, whose counts are not in `others`."""
    others: Counts
    overdue: bool = False
    """Whether there are visits past their deadline."""


def tally(event: Event, bins: int) -> Iterator[tuple[Key, float]]:
    """What an event adds to the counters, apart from what `following` does.

    >>> visit = Event("news", "v1", 1, RESOLVE, arm=0, state=1.0, reward=1.0, cause=REWARD)
    >>> for key, amount in tally(visit, bins=2):
    ...     print(key, amount)
    ('pulls', 0, 1, 0) 1.0
    ('successes', 0, 1, 0) 1.0
    ('resolved by reward', 0, 0, 0) 1.0
    """
    if event.kind in (DECIDE, RESOLVE):
        assert event.arm is not None
        assert event.state is not None
        b = level_of(event.state, bins)
        if event.kind == DECIDE:
            yield ("issued", event.arm, b, 0), 1.0
        else:
            yield ("pulls", event.arm, b, 0), 1.0
            if event.reward:
                yield ("successes", event.arm, b, 0), event.reward
    if event.kind in (RESOLVE, LEAVE):
        verb = "resolved" if event.kind == RESOLVE else "left"
        yield (f"{verb} by {event.cause}", 0, 0, 0), 1.0
    elif event.kind in (OPEN, LATE):
        yield (event.kind, 0, 0, 0), 1.0


def following(step: Step, left: bool, bins: int) -> Iterator[tuple[Key, float]]:
    """What is added to the counters when it is known whether the user left after a step."""
    b, r = level_of(step.state, bins), int(step.reward > 0.0)
    yield ("moves", b, r, level_of(step.after, bins)), 1.0
    if left:
        yield ("gone", b, r, 0), 1.0


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


def fold(events: Iterable[Event], bins: int) -> Counts:
    """The counters that belong to these events.

    >>> fold([Event("news", "v1", 0, OPEN), Event("news", "v1", 0, LEAVE, cause=END)], bins=2)
    {('open', 0, 0, 0): 1.0, ('left by end', 0, 0, 0): 1.0}
    """
    total: defaultdict[Key, float] = defaultdict(float)
    for event, previous in told(events):
        followed = following(previous, event.kind == LEAVE, bins) if previous is not None else ()
        for key, amount in chain(followed, tally(event, bins)):
            total[key] += amount
    return dict(total)


def added(one: Counts, other: Counts) -> Counts:
    """The sum of two tables of counters."""
    total = defaultdict(float, one)
    for key, n in other.items():
        total[key] += n
    return dict(total)
