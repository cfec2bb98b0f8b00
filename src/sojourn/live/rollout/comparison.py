"""Variants compared with their holdout: means per visit and their differences, at any time.

Snapshots of the comparison are kept, thinned so that a few hundred last for ever: one whenever
n m / (n + m) has grown by a twentieth, for n visits of the variant and m of the holdout. Its rank
follows from that alone, and a store keeps one snapshot of each rank.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan, log

import numpy as np

from ... import validation
from ...show.tables import Table
from ...stats.intervals import FIRST, PLANNED, Interval, sequence
from ...stats.moments import Array
from ...stats.strata import Estimate, difference, mean, sample_ratio
from ..enrolment import allocation_of
from ..records import Snapshot
from ..stores.base import Store
from .allocation import METRICS, Alarm, Allocation, Epoch, Guardrail, names_of
from .groups import GROUPS, Group

QUANTITIES = ("visits", *METRICS, "opened")
COLUMNS = [Group._fields.index(name) - 1 for name in QUANTITIES]  # the first is a name
UNLIKELY = 0.001
"""A p-value below it means a sample-ratio mismatch: visits are lost or assigned wrongly."""

WORDS = {"reward": "reward per visit", "steps": "steps per visit", "left": "share that left"}


@dataclass(frozen=True)
class Measured:
    """One variant: its share now, how many visits were opened, and how many are compared.

    `means` are per visit compared, and `differences` those to the holdout, which has none.
    """

    name: str
    share: float
    opened: int
    visits: int
    means: dict[str, Interval]
    differences: dict[str, Interval]


@dataclass(frozen=True)
class Comparison:
    """Variants beside their holdout. Each interval holds at all times with probability 1 - alpha.

    What a visit earns counts for `window` seconds from its opening. `sample_ratio` is the p-value
    of a sample-ratio mismatch, valid at all times. If `ratio_is_wrong`, assignment deviates from
    the configured shares, so results are invalid.
    """

    experiment: str
    holdout: str
    alpha: float
    at: float
    window: float
    variants: tuple[Measured, ...]
    sample_ratio: float
    ratio_is_wrong: bool
    guardrail: Guardrail | None
    alarm: Alarm | None

    def __str__(self) -> str:
        head = ["variant", "share", "visits", *(WORDS[metric] for metric in METRICS)]
        rows = []
        for variant in self.variants:
            means = [brief(variant.means[metric]) for metric in METRICS]
            rows.append((variant.name, f"{variant.share:.4g}", f"{variant.visits:,}", *means))
            if variant.differences:
                found = [brief(variant.differences[metric], "+.4g") for metric in METRICS]
                rows.append(("  - holdout", "", "", *found))
        table = [Table(head, rows, left=range(len(head))).text()]
        table.append(f"Each visit counts for {self.window:,.6g} s from its opening.")
        if self.ratio_is_wrong:
            table.append(
                f"The numbers of visits do not follow the shares (p = {self.sample_ratio:.1g}): "
                "sample-ratio mismatch. Find out why before you use the differences."
            )
        if self.alarm is not None:
            table.append(f"The guardrail has acted: {self.alarm.reason}.")
        return "\n".join(table)


def compare(
    store: Store, experiment: str, *, alpha: float = 0.05, planned: float = PLANNED, since: int = 1
) -> Comparison:
    """Compare the variants of an experiment, by their visits opened from epoch `since` on.

    Intervals are narrowest at `planned` visits, and infinite before there are visits of 50 users in
    both variants.

    >>> from sojourn.live import Experiment, Variant
    >>> both = [Variant("old", 0.5), Variant("new", 0.5)]
    >>> more = {"variants": both, "holdout": "old", "compiled": False}
    >>> with Experiment("shorts", ["dance", "news"], **more) as shorts:
    ...     ended = [shorts.visit(user=f"u{n}").end() for n in range(4)]
    ...     print(shorts.compare())
    variant      share  visits  reward per visit  steps per visit  share that left
    old          0.5    1       0                 0                1
    new          0.5    3       0                 0                1
      - holdout                 +0                +0               +0
    Each visit counts for 3,600 s from its opening.
    """
    alpha = validation.number("alpha", alpha, 0, 1, open_ends=True)
    planned = validation.number("planned", planned, 1, inf)
    since = validation.whole("since", since, 1)
    allocation = allocation_of(store, experiment)
    names = names_of(experiment, allocation.variants)
    groups = groups_of(store, names)
    return compared(experiment, allocation, groups, store.ping(), alpha, planned, since)


def groups_of(store: Store, names: Mapping[str, str]) -> dict[str, list[Group]]:
    """The sums of groups at one moment, by variant; `names` are those in the store."""
    found = store.series(Group, list(names.values()))
    return {v: [group for group in found if group.experiment == n] for v, n in names.items()}


def compared(
    experiment: str,
    allocation: Allocation,
    groups: Mapping[str, list[Group]],
    now: float,
    alpha: float,
    planned: float = PLANNED,
    since: int = 1,
) -> Comparison:
    """The comparison by the sums of groups, by variant."""
    epochs = range(since, allocation.epoch + 1)
    sums = {name: _array(groups[name], epochs) for name in allocation.variants}
    opened = np.stack([sums[name][:, :, -1] for name in allocation.variants])
    shares = np.array(
        [[allocation.epochs[e - 1].shares[v] for v in allocation.variants] for e in epochs]
    )

    def interval(found: Estimate) -> Interval:
        error = found.error if found.clusters >= FIRST else inf
        return sequence(found.value, error, found.units, alpha, planned)

    def measured(place: int, name: str) -> Measured:
        here, holdout = sums[name], sums[allocation.holdout]
        means = {metric: interval(mean(here, i)) for i, metric in enumerate(METRICS, 1)}
        differences = {
            metric: interval(difference(here, holdout, i))
            for i, metric in enumerate(METRICS, 1)
            if name != allocation.holdout
        }
        visits, begun = int(here[:, :, 0].sum()), int(opened[place].sum())
        return Measured(name, allocation.shares[name], begun, visits, means, differences)

    ratio = sample_ratio(opened, shares) if len(epochs) else 1.0
    variants = tuple(measured(place, name) for place, name in enumerate(allocation.variants))
    return Comparison(
        experiment,
        allocation.holdout,
        alpha,
        now,
        allocation.window,
        variants,
        ratio,
        ratio < UNLIKELY,
        allocation.guardrail,
        allocation.alarm,
    )


def _array(groups: Sequence[Group], epochs: range) -> Array:
    """Sums [epoch, group, quantity]."""
    found = np.zeros((len(epochs), GROUPS, len(QUANTITIES)))
    table = np.array([group[1:] for group in groups], dtype=float).reshape(
        -1, len(Group._fields) - 1
    )
    table = table[np.isin(table[:, 0], epochs)]
    epoch, number = (table[:, i].astype(int) for i in (0, 1))
    found[epoch - epochs.start, number] = table[:, COLUMNS]
    return found


def brief(found: Interval, form: str = ".4g") -> str:
    """A number with the ends of its interval, if they are known."""
    if isnan(found.value):
        return "-"
    if not isfinite(found.high):
        return format(found.value, form)
    return f"{found.value:{form}} [{found.low:{form}}, {found.high:{form}}]"


GROWTH = 1.05  # how many times as many visits a snapshot rests on at the next rank
ALPHA = 0.05  # of the intervals, which hold at all looks together


def rank_of(visits: float, holdout: float) -> int:
    """The rank of a snapshot at this many visits of a variant and of the holdout."""
    both = visits * holdout / max(visits + holdout, 1.0)
    return int(log(max(both, 1.0)) / log(GROWTH))


def ranks(allocation: Allocation, groups: Mapping[str, list[Group]]) -> dict[str, int]:
    """The rank of every variant that is compared with the holdout."""
    visits = {name: sum(group.visits for group in groups[name]) for name in allocation.variants}
    holdout = visits.pop(allocation.holdout)
    return {variant: rank_of(n, holdout) for variant, n in visits.items()}


def snapshots_of(comparison: Comparison) -> list[Snapshot]:
    """Snapshots of a comparison, for every variant and metric that has an interval."""
    visits = {variant.name: variant.visits for variant in comparison.variants}
    holdout = visits[comparison.holdout]
    return [
        Snapshot(
            comparison.at, variant.name, metric, rank_of(variant.visits, holdout),
            variant.visits + holdout, *variant.differences[metric],
        )
        for variant in comparison.variants
        for metric in METRICS
        if metric in variant.differences and isfinite(variant.differences[metric].high)
    ]  # fmt: skip


@dataclass(frozen=True)
class History:
    """The comparisons with the holdout over time, and when shares changed.

    With probability 1 - `alpha`, the truth is in all intervals of a variant and metric.
    """

    experiment: str
    holdout: str
    alpha: float
    snapshots: tuple[Snapshot, ...]
    epochs: tuple[Epoch, ...]
    guardrail: Guardrail | None
    alarm: Alarm | None

    def of(self, variant: str, metric: str) -> list[Snapshot]:
        """The snapshots of one variant and metric, in the order of time."""
        return [one for one in self.snapshots if (one.variant, one.metric) == (variant, metric)]

    def __str__(self) -> str:
        if not self.snapshots:
            return "There is no snapshot yet: the first needs visits of 50 users in both variants."
        head = ["variant", "visits", *(WORDS[metric] for metric in METRICS)]
        found: defaultdict[tuple[float, str], dict[str, Snapshot]] = defaultdict(dict)
        for snapshot in self.snapshots:
            found[snapshot.at, snapshot.variant][snapshot.metric] = snapshot
        rows = []
        for (_, variant), by_metric in found.items():
            visits = max(snapshot.visits for snapshot in by_metric.values())
            cells = [
                brief(Interval(one.difference, one.low, one.high), "+.4g") if one else "-"
                for one in map(by_metric.get, METRICS)
            ]
            rows.append((variant, f"{visits:,}", *cells))
        return Table(head, rows, left=range(len(head))).text()


def history(store: Store, experiment: str) -> History:
    """How the comparison of the variants developed: the stored snapshots, and one now.

    >>> from sojourn.live import Experiment, Variant
    >>> both = [Variant("old", 0.5), Variant("new", 0.5)]
    >>> more = {"variants": both, "holdout": "old", "compiled": False}
    >>> with Experiment("shorts", ["dance", "news"], **more) as shorts:
    ...     print(shorts.history())
    There is no snapshot yet: the first needs visits of 50 users in both variants.
    """
    allocation = allocation_of(store, experiment)
    kept = store.series(Snapshot, experiment)
    latest = {(snapshot.variant, snapshot.metric): snapshot.visits for snapshot in kept}
    now = [
        snapshot
        for snapshot in snapshots_of(compare(store, experiment, alpha=ALPHA))
        if snapshot.visits > latest.get((snapshot.variant, snapshot.metric), 0)
    ]
    return History(
        experiment,
        allocation.holdout,
        ALPHA,
        (*kept, *now),
        allocation.epochs,
        allocation.guardrail,
        allocation.alarm,
    )
