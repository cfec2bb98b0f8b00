"""Has something changed? The mean reward of each arm, and how often users leave, over time.

Both are watched in the sums of `trends`. The test is that of `stats.changes`, valid at all times,
with a part of the level for each series. Users differ, so the statistic is divided by the
overdispersion of the sums.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from ... import validation
from ...policies.reasons import two_digits
from ...stats.changes import Change, changes_in, dispersion
from ...validation import InputError
from .. import states
from ..records import HOUR, TIMEOUT, Arm, Counts
from ..stores.base import Store, counters, one_of_its_own, plain_settings
from .trends import SPAN, Trend, as_arm, bucket_of

BACK = 28 * 86_400.0  # seconds that are looked back
WIDTHS = (SPAN, HOUR, 2 * HOUR)
MOST_BUCKETS = 400
ARM, LEAVING = "arm", "leaving"
LEVELS = (("bad", "no reward"), ("good", "a reward"))


@dataclass(frozen=True, slots=True)
class Changed:
    """A change of a series: from the time `at` on its mean is `after` instead of `before`.

    `text` says so in words; `statistic` exceeds the `threshold` of the test.
    """

    at: float
    before: float
    after: float
    statistic: float
    threshold: float
    text: str


@dataclass(frozen=True)
class Series:
    """A mean over time: trials and sums by bucket, when these begin, and the changes of the mean.

    `mean` is that since the last change; 0 without trials. A series is `watched` if there are
    enough trials to know how much it varies.
    """

    kind: str
    name: str
    mean: float
    starts: tuple[float, ...]
    trials: tuple[float, ...]
    sums: tuple[float, ...]
    watched: bool
    changes: tuple[Changed, ...]


@dataclass(frozen=True)
class Drift:
    """Changes of an experiment: of the mean of each arm, and of departures.

    Buckets are of `width` seconds, and whole before `until`. While nothing changes, a false alarm
    ever occurs with probability at most `delta`, as far as `dispersion` (of arms, of leaving) is
    known.
    """

    experiment: str
    at: float
    until: float
    width: float
    delta: float
    dispersion: dict[str, float | None]
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
            return "It is too early to say: there are too few steps."
        return f"Nothing has changed in the {watched} means over time that are watched."


def drift(store: Store, experiment: str, *, delta: float = 0.05) -> Drift:
    """Detect changes of an experiment in the last four weeks, by the sums over time in its store.

    >>> from sojourn.live import Experiment
    >>> with Experiment("news", ["a", "b"], compiled=False) as news:
    ...     arm = news.visit().choose()
    ...     print(drift(news.journal.store, "news"))
    It is too early to say: there are too few steps.
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
    since = max(bucket_of(now - BACK, longest), longest)
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
    """The means of active arms, and of leaving by state and reward."""
    used = [Mean(ARM, arm.name, arm.position, "reward", "pulls") for arm in arms if not arm.retired]
    leaving = [
        Mean(LEAVING, f"leaving {state}, then {words}", as_arm(b), f"{level}_left", level)
        for b, state in enumerate(states)
        for level, words in LEVELS
    ]
    return used + leaving


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
    sums = {}
    for mean in means:
        won, made = (table[mean.number][Trend._fields.index(n)] for n in (mean.won, mean.made))
        # a reward that came late may be in a bucket without its step
        sums[mean] = np.clip(won, 0.0, made), made
    spread = {
        kind: dispersion([sums[mean] for mean in means if mean.kind == kind])
        for kind in (ARM, LEAVING)
    }

    def series(mean: Mean) -> Series:
        won, made = sums[mean]
        found, factor = [], spread[mean.kind]
        if factor is not None:
            found = changes_in(won, made, delta=delta / len(means), overdispersion=factor)
        last = found[-1].at if found else 0
        trials = made[last:].sum()
        return Series(
            kind=mean.kind,
            name=mean.name,
            mean=float(won[last:].sum() / trials) if trials else 0.0,
            starts=tuple(starts),
            trials=tuple(made.tolist()),
            sums=tuple(won.tolist()),
            watched=factor is not None and bool(made.any()),
            changes=tuple(_changed(mean.name, starts[change.at], change) for change in found),
        )

    seen = [mean for mean in means if mean.kind == ARM or sums[mean][1].any()]
    return Drift(experiment, *times, delta, spread, tuple(map(series, seen)))


def _changed(name: str, at: float, change: Change) -> Changed:
    when, (before, after, statistic, threshold) = datetime.fromtimestamp(at, UTC), change[1:]
    text = (
        f"{name}: {two_digits(before)} until {when.day} {when:%B %H:%M} UTC, "
        f"{two_digits(after)} since (GLR {statistic:.1f} > {threshold:.1f})"
    )
    return Changed(at, before, after, statistic, threshold, text)
