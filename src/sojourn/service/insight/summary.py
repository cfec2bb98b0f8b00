"""What the counters of an experiment say: the numbers of the dashboard.

Everything is a function of sums: those that the store keeps anyway (`online.records.tally`), and,
for what happened when, sums over the visits that ended (`Experiment.timeline`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from math import isfinite, sqrt
from typing import Any

import numpy as np

from ...live.records import Arm, Bucket, Counts
from ...live.settings import Settings
from ...policies.base import Array
from .arms import ArmRow, ArmTable, arm_table
from .departures import Case, Departures, Leaving, departures
from .intervals import Interval, average
from .states import states_in_words


@dataclass(frozen=True)
class Exploring:
    """Where pulls went in one state: to the best arm, or to others, and what those have cost.

    `mistake_cost` is D of the state: what a wrong pull there costs for every 1 that its mean is
    too low. `lost` is in rewards.
    """

    state: str
    pulls: float
    tried: float
    share: float
    mistake_cost: Interval
    lost: Interval


@dataclass(frozen=True)
class Point:
    """The visits that ended from `start` on: how many, and per visit rewards and steps."""

    start: float
    visits: float
    reward: Interval
    length: Interval


@dataclass(frozen=True)
class Visits:
    """What became of the visits."""

    opened: float
    open: float
    left: float
    timed_out: float


@dataclass(frozen=True)
class Rewards:
    """How the steps were resolved: `learned` from a reward, or without one by what came first.

    `late` rewards came after that: they are kept, and not learned.
    """

    total: float
    learned: float
    late: float
    missing: float
    missing_by_next: float
    missing_by_end: float
    missing_by_timeout: float


@dataclass(frozen=True)
class Insight:
    """An experiment in numbers; `to_dict` has them in plain types, for JSON."""

    now: float
    policy: str
    states: tuple[str, ...]
    """Those that occur, in words, from the worst to the best."""
    table: ArmTable
    best: str | None
    """The arm in use of greatest lower bound, with which the others are compared."""
    exploration: tuple[Exploring, ...]
    lost: Interval
    leaving: tuple[Leaving, ...]
    case: Case
    width: float
    """Seconds from one point of `over_time` to the next."""
    over_time: tuple[Point, ...]
    reward_per_visit: Interval | None
    length: Interval | None
    visits: Visits
    rewards: Rewards

    @cached_property
    def arms(self) -> tuple[ArmRow, ...]:
        """All arms, in the order of their pulls."""
        return self.table.page(size=len(self.table)).rows

    def to_dict(self) -> dict[str, Any]:
        """In plain types, for JSON; None where nothing is known."""
        names = (
            "now", "policy", "states", "best", "exploration", "lost", "leaving", "case", "width",
            "over_time", "reward_per_visit", "length", "visits", "rewards", "arms",
        )  # fmt: skip
        return {name: _plain(getattr(self, name)) for name in names}


def insight(
    settings: Settings,
    arms: Sequence[Arm],
    counts: Counts,
    timeline: Sequence[Bucket] = (),
    *,
    now: float = 0.0,
    width: float = 60.0,
) -> Insight:
    """The numbers of the dashboard from the counters of a store.

    `arms` are all of them, with their prior counts; `timeline` has a bucket every `width` seconds.

    >>> counts = {("pulls", 0, 1, 0): 10.0, ("successes", 0, 1, 0): 9.0, ("open", 0, 0, 0): 2.0}
    >>> found = insight(Settings(), [Arm(0, "dance"), Arm(1, "news")], counts)
    >>> found.best, found.visits.open, found.case.word
    ('dance', 2.0, 'not known yet')
    """
    bins = settings.bins
    words = states_in_words(settings.user, bins)
    table = arm_table(arms, counts, words)
    seen = departures(counts, settings, table)
    used = [b for b in range(bins) if table.pulls[:, b].any() or seen.steps[b].any()]
    exploration, variance = _exploration(table, seen, words, used)
    points = tuple(_point(bucket) for bucket in timeline if bucket.visits)
    total = _sums(timeline)
    return Insight(
        now=now,
        policy=settings.policy.name,
        states=tuple(words[b] for b in used),
        table=table.of_states(used),
        best=table.best_name,
        exploration=exploration,
        lost=Interval.around(sum(e.lost.value for e in exploration), sqrt(variance), least=0.0),
        leaving=seen.leaving(words, used),
        case=seen.case(used),
        width=width,
        over_time=points,
        reward_per_visit=average(total[0], total[3], total[4]),
        length=average(total[0], total[1], total[2]),
        visits=_visits(counts),
        rewards=_rewards(counts, table),
    )


def _exploration(
    table: ArmTable, seen: Departures, words: Sequence[str], used: Sequence[int]
) -> tuple[tuple[Exploring, ...], float]:
    """By state; and the variance of what all of it has cost.

    Pulls of an arm whose mean is not below that of the best one cost nothing.
    """
    found, variance, behind, noise = [], 0.0, table.behind, table.noise
    for b in used:
        pulls: Array = table.pulls[:, b]
        others = pulls.copy()
        if table.best is not None:
            others[table.best] = 0.0
        worse = np.where(behind > 0.0, others, 0.0)
        missed, tried, played = float(worse @ behind), float(others.sum()), float(pulls.sum())
        best_noise = 0.0 if table.best is None else float(noise[table.best])
        spread = float(worse**2 @ noise) + float(worse.sum()) ** 2 * best_noise
        cost, error = seen.cost[b], seen.error[b]
        lost_variance = cost**2 * spread + missed**2 * error**2
        found.append(
            Exploring(
                words[b], played, tried, tried / played if played else 0.0,
                Interval.around(cost, error),
                Interval.around(missed * cost, sqrt(lost_variance), least=min(0.0, missed * cost)),
            )
        )  # fmt: skip
        variance += lost_variance
    return tuple(found), variance


def _sums(timeline: Sequence[Bucket]) -> tuple[float, float, float, float, float]:
    """Visits, steps and their squares, rewards and theirs."""
    rows = [(b.visits, b.steps, b.steps2, b.reward, b.reward2) for b in timeline]
    return tuple(map(sum, zip(*rows, strict=True))) if rows else (0.0,) * 5  # type: ignore[return-value]


def _point(bucket: Bucket) -> Point:
    reward = average(bucket.visits, bucket.reward, bucket.reward2)
    length = average(bucket.visits, bucket.steps, bucket.steps2)
    assert reward is not None
    assert length is not None
    return Point(bucket.start, bucket.visits, reward, length)


def _visits(counts: Counts) -> Visits:
    opened, left, out = (_count(counts, k) for k in ("open", "left by end", "left by timeout"))
    return Visits(opened, opened - left - out, left, out)


def _rewards(counts: Counts, table: ArmTable) -> Rewards:
    learned, by_next, by_end, by_timeout = (
        _count(counts, f"resolved by {cause}") for cause in ("reward", "next", "end", "timeout")
    )
    return Rewards(
        total=float(table.rewards.sum()),
        learned=learned,
        late=_count(counts, "late"),
        missing=by_next + by_end + by_timeout,
        missing_by_next=by_next,
        missing_by_end=by_end,
        missing_by_timeout=by_timeout,
    )


def _count(counts: Counts, what: str) -> float:
    return counts.get((what, 0, 0, 0), 0.0)


def _plain(value: Any) -> Any:
    """Dataclasses as dictionaries, and numbers that are not finite as None."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if is_dataclass(value):
        return {name: _plain(v) for name, v in vars(value).items()}
    return value
