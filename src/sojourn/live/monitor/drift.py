"""Has something changed? The mean reward of each arm, and how often users leave, over time.

Both are watched in the sums of `trends`, by whole days (UTC). The test is that of `stats.days`: an
arm is compared with the others in the same hours, everything with the same weekdays before.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ... import validation
from ...policies.reasons import two_digits
from ...stats.days import DAY, DAYS, Change, Sums, watch
from ...stats.moments import Array
from ...validation import InputError
from .. import states
from ..records import HOUR, TIMEOUT, Arm, Counts
from ..stores.base import Store, counters, one_of_its_own, plain_settings
from .trends import SPAN, Trend, as_arm, bucket_of

WIDTHS = (SPAN, HOUR, 2 * HOUR)
MOST_BUCKETS = 12 * DAYS
ARM, ALL, LEAVING = "arm", "all arms", "leaving"
AS_ARM = -1  # the number of all arms where that of one is expected
AGAINST = {
    ARM: "against the other arms and the same weekdays",
    ALL: "against the same weekdays, whichever arms were shown",
    LEAVING: "against the same weekdays",
}
LEVELS = (("bad", "no reward"), ("good", "a reward"))


@dataclass(frozen=True, slots=True)
class Changed:
    """A change of a series: from the time `at` on its mean is `after` instead of `before`.

    `difference` is the change that is left beside the other arms and the rhythm of the week. `text`
    says so in words; `statistic`, the logarithm of the evidence, exceeds the `threshold`.
    """

    at: float
    before: float
    after: float
    difference: float
    statistic: float
    threshold: float
    text: str


@dataclass(frozen=True)
class Series:
    """A mean over time: trials and sums by bucket, when these begin, and the changes of the mean.

    `mean` is that since the last change; 0 without trials. A series is `watched` once two days can
    be compared with the same weekday before.
    """

    kind: str
    name: str
    mean: float
    starts: tuple[float, ...]
    trials: tuple[float, ...]
    sums: tuple[float, ...]
    watched: bool
    changes: tuple[Changed, ...]

    @property
    def against(self) -> str:
        """What it is compared with, in words."""
        return AGAINST[self.kind]


@dataclass(frozen=True)
class Drift:
    """Changes of an experiment: of each arm, of the level of all arms, and of departures.

    Buckets are of `width` seconds, and whole before `until`. While nothing changes, a false alarm
    occurs within eight weeks with probability at most `delta`.
    """

    experiment: str
    at: float
    until: float
    width: float
    delta: float
    series: tuple[Series, ...]

    @property
    def changed(self) -> list[Series]:
        """The series that have changed, the latest change first."""
        found = [each for each in self.series if each.changes]
        return sorted(found, key=lambda each: -each.changes[-1].at)

    def __str__(self) -> str:
        if self.changed:
            return "\n".join(change.text for each in self.changed for change in each.changes)
        watched = sum(each.watched for each in self.series)
        if not watched:
            return "It is too early to say: a day is compared with the same weekday before."
        return f"Nothing has changed in the {watched} means over time that are watched."


def drift(store: Store, experiment: str, *, delta: float = 0.05) -> Drift:
    """Detect changes of an experiment in the last eight weeks, by the sums over time in its store.

    >>> from sojourn.live import Experiment
    >>> with Experiment("news", ["a", "b"], compiled=False) as news:
    ...     arm = news.visit().choose()
    ...     print(drift(news.journal.store, "news"))
    It is too early to say: a day is compared with the same weekday before.
    """
    delta = validation.number("delta", delta, 0, 1, open_ends=True)
    stored, now = one_of_its_own(store, experiment), store.ping()
    settings = plain_settings(stored.settings)
    until = now - waited(settings, counters(store, experiment))
    trends, width = recent(store, experiment, now)
    means = means_of(stored.arms, state_words(settings))
    return drifted(experiment, means, trends, Times(now, until, width), delta)


def waited(settings: Mapping[str, Any], counts: Counts) -> float:
    """Seconds for which the result of a step is unknown, where visits time out."""
    timed_out = any(counts.get((f"{verb} by {TIMEOUT}", 0, 0, 0)) for verb in ("left", "resolved"))
    return float(settings["idle_timeout"]) if timed_out else 0.0


def state_words(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The bins of the state in words; a user model of another package has none that are known."""
    try:
        return states.states_in_words(states.from_description(settings["user"]), settings["bins"])
    except InputError:
        return states.ranges_in_words("state", settings["bins"])


def recent(store: Store, experiment: str, now: float) -> tuple[list[Trend], float]:
    """The sums over time, in buckets as short as their number allows; and how long those are."""
    longest = WIDTHS[-1]
    since = max(bucket_of(now - DAYS * DAY, DAY), longest)
    trends = store.series(Trend, experiment, since=since, width=longest)
    if not trends:
        return [], longest
    first = trends[0].start
    width = next((w for w in WIDTHS if (now - first) / w <= MOST_BUCKETS), longest)
    if width == longest:
        return trends, width
    return store.series(Trend, experiment, since=first, width=width), width


class Mean(NamedTuple):
    """A mean that is watched: `won` of `made`, which are sums of trends of this number."""

    kind: str
    name: str
    number: int
    won: str
    made: str


def means_of(arms: Iterable[Arm], states: Sequence[str]) -> list[Mean]:
    """The means of active arms, of all of them, and of leaving by state and reward."""
    used = [Mean(ARM, arm.name, arm.position, "reward", "pulls") for arm in arms if not arm.retired]
    leaving = [
        Mean(LEAVING, f"leaving {state}, then {words}", as_arm(b), f"{level}_left", level)
        for b, state in enumerate(states)
        for level, words in LEVELS
    ]
    return [*used, Mean(ALL, ALL, AS_ARM, "reward", "pulls"), *leaving]


class Times(NamedTuple):
    """The time now, until when buckets are whole, and how long they are."""

    at: float
    until: float
    width: float


def drifted(
    experiment: str, means: Sequence[Mean], trends: Sequence[Trend], times: Times, delta: float
) -> Drift:
    """Changes in the sums, of buckets that were over before `until`."""
    whole = [trend for trend in trends if trend.start + times.width <= times.until]
    starts = sorted({trend.start for trend in whole})
    places = {start: i for i, start in enumerate(starts)}
    table = {mean.number: np.zeros((len(Trend._fields), len(starts))) for mean in means}
    for trend in whole:
        if trend.arm in table:
            table[trend.arm][:, places[trend.start]] = trend
    table[AS_ARM] = sum((table[mean.number] for mean in means if mean.kind == ARM), table[AS_ARM])
    sums = np.array([_sums(table[mean.number], mean) for mean in means])
    days = np.array(starts)[: np.searchsorted(starts, bucket_of(times.until, DAY))]
    arms, leaving = (
        Sums(*sums[[mean.kind == kind for mean in means], :, : days.size].swapaxes(0, 1))
        for kind in (ARM, LEAVING)
    )
    found = watch(arms, leaving, days, delta)
    series = tuple(
        _series(mean, won, made, starts, changes)
        for mean, (won, made), changes in zip(means, sums, found, strict=True)
        if mean.kind == ARM or made.any()
    )
    return Drift(experiment, *times, delta, series)


def _sums(table: Array, mean: Mean) -> tuple[Array, Array]:
    """Clipped, as a reward that came late may be in a bucket without its step."""
    won, made = (table[Trend._fields.index(name)] for name in (mean.won, mean.made))
    return np.clip(won, 0.0, made), made


def _series(
    mean: Mean, won: Array, made: Array, starts: Sequence[float], found: list[Change] | None
) -> Series:
    edges = [0, *(change.at for change in found or ()), len(starts)]
    means = [float(won[a:b].sum() / (made[a:b].sum() or 1.0)) for a, b in pairwise(edges)]
    return Series(
        kind=mean.kind,
        name=mean.name,
        mean=means[-1],
        starts=tuple(starts),
        trials=tuple(made.tolist()),
        sums=tuple(won.tolist()),
        watched=found is not None,
        changes=tuple(
            _changed(mean, starts[change.at], pair, change)
            for pair, change in zip(pairwise(means), found or (), strict=True)
        ),
    )


def _changed(mean: Mean, at: float, means: tuple[float, float], change: Change) -> Changed:
    when, (_, difference, statistic, threshold) = datetime.fromtimestamp(at, UTC), change
    text = (
        f"{mean.name}: {two_digits(means[0])} until {when.day} {when:%B}, {two_digits(means[1])} "
        f"since; {difference:+.2g} {AGAINST[mean.kind]} "
        f"(log evidence {statistic:.1f} > {threshold:.1f})"
    )
    return Changed(at, *means, difference, statistic, threshold, text)
