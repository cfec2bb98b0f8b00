"""What the counters of an experiment say: the numbers of the dashboard and of `GET .../insight`.

Everything is a function of sums: the counters of the store (`live.records.tally`) and, for charts,
sums over the visits that ended in each interval of time (`Branch.timeline`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from ...engine.steps import level_of
from ...policies.base import Array
from ...stats.departures import ArmEffects, Table
from ...stats.intervals import Interval, average
from ..experiment import Experiment
from ..records import END, LATE, LEARNED_LATE, NEXT, NO_VISITS, REWARD, TIMEOUT, Arm, Bucket, Counts
from ..settings import Settings
from ..states import states_in_words
from .arms import ArmList, ArmRow, ArmSums, VisitValues, arm_sums
from .departures import Case, Departures, StateLeaveRates, departures, watched


@dataclass(frozen=True)
class StateExploration:
    """The pulls in one state, those `tried` with another arm than the best, and the rewards `lost`.

    `mistake_cost` is D of the state: what a wrong pull there costs per unit of mean.
    """

    state: str
    pulls: float
    tried: float
    share: float
    mistake_cost: Interval
    lost: Interval


@dataclass(frozen=True)
class Point:
    """Visits that ended from `start` on: how many, and rewards and steps per visit."""

    start: float
    visits: float
    reward: Interval
    length: Interval


@dataclass(frozen=True)
class VisitTotals:
    """Visits by how they ended; `open` ones have not."""

    opened: float
    open: float
    left: float
    timed_out: float


@dataclass(frozen=True)
class RewardTotals:
    """How steps were resolved: `learned` from a reward, or `missing` one.

    `late` rewards came after their step was resolved and are logged, not learned; `learned_late`
    ones replaced the default reward.
    """

    total: float
    learned: float
    late: float
    learned_late: float
    missing: float
    missing_by_next: float
    missing_by_end: float
    missing_by_timeout: float


@dataclass(frozen=True)
class Warned:
    """An arm that raises the exit rate: by which factor, and a sentence."""

    arm: str
    leave_ratio: Interval
    visit_value: Interval
    text: str


@dataclass(frozen=True)
class Insight:
    """An experiment in numbers, as `GET .../insight` returns it."""

    now: float
    policy: str
    states: tuple[str, ...]
    """The states that occur, in words, from the worst to the best."""
    best: str | None
    """The active arm of greatest lower bound, with which the others are compared."""
    exploration: tuple[StateExploration, ...]
    lost: Interval
    leaving: tuple[StateLeaveRates, ...]
    case: Case
    warnings: tuple[Warned, ...]
    """Arms in use that raise the exit rate, the worst first."""
    width: float
    """Seconds between two points of `over_time`."""
    over_time: tuple[Point, ...]
    reward_per_visit: Interval | None
    length: Interval | None
    visits: VisitTotals
    rewards: RewardTotals
    arms: Sequence[ArmRow]


def insight(
    settings: Settings,
    arms: Sequence[Arm],
    counts: Counts,
    timeline: Sequence[Bucket] = (),
    *,
    now: float = 0.0,
    width: float = 60.0,
) -> Insight:
    """The numbers of an experiment from the counters of its store.

    `arms` includes retired ones; `timeline` has a bucket every `width` seconds.

    >>> counts = {("pulls", 0, 1, 0): 10.0, ("successes", 0, 1, 0): 9.0, ("open", 0, 0, 0): 2.0}
    >>> found = insight(Settings(), [Arm(0, "dance"), Arm(1, "news")], counts)
    >>> found.best, found.visits.open, found.case.word
    ('dance', 2.0, 'not known yet')
    """
    bins = settings.bins
    words = states_in_words(settings.user, bins)
    sums = arm_sums(arms, counts, bins)
    moves, by_arm, left = watched(counts, len(arms), bins)
    seen = departures(settings, sums, moves, by_arm, left)
    effects = ArmEffects(Table(by_arm[:-1], left[:-1]))
    values = VisitValues(sums, effects, seen.follow, _start(settings))
    used = [b for b in range(bins) if sums.pulls[:, b].any() or seen.steps[b].any()]
    states = tuple(words[b] for b in used)
    exploration, variance = _exploration(sums, seen, words, used)
    lost = sum(row.lost.value for row in exploration)
    total = Bucket(*map(sum, zip(NO_VISITS, *timeline, strict=True)))
    visits, rewards = _totals(counts, float(sums.rewards.sum()))
    return Insight(
        now=now,
        policy=type(settings.policy).__name__,
        states=states,
        best=sums.best_name,
        exploration=exploration,
        lost=Interval.from_error(lost, sqrt(variance), least=0.0),
        leaving=seen.leave_rates(words, used),
        case=seen.case(used),
        warnings=() if settings.external else _warnings(values),
        width=width,
        over_time=tuple(_point(bucket) for bucket in timeline if bucket.visits),
        reward_per_visit=average(total.visits, total.reward, total.reward2),
        length=average(total.visits, total.steps, total.steps2),
        visits=visits,
        rewards=rewards,
        arms=ArmList(values, used, states),
    )


def insight_of(experiment: Experiment, timeline: Sequence[Bucket], width: float) -> Insight:
    """The numbers of an experiment now, with a bucket of visits every `width` seconds."""
    settings, arms = experiment.settings, experiment.all_arms
    counts, now = experiment.counts(), experiment.now()
    return insight(settings, arms, counts, timeline, now=now, width=width)


def _start(settings: Settings) -> Array:
    """The chances of the bin in which a visit begins."""
    user, chances = settings.user, np.zeros(settings.bins)
    for state, chance in zip(user.start.states, user.start.chances, strict=True):
        chances[level_of(user.experience(state), settings.bins)] += chance
    return chances


def _warnings(values: VisitValues) -> tuple[Warned, ...]:
    """A sentence for every arm in use that raises the exit rate."""
    arms, effects = values.sums, values.effects
    raising, used = np.flatnonzero(effects.raising & arms.active), np.flatnonzero(arms.active)
    if not raising.size:
        return ()
    worth = {i: v for i, v in zip(used.tolist(), values.of(used.tolist()), strict=True) if v}
    best = int(used[np.argmax(arms.means[used])])
    worst = min(worth, key=lambda i: worth[i].value)
    found = []
    for i in raising.tolist():
        ratio = effects.interval(i)
        assert ratio is not None
        name = arms.arms[i].name
        so = ["the highest mean"] * (i == best) + ["the lowest visit value"] * (i == worst)
        text = (
            f"{name} raises the exit rate: users leave after it {ratio.value:.1f} times "
            "as often as after others with the same rewards"
        )
        text += f"; it has {' and '.join(so)}." if so and len(worth) > 1 else "."
        found.append(Warned(name, ratio, worth[i], text))
    return tuple(sorted(found, key=lambda each: -each.leave_ratio.value))


def _exploration(
    arms: ArmSums, seen: Departures, words: Sequence[str], used: Sequence[int]
) -> tuple[tuple[StateExploration, ...], float]:
    """By state, with the variance of the total cost; arms not behind the best one cost nothing."""
    found, variance, behind, noise = [], 0.0, arms.behind, arms.noise
    best_noise = 0.0 if arms.best is None else float(noise[arms.best])
    for b in used:
        others = arms.pulls[:, b].copy()
        if arms.best is not None:
            others[arms.best] = 0.0
        worse = np.where(behind > 0.0, others, 0.0)
        pulls, tried = float(arms.pulls[:, b].sum()), float(others.sum())
        missed = float(worse @ behind)
        missed_variance = float(worse**2 @ noise) + float(worse.sum()) ** 2 * best_noise
        cost, error = seen.cost[b], seen.error[b]
        lost = missed * cost
        lost_variance = cost**2 * missed_variance + missed**2 * error**2
        variance += lost_variance
        found.append(
            StateExploration(
                state=words[b],
                pulls=pulls,
                tried=tried,
                share=tried / pulls if pulls else 0.0,
                mistake_cost=Interval.from_error(cost, error),
                lost=Interval.from_error(lost, sqrt(lost_variance), least=min(0.0, lost)),
            )
        )
    return tuple(found), variance


def _point(bucket: Bucket) -> Point:
    reward = average(bucket.visits, bucket.reward, bucket.reward2)
    length = average(bucket.visits, bucket.steps, bucket.steps2)
    assert reward is not None
    assert length is not None
    return Point(bucket.start, bucket.visits, reward, length)


def _totals(counts: Counts, resolved: float) -> tuple[VisitTotals, RewardTotals]:
    def count(what: str) -> float:
        return counts.get((what, 0, 0, 0), 0.0)

    opened, left, timed_out = count("open"), count(f"left by {END}"), count(f"left by {TIMEOUT}")
    missing = [count(f"resolved by {cause}") for cause in (NEXT, END, TIMEOUT)]
    learned = count(f"resolved by {REWARD}")
    rewards = RewardTotals(
        resolved, learned, count(LATE), count(LEARNED_LATE), sum(missing), *missing
    )
    return VisitTotals(opened, opened - left - timed_out, left, timed_out), rewards
