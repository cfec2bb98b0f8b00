"""Sums over steps by arm and time, from which changes of arms and departures are found.

They are the counters of an arm (`records.tally`, `records.following`) split by the time of the last
sign of life of the visit: a step that times out counts for when it was shown. Steps and departures
are summed by state as well, over all arms, at the numbers -2, -3, ... in the place of that of an
arm: a policy that learns shows other arms and leads to other states, but in the same state and with
the same reward users should leave as before. The sums stay when visits are archived.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..records import Counts, Key

SPAN = 300.0  # seconds of a bucket at first; after some days they are thinned to hours
UNTIMED = 0.0  # the start of what was counted before there were such sums


class Trend(NamedTuple):
    """Steps with one arm, or in one state, in one bucket of time.

    `pulls` were resolved, with the sum of rewards `reward`. Of the steps after which it is known
    whether the user left, `bad` and `good` had such a reward, and `bad_left` and `good_left` of
    them were the last ones. A reward that is learned late counts for the bucket it came in.
    """

    start: float
    arm: int
    pulls: float = 0.0
    reward: float = 0.0
    bad: float = 0.0
    bad_left: float = 0.0
    good: float = 0.0
    good_left: float = 0.0


COUNTED = {
    ("pulls", 0): "pulls",
    ("successes", 0): "reward",
    ("seen", 0): "bad",
    ("left", 0): "bad_left",
    ("seen", 1): "good",
    ("left", 1): "good_left",
}
"""By name and last index of a counter: the sum of a `Trend` that it is part of."""

PLACES = {key: Trend._fields.index(name) - 2 for key, name in COUNTED.items()}
FOLLOWED = ("seen", "left")  # which are counted by state, too


def as_arm(state: int) -> int:
    """The number of a bin of the state where that of an arm is expected, or the other way round."""
    return -2 - state


def parts(key: Key) -> Iterator[tuple[int, int]]:
    """The sum that a counter is added to: the number of an arm or a state, and the field."""
    what, arm, state, k = key
    place = PLACES.get((what, k))
    if place is not None:
        yield arm, place
        if what in FOLLOWED:
            yield as_arm(state), place


def by_arm(counts: Iterable[tuple[Key, float]], start: float = UNTIMED) -> dict[int, Trend]:
    """The additions of counters to the bucket that begins at `start`, by arm and by state."""
    sums: dict[int, list[float]] = {}
    for key, n in counts:
        for arm, place in parts(key):
            sums.setdefault(arm, [0.0] * len(PLACES))[place] += n
    return {arm: Trend(start, arm, *found) for arm, found in sums.items()}


def bucket_of(time: float, width: float = SPAN) -> float:
    """The start of the bucket, of this many seconds, that a time falls into."""
    return time // width * width


def as_counts(trends: Iterable[Trend]) -> Counts:
    """All sums over time by arm, as counters for `verify` to compare."""
    total: defaultdict[Key, float] = defaultdict(float)
    for trend in trends:
        for name, n in zip(Trend._fields[2:], trend[2:], strict=True):
            total[f"over time: {name}", trend.arm, 0, 0] += n
    return dict(total)
